/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/vm_files.sources lib/span.c */
/* The VM file's parser: what it takes, what it refuses, and where it says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <margay/errno.h>
#include <margay/span.h>
#include <margay/string.h>

#include "vmm/config/config_set.h"

static struct vm_config config;
static struct config_error err;

/* From a heap copy without a terminator, so that ASan sees any read past it. */
static int parse_n(const char *text, size_t size)
{
	char *copy = malloc(size ? size : 1);
	int e;

	memcpy(copy, text, size);
	memset(&err, 0, sizeof(err));
	e = vm_config_parse("vm0.conf", copy, size, &config, &err, NULL);
	free(copy);
	return e;
}

static int parse(const char *text)
{
	return parse_n(text, strlen(text));
}

#define LONG_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define REQUIRED "kernel = vmlinuz\nmemory = 512M\n"

static void refused(const char *text, const char *message)
{
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(err.text, message);
}

static void whole_file(void **)
{
	assert_int_equal(parse("# a compute node\n"
			       "\n"
			       "name = node-7_a\n"
			       "  kernel=vmlinuz\n"
			       "initrd\t=\tinitrd.img  \n"
			       "cmdline = console=ttyS0 root=/dev/ram0 a='b c' #not a comment\n"
			       "cpus = 1\n"
			       "memory = 12G\n"
			       "on_end = poweroff_node"),
			 0);
	assert_string_equal(config.file, "vm0.conf");
	assert_string_equal(config.name, "node-7_a");
	assert_string_equal(config.kernel, "vmlinuz");
	assert_string_equal(config.initrd, "initrd.img");
	assert_string_equal(config.cmdline, "console=ttyS0 root=/dev/ram0 a='b c' #not a comment");
	assert_int_equal(config.cpus, 1);
	assert_int_equal(config.memory, 12ull << 30);
	assert_int_equal(config.then[0], THEN_POWEROFF_NODE);
	assert_int_equal(config.line_kernel, 4);
	assert_int_equal(config.line_initrd, 5);
	assert_int_equal(config.line_cpus, 7);
	assert_int_equal(config.line_memory, 8);
}

static void defaults(void **)
{
	assert_int_equal(parse(REQUIRED), 0);
	assert_string_equal(config.name, "");
	assert_string_equal(config.initrd, "");
	assert_string_equal(config.cmdline, "");
	assert_int_equal(config.cpus, 1);
	assert_int_equal(config.then[0], THEN_STOP);
	assert_int_equal(config.line_initrd, 0);
	assert_int_equal(config.line_cpus, 0);
	assert_int_equal(parse(REQUIRED "cmdline =\n"), 0);
	assert_int_equal(parse(REQUIRED "on_end = restart\n"), 0);
	assert_int_equal(config.then[0], THEN_RESTART);
	assert_int_equal(config.clock, VM_CLOCK_FOLLOW);
	assert_int_equal(parse(REQUIRED "\nclock = freeze\n"), 0);
	assert_int_equal(config.line_clock, 4);
	assert_int_equal(config.clock, VM_CLOCK_FREEZE);
	assert_false(config.no_pvclock);
	assert_int_equal(parse(REQUIRED "\npvclock = no\n"), 0);
	assert_true(config.no_pvclock);
	assert_int_equal(config.line_pvclock, 4);
	assert_int_equal(parse(REQUIRED "clock = follow\n"), 0);
	assert_int_equal(config.clock, VM_CLOCK_FOLLOW);
	assert_int_equal(config.interrupts, VM_INTERRUPTS_AUTO);
	assert_int_equal(parse(REQUIRED "\ninterrupts = direct\n"), 0);
	assert_int_equal(config.interrupts, VM_INTERRUPTS_DIRECT);
	assert_int_equal(config.line_direct, 4);
	assert_int_equal(parse(REQUIRED "interrupts = emulated\n"), 0);
	assert_int_equal(config.interrupts, VM_INTERRUPTS_EMULATED);
	assert_int_equal(parse(REQUIRED "interrupts = auto\n"), 0);
	assert_int_equal(config.interrupts, VM_INTERRUPTS_AUTO);
	/* What cannot be beside direct, whatever the order; emulated is beside all. */
	refused(REQUIRED "topology = flat\ninterrupts = direct\n",
		"vm0.conf:4: interrupts = direct: topology = flat has other APIC IDs than the CPUs: use emulated");
	refused(REQUIRED "interrupts = direct\nclock = freeze\n",
		"vm0.conf:3: interrupts = direct: clock = freeze cannot stop the CPUs' own timers: use emulated");
	refused(REQUIRED "interrupts = direct\nallow_smt_sharing = yes\n",
		"vm0.conf:3: interrupts = direct: allow_smt_sharing lets others use its cores: use emulated");
	assert_int_equal(
		parse(REQUIRED
		      "interrupts = emulated\ntopology = flat\nclock = freeze\nallow_smt_sharing = yes\n"),
		0);
	/* The ICR is the guest's where the APICs are. */
	assert_false(config.ipi_direct);
	assert_int_equal(parse(REQUIRED "ipi = direct\ninterrupts = direct\n"), 0);
	assert_true(config.ipi_direct);
	assert_int_equal(config.line_ipi, 3);
	assert_int_equal(parse(REQUIRED "interrupts = direct\nipi = filtered\n"), 0);
	assert_false(config.ipi_direct);
	assert_int_equal(parse(REQUIRED "ipi = filtered\n"), 0);
	refused(REQUIRED "interrupts = direct\nipi = yes\n",
		"vm0.conf:4: ipi: expected filtered or direct, found 'yes'");
	refused(REQUIRED "ipi = direct\ninterrupts = emulated\n",
		"vm0.conf:3: ipi = direct: needs interrupts = direct, by which the guest has local APICs of its own");
	refused(REQUIRED "interrupts = auto\nipi = direct\n",
		"vm0.conf:4: ipi = direct: needs interrupts = direct, by which the guest has local APICs of its own");
	/* The firmware's C-states are told to a guest that has its CPUs' own, or may have. */
	assert_false(config.cstates_firmware);
	assert_int_equal(parse(REQUIRED "cstates = firmware\n"), 0);
	assert_true(config.cstates_firmware);
	assert_int_equal(parse(REQUIRED "interrupts = direct\ncstates = firmware\n"), 0);
	assert_int_equal(parse(REQUIRED "interrupts = emulated\ncstates = cpu\n"), 0);
	assert_false(config.cstates_firmware);
	refused(REQUIRED "cstates = firmware\ninterrupts = emulated\n",
		"vm0.conf:3: cstates = firmware: not with interrupts = emulated, where the hypervisor chooses C-states");
	refused(REQUIRED "cstates = deep\n",
		"vm0.conf:3: cstates: expected cpu or firmware, found 'deep'");
	assert_false(config.counters);
	assert_int_equal(parse(REQUIRED "counters = yes\n"), 0);
	assert_true(config.counters);
	refused(REQUIRED "counters = yes\ninterrupts = direct\n",
		"vm0.conf:4: interrupts = direct: counters = yes would have no interrupt: use emulated");
	refused(REQUIRED "interrupts = direct\ncmdline = quiet nox2apic\n",
		"vm0.conf:3: interrupts = direct: cmdline has nox2apic: use emulated");
	assert_int_equal(parse(REQUIRED "watchdog = yes\ninterrupts = direct\n"), 0);
	assert_false(config.no_watchdog);
	assert_int_equal(parse(REQUIRED "watchdog = no\n"), 0);
	assert_true(config.no_watchdog);
	refused(REQUIRED "allow_smt_sharing = yes\ncounters = yes\n",
		"vm0.conf:4: counters = yes: not with allow_smt_sharing = yes, which lets others use its cores");
	assert_int_equal(parse(REQUIRED "counters = no\ninterrupts = direct\n"), 0);
	assert_int_equal(parse(REQUIRED "on_end = stop\n"), 0);
	assert_int_equal(config.then[0], THEN_STOP);
	/* Lines as Windows editors end them. */
	assert_int_equal(parse("kernel = vmlinuz\r\n\r\nmemory = 512M\r\n"), 0);
	assert_string_equal(config.kernel, "vmlinuz");
}

/*
 * interrupts: each reason for which it is not direct, alone and in its row; asked: does it refuse
 * direct, too? What the VM file says comes first, and what the parser cannot know does not count
 * with it.
 */
