/* SPDX-License-Identifier: GPL-2.0-only */
/* See monitor_console.h: keys in, lines out, and who has the serial line. */
#include "vmm/console/monitor_console.h"

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/console/editor.h"
#include "vmm/monitor.h"
#include "vmm/node/pause.h"
#include "vmm/slots/slot.h"
#include "vmm/vm.h"
#include "vmm/vm/service.h"

#define BUFFER_PAGES 16u
#define BUFFER (BUFFER_PAGES * PAGE_SIZE)
/* Kept free for echo, prompts and the line that says what is missing. */
#define RESERVE 2048u
#define NO_VM ~0u
/* Without a line of others, before one that they have cut is shown again. */
#define QUIET_MS 2000u

static struct host_console con;
static u8 escape_key;
/* the callbacks' only: they run on one CPU at a time, not always the same */
static struct editor editor;
static unsigned came_from = NO_VM; /* the VM that had the line before */
static bool active;             /* has the line */
static bool fresh;              /* ... and nothing was typed since */
/* the line that is being typed does not stand at the end of the output */
static bool cut_off;
static unsigned others_seen;    /* since when */
static u64 show_at;             /* TSC */
/* of the CPU that has armed it, which no key and no other CPU disarms */
static struct host_timer quiet;
static bool quiet_over;         /* it has fired; atomic */
static bool deferred;           /* the last command's answer comes later */
static bool later;              /* and has not come yet; atomic */

/* What the line has not taken yet. */
static struct spinlock lock;    /* guards these */
static char *buffer;
static unsigned head, tail;     /* bytes ever put in and taken out, modulo 2^32 */
static unsigned lines_lost;

static void put(const char *text, size_t n, unsigned reserve)
{
	if (BUFFER - (head - tail) < n + reserve) {
		lines_lost += reserve != 0;
		return;
	}
	for (size_t i = 0; i < n; i++)
		buffer[head++ % BUFFER] = text[i];
}

static void flush(void)
{
	while (head != tail) {
		size_t n = MIN(head - tail, (unsigned)(BUFFER - tail % BUFFER));
		size_t taken = host_console_write(&con, (const u8 *)buffer + tail % BUFFER, n);

		tail += (unsigned)taken;
		if (taken < n)
			return;
	}
}

static void send(const char *text, size_t n, unsigned reserve)
{
	spin_lock(&lock);
	put(text, n, reserve);
	flush();
	spin_unlock(&lock);
}

/* What was typed, and prompts: they find room when a long answer has filled the rest. */
static void echo(const char *text, size_t n)
{
	send(text, n, 0);
}

void console_say(const char *fmt, ...)
{
	char text[HOST_LOG_LINE + 2]; /* with a newline of two */
	size_t n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, HOST_LOG_LINE + 1, fmt, ap);
	va_end(ap);
	n = strlen(text);
	memcpy(text + n, "\r\n", 2);
	send(text, n + 2, RESERVE);
}

long console_room(void)
{
	return (long)(BUFFER - 2 * RESERVE - MIN(head - tail, BUFFER - 2 * RESERVE));
}

static void prompt(void)
{
	char text[64];

	spin_lock(&lock);
	if (lines_lost) {
		snprintf(text, sizeof(text), "(%u more lines did not fit)\r\n", lines_lost);
		put(text, strlen(text), 0);
		lines_lost = 0;
	}
	spin_unlock(&lock);
	editor_prompt(&editor);
}

void console_answer_later(bool yes)
{
	deferred = yes;
	__atomic_store_n(&later, yes, __ATOMIC_RELEASE);
}

/* Keys are let in again when the editor is no longer used here. */
void console_answered(void)
{
	prompt();
	__atomic_store_n(&later, false, __ATOMIC_RELEASE);
}

/* The VM that has the line, or NO_VM. */
static unsigned find_foreground(const struct host_console *who)
{
	unsigned found = NO_VM;

	if (!who)
		return NO_VM;
	for (unsigned i = 0; i < monitor_vm_count(); i++) {
		const struct vm *vm = monitor_vm_hold(i);

		if (vm && vm->console == who)
			found = i;
		monitor_vm_release();
	}
	return found;
}

int console_show_vm(unsigned i)
{
	struct vm *vm = monitor_vm_hold(i);
	int err = -ENODEV;

	if (vm && vm->console) {
		console_say("Console of %s: ^%c calls the monitor console, ^%c^%c sends it ^%c.",
			    vm->name, escape_key + '@', escape_key + '@', escape_key + '@',
			    escape_key + '@');
		if (vm_paused(vm))
			console_say(
				"%s is paused: it hears what is typed when vm resume %s lets it go on.",
				vm->name, vm->name);
		err = host_console_foreground(vm->console);
		/* Called twice in a row: the key was meant for the guest. */
		if (!err && fresh && i == came_from)
			vm->console->rx(vm->console, escape_key);
	}
	monitor_vm_release();
	if (!err) {
		active = false;
		came_from = i;
	}
	return err;
}

bool console_leads_to(unsigned i)
{
	return i == came_from;
}

