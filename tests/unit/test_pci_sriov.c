/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/pci/pci_sriov.c vmm/pci/pci_vfs.c vmm/pci/pci_sriov_shadow.c vmm/pci/pci_wait.c vmm/pci/pci_reset.c */
/*
 * The SR-IOV capability that the guest of a physical function has, and what the host does at its
 * word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/fake_functions.h"
#include "vmm/memory/shootdown.h"
#include "vmm/monitor.h"
#include "vmm/pci/pci_device.h"
#include "vmm/pci/pci_sriov.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/vm/intc.h"
#include "vmm/vm_parts.h"

#define AT 0x160u
#define PF 3
#define VF 9 /* the first of two */

static struct vm_config config = { .vfs = 2 };
static struct vm_parts parts, other, third;
static struct vm_pci pci, other_pci, third_pci;
static struct fake_functions functions, other_functions, third_functions;
static struct vcpu pf_vcpu, vcpu, third_vcpu, *by_id[] = { &vcpu },
					      *third_by_id[] = { &third_vcpu };
static struct pci_device dev, vf, third_vf;
static char calls[8]; /* who was asked, in order: the second VM or the third */
static unsigned on, offs, starts, reports, asked, nr_reset[VF + 2], coming, locks;
/* times that the second VM, and the third, was asked: the first is too early */
static unsigned busy[2];
static u8 vf_bus;
static bool deaf; /* no VM answers */
static bool vf_blocked = true; /* by the IOMMU */
static bool slow; /* no reset of a VF ends while that is on */
static int reset_says;
static u64 now, step; /* the TSC, and what each look at it adds */
static bool prepared, absent, late; /* late: the third VM is being made just before they are off */

/* ---- the host, and what else a VM has ------------------------------------------------- */

const char *host_sriov_prepare(unsigned index, unsigned count)
{
	assert_int_equal(index, PF);
	assert_int_equal(count, 2);
	prepared = true;
	return NULL;
}

int host_sriov_vf(unsigned index, unsigned n)
{
	return index == PF && n < 2 && prepared ? (int)(VF + n) : -1;
}

bool host_sriov_is_vf(unsigned index)
{
	return index == VF || index == VF + 1;
}

bool host_sriov_on(unsigned index)
{
	return index - VF < on;
}

int host_sriov_enable(unsigned index, unsigned count)
{
	assert_int_equal(index, PF);
	assert_int_equal(on, 0);
	if (absent)
		return -EIO;
	if (!coming++)
		return -EBUSY;
	on = count;
	coming = 0;
	return 0;
}

void host_sriov_disable(unsigned index)
{
	assert_int_equal(index, PF);
	/* Nobody has one any more, or has been waited for for long enough. */
	assert_true(deaf || slow || ((!vf.host || vf.gone) && (!third_vf.host || third_vf.gone)));
	if (late) {
		third_vf.vm = &third.vm;
		third_vf.host = &third_pci.function[0];
		assert_int_equal(pci_sriov_join(&third_vf), -ENODEV);
	}
	offs++;
	on = 0;
}

bool host_pci_function(unsigned i, struct host_pci_function *out)
{
	*out = (struct host_pci_function){ .index = i,
					   .address = {
						   0,
						   i == VF + 1 ? vf_bus : 0,
						   (u8)(i == PF ? 0x40 : 0xc0 + 2 * (i - VF)),
					   } };
	if (i >= VF) {
		out->bar[0] = (struct pci_bar){ 0xfe000000, KIB(16), 0xc };
		out->bar[3] = (struct pci_bar){ 0x7000000000, KIB(16), 0xc };
	}
	return i <= VF + 1;
}

u32 host_pci_read(unsigned index, u16 offset, unsigned)
{
	assert_true(index == PF || offset == PCI_REG_COMMAND);
	if (offset == PCI_REG_CLASS)
		return 0x02000001;
	return offset == AT + PCI_SRIOV_OFFSET ? 0x00020080 : 0;
}

