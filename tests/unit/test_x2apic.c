/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * Whether x2APIC mode is taken: by the firmware's wish in the DMAR, the command line, and what is
 * forced. The file is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/cpu/x2apic.c"

struct cpu_features cpu_features;
static struct dmar_info dmar;
static struct cmdline cmdline;
struct acpi acpi;
static bool forced, in_use;
static char said[200];

const struct cmdline *cmdline_of_boot(void)
{
	return &cmdline;
}

bool host_is_x2apic(void)
{
	return in_use;
}

void printk(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
}

/* As apic_init() does, and what is told. */
static void starts(bool wanted, bool is_off, const char *text)
{
	said[0] = 0;
	in_use = x2apic_wanted();
	assert_int_equal(in_use, wanted);
	in_use = in_use || forced;
	x2apic_tell();
	assert_int_equal(host_x2apic_off(), is_off);
	if (text)
		assert_non_null(strstr(said, text));
	else
		assert_string_equal(said, "");
}

static void with(u8 word, bool table, u8 flags)
{
	cmdline.x2apic = word;
	acpi.dmar = table ? &dmar : NULL;
	dmar.flags = flags;
}

static void test_wish(void **)
{
	/*
	 * No table; one that remaps interrupts or not; one that opts out; by the operator's word.
	 */
	with(CMDLINE_X2APIC_AUTO, false, 2);
	starts(true, false, NULL);
	with(CMDLINE_X2APIC_AUTO, true, 5);
	starts(true, false, NULL);
	with(CMDLINE_X2APIC_AUTO, true, 3);
	starts(false, true, "the firmware wishes it (DMAR); x2apic=on does without");
	with(CMDLINE_X2APIC_ON, true, 3);
	starts(true, false, NULL);
	with(CMDLINE_X2APIC_OFF, true, 1);
	starts(false, true, ": x2apic=off");
	with(CMDLINE_X2APIC_OFF, false, 0);
	starts(false, true, ": x2apic=off");
}

/* Who has it on already, or IDs that need it, has it for guests, too. */
static void test_forced(void **)
{
	forced = true;
	with(CMDLINE_X2APIC_AUTO, true, 2);
	starts(false, false, NULL);
	with(CMDLINE_X2APIC_OFF, false, 0);
	starts(false, false, NULL);
	forced = false;
}

/* QEMU's TCG: the hypervisor goes without, its guests do not. */
static void test_tcg(void **)
{
	cpu_features.tcg = true;
	with(CMDLINE_X2APIC_AUTO, false, 0);
	starts(false, false, NULL);
	with(CMDLINE_X2APIC_OFF, false, 0);
	starts(false, true, ": x2apic=off");
	cpu_features.tcg = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wish),
		cmocka_unit_test(test_forced),
		cmocka_unit_test(test_tcg),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
