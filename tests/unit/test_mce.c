/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/mce_judge.c */
/*
 * Machine checks: what an error in a bank means, by the tables of the SDM and the APM; and what the
 * node does with it, over banks that this file has, in both vendors' places. kernel/errors/mce.c
 * and kernel/memory/lost.c are included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "tests/unit/fake_limited.h"
#include "kernel/percpu.h"

static struct cpu this;
static u64 tsc;
static struct cpuid_regs leaf_1, leaf_7;

static struct cpuid_regs cpuid_of(u32 leaf)
{
	if (leaf == 0x80000000)
		return (struct cpuid_regs){ .eax = 0x80000008 };
	return leaf == 1 ? leaf_1 : leaf_7;
}

#define cpuid(leaf, subleaf, r) (*(r) = cpuid_of(leaf))
#define this_cpu() (&this)
#define rdtsc() tsc
#include "kernel/errors/mce.c"
#include "kernel/memory/lost.c"

#define BANKS 4
enum { FIRST = 0x400, SMCA = 0xc0002000 };

static struct bank_regs {
	u64 ctl;
	u64 status;
	u64 address;
	u64 misc;
	u64 config;
	u64 destat;
	u64 deaddr;
} bank[BANKS];
static u64 mcg_cap, mcg_status, mcg_ctl, mcg_ext, feature_control;
static char lines[1000];
static unsigned ended;
static enum mce_verdict by_firmware;
static unsigned firmware_asked;

/* ---- the machine ---- */

static u64 *msr_of(u32 msr)
{
	bool smca = leaf_7.ebx & 8;
	u32 first = smca ? SMCA : FIRST, step = smca ? 16 : 4, n = (msr - first) / step,
	    reg = (msr - first) % step;
	u64 *const general[] = { &mcg_cap, &mcg_status, &mcg_ctl };

	if (msr >= 0x179 && msr <= 0x17b)
		return msr == 0x17b && !(mcg_cap & BIT(8)) ? NULL : general[msr - 0x179];
	if (msr == 0x3a)
		return &feature_control;
	assert_true(msr != 0x4d0 || mcg_cap & BIT(27));
	if (msr == 0x4d0)
		return &mcg_ext;
	/* There are more than MCG_CAP counts, and nobody looks at them. */
	assert_true(msr >= first && n < (mcg_cap & 0xff));
	if (reg == 0)
		return &bank[n].ctl;
	if (reg == 1)
		return &bank[n].status;
	if (reg == 2)
		return &bank[n].address;
	if (reg == 3)
		return &bank[n].misc;
	if (smca && reg == 4)
		return &bank[n].config;
	if (smca && reg == 8)
		return &bank[n].destat;
	return smca && reg == 9 ? &bank[n].deaddr : NULL;
}

int host_rdmsr(u32 msr, u64 *value)
{
	const u64 *at = msr_of(msr);

	*value = at ? *at : 0;
	return at ? 0 : -EFAULT;
}

int host_wrmsr(u32 msr, u64 value)
{
	u64 *at = msr_of(msr);

	/* Locked; and LMCE before firmware, or we, have said so for good (16.3.1.5). */
	if ((at == &feature_control && feature_control & 1) ||
	    (at == &mcg_ext && (feature_control & 0x100001) != 0x100001))
		fail_msg("#GP: WRMSR %#x", msr);
	/* What is neither 0 nor a bank's control faults. */
	assert_true(!value || (at != &bank[0].status && at != &mcg_status));
	if (at)
		*at = value;
	return at ? 0 : -EFAULT;
}

u64 host_tsc_khz(void)
{
	return 1000000;
}

static u64 limited_now(void)
{
	return tsc;
}

void printk_error(const char *fmt, ...)
{
	size_t used = strlen(lines);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(lines + used, sizeof(lines) - used, fmt, ap);
	va_end(ap);
	strcat(lines, "\n");
}

static u64 used_page;

