/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/memory/gpa_map.c tests/unit/fake_host.c vmm/vm/ranges.c tests/unit/fake_vm.c */
/*
 * The machine checks of a guest (on_mce = inject): its bank, as Intel's and AMD's manuals have it;
 * who is told of a lost page and who cannot be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_stage.h"
#include "tests/unit/fake_vm.h"
#include "vmm/dev/cpu/machine_check.c"

static struct vm_parts parts;
static struct vm_config config;
static struct vcpu vcpu;
static u64 cr4;

static u64 get(struct vcpu *v, enum hvm_reg reg)
{
	assert_true(v == &vcpu && reg == HVM_CR4);
	return cr4;
}

static const struct hvm_ops ops = { .get = get };

static unsigned raised;

void vcpu_raise(struct vcpu *v, u8 vector)
{
	assert_true(v == &vcpu && vector == 18);
	raised++;
}

static int setup(void **)
{
	memset(&parts, 0, sizeof(parts));
	memset(&vcpu, 0, sizeof(vcpu));
	memset(&config, 0, sizeof(config));
	config.on_mce = ON_MCE_INJECT;
	parts.vm.config = &config;
	parts.vm.nr_vcpus = 2;
	strcpy(parts.vm.name, "vm0");
	vcpu.vm = &parts.vm;
	parts.cpuid.entry[0].regs.ebx = 0x756e6547;
	parts.map.count = 2;
	parts.map.region[0] = (struct gpa_region){ .gpa = 0, .size = MIB(64), .hpa = GIB(4) };
	parts.map.region[1] = (struct gpa_region){ .gpa = GIB(4), .size = MIB(64), .hpa = GIB(2) };
	cr4 = CR4_MCE | CR4_PAE;
	hvm = &ops;
	return mce_create(&parts.vm, NULL);
}

static bool rd(u32 msr, u64 *value)
{
	const struct msr_range *r = msr_find(&parts.vm, msr);

	return r && !r->ops->read(r->dev, &vcpu, msr, value);
}

static bool reads(u32 msr, u64 want)
{
	u64 value = ~want;

	return rd(msr, &value) && value == want;
}

static bool wr(u32 msr, u64 value)
{
	const struct msr_range *r = msr_find(&parts.vm, msr);

	return r && !r->ops->write(r->dev, &vcpu, msr, value);
}

/* What Linux does with its banks at boot, and what no guest may. */
static void test_registers(void **)
{
	assert_true(reads(0x179, 1 | 1 << 24 | 1 << 27) && reads(0x17a, 0) &&
		    reads(0x3a, 1 | 1 << 20));
	assert_true(wr(0x4d0, 1) && reads(0x4d0, 1) && wr(0x4d0, 0) && !wr(0x4d0, 2));
	assert_true(wr(0x400, ~0ull) && reads(0x400, ~0ull) && wr(0x401, 0) && wr(0x402, 0) &&
		    wr(0x403, 0) && wr(0x17a, 0));
	assert_false(wr(0x401, 1) || wr(0x402, 1) || wr(0x403, 1) || wr(0x17a, 4) || wr(0x179, 0) ||
		     wr(0x3a, 5));
	assert_null(msr_find(&parts.vm, 0x17b));
	assert_null(msr_find(&parts.vm, 0x404));
	/* AMD's: neither SER nor LMCE, by which Intel's are told. */
	parts.cpuid.entry[0].regs.ebx = 0x68747541;
	u64 any;
	assert_true(reads(0x179, 1) && !rd(0x3a, &any) && !rd(0x4d0, &any) && !wr(0x4d0, 1));
	/* Without inject nothing of it. */
	memset(&parts.ranges, 0, sizeof(parts.ranges));
	config.on_mce = ON_MCE_RESTART;
	assert_int_equal(mce_create(&parts.vm, NULL), 0);
	assert_null(msr_find(&parts.vm, 0x179));
}

static void test_told(void **)
{
	assert_true(wr(0x4d0, 1));
	assert_true(mce_tell(&vcpu, (GIB(2) + 0x5000) | 3));
	assert_true(vcpu.mce_due && vcpu.look);
	/*
	 * Valid, uncorrected, enabled, MISC and ADDR, signalled, action required: a data load; of a
	 * page; by LMCE.
	 */
	assert_true(reads(0x401, 0xbd80000000000134) && reads(0x402, GIB(4) + 0x5000) &&
		    reads(0x403, 0x8c) && reads(0x17a, 0xf));
	/* A second one before the guest is done would shut it down. */
	assert_false(mce_tell(&vcpu, GIB(2) | 3));
	assert_true(reads(0x402, GIB(4) + 0x5000));
	assert_true(wr(0x401, 0) && wr(0x17a, 0) && reads(0x403, 0) && reads(0x17a, 0));
	/* What ran cannot go on. */
	assert_true(mce_tell(&vcpu, GIB(4) + MIB(64) - PAGE_SIZE));
	assert_true(reads(0x402, MIB(64) - PAGE_SIZE) && reads(0x17a, 0xc));
}

/* #MC comes once, and wakes who halts; not before a vCPU has started. */
static void test_raised(void **)
{
	raised = 0;
	assert_false(fake_look(LOOK_MACHINE_CHECK, &vcpu) || raised);
	vcpu.mce_due = vcpu.halted = true;
	vcpu.startup = STARTUP_WAIT;
	assert_false(fake_look(LOOK_MACHINE_CHECK, &vcpu) || raised);
	assert_true(vcpu.mce_due && vcpu.halted);
	vcpu.startup = STARTUP_RUN;
	assert_false(fake_look(LOOK_MACHINE_CHECK, &vcpu) || fake_look(LOOK_MACHINE_CHECK, &vcpu));
	assert_true(raised == 1 && !vcpu.mce_due && !vcpu.halted);
}

static void test_told_amd(void **)
{
	parts.cpuid.entry[0].regs.ebx = 0x68747541;
	assert_true(mce_tell(&vcpu, GIB(4) | 1));
	assert_true(reads(0x401, 0xb400000000000134) && reads(0x402, 0) && reads(0x403, 0) &&
		    reads(0x17a, 5));
}

static void test_not_told(void **)
{
	/* It would wait for its other CPU. */
	assert_false(mce_tell(&vcpu, GIB(2)));
	parts.vm.nr_vcpus = 1;
	assert_true(mce_tell(&vcpu, GIB(2) | 1) && reads(0x17a, 5));
	vcpu.mce = (struct vcpu_mce){ 0 };
	vcpu.mce_due = false;
	assert_false(mce_tell(&vcpu, HOST_LOST_UNKNOWN));
	/* None of its memory. */
	assert_false(mce_tell(&vcpu, GIB(2) - PAGE_SIZE) || mce_tell(&vcpu, GIB(2) + MIB(64)));
	cr4 = CR4_PAE;
	assert_false(mce_tell(&vcpu, GIB(2)));
	cr4 = CR4_MCE;
	config.on_mce = ON_MCE_STOP;
	assert_false(mce_tell(&vcpu, GIB(2)));
	assert_false(vcpu.mce_due || vcpu.mce.status || vcpu.mce.mcg_status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_registers, setup),
		cmocka_unit_test_setup(test_told, setup),
		cmocka_unit_test_setup(test_raised, setup),
		cmocka_unit_test_setup(test_told_amd, setup),
		cmocka_unit_test_setup(test_not_told, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
