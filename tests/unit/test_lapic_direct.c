/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_lapic_direct.sources */
/*
 * A guest that owns its CPUs' local APICs: which registers it reaches itself,
 * what the monitor makes of the others (SDM vol. 3, 11.12), and to whom an ICR's
 * message goes. Three vCPUs with APIC IDs 2, 3 and 0x21: others of both clusters
 * are not the VM's.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/dev/apic/lapic_direct.c"
#include "vmm/guest_platform.h"
#include "vmm/hvm.h"
#include "vmm/vm/intc.h"
#include "vmm/vm/ranges.h"
#include "vmm/vm/startup.h"
#include "vmm/vm/vdev.h"

#define ICR 0x830
#define SVR 0x80f
#define TIMER 0x832
#define ALL 7u /* vCPUs */

static struct vm *vm;
static bool reads[3][0x1000], writes[3][0x1000]; /* that do not exit */

static unsigned opened; /* how often an ICR was */
static void (*opening)(void);

static void intercept_msr(struct vcpu *vcpu, u32 msr, bool read, bool write)
{
	assert_true(msr < 0x1000);
	if (msr == ICR && !write) {
		opened++;
		if (opening)
			opening();
	}
	reads[vcpu->id][msr] = !read;
	writes[vcpu->id][msr] = !write;
}

static const struct hvm_ops ops = { .intercept_msr = intercept_msr };
const struct hvm_ops *hvm = &ops;

/* Nothing would end a pause that the guest asks for: the timers are its own. */
int vm_pause(struct vm *)
{
	fail();
	return 0;
}

int vm_resume(struct vm *)
{
	fail();
	return 0;
}

/* By those that have it: how often each has been called, and serves others meanwhile. */
static unsigned calls[3], busy, served, flushed, inits_taken;

int vcpu_call(struct vcpu *vcpu, void (*fn)(struct vcpu *))
{
	unsigned here = fake_host.this_cpu;

	if (busy) {
		busy--;
		return -EBUSY;
	}
	calls[vcpu->id]++;
	fake_host.this_cpu = vcpu->cpu;
	fn(vcpu);
	fake_host.this_cpu = here;
	return 0;
}

void vcpu_serve_call(struct vcpu *vcpu)
{
	assert_int_equal(vcpu->cpu, fake_host.this_cpu);
	served++;
}

void shootdown_flush(struct vcpu *vcpu)
{
	vcpu->stage2_seen = vcpu->vm->stage2_count;
	flushed++;
}

static unsigned patience; /* how often somebody is waited for */

bool vcpu_may_answer(struct vcpu *, u64)
{
	return patience && patience--;
}

bool vcpu_nmi(struct host_work *)
{
	return false;
}

/* When nobody sends any more, and what was sent has come: host_apic_take_back() waits for it. */
void direct_take_init(struct vcpu *vcpu)
{
	assert_false(vm_own(vm, icrs_open) || fake_host.given[vcpu->cpu]);
	/* Of all CPUs there is one here: the first one's. */
	assert_true(inits_taken++ || fake_host.msrs[4].value == 0x1a);
}

static bool deadline;

static void host_leaf(u32 leaf, u32, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ .ecx = leaf == 1 && deadline ? (u32)BIT(24) : 0 };
}

