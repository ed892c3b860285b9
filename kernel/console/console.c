/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who shares the serial line, who gets what is typed, and how output becomes lines. Users may
 * fill only a small part of the output ring: it keeps the delay of what is
 * typed short, and log lines find room when guests flood. What does not fit
 * stays with its user, who is told when there is room again.
 */
#include "kernel/console/console.h"

#include <margay/errno.h>
#include <margay/string.h>
#include "kernel/console/console_callbacks.h"
#include "kernel/console/last_line.h"
#include "kernel/console/screen.h"
#include "kernel/console/serial.h"
#include "kernel/log/printk.h"

#define USER_SHARE 2048u /* users may write while the ring holds less */
#define USER_RESUME 512u /* and are told of room when it holds less than this */
#define PENDING_LOOPS 64

/* All of these are guarded by serial_lock(). */
static bool mid_line;            /* the last byte queued was the foreground's and no newline */
static unsigned imitated;        /* of last_line.h, by the foreground's last bytes */
static unsigned waiting;         /* users to whom tx_room is owed */
static unsigned lines_lost;
static struct host_console *users; /* all, in the order in which they are told of room */
static struct host_console *foreground, *escape_user;
static u8 escape_key;
static struct host_console *in_callback; /* the one that is being called without the lock; atomic */

static void owe_room(struct host_console *user)
{
	waiting += !user->waits;
	user->waits = true;
}

/* Whatever follows begins a line. Who had begun one is told when the line has come to rest. */
static void end_line(void)
{
	if (IS_ENABLED(CONFIG_SHARED_LINE) && foreground)
		foreground->others++;
	if (!mid_line)
		return;
	serial_text("\r\n", 2);
	mid_line = false;
	imitated = 0;
	if (IS_ENABLED(CONFIG_SHARED_LINE) && foreground) {
		foreground->cut = true;
		owe_room(foreground);
	}
}

static void report_lost(void)
{
	char text[64];
	int n;

	if (!lines_lost || serial_room() < 2 * sizeof(text))
		return;
	n = snprintf(text, sizeof(text), "margay: console: %u log lines not shown\r\n", lines_lost);
	lines_lost = 0;
	serial_text(text, (size_t)n);
}

/* Moves the output on, with the line that owns up to what the log lost. */
static void pump(void)
{
	if (!mid_line)
		report_lost();
	/*
	 * Another CPU may send the last byte: whoever waits for room is told by the interrupt that
	 * follows it.
	 */
	serial_pump(waiting);
	screen_output();
}

void console_set_escape(u8 key)
{
	escape_key = key;
}

void console_interrupts_on(int irq)
{
	bool locked = serial_lock();

	serial_interrupts_on(irq);
	serial_unlock(locked);
}

/*
 * The next user to whom room is owed; to the end of the list with it, so that all have their turn.
 */
static struct host_console *next_waiting(void)
{
	struct host_console **p = &users;
	struct host_console *user;

	if (!waiting || serial_queued() >= USER_RESUME)
		return NULL;
	while (*p && !(*p)->waits)
		p = &(*p)->next;
	user = *p;
	if (!user)
		return NULL;
	*p = user->next;
	user->next = NULL;
	while (*p)
		p = &(*p)->next;
	*p = user;
	user->waits = user->full = false;
	waiting--;
	return user;
}

static void set_callback(struct host_console *user)
{
	__atomic_store_n(&in_callback, user, __ATOMIC_RELEASE);
}

/*
 * Hands input on; each byte to who has the foreground then, since the byte before may have changed
 * that.
 */
static void deliver(const u16 *buf, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		bool locked = serial_lock();
		struct host_console *user =
			escape_user && buf[i] == escape_key ? escape_user : foreground;

		set_callback(user);
		serial_unlock(locked);
		if (user && buf[i] != SERIAL_BREAK)
			user->rx(user, (u8)buf[i]);
		else if (user && user->rx_break)
			user->rx_break(user);
		set_callback(NULL);
	}
}

static void tell_of_room(void)
{
	for (unsigned turns = MAX(waiting, 1u); turns; turns--) {
		bool locked = serial_lock();
		struct host_console *user = next_waiting();

		set_callback(user);
		serial_unlock(locked);
		if (user)
			user->tx_room(user);
		set_callback(NULL);
	}
}

void console_hand_on(const u16 *buf, unsigned n)
{
	deliver(buf, n);
	tell_of_room();
}

/* One round: input, output. False when the UART wants nothing. */
static bool service(bool *overrun)
{
	bool locked = serial_lock();
	u16 buf[RX_BATCH];
	unsigned n;

	if (!serial_pending()) {
		serial_unlock(locked);
		return false;
	}
	n = serial_receive(buf, RX_BATCH, overrun);
	pump();
	serial_unlock(locked);
	console_hand_on(buf, n);
	return true;
}

bool console_interrupt(void)
{
	bool overrun = false, locked;
	unsigned rounds = 0;

	/*
	 * The line is edge triggered: it must have been low once before this
	 * ends. Bounded, against a UART that never stops asking; that one gets a
	 * new edge by the interrupt enables. So does an idle one, whose only
	 * interrupt was acknowledged above, for those who have come to wait since.
	 */
	while (rounds < PENDING_LOOPS && service(&overrun))
		rounds++;
	if (rounds) {
		locked = serial_lock();
		serial_interrupts_off();
		pump();
		serial_unlock(locked);
	}
	console_report_overrun(overrun);
	return rounds > 0;
}

