/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * CR0, CR4, EFER and XCR0 with every bit and every pair of bits changed: taken
 * and read back, ignored, or #GP(0), as SDM vol. 3, 2.5 and 2.6, and vol. 2,
 * XSETBV, have it for the features that CPUID shows. SMSW in all its forms, with
 * the bits of CR0 and CR4 that a hypervisor hides.
 */
#include "tiny.h"

#define CR0_PE BIT(0)
#define CR0_MP BIT(1)
#define CR0_ET BIT(4)
#define CR0_WP BIT(16)
#define CR0_NW BIT(29)
#define CR0_CD BIT(30)
#define CR0_PG BIT(31)
#define CR0_DEFINED 0xe005003full
#define CR4_PAE BIT(5)
#define CR4_MCE BIT(6)
#define CR4_UMIP BIT(11)
#define CR4_LA57 BIT(12)
#define CR4_OSXSAVE BIT(18)
#define CR4_CET BIT(23)
#define EFER_LME BIT(8)
#define EFER_LMA BIT(10)

extern u64 pml4[], page_dirs[];

/* SMEP and SMAP may come on: no page that we use is the user's. */
static void supervisor_pages(void)
{
	u64 *pdpt = (u64 *)(pml4[0] & ~0xfffull);

	pml4[0] &= ~4ull;
	for (unsigned i = 0; i < 4; i++)
		pdpt[i] &= ~4ull;
	for (unsigned i = 0; i < 2048; i++)
		page_dirs[i] &= ~4ull;
	write_cr3(read_cr3());
}

/* Features by the CR4 bit that each brings. */
static const struct {
	/* reg: 0-3 EAX-EDX */
	u8 bit;
	u8 reg;

	u32 leaf;
	u8 feature;
} cr4_bits[] = {
	{ 0, 3, 1, 1 },   { 1, 3, 1, 1 },   { 2, 3, 1, 4 },   { 3, 3, 1, 2 },   { 4, 3, 1, 3 },
	{ 5, 3, 1, 6 },   { 6, 3, 1, 7 },   { 7, 3, 1, 13 },  { 8, 3, 1, 0 },   { 9, 3, 1, 24 },
	{ 10, 3, 1, 25 }, { 11, 2, 7, 2 },  { 12, 2, 7, 16 }, { 13, 2, 1, 5 },  { 14, 2, 1, 6 },
	{ 16, 1, 7, 0 },  { 17, 2, 1, 17 }, { 18, 2, 1, 26 }, { 20, 1, 7, 7 },  { 21, 1, 7, 20 },
	{ 22, 2, 7, 3 },  { 23, 2, 7, 7 },  { 23, 3, 7, 20 }, { 24, 2, 7, 31 },
};

static bool shown(u32 leaf, unsigned reg, unsigned bit)
{
	struct cpuid r = cpuid(leaf, 0);

	return (&r.eax)[reg] >> bit & 1;
}

static u64 cr4_allowed(void)
{
	u64 allowed = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(cr4_bits); i++)
		if (cpuid(0, 0).eax >= cr4_bits[i].leaf &&
		    shown(cr4_bits[i].leaf, cr4_bits[i].reg, cr4_bits[i].feature))
			allowed |= BIT(cr4_bits[i].bit);
	/* PCE is on every CPU. */
	return allowed | BIT(8);
}

/* What a write of each makes of it: true and the value then read, or false: #GP. */
static bool expect_cr0(u64 v, u64 *then)
{
	if (v >> 32 || !(v & CR0_PE) || !(v & CR0_PG) || (v & CR0_NW && !(v & CR0_CD)))
		return false; /* in 64-bit mode paging stays on */
	*then = (v & CR0_DEFINED) | CR0_ET;
	return true;
}

static u64 cr4_all;

static bool expect_cr4(u64 v, u64 *then)
{
	if (v & ~cr4_all || !(v & CR4_PAE) || v & CR4_LA57)
		return false;
	*then = v;
	return true;
}

static void change(const char *name, u64 old, u64 bits, int (*set)(u64 v), u64 (*get)(void),
		   bool (*expect)(u64 v, u64 *then))
{
	u64 want = old, got;
	bool ok = expect(old ^ bits, &want);
	int trap = set(old ^ bits);

	got = get();
	check((trap == NO_TRAP) == ok && (ok || trap == VEC_GP) && got == want,
	      "%s %#lx changed to %#lx: vector %d, reads %#lx, not %#lx", name, old, old ^ bits,
	      trap, got, want);
	if (trap == NO_TRAP)
		check(set(old) == NO_TRAP && get() == old, "%s put back from %#lx", name,
		      old ^ bits);
}

static void all_pairs(const char *name, int (*set)(u64 v), u64 (*get)(void),
		      bool (*expect)(u64 v, u64 *then))
{
	u64 old = get();

	for (unsigned i = 0; i < 64; i++)
		for (unsigned k = i; k < 64; k++)
			change(name, old, BIT(i) | BIT(k), set, get, expect);
}

