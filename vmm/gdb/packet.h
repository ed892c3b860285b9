/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: packets of gdb's remote serial protocol (GDB manual, appendix
 * E.1) from and to bytes: framing, checksum, escapes, Ctrl-C.
 */
#ifndef VMM_GDB_PACKET_H
#define VMM_GDB_PACKET_H

#include <margay/types.h>

#define GDB_PACKET 2048u                 /* longest text of a packet, either way */
#define GDB_FRAME (2 * GDB_PACKET + 4u)  /* its frame, if every byte is escaped */

enum gdb_event {
	GDB_NONE,
	GDB_COMMAND, /* a packet is complete: text, length */
	GDB_BAD,     /* one whose checksum is wrong, or that is too long: to be sent again */
	GDB_BREAK,   /* Ctrl-C, outside of a packet */
	GDB_RESEND,  /* the other side has not understood us */
};

struct gdb_line {
	enum { GDB_IDLE, GDB_TEXT, GDB_ESCAPED, GDB_SUM1, GDB_SUM2 } state;
	u8 sum;
	u8 digit;
	bool bad;
	unsigned length;
	char text[GDB_PACKET + 1]; /* a NUL follows the last byte */
};

/*
 * Takes one byte. After GDB_COMMAND the text stays until the next byte is fed. Anything between
 * packets is ignored.
 */
enum gdb_event gdb_feed(struct gdb_line *line, u8 byte);

/* The frame of a packet with this text, n <= GDB_PACKET; returns its length. */
unsigned gdb_frame(const char *text, unsigned n, u8 out[GDB_FRAME]);

#endif
