/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/vmx/mitigation.c */
/* VM-entry mitigations by CPU: what Intel publishes of each beside what the function decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "arch/x86_64/vmx/mitigation.h"

static void check(u32 edx, u64 caps, bool flush, bool verw, bool l1tf_open, bool mds_open)
{
	struct vmx_mitigation m = vmx_mitigation(edx, caps);

	assert_int_equal(m.flush_l1d, flush);
	assert_int_equal(m.verw, verw);
	assert_int_equal(m.l1tf_open, l1tf_open);
	assert_int_equal(m.mds_open, mds_open);
}

static void cpus(void **)
{
	/* Haswell with old microcode, as Bochs models it: affected, and nothing to do it with. */
	check(0, 0, false, false, true, true);
	/* Skylake-SP with microcode between the two: L1D_FLUSH, no MD_CLEAR. */
	check(0x10000000, 0, true, false, false, true);
	/* Skylake-SP with new microcode: MD_CLEAR, L1D_FLUSH, no ARCH_CAPABILITIES bits. */
	check(0x10000400, 0, true, true, false, false);
	/* The same as a guest of a hypervisor that flushes: SKIP_L1DFL_VMENTRY. */
	check(0x10000400, 0x8, false, true, false, false);
	/* Cascade Lake: RDCL_NO, MDS_NO, still TAA and MMIO stale data. */
	check(0x10000400, 0x2b, false, true, false, false);
	/* Sapphire Rapids: RDCL_NO, MDS_NO, TAA_NO, SBDR_SSDP_NO, FBSDP_NO, PSDP_NO: nothing. */
	check(0x10000400, 0x1 | 0x20 | 0x100 | 0x2000 | 0x4000 | 0x8000, false, false, false, false);
	/* Gracemont: the same, but RFDS_CLEAR. */
	check(0x10000400, 0x1000e121, false, true, false, false);
	/* Ice Lake with FB_CLEAR and without MD_CLEAR being of use: fill buffers only. */
	check(0x10000000, 0x1 | 0x20 | 0x100 | 0x20000, false, true, false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(cpus) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