static void end(struct host_work *work, enum host_fault why, u64 lost)
{
	assert_true(work == this.work && why == HOST_MACHINE_CHECK);
	used_page = lost;
	ended++;
}

static bool core_is_vms; /* all threads of this core were in one VM's guest mode */

static bool whose_core(struct host_work *work)
{
	assert_ptr_equal(work, this.work);
	return core_is_vms;
}

static struct host_work work = { .fault = end, .core_is_vms = whose_core };

static int reset(void **)
{
	memset(bank, 0, sizeof(bank));
	mcg_cap = BANKS | BIT(8) | BIT(24);
	mcg_status = mcg_ctl = mcg_ext = feature_control = ended = 0;
	leaf_1 = leaf_7 = (struct cpuid_regs){ 0 };
	corrected = uncorrected = 0;
	memset(limit, 0, sizeof(limit));
	named.free = named.unsaid = 0;
	firmware_asked = 0;
	core_is_vms = false;
	by_firmware = MCE_NONE;
	this = (struct cpu){ .id = 3, .work = &work };
	lines[0] = 0;
	return 0;
}

/* The boot CPU's business. */
bool ghes_look(void)
{
	fail();
	return false;
}

enum mce_verdict ghes_judge(u64 *page)
{
	firmware_asked++;
	*page = 0x66000;
	return by_firmware;
}

static unsigned begun;

/* Lines of the boot. */
void corrected_tell(void) { }

void printk(const char *, ...) { }

void corrected_begin(void)
{
	begun++;
}

static void expect(const char *text)
{
	assert_string_equal(lines, text);
	lines[0] = 0;
}

/* ---- what it means ---- */

#define VAL (1ull << 63)
#define OVER (1ull << 62)
#define UC (1ull << 61)
#define MISCV (1ull << 59)
#define ADDRV (1ull << 58)
#define PCC (1ull << 57)
#define S (1ull << 56)
#define AR (1ull << 55)
#define DEFERRED (1ull << 44)
#define WHERE (ADDRV | MISCV)

static void test_judge(void **)
{
	static const struct mce_kind old, ser = { .ser = true }, amd = { .succor = true };
	static const struct mce_kind new_amd = { .succor = true, .overflow = true };
	/* looked: without a machine check. */
	static const struct {
		const struct mce_kind *kind;
		u64 status;
		enum mce_verdict taken;
		enum mce_verdict looked;
	} table[] = {
		{ &ser, 0, MCE_NONE, MCE_NONE },
		{ &ser, ~VAL, MCE_NONE, MCE_NONE },
		{ &old, VAL, MCE_CORRECTED, MCE_CORRECTED },
		{ &ser, VAL | OVER, MCE_CORRECTED, MCE_CORRECTED },
		{ &ser, VAL | S | AR, MCE_CORRECTED, MCE_CORRECTED },
		{ &ser, VAL | DEFERRED, MCE_CORRECTED, MCE_CORRECTED },
		{ &old, VAL | UC, MCE_FATAL, MCE_NONE },
		{ &old, VAL | UC | S | AR | WHERE, MCE_FATAL, MCE_NONE },
		{ &ser, VAL | UC | PCC, MCE_FATAL, MCE_NONE },
		{ &ser, VAL | UC | PCC | S | AR | WHERE, MCE_FATAL, MCE_NONE },
		/* Intel: no action required, optional, required. */
		{ &ser, VAL | UC, MCE_LOST, MCE_LOST },
		{ &ser, VAL | UC | S | OVER, MCE_LOST, MCE_LOST },
		{ &ser, VAL | UC | AR | WHERE, MCE_LOST, MCE_LOST },
		{ &ser, VAL | UC | S | AR | WHERE, MCE_USED, MCE_NONE },
		{ &ser, VAL | UC | S | AR | WHERE | OVER, MCE_FATAL, MCE_NONE },
		/*
		 * What a data load or an instruction fetch hides was of that core, too (16.9.3.2);
		 * filtered or not.
		 */
		{ &ser, VAL | UC | S | AR | WHERE | OVER | 0x134, MCE_USED_BY_CORE, MCE_NONE },
		{ &ser, VAL | UC | S | AR | WHERE | OVER | 0x1150, MCE_USED_BY_CORE, MCE_NONE },
		{ &ser, VAL | UC | S | AR | ADDRV | OVER | 0x134, MCE_FATAL, MCE_NONE },
		{ &ser, VAL | UC | S | AR | WHERE | OVER | PCC | 0x134, MCE_FATAL, MCE_NONE },
		{ &ser, VAL | UC | S | AR | WHERE | 0x134, MCE_USED, MCE_NONE },
		{ &ser, VAL | UC | S | AR | ADDRV, MCE_FATAL, MCE_NONE },
		{ &ser, VAL | UC | S | AR | MISCV, MCE_FATAL, MCE_NONE },
		{ &amd, VAL | DEFERRED, MCE_LOST, MCE_LOST },
		{ &amd, VAL | UC, MCE_USED, MCE_NONE },
		{ &amd, VAL | UC | OVER, MCE_FATAL, MCE_NONE },
		{ &new_amd, VAL | UC | OVER, MCE_USED, MCE_NONE },
		{ &new_amd, VAL | UC | PCC, MCE_FATAL, MCE_NONE },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		/* EIPV: it is this instruction's. */
		assert_int_equal(mce_judge(table[i].kind, table[i].status, true, 2),
				 table[i].taken);
		assert_int_equal(mce_judge(table[i].kind, table[i].status, true, 3),
				 table[i].taken);
		assert_int_equal(mce_judge(table[i].kind, table[i].status, false, 0),
				 table[i].looked);
	}
	/* The core's other CPU has used it. */
	assert_int_equal(mce_judge(&ser, VAL | UC | S | AR | WHERE, true, 1), MCE_NONE);
	/* Nobody knows who. */
	assert_int_equal(mce_judge(&ser, VAL | UC | S | AR | WHERE, true, 0), MCE_USED);
}