static int setup(void **)
{
	fake_host_reset();
	memset(reads, 0, sizeof(reads));
	memset(writes, 0, sizeof(writes));
	fake_host.nr_cpus = fake_vm_vcpus = 3;
	fake_host.cpuid = host_leaf;
	fake_host.msrs[0].msr = SVR;
	fake_host.msrs[1].msr = 0x808;
	fake_host.msrs[2].msr = TIMER;
	fake_vm_apic_id[0] = 2;
	fake_vm_apic_id[1] = 3;
	fake_vm_apic_id[2] = 0x21;
	fake_host.msrs[3].msr = ICR;
	fake_host.msrs[4].msr = MSR_AMD_VM_CR;
	fake_host.msrs[4].value = 0x18;
	fake_host.nr_msrs = 5;
	opened = busy = served = flushed = inits_taken = 0;
	opening = NULL;
	patience = ~0u;
	fake_host.tsc_step = 0;
	memset(calls, 0, sizeof(calls));
	fake_vm_direct = true;
	vm = fake_vm_create(0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(lapic_x2apic_ops.write(NULL, vm->vcpus[i], SVR, 0x1ff), 0);
	return 0;
}

static int ipi_setup(void **state)
{
	int err;

	fake_vm_ipi_direct = true;
	err = setup(state);
	fake_vm_ipi_direct = false;
	return err;
}

static int teardown(void **)
{
	/* All leave their guest before the first one stops. */
	for (unsigned i = 0; i < 3; i++)
		if (vm->vcpus[i]->lapic->icr_open) {
			vm->vcpus[i]->lapic->icr_open = false;
			vm_own(vm, icrs_open)--;
		}
	fake_vm_destroy(vm);
	for (unsigned i = 0; i < 3; i++)
		assert_false(fake_host.given[i]);
	return 0;
}

static int write_by(unsigned vcpu, u32 msr, u64 value)
{
	return lapic_x2apic_ops.write(NULL, vm->vcpus[vcpu], msr, value);
}

/* Which CPUs got `vector`, as a set; each one interrupt, and no other. */
static u32 who_got(u8 vector)
{
	u32 set = 0;

	for (unsigned i = 0; i < fake_host.nr_sent; i++) {
		assert_int_equal(fake_host.sent[i].vector, vector);
		assert_false(set & BIT(fake_host.sent[i].cpu));
		set |= 1u << fake_host.sent[i].cpu;
	}
	fake_host.nr_sent = 0;
	return set;
}

static u32 send_by(unsigned vcpu, u32 dest, u32 low)
{
	assert_int_equal(write_by(vcpu, ICR, (u64)dest << 32 | low), 0);
	return who_got((u8)low);
}

/* By the names of SDM vol. 3, table 11-6; everything else, 0x840 to 0x8ff included, exits. */
static void test_own_registers(void **)
{
	for (unsigned v = 0; v < 3; v++)
		for (u32 msr = 0; msr < 0x1000; msr++) {
			bool state = msr >= 0x810 && msr <= 0x827;
			bool r = msr == 0x802 || msr == 0x808 || msr == 0x80a || msr == 0x80d ||
				 state || msr == 0x832 || msr == 0x838 || msr == 0x839 ||
				 msr == 0x83e;
			bool w = msr == 0x808 || msr == 0x80b || msr == 0x838 || msr == 0x83e ||
				 msr == 0x83f;

			assert_int_equal(reads[v][msr], r);
			assert_int_equal(writes[v][msr], w);
		}
}

/* The CPU's own timer has a deadline, or nothing has. */
static void test_deadline(void **)
{
	u64 value;

	assert_int_equal(guest_rdmsr(vm, MSR_TSC_DEADLINE, &value), -EFAULT);
	fake_vm_destroy(vm);
	deadline = true;
	vm = fake_vm_create(0);
	deadline = false;
	for (unsigned v = 0; v < 3; v++)
		assert_true(reads[v][MSR_TSC_DEADLINE] && writes[v][MSR_TSC_DEADLINE]);
}

static void test_fixed(void **)
{
	assert_int_equal(send_by(0, 2, 0x4041), 1);
	assert_int_equal(send_by(0, 3, 0x4041), 2);
	assert_int_equal(send_by(1, 0x21, 0x4010), 4);
	assert_int_equal(send_by(1, 0x21, 0x40ff), 4);
	for (u32 dest = 0; dest < 0x400; dest++)
		if (dest != 2 && dest != 3 && dest != 0x21)
			assert_int_equal(send_by(0, dest, 0x4041), 0);
	assert_int_equal(send_by(2, ~0u, 0x4041), ALL);
	/* Shorthands: self, all, all but self. */
	assert_int_equal(send_by(1, 0, 0x44041), 2);
	assert_int_equal(send_by(1, 0, 0x84041), ALL);
	assert_int_equal(send_by(1, 0, 0xc4041), 5);
	/* Below 16 is an error of the sender's; an APIC that is off takes none. */
	assert_int_equal(send_by(0, 3, 0x400f), 0);
	assert_int_equal(vm->vcpus[0]->lapic->esr_pending, BIT(5));
	assert_int_equal(write_by(1, SVR, 0xff), 0);
	assert_int_equal(send_by(0, ~0u, 0x4041), 5);
}

/*
 * Cluster 0 has IDs 0 to 15, cluster 2 0x20 to 0x2f: of each set those are reached that are the
 * VM's.
 */
static void test_logical(void **)
{
	for (u32 set = 0; set < 0x10000; set++) {
		assert_int_equal(send_by(0, set, 0x4841), set >> 2 & 3);
		if (set % 7 == 0) {
			assert_int_equal(send_by(0, 2 << 16 | set, 0x4841), set >> 1 & 1 ? 4 : 0);
			assert_int_equal(send_by(0, 1 << 16 | set, 0x4841), 0);
		}
	}
	assert_int_equal(send_by(0, ~0u, 0x4841), ALL);
	/* Lowest priority: one of them. */
	assert_int_equal(__builtin_popcount(send_by(0, 0xffff, 0x4941)), 1);
	assert_int_equal(send_by(0, 0xfff3, 0x4941), 0);
}

/*
 * NMI, INIT and SIPI are never messages of the CPU's; SMI, ExtINT and what is reserved are none at
 * all.
 */
static void test_other_modes(void **)
{
	assert_int_equal(send_by(0, 3, 0x4400), 0);
	assert_true(vm->vcpus[1]->nmi_pending && !vm->vcpus[0]->nmi_pending &&
		    !vm->vcpus[2]->nmi_pending);
	assert_int_equal(fake_host.kicks[1], 1);
	assert_int_equal(send_by(0, 4, 0x4400), 0);
	fake_startup = ~0u;
	assert_int_equal(send_by(0, 4, 0x4500), 0);
	assert_int_equal(fake_startup, ~0u);
	assert_int_equal(send_by(0, 0x21, 0x4500), 0);
	assert_int_equal(fake_startup, STARTUP_INIT);
	assert_int_equal(send_by(0, 0x21, 0x4698), 0);
	assert_int_equal(fake_startup, STARTUP_SIPI | 0x98);
	for (u32 mode = 0; mode < 8; mode++)
		if (mode == 2 || mode == 3 || mode == 7)
			assert_int_equal(send_by(0, ~0u, 0x4041 | mode << 8), 0);
	assert_int_equal(fake_host.kicks[0] + fake_host.kicks[2], 0);
	assert_int_equal(write_by(0, ICR, BIT(20)), -EFAULT);
}

/*
 * The timer's entry is the CPU's, but for delivery modes: an SMI or NMI would be the hypervisor's
 * (0x832; figure 11-8).
 */
static void test_timer_entry(void **)
{
	static const u32 good[] = { 0x10000, 0x55, 0x20055, 0x40055, 0x710ff };
	u64 value;

	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(write_by(0, TIMER, good[i]), 0);
		assert_int_equal(fake_host.msrs[2].value, good[i]);
	}
	for (unsigned bit = 0; bit < 64; bit++)
		if (!(0x710ffull >> bit & 1)) {
			assert_int_equal(write_by(0, TIMER, 0x10055 | BIT(bit)), -EFAULT);
			assert_int_equal(fake_host.msrs[2].value, 0x710ff);
		}
	/* One that the CPU has no deadline for. */
	fake_host.nr_msrs = 2;
	assert_int_equal(write_by(0, TIMER, 0x40055), -EFAULT);
	assert_int_equal(guest_rdmsr(vm, TIMER, &value), 0);
	assert_int_equal(value, 0x700ff);
}