static void enter(void)
{
	unsigned vm = find_foreground(host_console_get_foreground());

	if (vm != NO_VM)
		came_from = vm;
	active = fresh = true;
	host_console_foreground(&con);
	if (vm != NO_VM)
		console_say("\r\nMonitor console: help lists the commands, ^%c goes back to %s.",
			    escape_key + '@', monitor_vm_name(vm));
	else
		console_say(
			"\r\nMonitor console: help lists the commands; no VM has this line, vm console NAME gives it to one.");
	if (!__atomic_load_n(&later, __ATOMIC_ACQUIRE))
		prompt();
}

/* To the VM that had the line before, or the first one that runs. */
static void leave(void)
{
	echo("\r\n", 2);
	if (came_from != NO_VM && !console_show_vm(came_from))
		return;
	for (unsigned i = 0; i < monitor_vm_count(); i++)
		if (!console_show_vm(i))
			return;
	console_say(
		"No VM runs that has a console: vm list shows what there is, vm start NAME starts one.");
	prompt();
}

static void run_line(const char *line)
{
	char error[COMMAND_ERROR];
	struct command_args args;

	/*
	 * Who commands leaves the slot of a VM that is destroyed from here on to no other until the
	 * command is done.
	 */
	monitor_take_turn();
	const struct command *c = command_parse(console_commands, console_nr_commands,
						monitor_vm_name, line, &args, error);

	deferred = false;
	if (c)
		c->run(&args);
	else if (error[0])
		console_say("%s", error);
	monitor_take_turn();
	if (active && !deferred)
		prompt();
}

static void offer(const char *word)
{
	echo("  ", 2);
	echo(word, strlen(word));
}

static void complete(void)
{
	char line[EDITOR_MAX + 1], insert[COMMAND_WORD];

	memcpy(line, editor.text, editor.cursor);
	line[editor.cursor] = 0;
	echo("\r\n", 2);
	command_complete(console_commands, console_nr_commands, monitor_vm_name, line, insert,
			 offer);
	echo("\r\n", 2);
	editor_show(&editor);
	editor_insert(&editor, insert);
}

static void when_quiet(struct host_timer *)
{
	__atomic_store_n(&quiet_over, true, __ATOMIC_RELEASE);
	host_console_ask(&con);
}

/* One that is armed fires too early, and is armed again then. */
static void wait_for_quiet(void)
{
	if (!__atomic_load_n(&quiet.armed, __ATOMIC_ACQUIRE))
		host_timer_arm(&quiet, show_at);
}

/* Not under each line of theirs: when there has been none for a while. */
static void note_cut(void)
{
	cut_off = true;
	others_seen = con.others;
	show_at = host_tsc() + QUIET_MS * host_tsc_khz();
	wait_for_quiet();
}

static void show_again(void)
{
	if (con.others != others_seen) {
		note_cut();
	} else if (host_tsc() < show_at) {
		wait_for_quiet();
	} else {
		cut_off = false;
		editor_show(&editor);
	}
}

static void rx(struct host_console *, u8 byte)
{
	bool cut = cut_off || con.cut;

	/* A key may change who has the line. */
	con.cut = cut_off = false;
	if (byte == escape_key) {
		if (active)
			leave();
		else
			enter();
		return;
	}
	fresh = false;
	/* Nothing is typed ahead into an answer that is still to come. */
	if (__atomic_load_n(&later, __ATOMIC_ACQUIRE))
		return;
	if (cut)
		editor_show(&editor);
	switch (editor_feed(&editor, byte)) {
	case EDITOR_LINE: run_line(editor.text); break;
	case EDITOR_COMPLETE: complete(); break;
	case EDITOR_NONE: break;
	}
}

static void tx_room(struct host_console *)
{
	spin_lock(&lock);
	flush();
	spin_unlock(&lock);
	if (__atomic_exchange_n(&quiet_over, false, __ATOMIC_ACQUIRE) && cut_off)
		show_again();
	if (con.cut && active && !__atomic_load_n(&later, __ATOMIC_ACQUIRE))
		note_cut();
	con.cut = false;
}

static void gone(const char *name)
{
	if (!host_console_get_foreground())
		host_log(
			"margay: console: %s had this line and is over: ^%c calls the monitor console: vm start %s, or "
			"vm console NAME for another",
			name, escape_key + '@', name);
}

static void console_start(void)
{
	con = (struct host_console){ .name = "margay", .rx = rx, .tx_room = tx_room };
	buffer = host_pages_alloc(BUFFER_PAGES, -1);
	if (!buffer) {
		host_log("margay: no memory for the monitor console");
		return;
	}
	escape_key = host_console_escape(&con);
	if (!escape_key)
		return;
	editor.prompt = "margay> ";
	editor.echo = echo;
	quiet.fn = when_quiet;
	host_console_add(&con);
	/* The first VM that starts gets the line. */
	host_console_foreground(NULL);
	monitor_operator(gone);
	host_log("margay: console: ^%c calls the monitor console", escape_key + '@');
}
MONITOR_SERVICE(console_start);
