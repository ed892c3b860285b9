/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/node/direct.c vmm/load/kernel_facts.c vmm/load/linux_built.c vmm/config/config_direct.c vmm/config/config_linux.c vmm/load/multiboot.c vmm/load/elf.c lib/span.c tests/unit/fake_host.c */
/*
 * interrupts = direct, auto, emulated: what is asked of the node, and what is said. The reasons
 * themselves are test_config.c's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_host.h"
#include "tests/unit/fake_stage.h"
#include "vmm/config/config_parse.h"
#include "vmm/load/multiboot.h"
#include "vmm/slots/slot.h"
#include "vmm/vm.h"
#include "vmm/vm/debugger.h"

#define MULTIBOOT_MAGIC 0x1badb002u

const struct debugger *debugger;
static const struct debugger gdb;
struct slot monitor_slots[MONITOR_MAX_VMS];

static struct vm_config config;
static struct vm vm;
static u32 multiboot[] = { MULTIBOOT_MAGIC, 0, -MULTIBOOT_MAGIC };
static struct host_module kernel;
static bool x2apic;

bool host_iommu_wide(void)
{
	return fake_host.wide;
}

/* The parser's, which nobody calls here. */
int config_fail(struct parser *, const char *, ...)
{
	fail();
	return -1;
}

static void cpuid(u32 leaf, u32, struct cpuid_regs *out)
{
	out->ecx = x2apic ? BIT(21) : ~(u32)BIT(21);
	if (leaf != 1)
		out->ecx = 0;
}

/* A node that can, a VM file that asks for a disk, and one that forbids nothing. */
static int setup(void **)
{
	fake_host_reset();
	fake_host.cpuid = cpuid;
	fake_host.nr_pci = 2;
	fake_host.pci[1].id = (struct pci_id){ 0x8086, 0x10d3, 0x020000 };
	x2apic = true;
	config = (struct vm_config){
		.file = "f",
		.line_direct = 7,
		.no_watchdog = true,
		.nr_pci = 1,
		.pci = { { .by = VM_PCI_ID, .vendor = 0x8086, .device = 0x10d3 } }
	};
	vm = (struct vm){ .config = &config, .name = "vm0" };
	kernel =
		(struct host_module){ .name = "k", .data = "no kernel of multiboot's", .size = 24 };
	return 0;
}

const struct host_module *vm_find_module(const char *name)
{
	assert_ptr_equal(name, config.kernel);
	return &kernel;
}

static int decide(void)
{
	vm.kernel_facts = 0;
	assert_int_equal(fake_stage(STAGE_KERNEL)->create(&vm), 0);
	return fake_stage(STAGE_DIRECT)->create(&vm);
}

/* Of auto: direct, or emulated and why. */
static void automatic(const char *why)
{
	fake_host.log[0] = 0;
	config.interrupts = VM_INTERRUPTS_AUTO;
	vm.direct = false;
	vm.not_direct = NULL;
	assert_int_equal(decide(), 0);
	assert_int_equal(vm.direct, !why);
	assert_true(!vm.not_direct == !why);
	if (why)
		assert_string_equal(vm.not_direct, why);
	assert_string_equal(fake_host.log, "");
}

static void refused(const char *why)
{
	char text[200];

	snprintf(text, sizeof(text), "vm0: f:7: interrupts = direct: %s: use emulated\n", why);
	fake_host.log[0] = 0;
	config.interrupts = VM_INTERRUPTS_DIRECT;
	vm.direct = false;
	assert_int_equal(decide(), -EINVAL);
	assert_false(vm.direct);
	assert_string_equal(fake_host.log, text);
}

static void test_words(void **)
{
	automatic(NULL);
	config.interrupts = VM_INTERRUPTS_EMULATED;
	vm.direct = false;
	assert_int_equal(decide(), 0);
	assert_true(!vm.direct && !vm.not_direct);
	config.interrupts = VM_INTERRUPTS_DIRECT;
	assert_int_equal(decide(), 0);
	assert_true(vm.direct && !vm.not_direct && !vm.mwait);
	fake_host.mwait = true;
	assert_int_equal(decide(), 0);
	assert_true(vm_mwait(&vm));
	config.clock = VM_CLOCK_FREEZE;
	automatic("clock = freeze cannot stop the CPUs' own timers");
	assert_false(vm_mwait(&vm));
}