static void not_direct(void **)
{
	static const struct {
		const char *text;
		unsigned facts;
		bool asked;
		const char *why;
	} cases[] = {
		{ "topology = flat\n", 0, true,
		  "topology = flat has other APIC IDs than the CPUs" },
		{ "clock = freeze\n", 0, true, "clock = freeze cannot stop the CPUs' own timers" },
		{ "allow_smt_sharing = yes\n", 0, true,
		  "allow_smt_sharing lets others use its cores" },
		{ "counters = yes\n", 0, true, "counters = yes would have no interrupt" },
		{ "cmdline = nox2apic\n", 0, true, "cmdline has nox2apic" },
		{ "cmdline = nox2apic quiet\n", 0, true, "cmdline has nox2apic" },
		{ "module = a x\nmodule = b y nox2apic\n", 0, true, "cmdline has nox2apic" },
		{ "cmdline = quiet nox2apic ro\n", 0, true, "cmdline has nox2apic" },
		{ "cmdline = nox2apicx xnox2apic a=nox2apic\n", 0, false, NULL },
		{ "cmdline = nopv\n", 0, true, "cmdline has nopv" },
		{ "", DIRECT_NO_KVM_GUEST, true,
		  "the kernel is built without KVM_GUEST, and leaves x2APIC mode" },
		{ "", DIRECT_LEAVES_X2APIC, true, "the kernel took no x2APIC mode when it had it" },
		{ "", DIRECT_XAPIC_KERNEL, true, "the kernel is built without X86_X2APIC" },
		{ "", DIRECT_NO_X2APIC, true, "the CPUs have no x2APIC mode" },
		{ "", DIRECT_X2APIC_OFF, true,
		  "x2APIC mode is off, as the firmware wishes it, or by x2apic=off" },
		{ "", DIRECT_WIDE_IDS, true, NULL },
		{ "pci = 01:00.0\ndma = identity\n", DIRECT_WIDE_IDS, true,
		  "devices do not reach all of its CPUs, by their APIC IDs" },
		{ "pci = 01:00.0\ndma = identity\n", 0, true, NULL },
		{ "", DIRECT_MULTIBOOT, false,
		  "a multiboot kernel gets its local APIC in xAPIC mode" },
		{ "", DIRECT_GDB, false, "gdb cannot step its CPUs without interrupts" },
		{ "", DIRECT_NO_ALARM, false, NULL },
	};
	const unsigned all = DIRECT_NO_X2APIC | DIRECT_WIDE_IDS | DIRECT_MULTIBOOT | DIRECT_GDB |
			     DIRECT_NO_ALARM | DIRECT_X2APIC_OFF | DIRECT_NO_KVM_GUEST |
			     DIRECT_XAPIC_KERNEL | DIRECT_LEAVES_X2APIC;
	char text[400];
	unsigned row;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why = cases[i].why, *refused = cases[i].asked ? why : NULL;

		snprintf(text, sizeof(text), REQUIRED "watchdog = no\n%s", cases[i].text);
		assert_int_equal(parse(text), 0);
		row = 0;
		if (why)
			assert_string_equal(vm_config_not_direct(&config, cases[i].facts, &row),
					    why);
		assert_null(vm_config_not_direct(&config, cases[i].facts, &row));
		config.interrupts = VM_INTERRUPTS_DIRECT;
		row = 0;
		if (refused)
			assert_string_equal(vm_config_not_direct(&config, cases[i].facts, &row),
					    refused);
		assert_null(vm_config_not_direct(&config, cases[i].facts, &row));
	}
	/* All at once: as many as there are, and the same ones behind each other in each call. */
	assert_int_equal(
		parse(REQUIRED
		      "topology = flat\nclock = freeze\nallow_smt_sharing = yes\ncounters = no\n"
		      "cmdline = nox2apic\npci = 01:00.0\ndma = identity\n"),
		0);
	row = 0;
	for (unsigned i = 0; i < 13; i++)
		assert_non_null(vm_config_not_direct(&config, all, &row));
	assert_null(vm_config_not_direct(&config, all, &row));
	/*
	 * A watchdog, which every VM has, goes where the node has no timer for it: who asks for
	 * direct has none then.
	 */
	assert_int_equal(parse(REQUIRED), 0);
	row = 0;
	assert_null(vm_config_not_direct(&config, 0, &row));
	row = 0;
	assert_string_equal(vm_config_not_direct(&config, DIRECT_NO_ALARM, &row),
			    "its watchdog needs an HPET that interrupts (watchdog = no)");
	config.interrupts = VM_INTERRUPTS_DIRECT;
	row = 0;
	assert_null(vm_config_not_direct(&config, DIRECT_NO_ALARM, &row));
}

static void what_follows(void **)
{
	assert_int_equal(parse(REQUIRED "on_end = reboot_node\n"), 0);
	for (unsigned i = 0; i < VM_ENDINGS; i++)
		assert_int_equal(config.then[i], THEN_REBOOT_NODE);
	assert_int_equal(parse(REQUIRED "on_poweroff = poweroff_node\non_reboot = restart\n"), 0);
	assert_int_equal(config.then[ENDING_POWEROFF], THEN_POWEROFF_NODE);
	assert_int_equal(config.then[ENDING_REBOOT], THEN_RESTART);
	assert_int_equal(config.then[ENDING_CRASH], THEN_STOP);
	assert_int_equal(config.restart_limit, 0);
	assert_int_equal(parse(REQUIRED "on_crash = restart\nrestart_limit = 5 in 10m\n"), 0);
	assert_int_equal(config.then[ENDING_POWEROFF], THEN_STOP);
	assert_int_equal(config.then[ENDING_CRASH], THEN_RESTART);
	assert_int_equal(config.restart_limit, 5);
	assert_int_equal(config.restart_seconds, 600);
	assert_int_equal(parse(REQUIRED "on_crash = dump\n"), 0);
	assert_int_equal(config.then[ENDING_CRASH], THEN_DUMP);
	refused(REQUIRED "on_reboot = dump\n",
		"vm0.conf:3: on_reboot: expected stop, restart, poweroff_node or reboot_node, found 'dump'");
	assert_int_equal(parse(REQUIRED "restart_limit = 100000 in 720h\n"), 0);
	assert_int_equal(config.restart_seconds, 30 * 24 * 3600);
	assert_int_equal(parse(REQUIRED "restart_limit = 1 in 1s\n"), 0);
	assert_int_equal(config.restart_seconds, 1);
}

static void console_log(void **)
{
	/* clang-format off */
	static const char *const bad[] = { "64", "0K", "4", "2K", "6K", "16388K", "17M", "1G",
		"64KB", "K", "-4K", "4 K",
					   "18014398509481988K", "18446744073709551616K" };
	/* clang-format on */

	static const struct {
		const char *text;
		unsigned kib;
	} good[] = {
		{ "0", 0 },     { "4K", 4 },      { "64K", 64 },
		{ "1M", 1024 }, { "16M", 16384 }, { "16384K", 16384 },
	};

	assert_int_equal(parse(REQUIRED), 0);
	assert_int_equal(config.console_log, 64);
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		char text[100];

		snprintf(text, sizeof(text), REQUIRED "console_log = %s\n", good[i].text);
		assert_int_equal(parse(text), 0);
		assert_int_equal(config.console_log, good[i].kib);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[100], expected[200];

		snprintf(text, sizeof(text), "console_log = %s\n", bad[i]);
		snprintf(
			expected, sizeof(expected),
			"vm0.conf:1: console_log: expected 0, or 4K to 16M in steps of 4K, found '%s'",
			bad[i]);
		refused(text, expected);
	}
}

static void what_follows_wrong(void **)
{
	/* clang-format off */
	static const char *const bad[] = {
		"0 in 10m", "100001 in 10m", "5 in 0m", "5 in 721h", "5 in 43201m", "5 in 10d",
		"5 in 10", "5 in 10mm", "5in 10m",
		"5 per 10m", "5", "in 10m", "-1 in 10m", "5 in -1m", "99999999999999999999 in 1m",
		"5 in 18446744073709551615h",
	};
	/* clang-format on */

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[100], expected[200];

		snprintf(text, sizeof(text), "restart_limit = %s\n", bad[i]);
		snprintf(
			expected, sizeof(expected),
			"vm0.conf:1: restart_limit: expected 1 to 100000 restarts in a time of up to "
			"30 days, like 5 in 10m, found '%s'",
			bad[i]);
		refused(text, expected);
	}
	refused(REQUIRED "on_crash = restart\n\non_end = stop\n",
		"vm0.conf:5: on_end: not beside on_poweroff, on_reboot or on_crash");
	refused(REQUIRED "on_end = stop\non_reboot = stop\n",
		"vm0.conf:4: on_end: not beside on_poweroff, on_reboot or on_crash");
	refused("on_reboot = reboot\n",
		"vm0.conf:1: on_reboot: expected stop, restart, poweroff_node or reboot_node, found 'reboot'");
}

