/* SPDX-License-Identifier: GPL-2.0-only */
/* See packet.h. */
#include "vmm/gdb/packet.h"

#include <margay/span.h>

#define ESCAPE '}'
#define ESCAPED 0x20

static void put(struct gdb_line *l, u8 byte)
{
	if (l->length == GDB_PACKET)
		l->bad = true;
	else
		l->text[l->length++] = (char)byte;
}

static enum gdb_event idle(u8 byte)
{
	if (byte == 3)
		return GDB_BREAK;
	return byte == '-' ? GDB_RESEND : GDB_NONE;
}

static enum gdb_event end(struct gdb_line *l, u8 byte)
{
	int digit = hex_digit((char)byte);

	l->state = GDB_IDLE;
	l->text[l->length] = 0;
	return l->bad || digit < 0 || (u8)(l->digit << 4 | digit) != l->sum ? GDB_BAD : GDB_COMMAND;
}

enum gdb_event gdb_feed(struct gdb_line *l, u8 byte)
{
	/* It never stands in a packet: the one before was cut. */
	if (byte == '$') {
		*l = (struct gdb_line){ .state = GDB_TEXT };
		return GDB_NONE;
	}
	/*
	 * No packet has a NUL but one of binary data, and its checksum does not see it: a break on
	 * the line, or Bochs' UART, which gives one when its FIFO's time is out and the last byte
	 * was read just before.
	 */
	if (!byte && (l->state == GDB_SUM1 || l->state == GDB_SUM2 || l->text[0] != 'X'))
		return GDB_NONE;
	switch (l->state) {
	case GDB_IDLE: return idle(byte);
	case GDB_SUM1:
		l->bad = l->bad || hex_digit((char)byte) < 0;
		l->digit = (u8)hex_digit((char)byte);
		l->state = GDB_SUM2;
		return GDB_NONE;
	case GDB_SUM2: return end(l, byte);
	case GDB_TEXT:
	case GDB_ESCAPED: break;
	}
	if (byte == '#') {
		l->state = GDB_SUM1;
		return GDB_NONE;
	}
	l->sum += byte;
	if (l->state == GDB_TEXT && byte == ESCAPE) {
		l->state = GDB_ESCAPED;
		return GDB_NONE;
	}
	put(l, l->state == GDB_ESCAPED ? byte ^ ESCAPED : byte);
	l->state = GDB_TEXT;
	return GDB_NONE;
}

unsigned gdb_frame(const char *text, unsigned n, u8 out[GDB_FRAME])
{
	static const char digits[] = "0123456789abcdef";
	unsigned length = 0;
	u8 sum = 0;

	out[length++] = '$';
	for (unsigned i = 0; i < n; i++) {
		u8 byte = (u8)text[i];

		if (byte == '$' || byte == '#' || byte == '*' || byte == ESCAPE) {
			out[length++] = ESCAPE;
			byte ^= ESCAPED;
		}
		out[length++] = byte;
	}
	for (unsigned i = 1; i < length; i++)
		sum += out[i];
	out[length++] = '#';
	out[length++] = (u8)digits[sum >> 4];
	out[length++] = (u8)digits[sum & 15];
	return length;
}
