/* SPDX-License-Identifier: GPL-2.0-only */
/* The report of a bug and the end of the node. */
#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/console/console.h"
#include "kernel/errors/panic.h"
#include "kernel/errors/panic_dump.h"
#include "kernel/errors/symbols.h"
#include "kernel/log/printk.h"
#include "kernel/percpu.h"

#define BACKTRACE_DEPTH 32

/*
 * Until the others have stopped: at once where they run, some time on an emulator that has to give
 * them a turn.
 */
#define STOP_POLLS 1000000u

static void (*report)(void);
static unsigned reboot_seconds;
static void (*restart)(void) __attribute__((noreturn));
static u64 boot_stack, boot_stack_top;
static u32 panicking; /* index + 1 of the CPU that panics */

static __attribute__((noreturn)) void halt(void)
{
	for (;;) {
		cpu_cli();
		cpu_hlt();
	}
}

static __attribute__((noreturn)) void halt_offline(void)
{
	__atomic_store_n(&this_cpu()->online, false, __ATOMIC_RELEASE);
	halt();
}

void panic_stop_here(void)
{
	u32 who = __atomic_load_n(&panicking, __ATOMIC_ACQUIRE);

	if (who && who != this_cpu()->id + 1)
		halt_offline();
}

static bool others_online(void)
{
	for (unsigned i = 0; i < cpu_count(); i++)
		if (i != this_cpu()->id && __atomic_load_n(&cpu_get(i)->online, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

static void stop_others(void)
{
	for (unsigned i = 0; i < cpu_count(); i++)
		if (i != this_cpu()->id && cpu_get(i)->online)
			apic_send_nmi(cpu_get(i)->apic_id);
	for (unsigned i = 0; i < STOP_POLLS && others_online(); i++)
		cpu_pause();
}

void host_panic_report(void (*fn)(void))
{
	report = fn;
}

void panic_set_reboot(unsigned seconds, void (*reboot)(void) __attribute__((noreturn)))
{
	reboot_seconds = seconds;
	restart = reboot;
}

void panic_boot_stack(u64 bottom, u64 top)
{
	boot_stack = bottom;
	boot_stack_top = top;
}

/* By the TSC, whose rate is not known before the clock is: then at once. */
static void wait_seconds(unsigned seconds)
{
	u64 start = rdtsc(), ticks = host_tsc_khz() * 1000 * seconds;

	while (rdtsc() - start < ticks)
		cpu_pause();
}

static void end(void) __attribute__((noreturn));

/* The report itself has failed: what it has not printed yet is left out. */
static __attribute__((noreturn)) void panic_again(void)
{
	static bool again;

	console_log("margay: panic while panicking", 29);
	if (again)
		halt_offline();
	again = true;
	end();
}

/* The first CPU to arrive goes on, alone on a polled console. */
static void begin(void)
{
	u32 before = 0;

	cpu_cli();
	if (!__atomic_compare_exchange_n(&panicking, &before, this_cpu()->id + 1, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		if (before == this_cpu()->id + 1)
			panic_again();
		halt_offline();
	}
	stop_others();
	printk_panic();
	console_panic();
	panic_dump_log();
}

static void end(void)
{
	/* Once: a bug in it comes back here. */
	void (*fn)(void) = report;

	report = NULL;
	if (fn)
		fn();
	printk_error("node: end=panic");
	host_console_drain();
	if (!reboot_seconds)
		halt();
	printk_error("the node restarts in %u s", reboot_seconds);
	wait_seconds(reboot_seconds);
	restart();
}

/*
 * A return address (after = 1) may lie behind the function that called: what does not return is
 * called last.
 */
static void show_address(const char *what, u64 addr, unsigned after)
{
	char name[SYMBOL_NAME];
	u64 offset;

	if (symbol_find(addr - after, name, &offset))
		printk_error("  %s %016lx %s+%#lx", what, addr, name, offset + after);
	else
		printk_error("  %s %016lx", what, addr);
}

static bool on_known_stack(u64 frame)
{
	const struct cpu *cpu = this_cpu();

	if (!IS_ALIGNED(frame, 8))
		return false;
	if (frame >= boot_stack && frame + 16 <= boot_stack_top)
		return true;
	for (unsigned i = 0; i < CPU_STACKS; i++)
		if (cpu->stack[i].top && frame >= cpu->stack[i].bottom &&
		    frame + 16 <= cpu->stack[i].top)
			return true;
	return false;
}

/*
 * Frame pointers lead from one stack to another at exceptions, hence the limit in depth and not in
 * direction.
 */
static void backtrace(u64 frame)
{
	unsigned deepest = IS_ENABLED(CONFIG_BACKTRACE) ? BACKTRACE_DEPTH : 0;

	for (unsigned depth = 0; depth < deepest && on_known_stack(frame); depth++) {
		const u64 *f = (const u64 *)frame;

		if (!f[1])
			break;
		show_address("from", f[1], 1);
		frame = f[0];
	}
}

void vpanic(const char *fmt, va_list ap)
{
	char text[256];

	begin();
	vsnprintf(text, sizeof(text), fmt, ap);
	printk_error("panic on CPU %u: %s", this_cpu()->id, text);
	backtrace((u64)__builtin_frame_address(0));
	end();
}

void panic(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vpanic(fmt, ap);
}

/* By the name that the monitor has for it. */
void host_panic(const char *fmt, ...) __attribute__((alias("panic")));

void panic_trap(const struct trap_frame *f, const char *what)
{
	begin();
	printk_error("panic on CPU %u: %s (vector %lu), error code %#lx", this_cpu()->id, what,
		     f->vector, f->error);
	show_address("rip ", f->rip, 0);
	if (panic_dump_registers(f))
		backtrace(f->rbp);
	end();
}
