/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/vm/event.c vmm/vm/power_on.c vmm/vm/startup.c tests/unit/fake_host.c */
/*
 * Exceptions that meet while one is being delivered, pair by pair after SDM
 * vol. 3, tables 6-4 and 6-5; NMIs; and what INIT leaves of all that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_host.h"
#include "vmm/hvm.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/intc.h"
#include "vmm/vm/startup.h"

static u64 reg[HVM_REGS];
static unsigned resets, inits, nmi_windows, irq_windows;
static int unaccepted; /* the vector that went back, or -1 */
static int pending;    /* what the interrupt controller has, or -1 */
static bool irq_window_on;

static u64 get(struct vcpu *, enum hvm_reg r)
{
	return reg[r];
}

static void set(struct vcpu *, enum hvm_reg r, u64 value)
{
	reg[r] = value;
}

static void reset(struct vcpu *)
{
	resets++;
}

static void set_segment(struct vcpu *, enum seg, const struct segment *) { }

static void set_desc_table(struct vcpu *, bool, const struct desc_table *) { }

static void request_irq_window(struct vcpu *, bool on)
{
	irq_windows++;
	irq_window_on = on;
}

static void request_nmi_window(struct vcpu *)
{
	nmi_windows++;
}

static const struct hvm_ops ops = {
	.get = get,
	.set = set,
	.vcpu_reset = reset,
	.set_segment = set_segment,
	.set_desc_table = set_desc_table,
	.request_irq_window = request_irq_window,
	.request_nmi_window = request_nmi_window,
};
const struct hvm_ops *hvm = &ops;

static int intc_pending(struct vcpu *)
{
	return pending;
}

static bool intc_waiting(struct vcpu *)
{
	return pending >= 0;
}

static void intc_accept(struct vcpu *, u8 vector)
{
	assert_int_equal(vector, pending);
	pending = -1;
}

static void intc_unaccept(struct vcpu *, u8 vector)
{
	unaccepted = vector;
}

static void intc_init(struct vcpu *)
{
	inits++;
	pending = -1;
}

static const struct intc_ops intc = {
	.pending = intc_pending,
	.waiting = intc_waiting,
	.accept = intc_accept,
	.unaccept = intc_unaccept,
	.init = intc_init,
};

static struct vm vm;
static struct vcpu vcpu;

bool vm_end(struct vm *v, enum vm_end why)
{
	if (v->end == VM_RUNNING)
		v->end = why;
	return true;
}

void vcpu_kick(struct vcpu *v)
{
	vcpu_look(v);
}

static int setup(void **)
{
	fake_host_reset();
	memset(&vm, 0, sizeof(vm));
	memset(&vcpu, 0, sizeof(vcpu));
	memset(reg, 0, sizeof(reg));
	vm.intc = &intc;
	vcpu.vm = &vm;
	vcpu.id = 1;
	reg[HVM_CR0] = CR0_PE;
	unaccepted = pending = -1;
	resets = inits = nmi_windows = irq_windows = 0;
	irq_window_on = false;
	return 0;
}

/*
 * The tables' classes by vector: benign, contributory, page fault, double fault; ' ': no exception.
 */
static const char class[] = "cb bbbbbdbccccp bbbbpc";

#define CLASSES (sizeof(class) - 1)

/* Pushes an error code: SDM vol. 3, table 6-1. */
static bool has_error(u8 vector)
{
	return vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21;
}

/*
 * Table 6-5: what becomes of the second; 's': it is handled after the first, 'd': double fault,
 * 't': shutdown.
 */
static char outcome(char first, char second)
{
	if (second == 'b' || first == 'b')
		return 's';
	if (first == 'd')
		return 't';
	return first == 'c' && second == 'p' ? 's' : 'd';
}

static void raise(u8 vector)
{
	if (has_error(vector))
		vcpu_raise_error(&vcpu, vector, 0x1234);
	else
		vcpu_raise(&vcpu, vector);
}

