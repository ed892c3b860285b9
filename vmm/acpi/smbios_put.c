/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See smbios_put.h (DMTF DSP0134 3.6). Nothing that the node's tables say is trusted further than
 * its bytes go.
 */
#include "vmm/acpi/smbios_put.h"

#include <margay/acpi.h>
#include <margay/string.h>

#define CPU_WORKS 0x40
#define SYSTEM_MEMORY 3

/*
 * Each with the length that it has in a guest's table (SMBIOS 3.0), whoever's it is. The board is
 * there for that alone.
 */
static const char own[] =
	/* BIOS: maker, version; a virtual machine's */
	"\x00\x18\0\0"
	"\x01\x02\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\xff\xff\xff\xff"
	"Margay\0"
	"1\0"
	"\0"
	/* System: maker, product; switched on */
	"\x01\x1b\0\0"
	"\x01\x02\0\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0"
	"\x06\0\0"
	"Margay\0"
	"VM\0"
	"\0"
	/* Board: in the chassis */
	"\x02\x0f\0\0"
	"\0\0\0\0\0\0\0\0\x03\x0a\0"
	"\0\0"
	/* Chassis: maker, of another type; safe, security unknown */
	"\x03\x15\0\0"
	"\x01\x01\0\0\0\x03\x03\x03\x02\0\0\0\0\0\0\0\0"
	"Margay\0"
	"\0"
	/*
	 * Processor: a central one, of unknown family; there, and works; caches not described; of
	 * 64 bits
	 */
	"\x04\x30\0\0"
	"\0\x03\x02\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0"
	"\x41\x02\xff\xff\xff\xff\xff\xff"
	"\0\0\0\0\0\0\x04\0\x02\0\0\0\0\0\0\0"
	"\0\0"
	/* OEM strings: their number */
	"\x0b\x05\0\0"
	"\0"
	"\0\0"
	/*
	 * Memory: on the board, for the system, error correction unknown; a size that is too much
	 * here is further behind
	 */
	"\x10\x17\0\0"
	"\x03\x03\x02\0\0\0\x80\xfe\xff\0\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0"
	/* A device of it: widths and form unknown, RAM */
	"\x11\x28\0\0"
	"\0\x10\xfe\xff\xff\xff\xff\xff"
	"\0\0\x02\0\0\0\x07\x04\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0\0\0\0\0"
	"\0\0"
	/* Where it is, likewise */
	"\x13\x1f\0\0"
	"\xff\xff\xff\xff\xff\xff\xff\xff\0\x10\x01"
	"\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0"
	/* No errors detected at boot */
	"\x20\x0b\0\0"
	"\0\0\0\0\0\0\0"
	"\0\0"
	"\x7f\x04\0\0"
	"\0"; /* and C's own */

/*
 * The bytes that a guest's structure has of the node's: not counts, sizes, handles, nor the serial
 * number of one of many.
 */
#define BYTES(from, to) (BIT((to) + 1) - BIT(from))
static const u64 taken[] = {
	[SMBIOS_BIOS] = BYTES(0x04, 0x12) | BYTES(0x14, 0x17),
	[SMBIOS_SYSTEM] = BYTES(0x04, 0x07) | BYTES(0x18, 0x1a),
	[SMBIOS_BOARD] = BYTES(0x04, 0x0a) | BYTES(0x0d, 0x0d),
	[SMBIOS_CHASSIS] = BYTES(0x04, 0x12),
	[SMBIOS_PROCESSOR] = BYTES(0x05, 0x19) | BYTES(0x22, 0x22) | BYTES(0x26, 0x29),
	[SMBIOS_ARRAY - 11] = BYTES(0x06, 0x06),
	[SMBIOS_MEMORY - 11] = BYTES(0x08, 0x0b) | BYTES(0x0e, 0x0e) | BYTES(0x12, 0x17) |
			       BYTES(0x1a, 0x1b) | BYTES(0x20, 0x27),
};

/*
 * A structure of the node's that can stand for a guest's: not too long, no empty string; of several
 * the first that is in use.
 */
static bool fits(const u8 *p, const u8 *end)
{
	if (end - p > SMBIOS_COPIED_MAX || p[1] < 8 || (!p[p[1]] && p + p[1] < end))
		return false;
	switch (p[0]) {
	case SMBIOS_PROCESSOR: return p[1] > 0x18 && p[0x18] & CPU_WORKS;
	case SMBIOS_ARRAY: return p[5] == SYSTEM_MEMORY;
	case SMBIOS_MEMORY: return p[1] > 0x18 && (p[0xc] | p[0xd]); /* its size */
	}
	return p[0] < SMBIOS_PROCESSOR;
}

u8 *smbios_put(struct smbios_out *t, u8 type, unsigned number)
{
	const u8 *end, *mine_end, *mine = smbios_find(own, sizeof(own), type, 0, &mine_end), *p;
	u8 *out = t->end + (t->strings ? 1 : 2);
	u64 mask = 0;
	unsigned n = 0;

	do
		p = smbios_find(t->node, t->node_size, type, n++, &end);
	while (p && !fits(p, end));
	if (p) {
		mask = taken[type < SMBIOS_ARRAY ? type : type - 11];
	} else if (type == SMBIOS_BOARD) {
		return out;
	} else {
		p = mine;
		end = mine_end;
	}
	memcpy(out, mine, mine[1]);
	for (unsigned i = 0; i < mine[1] && i < p[1]; i++)
		if (mask & BIT(i))
			out[i] = p[i];
	out[2] = (u8)number;
	out[3] = type;
	t->strings = 0;
	t->end = out + mine[1];
	p += p[1];
	for (bool any = p < end; any && p <= end; p++) {
		*t->end++ = *p;
		t->strings += !*p;
	}
	return out;
}

u8 smbios_text(struct smbios_out *t, const char *s)
{
	size_t n = strlen(s);

	if (!n)
		return 0;
	memcpy(t->end, s, n);
	t->end += n + 1;
	return (u8)++t->strings;
}

u8 smbios_label(struct smbios_out *t, const char *what, unsigned n)
{
	char s[16];

	snprintf(s, sizeof(s), "%s %u", what, n);
	return smbios_text(t, s);
}
