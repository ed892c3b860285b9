/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/console.c kernel/console/console_poll.c kernel/console/console_start.c kernel/console/plain.c kernel/console/serial.c kernel/log/printk.c */
/*
 * The console and the log above a fake UART: order of lines, a slow transmitter, input, overflow.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/console/console.h"
#include "kernel/console/screen.h"
#include "kernel/console/serial.h"
#include "kernel/log/printk.h"
#include "tests/unit/fake_uart.h"

/* The transmitter has asked by NMI, though another CPU came first. */
static unsigned expected;

void nmi_expected(unsigned cpu)
{
	assert_int_equal(cpu, 5);
	expected++;
}

static unsigned follows[2]; /* of the log, of VMs */

void console_follow(bool vm)
{
	/* It takes the lock itself. */
	assert_true(serial_mode() == SERIAL_PANIC || serial_lock());
	serial_unlock(serial_mode() != SERIAL_PANIC);
	follows[vm]++;
}

bool console_follow_interrupt(void)
{
	return false;
}

unsigned console_follow_cpu(bool (*fn)(void))
{
	assert_ptr_equal(fn, console_follow_interrupt);
	return 5;
}

void *mmio_map_type(u64, u64, bool)
{
	return NULL;
}

static unsigned outputs, shows;
static bool screen_panics;
static unsigned anews;

/* Before the log is shown from its beginning: the ring is empty. */
void screen_anew(void)
{
	u32 head;

	serial_ring(&head);
	assert_int_equal(head, 0);
	anews++;
}

void screen_output(void)
{
	outputs++;
}

void screen_show(void)
{
	shows++;
}

void screen_panic(void)
{
	screen_panics = true;
}

/* What the screen can see of the ring. */
static bool ring_ends(const char *text)
{
	size_t n = strlen(text);
	u32 head;
	const u8 *ring = serial_ring(&head);

	for (size_t i = 0; i < n; i++)
		if (head < n || ring[(head - n + i) % SERIAL_RING] != (u8)text[i])
			return false;
	return true;
}

/* The transmitter finishes a FIFO full and interrupts, until nothing is left. */
static void drain(void)
{
	do {
		emptied();
		console_interrupt();
	} while (in_fifo || empty_irq);
}

static void forget(void)
{
	nr_sent = 0;
	sent[0] = 0;
}

static char got[512];
static unsigned nr_got, room_calls;

static void on_rx(struct host_console *, u8 byte)
{
	got[nr_got++] = (char)byte;
	got[nr_got] = 0;
}

static void on_room(struct host_console *)
{
	room_calls++;
}

static void on_break(struct host_console *con)
{
	on_rx(con, '^');
}

static struct host_console user = {
	.name = "vm0", .rx = on_rx, .rx_break = on_break, .tx_room = on_room
};
static struct host_console other = { .name = "vm1", .rx = on_rx, .tx_room = on_room };
static struct host_console third = { .name = "vm2", .rx = on_rx, .tx_room = on_room };

#define KEY 0x14

static void write_text(const char *text)
{
	assert_int_equal(host_console_write(&user, (const u8 *)text, strlen(text)), strlen(text));
}

static const struct cmdline com1 = { CMDLINE_CONSOLE_PORT, 0x3f8, 115200, LOGLEVEL_INFO,
				     .escape = KEY };

/* These run in order: the console goes through its life once. */
static void test_absent(void **)
{
	present = false;
	printk("first line");
	assert_int_equal(console_init(&com1), -ENODEV);
	assert_false(console_works());
	/* A screen gets it all the same, and nobody waits. */
	assert_true(ring_ends("set console= on the command line\r\n"));
	for (unsigned i = 0; i < 3 * SERIAL_RING / 16; i++)
		assert_int_equal(host_console_write(&user, (const u8 *)"0123456789abcde\n", 16),
				 16);
	assert_true(ring_ends("[vm0] 0123456789abcde\r\n"));
	host_log("vm0: end=poweroff");
	assert_true(ring_ends("vm0: end=poweroff\r\n"));
	assert_true(outputs > 3 * SERIAL_RING / 16);
	assert_int_equal(shows, 0);
	host_console_drain();
	assert_int_equal(shows, 1);
	assert_false(console_interrupt());
	assert_int_equal(nr_sent + expected, 0);
}

