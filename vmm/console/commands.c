/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands of the monitor console; stats has a file of its own. */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/console/monitor_console.h"
#include "vmm/monitor.h"
#include "vmm/node/pause.h"
#include "vmm/slots/node_events.h"
#include "vmm/report/inspect.h"
#include "vmm/report/report.h"
#include "vmm/slots/output_log.h"
#include "vmm/vm/devices.h"

#define LOG_LINES 20
#define NAME(args) monitor_vm_name((args)->vm)

/* Its two largest units. */
static void say_time(char *text, size_t n, u64 seconds)
{
	static const struct {
		u64 seconds;
		char letter;
	} unit[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	unsigned i = 0;

	while (i < 3 && seconds < unit[i].seconds)
		i++;
	if (i == 3)
		snprintf(text, n, "%lus", seconds);
	else
		snprintf(text, n, "%lu%c%lu%c", seconds / unit[i].seconds, unit[i].letter,
			 seconds % unit[i].seconds / unit[i + 1].seconds, unit[i + 1].letter);
}

static void command_list(const struct command_args *)
{
	if (!monitor_vm_count())
		console_say("no VM: none of the boot modules is a VM file");
	for (unsigned i = 0; i < monitor_vm_count(); i++) {
		char cpus[12] = "all", memory[24] = "all", up[48] = "-";
		struct monitor_vm info;

		monitor_vm_info(i, &info);
		if (!monitor_vm_name(i)[0])
			continue;
		if (info.cpus || !info.config)
			snprintf(cpus, sizeof(cpus), "%u", info.cpus);
		if (info.memory || !info.config)
			snprintf(memory, sizeof(memory), "%luM", (info.memory >> 20));
		if (info.up)
			say_time(up, sizeof(up), info.up / host_tsc_khz() / 1000);
		console_say("%-16s %-12s vCPUs %-3s memory %-7s up %-6s starts %u  file %s%s",
			    monitor_vm_name(i), monitor_state_name(&info), cpus, memory, up,
			    info.starts, info.file,
			    info.state >= MONITOR_VM_RUNNING && console_leads_to(i) ? "  foreground"
										    : "");
	}
}

static const struct {
	int err;
	const char *text;
} results[] = {
	{ -EBUSY, ": it runs or starts: vm list tells" },
	{ -ENODEV, " does not run" },
	{ -EPERM, " has crashed: stop it" },
	{ -EINVAL, ": its VM file was not understood: the log tells why" },
	{ -ENOSPC, ": no CPU is free to start it" },
	{ -ENXIO, ": its guest takes no NMI, at LINT1 of any vCPU" },
	{ -ENOSYS, " has no power button: that needs CONFIG_VM_IOAPIC" },
};

static u64 told; /* the event of the command in hand */

static void tell(const struct command_args *args, const char *what, bool starts, bool ends)
{
	const struct event_command command = {
		.what = what, .by = BY_CONSOLE, .starts = starts, .ends = ends
	};

	told = event_command(args->vm, NAME(args), &command);
}

/* What a command that changes a VM's state answers. */
static void say_result(const char *name, int err, const char *done)
{
	if (err)
		event_refused(told, "the console has said why");
	for (unsigned i = 0; i < ARRAY_SIZE(results); i++)
		if (results[i].err == err) {
			console_say("%s%s", name, results[i].text);
			return;
		}
	if (err == -EALREADY)
		console_say("%s is %s already", name, done);
	else if (err)
		console_say("%s: error %d", name, -err);
	else
		console_say("%s: %s", name, done);
}

static void command_start(const struct command_args *args)
{
	tell(args, "start", true, false);
	say_result(NAME(args), monitor_vm_start(args->vm), "starts");
}

static void command_stop(const struct command_args *args)
{
	tell(args, "kill", false, true);
	say_result(NAME(args), monitor_vm_stop(args->vm, false), "stops");
}

static void command_restart(const struct command_args *args)
{
	int err;

	tell(args, "restart", true, true);
	err = monitor_vm_stop(args->vm, true);
	say_result(NAME(args), err == -ENODEV ? monitor_vm_start(args->vm) : err, "restarts");
}

static int with_vm(unsigned i, int (*fn)(struct vm *vm))
{
	struct vm *vm = monitor_vm_hold(i);
	int err = vm ? fn(vm) : -ENODEV;

	monitor_vm_release();
	return err;
}

static void command_pause(const struct command_args *args)
{
	tell(args, "pause", false, false);
	say_result(NAME(args), with_vm(args->vm, vm_pause), "paused");
}

static void command_resume(const struct command_args *args)
{
	tell(args, "resume", false, false);
	say_result(NAME(args), with_vm(args->vm, vm_resume), "running");
}

/* Whether the guest heeds it is its own affair. */
static int press(struct vm *vm)
{
	return vm_press(vm, VM_BUTTON_POWER);
}

static int press_nmi(struct vm *vm)
{
	return vm_press(vm, VM_BUTTON_NMI);
}

static void command_press(const struct command_args *args)
{
	tell(args, "press", false, true);
	say_result(NAME(args), with_vm(args->vm, press), "power button pressed");
}

static void command_nmi(const struct command_args *args)
{
	tell(args, "nmi", false, false);
	say_result(NAME(args), with_vm(args->vm, press_nmi), "NMI sent");
}

static void command_console(const struct command_args *args)
{
	if (console_show_vm(args->vm))
		console_say("%s does not run, or has no UART", NAME(args));
}

/* ---- regs ------------------------------------------------------------------ */

static void say_inspected(const struct vcpu *, const char *text)
{
	console_say("%s", text);
}

static void inspect(struct vcpu *vcpu)
{
	console_say("%s: vcpu%u:", vcpu->vm->name, vcpu->id);
	inspect_vcpu(vcpu, say_inspected);
	console_answered();
}

static void command_regs(const struct command_args *args)
{
	struct vm *vm = monitor_vm_hold(args->vm);
	unsigned count = vm ? vm->nr_vcpus : 0;
	int err = -ENODEV;

	if (args->number < count) {
		console_answer_later(true);
		err = vcpu_call(vm->vcpus[args->number], inspect);
		if (err)
			console_answer_later(false);
	}
	monitor_vm_release();
	if (count && args->number >= count)
		console_say("%s has vCPUs 0-%u", NAME(args), count - 1);
	else if (err)
		say_result(NAME(args), err, "");
}

/* ---- the node ---------------------------------------------------------------- */

static void command_node(const struct command_args *)
{
	report_node(console_say);
}

static void command_pci(const struct command_args *)
{
	report_pci(console_say);
}

/* bytes that do not fit: of the first lines, for the last ones are what is asked for */
static long excess;

static void measure(const char *text)
{
	excess += (long)strlen(text) + 2;
}

static void say_fitting(const char *text)
{
	if (excess <= 0) {
		console_say("%s", text);
		return;
	}
	excess -= (long)strlen(text) + 2;
	if (excess <= 0)
		console_say("(older lines do not fit)");
}

static bool say_last(bool (*last)(unsigned which, unsigned lines, void (*say)(const char *text)),
		     unsigned which, const struct command_args *args)
{
	unsigned lines = args->has_number ? args->number : LOG_LINES;

	excess = -console_room();
	return last(which, lines, measure) && last(which, lines, say_fitting);
}

static void command_log(const struct command_args *args)
{
	say_last(host_log_last, 0, args);
}

static void command_log_before(const struct command_args *args)
{
	if (!say_last(host_log_last, 1, args))
		console_say(
			"nothing is left of the log of the boot before: the machine was off, or its memory written to");
}

static void command_vm_log(const struct command_args *args)
{
	if (!say_last(output_log_last, args->vm, args))
		console_say("%s: nothing of its output is kept: it never ran, or console_log = 0",
			    NAME(args));
}

static void end_idle_node(bool reboot)
{
	if (monitor_idle())
		monitor_node_end(reboot);
	console_say("VMs run: stop them first, or: %s now", reboot ? "reboot" : "poweroff");
}

static void command_poweroff(const struct command_args *)
{
	end_idle_node(false);
}

static void command_poweroff_now(const struct command_args *)
{
	monitor_node_end(false);
}

static void command_reboot(const struct command_args *)
{
	end_idle_node(true);
}

static void command_reboot_now(const struct command_args *)
{
	monitor_node_end(true);
}

static void command_panic(const struct command_args *)
{
	host_panic("asked for on the monitor console");
}

static void say_command(const struct command *c)
{
	console_say("%-12s %-12s %s", c->name, c->usage, c->help);
}

static void command_help(const struct command_args *args)
{
	if (!command_each(console_commands, console_nr_commands, args->word, say_command))
		console_say("no command begins with '%s': help lists them", args->word);
	else if (!args->word[0])
		console_say("Tab completes, the arrow keys bring back earlier lines.");
}

const struct command console_commands[] = {
	{ "help", "w", "[COMMAND]", "this list, or what of it begins with a word", command_help },
	{ "log", "n", "[LINES]", "the last lines of the log (20)", command_log },
	{ "log before", "n", "[LINES]", "... of the boot before, if the machine was only reset",
	  command_log_before },
	{ "node", "", "", "CPUs and their owners, memory of each NUMA node", command_node },
	{ "panic now", "", "", "crashes the hypervisor, to see what happens then", command_panic },
	{ "pci", "", "", "the PCI functions of the node", command_pci },
	{ "poweroff", "", "", "powers the node off when no VM runs", command_poweroff },
	{ "poweroff now", "", "", "... whatever runs", command_poweroff_now },
	{ "reboot", "", "", "restarts the node when no VM runs", command_reboot },
	{ "reboot now", "", "", "... whatever runs", command_reboot_now },
	{ "regs", "Vn", "VM [VCPU]", "registers, backtrace and last exits of a vCPU (0)",
	  command_regs },
	{ "stats", "vn", "[VM [VCPU]]", "exits by reason with their cost, interrupts by vector",
	  command_stats },
	{ "vm", "", "", "as vm list", command_list },
	{ "vm console", "V", "VM", "gives this line to the VM's console", command_console },
	{ "vm list", "", "", "the VMs and their states", command_list },
	{ "vm log", "Vn", "VM [LINES]", "the last lines of its console (20), also when it is over",
	  command_vm_log },
	{ "vm nmi", "V", "VM", "sends its guest an NMI, as a server's button does", command_nmi },
	{ "vm pause", "V", "VM", "keeps its vCPUs out of the guest", command_pause },
	{ "vm press", "V", "VM", "presses its power button: it ends, or wakes", command_press },
	{ "vm restart", "V", "VM", "stops it and starts it again", command_restart },
	{ "vm resume", "V", "VM", "lets it go on", command_resume },
	{ "vm start", "V", "VM", "starts it", command_start },
	{ "vm stop", "V", "VM", "ends it at once, like pulling the plug", command_stop },
};
const unsigned console_nr_commands = ARRAY_SIZE(console_commands);