static int set_cr0(u64 v)
{
	return try_write_cr0(v);
}

/*
 * KVM keeps ET set, but shows a guest's guest that clears it what it wrote, if the hypervisor
 * between owns nothing of that.
 */
static u64 get_cr0(void)
{
	return read_cr0() | (on_kvm() && on_bochs() ? CR0_ET : 0);
}
static int set_cr4(u64 v)
{
	return try_write_cr4(v);
}

static u64 efer_all;

static bool expect_efer(u64 v, u64 *then)
{
	if (v & ~efer_all || !(v & EFER_LME))
		return false;
	*then = v | EFER_LMA;
	return true;
}
static int set_efer(u64 v)
{
	return try_wrmsr(MSR_EFER, v);
}
static u64 get_efer(void)
{
	return rdmsr(MSR_EFER);
}

static u64 xcr0_all;

static bool expect_xcr0(u64 v, u64 *then)
{
	u64 avx512 = v & 0xe0, mpx = v & 0x18, amx = v & 0x60000;

	if (v & ~xcr0_all || !(v & 1) || (v & 4 && !(v & 2)) ||
	    (avx512 && (avx512 != 0xe0 || !(v & 4))) || (mpx && mpx != 0x18) ||
	    (amx && amx != 0x60000))
		return false;
	*then = v;
	return true;
}
static int set_xcr0(u64 v)
{
	return TRY("xsetbv", , O("c"(0), "a"((u32)v), "d"((u32)(v >> 32))));
}
static u64 get_xcr0(void)
{
	u32 lo, hi;

	asm volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (u64)hi << 32 | lo;
}

static void user_xsetbv(void *arg)
{
	(void)arg;
	check(TRY("xsetbv", , O("c"(0), "a"(1), "d"(0))) == VEC_GP, "XSETBV in ring 3 raises #GP");
}

static void test_xcr0(void)
{
	struct cpuid d = cpuid(0xd, 0);

	if (!shown(1, 2, 26))
		return;
	check(TRY("xsetbv", , O("c"(0), "a"(1), "d"(0))) == VEC_UD,
	      "XSETBV without CR4.OSXSAVE raises #UD");
	write_cr4(read_cr4() | CR4_OSXSAVE);
	check(cpuid(1, 0).ecx & BIT(27), "CPUID's OSXSAVE follows CR4");
	check(get_xcr0() == 1, "XCR0 is %#lx at the start", get_xcr0());
	xcr0_all = (u64)d.edx << 32 | d.eax;
	all_pairs("XCR0", set_xcr0, get_xcr0, expect_xcr0);
	for (unsigned i = 1; i < 8; i++)
		check(TRY("xsetbv", , O("c"(i), "a"(1), "d"(0))) == VEC_GP,
		      "XSETBV of XCR%u raises #GP", i);
	check(TRY("xsetbv", , O("c"(~0), "a"(1), "d"(0))) == VEC_GP,
	      "XSETBV of XCR 0xffffffff raises #GP");
	check(user_run(user_xsetbv, NULL) == NO_TRAP, "ring 3 came to its end");
}

/* ---- SMSW ---- */

#define ALIAS 0x40000000ull /* two pages */
#define FILL 0x5a5a5a5a5a5a5a5aull

static u16 words[4];

static void fill(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = (u16)FILL;
}

static void smsw_registers(u64 cr0)
{
#define REGISTER(text, want) \
	do { \
		u64 v = FILL; \
		asm volatile("mov %0, %%r9; mov %0, %%rax\n\t" text : "+r"(v) : : "rax", "r9"); \
		check(v == (want), "%s with CR0 %#lx, CR4 %#lx: %#lx", text, cr0, read_cr4(), v); \
	} while (0)
	REGISTER("smsw %%ax; mov %%rax, %0", (FILL & ~0xffffull) | (u16)cr0);
	REGISTER("smsw %%eax; mov %%rax, %0", cr0);
	REGISTER("smsw %%rax; mov %%rax, %0", cr0);
	REGISTER("smsw %%r9w; mov %%r9, %0", (FILL & ~0xffffull) | (u16)cr0);
	REGISTER("smsw %%r9d; mov %%r9, %0", cr0);
	REGISTER("smsw %%r9; mov %%r9, %0", cr0);
	REGISTER(".byte 0x66, 0x48, 0x0f, 0x01, 0xe0; mov %%rax, %0", cr0); /* REX.W wins */
#undef REGISTER
}

