/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: -D_GNU_SOURCE */
/*
 * A local APIC as it changes hands: a model of one in x2APIC mode (SDM vol. 3,
 * 11.4.7, 11.8 and 11.12), in which a guest has left what it could. Interrupts
 * come by the gates that the CPU has loaded, and only while IF is 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/trap.h"
#include "arch/x86_64/cpu/upcall.h"
#include "kernel/percpu.h"
#include "kernel/time/timer.h"

enum {
	ID = 0x802,
	TPR = 0x808,
	EOI = 0x80b,
	SVR_MSR = 0x80f,
	ISR = 0x810,
	IRR = 0x820,
	TIMER = 0x832,
	THERMAL = 0x833,
	LINT0 = 0x835,
	LINT1 = 0x836,
	INITIAL = 0x838,
	DIVIDE = 0x83e
};
#define KHZ 2000000u
#define MASKED 0x10000u
#define DEADLINE 0x40000u
#define OFF 0xffu
#define OUR_SVR 0x1ffu

static struct {
	u64 base;
	u64 tpr;
	u64 svr;
	u64 lvt[6];
	u64 initial;
	u64 divide;
	u64 deadline;
	bool irr[256];
	bool isr[256];
	const void *idt;          /* the LWK's is `real` */
	/* interrupts; by gates that the LWK's do not lead to */
	unsigned taken;
	unsigned foreign;
	/* a message arrives then: on its way since before; 0: none */
	u64 tsc;
	u64 late_at;
	bool floods;              /* somebody goes on sending */
	bool refuses;             /* #GP for SVR */
	bool no_mca;              /* #GP for MCG_STATUS */
} apic;
static struct cpu the_cpu;
static u8 real[256][16];
static unsigned windows, due;
static u64 alarm;
static char left[128]; /* what drain() says of it */

const u8 apic_drop[16], apic_drop_18[16], apic_drop_30[16];
u64 apic_tsc_khz = KHZ;
u32 apic_thermal;

static unsigned highest(const bool *reg)
{
	unsigned v = 255;

	while (v && !reg[v])
		v--;
	return v;
}

static u64 word(const bool *reg, u32 i)
{
	u64 value = 0;

	for (unsigned b = 0; b < 32; b++)
		value |= (u64)reg[i * 32 + b] << b;
	return value;
}

/*
 * Time goes on; what was under way arrives. A timer that nobody has stopped has come to its end,
 * too.
 */
static u64 model_rdtsc(void)
{
	apic.tsc += 1000;
	if (apic.late_at && apic.tsc >= apic.late_at) {
		apic.irr[0x77] = true;
		apic.late_at = 0;
	}
	if ((apic.initial || apic.deadline) && !(apic.lvt[0] & MASKED))
		apic.irr[apic.lvt[0] & 0xff] = true;
	return apic.tsc;
}

static u64 model_rdmsr(u32 msr)
{
	switch (msr) {
	case MSR_APIC_BASE: return apic.base;
	case ID: return 7;
	case ISR ... ISR + 7: return word(apic.isr, msr - ISR);
	case IRR ... IRR + 7: return word(apic.irr, msr - IRR);
	}
	assert_true(apic.base & APIC_BASE_EXTD);
	assert_in_range(msr, TIMER, 0x837);
	return apic.lvt[msr - TIMER];
}

static void model_wrmsr(u32 msr, u64 value)
{
	if (msr == MSR_APIC_BASE) {
		apic.base = value;
		return;
	}
	assert_true(apic.base & APIC_BASE_EXTD);
	switch (msr) {
	case TPR: apic.tpr = value; break;
	case EOI: apic.isr[highest(apic.isr)] = false; break;
	case SVR_MSR:
		apic.svr = value;
		/* 11.4.7.2 */
		for (unsigned i = 0; i < 6 && !(value & 0x100); i++)
			apic.lvt[i] |= MASKED;
		break;
	case TIMER ... 0x837:
		apic.lvt[msr - TIMER] = value | (apic.svr & 0x100 ? 0 : MASKED);
		break;
	case INITIAL:
		/* 11.5.4.1 */
		if (!(apic.lvt[0] & DEADLINE))
			apic.initial = value;
		break;
	case DIVIDE: apic.divide = value; break;
	default: fail_msg("WRMSR %#x", msr);
	}
}