static void receive_byte(u8 byte, u8 status)
{
	input[input_head] = byte;
	input_status[input_head++] = status;
}

/*
 * What is no proper port is the console if the operator has named it, and he reads so; else it is
 * none.
 */
static void test_odd(void **)
{
	struct cmdline named = com1;

	present = odd = always_ready = true;
	assert_int_equal(console_start(&com1), -ENODEV);
	assert_false(console_works());
	named.console_named = true;
	named.baud = 9600;
	assert_int_equal(console_init(&named), 0);
	assert_true(console_works() && speed == 9600);
	assert_non_null(strstr(
		sent,
		"margay: console: what is at port 0x3f8 fails the test of a serial port: used all the same"));
	odd = false;
	forget();
}

/* Without interrupts: what is typed is taken when somebody looks. */
static void test_polled_input(void **)
{
	nr_got = 0;
	host_console_add(&user);
	receive_byte('a', 0);
	receive_byte(0, UART_LSR_BI | UART_LSR_FE);
	assert_false(console_interrupt());
	console_poll();
	assert_string_equal(got, "a^");
	console_poll();
	assert_int_equal(nr_got, 2);
	receive_byte('b', 0);
	console_poll();
	assert_string_equal(got, "a^b");
	host_console_remove(&user);
}

static void test_replay_and_polled(void **)
{
	present = true;
	always_ready = true;
	printk_debug("not shown");
	assert_int_equal(console_init(&com1), 0);
	assert_true(console_works());
	assert_int_equal(anews, 2);
	assert_int_equal(speed, 115200);
	assert_ptr_equal(strstr(sent, "margay: first line\r\n"), sent);
	assert_non_null(strstr(sent, "no serial port answers at port 0x3f8"));
	assert_null(strstr(sent, "not shown"));
	forget();
	host_log("vm0: %d", 42);
	assert_string_equal(sent, "vm0: 42\r\n");
	forget();
	printk("a\nb\x1b[2J");
	assert_string_equal(sent, "margay: a?b?[2J\r\n");
}

static void test_lines_do_not_mix(void **)
{
	always_ready = false;
	emptied();
	host_console_add(&user);
	console_interrupts_on(4);
	assert_true(irq_rx && serial_irq() == 4);
	/* From here on it is the interrupt's alone. */
	receive_byte('n', 0);
	console_poll();
	assert_true(input_tail != input_head);
	input_tail = input_head;
	forget();
	write_text("login: ");
	host_log("vm1: ended");
	write_text("root\r\n");
	host_log("vm1: again");
	drain();
	assert_string_equal(sent, "login: \r\nvm1: ended\r\nlogin: root\r\nvm1: again\r\n");
	assert_false(irq_tx);
}

static void test_never_waits_and_tells_of_room(void **)
{
	static u8 flood[10000];
	size_t n;

	forget();
	memset(flood, 'x', sizeof(flood));
	in_fifo = 1; /* the line is busy */
	room_calls = 0;
	n = host_console_write(&user, flood, sizeof(flood));
	assert_true(n > 0 && n < sizeof(flood));
	assert_int_equal(host_console_write(&user, flood, 10), 0);
	assert_int_equal(nr_sent, 0);
	assert_true(irq_tx);
	/* Log lines still find room. */
	host_log("vm0: here");
	expected = 0;
	drain();
	assert_true(expected);
	assert_int_equal(room_calls, 1);
	assert_int_equal(nr_sent, n + strlen("\r\nvm0: here\r\n"));
	assert_non_null(strstr(sent, "x\r\nvm0: here\r\n"));
	assert_int_equal(host_console_write(&user, flood, 10), 10);
	write_text("\n");
	drain();
	assert_int_equal(room_calls, 1);
}

/*
 * The ring is emptied by others' writes, while the handler's CPU is busy: the waiter still hears of
 * room.
 */