static void cpu_lists(void **)
{
	static const u16 listed[] = { 1, 2, 3, 6, 0 };

	assert_int_equal(parse(REQUIRED "cpus = 4\n"), 0);
	assert_int_equal(config.cpus, 4);
	assert_false(config.pinned);
	assert_int_equal(parse(REQUIRED "cpus = 1-3,6,0\n"), 0);
	assert_int_equal(config.cpus, 5);
	assert_true(config.pinned);
	assert_memory_equal(config.cpu, listed, sizeof(listed));
	/* One CPU by its number: a list of one. */
	assert_int_equal(parse(REQUIRED "cpus = 6-6\n"), 0);
	assert_int_equal(config.cpus, 1);
	assert_true(config.pinned);
	assert_int_equal(config.cpu[0], 6);
	assert_int_equal(parse(REQUIRED "cpus = 0-63\n"), 0);
	assert_int_equal(config.cpus, 64);
}

static void unknown(const char *text, const char *beginning)
{
	assert_int_equal(parse(text), -EINVAL);
	assert_int_equal(strncmp(err.text, beginning, strlen(beginning)), 0);
}

static void keys(void **)
{
	unknown(REQUIRED "cpu = 1\n",
		"vm0.conf:3: unknown key 'cpu': expected one of name, kernel, initrd, ");
	unknown(REQUIRED "Kernel = a\n",
		"vm0.conf:3: unknown key 'Kernel': expected one of name, ");
	unknown("= 5\n", "vm0.conf:1: unknown key '': expected one of name, ");
	/* All of them, the last one too. */
	assert_non_null(strstr(err.text, ", topology, "));
	assert_non_null(strstr(err.text, ", on_end"));
	refused("# x\nkernel = a\nkernel = b\n",
		"vm0.conf:3: kernel: given twice, first in line 2");
	refused("cmdline =\ncmdline = b\n", "vm0.conf:2: cmdline: given twice, first in line 1");
	refused("kernel\n", "vm0.conf:1: expected 'key = value' or a '#' comment, found 'kernel'");
	refused("kernel =\n", "vm0.conf:1: kernel: expected a value after '='");
	refused("memory = 512M\n",
		"vm0.conf: required key 'kernel' is missing: the name of the module to boot");
	refused("kernel = a\n",
		"vm0.conf: required key 'memory' is missing: a size like 512M or 12G");
	refused("", "vm0.conf: required key 'kernel' is missing: the name of the module to boot");
}

static void memory_sizes(void **)
{
	/* clang-format off */
	static const char *const not_a_size[] = { "512", "512MB", "512m", "M", "0x200M", "-512M",
		"512 M", "1.5G", "1P", "1t",
						  "99999999999999999999G" };
	/* clang-format on */

	assert_int_equal(parse("kernel = a\nmemory = 65536K\n"), 0);
	assert_int_equal(config.memory, 64ull << 20);
	assert_int_equal(parse("kernel = a\nmemory = 65536G\n"), 0);
	assert_int_equal(config.memory, 1ull << 46);
	assert_int_equal(parse("kernel = a\nmemory = 1T\n"), 0);
	assert_int_equal(config.memory, 1ull << 40);
	assert_int_equal(parse("kernel = a\nmemory = 64T\n"), 0);
	assert_int_equal(config.memory, 64ull << 40);
	refused("memory = 65T\n", "vm0.conf:1: memory: expected 32M to 64T, found '65T'");
	refused("memory = 16777217T\n",
		"vm0.conf:1: memory: expected 32M to 64T, found '16777217T'");
	for (unsigned i = 0; i < ARRAY_SIZE(not_a_size); i++) {
		char text[80], message[160];

		snprintf(text, sizeof(text), "memory = %s\n", not_a_size[i]);
		snprintf(
			message, sizeof(message),
			"vm0.conf:1: memory: expected a size with K, M, G or T, like 512M or 12G, found '%s'",
			not_a_size[i]);
		refused(text, message);
	}
	refused("memory = 0G\n", "vm0.conf:1: memory: expected 32M to 64T, found '0G'");
	refused("memory = 31M\n", "vm0.conf:1: memory: expected 32M to 64T, found '31M'");
	refused("memory = 65537G\n", "vm0.conf:1: memory: expected 32M to 64T, found '65537G'");
	/* 2^34 GiB is 2^64 bytes, which must not wrap to 0. */
	refused("memory = 17179869184G\n",
		"vm0.conf:1: memory: expected 32M to 64T, found '17179869184G'");
	refused("memory = 18446744073709551615K\n",
		"vm0.conf:1: memory: expected 32M to 64T, found '18446744073709551615K'");
	refused("memory = 63M\n", "vm0.conf:1: memory: expected a multiple of 2M, found '63M'");
}

static void memory_by_node(void **)
{
	assert_int_equal(parse("kernel = a\nmemory = node0:8G, node12 : all\n"), -EINVAL);
	assert_int_equal(parse("kernel = a\nmemory = node0:8G, node12: all ,node3:64M\n"), 0);
	assert_int_equal(config.memory, 0);
	assert_int_equal(config.nr_memory_nodes, 3);
	assert_int_equal(config.memory_node[0].node, 0);
	assert_int_equal(config.memory_node[0].size, 8ull << 30);
	assert_int_equal(config.memory_node[1].node, 12);
	assert_int_equal(config.memory_node[1].size, 0);
	assert_int_equal(config.memory_node[2].size, 64ull << 20);
	assert_int_equal(parse("kernel = a\nmemory = all\n"), 0);
	assert_int_equal(config.memory, 0);
	assert_int_equal(config.nr_memory_nodes, 0);
	refused("memory = node0\n",
		"vm0.conf:1: memory: expected a part like node0:8G or node0:all, found 'node0'");
	refused("memory = node:8G\n",
		"vm0.conf:1: memory: expected a part like node0:8G or node0:all, found 'node:8G'");
	refused("memory = node64:8G\n",
		"vm0.conf:1: memory: expected a part like node0:8G or node0:all, found 'node64:8G'");
	refused("memory = node0:8G, 4G\n",
		"vm0.conf:1: memory: expected a part like node0:8G or node0:all, found '4G'");
	refused("memory = node0:8G,\n",
		"vm0.conf:1: memory: expected another node behind the comma, found 'node0:8G,'");
	refused("memory = node0:\n",
		"vm0.conf:1: memory: expected a size with K, M, G or T, like 512M or 12G, found ''");
	refused("memory = node0:1M\n", "vm0.conf:1: memory: expected 32M to 64T, found '1M'");
	refused("memory = node0:64M,node0:64M\n", "vm0.conf:1: memory: node0 is named twice");
}

static void shape_words(void **)
{
	assert_int_equal(parse(REQUIRED), 0);
	assert_int_equal(config.leaf, VM_LEAF_1G);
	assert_int_equal(config.memory_map, VM_MAP_AUTO);
	assert_false(config.flat || config.remote_memory || config.smt_sharing);
	assert_int_equal(
		parse(REQUIRED
		      "leaf = 4K\nmemory_map = identity\ntopology = flat\nremote_memory = allow\n"
		      "allow_smt_sharing = yes\ncpus = all\n"),
		0);
	assert_int_equal(config.leaf, VM_LEAF_4K);
	assert_int_equal(config.memory_map, VM_MAP_IDENTITY);
	assert_true(config.flat && config.remote_memory && config.smt_sharing);
	assert_int_equal(config.cpus, 0);
	assert_false(config.pinned);
	refused("leaf = 2m\n", "vm0.conf:1: leaf: expected 4K, 2M or 1G, found '2m'");
	refused("memory_map = x\n",
		"vm0.conf:1: memory_map: expected auto, offset or identity, found 'x'");
	refused("topology = true\n", "vm0.conf:1: topology: expected node or flat, found 'true'");
	refused("remote_memory = yes\n",
		"vm0.conf:1: remote_memory: expected refuse or allow, found 'yes'");
	refused("trusted = maybe\n", "vm0.conf:1: trusted: expected no or yes, found 'maybe'");
	refused("allow_smt_sharing = 1\n",
		"vm0.conf:1: allow_smt_sharing: expected no or yes, found '1'");
}