/* What the CPU refuses has not been written for anybody. */
static void test_refused_svr(void **)
{
	fake_host.nr_msrs = 0;
	assert_int_equal(write_by(0, SVR, 0x2ff), -EFAULT);
	assert_int_equal(vm->vcpus[0]->lapic->svr, 0x1ff);
	assert_int_equal(send_by(1, 2, 0x4041), 1);
}

/* SVR is the CPU's, but for bit 12; the rest of these is the monitor's and reaches nothing. */
static void test_filtered_registers(void **)
{
	static const u32 lvts[] = { 0x833, 0x834, 0x835, 0x836, 0x837 };
	u64 value;

	assert_int_equal(write_by(0, SVR, 0x1a5), 0);
	assert_int_equal(fake_host.msrs[0].value, 0x1a5);
	assert_int_equal(write_by(0, SVR, 0x11ff), -EFAULT);
	assert_int_equal(fake_host.msrs[0].value, 0x1a5);
	for (unsigned i = 0; i < ARRAY_SIZE(lvts); i++) {
		u32 entry = lvts[i] == 0x837 ? 0x55 : 0x455;

		assert_int_equal(write_by(0, lvts[i], entry), 0);
		assert_int_equal(guest_rdmsr(vm, lvts[i], &value), 0);
		assert_int_equal(value, entry);
	}
	assert_int_equal(fake_host.msrs[0].value, 0x1a5);
	assert_int_equal(guest_rdmsr(vm, 0x803, &value), 0);
	assert_int_equal(value, 0x50014);
	assert_int_equal(write_by(0, 0x840, 0), -EFAULT);
}