void host_pci_reset_begin(struct host_pci_reset *r, unsigned index)
{
	assert_true(index == PF || (index == VF && vf.leaving && vf.config.nr_fields == 0) ||
		    (index == VF + 1 && third_vf.leaving));
	*r = (struct host_pci_reset){ .index = index };
}

/* Before the PF is reset, its VFs are off; one that is off is not there. */
int host_pci_reset_step(struct host_pci_reset *r)
{
	assert_true(r->index != PF || !on);
	if (r->index != PF && !on)
		return 0;
	if (slow && r->index != PF)
		return -EBUSY;
	nr_reset[r->index]++;
	return reset_says;
}

void host_pci_write(unsigned, u16 offset, unsigned size, u32 value)
{
	assert_true(offset == PCI_REG_COMMAND && size == 2 && !(value & PCI_COMMAND_MASTER));
}

void host_interrupt_window(void) { }

/* A reset at the guest's word: of no PF here but by its name. */
int pci_root_configure(struct pci_device *, unsigned *)
{
	return 0;
}

bool pci_root_has_line(const struct pci_device *)
{
	return false;
}

void pci_msi_clean(const struct pci_device *) { }

void pci_config_gate_master(struct pci_config *, bool) { }

bool host_pci_info(unsigned index, struct pci_info *out)
{
	*out = (struct pci_info){ .vfs = index == PF ? 8 : 0 };
	return true;
}

bool host_iommu_on(void)
{
	return false;
}

u64 host_tsc(void)
{
	return now += step;
}

u64 host_tsc_khz(void)
{
	return 1;
}

int vcpu_call(struct vcpu *v, void (*fn)(struct vcpu *))
{
	unsigned *of = v == &vcpu ? &busy[0] : &busy[1];

	if (deaf)
		return -EBUSY;
	assert_true(asked < sizeof(calls) - 1);
	calls[asked++] = v == &vcpu ? '2' : '3';
	if (!(*of)++)
		return -EBUSY;
	fn(v);
	return 0;
}

void vm_stage2_lock(struct vcpu *)
{
	locks++;
}

void vm_stage2_unlock(struct vm *) { }

void host_log_limited(struct log_limit *limit, const char *, const char *, ...)
{
	u32 unsaid;

	reports += log_limit_take(limit, now, host_tsc_khz(), &unsaid);
}

void host_log(const char *, ...)
{
	reports++;
}

int pci_refuse(struct vm *, const char *, ...)
{
	return -EINVAL;
}

void pci_config_clear(struct pci_config *c)
{
	c->nr_fields = 0;
}

void pci_bars_update(struct vcpu *, struct pci_device *d)
{
	assert_true(d == &dev || ((d == &vf || d == &third_vf) && !d->gone));
}

void pci_msi_reset(struct pci_device *d)
{
	assert_true(d == &dev || d == &vf || d == &third_vf);
}

bool pci_iommu_block(struct vm_pci *p, unsigned n)
{
	assert_true(n == 0 && (p == &other_pci ? !vf.gone : p == &third_pci && !third_vf.gone));
	return vf_blocked;
}

/* A VM is told when its functions read as ones, and all of them at once. */
static unsigned edges;

static void take_line(struct vm *v, unsigned gsi, bool level)
{
	static bool high;

	assert_int_equal(gsi, 6);
	assert_true(v == &other.vm ? vf.gone : v == &third.vm && third_vf.gone);
	assert_true(level != high);
	high = level;
	edges += level;
}

static const struct intc_ops intc = { .line = take_line };

void pci_tell_waiting(void)
{
	starts++;
}

/* ---- tests ------------------------------------------------------------------------------ */

static u32 get(unsigned offset)
{
	assert_true(pci_sriov_owns(&dev, (u16)(AT + offset)));
	return pci_sriov_read(&dev, (u16)(AT + offset), 4);
}

