/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end after a bug or a broken machine: the log's last lines, registers,
 * symbolised backtrace, the state of the VMs, and the machine-readable line
 * "margay: node: end=panic". Then the CPU halts, or restarts the node. The
 * other CPUs are stopped first, by NMI. <margay/host.h> has host_panic() and
 * host_panic_report(), which adds the VMs' state.
 */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

#include <margay/types.h>
#include <stdarg.h>

struct trap_frame;

/*
 * Any CPU, any context. The first CPU to panic reports; others halt silently and count as offline.
 */
void panic(const char *fmt, ...) __printf(1, 2) __attribute__((noreturn));
void vpanic(const char *fmt, va_list ap) __printf(1, 0) __attribute__((noreturn));
/* For an exception: `what` names it. */
void panic_trap(const struct trap_frame *frame, const char *what) __attribute__((noreturn));

/*
 * What follows the report: 0 halts, else the node restarts by this function after so many seconds.
 */
void panic_set_reboot(unsigned seconds, void (*reboot)(void) __attribute__((noreturn)));

/* The stack of the boot, on which a backtrace may be, too. */
void panic_boot_stack(u64 bottom, u64 top);

/* For the NMI handler: halts when another CPU has panicked, else returns. Takes no lock. */
void panic_stop_here(void);

#endif
