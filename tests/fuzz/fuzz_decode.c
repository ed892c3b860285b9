/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/decode.c vmm/decode_operand.c vmm/decode_table.c */
/*
 * libFuzzer: the instruction decoder on any bytes. Checked beside memory
 * safety: the result's invariants, and that the length depends on nothing
 * behind the instruction.
 */
#include <stdlib.h>
#include <string.h>

#include "vmm/decode.h"

#define CHECK(cond)              \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct insn a, b;

	for (enum insn_mode mode = MODE_16; mode <= MODE_64; mode++) {
		if (insn_decode(data, (unsigned)size, mode, &a))
			continue;
		CHECK(a.len >= 1 && a.len <= INSN_MAX && a.len <= size);
		CHECK(a.opsize == 1 || a.opsize == 2 || a.opsize == 4 || a.opsize == 8);
		CHECK(a.addrsize == 2 || a.addrsize == 4 || a.addrsize == 8);
		CHECK(a.base < GPR_COUNT && a.index < GPR_COUNT && a.reg < GPR_COUNT && a.rm < GPR_COUNT);
		CHECK(a.seg <= SEG_GS);
		CHECK(!a.mem || a.scale == 1 || a.scale == 2 || a.scale == 4 || a.scale == 8);
		CHECK(!insn_decode(data, a.len, mode, &b));
		CHECK(b.len == a.len && b.op == a.op && b.imm == a.imm && b.disp == a.disp);
	}
	return 0;
}