static void test_pairs(void **state)
{
	unsigned pairs = 0;

	for (u8 first = 0; first < CLASSES; first++)
		for (u8 second = 0; second < CLASSES; second++) {
			const char becomes = outcome(class[first], class[second]);
			const u8 vector = becomes == 'd' ? 8 : second;

			/* Nothing but the CPU raises a double fault. */
			if (class[first] == ' ' || class[second] == ' ' || class[second] == 'd')
				continue;
			setup(state);
			vcpu.event = (struct hvm_event){ HVM_EVENT_EXCEPTION, first,
							 has_error(first), 0x55 };
			raise(second);
			pairs++;
			if ((vm.end == VM_END_TRIPLE_FAULT) != (becomes == 't') ||
			    vcpu.died != (becomes == 't'))
				fail_msg("%u, then %u: end %u", first, second, vm.end);
			if (becomes == 't')
				continue;
			if (vcpu.event.type != HVM_EVENT_EXCEPTION || vcpu.event.vector != vector)
				fail_msg("%u, then %u: vector %u, not %u", first, second,
					 vcpu.event.vector, vector);
			assert_int_equal(vcpu.event.has_error, has_error(vector));
			assert_int_equal(vcpu.event.error,
					 has_error(vector) && becomes != 'd' ? 0x1234 : 0);
		}
	assert_int_equal(pairs, 20 * 19);
}

/* In real mode no exception has an error code. */
static void test_real_mode(void **)
{
	reg[HVM_CR0] = 0;
	raise(13);
	assert_false(vcpu.event.has_error);
	raise(13);
	assert_int_equal(vcpu.event.vector, 8);
	assert_false(vcpu.event.has_error);
	raise(13);
	assert_int_equal(vm.end, VM_END_TRIPLE_FAULT);
}

/* An interrupt or NMI in delivery is no exception: it waits for another time. */
static void test_interrupted_delivery(void **state)
{
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0x41 };
	raise(14);
	assert_int_equal(vcpu.event.vector, 14);
	assert_int_equal(unaccepted, 0x41);
	assert_true(vcpu.look);
	setup(state);
	reg[HVM_NMI_BLOCKED] = 1;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_NMI, .vector = 2 };
	raise(13);
	assert_int_equal(vcpu.event.vector, 13);
	assert_true(vcpu.nmi_pending && vcpu.look);
	assert_int_equal(reg[HVM_NMI_BLOCKED], 0);
}

static void test_nmi(void **state)
{
	static const struct {
		bool blocked;
		bool shadow;
		bool event;
	} cannot[] = { { .blocked = true }, { .shadow = true }, { .event = true } };

	vcpu.nmi_pending = true;
	vcpu_queue_events(&vcpu);
	assert_int_equal(vcpu.event.type, HVM_EVENT_NMI);
	assert_int_equal(vcpu.event.vector, 2);
	assert_false(vcpu.nmi_pending);
	assert_int_equal(nmi_windows, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(cannot); i++) {
		setup(state);
		vcpu.nmi_pending = true;
		reg[HVM_NMI_BLOCKED] = cannot[i].blocked;
		vcpu.regs.shadow = cannot[i].shadow;
		vcpu.event.type = cannot[i].event ? HVM_EVENT_EXCEPTION : HVM_EVENT_NONE;
		vcpu_queue_events(&vcpu);
		assert_true(vcpu.nmi_pending && vcpu.look);
		assert_true(vcpu.event.type != HVM_EVENT_NMI);
		assert_int_equal(nmi_windows, 1);
		assert_true(vcpu_wakes(&vcpu));
	}
}

/* An interrupt that was to be delivered goes back, and comes behind the NMI. */
static void test_nmi_before_interrupt(void **)
{
	vcpu.nmi_pending = true;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0x51 };
	vcpu_queue_events(&vcpu);
	assert_true(vcpu.event.type == HVM_EVENT_NMI && !vcpu.nmi_pending);
	assert_int_equal(unaccepted, 0x51);
	assert_int_equal(nmi_windows, 0);
}

/*
 * A vector of the interrupt controller: accepted where it can be delivered, without a window; else
 * it waits for one.
 */
static void test_interrupt(void **state)
{
	static const struct {
		u64 rflags;
		bool shadow;
		enum hvm_event_type event;
	} cannot[] = {
		{ 0, false, HVM_EVENT_NONE },
		{ RFLAGS_IF, true, HVM_EVENT_NONE },
		{ RFLAGS_IF, false, HVM_EVENT_EXCEPTION },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cannot); i++) {
		setup(state);
		pending = 0x41;
		vcpu.regs.rflags = cannot[i].rflags;
		vcpu.regs.shadow = cannot[i].shadow;
		vcpu.event = (struct hvm_event){ .type = cannot[i].event, .vector = 14 };
		vcpu_queue_events(&vcpu);
		vcpu_queue_events(&vcpu);
		assert_true(pending == 0x41 && vcpu.event.type == cannot[i].event &&
			    vcpu.event.vector == 14);
		assert_true(irq_window_on && irq_windows == 1 && vcpu.look && !vcpu.stats.injected);
		vcpu.look = false;
		vcpu.regs.rflags = RFLAGS_IF;
		vcpu.regs.shadow = false;
		vcpu.event.type = HVM_EVENT_NONE;
		vcpu_queue_events(&vcpu);
		assert_true(pending == -1 && vcpu.event.type == HVM_EVENT_INTR &&
			    vcpu.event.vector == 0x41);
		assert_true(!irq_window_on && irq_windows == 2 && !vcpu.look &&
			    vcpu.stats.injected == 1);
	}
	/* Gone before it was delivered. */
	setup(state);
	pending = 0x41;
	vcpu_queue_events(&vcpu);
	pending = -1;
	vcpu_queue_events(&vcpu);
	assert_true(!irq_window_on && irq_windows == 2 && vcpu.event.type == HVM_EVENT_NONE);
}