static void other_values(void **)
{
	refused("cpus = 0\n", "vm0.conf:1: cpus: expected 1 to 4096 vCPUs, found 0");
	refused("cpus = 4294967297\n",
		"vm0.conf:1: cpus: expected 1 to 4096 vCPUs, found 4294967297");
	refused("cpus = two\n",
		"vm0.conf:1: cpus: expected a number of vCPUs, a list of CPUs like 1-3,6, or all, found 'two'");
	refused("cpus = 1 # all of them\n",
		"vm0.conf:1: cpus: expected a number of vCPUs, a list of CPUs like 1-3,6, or all, found '1 # all of them'");
	refused("cpus = 3-1\n",
		"vm0.conf:1: cpus: expected a list of CPUs like 1-3,6, found '3-1'");
	refused("cpus = 1-\n", "vm0.conf:1: cpus: expected a list of CPUs like 1-3,6, found '1-'");
	refused("cpus = 1,,2\n",
		"vm0.conf:1: cpus: expected a list of CPUs like 1-3,6, found '1,,2'");
	refused("cpus = 1,\n", "vm0.conf:1: cpus: expected a list of CPUs like 1-3,6, found '1,'");
	refused("cpus = 1-3,2\n", "vm0.conf:1: cpus: CPU 2 is named twice");
	refused("cpus = 0-4096\n", "vm0.conf:1: cpus: expected numbers up to 4095, found 4096");
	refused("cpus = 4-4096\n", "vm0.conf:1: cpus: expected numbers up to 4095, found 4096");
	refused("cpus = 0-18446744073709551615\n",
		"vm0.conf:1: cpus: expected numbers up to 4095, found 18446744073709551615");
	refused("on_end = reboot\n",
		"vm0.conf:1: on_end: expected stop, restart, poweroff_node or reboot_node, found 'reboot'");
	refused("on_end = sto\n",
		"vm0.conf:1: on_end: expected stop, restart, poweroff_node or reboot_node, found 'sto'");
	refused("name = vm 0\n",
		"vm0.conf:1: name: expected letters, digits, '-' and '_', found 'vm 0'");
	refused("name = ../vm\n",
		"vm0.conf:1: name: expected letters, digits, '-' and '_', found '../vm'");
	refused("kernel = vmlinuz root=/dev/sda\n",
		"vm0.conf:1: kernel: expected one module name without blanks, found 'vmlinuz root=/dev/sda'");
	refused("kernel = vml\xc3\xafnux\n",
		"vm0.conf:1: kernel: expected one module name without blanks, found 'vml??nux'");
	/* A long wrong value is cut in the message. */
	refused("on_end = 0123456789012345678901234567890123456789012\n",
		"vm0.conf:1: on_end: expected stop, restart, poweroff_node or reboot_node, "
		"found '0123456789012345678901234567890123456789'...");
}

static void lengths(void **)
{
	char text[4096];
	const unsigned prefix = sizeof("cmdline = ") - 1;

	refused("name = 01234567890123456789012345678901\n",
		"vm0.conf:1: name: expected a name of at most 31 bytes, found 32");
	assert_int_equal(parse(REQUIRED "name = 0123456789012345678901234567890\n"), 0);
	snprintf(text, sizeof(text), "kernel = %064d\n", 0);
	refused(text, "vm0.conf:1: kernel: expected a name of at most 63 bytes, found 64");
	snprintf(text, sizeof(text), "kernel = %063d\nmemory = 1G\n", 0);
	assert_int_equal(parse(text), 0);
	/* Linux' COMMAND_LINE_SIZE is 2048 with the terminator. */
	snprintf(text, sizeof(text), "cmdline = %02047d\n" REQUIRED, 0);
	assert_int_equal(parse(text), 0);
	assert_int_equal(strlen(config.cmdline), 2047);
	snprintf(text, sizeof(text), "cmdline = %02048d\n" REQUIRED, 0);
	refused(text, "vm0.conf:1: cmdline: expected text of at most 2047 bytes, found 2048");
	memset(text, ' ', sizeof(text));
	memcpy(text, "cmdline = ", prefix);
	assert_int_equal(parse_n(text, 3000), -EINVAL);
	assert_string_equal(err.text,
			    "vm0.conf:1: expected a line of at most 2303 bytes, found 3000");
}

static void not_text(void **)
{
	static const char nul[] = "kernel = a\nmemory\0= 512M\n";

	assert_int_equal(parse_n(nul, sizeof(nul) - 1), -EINVAL);
	assert_string_equal(err.text, "vm0.conf:2: expected text, found control character 0x00");
	refused("kernel = \x1b[2J\n", "vm0.conf:1: expected text, found control character 0x1b");
	refused("kernel = a\rmemory = 1G\n",
		"vm0.conf:1: expected text, found control character 0x0d");
	refused("\xef\xbb\xbfkernel = a\n",
		"vm0.conf:1: begins with a byte-order mark: save it without one");
	/* The name of a file may be anything, too; the message still fits. */
	memset(&err, 0xaa, sizeof(err));
	{
		char name[600];

		memset(name, 'x', sizeof(name));
		name[599] = 0;
		assert_int_equal(vm_config_parse(name, "cpus = 0", 8, &config, &err, NULL),
				 -EINVAL);
		assert_non_null(memchr(err.text, 0, sizeof(err.text)));
		assert_non_null(strstr(err.text, "cpus: expected"));
	}
}

/* All that the file names, as KEY NAME LINE. */
static const char *names(void)
{
	static char all[200];
	struct vm_config_name name;
	size_t n = 0;

	all[0] = 0;
	for (unsigned i = 0; vm_config_name(&config, i, &name); i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s %s %u, ", name.key, name.name,
				      name.line);
	assert_false(vm_config_name(&config, 7, &name));
	return all;
}

static void modules(void **)
{
	assert_int_equal(parse("memory = 1G\nkernel = k\n"), 0);
	assert_string_equal(names(), "kernel k 2, ");
	assert_int_equal(parse("memory = 1G\nkernel = k\ninitrd = i\n"), 0);
	assert_string_equal(names(), "kernel k 2, initrd i 3, ");
	assert_int_equal(
		parse("memory = 1G\nkernel = k\ndisk = scratch:1G\ndisk = d\ninitrd = i\ndisk = d\n"),
		0);
	assert_string_equal(names(), "kernel k 2, initrd i 5, disk d 4, disk d 6, ");
}

#define TAKEN(where) " is the address of " where " already: give another by mac="
static void nets(void **)
{
	static struct vm_config a, b;
	const struct vm_config *const file[] = { &a, NULL, &b };
	unsigned at = 0;

	assert_int_equal(
		parse(REQUIRED
		      "net = lan0\nnet = lan-1 mac=02:00:00:0A:0b:01  isolated\nnet = x mirror offload=no\n"
		      "net = y bridge\n"),
		0);
	assert_int_equal(config.nr_nets, 4);
	assert_string_equal(config.net[0].segment, "lan0");
	assert_true(config.net[1].isolated && !config.net[1].mirror && !config.net[1].plain &&
		    config.net[1].line == 4);
	assert_true(config.net[1].mac == 0x010b0a000002 &&
		    vm_config_mac(&config, 1) == config.net[1].mac);
	assert_true(config.net[3].bridge && !config.net[2].bridge && !config.net[0].bridge);
	assert_true(config.net[2].mirror && config.net[2].plain && !config.net[2].isolated &&
		    !config.net[2].mac);
	/*
	 * One of its own for each name and number, locally administered, one interface's, and
	 * always the same.
	 */
	strcpy(config.name, "a");
	assert_int_equal(vm_config_mac(&config, 0) & 3, 2);
	assert_true(vm_config_mac(&config, 0) != vm_config_mac(&config, 2));
	b = config;
	strcpy(b.name, "b");
	assert_true(vm_config_mac(&config, 0) != vm_config_mac(&b, 0));
	/* Beside others. */
	a = config;
	a.file = "a.conf";
	a.nr_nets = b.nr_nets = 2;
	assert_int_equal(vm_config_check_net(file, 0, &err), 0);
	assert_int_equal(vm_config_check_net(file, 2, &err), -EINVAL);
	assert_string_equal(err.text, "vm0.conf:4: net: 02:00:00:0a:0b:01" TAKEN("a.conf:4"));
	b.net[1].mac = b.net[0].mac = 0x0a;
	assert_int_equal(vm_config_check_net(file, 2, &err), -EINVAL);
	assert_string_equal(err.text, "vm0.conf:4: net: 0a:00:00:00:00:00" TAKEN("vm0.conf:3"));
	assert_false(vm_config_lonely_net(file, 3, 2, &at, &err));
	strcpy(b.net[0].segment, "lan00");
	strcpy(b.net[1].segment, "lan9");
	at = 0;
	assert_true(vm_config_lonely_net(file, 3, 2, &at, &err));
	assert_string_equal(err.text, "vm0.conf:3: net = lan00: nobody else is on this segment");
	assert_true(vm_config_lonely_net(file, 3, 2, &at, &err));
	assert_string_equal(err.text, "vm0.conf:4: net = lan9: nobody else is on this segment");
	assert_false(vm_config_lonely_net(file, 3, 2, &at, &err));
	refused("net = a b\n",
		"vm0.conf:1: net: expected mac=..., mtu=..., pvid=..., trunk=..., bridge, isolated, mirror or offload=no behind the segment, found 'b'");
	refused("net = lan.0\n",
		"vm0.conf:1: net: expected a segment's name of letters, digits, '-' and '_', found 'lan.0'");
	refused("net = abcdefghijklmnop\n",
		"vm0.conf:1: net: expected a segment's name of at most 15 bytes, found 16");
#define NO_MAC(text) \
	refused("net = a mac=" text "\n", \
		"vm0.conf:1: net: mac: expected one address, of one interface, like 02:00:00:00:00:01, found '" text \
		"'")
	NO_MAC("");
	NO_MAC("02:00:00:00:00");
	NO_MAC("02:00:00:00:00:0");
	NO_MAC("02:00:00:00:00:0g");
	NO_MAC("02-00-00-00-00-01");
	NO_MAC("02:00:00:00:00:01:02");
	NO_MAC("00:00:00:00:00:00");
	NO_MAC("01:00:00:00:00:00");
	refused("net = a mac=02:00:00:00:00:01 mac=02:00:00:00:00:02\n",
		"vm0.conf:1: net: mac: expected one address, of one "
		"interface, like 02:00:00:00:00:01, found '02:00:00:00:00:02'");
	refused("net = a\nnet = b\nnet = c\nnet = d\nnet = e\n",
		"vm0.conf:5: net: expected at most 4 interfaces");
}