static void test_room_without_handler(void **)
{
	static u8 flood[10000];

	forget();
	in_fifo = 1;
	room_calls = 0;
	assert_true(host_console_write(&user, flood, sizeof(flood)) < sizeof(flood));
	for (unsigned i = 0; i < sizeof(flood) / 16; i++) {
		emptied();
		assert_int_equal(host_console_write(&user, flood, 0), 0);
	}
	emptied();
	assert_int_equal(room_calls, 0);
	drain();
	assert_int_equal(room_calls, 1);
	assert_false(irq_tx);
	write_text("\n");
	drain();
}

static void test_lost_log_lines_are_counted(void **)
{
	forget();
	in_fifo = 1;
	for (unsigned i = 0; i < 1000; i++)
		host_log("vm0: line %03u of many, long enough to fill the ring", i);
	drain();
	assert_non_null(strstr(sent, "line 000"));
	assert_null(strstr(sent, "line 999"));
	assert_non_null(strstr(sent, "log lines not shown\r\n"));
	/* What was shown and what was not make up all. */
	unsigned shown = 0, lost = 0;

	for (char *p = sent; (p = strstr(p, "vm0: line")); p++)
		shown++;
	assert_int_equal(sscanf(strstr(sent, "margay: console: "), "margay: console: %u", &lost),
			 1);
	assert_int_equal(shown + lost, 1000);
}

/* On a line that is idle, and once. */
static void test_asked(void **)
{
	drain();
	room_calls = 0;
	drain();
	assert_int_equal(room_calls, 0);
	host_console_ask(&user);
	drain();
	assert_int_equal(room_calls, 1);
	drain();
	assert_int_equal(room_calls, 1);
}

static void test_input(void **)
{
	forget();
	nr_got = 0;
	receive_byte('l', 0);
	receive_byte('?', UART_LSR_FE);
	receive_byte('s', UART_LSR_OE);
	receive_byte(0, UART_LSR_BI | UART_LSR_FE);
	receive_byte('\r', 0);
	assert_true(console_interrupt());
	assert_false(console_interrupt());
	assert_string_equal(got, "ls^\r");
	emptied();
	drain();
	assert_non_null(strstr(sent, "some is lost"));
	host_console_foreground(NULL);
	receive_byte('x', 0);
	receive_byte(0, UART_LSR_BI);
	assert_true(console_interrupt());
	assert_int_equal(nr_got, 4);
	/* Who has no use for a BREAK gets no byte either. */
	host_console_add(&other);
	host_console_foreground(&other);
	receive_byte(0, UART_LSR_BI);
	receive_byte('y', 0);
	assert_true(console_interrupt());
	assert_string_equal(got, "ls^\ry");
	host_console_remove(&other);
}

/* Back to how it was: nobody in the background, the user in the foreground. */
static void only_user(void)
{
	host_console_remove(&other);
	host_console_foreground(&user);
	forget();
}

static size_t write_other(const char *text)
{
	return host_console_write(&other, (const u8 *)text, strlen(text));
}

static void test_background_shows_whole_lines(void **)
{
	host_console_foreground(&user);
	host_console_add(&other);
	emptied();
	forget();
	room_calls = 0;
	user.cut = false;
	write_other("boot");
	write_text("$ ");
	write_other("ing\r\nlogin: ");
	write_text("ls\n");
	write_other("\x1b[2Jroot\r\n");
	drain();
	assert_string_equal(sent, "$ \r\n[vm1] booting\r\n$ ls\n[vm1] login: root\r\n");
	/* The one whose line was cut in two hears of it, once, when all is out. */
	assert_false(user.cut);
	assert_int_equal(room_calls, 1);
	assert_false(irq_tx);
	only_user();
}

/* Without a newline: cut, never mixed. */
static void test_background_long_line(void **)
{
	char text[HOST_CONSOLE_LINE + 3];

	host_console_add(&other);
	emptied();
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 2] = '\n';
	text[sizeof(text) - 1] = 0;
	write_other(text);
	drain();
	assert_int_equal(nr_sent, 2 * strlen("[vm1] \r\n") + HOST_CONSOLE_LINE + 1);
	assert_ptr_equal(strstr(sent, "\r\n[vm1] a\r\n"),
			 sent + strlen("[vm1] ") + HOST_CONSOLE_LINE);
	only_user();
}

