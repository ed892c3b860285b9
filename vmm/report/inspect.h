/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an operator wants to know of a vCPU that hangs or has died: registers, backtrace, its last
 * exits.
 */
#ifndef VMM_INSPECT_H
#define VMM_INSPECT_H

struct vcpu;

/* Where the lines go, one call each, without newline. */
typedef void (*inspect_line)(const struct vcpu *vcpu, const char *text);

/*
 * Reads the vCPU's state and its guest's memory, which is not trusted. On its CPU, out of the
 * guest.
 */
void inspect_vcpu(struct vcpu *vcpu, inspect_line line);

#endif
