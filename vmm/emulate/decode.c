/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the instruction decoder. Prefixes, opcode maps, ModRM and SIB,
 * immediates: SDM vol. 2, chapter 2. The bytes are the guest's: every read is
 * bounded, no loop runs longer than 15 bytes.
 */
#include "vmm/emulate/decode_impl.h"

#include <margay/errno.h>

/* In 64-bit mode only FS and GS overrides have an effect, and the others do not cancel them. */
static void seg_prefix(struct decoder *d, enum seg seg)
{
	if (d->mode == MODE_64 && seg != SEG_FS && seg != SEG_GS)
		return;
	d->has_seg = true;
	d->seg = seg;
}

static bool prefix(struct decoder *d, u8 b)
{
	switch (b) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
		seg_prefix(d, b >> 3 & 3); /* ES, CS, SS, DS */
		return true;
	case 0x64:
	case 0x65: seg_prefix(d, SEG_FS + (b & 1)); return true;
	case 0x66: d->opsize_prefix = true; return true;
	case 0x67: d->addrsize_prefix = true; return true;
	case 0xf0: d->insn->lock = true; return true;
	case 0xf2:
		d->insn->repne = true;
		d->insn->rep = false;
		return true;
	case 0xf3:
		d->insn->rep = true;
		d->insn->repne = false;
		return true;
	default: return false;
	}
}

/* A REX prefix counts only directly before the opcode. */
static void prefixes(struct decoder *d)
{
	while (d->pos < INSN_MAX) {
		u8 b = decode_peek(d);

		if (d->mode == MODE_64 && (b & 0xf0) == 0x40) {
			d->rex = b & 0xf;
			d->insn->rex = true;
		} else if (prefix(d, b)) {
			d->rex = 0;
			d->insn->rex = false;
		} else {
			return;
		}
		d->pos++;
	}
}

/*
 * VEX, EVEX and XOP (SDM vol. 2, 2.3 and 2.7; APM vol. 3, 1.1.5). Outside
 * 64-bit mode C4, C5 and 62 are LES, LDS and BOUND unless the next byte would
 * be a register form; 8F is POP while the map number is below 8. Of XOP only
 * lengths are wanted, so its payload bits are skipped.
 */
static bool is_vector_prefix(const struct decoder *d, u8 b, u8 next)
{
	switch (b) {
	case 0x62:
	case 0xc4:
	case 0xc5: return d->mode == MODE_64 || next >> 6 == 3;
	case 0x8f: return (next & 0x1f) >= 8 && (d->mode == MODE_64 || next >> 6 == 3);
	default: return false;
	}
}

/*
 * The registers' upper bits are stored inverted, as vvvv is; all but R mean something in 64-bit
 * mode only, where R can be 0.
 */
static void vex_payload(struct decoder *d, u8 registers, u8 last)
{
	d->rex = d->mode == MODE_64 ? (u8)(~registers >> 5 & 7) : 0;
	d->plain = (last >> 3 & 15) == 15;
	d->vex_l = last >> 2 & 1;
	d->vex_pp = last & 3;
}

/*
 * The two bytes behind the registers': W, vvvv, pp; z, vector length, b, V', aaa (SDM vol. 2,
 * 2.7.1).
 */
static void evex_payload(struct decoder *d, u8 registers)
{
	u8 second = decode_fetch(d), third = decode_fetch(d);

	vex_payload(d, registers, second);
	d->evex = true;
	d->plain = d->plain && second & 4 && (third & 0x9f) == 8;
	d->vex_w = second >> 7;
	d->vex_l = third >> 5 & 3;
	d->reg_high = d->mode == MODE_64 && !(registers & 0x10) ? 16 : 0;
}