/*
 * All vCPUs are in their loops, in turn, until none of them waits. The lock is not held while it
 * does.
 */
static void go_on(void)
{
	while (pf_vcpu.pci_waits || vcpu.pci_waits || third_vcpu.pci_waits) {
		pci_wait_go_on(&pf_vcpu);
		pci_wait_go_on(&vcpu);
		pci_wait_go_on(&third_vcpu);
	}
}

/* The guest's write, which is over at once. */
static void begin_put(unsigned offset, unsigned size, u32 value)
{
	if (pci_sriov_write(&dev, (u16)(AT + offset), size, value) & PCI_CHANGED_VFS)
		pci_wait_begin(&pf_vcpu, &dev,
			       dev.sriov.control & PCI_SRIOV_ENABLE ? PCI_VFS_COME : PCI_VFS_GO);
}

static void put(unsigned offset, unsigned size, u32 value)
{
	begin_put(offset, size, value);
	go_on();
}

static int setup(void **)
{
	struct pci_cap cap[] = { { PCI_EXT_CAP_AER, true, 0x100 },
				 { PCI_EXT_CAP_SRIOV, true, AT } };

	memset(&dev, 0, sizeof(dev));
	memset(&vf, 0, sizeof(vf));
	memset(&third_vf, 0, sizeof(third_vf));
	memset(calls, 0, sizeof(calls));
	memset(busy, 0, sizeof(busy));
	memset(nr_reset, 0, sizeof(nr_reset));
	parts.vm.lines = other.vm.lines = third.vm.lines = (struct log_limit){ 0 };
	on = offs = starts = reports = asked = edges = coming = 0;
	absent = late = deaf = slow = false;
	reset_says = 0;
	pf_vcpu = (struct vcpu){ .vm = &parts.vm };
	vcpu.pci_waits = third_vcpu.pci_waits = false;
	other.vm.quarantined = third.vm.quarantined = false;
	now = step = 0;
	prepared = true;
	parts.vm.config = &config;
	fake_functions(&pci, &functions);
	fake_functions(&other_pci, &other_functions);
	fake_functions(&third_pci, &third_functions);
	parts.vm.pci = &pci;
	host_pci_function(PF, &pci.function[0]);
	pci.nr_functions = 1;
	pci.device[0] = &dev;
	dev.vm = &parts.vm;
	dev.host = &pci.function[0];
	other.vm.intc = third.vm.intc = &intc;
	other.vm.pci = &other_pci;
	other.vm.vcpus = by_id;
	other.vm.nr_vcpus = 1;
	vcpu.vm = &other.vm;
	host_pci_function(VF, &other_pci.function[0]);
	other_pci.nr_functions = 1;
	other_pci.device[0] = &vf;
	third.vm.pci = &third_pci;
	third.vm.vcpus = third_by_id;
	third.vm.nr_vcpus = 1;
	third_vcpu.vm = &third.vm;
	host_pci_function(VF + 1, &third_pci.function[0]);
	third_pci.nr_functions = 1;
	third_pci.device[0] = &third_vf;
	pci_sriov_show(&dev, cap, 2);
	assert_int_equal(cap[0].id, PCI_EXT_CAP_AER);
	assert_int_equal(cap[1].id, 0);
	return 0;
}

