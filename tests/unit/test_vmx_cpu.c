/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/fake_host.c */
/*
 * VT-x as a CPU offers it: the capability MSRs (SDM vol. 3, appendix A) and
 * CPUID of a full machine, then of lesser ones; the firmware's lock. The file
 * is included, over a CPU in memory.
 *
 * What is expected goes by the manual's numbers. What the CPU itself does only whole machines tell.
 */
#include "tests/unit/fake_vmcs.h"
#include "tests/unit/fake_host.h"

#include "vmm/vmx/cpu.c"

static struct cpuid_regs leaf1, leaf7, leafd1, ext1;
static struct hvm_caps caps;
static char lacking[512];     /* names of what is required and not there */
static unsigned off;          /* what is optional and not there */

static struct cpuid_regs cpuid_of(u32 leaf, u32 subleaf)
{
	switch (leaf) {
	case 0: return (struct cpuid_regs){ .eax = 0x16 };
	case 1: return leaf1;
	case 7: return leaf7;
	case 0xd: return subleaf == 1 ? leafd1 : (struct cpuid_regs){ 0 };
	case 0x80000001: return ext1;
	case 0x80000008: return (struct cpuid_regs){ .eax = 0x302e };
	default: return (struct cpuid_regs){ 0 };
	}
}

static void note(const struct hvm_feature *f)
{
	assert_string_equal(f->backend, "VT-x");
	if (!f->there && f->required)
		snprintf(lacking + strlen(lacking), sizeof(lacking) - strlen(lacking), "%s;",
			 f->name);
	off += !f->there && !f->required;
}

static int probe(void)
{
	lacking[0] = 0;
	off = 0;
	return vmx_probe(&caps, note);
}

/* A CPU with everything, which the firmware has enabled and locked. */
static int setup(void **)
{
	fake_host_reset();
	fake_vmcs_reset();
	fake_cpu.cpuid = cpuid_of;
	leaf1 = (struct cpuid_regs){ .ecx = 1 << 5 | 1 << 17 | 1 << 26 };
	leaf7 = (struct cpuid_regs){ .ebx = 1 << 10, .ecx = 1 << 5 };
	leafd1 = (struct cpuid_regs){ .eax = 1 << 3 };
	ext1 = (struct cpuid_regs){ .edx = 1 << 27 };
	*fake_msr(0x3a) = 5;
	*fake_msr(0x480) = 1ull << 55 | 0x12;
	for (u32 msr = 0x48b; msr <= 0x490; msr++)
		*fake_msr(msr) = 0xffffffffull << 32;
	*fake_msr(0x48c) =
		1ull << 41 | 1ull << 32 | 1 << 25 | 1 << 20 | 1 << 17 | 1 << 16 | 1 << 14 | 1 << 6;
	*fake_msr(0x486) = 0x80000021;
	*fake_msr(0x488) = 0x2000;
	*fake_msr(0x489) = 0x3767ff;
	return 0;
}

static int teardown(void **)
{
	if (vmxon_page) {
		host_pages_free(vmxon_page[0], vmxon_page[0] != NULL);
		host_pages_free(vmxon_page, 1);
		vmxon_page = NULL;
	}
	return fake_host.pages_in_use != 0;
}

static void test_full(void **)
{
	assert_int_equal(probe(), 0);
	assert_string_equal(lacking, "");
	assert_int_equal(off, 0);
	assert_true(caps.stage2_1g && caps.insn_len && caps.pcid);
	assert_true(caps.rdtscp && caps.invpcid && caps.xsaves && caps.waitpkg);
	assert_int_equal(caps.phys_bits, 0x2e);
	assert_int_equal(caps.cr4_allowed, 0x3747ff); /* all but VMXE */
	/* Tables 25-5 to 25-7, 25-13, 25-15. */
	assert_int_equal(vmx_controls.pin, 1 << 0 | 1 << 3 | 1 << 5);
	assert_int_equal(vmx_controls.proc, 1u << 3 | 1u << 7 | 1u << 10 | 1u << 11 | 1u << 19 |
						    1u << 20 | 1u << 25 | 1u << 28 | 1u << 29 |
						    1u << 31);
	assert_int_equal(vmx_controls.proc2, 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 12 |
						     1 << 20 | 1 << 26 | 1 << 30);
	assert_int_equal(vmx_controls.exit,
			 1 << 2 | 1 << 9 | 1 << 18 | 1 << 19 | 1 << 20 | 1 << 21);
	assert_int_equal(vmx_controls.entry, 1 << 2 | 1 << 14 | 1 << 15);
	assert_true(vmx_controls.invept_single);
	assert_int_equal(vmx_controls.revision, 0x12);
	assert_int_equal(vmx_controls.cr0_fixed0, 0x80000021);
}

/*
 * An instruction that CPUID does not show, or that has no control, the guest does not get; the
 * others it does.
 */
