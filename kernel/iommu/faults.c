/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What IOMMUs have blocked: a line for each of a function's first 8 faults (IOMMU_REPORTS, of DMA
 * and of interrupts), a count, and a word to whoever has it: blocked() of vmm/pci/pci_iommu.c. At
 * the 8th count_fault() of the unit's driver sets FPD in the function's context entry, so that the
 * unit notes no more of its DMA; an interrupt that is blocked from then on is a storm, and the
 * function is silenced. The VM ends only with `on_fault` other than `report`. A unit that tells of
 * too much all the same is not listened to for a second: slow_down().
 */
#include "kernel/iommu/iommu.h"

#include <margay/host.h>
#include <margay/spinlock.h>
#include "kernel/acpi/acpi.h"
#include "kernel/cpu/nmi.h"
#include "kernel/log/printk.h"

#define AT_ONCE IOMMU_LOG /* faults that are looked at in one window */
#define HELD_AT 64    /* of a unit within HOLD_MS: it tells of no more until then */
#define HOLD_MS 1000
#define NOBODY HOST_PCI_FUNCTIONS

/* The lock guards both. */
static struct {
	u64 dma;
	u64 interrupts;
} blocked[NOBODY];
static struct {
	u64 since;      /* TSC */
	unsigned count; /* faults since then */
	bool held;
	bool said;
} pace[ARRAY_SIZE(iommu_units)];
static struct host_timer timer;
static bool by_message;

static unsigned find(u16 segment, u16 bdf)
{
	const struct pci_function *p;
	unsigned i = 0;

	while ((p = pci_get(i)) && (p->address.segment != segment || iommu_bdf(p) != bdf))
		i++;
	return p ? i : NOBODY;
}

static void report(const struct iommu_fault *f, u16 segment)
{
	const char *more = f->count == IOMMU_REPORTS ? "; more of it is not reported" : "";
	const char *what = f->write ? "DMA blocked: writes to" : "DMA blocked: reads from";
	unsigned i = find(segment, f->bdf);
	const struct host_iommu *d = i == NOBODY ? NULL : iommu_domain_of(i);

	if (f->interrupt)
		what = "interrupt blocked: entry";
	if (f->count <= IOMMU_REPORTS)
		printk_error("iommu: %02x:%02x.%u, %s%s: %s %#lx, reason %u%s", f->bdf >> 8,
			     PCI_DEVICE(f->bdf & 0xff), PCI_FUNCTION(f->bdf), d ? "of " : "",
			     d ? d->user->name : "nobody's", what, f->address, f->reason, more);
	if (i == NOBODY)
		return;
	*(f->interrupt ? &blocked[i].interrupts : &blocked[i].dma) += 1;
	/* Of DMA its unit notes no more by then, or is held. */
	if (d && d->user->blocked)
		d->user->blocked(d->user->arg, i, f->interrupt && f->count >= IOMMU_REPORTS);
}

/* Is it too much? Then the next look is by the timer. */
static void slow_down(unsigned i, unsigned count)
{
	u64 now = host_tsc(), span = HOLD_MS * host_tsc_khz();

	if (!pace[i].count || now - pace[i].since > span) {
		pace[i].since = now;
		pace[i].count = 0;
	}
	pace[i].count += count;
	if (pace[i].count < HELD_AT || pace[i].held || !by_message)
		return;
	pace[i].held = true;
	iommu_ops->hold(&iommu_units[i], true);
	if (!pace[i].said)
		printk_error(
			"iommu: the unit at %#lx tells of too much: it is looked at once a second",
			iommu_units[i].base);
	pace[i].said = true;
	host_timer_arm(&timer, now + span);
}

/* Under the lock. pacing: on the boot CPU, whose timer goes on with what is too much. */
static bool take_faults(bool pacing)
{
	struct iommu_fault f;
	bool any = false;

	for (unsigned i = 0; i < ARRAY_SIZE(iommu_units); i++) {
		struct iommu_unit *u = &iommu_units[i];
		unsigned n = 0;

		if (!u->base)
			continue;
		for (; !u->broken && n < AT_ONCE && iommu_ops->fault(u, &f); n++) {
			report(&f, iommu_table->unit[i].segment);
			if (u->broken)
				iommu_tell_broken(u);
		}
		any = any || n;
		if (pacing && n && !u->broken)
			slow_down(i, n);
	}
	return any;
}

void iommu_faults_take(void)
{
	take_faults(false);
}

/* On the boot CPU, after an NMI. */
static bool look(void)
{
	bool any;

	spin_lock(&iommu_lock);
	any = take_faults(true);
	spin_unlock(&iommu_lock);
	return any;
}

static void go_on(struct host_timer *)
{
	spin_lock(&iommu_lock);
	for (unsigned i = 0; i < ARRAY_SIZE(pace); i++) {
		if (pace[i].held && !iommu_units[i].broken)
			iommu_ops->hold(&iommu_units[i], false);
		pace[i] = (typeof(pace[i])){ .said = pace[i].said };
	}
	spin_unlock(&iommu_lock);
	/* Those that units have noted meanwhile. */
	look();
}

int iommu_faults_init(bool tell)
{
	int err;

	by_message = tell;
	timer.fn = go_on;
	err = nmi_request(NMI_MESSAGE, look);
	/*
	 * What was blocked before this was told to nobody, and no unit tells of what comes behind
	 * it.
	 */
	if (!err)
		look();
	return err;
}

void iommu_faults_forget(unsigned index)
{
	blocked[index] = (typeof(blocked[0])){ 0 };
}

bool host_iommu_state(unsigned index, struct host_iommu_state *out)
{
	const struct host_iommu *d;

	if (!iommu_ops)
		return false;
	spin_lock(&iommu_lock);
	/* Its message may be under way, or have been lost. */
	iommu_faults_take();
	d = iommu_domain_of(index);
	*out = (struct host_iommu_state){
		.domain = d ? d->id : 0,
		.mode = d ? d->user->mode : NULL,
		.dma = blocked[index].dma,
		.interrupts = blocked[index].interrupts,
	};
	spin_unlock(&iommu_lock);
	return true;
}