static void test_shown(void **)
{
	assert_false(pci_sriov_owns(&dev, AT) || pci_sriov_owns(&dev, AT - 4) ||
		     pci_sriov_owns(&dev, AT + PCI_SRIOV_SIZE));
	assert_int_equal(get(PCI_SRIOV_VFS), 0x00020002);
	assert_int_equal(get(PCI_SRIOV_OFFSET), 0x00020080);
	assert_int_equal(get(PCI_SRIOV_DEVICE), 0xffff0000);
	assert_int_equal(get(PCI_SRIOV_PAGES), 1);
	assert_int_equal(get(PCI_SRIOV_PAGE), 1);
	assert_int_equal(get(4), 0);
	assert_int_equal(get(PCI_SRIOV_SIZE - 4), 0);
	assert_int_equal(pci_sriov_read(&dev, AT + PCI_SRIOV_DEVICE + 2, 2), 0xffff);
	/* BARs are sized as the device's, and their flags stay. */
	assert_int_equal(get(PCI_SRIOV_BAR), 0xfe00000c);
	put(PCI_SRIOV_BAR, 4, ~0u);
	put(PCI_SRIOV_BAR + 4, 4, ~0u);
	put(PCI_SRIOV_BAR + 8, 4, ~0u);
	assert_int_equal(get(PCI_SRIOV_BAR), 0xffffc00c);
	assert_int_equal(get(PCI_SRIOV_BAR + 4), 0xffffffff);
	assert_int_equal(get(PCI_SRIOV_BAR + 8), 0);
	assert_int_equal(get(PCI_SRIOV_BAR + 16), 0x70);
}

static void test_count(void **)
{
	put(PCI_SRIOV_NUM_VFS, 2, 3);
	assert_int_equal(get(PCI_SRIOV_NUM_VFS), 0);
	put(PCI_SRIOV_NUM_VFS + 1, 1, 0xff);
	assert_int_equal(get(PCI_SRIOV_NUM_VFS), 0);
	/* None is not some: it never begins, however often it is asked for, and no line says so. */
	reports = 0;
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	assert_int_equal(get(PCI_SRIOV_CONTROL), 0);
	assert_int_equal(reports, 0);
	put(PCI_SRIOV_NUM_VFS, 2, 2);
	put(PCI_SRIOV_CONTROL, 2, 0xffff);
	assert_int_equal(on, 2);
	assert_int_equal(starts, 1);
	assert_int_equal(get(PCI_SRIOV_CONTROL), PCI_SRIOV_ENABLE | PCI_SRIOV_MEMORY);
	/* While they are on it stays, and once is enough. */
	put(PCI_SRIOV_NUM_VFS, 2, 1);
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	assert_int_equal(get(PCI_SRIOV_NUM_VFS), 2);
	assert_int_equal(starts, 1);
	put(PCI_SRIOV_CONTROL, 4, 0);
	assert_int_equal(offs, 1);
	absent = true;
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	assert_int_equal(get(PCI_SRIOV_CONTROL), 0);
	assert_int_equal(starts, 1);
}

/* However often a guest switches them on, or tries to, the log has what its VM's limit leaves. */
static void test_flood(void **)
{
	put(PCI_SRIOV_NUM_VFS, 2, 2);
	for (unsigned i = 0; i < 1000; i++) {
		absent = i & 1;
		put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
		put(PCI_SRIOV_CONTROL, 2, 0);
	}
	assert_int_equal(starts, 500);
	assert_int_equal(reports, LOG_LIMIT_BURST);
	assert_int_equal(parts.vm.lines.unsaid, 1000 - LOG_LIMIT_BURST);
}

/* The bus of the last VF, whichever are on. */
static void test_last_bus(void **)
{
	assert_int_equal(vm_pci_last_bus(&pci.function[0]), pci.function[0].address.bus);
	vf_bus = 9;
	assert_int_equal(vm_pci_last_bus(&pci.function[0]), 9);
	vf_bus = 0;
}

static void test_shadow(void **)
{
	u32 value;

	assert_false(pci_sriov_shadow(&pci, 0, 0xc0, 0, 4, &value));
	put(PCI_SRIOV_NUM_VFS, 2, 1);
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	assert_true(pci_sriov_shadow(&pci, 0, 0xc0, PCI_REG_ID, 4, &value) && value == ~0u);
	assert_true(pci_sriov_shadow(&pci, 0, 0xc0, PCI_REG_CLASS + 2, 2, &value) &&
		    value == 0x0200);
	assert_true(pci_sriov_shadow(&pci, 0, 0xc0, PCI_REG_COMMAND, 4, &value) && value == 0);
	/* One is on. */
	assert_false(pci_sriov_shadow(&pci, 0, 0xc2, 0, 4, &value) ||
		     pci_sriov_shadow(&pci, 1, 0xc0, 0, 4, &value));
}

