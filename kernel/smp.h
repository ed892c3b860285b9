/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting the other CPUs of the node. SDM vol. 3, 9.4.4 (MP initialization), 11.4.4 and 11.6.1
 * (INIT and startup IPIs).
 */
#ifndef KERNEL_SMP_H
#define KERNEL_SMP_H

/*
 * Starts the CPUs of cpu_init_all() one after the other. Each compares its TSC
 * with the boot CPU's and goes to its work loop. One that does not come is
 * logged and stays offline; the online ones have the lowest indices. Once, on
 * the boot CPU, after clock_init() and timer_init().
 */
void smp_start(void);

#endif