static void test_page(void **)
{
	static const struct mce_kind ser = { .ser = true }, amd = { .succor = true };
	u64 page = 1;

	assert_true(mce_page(&ser, WHERE, 0xfff0123456789abc, 2 << 6 | 12, &page));
	assert_true(page == 0x123456789000);
	assert_true(mce_page(&ser, WHERE, 0x1fff, 2 << 6 | 6, &page));
	assert_true(page == 0x1000);
	/* More than a page, a linear address, none. */
	assert_false(mce_page(&ser, WHERE, 0, 2 << 6 | 13, &page) ||
		     mce_page(&ser, WHERE, 0, 1 << 6 | 12, &page) ||
		     mce_page(&ser, WHERE, 0, 12, &page) ||
		     mce_page(&ser, ADDRV, 0, 2 << 6 | 12, &page) ||
		     mce_page(&ser, MISCV, 0, 2 << 6 | 12, &page) ||
		     mce_page(&amd, MISCV, 0, 2 << 6 | 12, &page));
	assert_true(mce_page(&amd, ADDRV, 0x2fff, 0, &page));
	assert_true(page == 0x2000);
}

/* ---- what is done ---- */

static void test_init(void **)
{
	for (unsigned smca = 0; smca < 2; smca++) {
		reset(NULL);
		leaf_7.ebx = smca * 8;
		mcg_cap |= BIT(27);
		feature_control = BIT(20) | 5;
		bank[1].status = VAL | UC | PCC | WHERE;
		bank[1].address = 0x1234;
		bank[1].misc = 0x8c;
		bank[2].config = 1;
		mce_init_cpu();
		expect("machine check: CPU 3, bank 1: from before this boot: status 0xae00000000000000 address 0x1234 misc 0x8c\n");
		for (unsigned i = 0; i < BANKS; i++) {
			assert_true(bank[i].ctl == ~0ull && !bank[i].status);
			assert_int_equal(bank[i].config >> 32, smca);
		}
		assert_int_equal(bank[2].config & 1, 1);
		assert_true(mcg_ctl == ~0ull && mcg_ext == 1);
	}
	/* Each by what the CPU says of it. */
	reset(NULL);
	mcg_cap = BANKS | BIT(27);
	mce_init_cpu();
	assert_true(!mcg_ctl && mcg_ext == 1 && feature_control == (BIT(20) | 1));
	reset(NULL);
	/* Left to us: no more of it than this CPU has. */
	mcg_cap = BANKS | BIT(27);
	leaf_1.ecx = 0x20;
	feature_control = 0x40000;
	mce_init_cpu();
	assert_true(mcg_ext == 1 && feature_control == (BIT(20) | 0x40005));
	/* Locked without; and a CPU that has none. */
	reset(NULL);
	mcg_cap = BANKS | BIT(27);
	feature_control = 5;
	mce_init_cpu();
	mcg_cap = BANKS;
	feature_control = 0;
	mce_init_cpu();
	assert_true(!mcg_ctl && !mcg_ext && !feature_control);
	reset(NULL);
	mcg_cap = 0;
	mce_init_cpu();
	assert_true(!bank[0].ctl);
}