static void have_vf(void)
{
	put(PCI_SRIOV_NUM_VFS, 2, 2);
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	vf.vm = &other.vm;
	vf.host = &other_pci.function[0];
	vf.config.nr_fields = 1;
	assert_int_equal(pci_sriov_join(&vf), 0);
}

/* At its guest's word. */
static void reset_pf(void)
{
	dev.config.nr_fields = 0;
	pci_wait_begin(&pf_vcpu, &dev, PCI_RESETS);
	go_on();
}

/* The VM that has it is asked until it can, and only then they are off. */
static void test_pulled_out(void **)
{
	have_vf();
	put(PCI_SRIOV_CONTROL, 2, 0);
	assert_int_equal(asked, 2);
	assert_true(vf.gone && offs == 1 && !on);
	assert_int_equal(edges, 1);
	pci_sriov_leave(&vf);
}

/*
 * A VM that does not let go keeps nothing: the wait ends, and the card, whose reset takes its
 * virtual functions with it (PCI Express Base 5.0, 9.3.3.3.1), can have them on again.
 */
static void test_deaf(void **)
{
	for (unsigned by_reset = 0; by_reset < 2; by_reset++) {
		setup(NULL);
		have_vf();
		deaf = true;
		/* The time since the node's start does not count. */
		now = 100 * 1000;
		step = 1000;
		reports = 0;
		if (by_reset)
			reset_pf();
		else
			put(PCI_SRIOV_CONTROL, 2, 0);
		assert_in_range(now, (100 + 70) * 1000, (100 + 73) * 1000);
		assert_true(!vf.gone && offs == 1 && !on);
		assert_int_equal(reports, 1);
		/* While one is had nobody has them come, and then they do. */
		deaf = true;
		put(PCI_SRIOV_NUM_VFS, 2, 2);
		put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
		assert_int_equal(get(PCI_SRIOV_CONTROL) & PCI_SRIOV_ENABLE, 0);
		pci_sriov_leave(&vf);
		put(PCI_SRIOV_NUM_VFS, 2, 2);
		put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
		assert_int_equal(get(PCI_SRIOV_CONTROL), PCI_SRIOV_ENABLE);
		assert_int_equal(on, 2);
	}
}

/* All are asked before one is waited for: they take their time at the same time. */
static void test_pulled_out_together(void **)
{
	have_vf();
	third_vf.vm = &third.vm;
	third_vf.host = &third_pci.function[0];
	assert_int_equal(pci_sriov_join(&third_vf), 0);
	put(PCI_SRIOV_CONTROL, 2, 0);
	assert_string_equal(calls, "2323");
	assert_true(vf.gone && third_vf.gone && offs == 1 && !on);
	pci_sriov_leave(&vf);
	pci_sriov_leave(&third_vf);
}

/*
 * One that was there when its VM looked, and is claimed as nobody is asked any more, is not had;
 * nor is one that stays off.
 */
static void test_late(void **)
{
	struct vm_config wants = {
		.nr_pci = 1, .pci[0] = { .by = VM_PCI_VF, .address = { 0, 0, 0x40 }, .vf = 1 }
	};

	have_vf();
	assert_true(vm_pci_has_vfs(&wants));
	late = true;
	put(PCI_SRIOV_CONTROL, 2, 0);
	assert_true(vf.gone && !third_vf.leaving && offs == 1);
	assert_string_equal(calls, "22");
	pci_sriov_leave(&vf);
	assert_false(vm_pci_has_vfs(&wants));
	assert_int_equal(pci_sriov_join(&third_vf), -ENODEV);
	put(PCI_SRIOV_NUM_VFS, 2, 1);
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	assert_int_equal(pci_sriov_join(&third_vf), -ENODEV);
	third_vf.host = NULL;
}

