/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/cpu/counters.c @tests/unit/lapic.sources @tests/unit/cpuid.sources @tests/unit/fake_vm.sources */
/*
 * A guest that owns the performance counters of its CPUs: which registers it reaches itself (SDM
 * vol. 4, table 2-2; APM vol. 2, appendix A), what it may select, and to whom an overflow is told.
 * The CPU is one in memory.
 *
 * What recorded CPUs would show of them: test_cpuid_policy.c. That none are told of where there are
 * none: the tiny guest counters.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/dev/apic/lapic.h"
#include "vmm/guest_platform.h"
#include "vmm/hvm.h"
#include "vmm/vm/vdev.h"

#define NOT_SAID ~0ull

static struct vm *vm;
static u64 global[2]; /* what set_counters() was told for each vCPU */
static struct {
	u32 msr;
	bool read;
	bool write;
} opened[2][64];
static unsigned nr_opened[2];
static struct cpuid_regs leaf_a, leaf_7, leaf_ext;
static u32 highest;

static void intercept_msr(struct vcpu *vcpu, u32 msr, bool read, bool write)
{
	unsigned *n = &nr_opened[vcpu->id];

	opened[vcpu->id][*n].msr = msr;
	opened[vcpu->id][*n].read = !read;
	opened[vcpu->id][(*n)++].write = !write;
}

static void set_counters(struct vcpu *vcpu, u64 value)
{
	global[vcpu->id] = value;
}

static const struct hvm_ops ops = { .intercept_msr = intercept_msr, .set_counters = set_counters };
const struct hvm_ops *hvm = &ops;
struct hvm_caps hvm_caps;

static void host_leaf(u32 leaf, u32, struct cpuid_regs *out)
{
	switch (leaf) {
	case 0: *out = (struct cpuid_regs){ .eax = highest }; break;
	case 7: *out = leaf_7; break;
	case 0xa: *out = leaf_a; break;
	case 0x80000001: *out = leaf_ext; break;
	default: *out = (struct cpuid_regs){ 0 };
	}
}

static void no_interrupt(void *, unsigned) { }

static u64 *host_msr(u32 msr)
{
	for (unsigned i = 0; i < fake_host.nr_msrs; i++)
		if (fake_host.msrs[i].msr == msr)
			return &fake_host.msrs[i].value;
	fail();
	return NULL;
}

static void has_msrs(u32 first, u32 last)
{
	for (; first <= last; first++) {
		fake_host.msrs[fake_host.nr_msrs].msr = first;
		fake_host.msrs[fake_host.nr_msrs++].value = 0x1234; /* firmware's */
	}
}

static int setup(void **)
{
	struct host_msi other;

	fake_host_reset();
	fake_host.nr_cpus = fake_vm_vcpus = 2;
	fake_vm_apic_id[1] = 1;
	fake_host.cpuid = host_leaf;
	hvm_caps.counters = fake_vm_counters = true;
	leaf_a = leaf_7 = leaf_ext = (struct cpuid_regs){ 0 };
	highest = 0xa;
	memset(nr_opened, 0, sizeof(nr_opened));
	fake_host.counter_vector[0] = 0xff;
	global[0] = global[1] = NOT_SAID;
	assert_int_equal(host_msi_alloc(0, 1, no_interrupt, NULL, &other), 0);
	assert_int_equal(other.first, 0);
	return 0;
}

/* Version 5 with four counters of 48 bits, and four fixed ones. */
static void intel(void)
{
	leaf_a = (struct cpuid_regs){ 0x08300405, 0, 0xf, 0x8604 };
	has_msrs(0xc1, 0xc4);
	has_msrs(0x186, 0x18a);
	has_msrs(0x309, 0x30c);
	has_msrs(0x38d, 0x390);
	vm = fake_vm_create(0);
}

static void amd(void)
{
	leaf_ext.ecx = 1u << 23;
	has_msrs(0xc0010200, 0xc001020b);
	vm = fake_vm_create(0);
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	assert_true(!fake_host.vector[1].fn && !fake_host.vector[2].fn);
	fake_vm_counters = hvm_caps.counters = false;
	return 0;
}

static bool open_to(unsigned vcpu, u32 msr, bool write)
{
	for (unsigned i = 0; i < nr_opened[vcpu]; i++)
		if (opened[vcpu][i].msr == msr)
			return write ? opened[vcpu][i].write : opened[vcpu][i].read;
	return false;
}

