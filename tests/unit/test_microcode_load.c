/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/microcode.c lib/span.c */
/*
 * Microcode on its way into CPUs that take it or not: what each register gets, when, and what is
 * said of it.
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

#define CPUS 3

static struct cpu cpus[CPUS];
static struct {
	/* takes: the revision that an update brings, whatever it says; 0: none */
	u32 signature;
	u32 revision;
	u32 takes;

	u64 platform;
} state[CPUS];
static unsigned now, writes, flushes, invalidations;
static bool amd;
static u64 address; /* what the last write was */
static size_t patch_size;
static u8 module[2][8192] __attribute__((aligned(4096)));

static struct cpu *fake_this_cpu(void)
{
	return &cpus[now];
}

static void fake_cpuid(u32 leaf, u32, struct cpuid_regs *r)
{
	*r = (struct cpuid_regs){ .eax = leaf == 1 ? state[now].signature : 0 };
	if (!leaf)
		*r = amd ? (struct cpuid_regs){ 1, 0x68747541, 0x444d4163, 0x69746e65 }
			 : (struct cpuid_regs){ 1, 0x756e6547, 0x6c65746e, 0x49656e69 };
}

static void fake_wbinvd(void)
{
	flushes++;
}

/* The patch's first page, then its last, behind the write. */
static void fake_invlpg(const void *va)
{
	assert_ptr_equal(va, (const u8 *)address + (invalidations % 2 ? patch_size - 1 : 0));
	assert_int_equal(writes, invalidations++ / 2 + 1);
}

#define invlpg fake_invlpg
#define this_cpu fake_this_cpu
#define cpuid fake_cpuid
#define cpu_wbinvd fake_wbinvd
#define phys_to_virt(pa) ((void *)&module[(pa) >> 20][(pa) & 0xfffff])
#include "kernel/cpu/microcode.c"
#include "tests/unit/fake_log.h"

int host_rdmsr(u32 msr, u64 *value)
{
	assert_int_equal(msr, 0x17);
	*value = state[now].platform;
	return 0;
}

int host_wrmsr(u32 msr, u64 value)
{
	assert_int_equal(msr, amd ? 0xc0010020 : 0x79);
	assert_int_equal(flushes, ++writes);
	address = value;
	if (!state[now].takes)
		return -1;
	state[now].revision = state[now].takes;
	return 0;
}

u32 microcode_revision(enum cpu_vendor vendor)
{
	assert_int_equal(vendor, amd ? CPU_AMD : CPU_INTEL);
	return state[now].revision;
}

unsigned host_cpu_count(void)
{
	return CPUS;
}

struct cpu *cpu_get(unsigned id)
{
	return &cpus[id];
}

/* An update of 1000 bytes of data for all of Intel's CPUs with that signature. Returns its size. */
static size_t intel_update(u8 *at, u32 signature, u32 revision)
{
	const u32 h[12] = {
		1, revision, 0,   signature, -(1 + revision + signature + 1 + 996 + 1044),
		1, 0,        996, 1044
	};

	memset(at, 0, 1044);
	memcpy(at, h, sizeof(h));
	return 1044;
}

static struct bootinfo boot;

static void give(unsigned i, const char *name, size_t size)
{
	boot.nr_modules = i + 1;
	boot.module[i].start = (u64)i << 20;
	boot.module[i].end = boot.module[i].start + size;
	snprintf(boot.module[i].string, sizeof(boot.module[i].string), "%s", name);
}

static int setup(void **)
{
	memset(state, 0, sizeof(state));
	memset(cpus, 0, sizeof(cpus));
	memset(&boot, 0, sizeof(boot));
	update = (struct microcode){ 0 };
	for (unsigned i = 0; i < CPUS; i++) {
		state[i].signature = 0x50657;
		state[i].revision = 5;
		state[i].takes = 9;
	}
	amd = false;
	log_text[0] = 0;
	now = writes = flushes = invalidations = 0;
	return 0;
}

static void start_others(void)
{
	for (now = 1; now < CPUS; now++)
		microcode_init_cpu();
	now = 0;
	microcode_tell();
}

static void test_intel(void **)
{
	static const u32 moved[] = { 1, 9, 0, 0x50657 };
	/* The second of two, at an address that no update may have. */
	size_t first = intel_update(module[0], 0x50654, 9),
	       second = intel_update(module[0] + first, 0x50657, 9);

	assert_int_equal(first % 16, 4);
	give(0, "microcode:06-55-07 and more", first + second);
	microcode_init(&boot);
	assert_int_equal(address, (u64)module[0] + 1040 + 48);
	assert_memory_equal(module[0] + 1040, moved, sizeof(moved));
	assert_string_equal(log_text, "microcode:06-55-07: revision 0x9 in place of 0x5\n");
	state[2].revision = 9; /* the other thread of a core has it already */
	start_others();
	assert_int_equal(writes, 2);
	assert_string_equal(strchr(log_text, '\n'), "\n");
	assert_int_equal(cpu_own(&cpus[0], revision) + cpu_own(&cpus[1], revision) +
				 cpu_own(&cpus[2], revision),
			 27);
}