static void test_base(void **)
{
	const u64 on = GUEST_LAPIC_BASE | APIC_BASE_EN | APIC_BASE_EXTD | APIC_BASE_BSP;
	u64 value;

	assert_int_equal(guest_rdmsr(vm, MSR_APIC_BASE, &value), 0);
	assert_int_equal(value, on);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, on), 0);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, on & ~APIC_BASE_BSP), 0);
	assert_string_equal(fake_host.log, "");
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, on & ~APIC_BASE_EXTD), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, on & ~(APIC_BASE_EXTD | APIC_BASE_EN)),
			 -EFAULT);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, on + 0x1000), -EFAULT);
	assert_int_equal(guest_rdmsr(vm, MSR_APIC_BASE, &value), 0);
	assert_int_equal(value, on);
	assert_non_null(strstr(fake_host.log, "vcpu0: IA32_APIC_BASE = 0xfee00900: #GP"));
}

/*
 * A device's message and an input of the I/O APIC are interrupts of the CPU's; level or edge, none
 * waits for an EOI.
 */
static void test_devices(void **)
{
	lapic_msi(vm, 0xfee03000, 0x61);
	assert_int_equal(who_got(0x61), 2);
	lapic_msi(vm, 0xfee04000, 0x61);
	assert_int_equal(who_got(0x61), 0);
	for (unsigned level = 0; level < 2; level++) {
		guest_store(vm, GUEST_IOAPIC_BASE, 4, 0x19);
		guest_store(vm, GUEST_IOAPIC_BASE + 0x10, 4, 0x21u << 24);
		guest_store(vm, GUEST_IOAPIC_BASE, 4, 0x18);
		guest_store(vm, GUEST_IOAPIC_BASE + 0x10, 4, 0x71 | level << 15);
		for (unsigned i = 0; i < 3; i++) {
			vm->intc->line(vm, 4, true);
			assert_int_equal(who_got(0x71), 4);
			vm->intc->line(vm, 4, false);
		}
	}
}

static void test_no_debug_clock(void **)
{
	assert_int_equal(guest_in(vm, 0x5f0, 4), ~0u);
	guest_out(vm, 0x5f8, 4, 1);
}

/*
 * What was taken from the CPU and not delivered: first of all once more, whatever the priorities;
 * of several the highest.
 */
static void test_given_back(void **)
{
	const struct intc_ops *intc = vm->intc;
	struct vcpu *vcpu = vm->vcpus[0];

	vcpu->lapic->tpr = 0xff;
	assert_int_equal(intc->pending(vcpu), -1);
	assert_false(intc->waiting(vcpu));
	intc->unaccept(vcpu, 0x31);
	intc->unaccept(vcpu, 0xe7);
	assert_true(intc->waiting(vcpu));
	assert_int_equal(intc->pending(vcpu), 0xe7);
	intc->accept(vcpu, 0xe7);
	assert_int_equal(intc->pending(vcpu), 0x31);
	intc->accept(vcpu, 0x31);
	assert_false(intc->waiting(vcpu));
	assert_int_equal(fake_host.nr_sent, 0);
}