static void test_look(void **)
{
	u64 lost;

	tsc = 10000000000;
	bank[0].status = VAL | ADDRV;
	bank[0].address = 0x77;
	bank[0].misc = 0x99;
	bank[3].status = VAL | UC | S | AR | WHERE; /* its machine check is on its way */
	mce_look();
	assert_int_equal(begun, 1);
	expect("machine check: CPU 3, bank 0: corrected: status 0x8400000000000000 address 0x77 misc 0\n");
	assert_true(!bank[0].status && bank[3].status);
	bank[0].status = VAL;
	tsc += 9999999999;
	mce_look();
	assert_true(bank[0].status);
	tsc++;
	mce_look();
	expect("machine check: CPU 3, bank 0: corrected: status 0x8000000000000000 address 0 misc 0\n");
	/* Many are counted, not told. */
	for (unsigned i = 3; i <= 20; i++) {
		bank[1].status = VAL;
		tsc += 10000000000;
		lines[0] = 0;
		mce_look();
		assert_int_equal(lines[0] != 0, i <= 16);
	}
	assert_int_equal(host_machine_checks(&lost), 20);
	assert_int_equal(lost, 0);
	assert_int_equal(begun, 1);
	/* What is lost nobody knows where is limited, as what a guest uses again and again. */
	for (unsigned i = 1; i <= 20; i++) {
		bank[1].status = VAL | UC;
		lines[0] = 0;
		mce_look_now();
		assert_int_equal(lines[0] != 0, i <= 16);
	}
	bank[1].status = VAL | UC;
	tsc += LOG_LIMIT_MS * LIMITED_KHZ;
	mce_look_now();
	assert_non_null(strstr(lines, " misc 0, 4 more since the last line\n"));
	assert_int_equal(host_machine_checks(&lost), 20);
	assert_int_equal(lost, 21);
	assert_int_equal(ended, 0);
}

/* SMCA: a deferred error that another one hides in STATUS, or that stands in both places. */
static void test_deferred(void **)
{
	leaf_7.ebx = 0xa;
	mcg_cap = BANKS | BIT(8);
	tsc = 10000000000;
	bank[1].status = VAL;
	bank[1].destat = VAL | ADDRV | MISCV | DEFERRED;
	bank[1].deaddr = 0x23456;
	bank[1].misc = 0x99;
	mce_look();
	expect("machine check: CPU 3, bank 1: corrected: status 0x8000000000000000 address 0 misc 0\n"
	       "machine check: CPU 3, bank 1: memory is lost that nobody has used since: status 0x8c00100000000000 address 0x23456 "
	       "misc 0\nmemory: the page at 0x23000 is given to nobody any more\n");
	assert_true(!bank[1].status && !bank[1].destat && corrected == 1 && uncorrected == 1);
	tsc += 10000000000;
	bank[2].status = bank[2].destat = VAL | ADDRV | DEFERRED;
	bank[2].address = bank[2].deaddr = 0x23400;
	mce_look();
	/* The same page is no news. */
	expect("");
	assert_true(!bank[2].status && !bank[2].destat && uncorrected == 2);
	/* What was there before the boot, and banks that are not SMCA's. */
	bank[2].destat = VAL;
	mce_init_cpu();
	assert_true(!bank[2].destat);
	leaf_7.ebx = 2;
	bank[2].destat = VAL | DEFERRED;
	tsc += 10000000000;
	mce_look();
	expect("");
}