/* The newest of several, whichever comes first; what is behind the last module is none. */
static void test_newest(void **)
{
	for (unsigned i = 0; i < 2; i++) {
		setup(NULL);
		give(0, "microcode:a", intel_update(module[0], 0x50657, i ? 9 : 8));
		give(1, "microcode:b", intel_update(module[1], 0x50657, i ? 8 : 9));
		microcode_init(&boot);
		assert_string_equal(log_text, i ? "microcode:a: revision 0x9 in place of 0x5\n"
						: "microcode:b: revision 0x9 in place of 0x5\n");
		assert_int_equal(writes, 1);
	}
	setup(NULL);
	give(0, "microcode:a", intel_update(module[0], 0x50657, 9));
	give(1, "microcode:b", 5);
	boot.nr_modules = 1;
	microcode_init(&boot);
	assert_null(strstr(log_text, "microcode:b"));
}

static void test_unlike(void **)
{
	give(0, "microcode:a", intel_update(module[0], 0x50657, 9));
	microcode_init(&boot);
	state[1].signature = 0x50656;
	state[2].platform = 1ull << 50;
	start_others();
	assert_int_equal(writes, 1);
	assert_non_null(
		strstr(log_text, "\n! CPU 1: microcode revision 0x5, the boot CPU's is 0x9: "));
	assert_non_null(
		strstr(log_text, "\n! CPU 2: microcode revision 0x5, the boot CPU's is 0x9: "));
}

static void test_refused(void **)
{
	state[0].takes = 0;
	give(0, "microcode:a", intel_update(module[0], 0x50657, 9));
	microcode_init(&boot);
	assert_string_equal(log_text,
			    "! microcode:a: the CPU does not take revision 0x9, it has 0x5\n");
	assert_int_equal(cpu_own(&cpus[0], revision), 5);
	assert_int_equal(writes, 1);
}

static void test_not_for_it(void **)
{
	give(0, "microcode:a", intel_update(module[0], 0x50657, 5));
	give(1, "microcode:b", intel_update(module[1], 0x50654, 9));
	microcode_init(&boot);
	assert_string_equal(log_text,
			    "microcode:a: revision 0x5, the CPU has 0x5: ignored\n"
			    "microcode:b: nothing for this CPU (CPUID 1 EAX 0x50657): ignored\n");
	start_others();
	assert_int_equal(writes, 0);
	setup(NULL);
	give(0, "initrd", intel_update(module[0], 0x50657, 9));
	boot.nr_modules = 2;
	snprintf(boot.module[1].string, sizeof(boot.module[1].string), "microcode:high");
	boot.module[1].start = 0xffff0000;
	boot.module[1].end = 0x100000001;
	microcode_init(&boot);
	assert_string_equal(log_text, "! microcode:high: above 4 GiB: ignored\n");
}

/* A file with one patch, of so many bytes, for CPUs with that signature. */
static void amd_file(u32 signature, u32 size)
{
	const u32 head[] = { 0x00414d44, 0, 32, signature, 0, 0, 0xa011, 0, 0, 0, 0, 1, size };

	amd = true;
	patch_size = size;
	for (unsigned i = 0; i < CPUS; i++)
		state[i].signature = signature;
	memset(module[0], 0, sizeof(module[0]));
	memcpy(module[0], head, sizeof(head));
	memcpy(module[0] + 52 + 4, (const u32[]){ 9 }, 4);
	memcpy(module[0] + 52 + 24, (const u32[]){ 0xa011 }, 4);
	give(0, "microcode:amd", 52 + size);
	microcode_init(&boot);
}

/*
 * Each thread gets it, also one that reads the revision that its sibling has brought; none that has
 * a newer one.
 */
static void test_amd(void **)
{
	amd_file(0xa00f11, 128);
	assert_int_equal(address, (u64)module[0] + 48);
	assert_string_equal(log_text, "microcode:amd: revision 0x9 in place of 0x5\n");
	state[2].revision = 9;
	start_others();
	assert_int_equal(writes, 3);
	assert_int_equal(invalidations, 0);
	state[now = 1].revision = 10;
	microcode_init_cpu();
	assert_int_equal(writes, 3);
	assert_int_equal(cpu_own(&cpus[1], revision), 10);
}

static void test_zen(void **)
{
	amd_file(0x800f12, 4080);
	start_others();
	assert_int_equal(writes, 3);
	assert_int_equal(invalidations, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_intel, setup),
		cmocka_unit_test(test_newest),
		cmocka_unit_test_setup(test_unlike, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_not_for_it, setup),
		cmocka_unit_test_setup(test_amd, setup),
		cmocka_unit_test_setup(test_zen, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
