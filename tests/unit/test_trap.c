/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * Where an exception, an interrupt or an NMI goes on: fixups of instructions
 * that may fault, regions that an NMI must not go back into, handlers and the
 * EOI that each needs. The file is included, with tables of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include <margay/mc_access.h>
#include "arch/x86_64/cpu/extable.h"
#include "arch/x86_64/cpu/nmi_table.h"

/* Test and sleep; test and enter a guest. */
const struct nmi_region regions[2] = { { 0x1000, 0x1010, 0x1020 }, { 0x2000, 0x2004, 0x1f00 } };
const struct ex_entry fixups[2] = { { 0x3000, 0x3100 }, { 0x3008, 0x3200 } };
asm(".globl nmi_table_start, nmi_table_end, ex_table_start, ex_table_end\n"
    ".set nmi_table_start, regions\n.set nmi_table_end, regions + 48\n"
    ".set ex_table_start, fixups\n.set ex_table_end, fixups + 32");

#include "arch/x86_64/cpu/trap.c"

static const u8 trap_nmi_entry[1];
static const u8 *const registered __attribute__((used, section("nmi_entries"))) = trap_nmi_entry;
/* of 16 vectors in 72 bytes, as trap_stubs.inc has them */
const u8 trap_stubs[4 * 72], trap_device_stubs[12 * 72];

static jmp_buf reported;
static const char *report;
static unsigned nmis, eois, logs, handled;

void apic_eoi(void)
{
	eois++;
}

static enum mc_outcome outcome;
static enum mc_place place;

/*
 * What is in the CPU, a guest's or its own: reports need the latter, and find TR by it when they
 * are never to return.
 */
enum { OWN = 1, GUESTS };
static u64 gs;
static unsigned tr;

u64 desc_take_gs(void)
{
	u64 before = gs;

	gs = OWN;
	return before;
}

void desc_give_gs(u64 before)
{
	gs = before;
}

void desc_take_tr(void)
{
	tr = OWN;
}

enum mc_outcome upcall_machine_check(enum mc_place where)
{
	assert_true(gs == OWN && tr == GUESTS);
	place = where;
	return outcome;
}

/* An access of mc_access.h: two instructions, and where it goes on. */
extern const u8 access_begin[], access_end[], access_failed[];
asm(".text\n.globl access_begin, access_end, access_failed\naccess_begin:\n1:\tnop\n\tnop\naccess_end:\n2:\tnop\n"
    "access_failed:\n3:\tnop\n" MC_TABLE("3b") ".previous\n");

void upcall_log(const char *, ...)
{
	logs++;
}

void upcall_nmi(void)
{
	nmis++;
}

void upcall_trap(const struct trap_frame *, const char *what)
{
	assert_true(gs == OWN && tr == OWN);
	report = what;
	longjmp(reported, 1);
}

static void handler(void *arg)
{
	assert_ptr_equal(arg, &handled);
	assert_int_equal(eois, 0); /* comes behind it */
	handled++;
}

static int setup(void **)
{
	nmis = eois = logs = handled = 0;
	report = NULL;
	return 0;
}

/* Where it goes on; 0: it was reported and did not. */
static u64 dispatch(u64 vector, u64 rip)
{
	static struct trap_frame frame;

	gs = tr = GUESTS;
	frame = (struct trap_frame){ .vector = vector, .rip = rip };
	if (setjmp(reported))
		return 0;
	trap_dispatch(&frame);
	/* It goes on with what there was. */
	assert_true(gs == GUESTS && tr == GUESTS);
	return frame.rip;
}

/* From the first instruction of a region to its last, but not beside it. */
static void test_nmi(void **)
{
	assert_int_equal(dispatch(2, 0x1000), 0x1020);
	assert_int_equal(dispatch(2, 0x100f), 0x1020);
	assert_int_equal(dispatch(2, 0x2003), 0x1f00);
	assert_int_equal(dispatch(2, 0xfff), 0xfff);
	assert_int_equal(dispatch(2, 0x1010), 0x1010);
	assert_int_equal(dispatch(2, 0x2004), 0x2004);
	assert_int_equal(dispatch(2, 0x3000), 0x3000);
	assert_int_equal(nmis, 7);
	assert_int_equal(eois, 0);
}

/*
 * #GP and #PF of an instruction with a fixup; a double fault and a machine check are never one's
 * own.
 */
