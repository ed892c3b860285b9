/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/console/monitor_console.c vmm/console/commands.c vmm/console/command.c vmm/console/editor.c tests/unit/fake_host.c lib/span.c */
/*
 * The operator at the monitor console: who has the line when, what commands
 * ask of the monitor and what they answer. The VMs and the monitor are a few
 * variables here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_events.h"
#include "tests/unit/fake_host.h"
#include "vmm/console/monitor_console.h"
#include "vmm/vm/devices.h"
#include "vmm/node/pause.h"
#include "vmm/report/inspect.h"
#include "vmm/monitor.h"
#include "vmm/slots/output_log.h"
#include "vmm/report/report.h"
#include "vmm/vm/service.h"

#define ESCAPE "\x14"
#define BANNER(name) "Console of " name ": ^T calls the monitor console, ^T^T sends it ^T.\r\n"

extern void (*const __start_monitor_services[])(void);

static struct vm vms[2];
static struct vcpu vcpus[2], *by_id[] = { &vcpus[0], &vcpus[1] };
static bool runs[2], held;
static enum monitor_vm_state state[2] = { MONITOR_VM_RUNNING, MONITOR_VM_RUNNING };
static int result; /* of what is asked for */
static char asked[64]; /* the last request */
static void (*called)(struct vcpu *vcpu);
static void (*gone)(const char *name);
static char typed[2][64]; /* what the guests get */
static struct host_console consoles[2];
static u64 up_seconds;

static void guest_rx(struct host_console *con, u8 byte)
{
	char *text = typed[con - consoles];

	text[strlen(text)] = (char)byte;
}

static void guest_room(struct host_console *) { }

unsigned monitor_turn;
static unsigned named_at; /* the turn when a VM's name was asked for last */

static int ask(const char *what, const char *name)
{
	assert_false(held);
	/* It is odd from before a command's name is looked up until the command is done. */
	assert_true(monitor_turn % 2 && named_at == monitor_turn);
	snprintf(asked, sizeof(asked), "%s %s", what, name);
	return result;
}

unsigned monitor_vm_count(void)
{
	return 2;
}

const char *monitor_vm_name(unsigned i)
{
	named_at = monitor_turn;
	return i < 2 ? vms[i].name : NULL;
}

void monitor_vm_info(unsigned i, struct monitor_vm *out)
{
	static const struct vm_config config;

	*out = (struct monitor_vm){ .file = "vm.conf",
				    .config = &config,
				    .state = state[i],
				    .cpus = i ? 3 : 0,
				    .memory = i ? MIB(512) : 0,
				    .starts = 7,
				    .up = i ? up_seconds * 1000 * host_tsc_khz() : 0 };
}

const char *monitor_state_name(const struct monitor_vm *info)
{
	return info->cpus ? "running" : "waiting";
}

struct vm *monitor_vm_hold(unsigned i)
{
	assert_false(held);
	held = true;
	return runs[i] ? &vms[i] : NULL;
}

void monitor_vm_release(void)
{
	assert_true(held);
	held = false;
}

int monitor_vm_start(unsigned i)
{
	return ask("start", vms[i].name);
}

int monitor_vm_stop(unsigned i, bool again)
{
	int err = ask(again ? "restart" : "stop", vms[i].name);

	return again && !runs[i] ? -ENODEV : err;
}

bool monitor_idle(void)
{
	return false;
}

void monitor_node_end(bool)
{
	fail();
	__builtin_unreachable();
}

void monitor_operator(void (*fn)(const char *name))
{
	gone = fn;
}

int vm_pause(struct vm *vm)
{
	assert_true(held);
	snprintf(asked, sizeof(asked), "pause %s", vm->name);
	return result;
}

int vm_resume(struct vm *vm)
{
	assert_true(held);
	snprintf(asked, sizeof(asked), "resume %s", vm->name);
	return result;
}

int vm_press(struct vm *vm, enum vm_button button)
{
	assert_true(held);
	snprintf(asked, sizeof(asked), "%s %s", button == VM_BUTTON_POWER ? "press" : "nmi",
		 vm->name);
	return result;
}

int vcpu_call(struct vcpu *vcpu, void (*fn)(struct vcpu *vcpu))
{
	assert_true(held);
	assert_ptr_equal(vcpu, &vcpus[1]);
	if (!result)
		called = fn;
	return result;
}

void inspect_vcpu(struct vcpu *vcpu, inspect_line line)
{
	line(vcpu, "RIP ffffffff81000000");
}

void report_node(report_say say)
{
	say("cpu %u", 0u);
}