static void test_init(void **)
{
	struct vcpu *vcpu = vm->vcpus[0];

	vm->intc->unaccept(vcpu, 0x31);
	vm->intc->init(vcpu);
	assert_int_equal(fake_host.apic_resets, 1);
	assert_false(vm->intc->waiting(vcpu));
	assert_int_equal(vcpu->lapic->svr, 0xff);
	assert_true(vcpu->apic_base & APIC_BASE_EXTD);
	assert_int_equal(send_by(1, 2, 0x4041), 0);
}

/* CR8, where another intercept takes it along, is the CPU's TPR. */
static void test_cr8(void **)
{
	fake_host.msrs[1].value = 0x5f;
	assert_int_equal(vm->intc->get_cr8(vm->vcpus[0]), 5);
	vm->intc->set_cr8(vm->vcpus[0], 9);
	assert_int_equal(fake_host.msrs[1].value, 0x90);
}

static unsigned silenced;

void pci_silence(struct vcpu *vcpu)
{
	assert_true(fake_host.given[vcpu->cpu]);
	silenced |= 1u << vcpu->id;
}

/*
 * Each vCPU silences what could interrupt it, while its CPU's APIC still takes it for the guest;
 * not without functions.
 */
static void test_silenced(void **)
{
	static char functions;

	silenced = 0;
	fake_vm_destroy(vm);
	assert_int_equal(silenced, 0);
	vm = fake_vm_create(0);
	vm->pci = (void *)&functions;
	fake_vm_destroy(vm);
	assert_int_equal(silenced, ALL);
	vm = fake_vm_create(0);
}

static void yield(void)
{
	sched_yield();
}

static void *send_all(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE))
		lapic_direct_send(vm->vcpus[1]->lapic, 0x41);
	return NULL;
}

/* Nothing is sent to a CPU that goes back in this moment: the fake would abort. */
static void test_door(void **)
{
	struct vcpu *vcpu = vm->vcpus[1];
	bool stop = false;
	pthread_t sender;

	fake_host.this_cpu = 1;
	fake_host.sending = yield;
	assert_int_equal(pthread_create(&sender, NULL, send_all, &stop), 0);
	for (unsigned i = 0; i < 200 || __atomic_load_n(&fake_host.nr_sent, __ATOMIC_RELAXED) < 100;
	     i++) {
		lapic_direct_stop(vcpu);
		lapic_direct_start(vcpu, NULL);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(sender, NULL), 0);
	fake_host.this_cpu = 0;
}

/* Nothing is sent to a CPU before it is the guest's, nor any more: the fake would abort. */
static void test_not_there(void **)
{
	extern const struct vdev *const __start_vdevs[], *const __stop_vdevs[];

	for (const struct vdev *const *d = __start_vdevs; d < __stop_vdevs; d++)
		if ((*d)->vcpu_stop)
			(*d)->vcpu_stop(vm->vcpus[0], vm->device[d - __start_vdevs]);
	assert_false(fake_host.given[0]);
	assert_int_equal(send_by(1, ~0u, 0x4041), 6);
	host_apic_give();
}

static bool is_open(unsigned v)
{
	assert_int_equal(reads[v][ICR], writes[v][ICR]);
	return writes[v][ICR];
}

static void open_all(void)
{
	for (unsigned v = 0; v < 3; v++)
		assert_int_equal(send_by(v, 2, 0x4041), 1);
	assert_true(is_open(0) && is_open(1) && is_open(2) && vm_own(vm, icrs_open) == 3);
}

