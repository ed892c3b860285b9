/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session of gdb's with one VM, over a serial line of the host's. All-stop:
 * a stop of one vCPU pauses the VM. Bytes come in interrupt windows of the
 * boot CPU; a complete command is carried out by the vCPU that it is about.
 */
#include <margay/string.h>

#include "vmm/gdb/gdb.h"
#include "vmm/gdb/packet.h"
#include "vmm/monitor.h"
#include "vmm/node/pause.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm/debugger.h"
#include "vmm/vm/service.h"

static struct spinlock lock;     /* guards everything below, and the breakpoints */
static const char *vm_name;
static struct gdb_line line;
static char answer[GDB_PACKET + 1];
static u8 frame[GDB_FRAME];      /* the last answer */
static unsigned frame_length;
static struct vm *vm;            /* that gdb has stopped before; NULL: none */
static unsigned current;         /* vCPU that commands are about */
static bool running;             /* gdb waits for a stop */
static bool busy;                /* a vCPU has yet to carry out the command in `line` */
static bool broken;              /* Ctrl-C came meanwhile */
static bool acks = true, swbreak, hwbreak;

static void send(unsigned n)
{
	frame_length = gdb_frame(answer, n, frame);
	host_debug_send(frame, frame_length);
}

bool gdb_running(void)
{
	return running || !vm;
}

unsigned gdb_threads(void)
{
	return vm ? vm->nr_vcpus : 0;
}

unsigned gdb_current(void)
{
	return current;
}

bool gdb_select(unsigned vcpu)
{
	if (vcpu >= gdb_threads())
		return false;
	current = vcpu;
	return true;
}

void gdb_no_ack(void)
{
	acks = false;
}

void gdb_understands(bool sw, bool hw)
{
	swbreak = sw;
	hwbreak = hw;
}

/* ---- stop and go ---- */

static unsigned stop_reply(int kind, u64 address, char *out)
{
	static const char *const watch[] = {
		[GDB_WRITE] = "watch", [GDB_READ] = "rwatch", [GDB_ACCESS] = "awatch"
	};
	int n = snprintf(out, 64, "T%02xthread:%x;", kind == GDB_INTERRUPTED ? 2u : 5u,
			 current + 1);

	if (kind >= GDB_WRITE)
		n += snprintf(out + n, 64, "%s:%lx;", watch[kind], address);
	else if (kind == GDB_SOFT && swbreak)
		n += snprintf(out + n, 64, "swbreak:;");
	else if (kind == GDB_EXEC && hwbreak)
		n += snprintf(out + n, 64, "hwbreak:;");
	return (unsigned)n;
}

/* No vCPU is held any more but by the pause, which the operator may end. */
static void halt(void)
{
	running = false;
	vm_pause(vm);
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		__atomic_store_n(&vm->vcpus[i]->debug.hold, false, __ATOMIC_RELAXED);
}

void gdb_stop(struct vcpu *vcpu, int kind, u64 address)
{
	/* Another was first: this one stays where it is and comes to its breakpoint again. */
	if (!running || vcpu->vm != vm)
		return;
	current = vcpu->id;
	halt();
	send(stop_reply(kind, address, answer));
}

/* By gdb's Ctrl-C: no vCPU is at fault. */
static void interrupt(void)
{
	if (!running)
		return;
	halt();
	send(stop_reply(GDB_INTERRUPTED, 0, answer));
}

unsigned gdb_halt(struct vcpu *vcpu, char *out)
{
	if (vm != vcpu->vm)
		current = 0;
	vm = vcpu->vm;
	halt();
	return stop_reply(GDB_SINGLE, 0, out);
}

/* All vCPUs look what they have to do before they enter the guest; `action` NULL: nothing. */
static void go(const u8 *action)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		struct vcpu_debug *d = &vm->vcpus[i]->debug;

		d->sync = true;
		d->step_wanted = action && action[i] == GDB_STEP;
		__atomic_store_n(&d->work, true, __ATOMIC_RELAXED);
		__atomic_store_n(&d->hold, action && action[i] == GDB_HOLD, __ATOMIC_RELEASE);
	}
	vm_resume(vm);
}

void gdb_resume(struct vcpu *vcpu, const u8 action[])
{
	vm = vcpu->vm;
	running = true;
	go(action);
}

/* Breakpoints go, and the VM goes on. */
void gdb_detach(struct vcpu *vcpu)
{
	gdb_break_clear(vcpu->vm);
	if (vm)
		go(NULL);
	running = false;
	vm = NULL;
}

void gdb_begin(struct vcpu *vcpu)
{
	if (!running)
		gdb_break_clear(vcpu->vm);
}