void report_pci(report_say say)
{
	say("00:00.0");
}

/* Of the boot before, four lines are left. Many lines are numbered, and of many lengths. */
bool host_log_last(unsigned boot, unsigned lines, void (*fn)(const char *text))
{
	char text[HOST_LOG_LINE + 1];

	if (boot && lines > 4)
		return false;
	for (unsigned i = 0; lines > 100 && i < lines; i++) {
		snprintf(text, sizeof(text), "%0*u|", i % 10 ? 40 : HOST_LOG_LINE - 1, i);
		fn(text);
	}
	if (lines <= 100) {
		snprintf(text, sizeof(text), "%u lines", lines);
		fn(text);
	}
	return true;
}

bool output_log_last(unsigned id, unsigned lines, void (*say)(const char *text))
{
	char text[32];

	snprintf(text, sizeof(text), "%u of %u", lines, id);
	if (runs[id])
		say(text);
	return runs[id];
}

void command_stats(const struct command_args *) { }

static size_t before;

/* What has come out since the last call. */
static const char *output(void)
{
	static char text[sizeof(fake_host.output) + 1];

	assert_true(fake_host.output_len - before < sizeof(text));
	memcpy(text, fake_host.output + before, fake_host.output_len - before);
	text[fake_host.output_len - before] = 0;
	before = fake_host.output_len;
	return text;
}

/* A line typed, and its answer between the echo and the next prompt. */
static void answer(const char *line, const char *expected)
{
	char whole[512];

	fake_host_type(line);
	output();
	fake_host_type("\r");
	snprintf(whole, sizeof(whole), "\r\n%s\r\nmargay> ", expected);
	assert_string_equal(output(), whole);
}

/* These run in order: the console goes through its life once. */
static void test_start(void **)
{
	fake_host_reset();
	for (unsigned i = 0; i < 2; i++) {
		snprintf(vms[i].name, sizeof(vms[i].name), "vm%u", i);
		consoles[i] = (struct host_console){ .name = vms[i].name,
						     .rx = guest_rx,
						     .tx_room = guest_room };
		vms[i].console = &consoles[i];
	}
	vms[1].vcpus = by_id;
	vcpus[1] = (struct vcpu){ .vm = &vms[1], .id = 1 };
	vms[1].nr_vcpus = 2;
	__start_monitor_services[0]();
	assert_non_null(gone);
	assert_non_null(strstr(fake_host.log, "console: ^T calls the monitor console"));
	/* The line is nobody's until a VM starts: the first one gets it. */
	assert_null(fake_host.console);
	fake_host_type("x");
	assert_string_equal(output(), "");
}

static void test_first_vm_has_the_line(void **)
{
	runs[0] = runs[1] = true;
	host_console_add(&consoles[0]);
	host_console_add(&consoles[1]);
	fake_host_type("root\r");
	assert_string_equal(typed[0], "root\r");
	fake_host_type(ESCAPE);
	assert_string_equal(
		output(),
		"\r\nMonitor console: help lists the commands, ^T goes back to vm0.\r\nmargay> ");
	fake_host_type("ab");
	assert_string_equal(typed[0], "root\r");
	assert_string_equal(output(), "ab");
	fake_host_type(ESCAPE);
	assert_string_equal(output(), "\r\n" BANNER("vm0"));
	assert_ptr_equal(fake_host.console, &consoles[0]);
	/* One that cannot hear says so. */
	vms[0].paused = true;
	fake_host_type(ESCAPE " ");
	output();
	fake_host_type(ESCAPE);
	assert_string_equal(
		output(),
		"\r\n" BANNER(
			"vm0") "vm0 is paused: it hears what is typed when vm resume vm0 lets it go "
			       "on.\r\n");
	vms[0].paused = false;
	fake_host_type("z");
	assert_string_equal(typed[0], "root\rz");
	/* Twice in a row it is the guest's, once only. */
	fake_host_type(ESCAPE ESCAPE);
	assert_string_equal(typed[0], "root\rz" ESCAPE);
	assert_ptr_equal(fake_host.console, &consoles[0]);
}