/* ipi = direct: only by a message that interrupts, of the vCPU's own, and when all have started. */
static void test_icr_opens(void **)
{
	vm->vcpus[1]->startup = STARTUP_WAIT;
	vm->vcpus[2]->startup = STARTUP_INIT;
	assert_int_equal(send_by(0, 2, 0x4041), 1);
	vm->vcpus[1]->startup = STARTUP_RUN;
	assert_int_equal(send_by(0, 2, 0x4041), 1);
	vm->vcpus[2]->startup = STARTUP_SIPI | 8;
	assert_int_equal(send_by(1, 2, 0x4041), 1);
	assert_int_equal(opened, 0);
	vm->vcpus[2]->startup = STARTUP_RUN;
	/* Not by those that are more than an interrupt, nor by another register. */
	for (u32 mode = 4; mode < 7; mode++)
		assert_int_equal(send_by(0, 3, 0x4000 | mode << 8), 0);
	assert_int_equal(write_by(0, SVR, 0x1ff), 0);
	assert_int_equal(opened, 0);
	assert_int_equal(send_by(1, 0x21, 0x4041), 4);
	assert_true(!is_open(0) && is_open(1) && !is_open(2) && vm_own(vm, icrs_open) == 1);
	assert_int_equal(send_by(1, 0x21, 0x4041), 4);
	assert_int_equal(opened, 1);
	open_all();
}

/* Without it never. */
static void test_icr_filtered(void **)
{
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(send_by(i % 3, ~0u, 0x4041), ALL);
	vm->intc->init(vm->vcpus[1]);
	assert_int_equal(opened + vm_own(vm, icrs_open) + calls[0] + calls[2], 0);
}

static void init_comes(void)
{
	vm->vcpus[2]->startup = STARTUP_INIT;
}

/* An INIT while it opens: its taker may have looked already who is open. */
static void test_icr_opens_too_late(void **)
{
	opening = init_comes;
	assert_int_equal(send_by(0, 2, 0x4041), 1);
	assert_int_equal(opened, 1);
	assert_true(!is_open(0) && !vm_own(vm, icrs_open));
}

static void test_icr_closes(void **)
{
	open_all();
	fake_host.this_cpu = 1;
	vm->vcpus[1]->startup = STARTUP_INIT;
	busy = 2;
	/* Another's flush waits for this one meanwhile. */
	vm->stage2_count++;
	vm->intc->init(vm->vcpus[1]);
	assert_int_equal(flushed, 1);
	fake_host.this_cpu = 0;
	assert_true(!is_open(0) && !is_open(1) && !is_open(2) && !vm_own(vm, icrs_open));
	assert_true(served == 2 && calls[0] == 1 && !calls[1] && calls[2] == 1 &&
		    fake_host.apic_resets == 1);
	assert_int_equal(send_by(0, 2, 0x4041), 1);
	assert_true(!is_open(0));
	/* No second time. */
	vm->intc->init(vm->vcpus[1]);
	assert_int_equal(calls[0] + calls[2], 2);
}

/*
 * Another vCPU takes no calls: it is waited for as long as it may answer, and the others are not
 * asked in vain.
 */
static void test_icr_stays_open(void **)
{
	open_all();
	fake_host.this_cpu = 1;
	vm->vcpus[1]->startup = STARTUP_INIT;
	busy = 1000;
	patience = 5;
	vm->intc->init(vm->vcpus[1]);
	fake_host.this_cpu = 0;
	assert_true(is_open(0) && !is_open(1) && is_open(2));
	assert_true(served == 5 && !calls[0] && !calls[2] && fake_host.apic_resets == 1);
}

/* The SIPI that a CPU with virtualization on has not taken is sent again; nothing else is. */
static void test_sipi_again(void **)
{
	for (u32 mode = 0; mode < 8; mode++) {
		vm->vcpus[1]->startup = STARTUP_RUN;
		open_all();
		fake_host.msrs[3].value = 3ull << 32 | 0x4098 | mode << 8;
		fake_startup = ~0u;
		vm->vcpus[1]->startup = STARTUP_INIT;
		fake_host.this_cpu = 1;
		vm->intc->init(vm->vcpus[1]);
		fake_host.this_cpu = 0;
		assert_int_equal(fake_startup, mode == 6 ? STARTUP_SIPI | 0x98 : ~0u);
		assert_int_equal(fake_host.nr_sent, 0);
		assert_false(vm->vcpus[1]->nmi_pending);
		assert_int_equal(write_by(1, SVR, 0x1ff), 0);
	}
}

