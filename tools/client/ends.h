/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How VMs end, in the words of the node, and as the status of a program that has waited for that
 * (docs/management-vm.md).
 */
#ifndef MARGAY_ENDS_H
#define MARGAY_ENDS_H

/* The kind of the last end by a VM's line; an older node says it as the state. */
void end_kind(const char *line, char *kind, unsigned long size);
/* 0: it ended as it wanted to. */
int end_status(const char *line);

#endif