#define IST 4 /* of a gate */

struct pointer {
	u16 limit;
	u64 base;
} __packed;

/* Where a gate leads (SDM vol. 3, figure 6-8). */
static const u8 *gate_of(const void *idt, unsigned v)
{
	const u8 *g = (const u8 *)idt + v * 16;
	u16 low, mid;
	u32 high;

	memcpy(&low, g, 2);
	memcpy(&mid, g + 6, 2);
	memcpy(&high, g + 8, 4);
	return (const u8 *)((u64)high << 32 | (u64)mid << 16 | low);
}

/* STI, NOP, CLI: all comes that is above PPR, each by its gate, whose stub writes EOI. */
static void window(void)
{
	/*
	 * A spurious interrupt is never in service (11.9), and this one is nobody else's: there are
	 * none below 16 (11.5.2).
	 */
	assert_int_equal(apic.svr & 0xff, 0x0f);
	for (unsigned v = highest(apic.irr); v >= 16; v = highest(apic.irr)) {
		unsigned in_service = highest(apic.isr),
			 ppr = MAX((unsigned)apic.tpr, in_service) & 0xf0;
		const u8 *stub;

		if (!(apic.svr & 0x100) || (v & 0xf0) <= ppr)
			break;
		apic.irr[v] = false;
		apic.taken++;
		stub = apic_drop;
		if (v == 18 && !apic.no_mca)
			stub = apic_drop_18;
		if (v == 30)
			stub = apic_drop_30;
		if (gate_of(apic.idt, v) != stub)
			apic.foreign++;
		if (apic.floods) {
			apic.irr[v] = apic.isr[v] = true;
			break;
		}
	}
}

static void model_asm(const char *text, struct pointer *of_the_lwk, const struct pointer *own)
{
	if (strstr(text, "sidt")) {
		*of_the_lwk = (struct pointer){ sizeof(real) - 1, (u64)real };
		return;
	}
	assert_non_null(strstr(text, "lidt %0; sti; nop; cli; lidt %1"));
	assert_int_equal(own->limit, sizeof(real) - 1);
	assert_ptr_equal((void *)of_the_lwk->base, real);
	apic.idt = (void *)own->base;
	/* These two are the CPU's, whatever the APIC has. */
	assert_ptr_equal(gate_of(apic.idt, VEC_NMI), gate_of(real, VEC_NMI));
	assert_ptr_equal(gate_of(apic.idt, VEC_MC), apic.no_mca ? apic_drop : apic_drop_18);
	/*
	 * Stubs may meet each other, and an NMI a vector 2, so none begins at the top of a stack of
	 * its own.
	 */
	for (unsigned v = 0; v < 256; v++)
		assert_int_equal(((const u8 *)apic.idt)[v * 16 + IST], 0);
	window();
	apic.idt = real;
}

#define asm
#define volatile(...) model_asm(#__VA_ARGS__, (void *)&apic_idt, (void *)&own)
#define rdmsr model_rdmsr
#define wrmsr model_wrmsr
#define rdtsc model_rdtsc
#define this_cpu() (&the_cpu)
#include "arch/x86_64/cpu/apic_give.c"
#include "kernel/work/guest_apic.c"
#include "kernel/boot/cmdline.h"
/* Neither SERR# nor an I/O channel check. */
#define inb(port) ((void)(port), (u8)0)
#define outb(port, value) ((void)(port), (void)(value))
#undef asm
#undef volatile
#include "kernel/cpu/nmi_devices.c"
#include "kernel/work/port_61.c"
#include "kernel/work/nmi_platform.c"
#include "kernel/work/nmi.c"

