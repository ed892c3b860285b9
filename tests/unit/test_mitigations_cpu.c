/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/mitigations.c arch/x86_64/cpu/mitigation_words.c lib/span.c */
/*
 * Each CPU at its start: which registers are set for what was decided, what is told of all CPUs,
 * and what the monitor gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/percpu.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"

#define CPUS 2
#define MSRS 8

struct cpu_features cpu_features;

static struct cpu cpus[CPUS];
static unsigned now, nr_msrs;
static struct {
	u32 msr;
	u64 value;
} msrs[MSRS]; /* all that there are */
static struct {
	u32 leaf;
	struct cpuid_regs r;
} leaves[8];
static u64 *signed_intel; /* an Intel CPU's MSR 8BH: CPUID stores the revision where it holds 0 */
static struct cmdline cmdline;

static struct cpu *fake_this_cpu(void)
{
	return &cpus[now];
}

static void fake_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *r)
{
	*r = (struct cpuid_regs){ 0 };
	for (unsigned i = 0; i < ARRAY_SIZE(leaves) && !subleaf; i++)
		if (leaves[i].leaf == leaf)
			*r = leaves[i].r;
	if (leaf == 1 && !subleaf && signed_intel && !*signed_intel)
		*signed_intel = 7ull << 32;
}

u8 indirect_thunks[15][32]; /* each byte is its number */

/* Through the direct map: the image's own text cannot be written. */
static void *alias(const void *va)
{
	assert_ptr_equal(va, indirect_thunks);
	return indirect_thunks;
}

#define virt_to_phys(va) (u64)(va)
#define phys_to_virt(pa) alias((const void *)(pa))
#define this_cpu fake_this_cpu
#define cpuid fake_cpuid
#include "arch/x86_64/cpu/microcode_revision.c"
#include "kernel/cpu/mitigations.c"
#include "tests/unit/fake_log.h"

static u64 *msr(u32 number)
{
	for (unsigned i = 0; i < nr_msrs; i++)
		if (msrs[i].msr == number)
			return &msrs[i].value;
	return NULL;
}

int host_rdmsr(u32 number, u64 *value)
{
	*value = msr(number) ? *msr(number) : 0;
	return msr(number) ? 0 : -1;
}

int host_wrmsr(u32 number, u64 value)
{
	if (!msr(number))
		return -1;
	*msr(number) = value;
	return 0;
}

unsigned host_cpu_count(void)
{
	return CPUS;
}

struct cpu *cpu_get(unsigned id)
{
	return &cpus[id];
}

const struct cmdline *cmdline_of_boot(void)
{
	return &cmdline;
}

static void add_msr(u32 number, u64 value)
{
	assert_true(nr_msrs < MSRS);
	msrs[nr_msrs].msr = number;
	msrs[nr_msrs++].value = value;
}

static void start(bool amd, u32 signature)
{
	memset(leaves, 0, sizeof(leaves));
	memset(cpus, 0, sizeof(cpus));
	cmdline = (struct cmdline){ 0 };
	nr_msrs = now = 0;
	log_text[0] = 0;
	cpus[1].id = 1;
	for (unsigned i = 0; i < sizeof(indirect_thunks); i++)
		((u8 *)indirect_thunks)[i] = (u8)i;
	leaves[0].r = amd ? (struct cpuid_regs){ 7, 0x68747541, 0x444d4163, 0x69746e65 }
			  : (struct cpuid_regs){ 7, 0x756e6547, 0x6c65746e, 0x49656e69 };
	leaves[1].leaf = 1;
	leaves[1].r = (struct cpuid_regs){ .eax = signature, .ecx = 0x50000000 };
	leaves[2].leaf = 7;
	leaves[3].leaf = 0x80000000;
	leaves[3].r.eax = 0x80000021;
	leaves[4].leaf = 0x80000008;
	leaves[5].leaf = 0x80000021;
	leaves[6].leaf = 0x8000000a;
	leaves[7].leaf = 0x8000001e;
	leaves[7].r.ebx = 0x100;
	cpu_features.vendor = amd ? CPU_AMD : CPU_INTEL;
	cpu_features.max_basic = 7;
}

static void init_all(void)
{
	for (now = CPUS; now--;)
		mitigations_init_cpu();
	now = 0;
}

/* Zen 2 with old microcode: DE_CFG's bits 1 and 9, both threads kept apart. */
static void test_zen2(void **)
{
	start(true, 0x830f10);
	leaves[4].r.ebx = 0x4f000;
	leaves[6].r.edx = 1u << 20;
	add_msr(0x8b, 0x830101c);
	add_msr(0xc0011029, 0x11);
	add_msr(0x48, 4);
	init_all();
	assert_int_equal(*msr(0xc0011029), 0x213);
	assert_int_equal(*msr(0x48), 2);
	*msr(0xc0011029) = 0;
	*msr(0x8b) = 0x8301080;
	init_all();
	assert_int_equal(*msr(0xc0011029), 2);
	/* Without that feature of SVM the exits see to IA32_SPEC_CTRL. */
	leaves[6].r.edx = 0;
	*msr(0x48) = 4;
	init_all();
	assert_int_equal(*msr(0x48), 4);
	assert_int_equal(host_mitigations(0).flags & MIT_SPEC_CTRL, MIT_SPEC_CTRL);
	assert_int_equal(host_mitigations(0).spec_ctrl, 2);
	/* Registers that are not there are nobody's loss. */
	nr_msrs = 0;
	init_all();
}

