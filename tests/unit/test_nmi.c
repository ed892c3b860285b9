/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/* An NMI of the platform, by port 0x61 (ICH9 data sheet, 13.7.1): what is said, acknowledged, and when the node ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/boot/cmdline.h"
#include "kernel/percpu.h"

static struct cpu the_cpu;
static struct cmdline boot_words;
static u8 port, written[4];
static unsigned writes, lines, stray_of_guest;
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
#include "kernel/nmi.c"

const struct cmdline *cmdline_of_boot(void)
{
	return &boot_words;
}

void printk_error(const char *, ...)
{
	lines++;
}

void panic(const char *, ...)
{
	longjmp(ended, 1);
}

int irq_route_isa_nmi(unsigned)
{
	return 0;
}

void guest_apic_nmi(void)
{
	stray_of_guest++;
}

/* An NMI comes and is looked into. Did the node end? */
static bool nmi(u8 status, bool ends, u32 id)
{
	the_cpu = (struct cpu){ .self = &the_cpu, .id = id };
	boot_words.nmi_panic = ends;
	port = status;
	writes = lines = stray_of_guest = 0;
	nmi_taken();
	if (setjmp(ended))
		return true;
	nmi_look();
	return false;
}

static void test_report(void **)
{
	static const struct {
		u8 status, clear, after;
	} cases[] = { { 0x80, 0x04, 0x00 }, { 0x40, 0x08, 0x00 }, { 0xc3, 0x0f, 0x03 }, { 0xb0, 0x04, 0x00 } };

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_false(nmi(cases[i].status, false, 0));
		assert_int_equal(lines, 1);
		assert_int_equal(writes, 2);
		assert_int_equal(written[0], cases[i].clear);
		assert_int_equal(written[1], cases[i].after);
		assert_int_equal(the_cpu.nmi_stray, 0);
		assert_int_equal(stray_of_guest, 0);
	}
}

/* After it has been told and acknowledged. */
static void test_panic(void **)
{
	assert_true(nmi(0x80, true, 0));
	assert_int_equal(lines, 1);
	assert_int_equal(writes, 2);
}

/* No cause, no such register, or another CPU's, to which the platform's do not come. */
static void test_nothing(void **)
{
	for (unsigned ends = 0; ends < 2; ends++) {
		assert_false(nmi(0x30, ends, 0));
		assert_false(nmi(0xff, ends, 0));
		assert_false(nmi(0x80, ends, 1));
		assert_int_equal(lines + writes, 0);
		assert_int_equal(the_cpu.nmi_stray, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report), cmocka_unit_test(test_panic), cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