/* By a reset of the PF the same, which forgets what the guest has written. */
static void test_reset(void **)
{
	have_vf();
	put(PCI_SRIOV_BAR, 4, ~0u);
	reset_pf();
	assert_true(vf.gone && offs == 1 && prepared && nr_reset[VF] == 1 && nr_reset[PF] == 1);
	assert_int_equal(get(PCI_SRIOV_CONTROL), 0);
	assert_int_equal(get(PCI_SRIOV_NUM_VFS), 0);
	assert_int_equal(get(PCI_SRIOV_BAR), 0xfe00000c);
	pci_sriov_leave(&vf);
	/* Who has left is not asked. */
	asked = 0;
	put(PCI_SRIOV_NUM_VFS, 2, 2);
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	reset_pf();
	assert_int_equal(asked, 0);
	assert_int_equal(get(PCI_SRIOV_CONTROL), 0);
	/* One that was never made has none. */
	assert_false(pci_sriov_close(NULL));
}

/*
 * While they come or go the guest's other words about that wait, and no lock is held; a VF that is
 * slow is gone with its card.
 */
static void test_slow(void **)
{
	have_vf();
	slow = true;
	begin_put(PCI_SRIOV_CONTROL, 2, 0);
	for (unsigned i = 0; i < 10; i++) {
		pci_wait_go_on(&pf_vcpu);
		pci_wait_go_on(&vcpu);
	}
	assert_true(pf_vcpu.pci_waits && vcpu.pci_waits && pci_is_away(&vf) && !vf.gone &&
		    !pci_is_away(&dev));
	locks = 0;
	for (unsigned i = 0; i < 10; i++) {
		pci_wait_go_on(&pf_vcpu);
		pci_wait_go_on(&vcpu);
	}
	assert_int_equal(locks, 0);
	assert_string_equal(calls, "22");
	begin_put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE | PCI_SRIOV_MEMORY);
	assert_int_equal(get(PCI_SRIOV_CONTROL), PCI_SRIOV_MEMORY);
	step = 1000;
	go_on();
	assert_in_range(now, 70 * 1000, 73 * 1000);
	assert_true(offs == 1 && vf.gone && !nr_reset[VF] && !other.vm.quarantined);
	pci_sriov_leave(&vf);
}

/*
 * One that does not stop costs its VM the memory, if nothing blocks it; in the middle of its
 * guest's reset it goes after that.
 */
static void test_stuck(void **)
{
	have_vf();
	reset_says = -EIO;
	vf_blocked = false;
	put(PCI_SRIOV_CONTROL, 2, 0);
	assert_true(vf.gone && other.vm.quarantined == true);
	pci_sriov_leave(&vf);
	setup(NULL);
	have_vf();
	reset_says = -EIO;
	vf_blocked = IS_ENABLED(CONFIG_IOMMU);
	put(PCI_SRIOV_CONTROL, 2, 0);
	assert_true(vf.gone && other.vm.quarantined == !vf_blocked);
	pci_sriov_leave(&vf);
	setup(NULL);
	have_vf();
	vf.leaving = true;
	vf.config.nr_fields = 0;
	slow = true;
	pci_wait_begin(&vcpu, &vf, PCI_RESETS);
	vf.leaving = false;
	begin_put(PCI_SRIOV_CONTROL, 2, 0);
	for (unsigned i = 0; i < 10; i++) {
		pci_wait_go_on(&pf_vcpu);
		pci_wait_go_on(&vcpu);
	}
	assert_int_equal(vf.busy, PCI_LEAVES);
	slow = false;
	go_on();
	assert_true(vf.gone && nr_reset[VF] == 1 && offs == 1);
	pci_sriov_leave(&vf);
}

