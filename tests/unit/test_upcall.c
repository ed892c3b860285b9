/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/upcall.c */
/*
 * Each call of the CPU layer reaches what the kernel has registered for it, with its arguments and
 * what it returns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "arch/x86_64/cpu/upcall.h"

static char said[64];
static jmp_buf over;

static void log_line(const char *fmt, va_list ap)
{
	vsnprintf(said, sizeof(said), fmt, ap);
}

static __attribute__((noreturn)) void panicked(const char *fmt, va_list ap)
{
	log_line(fmt, ap);
	longjmp(over, 1);
}

static __attribute__((noreturn)) void trapped(const struct trap_frame *frame, const char *what)
{
	snprintf(said, sizeof(said), "trap %lu %s", (u64)frame, what);
	longjmp(over, 1);
}

static void nmi(void)
{
	snprintf(said, sizeof(said), "nmi");
}

static enum mc_outcome checked(enum mc_place place)
{
	return place == MC_IN_ACCESS ? MC_ACCESS_FAILS : MC_GOES_ON;
}

static void local_nmis(void)
{
	snprintf(said, sizeof(said), "local");
}

static void fault(const volatile void *reg)
{
	snprintf(said, sizeof(said), "fault %lu", (u64)reg);
}

static int route(u32 gsi, u32 apic_id, u64 *entry)
{
	*entry = gsi * 100 + apic_id;
	return -7;
}

static u64 page(void)
{
	return 0x123000;
}

static const struct upcalls kernel = { log_line,   panicked, trapped, nmi, checked,
				       local_nmis, fault,    route,   page };

static void test_calls(void **)
{
	u64 entry = 0;

	upcall_register(&kernel);
	upcall_log("%s %u", "line", 3u);
	assert_string_equal(said, "line 3");
	upcall_nmi();
	assert_string_equal(said, "nmi");
	upcall_local_nmis();
	assert_string_equal(said, "local");
	upcall_device_fault((void *)8);
	assert_string_equal(said, "fault 8");
	assert_int_equal(upcall_machine_check(MC_IN_ACCESS), MC_ACCESS_FAILS);
	assert_int_equal(upcall_machine_check(MC_IN_GUEST), MC_GOES_ON);
	assert_int_equal(upcall_route(4, 5, &entry), -7);
	assert_int_equal(entry, 405);
	assert_int_equal(upcall_table_page(), 0x123000);
}

static void test_ends(void **)
{
	upcall_register(&kernel);
	if (!setjmp(over))
		upcall_panic("%s %u", "end", 4u);
	assert_string_equal(said, "end 4");
	if (!setjmp(over))
		upcall_trap((struct trap_frame *)16, "#GP");
	assert_string_equal(said, "trap 16 #GP");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
