/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which serial port is the console, its speed, its interrupt: as the command line says, else
 * firmware's tables, else habit.
 */
#ifndef KERNEL_CONSOLE_FIND_H
#define KERNEL_CONSOLE_FIND_H

#include "kernel/boot/cmdline.h"

#if IS_ENABLED(CONFIG_CONSOLE)
/*
 * After acpi_init(): fills in what the command line does not say, and starts the console, which may
 * have begun on the port of habit, where firmware names another or the speed is another. Logs.
 */
void console_find(struct cmdline *c);
#else
static inline void console_find(struct cmdline *) { }
#endif

#if IS_ENABLED(CONFIG_CONSOLE_TABLES)
/* console_tables.c. Port and speed may be others than those with which the console has begun. */
void console_ask_tables(struct cmdline *c);
#else
static inline void console_ask_tables(struct cmdline *) { }
#endif

#endif