/* What a user in the background has written since its last newline, as a line of its own. */
static void put_held(struct host_console *user)
{
	end_line();
	serial_put('[');
	serial_text(user->name, strnlen(user->name, HOST_CONSOLE_NAME));
	serial_text("] ", 2);
	user->length = (u16)host_plain_text(user->line, user->length);
	serial_text((const char *)user->line, user->length);
	serial_text("\r\n", 2);
	user->length = 0;
}

/* One byte as it is; but it shall not make anybody believe that a VM or the node has ended. */
static void put_raw(u8 byte)
{
	if (last_line_completes(&imitated, byte))
		byte = '?';
	serial_put(byte);
	mid_line = byte != '\n';
}

/* What a user has written since its last newline, raw. */
static void put_begun(struct host_console *user)
{
	user->cut = false;
	for (unsigned i = 0; i < user->length; i++)
		put_raw(user->line[i]);
}

/*
 * One byte of the foreground's. When another's line has cut its own in two, that begins again; a
 * very long one does not from its very beginning.
 */
static void put_foreground(u8 byte)
{
	struct host_console *user = foreground;
	bool ends = byte == '\n' || byte == '\r';

	if (user->cut)
		put_begun(user);
	put_raw(byte);
	if (!IS_ENABLED(CONFIG_SHARED_LINE))
		return;
	if (ends || user->length == sizeof(user->line))
		user->length = 0;
	if (!ends)
		user->line[user->length++] = byte;
}

static void set_foreground(struct host_console *user)
{
	if (user == foreground)
		return;
	end_line();
	foreground = user;
	if (user)
		put_begun(user);
}

void host_console_add(struct host_console *user)
{
	bool locked = serial_lock();

	user->waits = user->full = user->cut = false;
	user->length = 0;
	user->next = users;
	users = user;
	if (!foreground)
		set_foreground(user);
	serial_unlock(locked);
}

void host_console_remove(struct host_console *user)
{
	bool locked = serial_lock();
	struct host_console **p = &users;

	while (*p && *p != user)
		p = &(*p)->next;
	if (*p)
		*p = user->next;
	if (foreground == user)
		set_foreground(NULL);
	else if (user->length && serial_room() > 2 * sizeof(user->line))
		put_held(user);
	serial_unlock(locked);
	/*
	 * It may be freed after this: the handler's CPU must have left it, where it may just have
	 * come to wait once more.
	 */
	while (__atomic_load_n(&in_callback, __ATOMIC_ACQUIRE) == user)
		__builtin_ia32_pause();
	locked = serial_lock();
	waiting -= user->waits;
	user->waits = false;
	pump();
	serial_unlock(locked);
}

int host_console_foreground(struct host_console *user)
{
	bool locked = serial_lock();
	const struct host_console *u = users;

	while (u && u != user)
		u = u->next;
	if (u == user)
		set_foreground(user);
	pump();
	serial_unlock(locked);
	return u == user ? 0 : -ENODEV;
}

const struct host_console *host_console_get_foreground(void)
{
	return foreground;
}

u8 host_console_escape(struct host_console *user)
{
	escape_user = escape_key ? user : NULL;
	return escape_key;
}

/*
 * One byte of a user in the background; terminal controls would hit what the operator sees of
 * another.
 */
static void hold(struct host_console *user, u8 byte)
{
	if (byte == '\n' || user->length == sizeof(user->line))
		put_held(user);
	if (byte != '\n' && byte != '\r')
		user->line[user->length++] = byte;
}

/* While others wait for room nobody overtakes them, however often it asks. */
static bool has_turn(const struct host_console *user)
{
	if (in_callback == user || serial_mode() != SERIAL_INTERRUPT)
		return true;
	if (!waiting)
		return true;
	for (const struct host_console *u = users; u; u = u->next)
		if (u->full && u != user)
			return false;
	return true;
}

size_t host_console_write(struct host_console *user, const u8 *buf, size_t n)
{
	bool locked, turn;
	size_t done = 0;

	if (serial_mode() == SERIAL_PANIC)
		return n;
	console_follow(true);
	locked = serial_lock();
	turn = has_turn(user);
	do {
		for (; turn && done < n && serial_queued() < USER_SHARE; done++) {
			if (user == foreground)
				put_foreground(buf[done]);
			else
				hold(user, buf[done]);
		}
		pump();
	} while (serial_mode() != SERIAL_INTERRUPT && done < n);
	if (done < n) {
		user->full = true;
		owe_room(user);
		pump();
	}
	serial_unlock(locked);
	return done;
}

void host_console_ask(struct host_console *user)
{
	bool locked = serial_lock();

	owe_room(user);
	pump();
	serial_unlock(locked);
}

void console_log(const char *text, size_t n)
{
	bool locked;

	console_follow(false);
	locked = serial_lock();
	if (serial_room() < n + 4) {
		lines_lost++;
	} else {
		end_line();
		report_lost();
		serial_text(text, n);
		serial_text("\r\n", 2);
	}
	pump();
	serial_unlock(locked);
}

void console_panic(void)
{
	serial_panic();
	screen_panic();
}

void host_console_drain(void)
{
	bool locked = serial_lock();

	serial_drain();
	serial_unlock(locked);
	screen_show();
}
