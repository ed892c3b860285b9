/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files that take the command line apart; nobody else includes this. */
#ifndef KERNEL_CMDLINE_WORDS_H
#define KERNEL_CMDLINE_WORDS_H

#include <margay/has.h>
#include <margay/span.h>
#include "kernel/boot/cmdline.h"

/* A speed that a UART can have; *out is changed only then. */
bool cmdline_baud(struct span text, u32 *out);

/* Only with CONFIG_GDB: what is behind gdb=; *out is changed only when it is right. */
bool cmdline_gdb(struct span value, struct cmdline *out);

/*
 * The same of what is behind idle=; and of corrected=, iommu=, power= and x2apic= with
 * CONFIG_CORRECTED_ERRORS, IOMMU, CPU_POWER, DIRECT_INTERRUPTS.
 */
bool cmdline_corrected(struct span value, struct cmdline *out);
bool cmdline_idle(struct span value, struct cmdline *out);
bool cmdline_iommu(struct span value, struct cmdline *out);
bool cmdline_power(struct span value, struct cmdline *out);
bool cmdline_x2apic(struct span value, struct cmdline *out);

#endif
