/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/decode.sources -lZydis -lZycore */
/*
 * Every ModRM, SIB and REX byte of four instructions in all three modes, with
 * and without the address-size prefix, beside Zydis: the comparison is that of
 * the fuzz target, which a corpus leads through a part of them only.
 */
#include "tests/fuzz/fuzz_decode.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NO_REX 0x3f /* stands for none, in front of 0x40 to 0x4f */

struct stem {
	u8 len;
	u8 bytes[2];
};

/*
 * MOV both ways, of bytes and of what the operand size says; MOVZX; ADD with a byte that is
 * sign-extended.
 */
static const struct stem stems[] = {
	{ 1, { 0x8b } }, { 1, { 0x88 } }, { 2, { 0x0f, 0xb7 } }, { 1, { 0x83 } }
};

static unsigned tried;

static void compare(const struct stem *stem, bool address_prefix, u8 rex, u8 modrm, u8 sib)
{
	/* displacements, negative ones, and an immediate */
	static const u8 tail[] = { 0x91, 0xa2, 0xb3, 0xc4, 0x85 };
	u8 bytes[INSN_MAX] = { 0 };
	unsigned n = 0;

	if (address_prefix)
		bytes[n++] = 0x67;
	if (rex != NO_REX)
		bytes[n++] = rex;
	for (unsigned i = 0; i < stem->len; i++)
		bytes[n++] = stem->bytes[i];
	bytes[n++] = modrm;
	bytes[n++] = sib;
	memcpy(bytes + n, tail, sizeof(tail));
	tried++;
	LLVMFuzzerTestOneInput(bytes, sizeof(bytes)); /* aborts, and says where they differ */
}

/* Where no SIB byte follows, the byte in its place is the first of a displacement: one will do. */
static void all_operands(void **)
{
	for (const struct stem *stem = stems; stem < stems + ARRAY_SIZE(stems); stem++)
		for (unsigned prefix = 0; prefix < 2; prefix++)
			for (unsigned rex = NO_REX; rex < 0x50; rex++)
				for (unsigned modrm = 0; modrm < 0x100; modrm++) {
					bool has_sib = (modrm & 7) == 4 && modrm < 0xc0;
					unsigned sibs = has_sib ? 0x100 : 1;

					for (unsigned sib = 0; sib < sibs; sib++)
						compare(stem, prefix, (u8)rex, (u8)modrm, (u8)sib);
				}
	assert_int_equal(tried, ARRAY_SIZE(stems) * 2 * 17 * (24 * 256 + 232));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_operands) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
