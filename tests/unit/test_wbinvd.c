/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * When a guest's WBINVD or INVD is the CPU's, when the guest may go on, as behind a bus lock, and
 * what the exit of an interrupt window leaves. The file of the exits' handlers is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/fake_stage.h"
#include "vmm/exit/bus_lock.c"
#include "vmm/exit/exit.c"
#include "vmm/exit/exit_dump.c"

static struct vm vm;
static struct vcpu vcpu = { .vm = &vm };
static unsigned flushes, skips, faults, closed;
static u64 tsc;
static u32 ss;

void host_wbinvd(void)
{
	flushes++;
}

u64 host_tsc(void)
{
	return tsc;
}

u64 host_tsc_khz(void)
{
	return 1000;
}

void emulate_skip_slowly(struct vcpu *v, u64 rip)
{
	v->regs.rip = rip;
}

void emulate_skip_unknown(struct vcpu *)
{
	fail();
}

void vcpu_raise_error(struct vcpu *, u8 vector, u32)
{
	assert_int_equal(vector, VEC_GP);
	faults++;
}

static void get_segment(struct vcpu *, enum seg, struct segment *out)
{
	out->attr = ss;
}

static void request_irq_window(struct vcpu *, bool on)
{
	assert_false(on);
	closed++;
}

static const struct hvm_ops ops = { .get_segment = get_segment,
				    .request_irq_window = request_irq_window };
const struct hvm_ops *hvm = &ops;
const struct debugger *debugger;

/* Nobody calls the rest of it. */
#define NONE(name) \
	void name(struct vcpu *, const struct vmexit *) \
	{ \
		fail(); \
	}
NONE(emulate_io)
NONE(emulate_mmio)
NONE(exit_cpuid)
NONE(exit_cr)
NONE(exit_hypercall)
NONE(exit_rdmsr)
NONE(exit_wrmsr)
NONE(exit_xsetbv)
NONE(exit_init)

void emulate_give_up(struct vcpu *, const char *)
{
	fail();
}
static bool may_open; /* interrupts */
void host_interrupt_window(void)
{
	assert_true(may_open);
}
void host_log_limited(struct log_limit *, const char *, const char *, ...) { }

void host_log(const char *, ...)
{
	fail();
}
void vcpu_raise(struct vcpu *, u8)
{
	fail();
}
bool vm_end(struct vm *, enum vm_end)
{
	fail();
	return false;
}

static void leave(void)
{
	const struct vmexit exit = { .reason = VMEXIT_WBINVD, .insn_len = 2 };

	vcpu.regs.rip = 0x1000;
	vmexit_handlers[VMEXIT_WBINVD](&vcpu, &exit);
	skips += vcpu.regs.rip == 0x1002;
	assert_true(vcpu.regs.rip == 0x1002 || vcpu.regs.rip == 0x1000);
}

static void test_privilege(void **)
{
	ss = 3 << SEG_ATTR_DPL_SHIFT;
	leave();
	assert_true(faults == 1 && !flushes && !skips);
	ss = 0;
}

/* Nothing of its memory is incoherent. */
static void test_without_devices(void **)
{
	for (unsigned i = 1; i < 10; i++) {
		leave();
		assert_true(!flushes && skips == i);
	}
}

/* A tenth of a second is 100,000 ticks. */
static void test_with_devices(void **)
{
	static struct vm_pci pci = { .nr_functions = 0 };

	/* Those that no machine has write as CPUs do. */
	vm.pci = &pci;
	flushes = skips = 0;
	leave();
	assert_true(!flushes && skips == 1);
	pci.nr_functions = 1;
	skips = 0;
	tsc = 5;
	leave();
	assert_true(flushes == 1 && skips == 1);
	for (tsc = 6; tsc < 100005; tsc += 3333) {
		leave();
		assert_true(flushes == 1 && skips == 1);
	}
	tsc = 100004;
	leave();
	assert_true(flushes == 1 && skips == 1);
	tsc = 100005;
	leave();
	assert_true(flushes == 2 && skips == 2);
}

/* It waits for the same tenth of a second: its vCPU's loop asks until it may. */
static void test_bus_lock(void **)
{
	vcpu.regs.rip = 0x1000;
	vmexit_handlers[VMEXIT_BUS_LOCK](&vcpu, &(struct vmexit){ .reason = VMEXIT_BUS_LOCK,
								  .insn_len = 2 });
	assert_true(vcpu.bus_locked && vcpu.look && vcpu.regs.rip == 0x1000);
	/* Interrupts of the node are taken meanwhile. */
	may_open = true;
	tsc = vcpu.disturb_after - 1;
	assert_true(fake_look(LOOK_BUS_LOCK, &vcpu) && vcpu.bus_locked);
	tsc++;
	/* An INIT comes first. */
	vcpu.startup = STARTUP_INIT;
	assert_true(!fake_look(LOOK_BUS_LOCK, &vcpu) && vcpu.bus_locked);
	vcpu.startup = STARTUP_RUN;
	assert_true(fake_look(LOOK_BUS_LOCK, &vcpu) && !vcpu.bus_locked);
	may_open = false;
	assert_false(fake_look(LOOK_BUS_LOCK, &vcpu) || exit_may_disturb(&vcpu));
	assert_int_equal(vcpu.disturb_after, tsc + 100000);
}

/* The window that has opened is closed, and known to be: the next that is wanted is asked for. */
static void test_irq_window(void **)
{
	vcpu.irq_window = true;
	vmexit_handlers[VMEXIT_IRQ_WINDOW](&vcpu, &(struct vmexit){ .reason = VMEXIT_IRQ_WINDOW });
	assert_true(!vcpu.irq_window && closed == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_privilege),    cmocka_unit_test(test_without_devices),
		cmocka_unit_test(test_with_devices), cmocka_unit_test(test_bus_lock),
		cmocka_unit_test(test_irq_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
