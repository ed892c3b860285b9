/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for what becomes of a VM. */
#ifndef MARGAY_WAITING_H
#define MARGAY_WAITING_H

/*
 * What the node says of a VM, in lines, the first of which says its state: is it what is waited
 * for? Below 0: by the next look it will be or not, though nothing changes.
 */
typedef int waiting_fn(const char *lines, void *data);

/* Those lines, for free(), once it is so; NULL: not within so many seconds; below 0: for ever. */
char *wait_until(const char *name, waiting_fn *is, void *data, double seconds);

/*
 * By such lines. Over: it has ended, or has not started. Crashed: a crash has kept it (on_crash =
 * dump).
 */
int vm_is_over(const char *lines);
int vm_has_crashed(const char *lines);
int vm_runs(const char *lines);

#endif