static void test_used(void **)
{
	/* The worst of several decides, in whatever order; all are told, and gone. */
	for (unsigned i = 0; i < 2; i++) {
		reset(NULL);
		bank[i ? 3 : 1].status = VAL | UC | S | AR | WHERE;
		bank[i ? 3 : 1].address = 0x5123 + i * 0x1000;
		bank[i ? 3 : 1].misc = 2 << 6 | 6;
		bank[2].status = VAL;
		mcg_status = 6;
		assert_int_equal(mce_taken(MC_IN_GUEST), MC_GOES_ON);
		assert_int_equal(ended, 1);
		assert_int_equal(used_page, 0x5002 + i * 0x1000);
		assert_int_equal(host_memory_lost_in(0x5000 + i * 0x1000, 0x10000),
				 0x5000 + i * 0x1000);
		assert_true(!bank[1].status && !bank[2].status && !bank[3].status && !mcg_status);
		assert_non_null(strstr(lines, "bank 2: corrected"));
		assert_non_null(strstr(
			lines,
			"memory is lost that was in use here: status 0xad80000000000000 address 0x"));
	}
	/* Two pages are more than one can be told of; and what tells of none. */
	for (unsigned i = 0; i < 2; i++) {
		bank[1].status = bank[2].status = VAL | UC | S | AR | WHERE;
		bank[1].misc = bank[2].misc = i ? 1 << 6 : 2 << 6 | 6;
		bank[1].status = i ? 0 : bank[1].status;
		mcg_status = 7;
		assert_int_equal(mce_taken(MC_IN_GUEST), MC_GOES_ON);
		assert_int_equal(used_page, HOST_LOST_UNKNOWN);
	}
	ended = 1;
	/* By the hypervisor. */
	bank[1].status = VAL | UC | S | AR | WHERE;
	mcg_status = 7;
	lines[0] = 0;
	assert_int_equal(mce_taken(MC_IN_ROOT), MC_STOPS);
	assert_int_equal(ended, 1);
	assert_non_null(strstr(lines, "machine check: CPU 3 cannot go on: MCG_STATUS 0x7\n"));
}

/*
 * An access of mc_access.h fails, and nobody is ended here, where the CPU means that instruction
 * and says which page (16.3.1.2).
 */
static void test_access(void **)
{
	static const struct {
		u64 status;
		u64 misc;
		u64 mcg_status;
		enum mc_outcome outcome;
	} table[] = {
		{ VAL | UC | S | AR | WHERE, 2 << 6 | 6, 6, MC_ACCESS_FAILS },
		{ VAL | UC | S | AR | WHERE, 2 << 6 | 6, 7, MC_ACCESS_FAILS },
		/*
		 * Not this instruction's; of no known page; several; an error that is no memory's;
		 * nothing that concerns it.
		 */
		{ VAL | UC | S | AR | WHERE, 2 << 6 | 6, 4, MC_STOPS },
		{ VAL | UC | S | AR | WHERE, 1 << 6 | 6, 7, MC_STOPS },
		{ VAL | UC | S | AR | WHERE | OVER, 2 << 6 | 6, 7, MC_STOPS },
		{ VAL | UC | PCC, 0, 7, MC_STOPS },
		{ VAL | UC | S | WHERE, 2 << 6 | 6, 5, MC_GOES_ON },
		{ VAL | UC | S | AR | WHERE, 2 << 6 | 6, 5, MC_GOES_ON },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		reset(NULL);
		bank[1].status = table[i].status;
		bank[1].address = 0xa123;
		bank[1].misc = table[i].misc;
		mcg_status = table[i].mcg_status;
		cpu_own(&this, failed_page) = 0;
		assert_int_equal(mce_taken(MC_IN_ACCESS), table[i].outcome);
		assert_int_equal(host_failed_page(),
				 table[i].outcome == MC_ACCESS_FAILS ? 0xa000 : 0);
		assert_true(!ended && !firmware_asked);
		assert_int_equal(mcg_status,
				 table[i].outcome == MC_STOPS ? table[i].mcg_status : 0);
	}
	/* AMD's: uncorrected, and poison (APM vol. 2, 9.3.2.2). */
	reset(NULL);
	leaf_7.ebx = 2;
	mcg_cap = BANKS;
	bank[1].status = VAL | UC | ADDRV;
	bank[1].address = 0xb123;
	mcg_status = 7;
	assert_int_equal(mce_taken(MC_IN_ACCESS), MC_ACCESS_FAILS);
	assert_int_equal(host_failed_page(), 0xb000);
}