static void test_taken(void **)
{
	struct vm_config wants = {
		.nr_pci = 1, .pci[0] = { .by = VM_PCI_VF, .address = { 0, 0, 0x40 }, .vf = 1 }
	};
	struct host_pci_function f;

	assert_false(vm_pci_has_vfs(&wants));
	put(PCI_SRIOV_NUM_VFS, 2, 1);
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	assert_false(vm_pci_has_vfs(&wants));
	wants.pci[0].vf = 0;
	assert_true(vm_pci_has_vfs(&wants));
	other.vm.config = &wants;
	host_pci_function(PF, &f);
	assert_int_equal(pci_sriov_take(&other.vm,
					&(struct vm_config_pci){ .by = VM_PCI_VF, .vf = 1 }, &f),
			 -EINVAL);
	/* Without an IOMMU who is not trusted has none. */
	assert_int_equal(pci_sriov_take(&other.vm,
					&(struct vm_config_pci){ .by = VM_PCI_VF, .vf = 0 }, &f),
			 -EINVAL);
	assert_int_equal(f.index, PF);
	wants.trusted = true;
	assert_int_equal(pci_sriov_take(&other.vm,
					&(struct vm_config_pci){ .by = VM_PCI_VF, .vf = 0 }, &f),
			 0);
	assert_int_equal(f.index, VF);
}

/*
 * By its own address: as soon as it has one, and else like the other name. Other functions are not
 * this file's.
 */
static void test_by_address(void **)
{
	struct vm_config wants = { .nr_pci = 1,
				   .pci[0] = { .by = VM_PCI_ADDRESS, .address = { 0, 0, 0xc2 } } };
	struct host_pci_function f;

	other.vm.config = &wants;
	host_pci_function(VF + 1, &f);
	assert_false(vm_pci_has_vfs(&wants));
	put(PCI_SRIOV_NUM_VFS, 2, 1);
	put(PCI_SRIOV_CONTROL, 2, PCI_SRIOV_ENABLE);
	assert_false(vm_pci_has_vfs(&wants));
	wants.trusted = true;
	assert_int_equal(pci_sriov_take(&other.vm, &wants.pci[0], &f), -EINVAL);
	wants.pci[0].address.devfn = 0xc0;
	host_pci_function(VF, &f);
	assert_true(vm_pci_has_vfs(&wants));
	assert_int_equal(pci_sriov_take(&other.vm, &wants.pci[0], &f), 0);
	assert_int_equal(f.index, VF);
	wants.trusted = false;
	assert_int_equal(pci_sriov_take(&other.vm, &wants.pci[0], &f), -EINVAL);
	/* Each would wait for the other's to go. */
	wants.trusted = true;
	wants.vfs = 1;
	assert_int_equal(pci_sriov_take(&other.vm, &wants.pci[0], &f), -EINVAL);
	wants.trusted = false;
	wants.pci[0].address.devfn = 0x40;
	host_pci_function(PF, &f);
	assert_true(vm_pci_has_vfs(&wants));
	assert_int_equal(pci_sriov_take(&other.vm, &wants.pci[0], &f), 0);
	/* Nothing is there, which is not for this to say. */
	wants.pci[0].address.devfn = 0xff;
	assert_true(vm_pci_has_vfs(&wants));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_shown, setup),
		cmocka_unit_test_setup(test_count, setup),
		cmocka_unit_test_setup(test_flood, setup),
		cmocka_unit_test_setup(test_last_bus, setup),
		cmocka_unit_test_setup(test_shadow, setup),
		cmocka_unit_test_setup(test_pulled_out, setup),
		cmocka_unit_test_setup(test_pulled_out_together, setup),
		cmocka_unit_test_setup(test_deaf, setup),
		cmocka_unit_test_setup(test_late, setup),
		cmocka_unit_test_setup(test_slow, setup),
		cmocka_unit_test_setup(test_stuck, setup),
		cmocka_unit_test_setup(test_reset, setup),
		cmocka_unit_test_setup(test_taken, setup),
		cmocka_unit_test_setup(test_by_address, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
