/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * What a CPU's registers get when it gets a vCPU, and which the guest may use. The file is
 * included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <margay/string.h>

#include "vmm/exit/msr.c"
#include "vmm/exit/tsc_adjust.c"
#include "vmm/exit/vcpu_mitigations.c"

static unsigned opened, barriers;
static bool shows;
static u64 spec_ctrl, xfd;
static struct host_mitigations of_cpu;
static struct vm_config config;
static struct vm_parts parts = { .vm = { .config = &config } };
static struct vcpu vcpu = { .vm = &parts.vm, .cpu = 7 };
struct hvm_caps hvm_caps;

static bool adjust_exits, no_adjust;
static u64 adjust;

static void intercept(struct vcpu *, u32 msr, bool read, bool write)
{
	if (msr == MSR_TSC_ADJUST) {
		assert_true(write);
		adjust_exits = read;
		return;
	}
	assert_false(read || write);
	opened += msr == MSR_SPEC_CTRL || msr == MSR_PRED_CMD;
}

static const struct hvm_ops ops = { .intercept_msr = intercept };
const struct hvm_ops *hvm = &ops;

void cpuid_get(const struct cpuid_table *t, const struct cpuid_dynamic *, u32, u32,
	       struct cpuid_regs *out)
{
	assert_ptr_equal(t, &parts.cpuid);
	memset(out, shows ? 0xff : 0, sizeof(*out));
}

struct host_mitigations host_mitigations(unsigned cpu)
{
	assert_int_equal(cpu, 7);
	return of_cpu;
}

int host_wrmsr(u32 msr, u64 value)
{
	if (msr == MSR_SPEC_CTRL)
		spec_ctrl = value;
	else if (msr == MSR_XFD)
		xfd = value;
	else if (msr == MSR_PRED_CMD)
		barriers += value & 1;
	return 0;
}

static bool no_idle_msrs;

int host_rdmsr(u32 msr, u64 *value)
{
	if (msr == MSR_TSC_ADJUST) {
		*value = adjust;
		return no_adjust ? -EFAULT : 0;
	}
	assert_true(msr == MSR_PKG_CST_CONFIG_CONTROL || msr == MSR_POWER_CTL);
	*value = msr << 8;
	return no_idle_msrs ? -EFAULT : 0;
}

u64 host_tsc(void)
{
	fail();
	return 0;
}

int mtrr_read(const struct mtrr_state *, u32, u64 *)
{
	fail();
	return -EFAULT;
}

int mtrr_write(struct mtrr_state *, u32, u64, unsigned)
{
	fail();
	return -EFAULT;
}

bool pat_valid(u64)
{
	fail();
	return false;
}

void emulate_skip_slowly(struct vcpu *, u64)
{
	fail();
}

void emulate_skip_unknown(struct vcpu *)
{
	fail();
}

void vcpu_raise_error(struct vcpu *, u8, u32)
{
	fail();
}

static void starts(bool trusted, u32 flags, u32 of_root)
{
	config.trusted = trusted;
	of_cpu = (struct host_mitigations){ flags, of_root };
	opened = barriers = 0;
	spec_ctrl = xfd = 0x55;
	msr_open_passthrough(&vcpu);
}

/*
 * An earlier guest's predictions are none of this one's, whether or not it may do the same itself.
 */
static void test_barrier(void **)
{
	for (unsigned trusted = 0; trusted < 2; trusted++) {
		shows = false;
		starts(trusted, 0, 0);
		assert_true(barriers && opened == 0 && spec_ctrl == 0x55 && xfd == 0x55);
		shows = true;
		starts(trusted, 0, 0);
		assert_true(barriers && opened == 4 && spec_ctrl == 0 && xfd == 0);
	}
}

/*
 * Root mode's value where exits switch it, which those of a trusted guest do not; or where VMRUN
 * does, for all.
 */
static void test_spec_ctrl(void **)
{
	shows = true;
	starts(false, MIT_SPEC_CTRL, 0x401);
	assert_int_equal(spec_ctrl, 0x401);
	starts(true, MIT_SPEC_CTRL, 0x401);
	assert_int_equal(spec_ctrl, 0);
	for (unsigned trusted = 0; trusted < 2; trusted++) {
		starts(trusted, MIT_VERW, 2);
		assert_int_equal(spec_ctrl, 2);
	}
}

/*
 * What a kernel that idles by MWAIT reads is the CPU's, and its writes change nothing. Others' see
 * nothing of it.
 */
static void test_idle(void **)
{
	static const u32 msrs[] = { MSR_PKG_CST_CONFIG_CONTROL, MSR_POWER_CTL };
	struct vcpu *v = &vcpu;
	u64 value;

	for (unsigned i = 0; i < ARRAY_SIZE(msrs); i++) {
		const struct msr_rule *r = rules;

		while (r->first != msrs[i])
			r++;
		assert_int_equal(r->vendor, INTEL);
		parts.vm.direct = parts.vm.mwait = false;
		assert_true(r->read(v, msrs[i], &value) && r->write(v, msrs[i], 1));
		parts.vm.mwait = true;
		assert_true(r->read(v, msrs[i], &value) && r->write(v, msrs[i], 1));
		assert_true(!read_misc_enable(v, MSR_MISC_ENABLE, &value) && !(value & BIT(18)));
		parts.vm.direct = true;
		assert_true(!r->read(v, msrs[i], &value) && value == (u64)msrs[i] << 8 &&
			    !r->write(v, msrs[i], 1));
		no_idle_msrs = true;
		assert_true(!r->read(v, msrs[i], &value) && value == 0);
		no_idle_msrs = false;
		assert_true(!read_misc_enable(v, MSR_MISC_ENABLE, &value) && value & BIT(18));
	}
}

/*
 * Reads of IA32_TSC_ADJUST have no exit where the CPU has what the guest shall see. Writes have
 * one: none changes the CPU's.
 */
static void test_tsc_adjust(void **)
{
	static const struct {
		bool none;
		u64 of_cpu;
		u64 of_guest;
		bool exits;
	} cases[] = {
		{ false, 0, 0, false }, { false, 5, 0, true }, { false, 0, 5, true },
		{ false, 5, 5, false }, { true, 0, 0, true },
	};
	u64 value;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		no_adjust = cases[i].none;
		adjust = cases[i].of_cpu;
		vcpu.tsc_adjust = cases[i].of_guest;
		adjust_exits = !cases[i].exits;
		msr_open_passthrough(&vcpu);
		assert_int_equal(adjust_exits, cases[i].exits);
		vcpu.tsc_adjust = 7;
		adjust_exits = !cases[i].exits;
		assert_int_equal(write_tsc_adjust(&vcpu, MSR_TSC_ADJUST, cases[i].of_guest), 0);
		assert_int_equal(adjust_exits, cases[i].exits);
		assert_true(!read_tsc_adjust(&vcpu, MSR_TSC_ADJUST, &value) &&
			    value == cases[i].of_guest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_tsc_adjust),
		cmocka_unit_test(test_spec_ctrl),
		cmocka_unit_test(test_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
