/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who shares the host's serial console: virtual UARTs, the monitor's console.
 * The part of <margay/host.h> that does nothing in images without CONSOLE.
 */
#ifndef MARGAY_HOST_CONSOLE_H
#define MARGAY_HOST_CONSOLE_H

#include <margay/types.h>

#define HOST_CONSOLE_NAME 31
#define HOST_CONSOLE_LINE 240

/*
 * A user. Callbacks run in interrupt windows, interrupts off, no lock held: one at a time, but on
 * whichever CPU has the line's interrupt then, so that a timer which one of them arms is not the
 * next one's to cancel.
 */
struct host_console {
	/*
	 * in front of its lines while another has the foreground; at most HOST_CONSOLE_NAME
	 * characters
	 */
	const char *name;
	void (*rx)(struct host_console *con, u8 byte);
	/* a BREAK on the line; NULL: it has no use for one */
	void (*rx_break)(struct host_console *con);
	/* There is room again, after a short write; or host_console_ask() has asked. */
	void (*tx_room)(struct host_console *con);
	/* The kernel's own, from host_console_add() to host_console_remove(): */
	struct host_console *next;
	bool waits; /* tx_room() is owed */
	bool full; /* for a write that was short */
	/*
	 * Another's line has cut an unfinished one in two, and tx_room() follows. What it writes
	 * next comes behind the begun line, which is shown again; who does so itself resets this.
	 */
	bool cut;
	/* others' lines while it had the foreground, modulo 2^32; may be read at any time */
	u32 others;
	u16 length; /* of the line that it has begun */
	u8 line[HOST_CONSOLE_LINE];
};

#if IS_ENABLED(CONFIG_SHARED_LINE)
/*
 * Pure: a line of somebody who has not the foreground, as it may stand among others' on any
 * terminal: text only. In place; returns what is left of the n bytes. Escape sequences (ECMA-48:
 * CSI, strings, others) go, also one that the line's end cuts; other controls, and bytes that are
 * no well-formed UTF-8, become '?'.
 */
unsigned host_plain_text(u8 *line, unsigned n);
#else
static inline unsigned host_plain_text(u8 *, unsigned n)
{
	return n;
}
#endif

#if IS_ENABLED(CONFIG_CONSOLE)
/*
 * Adds a user; it gets the foreground when nobody has it. Takes one away,
 * waiting for a callback of it to end: not from its own callbacks, nor with a
 * lock that they take.
 */
void host_console_add(struct host_console *con);
void host_console_remove(struct host_console *con);

/*
 * The foreground's output is raw and it gets what is typed; the others' output
 * comes as whole lines. NULL: nobody. 0, or -ENODEV for one that is not there.
 */
int host_console_foreground(struct host_console *con);
/* Who has it; only to be compared with: it may go away. */
const struct host_console *host_console_get_foreground(void);

/*
 * con->rx() gets the escape key, whoever has the foreground. Returns that key,
 * a control character; 0: there is none, by the command line.
 */
u8 host_console_escape(struct host_console *con);

/*
 * Takes output; returns how many bytes. The line is slow: never waits once interrupts are on,
 * nothing is lost.
 */
size_t host_console_write(struct host_console *con, const u8 *buf, size_t n);

/* con->tx_room() is called once more, soon, in its turn. From any CPU. */
void host_console_ask(struct host_console *con);

/*
 * Waits until all output has left the line, so that a long report loses nothing. Bounded. Before
 * poweroff or reset.
 */
void host_console_drain(void);

#else

static inline void host_console_add(struct host_console *) { }
static inline void host_console_remove(struct host_console *) { }
static inline int host_console_foreground(struct host_console *)
{
	return 0;
}
static inline const struct host_console *host_console_get_foreground(void)
{
	return NULL;
}
static inline u8 host_console_escape(struct host_console *)
{
	return 0;
}
static inline size_t host_console_write(struct host_console *, const u8 *, size_t n)
{
	return n;
}
static inline void host_console_ask(struct host_console *) { }
static inline void host_console_drain(void) { }

#endif

#endif
