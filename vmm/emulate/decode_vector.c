/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the moves between memory and a whole vector register, legacy, VEX and EVEX without a
 * mask, by which programs copy memory (SDM vol. 2: MOVUPS, MOVUPD, MOVAPS, MOVAPD, MOVNTPS,
 * MOVNTPD, MOVDQA, MOVDQU, MOVNTDQ, MOVNTDQA, LDDQU).
 */
#include "vmm/emulate/decode_impl.h"

/* Mandatory prefixes, by VEX.pp. */
enum { NONE = 1 << 0, P66 = 1 << 1, PF3 = 1 << 2, PF2 = 1 << 3 };
/*
 * EVEX and its bit W: any; any, and there is no other encoding; none, there is no such instruction;
 * as the prefix 66; 0.
 */
enum evex_w { W_ANY, W_ONLY, W_NEVER, W_BY_66, W_0 };

static const struct {
	u8 map;
	u8 opcode;
	u8 prefixes;
	u8 w;
	bool store;
	bool aligned;
} moves[] = {
	{ MAP_0F, 0x10, NONE | P66, W_BY_66, false, false }, /* MOVUPS, MOVUPD */
	{ MAP_0F, 0x11, NONE | P66, W_BY_66, true, false },
	{ MAP_0F, 0x28, NONE | P66, W_BY_66, false, true }, /* MOVAPS, MOVAPD */
	{ MAP_0F, 0x29, NONE | P66, W_BY_66, true, true },
	{ MAP_0F, 0x2b, NONE | P66, W_BY_66, true, true }, /* MOVNTPS, MOVNTPD */
	{ MAP_0F, 0x6f, P66, W_ANY, false, true }, /* MOVDQA */
	{ MAP_0F, 0x6f, PF3, W_ANY, false, false }, /* MOVDQU */
	{ MAP_0F, 0x6f, PF2, W_ONLY, false, false }, /* by EVEX MOVDQU8 and 16 */
	{ MAP_0F, 0x7f, P66, W_ANY, true, true },
	{ MAP_0F, 0x7f, PF3, W_ANY, true, false },
	{ MAP_0F, 0x7f, PF2, W_ONLY, true, false },
	{ MAP_0F, 0xe7, P66, W_0, true, true }, /* MOVNTDQ */
	{ MAP_0F, 0xf0, PF2, W_NEVER, false, false }, /* LDDQU */
	{ MAP_0F38, 0x2a, P66, W_0, false, true }, /* MOVNTDQA */
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

static bool is_encoding(const struct decoder *d, enum evex_w w)
{
	if (!d->evex)
		return w != W_ONLY;
	switch (w) {
	case W_NEVER: return false;
	case W_BY_66: return d->vex_w == (d->vex_pp == 1);
	case W_0: return !d->vex_w;
	default: return true;
	}
}

static void is_move(struct decoder *d, struct opcode *oc, bool store, bool aligned)
{
	struct insn *i = d->insn;

	i->op = INSN_VECTOR;
	i->opsize = d->vector ? (u8)(16 << d->vex_l) : 16;
	i->vex = d->vector && !d->evex;
	i->evex = d->evex;
	i->aligned = aligned;
	d->disp8_size = d->evex ? i->opsize : 0;
	if (store)
		oc->attr |= OP_RM_FIRST;
}

bool decode_vector(struct decoder *d, struct opcode *oc)
{
	u8 prefix = mandatory_prefix(d);

	if (d->vector && (!d->plain || d->vex_l == 3))
		return false;
	for (unsigned n = 0; n < ARRAY_SIZE(moves); n++)
		if (moves[n].map == d->map && moves[n].opcode == d->opcode &&
		    moves[n].prefixes & prefix && is_encoding(d, moves[n].w)) {
			is_move(d, oc, moves[n].store, moves[n].aligned);
			return true;
		}
	return false;
}