static int vector_prefix(struct decoder *d, u8 b)
{
	static const enum map vex_map[8] = {
		[1] = MAP_0F, [2] = MAP_0F38, [3] = MAP_0F3A, [5] = MAP_PLAIN, [6] = MAP_PLAIN
	};
	u8 payload = decode_fetch(d);

	if (d->opsize_prefix || d->insn->lock || d->insn->rep || d->insn->repne || d->insn->rex)
		return -EINVAL;
	d->vector = true;
	if (b == 0xc5) {
		d->map = MAP_0F;
		vex_payload(d, payload | 0x60, payload); /* no X, no B */
	} else if (b == 0x8f) {
		u8 n = payload & 0x1f;

		if (n > 10)
			return -EINVAL;
		d->map = n == 8 ? MAP_XOP8 : MAP_XOP10;
		if (n == 9)
			d->map = MAP_PLAIN;
		decode_fetch(d);
	} else {
		u8 n = b == 0x62 ? payload & 7 : payload & 0x1f, most = b == 0x62 ? 6 : 3;

		if (n > most || vex_map[n] == MAP_ONE_BYTE)
			return -EINVAL;
		if (b == 0x62 && payload & 8)
			return -EINVAL;
		d->map = vex_map[n];
		if (b == 0xc4)
			vex_payload(d, payload, decode_fetch(d));
		else
			evex_payload(d, payload);
	}
	d->opcode = decode_fetch(d);
	return 0;
}

static int opcode(struct decoder *d)
{
	u8 b = decode_fetch(d);

	if (is_vector_prefix(d, b, decode_peek(d)))
		return vector_prefix(d, b);
	d->map = MAP_ONE_BYTE;
	if (b == 0x0f) {
		d->map = MAP_0F;
		b = decode_fetch(d);
		if (b == 0x38 || b == 0x3a) {
			d->map = b == 0x38 ? MAP_0F38 : MAP_0F3A;
			b = decode_fetch(d);
		}
	}
	d->opcode = b;
	return 0;
}

static struct opcode lookup(const struct decoder *d)
{
	static const struct opcode modrm = { INSN_OTHER, IMM_NONE, OP_MODRM },
				   modrm_imm8 = { INSN_OTHER, IMM_8, OP_MODRM },
				   modrm_imm32 = { INSN_OTHER, IMM_32, OP_MODRM };

	switch (d->map) {
	case MAP_ONE_BYTE: return opcode_one_byte[d->opcode];
	case MAP_0F:
		if (!d->vector)
			return opcode_0f[d->opcode];
		if (d->opcode == 0x77)
			return opcode_0f[0x77];
		switch (d->opcode) {
		case 0x70 ... 0x73:
		case 0xc2:
		case 0xc4 ... 0xc6: return modrm_imm8;
		default: return modrm;
		}
	case MAP_0F3A:
	case MAP_XOP8: return modrm_imm8;
	case MAP_XOP10: return modrm_imm32;
	default: return modrm;
	}
}

static void sizes(struct decoder *d, const struct opcode *oc)
{
	struct insn *i = d->insn;
	bool small_default = d->mode == MODE_16;

	i->opsize = d->opsize_prefix != small_default ? 2 : 4;
	if (d->rex & REX_W)
		i->opsize = 8;
	if (oc->attr & OP_BYTE)
		i->opsize = 1;
	if (d->mode == MODE_64)
		i->addrsize = d->addrsize_prefix ? 4 : 8;
	else
		i->addrsize = d->addrsize_prefix != small_default ? 2 : 4;
}

static int decode(struct decoder *d)
{
	struct insn *i = d->insn;
	struct opcode oc;
	int err;

	i->seg = SEG_DS;
	prefixes(d);
	err = opcode(d);
	if (err)
		return err;
	oc = lookup(d);
	if (oc.attr & OP_UNDEF || (oc.attr & OP_NO64 && d->mode == MODE_64))
		return -EINVAL;
	i->op = oc.op;
	sizes(d, &oc);
	if (oc.attr & OP_MODRM) {
		d->modrm = decode_fetch(d);
		err = decode_refine(d, &oc);
		if (err)
			return err;
		decode_modrm(d, oc.attr);
	} else if (oc.attr & OP_RM_FIRST) {
		i->to_mem = true;
	}
	decode_immediate(d, oc.imm);
	return decode_finish(d);
}

int insn_decode(const u8 *bytes, unsigned size, enum insn_mode mode, struct insn *out)
{
	struct decoder d = {
		.bytes = bytes, .size = MIN(size, (unsigned)INSN_MAX), .mode = mode, .insn = out
	};
	int err;

	*out = (struct insn){ .mode = mode };
	err = decode(&d);
	/* What was decided from bytes that are not there yet counts for nothing. */
	if (d.pos > d.size)
		return size < INSN_MAX ? -EAGAIN : -EINVAL;
	out->len = (u8)d.pos;
	return err;
}