static void test_optional_instructions(void **)
{
	static const struct {
		u32 *reg;
		u32 cpuid;
		u32 control;
		bool *cap;
	} optional[] = {
		{ &ext1.edx, 1 << 27, 1 << 3, &caps.rdtscp },
		{ &leaf7.ebx, 1 << 10, 1 << 12, &caps.invpcid },
		{ &leafd1.eax, 1 << 3, 1 << 20, &caps.xsaves },
		{ &leaf7.ecx, 1 << 5, 1 << 26, &caps.waitpkg },
	};
	u32 all;

	assert_int_equal(probe(), 0);
	all = vmx_controls.proc2;
	for (unsigned i = 0; i < ARRAY_SIZE(optional); i++) {
		*optional[i].reg &= ~optional[i].cpuid;
		assert_int_equal(probe(), 0);
		assert_false(*optional[i].cap);
		assert_int_equal(caps.rdtscp + caps.invpcid + caps.xsaves + caps.waitpkg, 3);
		assert_int_equal(vmx_controls.proc2, all & ~optional[i].control);
		*optional[i].reg |= optional[i].cpuid;
		*fake_msr(0x48b) &= ~((u64)optional[i].control << 32);
		assert_int_equal(probe(), 0);
		assert_false(*optional[i].cap);
		assert_int_equal(off, 1);
		assert_int_equal(vmx_controls.proc2, all & ~optional[i].control);
		*fake_msr(0x48b) |= (u64)optional[i].control << 32;
	}
}

/* Bus locks exit where they can, and what cannot runs all the same. */
static void test_no_bus_locks(void **)
{
	*fake_msr(0x48b) &= ~(1ull << 62);
	assert_int_equal(probe(), 0);
	assert_int_equal(off, 1);
	assert_int_equal(vmx_controls.proc2 & 1u << 30, 0);
}

/* A CPU without INVVPID of one context gets no VPID, one without 1 GiB pages no such leaves. */
static void test_optional_translation(void **)
{
	*fake_msr(0x48c) &= ~(1ull << 41);
	assert_int_equal(probe(), 0);
	assert_int_equal(vmx_controls.proc2 & 1 << 5, 0);
	*fake_msr(0x48c) &= ~(1ull << 17 | 1ull << 25);
	assert_int_equal(probe(), 0);
	assert_int_equal(off, 3);
	assert_false(caps.stage2_1g || vmx_controls.invept_single);
	*fake_msr(0x48c) &= ~(1ull << 16);
	assert_int_equal(probe(), -EPERM);
	assert_string_equal(lacking, "2 MiB EPT pages;");
}

/*
 * What may not be off, may not be on; what the CPU insists on is on. Without the TRUE MSRs the old
 * ones count.
 */
static void test_negotiation(void **)
{
	*fake_msr(0x48e) |= 0x0401e172;
	assert_int_equal(probe(), -EPERM);
	assert_string_equal(lacking, "CR3-load exiting;CR3-store exiting;");
	*fake_msr(0x48e) = 0xffffffffull << 32 | 0x04006172;
	assert_int_equal(probe(), 0);
	assert_int_equal(vmx_controls.proc & 0x04006172, 0x04006172);
	*fake_msr(0x48b) &= ~(1ull << 39);
	assert_int_equal(probe(), -EPERM);
	assert_string_equal(lacking, "unrestricted guest;");
	*fake_msr(0x48b) |= 1ull << 39;
	*fake_msr(0x480) = 0x12;
	for (u32 msr = 0x481; msr <= 0x484; msr++)
		*fake_msr(msr) = 0xffffffffull << 32;
	*fake_msr(0x481) |= 0x16;
	assert_int_equal(probe(), 0);
	assert_int_equal(vmx_controls.pin, 0x16 | 0x29);
}

/* IA32_FEATURE_CONTROL: bit 0 locks, bit 2 enables; unlocked, it is enabled and locked here. */
static void test_firmware(void **)
{
	*fake_msr(0x3a) = 1;
	assert_int_equal(probe(), -EPERM);
	assert_string_equal(lacking, "leave of the firmware;");
	*fake_msr(0x3a) = 0;
	assert_int_equal(probe(), 0);
	fake_cpu.cr[0] = 0x10;
	fake_host.cpus[0].node = 3;
	assert_int_equal(vmx_cpu_on(), 0);
	assert_int_equal(fake_host.pages_on[3], 1);
	assert_int_equal(*fake_msr(0x3a), 5);
	assert_int_equal(fake_cpu.cr[0], 0x80000031);
	assert_int_equal(fake_cpu.cr[4], 0x2000);
	assert_int_equal(*(u32 *)vmxon_page[0], 0x12);
	vmx_cpu_off();
	assert_int_equal(fake_cpu.cr[4], 0);
	/* Locked: it is not written (that would be #GP). */
	*fake_msr(0x3a) = 0xff07;
	assert_int_equal(vmx_cpu_on(), 0);
	assert_int_equal(*fake_msr(0x3a), 0xff07);
	*fake_msr(0x3a) = 1;
	assert_int_equal(vmx_cpu_on(), -EPERM);
	leaf1.ecx &= ~(1u << 5);
	assert_int_equal(probe(), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_optional_instructions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_bus_locks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_optional_translation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_negotiation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_firmware, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