static unsigned windows;

/* Another vCPU leaves its guest in each window of the one that waits. */
static void leave(struct host_timer *t)
{
	assert_true(fake_host.given[0] && !vm->vcpus[0]->lapic->open &&
		    !vm->vcpus[0]->lapic->icr_open);
	assert_int_equal(vm_own(vm, icrs_open), 2 - windows);
	windows++;
	vm->vcpus[windows]->lapic->icr_open = false;
	vm_own(vm, icrs_open)--;
	if (windows < 2)
		host_timer_arm(t, 0);
}

/* A CPU is given back when all have stopped sending. */
static void test_stop_waits(void **)
{
	struct host_timer timer = { .fn = leave };

	open_all();
	windows = 0;
	host_timer_arm(&timer, 0);
	lapic_direct_stop(vm->vcpus[0]);
	assert_int_equal(windows, 2);
	assert_true(inits_taken == 1 && !fake_host.given[0]);
	assert_int_equal(fake_host.msrs[4].value, 0x18);
	host_apic_give();
}

/* From the round on that sees that one did stop; and more than all of it. */
#define PATIENCE (15 + 1 + VM_ANSWER_SECONDS * 10 + 1)

static void tenth_passes(void)
{
	fake_host.tsc += fake_host.tsc_khz * 100;
	if (++windows == 15) {
		vm->vcpus[1]->lapic->icr_open = false;
		vm_own(vm, icrs_open)--;
	}
}

/*
 * One stops late and one never: then all stay as they are, which one line says. Nobody is waited
 * for again.
 */
static void test_stop_waits_in_vain(void **)
{
	open_all();
	windows = 0;
	fake_host.window = tenth_passes;
	lapic_direct_stop(vm->vcpus[0]);
	assert_int_equal(windows, PATIENCE);
	assert_true(vm->still_sends && vm_own(vm, icrs_open) == 1 && !inits_taken &&
		    fake_host.given[0]);
	assert_int_equal(fake_host.msrs[4].value, 0x1a);
	assert_non_null(
		strstr(fake_host.log, "1 CPUs do not answer and could still send interrupts"));
	vm->vcpus[1]->lapic->icr_open = false;
	fake_host.this_cpu = 1;
	fake_host.log[0] = 0;
	lapic_direct_stop(vm->vcpus[1]);
	assert_true(windows == PATIENCE && fake_host.given[1] && !inits_taken && !fake_host.log[0]);
	fake_host.this_cpu = 0;
	fake_host.window = NULL;
	vm->still_sends = false;
}

/* All CPUs of the node, started or not. */
static void test_icr_refused(void **)
{
	assert_int_equal(lapic_direct_check(vm), 0);
	fake_host.nr_cpus = 4;
	fake_host.cpus[3].online = false;
	assert_int_equal(lapic_direct_check(vm), -EINVAL);
	assert_non_null(strstr(fake_host.log, "ipi = direct: it has 3 of the node's 4 CPUs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fixed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_logical, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_filtered_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timer_entry, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_svr, setup, teardown),
		cmocka_unit_test_setup_teardown(test_base, setup, teardown),
		cmocka_unit_test_setup_teardown(test_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_debug_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_init, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cr8, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silenced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_door, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_icr_opens, ipi_setup, teardown),
		cmocka_unit_test_setup_teardown(test_icr_filtered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_icr_opens_too_late, ipi_setup, teardown),
		cmocka_unit_test_setup_teardown(test_icr_closes, ipi_setup, teardown),
		cmocka_unit_test_setup_teardown(test_sipi_again, ipi_setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_waits, ipi_setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_waits_in_vain, ipi_setup, teardown),
		cmocka_unit_test_setup_teardown(test_icr_stays_open, ipi_setup, teardown),
		cmocka_unit_test_setup_teardown(test_icr_refused, ipi_setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
