/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * NMIs of the platform, by port 0x61 (ICH9 data sheet, 13.7.1), or without a sign: what is said,
 * acknowledged, and when the node ends; and that what a kick, a device or a guest may have sent is
 * none of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "tests/unit/fake_limited.h"
#include "kernel/boot/cmdline.h"
#include "kernel/percpu.h"

static struct cpu the_cpu;
static struct cmdline boot_words;
static u8 port, written[4];
static unsigned writes, lines, stray_of_guest;
static u64 tsc = 1;
static bool asks, guest_sends;
static u32 kicks;
static jmp_buf ended;

static u8 fake_inb(unsigned number)
{
	assert_int_equal(number, 0x61);
	return port;
}

static void fake_outb(unsigned number, u8 value)
{
	assert_int_equal(number, 0x61);
	written[writes++] = value;
}

#define this_cpu() (&the_cpu)
#define inb fake_inb
#define outb fake_outb
#define rdtsc() (tsc)
#include "kernel/cpu/nmi_devices.c"
#include "kernel/work/port_61.c"
#include "kernel/work/nmi_platform.c"
#include "kernel/work/nmi.c"

static bool firmware_tells;

bool ghes_look(void)
{
	return firmware_tells;
}

const struct cmdline *cmdline_of_boot(void)
{
	return &boot_words;
}

static char last_line[160];

static u64 limited_now(void)
{
	return tsc;
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_line, sizeof(last_line), fmt, ap);
	va_end(ap);
	lines++;
}

void panic(const char *, ...)
{
	longjmp(ended, 1);
}

int irq_route_nmi(unsigned, unsigned)
{
	return 0;
}

bool guest_apic_nmi(void)
{
	stray_of_guest++;
	return guest_sends;
}

u64 host_tsc_khz(void)
{
	return 1000;
}

static unsigned home;

bool console_follow_interrupt(void)
{
	return asks;
}

unsigned console_follow_cpu(bool (*fn)(void))
{
	return fn == console_follow_interrupt ? home : 0;
}

struct cpu *cpu_get(unsigned id)
{
	assert_int_equal(id, the_cpu.id);
	return &the_cpu;
}

static bool device_asks(void)
{
	return asks;
}

/* An NMI comes and is looked into. Did the node end? */
static bool nmi(u8 status, bool ends, u32 id)
{
	the_cpu = (struct cpu){ .self = &the_cpu, .id = id, .kicks.sent = kicks };
	boot_words.nmi_panic = ends;
	port = status;
	writes = lines = stray_of_guest = 0;
	nmi_taken();
	if (setjmp(ended))
		return true;
	nmi_look();
	return false;
}

/* The machine has just been switched on. */
static void test_early(void **)
{
	assert_false(nmi(0x30, false, 1));
	assert_int_equal(lines, 1);
}

static void test_report(void **)
{
	static const struct {
		u8 status;
		u8 clear;
		u8 after;
	} cases[] = { { 0x80, 0x04, 0x00 },
		      { 0x40, 0x08, 0x00 },
		      { 0xc3, 0x0f, 0x03 },
		      { 0xb0, 0x04, 0x00 } };

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		tsc += 10000010;
		assert_false(nmi(cases[i].status, false, 0));
		assert_int_equal(lines, 1);
		assert_int_equal(writes, 2);
		assert_int_equal(written[0], cases[i].clear);
		assert_int_equal(written[1], cases[i].after);
		assert_int_equal(cpu_own(&the_cpu, stray), 0);
		assert_int_equal(stray_of_guest, 0);
	}
}

/*
 * A card may send one after the other: each is acknowledged, one of ten seconds has a line, which
 * counts the others.
 */
static void test_many(void **)
{
	tsc += 10000010;
	assert_false(nmi(0x80, false, 0));
	assert_int_equal(lines, 1);
	for (unsigned i = 0; i < 10; i++) {
		tsc += 999990;
		assert_false(nmi(0x80, false, 0));
		assert_int_equal(lines, 0);
		assert_int_equal(writes, 2);
	}
	assert_null(strstr(last_line, "more"));
	tsc += 110;
	assert_false(nmi(0x80, false, 0));
	assert_non_null(strstr(last_line, "(SERR#), 10 more since the last line"));
	tsc += 10000010;
	assert_false(nmi(0x40, false, 0));
	assert_non_null(strstr(last_line, ": I/O channel check"));
	assert_null(strstr(last_line, "more"));
}

/* After it has been told and acknowledged. */
static void test_panic(void **)
{
	tsc += 10000010;
	assert_true(nmi(0x80, true, 0));
	assert_int_equal(lines, 1);
	assert_int_equal(writes, 2);
}

/* No cause, or no such register, and a kick under way. */
static void test_nothing(void **)
{
	for (unsigned ends = 0; ends < 2; ends++) {
		kicks = 1;
		assert_false(nmi(0x30, ends, 0));
		assert_false(nmi(0xff, ends, 0));
		assert_int_equal(lines + writes, 0);
		assert_int_equal(cpu_own(&the_cpu, stray), 1);
	}
	kicks = 0;
}

#define PATIENCE 10000000u