/* The partial line of who comes to the foreground is shown raw, the other's is ended. */
static void test_foreground_changes(void **)
{
	host_console_add(&other);
	emptied();
	write_other("login: ");
	write_text("$ ");
	drain();
	outputs = 0;
	host_console_foreground(&other);
	/* What it has shown now is on its way, and the screen has heard of it. */
	assert_true(in_fifo && outputs);
	write_other("x");
	write_text("hidden");
	host_console_foreground(NULL);
	write_text("\n");
	drain();
	assert_string_equal(sent, "$ \r\nlogin: x\r\n[vm0] $ hidden\r\n");
	/* What goes away leaves its last words. */
	forget();
	write_other("bye");
	host_console_remove(&other);
	drain();
	assert_string_equal(sent, "[vm1] login: xbye\r\n");
	/* Nobody has the foreground: the next one that comes gets it. */
	forget();
	host_console_add(&other);
	write_other("raw");
	drain();
	assert_string_equal(sent, "raw");
	write_other("\n");
	drain();
	only_user();
	/* Who has begun no line goes without a word. */
	host_console_add(&other);
	host_console_remove(&other);
	drain();
	assert_string_equal(sent, "");
}

/* A line of the foreground's that others cut begins again, once, when there is more of it. */
static void test_cut_line_begins_again(void **)
{
	char text[HOST_CONSOLE_LINE + 3];

	host_console_foreground(&user);
	emptied();
	forget();
	write_text("half");
	host_log("one");
	host_log("two");
	drain();
	assert_string_equal(sent, "half\r\none\r\ntwo\r\n");
	assert_true(user.cut);
	write_text(" and");
	write_text(" half");
	drain();
	assert_string_equal(sent, "half\r\none\r\ntwo\r\nhalf and half");
	/* A whole line is whole; what a carriage return takes back is not shown again. */
	forget();
	write_text("\r\n");
	host_log("one");
	write_text("10%\r20");
	host_log("two");
	write_text("%\n");
	drain();
	assert_string_equal(sent, "\r\none\r\n10%\r20\r\ntwo\r\n20%\n");
	/* Who resets it has shown its line itself. */
	forget();
	write_text("$ ");
	host_log("one");
	user.cut = false;
	write_text("$ ls\n");
	drain();
	assert_string_equal(sent, "$ \r\none\r\n$ ls\n");
	/* What the line cannot hold is left out. */
	memset(text, 'a', HOST_CONSOLE_LINE);
	strcpy(text + HOST_CONSOLE_LINE, "b");
	write_text(text);
	host_log("one");
	drain();
	forget();
	write_text("c\n");
	drain();
	assert_string_equal(sent, "bc\n");
}

/* It cannot pass for the node's last line by what is shown again either. */
static void test_begun_again_imitates_nobody(void **)
{
	forget();
	write_text("vm1: en");
	host_log("one");
	write_text("d=exit\n");
	drain();
	assert_string_equal(sent, "vm1: en\r\none\r\nvm1: end?exit\n");
	forget();
}

static unsigned other_turns, third_turns;

static void flood_other(struct host_console *u)
{
	static const u8 text[] = "other floods without end\n";

	other_turns++;
	while (host_console_write(u, text, sizeof(text) - 1) == sizeof(text) - 1)
		;
}

static void flood_third(struct host_console *u)
{
	static const u8 text[] = "third floods without end\n";

	third_turns++;
	while (host_console_write(u, text, sizeof(text) - 1) == sizeof(text) - 1)
		;
}

/*
 * Two that always have more to say than the line takes: both get their turns, nothing is lost or
 * mixed.
 */