void upcall_log(const char *fmt, ...)
{
	va_list ap;

	assert_string_equal(left, "");
	va_start(ap, fmt);
	vsnprintf(left, sizeof(left), fmt, ap);
	va_end(ap);
}

void apic_timer_stop(void)
{
	apic.deadline = 0;
}

void apic_init_cpu(void)
{
	assert_true(!apic.initial && apic.svr == OFF);
	model_wrmsr(SVR_MSR, OUR_SVR);
	model_wrmsr(TPR, 0);
}

void apic_timer_init_cpu(void)
{
	assert_int_equal(apic.svr, OUR_SVR);
	model_wrmsr(TIMER, VECTOR_TIMER);
}

/*
 * While the APIC is the guest's, timers are the alarm's; then they are the LWK's APIC's again, and
 * the alarm knows of none.
 */
void timer_run_due(void)
{
	if (the_cpu.closed)
		alarm = 1;
	else
		assert_true(!alarm && !the_cpu.timer_programmed && apic.lvt[0] == VECTOR_TIMER);
	due++;
}

void alarm_set(u64 deadline)
{
	assert_true(the_cpu.closed);
	alarm = deadline;
}

void host_interrupt_window(void)
{
	assert_true(!the_cpu.closed && apic.svr == OUR_SVR);
	windows++;
}

/* On a CPU without machine checks its stub, which does that by itself, would fault. */
int host_rdmsr(u32 msr, u64 *value)
{
	assert_int_equal(msr, MSR_MCG_STATUS);
	*value = 0;
	return apic.no_mca ? -1 : 0;
}

int host_wrmsr(u32 msr, u64 value)
{
	/* Some bits cannot be written (11.12.1.2). */
	if ((msr == SVR_MSR && apic.refuses) || ((msr == LINT0 || msr == LINT1) && value & 0x5000))
		return -1;
	model_wrmsr(msr, value);
	return 0;
}

u64 host_tsc_khz(void)
{
	return KHZ;
}

int irq_route_nmi(unsigned, unsigned)
{
	fail();
	return 0;
}

bool console_follow_interrupt(void)
{
	return false;
}

unsigned console_follow_cpu(bool (*)(void))
{
	return 0;
}

void host_log_limited(struct log_limit *, const char *, const char *, ...) { }

void printk_error(const char *, ...)
{
	fail();
}

const struct cmdline *cmdline_of_boot(void)
{
	fail();
	return NULL;
}

bool ghes_look(void)
{
	return false;
}

void panic(const char *, ...)
{
	abort();
}

void apic_send(u32, u32)
{
	fail();
}

struct cpu *cpu_get(unsigned)
{
	return &the_cpu;
}

/* The LWK's APIC, as the boot CPU's firmware has left LINT1: NMI, not masked. */
static int setup(void **)
{
	memset(&apic, 0, sizeof(apic));
	memset(&the_cpu, 0, sizeof(the_cpu));
	for (unsigned v = 0; v < 256; v++)
		real[v][0] = (u8)v;
	real[VEC_NMI][IST] = 1;
	real[VEC_DF][IST] = 2;
	real[VEC_MC][IST] = 3;
	apic.base = 0xfee00000 | APIC_BASE_EN;
	apic.svr = OUR_SVR;
	apic.idt = real;
	apic.divide = 0xb;
	apic.initial = 1000;
	for (unsigned i = 0; i < 6; i++)
		apic.lvt[i] = MASKED;
	apic.lvt[0] = VECTOR_TIMER;
	apic.lvt[LINT1 - TIMER] = 0x400;
	apic_thermal = 0;
	windows = due = 0;
	alarm = 0;
	left[0] = 0;
	return 0;
}

/* All that a guest can leave. */
static void fill(void)
{
	for (unsigned v = 16; v < 256; v++)
		apic.irr[v] = true;
	for (unsigned v = 0x31; v < 256; v += 16)
		apic.isr[v] = true;
	apic.tpr = 0xff;
	apic.svr = OFF;
	apic.divide = 0xb;
	apic.initial = 50000;
	apic.deadline = 1;
	apic.lvt[0] = DEADLINE | 18; /* and a count of before */
}