/* 16 bits, whatever the operand size. */
static void smsw_memory(u64 cr0)
{
#define MEMORY(text, ...) \
	do { \
		fill(); \
		asm volatile(text : : __VA_ARGS__ : "memory"); \
		check(words[0] == (u16)FILL && words[1] == (u16)cr0 && words[2] == (u16)FILL, \
		      "%s: %#x %#x %#x", text, words[0], words[1], words[2]); \
	} while (0)
	MEMORY("smsw 2(%0)", "r"(words));
	MEMORY("smsw (%0,%1,2)", "r"(words), "r"(1ull));
	MEMORY("smsw words + 2(%%rip)", "r"(0));
	MEMORY("addr32 smsw 2(%k0)", "r"(words));
	MEMORY("smsw %%gs:(%0)", "r"((u64)(words + 1) - (u64)this_cpu()));
	/* smsw (%rax) with REX.W and with 66 */
	MEMORY(".byte 0x48, 0x0f, 0x01, 0x20", "a"(words + 1));
	MEMORY(".byte 0x66, 0x0f, 0x01, 0x20", "a"(words + 1));
#undef MEMORY
}

static void smsw_pages(u64 cr0, u64 first, u64 second)
{
	volatile u8 *at = (u8 *)ALIAS + PAGE_SIZE - 1, *low = (u8 *)first + PAGE_SIZE - 1,
		    *high = (u8 *)second;

	map_page(ALIAS, first, PTE_P | PTE_W);
	map_page(ALIAS + PAGE_SIZE, second, PTE_P | PTE_W);
	*low = *high = 0x5a;
	check(TRY("smsw (%0)", , O("r"(at))) == NO_TRAP && (*low | *high << 8) == (u16)cr0,
	      "SMSW over two pages: %#x %#x", *low, *high);
	*low = 0x5a;
	map_page(ALIAS + PAGE_SIZE, 0, 0);
	check(TRY("smsw (%0)", , O("r"(at))) == VEC_PF &&
		      this_cpu()->trap_cr2 == ALIAS + PAGE_SIZE && this_cpu()->trap_error == 2,
	      "SMSW, its second page absent: CR2 %#lx, error %#lx", (u64)this_cpu()->trap_cr2,
	      (u64)this_cpu()->trap_error);
	check(*low == 0x5a, "nothing of it is stored: %#x", *low);
	check(TRY("smsw (%0)", , O("r"(BIT(63)))) == VEC_GP, "SMSW to a non-canonical address");
}

/* In ring 3, where UMIP forbids it, and a page may be the supervisor's. */
static void smsw_user(void *arg)
{
	u64 v = FILL, cr0 = (u64)arg;
	bool umip = !cr0;
	int trap = TRY("smsw %0", O("+r"(v)), );

	check(umip ? trap == VEC_GP && this_cpu()->trap_error == 0 && v == FILL
		   : trap == NO_TRAP && v == cr0,
	      "SMSW in ring 3, UMIP %u: vector %d, %#lx", umip, trap, v);
	trap = TRY("smsw (%0)", , O("r"(ALIAS)));
	check(trap == (umip ? VEC_GP : VEC_PF) && (umip || this_cpu()->trap_error == 7),
	      "SMSW in ring 3 to the supervisor's page, UMIP %u: vector %d, error %#lx", umip, trap,
	      (u64)this_cpu()->trap_error);
}

static void test_smsw(void)
{
	u64 cr0 = read_cr0(), cr4 = read_cr4(), first = (u64)page_alloc(),
	    second = (u64)page_alloc();

	for (unsigned i = 0; i < 8; i++) {
		u64 now = (i & 1 ? cr0 | CR0_CD : cr0) ^ (i & 4 ? CR0_MP : 0);

		write_cr0(now);
		write_cr4(i & 2 ? cr4 | CR4_MCE : cr4 & ~CR4_MCE);
		smsw_registers(now);
		smsw_memory(now);
		smsw_pages(now, first, second);
		check(user_run(smsw_user, (void *)now) == NO_TRAP, "ring 3 came to its end");
		/*
		 * KVM shows UMIP on CPUs without it, too, by exits of the instructions, which SMSW
		 * has not.
		 */
		if (!shown(7, 2, 2) || (on_kvm() && on_bochs()))
			continue;
		write_cr4(read_cr4() | CR4_UMIP);
		smsw_registers(now);
		check(user_run(smsw_user, NULL) == NO_TRAP, "ring 3 came to its end");
		write_cr4(read_cr4() & ~CR4_UMIP);
	}
	write_cr0(cr0);
	write_cr4(cr4);
}

void test_main(void)
{
	test_smsw();
	test_xcr0();
	supervisor_pages();
	cr4_all = cr4_allowed();
	print("tiny: control_regs: CR4 bits shown %#lx", cr4_all);
	all_pairs("CR4", set_cr4, read_cr4, expect_cr4);
	all_pairs("CR0", set_cr0, get_cr0, expect_cr0);
	efer_all = EFER_LME | EFER_LMA | 1 | (shown(0x80000001, 3, 20) ? BIT(11) : 0);
	if (is_amd())
		efer_all |= (shown(0x80000001, 3, 25) ? BIT(14) : 0) |
			    (shown(0x80000001, 2, 17) ? BIT(15) : 0) |
			    (shown(0x80000021, 0, 8) ? BIT(21) : 0);
	all_pairs("EFER", set_efer, get_efer, expect_efer);
}
