/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/vector.c -mgeneral-regs-only */
/*
 * Reading and writing one vector register, on the CPU that runs this: that register, as many bytes,
 * what lies above by the kind of instruction, and no other register. What the CPU has not (AVX,
 * AVX-512) is left out there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <margay/host.h>

static u8 in[32][64], out[32][64], want[32][64], value[64];
static bool avx, avx512;

#define EACH(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define EACH_MORE(X) \
	X(16) \
	X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define LOAD(n) \
	if (avx512) \
		asm volatile("vmovdqu64 (%0), %%zmm" #n : : "r"(in[n]) : "memory"); \
	else if (avx) \
		asm volatile("vmovdqu (%0), %%ymm" #n : : "r"(in[n]) : "memory"); \
	else \
		asm volatile("movdqu (%0), %%xmm" #n : : "r"(in[n]) : "memory");
#define LOAD_MORE(n) asm volatile("vmovdqu64 (%0), %%zmm" #n : : "r"(in[n]) : "memory");
#define STORE(n) \
	if (avx512) \
		asm volatile("vmovdqu64 %%zmm" #n ", (%0)" : : "r"(out[n]) : "memory"); \
	else if (avx) \
		asm volatile("vmovdqu %%ymm" #n ", (%0)" : : "r"(out[n]) : "memory"); \
	else \
		asm volatile("movdqu %%xmm" #n ", (%0)" : : "r"(out[n]) : "memory");
#define STORE_MORE(n) asm volatile("vmovdqu64 %%zmm" #n ", (%0)" : : "r"(out[n]) : "memory");

static void load(void)
{
	EACH(LOAD)
	if (avx512) {
		EACH_MORE(LOAD_MORE)
	}
}

static void store(void)
{
	EACH(STORE)
	if (avx512) {
		EACH_MORE(STORE_MORE)
	}
}

static unsigned register_size(void)
{
	if (avx512)
		return 64;
	return avx ? 32 : 16;
}

/* What this CPU shows of its registers is as wanted. */
static void judge(const char *what, unsigned reg)
{
	unsigned nr_registers = avx512 ? 32 : 16;

	for (unsigned r = 0; r < nr_registers; r++)
		if (memcmp(out[r], want[r], register_size()))
			fail_msg("%s of register %u: register %u is another", what, reg, r);
}

static void test_write(void **)
{
	static const struct {
		unsigned size;
		bool vex;
	} kinds[] = { { 16, false }, { 16, true }, { 32, true }, { 64, true } };

	for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
		unsigned nr_registers = kinds[k].size == 64 ? 32 : 16;

		for (unsigned reg = 0; reg < nr_registers; reg++) {
			if ((kinds[k].vex && !avx) || (kinds[k].size == 64 && !avx512))
				continue;
			memcpy(want, in, sizeof(in));
			if (kinds[k].vex)
				memset(want[reg], 0, 64);
			memcpy(want[reg], value, kinds[k].size);
			load();
			if (kinds[k].size == 64)
				host_vector_write_zmm(reg, value);
			else
				host_vector_write(reg, kinds[k].size, kinds[k].vex, value);
			store();
			judge("write", reg);
		}
	}
}

static void test_read(void **)
{
	for (unsigned size = 16; size <= register_size(); size *= 2) {
		unsigned nr_registers = size == 64 ? 32 : 16;

		for (unsigned reg = 0; reg < nr_registers; reg++) {
			u8 got[64];

			memset(got, 0xee, sizeof(got));
			memcpy(want, in, sizeof(in));
			load();
			if (size == 64)
				host_vector_read_zmm(reg, got);
			else
				host_vector_read(reg, size, got);
			store();
			judge("read", reg);
			assert_memory_equal(got, in[reg], size);
			for (unsigned i = size; i < sizeof(got); i++)
				assert_int_equal(got[i], 0xee);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_read),
	};

	avx = __builtin_cpu_supports("avx");
	avx512 = __builtin_cpu_supports("avx512f");
	for (unsigned i = 0; i < sizeof(in); i++)
		in[i / 64][i % 64] = (u8)(i / 64 * 37 + i % 64 * 3 + 1);
	for (unsigned i = 0; i < sizeof(value); i++)
		value[i] = (u8)(200 - i);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