static void test_fixups(void **)
{
	assert_int_equal(dispatch(13, 0x3000), 0x3100);
	assert_int_equal(dispatch(14, 0x3008), 0x3200);
	assert_null(report);
	assert_int_equal(dispatch(13, 0x3001), 0);
	assert_string_equal(report, "#GP general protection");
	assert_int_equal(dispatch(14, 0x1000), 0);
	assert_string_equal(report, "#PF page fault");
	assert_int_equal(dispatch(8, 0x3000), 0);
	assert_string_equal(report, "#DF double fault (stack overflow?)");
	assert_int_equal(dispatch(18, 0x3000), 0);
	assert_string_equal(report, "#MC machine check");
	assert_int_equal(dispatch(31, 0), 0);
	assert_string_equal(report, "exception");
}

/*
 * From the first instruction of an access to its last. Whether it fails the kernel says; else it
 * goes on where it was.
 */
static void test_accesses(void **)
{
	static const struct {
		const u8 *at;
		enum mc_place place;
	} table[] = {
		{ access_begin, MC_IN_ACCESS },   { access_begin + 1, MC_IN_ACCESS },
		{ access_begin - 1, MC_IN_ROOT }, { access_end, MC_IN_ROOT },
		{ access_failed, MC_IN_ROOT },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		u64 at = (u64)table[i].at;

		outcome = MC_GOES_ON;
		assert_int_equal(dispatch(18, at), at);
		assert_int_equal(place, table[i].place);
		outcome = MC_STOPS;
		assert_int_equal(dispatch(18, at), 0);
		assert_string_equal(report, "#MC machine check");
		if (table[i].place != MC_IN_ACCESS)
			continue;
		outcome = MC_ACCESS_FAILS;
		assert_int_equal(dispatch(18, at), access_failed);
		/* Of nothing but a machine check. */
		assert_int_equal(dispatch(14, at), 0);
	}
	outcome = MC_STOPS;
}

/*
 * Each gate leads to its vector's stub: 0 to 0x2f and 0xf0 to 0xff in trap.asm but for the NMI's,
 * the rest in trap_device.asm.
 */
static void test_gates(void **)
{
	trap_init();
	for (unsigned v = 0; v < 256; v++) {
		bool device = v >= 0x30 && v < 0xf0;
		unsigned behind = v >= 0xf0 ? v - 0xc0 : v;
		unsigned n = device ? v - 0x30 : behind;
		const u8 *stub = device ? trap_device_stubs : trap_stubs;

		stub += n / 16 * 72 + n % 16 * 4;
		if (v == 2)
			stub = trap_nmi_entry;
		assert_int_equal((u64)idt[v].offset_high << 32 | (u64)idt[v].offset_mid << 16 |
					 idt[v].offset_low,
				 stub);
		assert_true(idt[v].attr == 0x8e && idt[v].ist == 0 && idt[v].selector == SEL_CODE);
	}
}

/*
 * Only what GIF = 0 keeps off while TR may be a guest's, and a double fault, has a stack that is
 * found by TR.
 */
static void test_stacks(void **)
{
	trap_init();
	trap_use_ist();
	assert_int_equal(idt[2].ist, IST_NMI + 1);
	assert_int_equal(idt[8].ist, IST_DF + 1);
	for (unsigned v = 0; v < 256; v++)
		assert_true(v == 2 || v == 8 || !idt[v].ist);
}

/*
 * One EOI for each that is in the APIC's ISR: none for a spurious one or one of the 8259s (SDM vol.
 * 3, 11.9).
 */
static void test_interrupts(void **)
{
	trap_set_handler(0x41, handler, &handled);
	assert_int_equal(dispatch(0x41, 0x1000), 0x1000);
	assert_true(handled == 1 && eois == 1 && !logs);
	/* Nobody's: said once, ended each time. */
	dispatch(0x42, 0);
	dispatch(0x42, 0);
	assert_true(eois == 3 && logs == 1);
	dispatch(0xff, 0);
	dispatch(0x27, 0);
	assert_true(eois == 3 && logs == 1);
	eois = 0;
	trap_set_handler(0x41, NULL, NULL);
	dispatch(0x41, 0);
	assert_true(handled == 1 && eois == 1 && logs == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nmi, setup),
		cmocka_unit_test_setup(test_fixups, setup),
		cmocka_unit_test_setup(test_accesses, setup),
		cmocka_unit_test_setup(test_gates, setup),
		cmocka_unit_test_setup(test_stacks, setup),
		cmocka_unit_test_setup(test_interrupts, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