/* vm console gives it to another, to which the escape key then leads back. */
static void test_other_vm(void **)
{
	fake_host_type(ESCAPE "\x15vm console vm1");
	output();
	fake_host_type("\r");
	assert_string_equal(output(), "\r\n" BANNER("vm1"));
	assert_ptr_equal(fake_host.console, &consoles[1]);
	fake_host_type("y" ESCAPE " " ESCAPE "Y");
	assert_string_equal(typed[1], "yY");
	/*
	 * When that one is gone, to the first that runs, for which no key was meant; when none
	 * does, nowhere.
	 */
	fake_host_type(ESCAPE);
	runs[1] = false;
	fake_host_type(ESCAPE);
	assert_ptr_equal(fake_host.console, &consoles[0]);
	assert_string_equal(typed[0], "root\rz" ESCAPE);
	/* Over while it has the line: said, unless the line is another's by then. */
	gone("vm0");
	assert_null(strstr(fake_host.log, "vm0 had this line"));
	runs[0] = false;
	host_console_remove(&consoles[0]);
	gone("vm0");
	assert_non_null(strstr(
		fake_host.log,
		"margay: console: vm0 had this line and is over: ^T calls the monitor console: "
		"vm start vm0, or vm console NAME for another\n"));
	output();
	fake_host_type(ESCAPE);
	assert_string_equal(
		output(),
		"\r\nMonitor console: help lists the commands; no VM has this line, vm console NAME gives "
		"it to one.\r\nmargay> ");
	fake_host_type(ESCAPE);
	assert_string_equal(
		output(),
		"\r\nNo VM runs that has a console: vm list shows what there is, vm start NAME starts "
		"one.\r\nmargay> ");
	answer("vm console vm0", "vm0 does not run, or has no UART");
	/* What there is, of a word; and where there is none. */
	answer("help pci", "pci                       the PCI functions of the node");
	answer("help reboot", "reboot                    restarts the node when no VM runs\r\n"
			      "reboot now                ... whatever runs");
	answer("help nothing", "no command begins with 'nothing': help lists them");
	answer("vm reboot vm0",
	       "no command 'vm reboot': vm has console, list, log, nmi, pause, press, restart, resume, start, "
	       "stop");
}

/* Who commands here is the console, and what is refused is no cause of what follows. */
static void test_events(void **)
{
	static const struct {
		int err;
		const char *line;
		const char *event;
	} cases[] = {
		{ 0, "vm start vm0", "0 start vm0 1 0 by console" },
		{ 0, "vm stop vm1", "1 kill vm1 0 1 by console" },
		{ 0, "vm restart vm1", "1 restart vm1 1 1 by console" },
		{ 0, "vm pause vm1", "1 pause vm1 0 0 by console" },
		{ 0, "vm resume vm1", "1 resume vm1 0 0 by console" },
		{ 0, "vm press vm1", "1 press vm1 0 1 by console" },
		{ 0, "vm nmi vm1", "1 nmi vm1 0 0 by console" },
		{ -EBUSY, "vm start vm1",
		  "1 start vm1 1 0 by console, 7 refused: the console has said why" },
		{ -EIO, "vm start vm1",
		  "1 start vm1 1 0 by console, 7 refused: the console has said why" },
		{ 0, "vm list", "" },
	};

	runs[1] = true;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		result = cases[i].err;
		event_told[0] = 0;
		fake_host_type(cases[i].line);
		fake_host_type("\r");
		output();
		assert_string_equal(event_told, cases[i].event);
	}
	result = 0;
}

