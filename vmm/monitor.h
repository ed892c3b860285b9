/* SPDX-License-Identifier: GPL-2.0-only */
/* The monitor: what an operator's console and the other rooms may ask of it. */
#ifndef VMM_MONITOR_H
#define VMM_MONITOR_H

#include "vmm/vm_end.h"

struct vm_config;

/* For a service: no VM starts but by the operator's command. */
void monitor_start_none(void);

/*
 * For a service by which VMs can be started at any time: the boot modules stay in memory for that.
 * gone() is called, on any CPU, when a VM that had the console's foreground is over for good and
 * the node stays on.
 */
void monitor_operator(void (*gone)(const char *name));

/* Of the first VM file that was understood; NULL: there is none. */
const struct vm_config *monitor_first_config(void);

enum monitor_vm_state {
	MONITOR_VM_BAD,      /* its file was not understood */
	MONITOR_VM_WAITING,  /* for another one's end */
	MONITOR_VM_OVER,     /* ended, or could not start */
	MONITOR_VM_CHANGING, /* starts or is being taken down */
	MONITOR_VM_RUNNING,
	MONITOR_VM_PAUSED,
};

struct monitor_vm {
	const char *file;
	const struct vm_config *config; /* NULL: not understood */
	enum monitor_vm_state state;
	unsigned cpus; /* that it has, or by its file shall have; 0: all that are free */
	u64 memory;    /* the same, in bytes */
	enum vm_end last_end; /* of the last run, if it has ended */
	unsigned starts;
	u64 up; /* TSC ticks since its start; 0: it does not run */
};

/*
 * The VMs by their files, in the order of the boot modules; behind them those that the management
 * VM has made. Where one was destroyed its number has an empty name, and may be another's later.
 */
unsigned monitor_vm_count(void);
/* Its name, its file's name when that was not understood; NULL past the last. */
const char *monitor_vm_name(unsigned i);
void monitor_vm_info(unsigned i, struct monitor_vm *out);
/* One word: its state, and when it is over, how it ended. */
const char *monitor_state_name(const struct monitor_vm *info);
/* The same of an end. */
const char *monitor_end_name(enum vm_end end);

/*
 * The VM while it runs, else NULL. It stays, and every other VM's state too,
 * until monitor_vm_release(), which follows in any case and soon.
 */
struct vm *monitor_vm_hold(unsigned i);
void monitor_vm_release(void);

/* Called on the CPU of the last vCPU that left its loop (vmm/node/monitor.c). */
void monitor_vm_ended(struct vm *vm);

/*
 * Makes and starts a VM that is over, on a CPU that is free; one that ends, as
 * soon as it is over. What goes wrong from there on is logged. 0; -EBUSY when it
 * runs or starts; -EINVAL when its file was not understood; -ENODEV without
 * virtualization; -ENOSPC when no CPU is free, nor one at work on a VM's start
 * or end, behind which this one starts. Any CPU, not with monitor_vm_hold().
 */
int monitor_vm_start(unsigned i);
/*
 * The same of one that is WAITING for what can be had now: by nobody's word, so that it counts as
 * the restart that it is.
 */
int monitor_start_waiting(unsigned i);

/*
 * Ends a VM that runs, whatever its guest does, or that is about to run;
 * `again`: only one that runs, and starts it once more. 0, or -ENODEV. Any CPU.
 */
int monitor_vm_stop(unsigned i, bool again);

/*
 * No VM runs, starts or ends, and the node has said so: from now on it is the
 * operator who ends it. Any CPU, not with monitor_vm_hold().
 */
bool monitor_idle(void);

/* Ends the node, or restarts it, at once. */
void monitor_node_end(bool reboot) __attribute__((noreturn));

#endif
