/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/fake_host.c */
/*
 * What SVM's probe makes of CPUID 8000000Ah: what is optional, by its own bit each. The file is
 * included, over a CPU in memory.
 */
#include <stdio.h>

#include "tests/unit/fake_insn.h"
#include "tests/unit/fake_host.h"

#include "vmm/svm/cpu.c"

static u32 features;

void svm_vmsave(u64) { }

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

static char told[256]; /* what is not there, by name */

static void note(const struct hvm_feature *f)
{
	if (!f->there)
		snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s: %s;", f->name,
			 f->where);
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
		assert_int_equal(svm_features.decode_assists, bit == 7);
		assert_int_equal(svm_features.bus_lock, bit == 29);
	}
	features = ~1u;
	assert_int_equal(svm_probe(&caps, note), -EPERM);
	host_pages_free(cpus, 1);
	cpus = NULL;
}

/*
 * VM_CR forbids SVM; where the register is not there (a hypervisor below hides it), nothing does:
 * APM vol. 2, 15.4 and 15.30.1.
 */
static void test_vm_cr(void **)
{
	struct hvm_caps caps;

	fake_host_reset();
	fake_cpu.cpuid = cpuid_of;
	features = 1;
	told[0] = '\0';
	assert_int_equal(svm_probe(&caps, note), 0);
	assert_null(strstr(told, "leave of the firmware"));
	fake_host.nr_msrs = 1;
	for (u64 value = 0; value < BIT(5); value++) {
		fake_host.msrs[0] = (__typeof__(fake_host.msrs[0])){ MSR_AMD_VM_CR, value };
		told[0] = '\0';
		assert_int_equal(svm_probe(&caps, note), value & BIT(4) ? -EPERM : 0);
		assert_int_equal(strstr(told, "leave of the firmware") != NULL, !!(value & BIT(4)));
		assert_int_equal(strstr(told, "locked by bit 3") != NULL,
				 (value & (BIT(4) | BIT(3))) == (BIT(4) | BIT(3)));
	}
	host_pages_free(cpus, 1);
	cpus = NULL;
}

/* A CPU that does not let SVM be switched on costs a line and its VM, not the node. */
static void test_not_on(void **)
{
	struct hvm_caps caps;

	fake_host_reset();
	fake_cpu.cpuid = cpuid_of;
	features = 1;
	assert_int_equal(svm_probe(&caps, note), 0);
	assert_int_equal(svm_cpu_on(), -EPERM);
	assert_non_null(strstr(fake_host.log, "margay: CPU 0: no EFER.SVME\n"));
	fake_host.nr_msrs = 1;
	fake_host.msrs[0] = (__typeof__(fake_host.msrs[0])){ MSR_EFER, 0 };
	fake_host.log[0] = '\0';
	host_pages_free(cpus[0].hsave, 1);
	host_pages_free(cpus[0].host_vmcb, 1);
	cpus[0].hsave = cpus[0].host_vmcb = NULL;
	fake_host.cpus[0].node = 3;
	assert_int_equal(svm_cpu_on(), 0);
	/* Where the CPU's state goes at each entry: on its own node. */
	assert_int_equal(fake_host.pages_on[3], 2);
	assert_string_equal(fake_host.log, "");
	assert_int_equal(fake_host.msrs[0].value & EFER_SVME, EFER_SVME);
	assert_int_equal(*fake_msr(MSR_AMD_VM_HSAVE_PA), host_virt_to_hpa(cpus[0].hsave).v);
	host_pages_free(cpus[0].hsave, 1);
	host_pages_free(cpus[0].host_vmcb, 1);
	host_pages_free(cpus, 1);
	cpus = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_vm_cr),
		cmocka_unit_test(test_not_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
