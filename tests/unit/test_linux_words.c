/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/vm_files.sources lib/span.c */
/*
 * Words of a guest kernel's command line by which a Linux does without KVM's clock or x2APIC mode,
 * as Linux reads them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/config/config.h"

#define REQUIRED "kernel = k\nmemory = 64M\n"

static struct vm_config config;

static int parse(const char *text)
{
	struct config_error err;

	return vm_config_parse("f", text, strlen(text), &config, &err, NULL);
}

static void test_words(void **)
{
	static const struct {
		/* why not */
		const char *text;
		const char *clock;
		const char *x2apic;
	} cases[] = {
		{ "no-kvmclock", "cmdline has no-kvmclock", NULL },
		{ "ro no_kvmclock quiet", "cmdline has no-kvmclock", NULL },
		{ "nopv", "cmdline has nopv", "cmdline has nopv" },
		{ "quiet\tnopv=1", "cmdline has nopv", "cmdline has nopv" },
		{ "\"nopv\"", "cmdline has nopv", "cmdline has nopv" },
		{ "nox2apic no-kvmclock", "cmdline has no-kvmclock", "cmdline has nox2apic" },
		{ "nopvspin no-kvmclock-vsyscall no-kvmapf x2apic_phys xnopv nopvx no-kvm-clock no-kvm nop nox2",
		  NULL, NULL },
		{ "a=nopv b=\"c nopv d\" e=\"nox2apic", NULL, NULL },
		{ "a=\"b c\" nox2apic", NULL, "cmdline has nox2apic" },
		{ "init=/bin/sh -- nopv nox2apic", NULL, NULL },
		{ "--x nox2apic", NULL, "cmdline has nox2apic" },
		{ "clearcpuid=smap,x2apic,avx", NULL, "cmdline has clearcpuid=x2apic" },
		{ "clearcpuid=\"149\"", NULL, "cmdline has clearcpuid=149 (x2apic)" },
		{ "clearcpuid=1,159", "cmdline has clearcpuid=159 (hypervisor)",
		  "cmdline has clearcpuid=159 (hypervisor)" },
		{ "clearcpuid=hypervisor", "cmdline has clearcpuid=hypervisor",
		  "cmdline has clearcpuid=hypervisor" },
		{ "clearcpuid=1490,x2apics clearcpuid clearcpuid=", NULL, NULL },
		{ "ro\nmodule = a quiet\nmodule = b rw nopv", "cmdline has nopv",
		  "cmdline has nopv" },
		{ "ro -- 1\nmodule = a nopv", NULL, NULL },
		{ "ro\nmodule = a -- \nmodule = b nopv", NULL, NULL },
	};
	char text[300];

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const wanted[] = { cases[i].clock, cases[i].x2apic };

		snprintf(text, sizeof(text), REQUIRED "cmdline = %s\n", cases[i].text);
		assert_int_equal(parse(text), 0);
		for (unsigned k = 0; k < ARRAY_SIZE(wanted); k++) {
			const char *why =
				vm_config_linux(&config, k ? LINUX_NO_X2APIC : LINUX_NO_CLOCK);

			if (wanted[k])
				assert_non_null(why);
			assert_string_equal(why ? why : "", wanted[k] ? wanted[k] : "");
		}
	}
	assert_int_equal(parse(REQUIRED "module = a nopv\n"), 0);
	assert_non_null(vm_config_linux(&config, LINUX_NO_CLOCK));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_words) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