#define VLANS "VLANs from 1 to 4094, like 10,20-29"
static void vlans(void **)
{
	char text[VM_TRUNK_TEXT];

	assert_int_equal(
		parse(REQUIRED
		      "net = a mtu=9000 pvid=4094\nnet = b trunk=10,20-29,1-4094 pvid=1\nnet = c mtu=1280\n"
		      "net = d trunk=4000-4094,4000-4094,4000-4094,4000-4094,4000-4094,4000-4094,4000-4094,"
		      "4000-4094,4000-4094,4000-4094,4000-4094,4000-4094,4000-4094,4000-4094,4000-4094,"
		      "4000-4094\n"),
		0);
	assert_true(config.net[0].pvid == 4094 && !config.net[0].nr_trunk &&
		    vm_config_has_vlans(&config.net[0]));
	assert_true(config.net[1].pvid == 1 && config.net[1].nr_trunk == 3 &&
		    !vm_config_has_vlans(&config.net[2]) && vm_config_has_vlans(&config.net[3]));
	assert_int_equal(vm_config_mtu(&config.net[0]), 9000);
	assert_int_equal(vm_config_mtu(&config.net[1]), 1500);
	assert_int_equal(vm_config_mtu(&config.net[2]), 1280);
	vm_config_trunk(&config.net[0], text);
	assert_string_equal(text, "");
	vm_config_trunk(&config.net[1], text);
	assert_string_equal(text, "10,20-29,1-4094");
	/* As much as there may be. */
	vm_config_trunk(&config.net[3], text);
	assert_true(strlen(text) == 16 * 10 - 1 && !strcmp(text + 150, "4000-4094"));
#define NO_NET(words, said) refused("net = a " words "\n", "vm0.conf:1: net: " said)
#define NO_MTU(text) \
	NO_NET("mtu=" text, "mtu: expected one number from 1280 to 9000, found '" text "'")
#define NO_PVID(text) \
	NO_NET("pvid=" text, "pvid: expected one number from 1 to 4094, found '" text "'")
#define NO_TRUNK(list, part) NO_NET("trunk=" list, "trunk: expected " VLANS ", found '" part "'")
	NO_MTU("");
	NO_MTU("1279");
	NO_MTU("9001");
	NO_MTU("9000x");
	NO_MTU("65536000001500");
	NO_NET("mtu=1500 mtu=9000", "mtu: expected one number from 1280 to 9000, found '9000'");
	NO_PVID("0");
	NO_PVID("4095");
	NO_PVID("10,20");
	NO_NET("pvid=10 pvid=20", "pvid: expected one number from 1 to 4094, found '20'");
	NO_TRUNK("", "");
	NO_TRUNK("0", "0");
	NO_TRUNK("4095", "4095");
	NO_TRUNK("10,20-4095", "20-4095");
	NO_TRUNK("29-20", "29-20");
	NO_TRUNK("20-", "20-");
	NO_TRUNK("-20", "-20");
	NO_TRUNK("10,,20", "");
	NO_TRUNK("a", "a");
	NO_NET("trunk=10,", "trunk: expected another VLAN behind the comma, found '10,'");
	NO_NET("trunk=10 trunk=20", "trunk: expected one list of VLANs, found '20'");
	NO_NET("trunk=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
	       "trunk: expected at most 16 VLANs and ranges of them");
}

/* All of a segment have one MTU, and VLANs, or none. */
static void nets_beside_each_other(void **)
{
	static struct vm_config a, b;
	const struct vm_config *const file[] = { &a, &b };

	assert_int_equal(parse(REQUIRED "net = lan0 mtu=9000 pvid=10\nnet = lan1\n"), 0);
	a = config;
	a.file = "a.conf";
	strcpy(a.name, "a");
	assert_int_equal(parse(REQUIRED "net = lan1 mtu=1500\nnet = lan0 trunk=4 mtu=9000\n"), 0);
	b = config;
	strcpy(b.name, "b");
	assert_int_equal(vm_config_check_net(file, 1, &err), 0);
	b.net[1].mtu = 0;
	assert_int_equal(vm_config_check_net(file, 1, &err), -EINVAL);
	assert_string_equal(
		err.text, "vm0.conf:4: net = lan0: its MTU is 1500 here, 9000 by a.conf:3: all of "
			  "a segment have the same mtu=");
	b.net[1].mtu = 9000;
	b.net[1].nr_trunk = 0;
	assert_int_equal(vm_config_check_net(file, 1, &err), -EINVAL);
	assert_string_equal(err.text,
			    "vm0.conf:4: net = lan0: no VLANs here, VLANs by a.conf:3: all of a "
			    "segment have pvid= or trunk=, or none");
	b.net[1].pvid = 20;
	assert_int_equal(vm_config_check_net(file, 1, &err), 0);
	b.net[0].pvid = 20;
	assert_int_equal(vm_config_check_net(file, 1, &err), -EINVAL);
	assert_string_equal(
		err.text, "vm0.conf:3: net = lan1: VLANs here, none by a.conf:4: all of a segment "
			  "have pvid= or trunk=, or none");
	/* Two of one file, too. */
	assert_int_equal(parse(REQUIRED "net = lan0\nnet = lan0 mtu=2000\n"), 0);
	a = config;
	assert_int_equal(vm_config_check_net(file, 0, &err), -EINVAL);
	assert_string_equal(err.text,
			    "vm0.conf:4: net = lan0: its MTU is 2000 here, 1500 by vm0.conf:3: all "
			    "of a segment have the same mtu=");
}

static void disks(void **)
{
	assert_int_equal(
		parse(REQUIRED "disk = root.squashfs\ndisk = scratch:8G\nconsole = virtio\n"), 0);
	assert_int_equal(config.nr_disks, 2);
	assert_string_equal(config.disk[0].name, "root.squashfs");
	assert_int_equal(config.disk[0].scratch, 0);
	assert_string_equal(config.disk[1].name, "");
	assert_int_equal(config.disk[1].scratch, GIB(8));
	assert_true(config.virtio_console && vm_config_virtual(&config));
	assert_int_equal(parse(REQUIRED "console = uart\n"), 0);
	assert_false(vm_config_virtual(&config));
	refused("disk = a b\n",
		"vm0.conf:1: disk: expected one module name without blanks, found 'a b'");
	refused("disk = scratch:\n",
		"vm0.conf:1: disk: expected a size with K, M, G or T, like 512M or 12G, found ''");
	refused("disk = scratch:8\n",
		"vm0.conf:1: disk: expected a size with K, M, G or T, like 512M or 12G, found '8'");
	refused("disk = scratch:33M\n", "vm0.conf:1: disk: expected a multiple of 2M, found '33M'");
	refused("disk = scratch:1M\n", "vm0.conf:1: disk: expected 32M to 64T, found '1M'");
	refused("disk = a\ndisk = b\ndisk = c\ndisk = d\ndisk = e\n",
		"vm0.conf:5: disk: expected at most 4 disks");
	refused("console = hvc0\n", "vm0.conf:1: console: expected uart or virtio, found 'hvc0'");
}

