/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loader of microcode.h. The CPU checks the vendor's signature; all else is checked before it
 * gets the update.
 */
#include "kernel/cpu/microcode.h"

#include <margay/host.h>
#include <margay/span.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/microcode.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"

#define PREFIX "microcode:"
#define NAME(span) (int)MIN((span).n, 40u), (span).p
#define ALIGNED 16 /* an update must be, SDM vol. 3, 10.11.6; a module is, but not what is inside */

static struct microcode update; /* the boot CPU's choice */
static struct microcode_cpu like; /* for CPUs like this */
static struct span update_name;
static PERCPU u32 revision; /* that the CPU has */

static struct microcode_cpu this_kind(void)
{
	struct microcode_cpu kind;
	struct cpuid_regs r;
	u64 platform;

	cpuid(0, 0, &r);
	kind.vendor = cpu_vendor(&r);
	cpuid(1, 0, &r);
	kind.signature = r.eax;
	kind.platform = 0;
	if (kind.vendor == CPU_INTEL && !host_rdmsr(MSR_PLATFORM_ID, &platform))
		kind.platform = 1u << (platform >> 50 & 7);
	return kind;
}

/*
 * Does it still want the update? On AMD a core's second thread reads the revision that the first
 * has loaded, but part of the update is a thread's own: only a newer one is left.
 */
static bool wants_update(u32 has)
{
	return update.start &&
	       (like.vendor == CPU_AMD ? !microcode_newer(&like, has, update.revision)
				       : microcode_newer(&like, update.revision, has));
}

/* Gives the CPU the update, if it wants it. Returns the revision that it has then. */
static u32 load(void)
{
	u32 before = microcode_revision(like.vendor);

	if (!wants_update(before))
		return before;
	/* An update may change what the caches hold of the microcode's own data. */
	cpu_wbinvd();
	if (like.vendor == CPU_INTEL)
		(void)host_wrmsr(MSR_BIOS_UPDT_TRIG, (u64)update.start + MICROCODE_HEADER);
	else
		(void)host_wrmsr(MSR_AMD_PATCH_LOADER, (u64)update.start);
	/* Zen and Zen 2 read the patch through a translation that makes all slow while it stays. */
	if (cpu_family(like.signature) == 0x17) {
		invlpg(update.start);
		invlpg(update.start + update.size - 1);
	}
	return microcode_revision(like.vendor);
}

static void choose(const struct boot_module *m, struct span name, u32 has)
{
	struct microcode found;
	const char *error;

	if (m->end > BOOT_MAP_SIZE) {
		printk_error("%.*s: above 4 GiB: ignored", NAME(name));
		return;
	}
	error = microcode_find(phys_to_virt(m->start), m->end - m->start, &like, &found);
	if (error)
		printk_error("%.*s: %s: ignored", NAME(name), error);
	else if (!found.start)
		printk("%.*s: nothing for this CPU (CPUID 1 EAX %#x): ignored", NAME(name),
		       like.signature);
	else if (!microcode_newer(&like, found.revision, has))
		printk("%.*s: revision %#x, the CPU has %#x: ignored", NAME(name), found.revision,
		       has);
	else if (!update.start || microcode_newer(&like, found.revision, update.revision)) {
		update = found;
		update_name = name;
	}
}

/* Moves it down by some bytes, over what has been read. */
static void align(void)
{
	u8 *to = (u8 *)ALIGN_DOWN((u64)update.start, ALIGNED);

	if (to == update.start)
		return;
	memmove(to, update.start, update.size);
	update.start = to;
}

void microcode_init(const struct bootinfo *bi)
{
	u32 before, now;

	like = this_kind();
	before = now = microcode_revision(like.vendor);
	for (unsigned i = 0; i < bi->nr_modules; i++) {
		struct span text = span_of(bi->module[i].string), rest = text;
		bool more;

		if (span_skip(&rest, PREFIX))
			choose(&bi->module[i], span_part(&text, ' ', &more), before);
	}
	if (update.start) {
		align();
		now = load();
		if (now == update.revision)
			printk("%.*s: revision %#x in place of %#x", NAME(update_name), now,
			       before);
		else
			printk_error("%.*s: the CPU does not take revision %#x, it has %#x",
				     NAME(update_name), update.revision, now);
	}
	cpu_own(this_cpu(), revision) = now;
}

void microcode_init_cpu(void)
{
	struct microcode_cpu kind = this_kind();
	bool same = kind.vendor == like.vendor && kind.signature == like.signature &&
		    kind.platform == like.platform;

	cpu_own(this_cpu(), revision) = same ? load() : microcode_revision(kind.vendor);
}

void microcode_tell(void)
{
	u32 boot = cpu_own(this_cpu(), revision);

	for (unsigned i = 0; i < host_cpu_count(); i++)
		if (cpu_own(cpu_get(i), revision) != boot)
			printk_error(
				"CPU %u: microcode revision %#x, the boot CPU's is %#x: reports may not hold for both",
				i, cpu_own(cpu_get(i), revision), boot);
}