static void test_watchdog(void **)
{
	config.no_watchdog = false;
	automatic(NULL);
	fake_host.no_alarm = true;
	automatic("its watchdog needs an HPET that interrupts (watchdog = no)");
	config.no_watchdog = true;
	automatic(NULL);
}

static void test_node(void **)
{
	x2apic = false;
	automatic("the CPUs have no x2APIC mode");
	refused("the CPUs have no x2APIC mode");
	x2apic = true;
	fake_host.x2apic_off = true;
	automatic("x2APIC mode is off, as the firmware wishes it, or by x2apic=off");
	refused("x2APIC mode is off, as the firmware wishes it, or by x2apic=off");
	fake_host.x2apic_off = false;
	automatic(NULL);
	vm.wide_ids = true;
	automatic("devices do not reach all of its CPUs, by their APIC IDs");
	refused("devices do not reach all of its CPUs, by their APIC IDs");
	fake_host.wide = true;
	automatic(NULL);
	fake_host.wide = false;
	config.nr_pci = 0;
	automatic(NULL);
}

static void test_kernel(void **)
{
	kernel.data = multiboot;
	kernel.size = sizeof(multiboot);
	automatic("a multiboot kernel gets its local APIC in xAPIC mode");
	config.interrupts = VM_INTERRUPTS_DIRECT;
	assert_int_equal(decide(), 0);
	assert_true(vm.direct);
}

/* A small image, whose last segment has these words. */
static void linux_with(const char *words, size_t n)
{
	static u8 image[512];

	memset(image, 0, sizeof(image));
	memcpy(image, "\177ELF\2\1\1", 7);
	image[16] = 2; /* e_type */
	image[18] = 62; /* e_machine */
	image[24 + 2] = 0x10; /* e_entry */
	image[32] = 64; /* e_phoff */
	image[54] = 56;
	image[56] = image[64] = 1;
	image[64 + 9] = 1; /* p_offset: 0x100, and as many bytes */
	image[64 + 18] = image[64 + 26] = 0x10;
	image[64 + 33] = image[64 + 41] = 1;
	memcpy(image + 256, words, n);
	kernel.data = image;
	kernel.size = sizeof(image);
}
#define LINUX_WITH(words) linux_with(words, sizeof(words))

/* What a Linux was not built with, where its image tells; and its words. */
static void test_linux(void **)
{
	LINUX_WITH("\0nox2apic\0no-kvmclock\0loglevel");
	automatic(NULL);
	LINUX_WITH("\0nox2apic\0loglevel");
	automatic("the kernel is built without KVM_GUEST, and leaves x2APIC mode");
	refused("the kernel is built without KVM_GUEST, and leaves x2APIC mode");
	LINUX_WITH("\0no-kvmclock\0loglevel");
	automatic("the kernel is built without X86_X2APIC");
	refused("the kernel is built without X86_X2APIC");
	LINUX_WITH("\0no-kvmclock");
	automatic(NULL);
	strcpy(config.cmdline, "no-kvmclock");
	automatic(NULL);
	/* What it has shown. */
	monitor_slots[0].without = LINUX_NO_CLOCK;
	automatic(NULL);
	monitor_slots[0].without = LINUX_NO_X2APIC;
	automatic("the kernel took no x2APIC mode when it had it");
	refused("the kernel took no x2APIC mode when it had it");
	monitor_slots[0].without = 0;
	strcpy(config.cmdline, "nopv");
	automatic("cmdline has nopv");
	refused("cmdline has nopv");
}

static void test_gdb(void **)
{
	debugger = &gdb;
	automatic("gdb cannot step its CPUs without interrupts");
	debugger = NULL;
	automatic(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_words, setup),
		cmocka_unit_test_setup(test_node, setup),
		cmocka_unit_test_setup(test_kernel, setup),
		cmocka_unit_test_setup(test_linux, setup),
		cmocka_unit_test_setup(test_gdb, setup),
		cmocka_unit_test_setup(test_watchdog, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
