/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/cpuid/cpuid_policy.c vmm/cpuid/cpuid_topology.c vmm/cpuid/cpuid_get.c vmm/cpuid/cpuid_table.c vmm/cpuid/cpuid_table_ext.c */
/*
 * CPUID policy: what follows the vCPU's state, the hypervisor's own leaves, and
 * hardware that cannot give a guest everything (SDM vol. 1, 13; vol. 2, CPUID).
 */
#include "cpuid_machines.h"
#include "vmm/hvm_ops.h"

static void vcpu_state(void **)
{
	build(ZEN4);
	dyn.apic_id = 0x105;
	dyn.cr4 = CR4_OSXSAVE | CR4_PKE;
	assert_int_equal(get(1, 0).ebx, 0x05200800);
	assert_true(get(1, 0).ecx & B(27));
	assert_true(get(7, 0).ecx & B(4));
	assert_false(get(7, 1).ecx & B(4));
	assert_int_equal(get(0x8000001e, 0).eax, 0x105);
	/* The x2APIC ID on every level, existing or not. */
	expect(0xb, 0, 1, 2, 0x100, 0x105);
	expect(0xb, 1, 6, 0x20, 0x201, 0x105);
	expect(0xb, 2, 0, 0, 2, 0x105);
	expect(0xb, 0x1234, 0, 0, 0x34, 0x105);
	dyn.apic_enabled = false;
	assert_false(get(1, 0).edx & B(9));
	assert_false(get(0x80000001, 0).edx & B(9));
	dyn.apic_enabled = true;
	assert_true(get(0x80000001, 0).edx & B(9));
	/* Intel does not repeat it. */
	build(SKYLAKE);
	assert_false(get(0x80000001, 0).edx & B(9));
	/* A level type that the host lacks stays unknown: no leaf 0x1F on Skylake. */
	assert_int_equal(table.basic_index[0x1f], CPUID_NONE);
}

/*
 * The short way to a leaf says the same as the long one, whatever the vCPU's state and the subleaf.
 */
static void plain_leaves(void **)
{
	static const struct cpuid_dynamic other = {
		.apic_id = 0xabcde,
		.cr4 = CR4_OSXSAVE | CR4_PKE,
		.xcr0 = 7,
		.xss = 0x800,
	};

	for (unsigned m = 0; m < ARRAY_SIZE(machines); m++) {
		unsigned found = 0;

		build(m);
		for (u32 i = 0; i < 0x200; i++) {
			u32 leaf = (i & 0x7f) | (i & 0x80 ? 0x80000000 : 0), subleaf = i >> 8;
			const struct cpuid_regs *r = cpuid_policy_plain(&table, leaf);
			struct cpuid_regs now = get(leaf, subleaf), later;
			struct cpuid_dynamic before = dyn;

			dyn = other;
			later = get(leaf, subleaf);
			dyn = before;
			if (!r)
				continue;
			found++;
			assert_memory_equal(r, &now, sizeof(now));
			assert_memory_equal(r, &later, sizeof(later));
		}
		assert_true(found > 6);
		assert_null(cpuid_policy_plain(&table, 1));
		assert_null(cpuid_policy_plain(&table, 0xd));
		assert_null(cpuid_policy_plain(&table, 0x80000001));
		assert_null(cpuid_policy_plain(&table, 0x7f));
	}
}

static void xsave_sizes(void **)
{
	build(SKYLAKE);
	dyn.xcr0 = 3;
	assert_int_equal(get(0xd, 0).ebx, 576);
	dyn.xcr0 = 7;
	assert_int_equal(get(0xd, 0).ebx, 832);
	assert_int_equal(get(0xd, 1).ebx, 832);
	/*
	 * Standard format: the end of the last component; compacted: 576 + 256 + 64 + 512 + 1024 (+
	 * 8).
	 */
	dyn.xcr0 = 0xe7;
	assert_int_equal(get(0xd, 0).ebx, 0x680 + 0x400);
	assert_int_equal(get(0xd, 1).ebx, 2432);
	dyn.xcr0 = 0x2e7;
	assert_int_equal(get(0xd, 0).ebx, 0xa88);
	assert_int_equal(get(0xd, 1).ebx, 2440);
	/* AMX: both tile components start at a multiple of 64. */
	build(SAPPHIRE);
	dyn.xcr0 = 0x602e7;
	assert_int_equal(get(0xd, 0).ebx, 0x2b00);
	assert_int_equal(get(0xd, 1).ebx, 2496 + 64 + 8192);
}