static void test_flooding_users_take_turns(void **)
{
	unsigned lines = 0;

	other.tx_room = flood_other;
	third.tx_room = flood_third;
	host_console_add(&other);
	host_console_add(&third);
	in_fifo = 1;
	flood_other(&other);
	flood_third(&third);
	other_turns = third_turns = 0;
	for (unsigned i = 0; i < 5000; i++) {
		emptied();
		console_interrupt();
	}
	assert_in_range(other_turns, third_turns - 1, third_turns + 1);
	assert_true(other_turns > 10);
	other.tx_room = third.tx_room = on_room;
	drain();
	for (char *p = sent, *end; (end = strstr(p, "\r\n")); p = end + 2, lines++) {
		*end = 0;
		assert_true(!strncmp(p, "[vm1] ", 6)
				    ? !strstr(p, "third")
				    : !strncmp(p, "[vm2] ", 6) && !strstr(p, "other"));
	}
	assert_true(lines > 1000);
	host_console_remove(&third);
	only_user();
}

/*
 * A guest that asks again whenever a byte has left does not keep out one that waits to be told of
 * room.
 */
static void test_nobody_overtakes(void **)
{
	static const u8 flood[64];

	host_console_add(&other);
	room_calls = 0;
	in_fifo = 1;
	while (host_console_write(&user, flood, sizeof(flood)) == sizeof(flood))
		;
	assert_int_equal(write_other("waits\n"), 0);
	for (unsigned i = 0; i < 1000; i++) {
		emptied();
		console_interrupt();
		if (!other.full)
			break;
		assert_int_equal(host_console_write(&user, flood, 1), 0);
	}
	assert_int_equal(room_calls, 2);
	assert_int_equal(write_other("waits\n"), 6);
	write_text("\n");
	drain();
	only_user();
}

static void let_other_ask(struct host_console *u)
{
	on_room(u);
	assert_int_equal(write_other("late\n"), 0);
	user.tx_room = third.tx_room = on_room;
}

/*
 * Who comes to wait while the ones before are told of room, with nothing left to send, is told as
 * well.
 */
static void test_waits_for_an_idle_line(void **)
{
	static const u8 flood[64];

	host_console_add(&other);
	host_console_add(&third);
	in_fifo = 1;
	while (host_console_write(&user, flood, sizeof(flood)) == sizeof(flood))
		;
	assert_int_equal(host_console_write(&third, flood, 1), 0);
	/* Another CPU's writes send all that there is. */
	for (unsigned i = 0; i < 1000; i++) {
		emptied();
		assert_int_equal(host_console_write(&user, flood, 0), 0);
	}
	emptied();
	room_calls = 0;
	user.tx_room = third.tx_room = let_other_ask;
	do
		console_interrupt();
	while (empty_irq);
	assert_int_equal(room_calls, 3);
	assert_false(user.waits || other.waits || third.waits);
	host_console_remove(&third);
	write_text("\n");
	drain();
	only_user();
}

static pthread_t remover;

static void *remove_third(void *)
{
	host_console_remove(&third);
	return NULL;
}

/* Its VM goes on another CPU just now, and the log takes the room. */
static void on_room_removed(struct host_console *u)
{
	static const u8 text[] = "last words";

	third.tx_room = on_room;
	pthread_create(&remover, NULL, remove_third, NULL);
	/* It has taken the user out of the list, and waits for this to end. */
	while (host_console_get_foreground() == &third)
		sched_yield();
	for (unsigned i = 0; i < 60; i++)
		host_log("vm7: a line of the log that is some fifty bytes long %u", i);
	assert_true(host_console_write(u, text, sizeof(text) - 1) < sizeof(text) - 1);
}

static void test_removed_while_told(void **)
{
	static const u8 flood[4096];
	unsigned asked = 0;

	host_console_add(&third);
	host_console_foreground(&third);
	third.tx_room = on_room_removed;
	in_fifo = 1;
	assert_true(host_console_write(&third, flood, sizeof(flood)) < sizeof(flood));
	for (unsigned i = 0; i < 100000 && third.tx_room == on_room_removed; i++) {
		emptied();
		console_interrupt();
	}
	pthread_join(remover, NULL);
	for (unsigned i = 0; i < 5000; i++) {
		emptied();
		console_interrupt();
	}
	/* All is sent and nobody waits: the UART is silent. */
	for (unsigned i = 0; i < 1000 && empty_irq; i++)
		asked += console_interrupt();
	assert_int_equal(asked, 0);
	assert_false(irq_tx);
	only_user();
}