static void at_reset(void)
{
	for (unsigned v = 0; v < 256; v++)
		assert_false(apic.irr[v] || apic.isr[v]);
	assert_true(apic.base & APIC_BASE_EXTD);
	assert_true(!apic.tpr && !apic.initial && !apic.divide && !apic.deadline &&
		    apic.svr == OFF);
	assert_int_equal(apic.lvt[0], MASKED);
	assert_int_equal(apic.foreign, 0);
	assert_ptr_equal(apic.idt, real);
	assert_string_equal(left, "");
}

static void test_give(void **)
{
	host_apic_give();
	assert_true(the_cpu.closed && windows == 1 && due == 1 && alarm);
	at_reset();
	fill();
	host_apic_reset();
	at_reset();
	assert_true(the_cpu.closed && windows == 1);
	assert_in_range(apic.taken, 240, 260);
	apic.no_mca = true;
	fill();
	host_apic_reset();
	at_reset();
}

static void test_take_back(void **)
{
	host_apic_give();
	fill();
	the_cpu.timer_programmed = 5;
	host_apic_take_back();
	assert_int_equal(due, 2);
	assert_int_equal(windows, 1);
	for (unsigned v = 0; v < 256; v++)
		assert_false(apic.irr[v] || apic.isr[v]);
}

/*
 * A message that another CPU has sent before comes up to 50 us after it was sent: it is waited for.
 */
static void test_late(void **)
{
	host_apic_give();
	apic.late_at = apic.tsc + KHZ * 49 / 1000;
	host_apic_take_back();
	assert_false(apic.late_at || apic.irr[0x77] || apic.isr[0x77]);
}

/* One who does not stop sending does not keep the CPU for ever, and is told of, once a boot. */
static void test_flood(void **)
{
	apic.irr[0x77] = apic.floods = true;
	host_apic_give();
	assert_in_range(apic.taken, 500, 5000);
	assert_string_equal(
		left,
		"APIC 7: interrupts are left in it, pending or in service: somebody goes on sending");
	left[0] = 0;
	host_apic_reset();
	assert_string_equal(left, "");
}

/*
 * LINT1, by which the platform's NMIs come, is masked with the APIC off (11.4.7.2), and only then.
 */
static void test_lint1(void **)
{
	apic.lvt[LINT1 - TIMER] |= 0x5000;
	host_apic_give();
	assert_int_equal(host_apic_svr(0x1ff), 0);
	assert_int_equal(apic.lvt[LINT1 - TIMER], 0x400);
	assert_int_equal(host_apic_svr(0xff), 0);
	assert_int_equal(apic.lvt[LINT1 - TIMER], MASKED | 0x400);
	assert_int_equal(host_apic_svr(0x133), 0);
	assert_int_equal(apic.lvt[LINT1 - TIMER], 0x400);
	assert_int_equal(apic.svr, 0x133);
	host_apic_reset();
	apic.refuses = true;
	assert_int_equal(host_apic_svr(0x3ff), -1);
	apic.refuses = false;
	host_apic_take_back();
	assert_int_equal(apic.lvt[LINT1 - TIMER], 0x400);
	assert_int_equal(apic.lvt[LINT0 - TIMER], MASKED);
	/* And for the next guest. */
	host_apic_give();
	assert_int_equal(host_apic_svr(0x1ff), 0);
	assert_int_equal(apic.lvt[LINT1 - TIMER], 0x400);
}

/*
 * LINT0, where it is the NMI, and the thermal sensor's SMI, which is the machine's whoever has the
 * APIC.
 */