void gdb_kill(struct vcpu *vcpu)
{
	vm_end(vcpu->vm, VM_END_STOPPED);
}

/* ---- the line ---- */

static void ack(char byte)
{
	if (acks)
		host_debug_send((const u8 *)&byte, 1);
}

static void answer_without_vm(void)
{
	bool status = line.text[0] == '?';

	memcpy(answer, "W00", 3);
	send(status ? 3 : 0);
}

/* To the vCPU that it is about. The VM stays while it is held. */
static void dispatch(void)
{
	struct vm *found = NULL;

	for (unsigned i = 0; !found && i < monitor_vm_count(); i++) {
		if (!strcmp(monitor_vm_name(i), vm_name)) {
			found = monitor_vm_hold(i);
			if (found) {
				struct vcpu *vcpu =
					found->vcpus[current < found->nr_vcpus ? current : 0];

				busy = true;
				__atomic_store_n(&vcpu->debug.wanted, true, __ATOMIC_RELEASE);
				vcpu_kick(vcpu);
			}
			monitor_vm_release();
		}
	}
	if (!found)
		answer_without_vm();
}

static void receive(u8 byte)
{
	switch (gdb_feed(&line, byte)) {
	case GDB_COMMAND:
		/* A new gdb knows nothing of what was agreed with the one before. */
		acks = acks || !strncmp(line.text, "qSupported", 10);
		ack('+');
		dispatch();
		break;
	case GDB_BAD: ack('-'); break;
	case GDB_BREAK: interrupt(); break;
	case GDB_RESEND:
		if (acks)
			host_debug_send(frame, frame_length);
		break;
	case GDB_NONE: break;
	}
}

static void rx(u8 byte)
{
	spin_lock(&lock);
	if (!busy)
		receive(byte);
	else if (byte == 3)
		broken = true;
	spin_unlock(&lock);
}

/* ---- on the vCPU's CPU ---- */

static void serve(struct vcpu *vcpu)
{
	unsigned n;

	spin_lock(&lock);
	__atomic_store_n(&vcpu->debug.wanted, false, __ATOMIC_RELAXED);
	if (busy) {
		busy = false;
		if (!running)
			gdb_step_abort(vcpu);
		n = gdb_command(vcpu, line.text, line.length, answer);
		if (n != GDB_NO_ANSWER)
			send(n);
		if (broken)
			interrupt();
		broken = false;
	}
	spin_unlock(&lock);
}

static bool enter(struct vcpu *vcpu)
{
	bool ready;

	spin_lock(&lock);
	ready = gdb_enter(vcpu);
	spin_unlock(&lock);
	return ready;
}

static bool exception(struct vcpu *vcpu, const struct vmexit *exit)
{
	bool mine;

	spin_lock(&lock);
	mine = gdb_exception(vcpu, exit);
	spin_unlock(&lock);
	return mine;
}

static void retired(struct vcpu *vcpu)
{
	spin_lock(&lock);
	gdb_retired(vcpu);
	spin_unlock(&lock);
}

static void exit_dr(struct vcpu *vcpu)
{
	spin_lock(&lock);
	gdb_exit_dr(vcpu);
	spin_unlock(&lock);
}

static void gdb_vm_destroy(struct vm *ended)
{
	if (!debugger_on())
		return;
	spin_lock(&lock);
	if (!strcmp(ended->name, vm_name)) {
		if (running) {
			memcpy(answer, "W00", 3);
			send(3);
		}
		gdb_break_clear(NULL);
		running = busy = broken = false;
		current = 0;
		vm = NULL;
	}
	spin_unlock(&lock);
}

static const struct debugger stub = {
	.serve = serve,
	.enter = enter,
	.exception = exception,
	.retired = retired,
	.exit_dr = exit_dr,
};

static const struct vm_stage gdb_stage = { .at = STAGE_DEBUGGER, .destroy = gdb_vm_destroy };
VM_STAGE(gdb_stage);
VM_ABANDON(ABANDON_DEBUGGER, gdb_vm_destroy);

static void gdb_start(void)
{
	vm_name = host_debug_name();
	if (!vm_name)
		return;
	for (unsigned i = 0; i < monitor_vm_count(); i++)
		if (!strcmp(monitor_vm_name(i), vm_name)) {
			debugger = &stub;
			if (host_debug_listen(rx)) {
				debugger = NULL;
				return;
			}
			host_log("margay: gdb: %s can be debugged on the second serial line",
				 vm_name);
			return;
		}
	host_log(
		"margay: command line: gdb=: no VM has the name '%s': the VM files set it by name =",
		vm_name);
}
MONITOR_SERVICE(gdb_start);