#define META_SYNTAX \
	"vm0.conf:1: meta: expected KEY=VALUE, a key of letters, digits, '-', '_' and '.', or " \
	"io.systemd.credential:NAME=VALUE, found '%s'"

static void meta_refused(void)
{
	static const char *const bad[] = { "a",
					   "=a",
					   "a b=c",
					   "a:b=c",
					   "io.systemd.credentials:a=b",
					   "io.systemd.credential:=b",
					   "io.systemd.credential:a/b=c" };
	char text[200], message[400];

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "meta = %s\n", bad[i]);
		snprintf(message, sizeof(message), META_SYNTAX, bad[i]);
		refused(text, message);
	}
	refused("meta = a=\303\244\n",
		"vm0.conf:1: meta: expected a value of ASCII without tabs, found '?"
		"?'");
	refused("meta = a=b\tc\n",
		"vm0.conf:1: meta: expected a value of ASCII without tabs, found 'b?c'");
	refused("meta = local-hostname=a b\n",
		"vm0.conf:1: meta: expected at most 63 letters, digits, '-', '_' and '.' as "
		"instance-id, local-hostname or dsmode, found 'a b'");
	refused("meta = dsmode=\n",
		"vm0.conf:1: meta: expected at most 63 letters, digits, '-', '_' and '.' as "
		"instance-id, local-hostname or dsmode, found ''");
	refused("meta = instance-id=" LONG_64 "\n",
		"vm0.conf:1: meta: expected at most 63 letters, digits, '-', '_' and '.' as "
		"instance-id, local-hostname or dsmode, found "
		"'0123456789abcdef0123456789abcdef01234567'...");
	refused("meta = a=b\nmeta = b=b\nmeta = a=c\n", "vm0.conf:3: meta: a: given twice");
}

static void meta(void **)
{
	static char text[2 * VM_META_MAX];
	struct span key, value;
	size_t n = 0;

	assert_int_equal(parse(REQUIRED "meta =  public-keys = a b= \nmeta = x=\n"
					"meta = public-keys=c\nmeta = ab=1\nmeta = a=2\n"
					"meta = io.systemd.credential.binary:a.b_c=eA==\n"),
			 0);
	assert_string_equal(config.meta, "public-keys=a b=\nx=\npublic-keys=c\nab=1\na=2\n"
					 "io.systemd.credential.binary:a.b_c=eA==\n");
	assert_true(vm_config_virtual(&config));
	assert_true(vm_config_meta(&config, 5, &key, &value));
	assert_true(span_is(key, "io.systemd.credential.binary:a.b_c") && span_is(value, "eA=="));
	assert_true(vm_config_meta_oem(key));
	assert_true(vm_config_meta(&config, 1, &key, &value) && span_is(key, "x") && !value.n);
	assert_false(vm_config_meta_oem(key) || vm_config_meta(&config, 6, &key, &value));
	assert_true(span_is(vm_config_meta_name(&config, "a", "b"), "2"));
	assert_true(span_is(vm_config_meta_name(&config, "c", "b"), "b"));
	/* Several lines of one file. */
	assert_int_equal(parse(REQUIRED "meta = network-config=a\nmeta = network-config=b\n"
					"meta = user-data=c\nmeta = user-data=c\n"),
			 0);
	assert_string_equal(config.meta, "network-config=a\nnetwork-config=b\n"
					 "user-data=c\nuser-data=c\n");
	assert_int_equal(parse(REQUIRED), 0);
	assert_false(config.meta[0] || vm_config_meta(&config, 0, &key, &value));
	meta_refused();
	/* As much as fits, and a byte more. */
	for (unsigned i = 0; i < 4; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "meta = %c=%01021u\n",
				      'a' + (char)i, 0);
	snprintf(text + n, sizeof(text) - n, REQUIRED);
	assert_int_equal(parse(text), 0);
	assert_int_equal(strlen(config.meta), VM_META_MAX);
	snprintf(text + n - 1, sizeof(text) - n, "0\n" REQUIRED);
	refused(text, "vm0.conf:4: meta: expected at most 4096 bytes in all lines together");
	snprintf(text + n - 1, sizeof(text) - n, "\nmeta = e=\n" REQUIRED);
	refused(text, "vm0.conf:5: meta: expected at most 4096 bytes in all lines together");
}

static char told[1000];

static void tell(const char *text)
{
	size_t n = strlen(told);

	snprintf(told + n, sizeof(told) - n, "%s\n", text);
}

/*
 * All errors of a file: those before the last are told, and one that follows from another is none.
 */
static void all_errors(void **)
{
	static const char text[] =
		"kernel =\nmemory = lots\nmemory = 1G\ncolour\nleaf = 3\npci = z\non_end = q\n"
		"on_crash = stop\n";
	static const char wrong_dma[] = REQUIRED "dma = x\npci = 01:00.0\nmemory_map = offset\n";
	static const char wrong_pci[] = REQUIRED "dma = x\npci = y\npci_irq = z\n";
	char many[1000] = "";

	assert_int_equal(vm_config_parse("f", text, strlen(text), &config, &err, tell), -EINVAL);
	assert_string_equal(
		told,
		"f:1: kernel: expected a value after '='\n"
		"f:2: memory: expected a size with K, M, G or T, like 512M or 12G, found 'lots'\n"
		"f:3: memory: given twice, first in line 2\n"
		"f:4: expected 'key = value' or a '#' comment, found 'colour'\n"
		"f:5: leaf: expected 4K, 2M or 1G, found '3'\n"
		"f:6: pci: expected an address like 01:00.0, class:0107, or vendor and device like 8086:10d3, "
		"found 'z'\n"
		"f:7: on_end: expected stop, restart, poweroff_node or reboot_node, found 'q'\n");
	assert_string_equal(err.text, "f:8: on_end: not beside on_poweroff, on_reboot or on_crash");
	told[0] = 0;
	/* Nothing else is wrong where these are. */
	assert_int_equal(vm_config_parse("f", wrong_pci, strlen(wrong_pci), &config, &err, tell),
			 -EINVAL);
	assert_non_null(strstr(told, "f:3: dma: "));
	assert_non_null(strstr(told, "f:4: pci: "));
	assert_null(strstr(told, "f:5: "));
	assert_non_null(strstr(err.text, "f:5: pci_irq: expected"));
	/* What goes with a word that is wrong is not known. */
	told[0] = 0;
	assert_int_equal(vm_config_parse("f", wrong_dma, strlen(wrong_dma), &config, &err, tell),
			 -EINVAL);
	assert_string_equal(told, "");
	assert_string_equal(err.text,
			    "f:3: dma: expected identity, window, iommu or auto, found 'x'");
	/* What is no text, or has no end of errors, is not told line by line. */
	told[0] = 0;
	assert_int_equal(vm_config_parse("f", "a\n\001\nb\n", 6, &config, &err, tell), -EINVAL);
	assert_string_equal(told, "f:1: expected 'key = value' or a '#' comment, found 'a'\n");
	assert_string_equal(err.text, "f:2: expected text, found control character 0x01");
	for (unsigned i = 0; i < 30; i++)
		strcat(many, "a\n");
	told[0] = 0;
	assert_int_equal(vm_config_parse("f", many, strlen(many), &config, &err, tell), -EINVAL);
	assert_string_equal(err.text, "f:20: expected 'key = value' or a '#' comment, found 'a'");
	/* Without anybody to tell, the first. */
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(err.text, "vm0.conf:1: kernel: expected a value after '='");
}

static void guest_modules(void **)
{
	assert_int_equal(
		parse(REQUIRED "module = a\nmodule =  b  -x y=1  \nmodule = c\nmodule = d\n"), 0);
	assert_int_equal(config.nr_modules, 4);
	assert_string_equal(config.module[0].name, "a");
	assert_string_equal(config.module[0].args, "");
	assert_string_equal(config.module[1].name, "b");
	assert_string_equal(config.module[1].args, "-x y=1");
	assert_string_equal(names(),
			    "kernel vmlinuz 1, module a 3, module b 4, module c 5, module d 6, ");
	refused(REQUIRED "module =\n", "vm0.conf:3: module: expected a value after '='");
	refused(REQUIRED "module = a\nmodule = a\nmodule = a\nmodule = a\nmodule = a\n",
		"vm0.conf:7: module: expected at most 4 modules");
	assert_int_equal(parse(REQUIRED "module = " LONG_64 "\n"), -EINVAL);
	assert_int_equal(parse(REQUIRED "module = a " LONG_64 LONG_64 "\n"), -EINVAL);
	assert_string_equal(
		err.text, "vm0.conf:3: module: expected arguments of at most 127 bytes, found 128");
}