static void test_lint0(void **)
{
	apic.lvt[LINT0 - TIMER] = 0x2400 | 0x1000;
	apic.lvt[THERMAL - TIMER] = apic_thermal = 0x200;
	host_apic_give();
	assert_int_equal(apic.lvt[LINT0 - TIMER], MASKED | 0x3400);
	assert_int_equal(host_apic_svr(0x1ff), 0);
	assert_int_equal(apic.lvt[LINT0 - TIMER], 0x2400);
	assert_int_equal(apic.lvt[THERMAL - TIMER], 0x200);
	host_apic_take_back();
	assert_int_equal(apic.lvt[LINT0 - TIMER], 0x2400);
	assert_int_equal(apic.lvt[THERMAL - TIMER], 0x200);
	assert_int_equal(apic.lvt[LINT1 - TIMER], 0x400);
}

/* Where it was masked it stays so: other CPUs than the boot CPU. */
static void test_lint1_masked(void **)
{
	apic.lvt[LINT1 - TIMER] = MASKED;
	host_apic_give();
	host_apic_svr(0x1ff);
	assert_int_equal(apic.lvt[LINT1 - TIMER], MASKED);
	host_apic_take_back();
	assert_int_equal(apic.lvt[LINT1 - TIMER], MASKED);
}

static unsigned nmis;

static bool nmi(struct host_work *work)
{
	assert_ptr_equal(work, the_cpu.work);
	nmis++;
	return true;
}

/* A kick as host_cpu_kick() makes it, and the look that takes note of it. */
static void kick(void)
{
	the_cpu.kick = 1;
	the_cpu.kick_due = true;
	the_cpu.kicks.sent++;
}

static unsigned look(void)
{
	unsigned before = nmis;

	the_cpu.kick = 0;
	nmi_look();
	return nmis - before;
}

static unsigned asked;

static bool asks(void)
{
	if (!asked)
		return false;
	asked--;
	nmi_taken();
	return true;
}

/*
 * Of NMIs the work item gets those that no kick has sent, each once, on any CPU, while the APIC is
 * its guest's.
 */
static void test_nmis(void **)
{
	struct host_work work = { .nmi = nmi };

	the_cpu.work = &work;
	for (the_cpu.id = 0; the_cpu.id < 2; the_cpu.id++) {
		nmi_taken();
		host_apic_give();
		assert_int_equal(look(), 0);
		nmi_taken();
		assert_true(the_cpu.kick);
		assert_int_equal(look(), 1);
		assert_int_equal(look(), 0);
		kick();
		nmi_taken();
		assert_int_equal(look(), 0);
		/* One whose word was seen before its NMI came; two that make two NMIs; or one. */
		kick();
		assert_int_equal(look(), 0);
		nmi_taken();
		assert_int_equal(look(), 0);
		kick();
		kick();
		nmi_taken();
		nmi_taken();
		assert_int_equal(look(), 0);
		kick();
		kick();
		nmi_taken();
		assert_int_equal(look(), 0);
		nmi_taken();
		assert_int_equal(look(), 1);
		host_apic_take_back();
		nmi_taken();
		assert_int_equal(look(), 0);
	}
	/*
	 * On the boot CPU those of devices are theirs, with what comes while they are asked; the
	 * next one is not.
	 */
	the_cpu.id = 0;
	nmi_devices[0] = asks;
	host_apic_give();
	asked = 1;
	nmi_taken();
	assert_int_equal(look(), 0);
	assert_int_equal(look(), 0);
	nmi_taken();
	assert_int_equal(look(), 1);
	host_apic_take_back();
	nmi_devices[0] = NULL;
	work.nmi = NULL;
	host_apic_give();
	nmi_taken();
	assert_int_equal(look(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_give, setup),
		cmocka_unit_test_setup(test_take_back, setup),
		cmocka_unit_test_setup(test_late, setup),
		cmocka_unit_test_setup(test_flood, setup),
		cmocka_unit_test_setup(test_lint1, setup),
		cmocka_unit_test_setup(test_lint1_masked, setup),
		cmocka_unit_test_setup(test_lint0, setup),
		cmocka_unit_test_setup(test_nmis, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