/* Nobody's: told, on any CPU, but once for all in ten seconds; and obeyed. */
static void test_unclaimed(void **)
{
	for (unsigned id = 0; id < 3; id++) {
		tsc += 2 * PATIENCE;
		assert_false(nmi(0x30, false, id));
		assert_int_equal(lines, 1);
		assert_int_equal(cpu_own(&the_cpu, stray), 0);
		tsc += PATIENCE;
		assert_false(nmi(0x30, true, id));
		assert_false(nmi(0xff, true, id + 1));
		assert_int_equal(lines, 0);
		tsc++;
		assert_true(nmi(0x30, true, id));
	}
	/* Firmware has told of it. */
	tsc += 2 * PATIENCE;
	firmware_tells = true;
	assert_false(nmi(0x30, false, 1));
	assert_int_equal(lines, 0);
	firmware_tells = false;
	assert_false(nmi(0x30, false, 1));
	assert_int_equal(lines, 0);
	/* One with a sign, which several CPUs get, is told by the first that looks. */
	tsc += 2 * PATIENCE;
	assert_false(nmi(0x80, false, 2));
	assert_int_equal(writes, 2);
	assert_false(nmi(0x30, true, 0));
	assert_int_equal(lines, 0);
	/* The boot CPU finds the sign, too, when a kick's NMI and the platform's were one. */
	kicks = 1;
	assert_false(nmi(0x80, false, 0));
	assert_int_equal(writes, 2);
	tsc += 2 * PATIENCE;
	assert_false(nmi(0x80, true, 1));
	assert_int_equal(lines, 0);
	kicks = 0;
}

/*
 * What a guest may have sent, a device may have asked for, or is on its way since the APIC has come
 * back.
 */
static void test_explained(void **)
{
	tsc += 2 * PATIENCE;
	guest_sends = true;
	assert_false(nmi(0x30, true, 1));
	guest_sends = false;
	assert_int_equal(stray_of_guest, 1);
	nmi_devices[0] = device_asks;
	asks = true;
	assert_false(nmi(0x30, true, 0));
	asks = false;
	boot_words.nmi_panic = false;
	nmi_taken();
	tsc += PATIENCE;
	nmi_look();
	assert_int_equal(lines, 0);
	nmi_taken();
	tsc++;
	nmi_look();
	assert_int_equal(lines, 1);
	tsc += 2 * PATIENCE;
	nmi_expected(0);
	nmi_taken();
	nmi_look();
	assert_int_equal(lines, 1);
	/* Two clocks that disagree by little. */
	the_cpu.nmi_expected = tsc + 1000;
	nmi_taken();
	nmi_look();
	assert_int_equal(lines, 1);
	nmi_devices[0] = NULL;
}

/*
 * A device whose interrupt has been led to another CPU is asked there and nowhere else, after a
 * kick's NMI, too.
 */
static void test_moved(void **)
{
	nmi_devices[0] = console_follow_interrupt;
	asks = true;
	for (home = 0; home < 3; home++)
		for (unsigned id = 0; id < 3; id++) {
			the_cpu = (struct cpu){ .id = id,
						.kicks.sent = 1,
						.kick = 1,
						.nmi_devices = id && id == home };
			port = 0;
			nmi_taken();
			assert_int_equal(cpu_own(&the_cpu, noted), !id || id == home);
			nmi_look();
			assert_int_equal(cpu_own(&the_cpu, stray), id == home || id ? 0 : 1);
			assert_int_equal(!!the_cpu.nmi_expected, id == home);
		}
	/* The others' still are the boot CPU's. */
	nmi_devices[0] = device_asks;
	the_cpu = (struct cpu){ .id = 1, .nmi_devices = true, .nmi_expected = tsc };
	nmi_taken();
	nmi_look();
	assert_int_equal(cpu_own(&the_cpu, stray), 1);
	nmi_devices[0] = NULL;
	asks = false;
	home = 0;
}

/* At that time. */
static bool of_kick(struct nmi_kicks *k, u64 now)
{
	struct cpu cpu = { .kicks = *k };
	u64 present = tsc;
	bool sent;

	tsc = now;
	sent = kick_sent(&cpu);
	tsc = present;
	*k = cpu.kicks;
	return sent;
}

/*
 * A kick's NMI is a kick's whenever it comes, unless it has met another on its way: that is known
 * after a while.
 */
static void test_kicks(void **)
{
	struct nmi_kicks k = { 0 };

	tsc += PATIENCE;
	assert_false(of_kick(&k, tsc));
	k.sent = 3;
	assert_true(of_kick(&k, tsc) && of_kick(&k, tsc) && of_kick(&k, tsc));
	assert_false(of_kick(&k, tsc));
	/* Long after. */
	k.sent++;
	assert_true(of_kick(&k, tsc += 100ull * PATIENCE));
	assert_false(of_kick(&k, tsc));
	/* Two in one: the other one is awaited for as long as it may take, and no longer. */
	k.sent += 2;
	assert_true(of_kick(&k, tsc += 5));
	assert_false(of_kick(&k, tsc + PATIENCE));
	k.sent += 2;
	assert_true(of_kick(&k, tsc += 3 * PATIENCE));
	assert_true(of_kick(&k, tsc += PATIENCE - 1));
	/* Those that keep coming in twos leave not more behind than come in thirty seconds. */
	for (unsigned i = 0; i < 100000; i++) {
		k.sent += 2;
		assert_true(of_kick(&k, tsc += PATIENCE / 100));
	}
	assert_in_range(k.sent - k.come, 100, 300);
	/* Nobody has sent one since. */
	assert_true(of_kick(&k, tsc));
	assert_false(of_kick(&k, tsc + PATIENCE));
	/* The count goes round. */
	k = (struct nmi_kicks){ .sent = 1,
				.come = 0xfffffffe,
				.mark = { { tsc, 0xffffffff }, { tsc, 0xffffffff } } };
	assert_true(of_kick(&k, tsc) && of_kick(&k, tsc) && of_kick(&k, tsc));
	assert_false(of_kick(&k, tsc));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_early),     cmocka_unit_test(test_report),
		cmocka_unit_test(test_many),      cmocka_unit_test(test_panic),
		cmocka_unit_test(test_nothing),   cmocka_unit_test(test_unclaimed),
		cmocka_unit_test(test_explained), cmocka_unit_test(test_moved),
		cmocka_unit_test(test_kicks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