static void xcr0_values(void **)
{
	build(SAPPHIRE);
	assert_true(cpuid_policy_xcr0_valid(&table, 1));
	assert_true(cpuid_policy_xcr0_valid(&table, 3));
	assert_true(cpuid_policy_xcr0_valid(&table, 7));
	assert_true(cpuid_policy_xcr0_valid(&table, 0xe7));
	assert_true(cpuid_policy_xcr0_valid(&table, 0x201));
	assert_true(cpuid_policy_xcr0_valid(&table, 0x602e7));
	assert_true(cpuid_policy_xcr0_valid(&table, 0x60001));
	assert_false(cpuid_policy_xcr0_valid(&table, 0));
	assert_false(cpuid_policy_xcr0_valid(&table, 2));
	assert_false(cpuid_policy_xcr0_valid(&table, 5)); /* AVX without SSE */
	assert_false(cpuid_policy_xcr0_valid(&table, 0xe3)); /* AVX-512 without AVX */
	assert_false(cpuid_policy_xcr0_valid(&table, 0x67)); /* a part of AVX-512 */
	assert_false(cpuid_policy_xcr0_valid(&table, 0x20007)); /* a part of AMX */
	assert_false(cpuid_policy_xcr0_valid(&table, 0x1f)); /* MPX is not offered */
	assert_false(cpuid_policy_xcr0_valid(&table, 0x100007)); /* not there */
	assert_false(cpuid_policy_xcr0_valid(&table, 1ull << 63 | 7));
}

static void hypervisor_leaves(void **)
{
	struct cpuid_regs r;

	build(SKYLAKE);
	r = get(0x40000000, 0);
	assert_int_equal(r.eax, 0x40000010);
	assert_memory_equal(&r.ebx, "MargayMargay", 12);
	expect(0x40000001, 0, 0, 0, 0, 0);
	expect(0x40000010, 0, 2994375, 1000, 0, 0);
	r = get(0x40000100, 0);
	assert_int_equal(r.eax, 0x40000101);
	assert_memory_equal(&r.ebx, "KVMKVMKVM\0\0\0", 12);
	expect(0x40000101, 0, 0x01001008, 0, 0, 1);
	/* Where Linux looks for other signatures there is nothing, on Intel too. */
	expect(0x40000200, 0, 0, 0, 0, 0);
	expect(0x4000ff00, 0, 0, 0, 0, 0);
	assert_int_equal(build_with(SKYLAKE, &all_caps, false), 0);
	expect(0x40000101, 0, 0x1008, 0, 0, 1);
	expect(0x80000007, 0, 0, 0, 0, 0);
	/* A TSC that may stand still is one clock, but not invariant. */
	clock_freezes = true;
	build(SKYLAKE);
	clock_freezes = false;
	expect(0x40000101, 0, 0x01001008, 0, 0, 1);
	expect(0x80000007, 0, 0, 0, 0, 0);
	build(SKYLAKE);
	expect(0x80000007, 0, 0, 0, 0, 0x100);
	without_pvclock = true;
	build(SKYLAKE);
	without_pvclock = false;
	/* Haltpoll's MSR is there without the clock. */
	expect(0x40000101, 0, 0x1000, 0, 0, 1);
}

static void limited_hardware(void **)
{
	struct hvm_caps caps = { .phys_bits = 39,
				 .cr4_allowed = ~(u64)(CR4_UMIP | CR4_PKE | CR4_SMAP) };

	assert_int_equal(build_with(SAPPHIRE, &caps, true), 0);
	assert_int_equal(get(0x80000008, 0).eax & 0xff, 39);
	assert_int_equal(table.phys_bits, 39);
	assert_false(get(0x80000001, 0).edx & B(27)); /* rdtscp */
	assert_false(get(1, 0).ecx & B(17)); /* pcid */
	assert_false(get(7, 0).ebx & (B(10) | B(20))); /* invpcid, smap */
	assert_false(get(7, 0).ecx & (B(2) | B(3) | B(5) | B(22))); /* umip, pku, waitpkg, rdpid */
	assert_false(get(0xd, 1).eax & B(3)); /* xsaves */
	assert_false(table.cr4_allowed & (CR4_UMIP | CR4_PKE | CR4_SMAP | CR4_PCIDE));
	assert_int_equal(table.xcr0_allowed, 0x600e7);
	/* No XSAVE without CR4.OSXSAVE, and none of what lives in it. */
	caps.cr4_allowed = ~(u64)CR4_OSXSAVE;
	assert_int_equal(build_with(SAPPHIRE, &caps, true), 0);
	assert_int_equal(table.xcr0_allowed, 0);
	assert_false(get(1, 0).ecx & (B(12) | B(26) | B(28) | B(29)));
	assert_false(get(7, 0).ebx & (B(5) | B(16)));
	assert_false(get(7, 0).edx & B(24));
	expect(0xd, 0, 0, 0, 0, 0);
	expect(0x1d, 0, 0, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vcpu_state),        cmocka_unit_test(plain_leaves),
		cmocka_unit_test(xsave_sizes),       cmocka_unit_test(xcr0_values),
		cmocka_unit_test(hypervisor_leaves), cmocka_unit_test(limited_hardware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