static void test_intel_registers(void **)
{
	intel();
	for (unsigned v = 0; v < 2; v++)
		for (u32 msr = 0; msr < 0x1000; msr++) {
			bool counter =
				(msr >= 0xc1 && msr <= 0xc4) || (msr >= 0x309 && msr <= 0x30b);
			bool control =
				(msr >= 0x186 && msr <= 0x189) || (msr >= 0x38d && msr <= 0x38f);

			assert_int_equal(open_to(v, msr, false),
					 counter || control || msr == 0x390);
			assert_int_equal(open_to(v, msr, true), counter || msr == 0x390);
		}
	assert_false(open_to(0, 0xc0010200, false));
	assert_true(global[0] == 0 && global[1] == 0);
	assert_true(fake_host.counter_vector[0] == 1 && fake_host.counter_vector[1] == 2);
	assert_true(fake_host.vector[1].cpu == 0 && fake_host.vector[2].cpu == 1);
}

/* The third and fourth are not there. */
static void test_two_fixed(void **)
{
	has_msrs(0x38d, 0x38f);
	leaf_a = (struct cpuid_regs){ 0x07300402, 0, 0, 0x602 };
	vm = fake_vm_create(0);
	assert_true(open_to(0, 0x30a, true) && !open_to(0, 0x30b, false));
	assert_int_equal(guest_wrmsr(vm, 0x38d, 0xbb), 0);
	assert_int_equal(guest_wrmsr(vm, 0x38d, 0x100), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x38f, BIT(34)), -EFAULT);
}

static void test_intel_reset(void **)
{
	static const u32 owned[] = { 0xc1, 0xc4, 0x186, 0x189, 0x309, 0x30b, 0x38d, 0x38f };

	intel();
	for (unsigned i = 0; i < ARRAY_SIZE(owned); i++)
		assert_int_equal(*host_msr(owned[i]), 0);
	assert_int_equal(*host_msr(0x390), 0x70000000full);
	assert_int_equal(*host_msr(0x30c), 0x1234);
	*host_msr(0xc2) = *host_msr(0x187) = *host_msr(0x30a) = *host_msr(0x38d) =
		*host_msr(0x390) = 7;
	fake_vm_destroy(vm);
	assert_true(fake_host.counter_vector[0] == 0 && fake_host.counter_vector[1] == 0);
	assert_true(!*host_msr(0xc2) && !*host_msr(0x187) && !*host_msr(0x30a) &&
		    !*host_msr(0x38d));
	assert_int_equal(*host_msr(0x390), 0x70000000full);
	fake_vm_counters = false;
	vm = fake_vm_create(0);
}

static void test_intel_select(void **)
{
	intel();
	for (unsigned bit = 0; bit < 64; bit++) {
		bool may = bit < 32 && bit != 19 && bit != 21;

		*host_msr(0x187) = 0x5678;
		assert_int_equal(guest_wrmsr(vm, 0x187, BIT(bit)), may ? 0 : -EFAULT);
		assert_int_equal(*host_msr(0x187), may ? BIT(bit) : 0x5678);
	}
	assert_int_equal(guest_wrmsr(vm, 0x18a, 0), -EFAULT);
	assert_int_equal(*host_msr(0x18a), 0x1234);
	for (unsigned bit = 0; bit < 64; bit++) {
		bool may = bit < 12 && bit % 4 != 2;

		*host_msr(0x38d) = 0x5678;
		assert_int_equal(guest_wrmsr(vm, 0x38d, BIT(bit)), may ? 0 : -EFAULT);
		assert_int_equal(*host_msr(0x38d), may ? BIT(bit) : 0x5678);
	}
}

/* What counts is the backend's to switch; the host's own register stays 0. */
static void test_intel_global(void **)
{
	intel();
	for (unsigned bit = 0; bit < 64; bit++) {
		bool may = bit < 4 || (bit >= 32 && bit < 35);

		global[0] = NOT_SAID;
		assert_int_equal(guest_wrmsr(vm, 0x38f, BIT(bit)), may ? 0 : -EFAULT);
		assert_int_equal(global[0], may ? BIT(bit) : NOT_SAID);
	}
	assert_int_equal(*host_msr(0x38f), 0);
	assert_int_equal(guest_wrmsr(vm, 0x38e, 1), -EFAULT);
}