static void dmi(void **)
{
	assert_int_equal(parse(REQUIRED), 0);
	assert_false(config.dmi_node);
	assert_int_equal(parse(REQUIRED "dmi = node\n"), 0);
	assert_true(config.dmi_node);
	assert_int_equal(parse(REQUIRED "dmi = none\n"), 0);
	assert_false(config.dmi_node);
	refused(REQUIRED "dmi = yes\n", "vm0.conf:3: dmi: expected none or node, found 'yes'");
}

static void debug_exit_and_after(void **)
{
	assert_int_equal(parse(REQUIRED "debug_exit = yes\nafter = vm-1\n"), 0);
	assert_true(config.debug_exit);
	assert_string_equal(config.after, "vm-1");
	assert_int_equal(config.line_after, 4);
	assert_int_equal(parse(REQUIRED "debug_exit = no\n"), 0);
	assert_false(config.debug_exit);
	refused(REQUIRED "debug_exit = 1\n",
		"vm0.conf:3: debug_exit: expected no or yes, found '1'");
	refused(REQUIRED "after = a b\n",
		"vm0.conf:3: after: expected letters, digits, '-' and '_', found 'a b'");
}

#define IDENTITY REQUIRED "memory_map = identity\n"

static void pci_functions(void **)
{
	assert_int_equal(parse(IDENTITY "pci = 01:1f.7, class:0107 ,8086:10D3, 0001:ff:00.0\n"), 0);
	assert_int_equal(config.nr_pci, 4);
	assert_int_equal(config.line_pci, 4);
	assert_int_equal(config.pci[0].by, VM_PCI_ADDRESS);
	assert_int_equal(config.pci[0].address.bus, 1);
	assert_int_equal(config.pci[0].address.devfn, 0xff);
	assert_int_equal(config.pci[1].by, VM_PCI_CLASS);
	assert_int_equal(config.pci[1].class_code, 0x0107);
	assert_int_equal(config.pci[2].by, VM_PCI_ID);
	assert_int_equal(config.pci[2].vendor, 0x8086);
	assert_int_equal(config.pci[2].device, 0x10d3);
	assert_int_equal(config.pci[3].address.segment, 1);
	assert_int_equal(config.pci[3].address.bus, 0xff);
	assert_int_equal(config.pci[3].address.devfn, 0);
#define UNKNOWN(lines, found) \
	refused("pci = " lines "\n", \
		"vm0.conf:1: pci: expected an address like 01:00.0, class:0107, or vendor and device like " \
		"8086:10d3, found '" found "'")
	UNKNOWN("01:20.0", "01:20.0");
	UNKNOWN("01:00.8", "01:00.8");
	UNKNOWN("01:00", "01:00");
	UNKNOWN("101:00.0", "101:00.0");
	UNKNOWN("01:00.0x", "01:00.0x");
	UNKNOWN("10000:01:00.0", "10000:01:00.0");
	UNKNOWN("::.", "::.");
	UNKNOWN("class:01", "class:01");
	UNKNOWN("class:01070", "class:01070");
	UNKNOWN("8086:10dg", "8086:10dg");
	UNKNOWN("01:00.0,,02:00.0", "");
	refused("pci = 01:00.0,\n",
		"vm0.conf:1: pci: expected another function behind the comma, found '01:00.0,'");
}

/* As many as a VM can have functions. */
static void pci_parts(void **)
{
	char text[1024] = IDENTITY "pci = 1:0.0";

	for (unsigned i = 1; i < 64; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ",1:%x.%u", i / 8,
			 i % 8);
	assert_int_equal(parse(text), 0);
	assert_int_equal(config.nr_pci, 64);
	assert_int_equal(config.pci[63].address.devfn, 63);
	strcat(text, ",2:0.0");
	refused(text + strlen(IDENTITY), "vm0.conf:1: pci: expected at most 64 parts");
}

static void pci_irqs(void **)
{
	assert_int_equal(
		parse(IDENTITY "pci = 01:00.0\npci_irq = 01:1f.7 11, 0001:00:02.0   65535\n"), 0);
	assert_int_equal(config.pci_irq.count, 2);
	assert_int_equal(config.pci_irq.of[0].function.bus, 1);
	assert_int_equal(config.pci_irq.of[0].function.devfn, 0xff);
	assert_int_equal(config.pci_irq.of[0].value, 11);
	assert_int_equal(config.pci_irq.of[1].function.segment, 1);
	assert_int_equal(config.pci_irq.of[1].function.devfn, 0x10);
	assert_int_equal(config.pci_irq.of[1].value, 65535);
#define NO_ROUTE(words) \
	refused("pci_irq = " words "\n", \
		"vm0.conf:1: pci_irq: expected a function and its global system interrupt, like " \
		"00:03.0 11, found '" words "'")
	NO_ROUTE("01:00.0");
	NO_ROUTE("01:00.0 65536");
	NO_ROUTE("01:00.0 11x");
	NO_ROUTE("11 01:00.0");
	NO_ROUTE("class:0107 11");
	NO_ROUTE("01:00.0 -1");
	refused("pci_irq = 01:00.0 11, 0000:01:00.0 12\n",
		"vm0.conf:1: pci_irq: expected each function once, found '0000:01:00.0'");
	refused("kernel = k\nmemory = 1G\npci_irq = 01:00.0 11\n",
		"vm0.conf:3: pci_irq, pci_node: without pci no function has them");
	refused(REQUIRED "\npci_node = 00:03.0 1\n",
		"vm0.conf:4: pci_irq, pci_node: without pci no function has them");
}

static void pci_nodes(void **)
{
	assert_int_equal(
		parse(IDENTITY
		      "pci = 01:00.0\npci_node = 80:00.0 1, 80:01.0 1, 0001:80:00.0 0, 81:1f.7 63\n"),
		0);
	assert_int_equal(config.pci_node.count, 4);
	assert_int_equal(config.pci_node.of[0].function.bus, 0x80);
	assert_int_equal(config.pci_node.of[0].value, 1);
	assert_int_equal(config.pci_node.of[2].function.segment, 1);
	assert_int_equal(config.pci_node.of[2].value, 0);
	assert_int_equal(config.pci_node.of[3].function.devfn, 0xff);
	assert_int_equal(config.pci_node.of[3].value, 63);
	assert_int_equal(config.pci_irq.count, 0);
#define NO_NODE(words) \
	refused("pci_node = " words "\n", \
		"vm0.conf:1: pci_node: expected a function and its NUMA node, like 80:00.0 1, " \
		"found '" words "'")
	NO_NODE("80:00.0");
	NO_NODE("80:00.0 64");
	NO_NODE("80 1");
	NO_NODE("80:00.0 node1");
	NO_NODE("80:00.0 -1");
	refused("pci_node = 80:00.0 1, 80:00.0 1\n",
		"vm0.conf:1: pci_node: expected each function once, found '80:00.0'");
	refused("pci_node = 80:00.0 1, 80:02.0 0\n",
		"vm0.conf:1: pci_node: expected one node for all functions of a bus, found '80:02.0 0'");
	refused("pci_node = 80:00.0 1,\n",
		"vm0.conf:1: pci_node: expected another function behind the comma, found '80:00.0 1,'");
}

static void cache_and_bandwidth(void **)
{
	static const char *const wrong[] = { "8",    "8/",    "8/8",   "9/8",  "0/8",
					     "8/33", "8 /20", "8/20x", "-1/8", "a/8" };
	static const char *const wrong_part[] = { "50", "0%",     "100%", "50%%", "x%", "5 %",
						  "0G", "10000G", "5GB",  "G",    "5g" };
	char text[100], line[200];

	assert_int_equal(parse(REQUIRED "cache = 8/20\nbandwidth = 50%\n"), 0);
	assert_true(config.cache_ways == 8 && config.cache_of == 20 && config.bandwidth == 50 &&
		    config.line_rdt == 4);
	assert_int_equal(parse(REQUIRED "cache = 31/32\nbandwidth = 1%\n"), 0);
	assert_true(config.cache_ways == 31 && config.cache_of == 32 && config.bandwidth == 1);
	assert_int_equal(parse(REQUIRED), 0);
	assert_true(!config.cache_ways && !config.cache_of && !config.bandwidth &&
		    !config.gigabytes);
	assert_int_equal(parse(REQUIRED "bandwidth = 9999G\n"), 0);
	assert_true(!config.bandwidth && config.gigabytes == 9999 && config.line_rdt == 3);
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(text, sizeof(text), "cache = %s\n", wrong[i]);
		snprintf(
			line, sizeof(line),
			"vm0.conf:1: cache: expected a part of the cache's ways, but not all, like 8/20, found '%s'",
			wrong[i]);
		refused(text, line);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(wrong_part); i++) {
		snprintf(text, sizeof(text), "bandwidth = %s\n", wrong_part[i]);
		snprintf(
			line, sizeof(line),
			"vm0.conf:1: bandwidth: expected a part of the memory bandwidth from 1%% to 99%%, "
			"or GB/s like 20G, found '%s'",
			wrong_part[i]);
		refused(text, line);
	}
}