/*
 * One whose delivery an exit has cut goes in again, unless a more urgent one has come: then it goes
 * back, and is looked for.
 */
static void test_cut(void **state)
{
	vcpu.regs.rflags = RFLAGS_IF;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0x41 };
	vcpu_queue_events(&vcpu);
	assert_true(vcpu.event.type == HVM_EVENT_INTR && vcpu.event.vector == 0x41 &&
		    unaccepted == -1 && !vcpu.look);
	pending = 0x61;
	vcpu_queue_events(&vcpu);
	assert_true(vcpu.event.type == HVM_EVENT_INTR && vcpu.event.vector == 0x61);
	assert_true(unaccepted == 0x41 && pending == -1 && vcpu.look);
	/* It may not be: the cut one waits in the controller as well. */
	setup(state);
	pending = 0x61;
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0x41 };
	vcpu_queue_events(&vcpu);
	assert_true(vcpu.event.type == HVM_EVENT_NONE && unaccepted == 0x41 && pending == 0x61 &&
		    irq_window_on && vcpu.look);
	/* An exception stays what it is, and what the exit has not cut is nothing. */
	setup(state);
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_EXCEPTION, .vector = 13 };
	vcpu_put_back_event(&vcpu);
	assert_true(vcpu.event.type == HVM_EVENT_EXCEPTION && vcpu.event.vector == 13 &&
		    unaccepted == -1);
	vcpu.event = (struct hvm_event){ .type = HVM_EVENT_INTR, .vector = 0x41 };
	vcpu_put_back_event(&vcpu);
	assert_true(vcpu.event.type == HVM_EVENT_NONE && unaccepted == 0x41);
}

/*
 * INIT forgets NMIs and what was to be delivered (SDM vol. 3, 9.1.1: the state
 * of table 9-1; 9.4.1: the CPU waits for a SIPI), so that the code which the
 * SIPI starts is not interrupted by what was sent to the one before.
 */
static void test_init(void **state)
{
	for (unsigned with_sipi = 0; with_sipi < 2; with_sipi++) {
		setup(state);
		vcpu.startup = STARTUP_RUN;
		vcpu.nmi_pending = vcpu.halted = true;
		vcpu.event = (struct hvm_event){ .type = HVM_EVENT_EXCEPTION,
						 .vector = 14,
						 .has_error = true };
		vcpu.regs.rflags = RFLAGS_IF;
		vcpu.debugctl = 1;
		pending = 0x41;
		vcpu_init_ipi(&vcpu);
		assert_true(vcpu.look);
		if (with_sipi)
			vcpu_sipi(&vcpu, 0x9a);
		startup_step(&vcpu);
		assert_int_equal(vcpu.startup, with_sipi ? STARTUP_RUN : STARTUP_WAIT);
		assert_int_equal(resets, 1);
		assert_int_equal(inits, 1);
		assert_false(vcpu.nmi_pending || vcpu.halted || vcpu.debugctl);
		assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
		assert_false(vcpu_wakes(&vcpu));
		vcpu_queue_events(&vcpu);
		assert_int_equal(vcpu.event.type, HVM_EVENT_NONE);
		assert_int_equal(nmi_windows, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_pairs, setup),
		cmocka_unit_test_setup(test_real_mode, setup),
		cmocka_unit_test_setup(test_interrupted_delivery, setup),
		cmocka_unit_test_setup(test_nmi, setup),
		cmocka_unit_test_setup(test_nmi_before_interrupt, setup),
		cmocka_unit_test_setup(test_interrupt, setup),
		cmocka_unit_test_setup(test_cut, setup),
		cmocka_unit_test_setup(test_init, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