static void test_answers(void **)
{
	static const struct {
		int err;
		const char *line;
		const char *request;
		const char *text;
	} cases[] = {
		{ 0, "vm start vm0", "start vm0", "vm0: starts" },
		{ -EBUSY, "vm start vm1", "start vm1", "vm1: it runs or starts: vm list tells" },
		{ -EINVAL, "vm start vm0", "start vm0",
		  "vm0: its VM file was not understood: the log tells why" },
		{ -ENOSPC, "vm start vm0", "start vm0", "vm0: no CPU is free to start it" },
		{ -EIO, "vm start vm0", "start vm0", "vm0: error 5" },
		{ 0, "vm stop vm1", "stop vm1", "vm1: stops" },
		{ -ENODEV, "vm stop vm1", "stop vm1", "vm1 does not run" },
		{ 0, "vm restart vm1", "restart vm1", "vm1: restarts" },
		{ 0, "vm restart vm0", "start vm0", "vm0: restarts" }, /* it does not run */
		{ 0, "vm pause vm1", "pause vm1", "vm1: paused" },
		{ -EALREADY, "vm pause vm1", "pause vm1", "vm1 is paused already" },
		{ 0, "vm resume vm1", "resume vm1", "vm1: running" },
		{ 0, "vm pause vm0", "", "vm0 does not run" },
		{ 0, "vm press vm1", "press vm1", "vm1: power button pressed" },
		{ 0, "vm press vm0", "", "vm0 does not run" },
		{ -ENOSYS, "vm press vm1", "press vm1",
		  "vm1 has no power button: that needs CONFIG_VM_IOAPIC" },
		{ 0, "vm nmi vm1", "nmi vm1", "vm1: NMI sent" },
		{ -ENXIO, "vm nmi vm1", "nmi vm1",
		  "vm1: its guest takes no NMI, at LINT1 of any vCPU" },
		{ -EPERM, "vm nmi vm1", "nmi vm1", "vm1 has crashed: stop it" },
		{ 0, "vm nmi vm0", "", "vm0 does not run" },
		{ 0, "log", "", "20 lines" },
		{ 0, "log 3", "", "3 lines" },
		{ 0, "log before 4", "", "4 lines" },
		{ 0, "log before", "",
		  "nothing is left of the log of the boot before: the machine was off, or its memory written to" },
		{ 0, "vm log vm1", "", "20 of 1" },
		{ 0, "vm log vm1 7", "", "7 of 1" },
		{ 0, "vm log vm0", "",
		  "vm0: nothing of its output is kept: it never ran, or console_log = 0" },
		{ 0, "node", "", "cpu 0" },
		{ 0, "pci", "", "00:00.0" },
		{ 0, "poweroff", "", "VMs run: stop them first, or: poweroff now" },
		{ 0, "reboot", "", "VMs run: stop them first, or: reboot now" },
	};
	static const struct {
		u64 seconds;
		const char *text;
	} ups[] = {
		{ 1, "1s" },       { 59, "59s" },
		{ 60, "1m0s" },    { 3599, "59m59s" },
		{ 3600, "1h0m" },  { 86399, "23h59m" },
		{ 86400, "1d0h" }, { 10 * 86400 + 7300, "10d2h" },
	};

	runs[1] = true;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		result = cases[i].err;
		asked[0] = 0;
		answer(cases[i].line, cases[i].text);
		assert_string_equal(asked, cases[i].request);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(ups); i++) {
		char expected[256];

		up_seconds = ups[i].seconds;
		snprintf(
			expected, sizeof(expected),
			"vm0              waiting      vCPUs all memory all     up -      starts 7  file vm.conf  foreground\r\n"
			"vm1              running      vCPUs 3   memory 512M    up %-6s starts 7  file vm.conf",
			ups[i].text);
		answer("vm", expected);
	}
	/* It is over meanwhile: the key leads elsewhere. */
	state[0] = MONITOR_VM_OVER;
	fake_host_type("vm list\r");
	assert_null(strstr(output(), "foreground"));
}

/* The line takes what it has not taken before. */
static const char *drained(void)
{
	fake_host.output_len = before = 0;
	fake_host_drain(~0ul);
	return output();
}

/*
 * More than the line takes at once: the last lines come, whole and in their order, and what is
 * missing is said.
 */
static void test_long_answer(void **)
{
	static const char begins[] = "log 3000\r\n(older lines do not fit)\r\n";
	const char *text;
	unsigned first;

	fake_host.output_room = 0;
	fake_host_type("log 3000\r");
	text = drained();
	assert_int_equal(strncmp(text, begins, strlen(begins)), 0);
	text += strlen(begins);
	first = (unsigned)strtoul(text, NULL, 10);
	/* 60 KiB are 668 lines of 40 or 511 characters, and two more each */
	assert_in_range(first, 2250, 2400);
	for (unsigned i = first; i < 3000; i++) {
		assert_int_equal(strtoul(text, NULL, 10), i);
		text = strchr(text, '|');
		assert_non_null(text);
		assert_int_equal(strncmp(text, "|\r\n", 3), 0);
		text += 3;
	}
	assert_string_equal(text, "margay> ");
	/* Of a second one nothing fits; the prompt does. */
	fake_host.output_room = 0;
	fake_host_type("log 3000\rlog 3000\r");
	text = strstr(drained(), "2999|");
	assert_string_equal(text,
			    "2999|\r\nmargay> log 3000\r\n(older lines do not fit)\r\nmargay> ");
	/* Just what there is room for. */
	fake_host.output_room = 0;
	fake_host_type("log 101\r");
	text = drained();
	assert_int_equal(strtoul(text + strlen("log 101\r\n"), NULL, 10), 0);
	assert_null(strstr(text, "fit"));
}

