/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_config_off.sources */
/*
 * Images without some of the options: keys and words name what they need, and one key is for all
 * ends.
 */
#undef CONFIG_NUMA
#undef CONFIG_VM_SHARING
#undef CONFIG_VM_PAUSE
#undef CONFIG_VM_FOLLOW_UP
#undef CONFIG_VM_LOG
#undef CONFIG_VM_MODULES
#undef CONFIG_PASSTHROUGH
#undef CONFIG_GDB
#undef CONFIG_IOMMU
#undef CONFIG_SCREEN
#undef CONFIG_MITIGATIONS
#undef CONFIG_SMBIOS
#undef CONFIG_VM_RDT
#undef CONFIG_VM_COUNTERS
#undef CONFIG_VM_CST
#undef CONFIG_VM_TSC_ONLY
#undef CONFIG_MACHINE_CHECKS
#undef CONFIG_CORRECTED_ERRORS
#undef CONFIG_CPU_POWER
#undef CONFIG_VIRTIO
#undef CONFIG_VIRTIO_NET
#undef CONFIG_SRIOV
#undef CONFIG_MANAGEMENT_VM

#include "kernel/boot/cmdline.c"
#undef ALWAYS
#define blank config_blank
#include "vmm/config/config.c"
#include "vmm/slots/follow_up.c"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct vm_config config;
static struct config_error err;

static int parse(const char *text)
{
	return vm_config_parse("f", text, strlen(text), &config, &err, NULL);
}

#define REQUIRED "kernel = k\nmemory = 64M\n"

static void test_keys(void **)
{
	static const char *const cases[][2] = {
		{ "topology = flat", "f:3: topology: needs CONFIG_NUMA" },
		{ "after = a", "f:3: after: needs CONFIG_VM_SHARING" },
		{ "clock = freeze", "f:3: clock: needs CONFIG_MONITOR_CONSOLE" },
		{ "on_crash = stop", "f:3: on_crash: needs CONFIG_VM_FOLLOW_UP" },
		{ "restart_limit = 5 in 10m", "f:3: restart_limit: needs CONFIG_VM_FOLLOW_UP" },
		{ "console_log = 0", "f:3: console_log: needs CONFIG_VM_LOG" },
		{ "module = a", "f:3: module: needs CONFIG_MULTIBOOT" },
		{ "pci = 01:00.0", "f:3: pci: needs CONFIG_PASSTHROUGH" },
		{ "memory_map = identity", "f:3: memory_map: needs CONFIG_PASSTHROUGH" },
		{ "vfs = 2", "f:3: vfs: needs CONFIG_SRIOV" },
		{ "on_fault = stop", "f:3: on_fault: needs CONFIG_IOMMU" },
		{ "cache = 8/20", "f:3: cache: needs CONFIG_VM_RDT" },
		{ "bandwidth = 50%", "f:3: bandwidth: needs CONFIG_VM_RDT" },
		{ "pvclock = no", "f:3: pvclock: needs CONFIG_VM_TSC_ONLY" },
		{ "counters = yes", "f:3: counters: needs CONFIG_VM_COUNTERS" },
		{ "cstates = firmware", "f:3: cstates: needs CONFIG_VM_CST" },
		{ "on_mce = stop", "f:3: on_mce: needs CONFIG_MACHINE_CHECKS" },
		{ "dmi = none", "f:3: dmi: needs CONFIG_SMBIOS" },
		{ "trusted = yes", "f:3: trusted: needs CONFIG_MITIGATIONS" },
		{ "disk = a", "f:3: disk: needs CONFIG_VIRTIO" },
		{ "meta = a=b", "f:3: meta: needs CONFIG_VIRTIO" },
		{ "net = lan0", "f:3: net: needs CONFIG_VIRTIO_NET" },
		{ "control = yes", "f:3: control: needs CONFIG_MANAGEMENT_VM" },
		{ "control_may = create", "f:3: control_may: needs CONFIG_MANAGEMENT_VM" },
		{ "console = uart", "f:3: console: needs CONFIG_VIRTIO" },
	};
	char text[200];

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), REQUIRED "%s\n", cases[i][0]);
		assert_int_equal(parse(text), -EINVAL);
		assert_string_equal(err.text, cases[i][1]);
	}
	assert_int_equal(parse(REQUIRED "leaf = 2M\non_end = restart\ninitrd = i\ncpus = 2\n"), 0);
	assert_int_equal(config.leaf, VM_LEAF_2M);
	assert_int_equal(config.cpus, 2);
}

static char last[200];

static void report(const char *line)
{
	snprintf(last, sizeof(last), "%s", line);
}

static void test_words(void **)
{
	struct cmdline c;

	assert_int_equal(cmdline_parse("gdb=com2,vm0", &c, report), 1);
	assert_string_equal(last, "'gdb=com2,vm0': needs CONFIG_GDB");
	assert_int_equal(cmdline_parse("screen=none", &c, report), 1);
	assert_string_equal(last, "'screen=none': needs CONFIG_SCREEN");
	assert_int_equal(cmdline_parse("mitigate=off", &c, report), 1);
	assert_string_equal(last, "'mitigate=off': needs CONFIG_MITIGATIONS");
	assert_int_equal(cmdline_parse("iommu=off", &c, report), 1);
	assert_string_equal(last, "'iommu=off': needs CONFIG_IOMMU");
	assert_int_equal(cmdline_parse("power=turbo", &c, report), 1);
	assert_string_equal(last, "'power=turbo': needs CONFIG_CPU_POWER");
	assert_int_equal(cmdline_parse("corrected=minute", &c, report), 1);
	assert_string_equal(last, "'corrected=minute': needs CONFIG_CORRECTED_ERRORS");
	assert_int_equal(cmdline_parse("screens", &c, report), 1);
	assert_string_equal(
		last,
		"'screens': expected check, console=, escape=, loglevel=, idle=, x2apic= or panic=");
}

/* One key for all: what on_end says follows each end, but for the operator's. */
static void test_follow_up(void **)
{
	static const enum vm_end ends[] = { VM_END_POWEROFF,  VM_END_RESET_ACPI,   VM_END_RESET_KBD,
					    VM_END_RESET_CF9, VM_END_TRIPLE_FAULT, VM_END_CRASH,
					    VM_END_EXIT };

	assert_int_equal(parse(REQUIRED "on_end = poweroff_node\n"), 0);
	/* Nothing of these two is looked at. */
	config.then[ENDING_REBOOT] = config.then[ENDING_CRASH] = THEN_RESTART;
	for (unsigned i = 0; i < ARRAY_SIZE(ends); i++)
		assert_int_equal(vm_follow_up(&config, ends[i], 1), THEN_POWEROFF_NODE);
	assert_int_equal(vm_follow_up(&config, VM_END_STOPPED, 0), THEN_STOP);
	assert_int_equal(parse(REQUIRED "on_end = reboot_node\n"), -EINVAL);
	assert_string_equal(err.text, "f:3: on_end = reboot_node: needs CONFIG_VM_FOLLOW_UP");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_keys),
					    cmocka_unit_test(test_words),
					    cmocka_unit_test(test_follow_up) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
