/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Moves of 16, 32 and 64 bytes, by which programs copy memory, between each vector register and an
 * operand half in RAM and half on a page of nobody's, which reads as ones: at each place, in ring 0
 * and ring 3. The register, what lies above it, all other registers and the bytes in RAM are what
 * the manual says of the instruction.
 */
#include "tiny.h"

#define ALIAS 0x40000000ull /* two pages: one of RAM, then nobody's, or the other way round */
#define NOBODY 0xfec80000ull
#define CR0_EM BIT(2)
#define CR0_TS BIT(3)
#define CR4_OSFXSR BIT(9)
#define CR4_OSXSAVE BIT(18)

#define CPUID_AVX512 (BIT(16) | BIT(30) | BIT(31)) /* F, BW, VL: of leaf 7's EBX */

struct file {
	u8 reg[32][64];
};

static bool avx, avx512;
static bool ram_first;
static u8 *ram;
static struct file before, after, expected;

#define EACH(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define EACH_MORE(X) \
	X(16) \
	X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)

static void load(const struct file *f)
{
#define LOAD(n) \
	if (avx) \
		asm volatile("vmovdqu %0, %%ymm" #n : : "m"(f->reg[n]), "m"(*f)); \
	else \
		asm volatile("movdqu %0, %%xmm" #n : : "m"(f->reg[n]), "m"(*f));
	EACH(LOAD)
#define LOAD_ZMM(n) asm volatile("vmovdqu64 %0, %%zmm" #n : : "m"(f->reg[n]), "m"(*f));
	if (avx512) {
		EACH(LOAD_ZMM)
		EACH_MORE(LOAD_ZMM)
	}
}

static void store(struct file *f)
{
#define STORE(n) \
	if (avx) \
		asm volatile("vmovdqu %%ymm" #n ", (%0)" : : "r"(f->reg[n]) : "memory"); \
	else \
		asm volatile("movdqu %%xmm" #n ", (%0)" : : "r"(f->reg[n]) : "memory");
	EACH(STORE)
#define STORE_ZMM(n) asm volatile("vmovdqu64 %%zmm" #n ", (%0)" : : "r"(f->reg[n]) : "memory");
	if (avx512) {
		EACH(STORE_ZMM)
		EACH_MORE(STORE_ZMM)
	}
}

/* RDI is the operand's address. */
#define MOVE(id, text) \
	static void move_##id(u64 at) \
	{ \
		asm volatile(text : : "D"(at) : "memory"); \
	}
#define LEGACY_LOAD(n) MOVE(load_##n, "movdqu (%%rdi), %%xmm" #n)
#define LEGACY_STORE(n) MOVE(store_##n, "movdqu %%xmm" #n ", (%%rdi)")
#define VEX_LOAD(n) MOVE(vload_##n, "vmovdqu (%%rdi), %%xmm" #n)
#define VEX_STORE(n) MOVE(vstore_##n, "vmovdqu %%xmm" #n ", (%%rdi)")
#define YMM_LOAD(n) MOVE(yload_##n, "vmovdqu (%%rdi), %%ymm" #n)
#define YMM_STORE(n) MOVE(ystore_##n, "vmovdqu %%ymm" #n ", (%%rdi)")
EACH(LEGACY_LOAD)
EACH(LEGACY_STORE)
EACH(VEX_LOAD)
EACH(VEX_STORE)
EACH(YMM_LOAD)
EACH(YMM_STORE)
#define ZMM_LOAD(n) MOVE(zload_##n, "vmovdqu64 (%%rdi), %%zmm" #n)
#define ZMM_STORE(n) MOVE(zstore_##n, "vmovdqu64 %%zmm" #n ", (%%rdi)")
EACH(ZMM_LOAD)
EACH_MORE(ZMM_LOAD)
EACH(ZMM_STORE)
EACH_MORE(ZMM_STORE)
MOVE(evex_16, "vmovdqu8 (%%rdi), %%xmm17")
MOVE(evex_32, "vmovdqu64 (%%rdi), %%ymm18")
MOVE(evex_store_16, "vmovdqu16 %%xmm30, (%%rdi)")
MOVE(evex_store_32, "vmovups %%ymm29, (%%rdi)")
MOVE(evex_displacement, "sub $0x80, %%rdi\n\tvmovdqu32 0x80(%%rdi), %%zmm21\n\tadd $0x80, %%rdi")
MOVE(evex_aligned, "vmovdqa64 (%%rdi), %%zmm22")
MOVE(evex_past, "vmovntdq %%zmm23, (%%rdi)")
MOVE(movups, "movups (%%rdi), %%xmm7")
MOVE(movupd, "movupd %%xmm9, (%%rdi)")
MOVE(lddqu, "lddqu (%%rdi), %%xmm12")
MOVE(vmovups, "vmovups %%ymm10, (%%rdi)")
MOVE(vmovupd, "vmovupd (%%rdi), %%ymm3")
MOVE(movaps, "movaps (%%rdi), %%xmm8")
MOVE(movapd, "movapd %%xmm2, (%%rdi)")
MOVE(movdqa, "movdqa (%%rdi), %%xmm15")
MOVE(movntdq, "movntdq %%xmm1, (%%rdi)")
MOVE(movntps, "movntps %%xmm11, (%%rdi)")
MOVE(movntdqa, "movntdqa (%%rdi), %%xmm4")
MOVE(vmovdqa, "vmovdqa (%%rdi), %%ymm13")
MOVE(vmovaps, "vmovaps %%ymm6, (%%rdi)")
MOVE(vmovntdq, "vmovntdq %%ymm14, (%%rdi)")

static const struct move {
	void (*run)(u64 at);
	u8 reg;
	u8 size;
	/* vex: or EVEX, clears what lies above */
	bool store;
	bool vex;
	bool aligned;
} moves[] = {
#define ROWS(n) \
	{ move_load_##n, n, 16, false, false, false }, \
		{ move_store_##n, n, 16, true, false, false }, \
		{ move_vload_##n, n, 16, false, true, false }, \
		{ move_vstore_##n, n, 16, true, true, false }, \
		{ move_yload_##n, n, 32, false, true, false }, \
		{ move_ystore_##n, n, 32, true, true, false },
	EACH(ROWS){ move_movups, 7, 16, false, false, false },
	{ move_movupd, 9, 16, true, false, false },
	{ move_lddqu, 12, 16, false, false, false },
	{ move_vmovups, 10, 32, true, true, false },
	{ move_vmovupd, 3, 32, false, true, false },
	{ move_movaps, 8, 16, false, false, true },
	{ move_movapd, 2, 16, true, false, true },
	{ move_movdqa, 15, 16, false, false, true },
	{ move_movntdq, 1, 16, true, false, true },
	{ move_movntps, 11, 16, true, false, true },
	{ move_movntdqa, 4, 16, false, false, true },
	{ move_vmovdqa, 13, 32, false, true, true },
	{ move_vmovaps, 6, 32, true, true, true },
	{ move_vmovntdq, 14, 32, true, true, true },
};

/* clang-format off */
static const struct move evex_moves[] = {
#define EVEX_ROWS(n) \
	{ move_zload_##n, n, 64, false, true, false }, \
	{ move_zstore_##n, n, 64, true, true, false },
	EACH(EVEX_ROWS) EACH_MORE(EVEX_ROWS)
	{ move_evex_16, 17, 16, false, true, false },
	{ move_evex_32, 18, 32, false, true, false },
	{ move_evex_store_16, 30, 16, true, true, false },
	{ move_evex_store_32, 29, 32, true, true, false },
	{ move_evex_displacement, 21, 64, false, true, false },
	{ move_evex_aligned, 22, 64, false, true, true },
	{ move_evex_past, 23, 64, true, true, true },
};
/* clang-format on */

/* Is the byte at this offset of the two pages RAM? Where in the page? */
static bool in_ram(u64 offset)
{
	return (offset < PAGE_SIZE) == ram_first;
}

static void try(const struct move *m, u64 offset)
{
	unsigned wrong_ram = 0, wrong_reg = 0, without_512 = avx ? 32 : 16;
	unsigned seen = avx512 ? 64 : without_512;

	for (unsigned i = 0; i < 2 * 64; i++) /* around the page's two ends */
		ram[(PAGE_SIZE - 64 + i) % PAGE_SIZE] = (u8)(0x80 + i);
	expected = before;
	for (unsigned i = 0; i < m->size && !m->store; i++)
		expected.reg[m->reg][i] = in_ram(offset + i) ? ram[(offset + i) % PAGE_SIZE] : 0xff;
	for (unsigned i = m->size; i < 64 && m->vex && !m->store; i++)
		expected.reg[m->reg][i] = 0;
	load(&before);
	m->run(ALIAS + offset);
	store(&after);
	for (unsigned i = 0; i < sizeof(after); i++)
		wrong_reg += i % 64 < seen && i / 64 < (avx512 ? 32 : 16) &&
			     after.reg[i / 64][i % 64] != expected.reg[i / 64][i % 64];
	for (unsigned i = 0; i < 2 * 64; i++) {
		u64 at = PAGE_SIZE - 64 + i;
		bool stored = m->store && at - offset < m->size && in_ram(at);
		u8 want = stored ? before.reg[m->reg][at - offset] : (u8)(0x80 + i);

		wrong_ram += ram[at % PAGE_SIZE] != want;
	}
	check(!wrong_reg && !wrong_ram,
	      "%u bytes, register %u, at %#lx, RAM %s: %u bytes of registers and %u of memory are wrong",
	      m->size, m->reg, offset, ram_first ? "first" : "last", wrong_reg, wrong_ram);
}

static void each(const struct move *m, unsigned count)
{
	for (unsigned i = 0; i < count; i++, m++) {
		if (m->vex && !avx)
			continue;
		if (m->aligned) {
			/* Wholly on the page that is nobody's, next to RAM. */
			try(m, ram_first ? PAGE_SIZE : PAGE_SIZE - m->size);
			continue;
		}
		/* Of the page's end each place for some, the edges for all. */
		for (u64 k = 0; k <= m->size;
		     k += i % 5 == 0 || k == 0 || k + 1 >= m->size ? 1 : m->size - 1 - k)
			try(m, PAGE_SIZE - k);
	}
}

static void all(void *)
{
	each(moves, ARRAY_SIZE(moves));
	if (avx512)
		each(evex_moves, ARRAY_SIZE(evex_moves));
}

void test_main(void)
{
	bool xsave = cpuid(1, 0).ecx & BIT(26), has_avx = xsave && cpuid(1, 0).ecx & BIT(28);

	ram = page_alloc();
	write_cr0((read_cr0() | BIT(1)) & ~(CR0_EM | CR0_TS));
	write_cr4(read_cr4() | CR4_OSFXSR | (has_avx ? CR4_OSXSAVE : 0));
	/* VMOVNTDQA of 32 bytes is AVX2's: then all are there */
	avx = has_avx && cpuid(7, 0).ebx & BIT(5);
	avx512 = avx && (cpuid(7, 0).ebx & CPUID_AVX512) == CPUID_AVX512;
	if (has_avx)
		asm volatile("xsetbv" : : "c"(0), "a"(avx512 ? 0xe7 : 7), "d"(0));
	print("AVX2 %d, AVX-512 %d", avx, avx512);
	for (unsigned i = 0; i < sizeof(before); i++)
		before.reg[i / 64][i % 64] = (u8)(i * 7 + i / 64 + 1);
	check(avx || !has_avx, "AVX without AVX2: YMM is not looked at");
	for (unsigned first = 0; first < 2; first++) {
		ram_first = first;
		map_page(ALIAS + (first ? 0 : PAGE_SIZE), (u64)ram, PTE_P | PTE_W | PTE_U);
		map_page(ALIAS + (first ? PAGE_SIZE : 0), NOBODY, PTE_P | PTE_W | PTE_U);
		all(NULL);
		check(user_run(all, NULL) == NO_TRAP, "ring 3 came to its end");
	}
}