static void test_zen5(void **)
{
	start(true, 0xb10f10);
	leaves[4].r.ebx = 0x6004f000;
	leaves[5].r.eax = 0xd0000104;
	leaves[7].r.ebx = 0;
	add_msr(0xc0000080, 0xd01);
	add_msr(0xc001102e, 1);
	add_msr(0xc0011029, 0);
	init_all();
	assert_int_equal(*msr(0xc0000080), 0x200d01);
	assert_int_equal(*msr(0xc001102e), 0x11);
	assert_int_equal(*msr(0xc0011029), 0);
	mitigations_tell();
	assert_string_equal(log_text, "spectre_v2: Mitigation: Automatic IBRS\n"
				      "spec_rstack_overflow: Mitigation: Reduced Speculation\n");
}

/* What firmware has switched off of microcode's own doing. */
static void test_intel(void **)
{
	start(false, 0x50654);
	leaves[2].r.edx = 0xbc000400;
	add_msr(0x10a, 1 << 25);
	add_msr(0x123, 0x3f);
	add_msr(0x8b, 1);
	init_all();
	assert_int_equal(*msr(0x123), 0x2e);
	/* SDM vol. 3, 10.11.7.1: 0 before CPUID. */
	signed_intel = msr(0x8b);
	*signed_intel = 5ull << 32;
	assert_int_equal(microcode_revision(CPU_INTEL), 7);
	signed_intel = NULL;
	*msr(0x8b) = 5ull << 32 | 9;
	assert_int_equal(microcode_revision(CPU_AMD), 9);
}

static void test_off(void **)
{
	start(false, 0x50654);
	leaves[2].r.edx = 0xbc000400;
	add_msr(0x10a, 1 << 25);
	add_msr(0x123, 0x3f);
	cmdline.mitigate_off = true;
	init_all();
	assert_int_equal(*msr(0x123), 0x3f);
	assert_int_equal(host_mitigations(1).flags, 0);
	mitigations_tell();
	assert_non_null(strstr(log_text, "! l1tf: Vulnerable: mitigate=off\n"));
	assert_null(strstr(log_text, "Mitigation"));
}

/* The report is of the worst CPU; what is forced and cannot be is one line. */
static void test_several(void **)
{
	start(false, 0x50654);
	leaves[2].r.edx = 0xbc000400;
	add_msr(0x10a, 0);
	cmdline.mitigate = MIT_VERW | MIT_IBPB_EXIT;
	init_all();
	assert_int_equal(host_mitigations(1).flags & (MIT_VERW | MIT_IBPB_EXIT | MIT_L1D_FLUSH),
			 MIT_VERW | MIT_IBPB_EXIT | MIT_L1D_FLUSH);
	leaves[2].r.edx = 0;
	now = 1;
	mitigations_init_cpu();
	now = 0;
	mitigations_tell();
	assert_non_null(strstr(log_text, "! l1tf: Vulnerable: no microcode\n"));
	assert_non_null(
		strstr(log_text,
		       "! command line: mitigate=: a CPU cannot do ibpb_exit: left out there\n"));
	assert_null(strstr(log_text, "Not affected"));
	mitigations_init_cpu();
	log_text[0] = 0;
	mitigations_tell();
	assert_non_null(
		strstr(log_text,
		       "! command line: mitigate=: a CPU cannot do ibpb_exit: left out there\n"));
	log_text[0] = 0;
	host_mitigations_report(printk);
	assert_non_null(strstr(log_text, "\nbhi: Not affected\n"));
	assert_non_null(strstr(log_text, "\nl1tf: Vulnerable: no microcode\n"));
	/* The first CPU cannot what the second does. */
	init_all();
	leaves[2].r.edx = 0xbc000400;
	now = 1;
	mitigations_init_cpu();
	now = 0;
	log_text[0] = 0;
	mitigations_tell();
	assert_non_null(strstr(log_text, "! l1tf: Vulnerable: no microcode\n"));
	/* One that only the second CPU has. */
	cpu_own(&cpus[0], decided).affected = 0;
	cpu_own(&cpus[1], decided).affected = BIT(BUG_L1TF);
	log_text[0] = 0;
	mitigations_tell();
	assert_non_null(strstr(log_text, "l1tf: Mitigation"));
	assert_null(strstr(log_text, "mds"));
}

/*
 * Where the boot CPU needs no retpolines, all thunks are plain jumps, and a CPU that does is
 * vulnerable.
 */
static void test_thunks(void **)
{
	start(true, 0xb10f10);
	leaves[5].r.eax = 0x104; /* Automatic IBRS, LFENCE */
	now = 1;
	mitigations_init_cpu(); /* says nothing of the image */
	assert_int_equal(indirect_thunks[0][0], 0);
	now = 0;
	mitigations_init_cpu();
	for (unsigned i = 0; i < sizeof(indirect_thunks); i++)
		assert_int_equal(indirect_thunks[i / 32][i % 32], (u8)(i % 32 < 8 ? i + 24 : i));
	leaves[5].r.eax = 4;
	now = 1;
	mitigations_init_cpu();
	now = 0;
	mitigations_tell();
	assert_non_null(
		strstr(log_text, "! spectre_v2: Vulnerable: not mitigated by this version\n"));
	start(true, 0xb10f10);
	leaves[5].r.eax = 4;
	mitigations_init_cpu(); /* the boot CPU comes first */
	init_all();
	assert_int_equal(indirect_thunks[0][0], 0);
	mitigations_tell();
	assert_non_null(strstr(log_text, "spectre_v2: Mitigation: Retpolines; RSB filling\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zen2),    cmocka_unit_test(test_zen5),
		cmocka_unit_test(test_intel),   cmocka_unit_test(test_off),
		cmocka_unit_test(test_several), cmocka_unit_test(test_thunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
