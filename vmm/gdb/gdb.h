/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the gdb stub, and what its files call of each other: a session
 * (session.c) whose commands (requests.c) run on the CPU of the vCPU that they
 * are about, under the session's lock. A thread of gdb's is a vCPU: number + 1.
 */
#ifndef VMM_GDB_GDB_H
#define VMM_GDB_GDB_H

#include <margay/types.h>

struct vcpu;
struct vm;
struct vmexit;

enum gdb_action { GDB_HOLD, GDB_CONTINUE, GDB_STEP };
/* Breakpoints by the digit of their Z packet. */
enum gdb_break { GDB_SOFT, GDB_EXEC, GDB_WRITE, GDB_READ, GDB_ACCESS };

/*
 * requests.c: carries out a command for a vCPU; returns the answer's length. `length` bytes and a
 * NUL are in text.
 */
#define GDB_NO_ANSWER (~0u)
unsigned gdb_command(struct vcpu *vcpu, const char *text, unsigned length, char *answer);

/* session.c */
/* True unless gdb has stopped the VM. */
bool gdb_running(void);
unsigned gdb_threads(void);
/* The vCPU that commands are about. */
unsigned gdb_current(void);
/* Makes it another one; false: there is none of this number. */
bool gdb_select(unsigned vcpu);
/* A new gdb: nothing of the one before stays. */
void gdb_begin(struct vcpu *vcpu);
/* Stops the VM if it runs; the answer is its reason. */
unsigned gdb_halt(struct vcpu *vcpu, char *answer);
void gdb_resume(struct vcpu *vcpu, const u8 action[]);
void gdb_detach(struct vcpu *vcpu);
void gdb_kill(struct vcpu *vcpu);
void gdb_no_ack(void);
/* What gdb understands of stop reasons. */
void gdb_understands(bool swbreak, bool hwbreak);
/*
 * The vCPU stops, and with it the VM: at a breakpoint of this kind, or (SINGLE) for another reason.
 */
#define GDB_SINGLE (-1)
#define GDB_INTERRUPTED (-2)
void gdb_stop(struct vcpu *vcpu, int kind, u64 address);

/* registers.c: by gdb's number; values little-endian. A size of 0: no such register. */
#define GDB_REGISTER_MAX 10
unsigned gdb_register_size(unsigned i);
unsigned gdb_register_count(void);
/* False: not available. */
bool gdb_register_get(struct vcpu *vcpu, unsigned i, u8 value[GDB_REGISTER_MAX]);
/* 0, -EINVAL: no value for it; -EPERM: cannot be written. */
int gdb_register_set(struct vcpu *vcpu, unsigned i, const u8 value[GDB_REGISTER_MAX]);
/* Part of the target description; bytes copied. *more: something follows. */
unsigned gdb_description(unsigned offset, unsigned max, char *out, bool *more);

/* breakpoint.c */
/*
 * Copies from or to a linear address whatever its rights; returns how many bytes could be.
 * Breakpoints do not show.
 */
unsigned gdb_memory(struct vcpu *vcpu, u64 address, u8 *bytes, unsigned n, bool write);
/* 0; -EFAULT: no memory there; -ENOSPC: too many; -EINVAL: not one that debug registers can do. */
int gdb_break(struct vcpu *vcpu, enum gdb_break kind, u64 address, unsigned length, bool insert);
/* Takes all away; vm NULL: its memory is gone. The vCPUs are armed again before they go on. */
void gdb_break_clear(struct vm *vm);
/* A debug register that no breakpoint uses. */
bool gdb_hard_free(unsigned *i);
/* Makes the CPU watch for what the debugger wants of this vCPU, or for nothing. */
void gdb_arm(struct vcpu *vcpu);
bool gdb_soft_at_rip(struct vcpu *vcpu);
/*
 * Which of these debug registers (bits) are the debugger's; what the lowest of them is and where.
 */
u64 gdb_hard_hit(u64 bits, enum gdb_break *kind, u64 *address);
/* The guest reads or writes a debug register while the debugger uses them. */
void gdb_exit_dr(struct vcpu *vcpu);

/* step.c */
bool gdb_enter(struct vcpu *vcpu);
bool gdb_exception(struct vcpu *vcpu, const struct vmexit *exit);
void gdb_retired(struct vcpu *vcpu);
/* Takes a step back that is not over: the registers are the guest's. */
void gdb_step_abort(struct vcpu *vcpu);

#endif
