/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The monitor console: an operator's commands on the host's serial line. The
 * escape key calls it from any guest's console and leads back. Runs in
 * interrupt windows of the console's CPU, after keys only.
 */
#ifndef VMM_MONITOR_CONSOLE_H
#define VMM_MONITOR_CONSOLE_H

#include "vmm/console/command.h"

struct vm;

/*
 * A line of a command's answer; any CPU. The line is slow: what does not fit into the buffer is
 * counted and said.
 */
void console_say(const char *fmt, ...) __printf(1, 2);
/* How many bytes of lines fit now, each with two more, and some are to spare. The console's CPU. */
long console_room(void);

/*
 * The command's answer comes later, from a vCPU's CPU: its prompt is held
 * back until console_answered(), which any CPU may call. False: it does not.
 */
void console_answer_later(bool yes);
void console_answered(void);

/*
 * Gives the serial line to a VM's console, and says so. 0, -ENODEV when it does not run or has no
 * UART.
 */
int console_show_vm(unsigned i);

/* Does the escape key lead from the monitor console to this VM, if it runs? */
bool console_leads_to(unsigned i);

/* The table of commands (commands.c). */
extern const struct command console_commands[];
extern const unsigned console_nr_commands;

/* Exit statistics of a VM, or of one vCPU (stats.c). */
void command_stats(const struct command_args *args);

#if IS_ENABLED(CONFIG_VM_RDT)
/*
 * What the VM has in each cache, and its traffic with memory over a moment from now on
 * (cache_use.c). The command's last lines; the answer comes later. Nothing where the CPUs do not
 * count. monitor_vm_hold().
 */
void console_say_cache_use(struct vm *vm);
#else
static inline void console_say_cache_use(struct vm *) { }
#endif

#endif