/*
 * A guest's machine check of which no bank tells is what firmware tells of it; not the
 * hypervisor's, nor another CPU's.
 */
static void test_firmware(void **)
{
	static const struct {
		enum mce_verdict verdict;
		bool of_guest;
		bool asked;
		bool goes_on;
		u64 mcg_status;
	} table[] = {
		{ MCE_USED, true, true, true, 7 },    { MCE_USED, true, true, true, 6 },
		{ MCE_USED, true, true, true, 4 },    { MCE_USED, true, false, true, 5 },
		{ MCE_USED, false, false, false, 4 }, { MCE_USED, false, false, true, 7 },
		{ MCE_FATAL, true, true, false, 7 },  { MCE_NONE, true, true, true, 7 },
		{ MCE_NONE, true, true, false, 4 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		reset(NULL);
		by_firmware = table[i].verdict;
		mcg_status = table[i].mcg_status;
		assert_int_equal(mce_taken(table[i].of_guest ? MC_IN_GUEST : MC_IN_ROOT),
				 table[i].goes_on ? MC_GOES_ON : MC_STOPS);
		assert_int_equal(firmware_asked, table[i].asked);
		assert_int_equal(ended, table[i].asked && table[i].verdict == MCE_USED);
		assert_true(!ended || used_page == (0x66000 | (table[i].mcg_status & 3)));
	}
	/* A bank tells: that is it. */
	reset(NULL);
	bank[0].status = VAL;
	mcg_status = 7;
	assert_true(mce_taken(MC_IN_GUEST) == MC_GOES_ON && !firmware_asked && !ended);
}

/*
 * Two threads of a core have read a lost page at once: one error hides the other (OVER), or one
 * thread has emptied the bank for the other. That VM ends if the whole core was its guest's, else
 * the node; without a page, for there may be more than one.
 */
static void test_core(void **)
{
	static const struct {
		u64 status;
		u64 mcg_status;
		bool over;
		enum mc_outcome vms;
		enum mc_outcome others;
	} table[] = {
		{ VAL | UC | S | AR | WHERE | OVER | 0x134, 7, true, MC_GOES_ON, MC_STOPS },
		{ VAL | UC | S | AR | WHERE | OVER | 0x150, 6, true, MC_GOES_ON, MC_STOPS },
		{ 0, 6, false, MC_GOES_ON, MC_STOPS },
		{ 0, 4, false, MC_GOES_ON, MC_STOPS },
		{ VAL, 4, false, MC_GOES_ON, MC_STOPS },
		{ VAL | UC | S | WHERE, 4, false, MC_GOES_ON, MC_STOPS },
		{ VAL | UC | S | AR | WHERE | OVER, 7, true, MC_STOPS, MC_STOPS },
		{ VAL | UC | PCC | OVER | 0x134, 7, true, MC_STOPS, MC_STOPS },
	};

	for (unsigned i = 0; i < 3 * ARRAY_SIZE(table); i++) {
		bool guest = i % 3 != 2;
		enum mc_outcome outcome = i % 3 == 1 ? table[i / 3].vms : table[i / 3].others;

		reset(NULL);
		core_is_vms = i % 3;
		bank[2].status = table[i / 3].status;
		bank[2].address = 0xd0000 + i * PAGE_SIZE;
		bank[2].misc = 2 << 6 | 6;
		mcg_status = table[i / 3].mcg_status;
		assert_int_equal(mce_taken(guest ? MC_IN_GUEST : MC_IN_ACCESS), outcome);
		assert_int_equal(ended, outcome == MC_GOES_ON);
		assert_true(!ended || used_page == HOST_LOST_UNKNOWN);
		/* What ends the node is left in the bank. */
		assert_true(outcome == MC_GOES_ON || !table[i / 3].over || bank[2].status);
		assert_int_equal(!strstr(lines, "and more that no bank tells of"),
				 outcome == MC_STOPS || !table[i / 3].over);
	}
	/* A second bank names a page: that is one of several. */
	reset(NULL);
	core_is_vms = true;
	bank[1] = (struct bank_regs){ .status = VAL | UC | S | AR | WHERE | 0x134,
				      .address = 0xd5000,
				      .misc = 2 << 6 | 6 };
	bank[2] = bank[1];
	bank[2].status |= OVER;
	mcg_status = 7;
	assert_int_equal(mce_taken(MC_IN_GUEST), MC_GOES_ON);
	assert_int_equal(used_page, HOST_LOST_UNKNOWN);
	/* The page that the bank does name is known. */
	assert_int_equal(host_memory_lost_in(0xd0000, 0xe0000), 0xd1000);
}

/*
 * A guest that reads a lost page again and again has one line of it, whether by the bank of one CPU
 * or another.
 */
static void test_told_once(void **)
{
	for (unsigned i = 0; i < 100; i++) {
		bank[i % 3].status = VAL | UC | S | AR | WHERE;
		bank[i % 3].address = 0xc000 + i;
		bank[i % 3].misc = 2 << 6 | 6;
		mcg_status = 7;
		assert_int_equal(mce_taken(MC_IN_GUEST), MC_GOES_ON);
		assert_true(ended == i + 1 && used_page == 0xc003 && uncorrected == i + 1);
	}
	expect("machine check: CPU 3, bank 0: memory is lost that was in use here: status 0xad80000000000000 address 0xc000 "
	       "misc 0x86\nmemory: the page at 0xc000 is given to nobody any more\n");
	/* Each page is told, however many at once. */
	for (unsigned i = 0; i < 40; i++) {
		bank[0].status = VAL | UC | S | AR | WHERE;
		bank[0].address = GIB(1) + i * PAGE_SIZE;
		bank[0].misc = 2 << 6 | 6;
		lines[0] = 0;
		mce_taken(MC_IN_GUEST);
		assert_non_null(strstr(lines, "memory is lost that was in use here"));
	}
	/* What ends the node is told each time. */
	for (unsigned i = 0; i < 2; i++) {
		bank[0].status = VAL | UC | S | AR | WHERE | PCC;
		bank[0].address = 0xc000;
		lines[0] = 0;
		assert_int_equal(mce_taken(MC_IN_GUEST), MC_STOPS);
		assert_non_null(strstr(lines, "not to be recovered from"));
	}
}

static void test_fatal(void **)
{
	bank[2].status = VAL | UC | PCC;
	mcg_status = 5;
	assert_int_equal(mce_taken(MC_IN_GUEST), MC_STOPS);
	assert_true(bank[2].status && mcg_status && !ended);
	expect("machine check: CPU 3, bank 2: not to be recovered from: status 0xa200000000000000 address 0 misc 0\n"
	       "machine check: CPU 3 cannot go on: MCG_STATUS 0x5\n");
	/* Nothing found: told to all CPUs, and another's. But only where this one can go on. */
	reset(NULL);
	mcg_status = 5;
	assert_true(mce_taken(MC_IN_GUEST) == MC_GOES_ON && !mcg_status && !ended);
	assert_true(mce_taken(MC_IN_ROOT) == MC_STOPS);
	mcg_status = 1;
	assert_int_equal(mce_taken(MC_IN_ROOT), MC_GOES_ON);
	bank[0].status = VAL | UC | S | WHERE;
	bank[0].address = 0x9000;
	bank[0].misc = 2 << 6 | 12;
	mcg_status = 1;
	assert_true(mce_taken(MC_IN_ROOT) == MC_GOES_ON && !ended && !bank[0].status);
	assert_int_equal(host_memory_lost_in(0x8000, 0xa000), 0x9000);
}

static unsigned heard;

static void listen(void)
{
	heard++;
}

static void test_lost(void **)
{
	u64 page;

	/* By the looks of the tests before, to nobody. */
	memset(lost, 0, sizeof(lost));
	told = 0;
	lines[0] = 0;
	memory_lost_tell();
	memory_lost(0x7000);
	memory_lost_tell();
	host_on_memory_lost(listen);
	memory_lost_tell();
	memory_lost_tell();
	assert_int_equal(heard, 1);
	memory_lost(0x8000);
	memory_lost(0x7000);
	/* Where a CPU looks around anyway; each once. */
	mce_look();
	mce_look();
	assert_int_equal(heard, 2);
	assert_true(host_memory_lost(0, &page) && page == 0x7000 && host_memory_lost(1, &page) &&
		    page == 0x8000);
	assert_false(host_memory_lost(2, &page) || host_memory_lost(64, &page));
	memset(lost, 0, sizeof(lost));
	told = 0;
	lines[0] = 0;
	assert_int_equal(host_memory_lost_in(0x100000, 0x200000), 0x200000);
	memory_lost(0x180000);
	memory_lost(0x140000);
	memory_lost(0x180000);
	expect("memory: the page at 0x180000 is given to nobody any more\n"
	       "memory: the page at 0x140000 is given to nobody any more\n");
	assert_int_equal(host_memory_lost_in(0x100000, 0x200000), 0x140000);
	assert_int_equal(host_memory_lost_in(0x140000, 0x200000), 0x140000);
	assert_int_equal(host_memory_lost_in(0x141000, 0x200000), 0x180000);
	assert_int_equal(host_memory_lost_in(0x141000, 0x180000), 0x180000);
	assert_int_equal(host_memory_lost_in(0x181000, 0x200000), 0x200000);
	memory_lost(0x1c0000);
	assert_int_equal(host_memory_lost_in(0x100000, 0x200000), 0x140000);
	/* The page at 0 is one. */
	memory_lost(0);
	assert_int_equal(host_memory_lost_in(0, 0x1000), 0);
	for (u64 i = 0; i < 60; i++) {
		lines[0] = 0;
		memory_lost(GIB(1) + i * PAGE_SIZE);
	}
	assert_true(memory_lost_told(0) && memory_lost_told(GIB(1)) && !memory_lost_told(GIB(2)));
	lines[0] = 0;
	for (u64 i = 60; i < 70; i++)
		memory_lost(GIB(1) + i * PAGE_SIZE);
	expect("memory: the page at 0x4003c000, and each from now on, is one too many to be kept out of use: restart the node\n");
	assert_true(memory_lost_told(GIB(2)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_page),
		cmocka_unit_test_setup(test_init, reset),
		cmocka_unit_test_setup(test_look, reset),
		cmocka_unit_test_setup(test_deferred, reset),
		cmocka_unit_test_setup(test_used, reset),
		cmocka_unit_test_setup(test_fatal, reset),
		cmocka_unit_test_setup(test_firmware, reset),
		cmocka_unit_test_setup(test_access, reset),
		cmocka_unit_test_setup(test_core, reset),
		cmocka_unit_test_setup(test_told_once, reset),
		cmocka_unit_test(test_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