static void dma(void **)
{
	static const struct {
		const char *keys;
		enum vm_dma dma;
		enum vm_memory_map map;
	} good[] = {
		{ "", VM_DMA_NONE, VM_MAP_AUTO },
		{ "memory_map = identity\n", VM_DMA_NONE, VM_MAP_IDENTITY },
		{ "memory_map = identity\npci = 8086:10d3\n", VM_DMA_IDENTITY, VM_MAP_IDENTITY },
		{ "dma = identity\n", VM_DMA_IDENTITY, VM_MAP_IDENTITY },
		{ "dma = identity\nmemory_map = auto\npci = 8086:10d3\n", VM_DMA_IDENTITY,
		  VM_MAP_IDENTITY },
		{ "dma = window\n", VM_DMA_WINDOW, VM_MAP_OFFSET },
		{ "pci = 8086:10d3\nmemory_map = offset\ndma = window\n", VM_DMA_WINDOW,
		  VM_MAP_OFFSET },
		{ "pci = 8086:10d3\ndma = iommu\n", VM_DMA_IOMMU, VM_MAP_OFFSET },
		{ "dma = auto\n", VM_DMA_NONE, VM_MAP_AUTO },
		{ "pci = 8086:10d3\n", VM_DMA_IOMMU, VM_MAP_OFFSET },
		{ "memory_map = offset\ndma = auto\npci = 8086:10d3\n", VM_DMA_IOMMU,
		  VM_MAP_OFFSET },
		{ "dma = auto\npci = 8086:10d3\nmemory_map = identity\n", VM_DMA_IDENTITY,
		  VM_MAP_IDENTITY },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		char text[200];

		snprintf(text, sizeof(text), REQUIRED "%s", good[i].keys);
		assert_int_equal(parse(text), 0);
		assert_int_equal(config.dma, good[i].dma);
		assert_int_equal(config.memory_map, good[i].map);
	}
	refused("dma = vfio\n",
		"vm0.conf:1: dma: expected identity, window, iommu or auto, found 'vfio'");
	refused(REQUIRED "dma = iommu\nmemory_map = identity\n",
		"vm0.conf:3: dma = iommu: needs memory_map = offset, or none");
	refused(REQUIRED "memory_map = offset\ndma = identity\n",
		"vm0.conf:4: dma = identity: needs memory_map = identity, or none");
	refused(REQUIRED "dma = window\nmemory_map = identity\n",
		"vm0.conf:3: dma = window: needs memory_map = offset, or none");
}

static void vfs(void **)
{
	static const char *const wrong[] = { "vf:",           "vf:00:08.0", "vf:00:08.0:",
					     "vf:00:08.0:64", "vf:00:08:1", "vf:00:08.0:1x" };
	static struct vm_config one, other;
	const struct vm_config *const file[] = { &one, NULL, &other };
	struct config_error e;

	assert_int_equal(parse(REQUIRED "pci = 00:08.0\nvfs = 64\n"), 0);
	assert_int_equal(config.vfs, 64);
	assert_int_equal(parse(REQUIRED "pci = 00:08.0, vf:0000:3b:00.1:12\n"), 0);
	assert_int_equal(config.nr_pci, 2);
	assert_int_equal(config.pci[1].by, VM_PCI_VF);
	assert_int_equal(config.pci[1].address.bus, 0x3b);
	assert_int_equal(config.pci[1].address.devfn, 1);
	assert_int_equal(config.pci[1].vf, 12);
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		char text[200], line[300];

		snprintf(text, sizeof(text), REQUIRED "pci = %s\n", wrong[i]);
		snprintf(
			line, sizeof(line),
			"vm0.conf:3: pci: expected an address like 01:00.0, class:0107, or vendor and device "
			"like 8086:10d3, found '%s'",
			wrong[i]);
		refused(text, line);
	}
	refused(REQUIRED "pci = 00:08.0\nvfs = 65\n",
		"vm0.conf:4: vfs: expected how many virtual functions other VMs may have, 1 to 64, found '65'");
	refused(REQUIRED "vfs = 2\n", "vm0.conf:3: vfs: without pci no function has them");
	refused(REQUIRED "vfs = 2\npci = 00:08.0, vf:00:09.0:1\n",
		"vm0.conf:3: vfs: not in a VM that has a virtual function itself (pci = vf:)");
	/* Beside others: somebody has the function, by its address, and with so many. */
	assert_int_equal(parse(REQUIRED "pci = vf:00:08.0:1\n"), 0);
	one = config;
	assert_int_equal(parse(REQUIRED "pci = 8086:10c9, 00:08.0\nvfs = 2\n"), 0);
	other = config;
	assert_int_equal(vm_config_check_vfs(file, 3, 0, &e), 0);
	assert_int_equal(vm_config_check_vfs(file, 3, 2, &e), 0);
	other.vfs = 1;
	assert_int_equal(vm_config_check_vfs(file, 3, 0, &e), -EINVAL);
	assert_string_equal(
		e.text,
		"vm0.conf:3: pci = vf:00:08.0:1: no VM file has 00:08.0 with vfs = 2 or more");
	other.vfs = 2;
	assert_int_equal(vm_config_check_vfs(file, 2, 0, &e), -EINVAL);
}

static void on_fault(void **)
{
	assert_int_equal(parse(REQUIRED "pci = 8086:10d3\n"), 0);
	assert_int_equal(config.on_fault, ON_FAULT_REPORT);
	assert_int_equal(parse(REQUIRED "on_fault = stop\npci = 8086:10d3\n"), 0);
	assert_int_equal(config.on_fault, ON_FAULT_STOP);
	assert_int_equal(parse(REQUIRED "pci = 8086:10d3\non_fault = restart\n"), 0);
	assert_int_equal(config.on_fault, ON_FAULT_RESTART);
	refused("on_fault = end\n",
		"vm0.conf:1: on_fault: expected report, stop or restart, found 'end'");
	refused(REQUIRED "on_fault = report\n",
		"vm0.conf:3: on_fault: without pci nothing of it is blocked");
}

static void on_mce(void **)
{
	assert_int_equal(parse(REQUIRED), 0);
	assert_int_equal(config.line_mce, 0);
	assert_int_equal(parse(REQUIRED "on_mce = stop\n"), 0);
	assert_true(config.on_mce == ON_MCE_STOP && config.line_mce == 3);
	assert_int_equal(parse(REQUIRED "on_mce = restart\n"), 0);
	assert_int_equal(config.on_mce, ON_MCE_RESTART);
	assert_int_equal(parse("on_mce = inject\n" REQUIRED), 0);
	assert_true(config.on_mce == ON_MCE_INJECT && config.line_mce == 1);
	refused("on_mce = report\n",
		"vm0.conf:1: on_mce: expected stop, restart or inject, found 'report'");
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guest_modules), cmocka_unit_test(dmi), cmocka_unit_test(vfs),
		cmocka_unit_test(on_fault), cmocka_unit_test(on_mce),
		cmocka_unit_test(debug_exit_and_after),
		cmocka_unit_test(whole_file),   cmocka_unit_test(defaults),
		cmocka_unit_test(cpu_lists), cmocka_unit_test(keys),
		cmocka_unit_test(not_direct),
		cmocka_unit_test(what_follows), cmocka_unit_test(console_log),
		cmocka_unit_test(what_follows_wrong),
		cmocka_unit_test(all_errors),
		cmocka_unit_test(memory_sizes), cmocka_unit_test(other_values),
		cmocka_unit_test(lengths),
		cmocka_unit_test(not_text),     cmocka_unit_test(modules), cmocka_unit_test(disks),
		cmocka_unit_test(meta),
		cmocka_unit_test(nets),
		cmocka_unit_test(vlans),
		cmocka_unit_test(nets_beside_each_other),
		cmocka_unit_test(memory_by_node),
		cmocka_unit_test(shape_words),  cmocka_unit_test(pci_functions),
		cmocka_unit_test(pci_parts),
		cmocka_unit_test(pci_irqs),
		cmocka_unit_test(pci_nodes),    cmocka_unit_test(dma),
		cmocka_unit_test(cache_and_bandwidth),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
