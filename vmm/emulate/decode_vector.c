/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the moves between memory and a whole XMM or YMM register, legacy and VEX, by which programs copy memory (SDM
 * vol. 2: MOVUPS, MOVUPD, MOVAPS, MOVAPD, MOVNTPS, MOVNTPD, MOVDQA, MOVDQU, MOVNTDQ, MOVNTDQA, LDDQU).
 */
#include "vmm/emulate/decode_impl.h"

/* Mandatory prefixes, by VEX.pp. */
enum { NONE = 1 << 0, P66 = 1 << 1, PF3 = 1 << 2, PF2 = 1 << 3 };

static const struct {
	u8 map, opcode, prefixes;
	bool store, aligned;
} moves[] = {
	{ MAP_0F, 0x10, NONE | P66, false, false }, /* MOVUPS, MOVUPD */
	{ MAP_0F, 0x11, NONE | P66, true, false },
	{ MAP_0F, 0x28, NONE | P66, false, true },  /* MOVAPS, MOVAPD */
	{ MAP_0F, 0x29, NONE | P66, true, true },
	{ MAP_0F, 0x2b, NONE | P66, true, true },   /* MOVNTPS, MOVNTPD */
	{ MAP_0F, 0x6f, P66, false, true },         /* MOVDQA */
	{ MAP_0F, 0x6f, PF3, false, false },        /* MOVDQU */
	{ MAP_0F, 0x7f, P66, true, true },
	{ MAP_0F, 0x7f, PF3, true, false },
	{ MAP_0F, 0xe7, P66, true, true },          /* MOVNTDQ */
	{ MAP_0F, 0xf0, PF2, false, false },        /* LDDQU */
	{ MAP_0F38, 0x2a, P66, false, true },       /* MOVNTDQA */
};

static u8 mandatory_prefix(const struct decoder *d)
{
	if (d->vector)
		return (u8)(1u << d->vex_pp);
	if (d->insn->repne)
		return PF2;
	if (d->insn->rep)
		return PF3;
	return d->opsize_prefix ? P66 : NONE;
}

bool decode_vector(struct decoder *d, struct opcode *oc)
{
	u8 prefix = mandatory_prefix(d);

	if (d->vector && !d->vex)
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(moves); i++) {
		if (moves[i].map != d->map || moves[i].opcode != d->opcode || !(moves[i].prefixes & prefix))
			continue;
		d->insn->op = INSN_VECTOR;
		d->insn->opsize = d->vector && d->vex_l ? 32 : 16;
		d->insn->vex = d->vector;
		d->insn->aligned = moves[i].aligned;
		if (moves[i].store)
			oc->attr |= OP_RM_FIRST;
		return true;
	}
	return false;
}