/* The answer comes from the vCPU's CPU: until then there is no prompt, and no key is taken. */
static void test_registers(void **)
{
	result = 0;
	fake_host_type("regs vm1 1");
	output();
	fake_host_type("\r");
	assert_string_equal(output(), "\r\n");
	assert_non_null(called);
	fake_host_type("typed ahead\r");
	assert_string_equal(output(), "");
	called(&vcpus[1]);
	assert_string_equal(output(), "vm1: vcpu1:\r\nRIP ffffffff81000000\r\nmargay> ");
	/* Refused: at once, and keys are taken. */
	result = -ENODEV;
	answer("regs vm1 1", "vm1 does not run");
	answer("regs vm1 2", "vm1 has vCPUs 0-1");
	answer("regs vm0", "vm0 does not run");
}

/*
 * Others' lines have cut the line that is being typed: it comes again when they pause, or with the
 * next key, and once.
 */
static void test_cut(void **)
{
	struct host_console *con;
	u64 ms = host_tsc_khz(), now = fake_host.tsc;

	fake_host_type("vm li");
	con = fake_host.console;
	output();
	for (unsigned i = 0; i < 10; i++) {
		con->cut = !i; /* the others find no line to cut */
		con->others++;
		if (!i)
			con->tx_room(con);
		fake_host_advance(now += 1500 * ms);
	}
	assert_string_equal(output(), "");
	fake_host_advance(now += 500 * ms);
	assert_string_equal(output(), "");
	fake_host_advance(now += 3000 * ms);
	assert_string_equal(output(), "margay> vm li");
	fake_host_advance(now += 10000 * ms);
	assert_string_equal(output(), "");
	/* A key does not wait; also when nobody has been told yet. */
	for (unsigned told = 0; told < 2; told++) {
		con->cut = true;
		con->others++;
		if (told)
			con->tx_room(con);
		fake_host_type("s");
		assert_string_equal(output(), told ? "margay> vm liss" : "margay> vm lis");
		con->tx_room(con);
		fake_host_advance(now += 10000 * ms);
		assert_string_equal(output(), "");
	}
	/* Also when the others have written nothing since it was seen last. */
	con->cut = true;
	con->tx_room(con);
	assert_string_equal(output(), "");
	fake_host_advance(now += 2000 * ms);
	assert_string_equal(output(), "margay> vm liss");
	/* Not while an answer is to come, which ends in a prompt. */
	result = 0;
	fake_host_type("\x15regs vm1 1\r");
	output();
	con->cut = true;
	con->tx_room(con);
	fake_host_advance(now += 10000 * ms);
	assert_string_equal(output(), "");
	called(&vcpus[1]);
	assert_string_equal(output(), "vm1: vcpu1:\r\nRIP ffffffff81000000\r\nmargay> ");
	fake_host_type("x");
	output();
	/* Who has left is not written to; who comes back has a new line. */
	con->cut = true;
	con->tx_room(con);
	runs[0] = true;
	host_console_add(&consoles[0]);
	fake_host_type(ESCAPE);
	output();
	fake_host_advance(now += 10000 * ms);
	assert_string_equal(output(), "");
	con->cut = true;
	con->tx_room(con);
	fake_host_advance(now += 10000 * ms);
	assert_string_equal(output(), "");
}

/*
 * The line's interrupt goes from CPU to CPU: what one has armed no other disarms (fake_host.c), and
 * the line comes again on whichever CPU has the interrupt then, after two seconds without a line of
 * others.
 */
static void test_cut_on_two_cpus(void **)
{
	struct host_console *con = fake_host.console;
	u64 ms = host_tsc_khz(), now = fake_host.tsc;

	fake_host_type("vm");
	output();
	con->cut = true;
	con->tx_room(con);
	fake_host.this_cpu = 1;
	fake_host_advance(now += 1000 * ms);
	/* A key, and another cut. */
	fake_host_type(" ");
	assert_string_equal(output(), "margay> vm ");
	con->cut = true;
	con->others++;
	con->tx_room(con);
	fake_host_advance(now += 1900 * ms);
	assert_string_equal(output(), "");
	fake_host_advance(now += 200 * ms);
	assert_string_equal(output(), "margay> vm ");
	fake_host_type("x");
	assert_string_equal(output(), "x");
	/* One that nobody waits for any more says nothing. */
	con->cut = true;
	con->tx_room(con);
	fake_host.this_cpu = 0;
	fake_host_type("l");
	assert_string_equal(output(), "margay> vm xl");
	fake_host_advance(now += 10000 * ms);
	assert_string_equal(output(), "");
	fake_host_type("\x15");
	output();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),     cmocka_unit_test(test_first_vm_has_the_line),
		cmocka_unit_test(test_other_vm),  cmocka_unit_test(test_answers),
		cmocka_unit_test(test_events),    cmocka_unit_test(test_long_answer),
		cmocka_unit_test(test_registers), cmocka_unit_test(test_cut_on_two_cpus),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