static void test_amd(void **)
{
	amd();
	for (u32 msr = 0xc0010000; msr < 0xc0010400; msr++) {
		bool own = msr >= 0xc0010200 && msr <= 0xc001020b;

		assert_int_equal(open_to(1, msr, false), own);
		assert_int_equal(open_to(1, msr, true), own && msr % 2);
		if (own)
			assert_int_equal(*host_msr(msr), 0);
	}
	assert_false(open_to(0, 0x38e, false));
	for (unsigned bit = 0; bit < 64; bit++) {
		bool may = (bit < 32 && bit != 19 && bit != 21) || (bit >= 32 && bit < 36);

		*host_msr(0xc0010204) = 0x5678;
		assert_int_equal(guest_wrmsr(vm, 0xc0010204, BIT(bit)), may ? 0 : -EFAULT);
		assert_int_equal(*host_msr(0xc0010204), may ? BIT(bit) | BIT(40) : 0x5678);
	}
}

static void overflow(void)
{
	fake_host.counter_vector[0] = 0xff;
	fake_host.vector[1].fn(fake_host.vector[1].arg, 0);
	assert_int_equal(fake_host.counter_vector[0], 1);
}

static void test_overflow(void **)
{
	struct lapic *l;
	u32 *entry;

	intel();
	l = vm->vcpus[0]->lapic;
	entry = &l->lvt[LAPIC_LVT(LAPIC_LVT_PERF)];
	overflow();
	assert_false(vm->vcpus[0]->nmi_pending);
	*entry = 0x400;
	overflow();
	assert_true(vm->vcpus[0]->nmi_pending && *entry == 0x10400);
	assert_false(vm->vcpus[1]->nmi_pending);
	vm->vcpus[0]->nmi_pending = false;
	*entry = 0x61;
	overflow();
	assert_true(!vm->vcpus[0]->nmi_pending && *entry == 0x10061 && l->irr[1] == BIT(0x21));
}

static void test_overflow_amd(void **)
{
	amd();
	vm->vcpus[0]->lapic->lvt[LAPIC_LVT(LAPIC_LVT_PERF)] = 0x400;
	overflow();
	assert_true(vm->vcpus[0]->nmi_pending);
	assert_int_equal(vm->vcpus[0]->lapic->lvt[LAPIC_LVT(LAPIC_LVT_PERF)], 0x400);
}

static void none(const char *said)
{
	vm = fake_vm_create(0);
	assert_string_equal(fake_host.log, said);
	assert_true(nr_opened[0] == 0 && fake_host.counter_vector[0] == 0xff &&
		    global[0] == NOT_SAID);
	assert_int_equal(guest_wrmsr(vm, 0x186, 0), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0xc0010200, 0), -EFAULT);
}

#define NONE "vm0: counters = yes: the CPUs have none that a guest can own: it has none\n"

static void test_old(void **)
{
	has_msrs(0x38f, 0x38f);
	leaf_a.eax = 0x07300401;
	none(NONE);
}

static void test_no_leaf(void **)
{
	has_msrs(0x38f, 0x38f);
	leaf_a = (struct cpuid_regs){ 0x08300405, 0, 0xf, 0x8604 };
	highest = 9;
	none(NONE);
}

static void test_hybrid(void **)
{
	has_msrs(0x38f, 0x38f);
	leaf_a = (struct cpuid_regs){ 0x08300405, 0, 0xf, 0x8604 };
	leaf_7.edx = BIT(15);
	none(NONE);
}

static void test_no_control(void **)
{
	has_msrs(0x38f, 0x38f);
	leaf_a = (struct cpuid_regs){ 0x08300405, 0, 0xf, 0x8604 };
	hvm_caps.counters = false;
	none(NONE);
}

/* CPUID tells of registers that are not there. */
static void test_no_msrs(void **)
{
	leaf_a = (struct cpuid_regs){ 0x08300405, 0, 0xf, 0x8604 };
	none(NONE);
}

static void test_no_msrs_amd(void **)
{
	leaf_ext.ecx = 1u << 23;
	has_msrs(0x38f, 0x38f);
	none(NONE);
}

static void test_not_wanted(void **)
{
	has_msrs(0x38f, 0x38f);
	leaf_a = (struct cpuid_regs){ 0x08300405, 0, 0xf, 0x8604 };
	fake_vm_counters = false;
	none("");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_intel_registers), TEST(test_two_fixed),    TEST(test_intel_reset),
		TEST(test_intel_select),    TEST(test_intel_global), TEST(test_amd),
		TEST(test_overflow),        TEST(test_overflow_amd), TEST(test_old),
		TEST(test_no_leaf),         TEST(test_hybrid),       TEST(test_no_control),
		TEST(test_no_msrs),         TEST(test_no_msrs_amd),  TEST(test_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
