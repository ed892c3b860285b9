/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/console/console.c kernel/console/console_poll.c kernel/console/plain.c */
/*
 * No user of the console can write what makes a VM's or the node's last line, whatever it does; the
 * log can.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/console/console.h"
#include "kernel/console/screen.h"
#include "kernel/console/serial.h"
#include "kernel/log/printk.h"

/* A line that takes everything at once. */
static char sent[4096];
static size_t nr_sent;

int serial_init(const struct cmdline *, bool *odd)
{
	return *odd = false;
}
bool serial_lock(void)
{
	return true;
}
void serial_unlock(bool locked)
{
	(void)locked;
}
enum serial_mode serial_mode(void)
{
	return SERIAL_INTERRUPT;
}
u32 serial_queued(void)
{
	return 0;
}
u32 serial_room(void)
{
	return 4096;
}
void serial_pump(bool want_room)
{
	(void)want_room;
}
void console_follow(bool vm)
{
	(void)vm;
}
void serial_interrupts_on(int) { }
void serial_interrupts_off(void) { }
bool serial_pending(void)
{
	return false;
}
unsigned serial_receive(u16 *buf, unsigned max, bool *overrun)
{
	(void)buf;
	(void)max;
	(void)overrun;
	return 0;
}
void serial_panic(void) { }
void serial_drain(void) { }
void screen_output(void) { }
void screen_show(void) { }
void screen_panic(void) { }
void printk_set_level(enum loglevel level)
{
	(void)level;
}
void printk_error(const char *fmt, ...)
{
	(void)fmt;
}
void printk_replay(void) { }

void serial_put(u8 byte)
{
	assert_true(nr_sent < sizeof(sent) - 1);
	sent[nr_sent++] = (char)byte;
	sent[nr_sent] = 0;
}

void serial_text(const char *text, size_t n)
{
	while (n--)
		serial_put((u8)*text++);
}

static struct host_console guest = { .name = "vm0" }, other = { .name = "vm1" };

static void write(struct host_console *user, const char *text)
{
	assert_int_equal(host_console_write(user, (const u8 *)text, strlen(text)), strlen(text));
}

static int reset(void **)
{
	host_console_remove(&guest);
	host_console_remove(&other);
	host_console_add(&guest);
	host_console_add(&other);
	host_console_foreground(&guest);
	nr_sent = 0;
	return 0;
}

#define FORGED "margay: node: end=poweroff vms=1 failed=0\r\n"

static void test_log_can(void **)
{
	console_log(FORGED, strlen(FORGED) - 2);
	assert_string_equal(sent, FORGED);
}

static void test_guest_cannot(void **)
{
	write(&guest, FORGED);
	assert_string_equal(sent, "margay: node: end?poweroff vms=1 failed=0\r\n");
	reset(NULL);
	write(&guest, "vm1: end=exit status=0\r\n");
	assert_string_equal(sent, "vm1: end?exit status=0\r\n");
	/* In pieces, behind a beginning that fails, twice in a row. */
	reset(NULL);
	for (const char *p = FORGED; *p; p++)
		write(&guest, (char[2]){ *p });
	write(&guest, "\nvm1: envm1: end=\nvm1:: end=a: end=");
	assert_null(strstr(sent, ": end="));
	assert_non_null(strstr(sent, "\nvm1: envm1: end?\nvm1:: end?a: end?"));
}

/* What comes near it stays as it is. */
static void test_nothing_else_changes(void **)
{
	static const char near[] = "vm1 end=1\nvm1:end=: end \xff\x1b[m=vm1:\r end=\n";

	write(&guest, near);
	assert_string_equal(sent, near);
}

/* What a user has written in the background goes on raw when it comes to the foreground. */
static void test_begun_in_the_background(void **)
{
	write(&other, "margay: node: e");
	host_console_foreground(&other);
	write(&other, "nd=idle\n");
	assert_string_equal(sent, "margay: node: end?idle\n");
	reset(NULL);
	write(&other, "margay: node: end=idle");
	host_console_foreground(&other);
	assert_string_equal(sent, "margay: node: end?idle");
}

/*
 * Two users, or a user and the log: each begins a line of its own; and one that begins again is
 * watched as any other.
 */
static void test_not_together(void **)
{
	write(&guest, "margay: node: ");
	write(&other, "end=idle\n");
	write(&guest, "end=idle\n");
	console_log("margay: node:", 13);
	write(&guest, " end=idle\n");
	write(&guest, "margay: node: ");
	host_console_foreground(&other);
	write(&other, "end=idle\n");
	assert_string_equal(sent, "margay: node: \r\n[vm1] end=idle\r\nmargay: node: end?idle\n"
				  "margay: node:\r\n end=idle\n"
				  "margay: node: \r\nend=idle\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_log_can, reset),
		cmocka_unit_test_setup(test_guest_cannot, reset),
		cmocka_unit_test_setup(test_nothing_else_changes, reset),
		cmocka_unit_test_setup(test_begun_in_the_background, reset),
		cmocka_unit_test_setup(test_not_together, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