/* Who writes gets the interrupts; who logs does only where nobody has them. */
static void test_followed(void **)
{
	follows[0] = follows[1] = 0;
	write_text("x\n");
	assert_int_equal(follows[1], 1);
	assert_int_equal(follows[0], 0);
	host_log("vm0: a line");
	assert_int_equal(follows[0], 1);
	assert_int_equal(follows[1], 1);
	drain();
}

/* The escape key goes to who asked for it, from whoever has the foreground; nothing else does. */
static void test_escape(void **)
{
	static struct host_console monitor = { .name = "monitor", .rx = on_rx, .tx_room = on_room };

	emptied();
	nr_got = 0;
	assert_int_equal(host_console_escape(&monitor), KEY);
	host_console_foreground(NULL);
	receive_byte('a', 0);
	receive_byte(KEY, 0);
	receive_byte('b', 0);
	assert_true(console_interrupt());
	assert_int_equal(nr_got, 1);
	assert_int_equal(got[0], KEY);
	host_console_escape(NULL);
	only_user();
}

static unsigned nr_last;
static char last_text[HOST_LOG_LINE + 1];

static void on_last(enum loglevel, const char *text, size_t n)
{
	assert_int_equal(strlen(text), n);
	memcpy(last_text, text, n + 1);
	nr_last++;
}

static void test_ring(void **)
{
	char longer[2000];

	nr_last = 0;
	printk_last(&printk_log, 3, on_last);
	assert_int_equal(nr_last, 3);
	printk_set_level(LOGLEVEL_ERROR);
	for (unsigned i = 0; i < 5000; i++)
		printk("line %u %s", i, "0123456789012345678901234567890123456789");
	nr_last = 0;
	printk_last(&printk_log, ~0u, on_last);
	/*
	 * 65536 bytes of lines of 60 bytes (and the level and the newline), the oldest one cut and
	 * left out.
	 */
	assert_in_range(nr_last, 1050, 1092);
	assert_string_equal(last_text,
			    "margay: line 4999 0123456789012345678901234567890123456789");
	memset(longer, 'y', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	printk_debug("%s", longer);
	nr_last = 0;
	printk_last(&printk_log, 1, on_last);
	assert_int_equal(nr_last, 1);
	assert_int_equal(strlen(last_text), HOST_LOG_LINE);
	printk_last(&printk_log, 0, on_last);
	assert_int_equal(nr_last, 1);
}

static void test_panic(void **)
{
	forget();
	in_fifo = 1;
	printk_error("before");
	assert_int_equal(nr_sent, 0);
	always_ready = true;
	console_panic();
	assert_true(screen_panics);
	assert_string_equal(sent, "margay: before\r\n");
	assert_false(irq_rx || irq_tx);
	printk_error("after");
	assert_string_equal(sent, "margay: before\r\nmargay: after\r\n");
	/* A transmitter that is stuck must not hold the last words for ever. */
	always_ready = false;
	in_fifo = 1;
	printk_error("lost");
	host_console_drain();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_replay_and_polled),
		cmocka_unit_test(test_polled_input),
		cmocka_unit_test(test_lines_do_not_mix),
		cmocka_unit_test(test_never_waits_and_tells_of_room),
		cmocka_unit_test(test_room_without_handler),
		cmocka_unit_test(test_lost_log_lines_are_counted),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_background_shows_whole_lines),
		cmocka_unit_test(test_background_long_line),
		cmocka_unit_test(test_foreground_changes),
		cmocka_unit_test(test_cut_line_begins_again),
		cmocka_unit_test(test_begun_again_imitates_nobody),
		cmocka_unit_test(test_flooding_users_take_turns),
		cmocka_unit_test(test_nobody_overtakes),
		cmocka_unit_test(test_waits_for_an_idle_line),
		cmocka_unit_test(test_removed_while_told),
		cmocka_unit_test(test_followed),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_panic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
