/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/fake_host.c */
/* What SVM's probe makes of CPUID 8000000Ah: what is optional, by its own bit each. The file is included, over a CPU in memory. */
#include "tests/unit/fake_insn.h"
#include "tests/unit/fake_host.h"

#include "arch/x86_64/svm/cpu.c"

static u32 features;

void svm_vmsave(u64)
{
}

static struct cpuid_regs cpuid_of(u32 leaf, u32)
{
	switch (leaf) {
	case 0x80000000: return (struct cpuid_regs){ .eax = 0x8000000a };
	case 0x80000001: return (struct cpuid_regs){ .ecx = 1 << 2 };
	case 0x80000008: return (struct cpuid_regs){ .eax = 0x3030 };
	case 0x8000000a: return (struct cpuid_regs){ .ebx = 16, .edx = features };
	default: return (struct cpuid_regs){ 0 };
	}
}

static void note(const struct hvm_feature *)
{
}

static void test_features(void **)
{
	struct hvm_caps caps;

	fake_host_reset();
	fake_cpu.cpuid = cpuid_of;
	for (unsigned bit = 1; bit < 32; bit++) {
		features = 1u << bit | 1;
		assert_int_equal(svm_probe(&caps, note), 0);
		assert_int_equal(svm_features.nr_asids, 16);
		assert_int_equal(svm_features.nrips, bit == 3);
		assert_int_equal(caps.insn_len, bit == 3);
		assert_int_equal(svm_features.bus_lock, bit == 29);
	}
	features = ~1u;
	assert_int_equal(svm_probe(&caps, note), -EPERM);
	host_pages_free(cpus, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_features) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
