/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the loader puts what the 64-bit boot protocol hands over; private to the loader. */
#ifndef VMM_LINUX_ENTRY_H
#define VMM_LINUX_ENTRY_H

#include "vmm/vm.h"

#define LINUX_ENTRY_GDT 0x1000ull
#define LINUX_BOOT_PARAMS 0x2000ull
#define LINUX_COMMAND_LINE 0x3000ull
#define LINUX_ENTRY_TABLES 0x4000ull

/* The entry page tables map addresses below this one to one. */
#define LINUX_ENTRY_MAPPED GIB(4)

/* Writes GDT and page tables into low guest RAM. 0, or -ENOMEM: no RAM there (printed). */
int linux_entry_tables(struct vm *vm);

#endif
