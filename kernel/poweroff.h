/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of the node: ACPI S5 (ACPI 16.1.7; 4.8.3.7 for hardware-reduced
 * platforms) and the ACPI reset register (4.8.3.6). Both drain the console
 * first, and when the platform does not obey say so and halt.
 */
#ifndef KERNEL_POWEROFF_H
#define KERNEL_POWEROFF_H

/* Finds the registers and \_S5, at boot, so that a panic needs no parsing. Logs what is missing. */
void poweroff_init(void);

/*
 * For who has logged why. <margay/host.h> has host_node_poweroff() and host_node_reboot(), which do
 * so.
 */
void reboot(void) __attribute__((noreturn));

#endif
