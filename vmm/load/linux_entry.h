/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the loader puts what the 64-bit boot protocol hands over; private to the loader. */
#ifndef VMM_LINUX_ENTRY_H
#define VMM_LINUX_ENTRY_H

#include <margay/types.h>

struct vm;

#define LINUX_ENTRY_GDT 0x1000ull
#define LINUX_BOOT_PARAMS 0x2000ull
#define LINUX_COMMAND_LINE 0x3000ull
#define LINUX_ENTRY_TABLES 0x4000ull
#define LINUX_ENTRY_END 0x10000ull

/* The entry page tables map addresses below this one to one, and a kernel that lies above. */
#define LINUX_ENTRY_MAPPED GIB(4)

/*
 * Writes GDT and page tables into low guest RAM, for a kernel of `size` bytes
 * at `kernel`. 0; -ENOMEM: no RAM there; -E2BIG: a kernel above 4 GiB of more
 * than 1 GiB (both printed).
 */
int linux_entry_tables(struct vm *vm, u64 kernel, u64 size);

#endif
