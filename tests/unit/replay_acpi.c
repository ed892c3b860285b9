/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorded tables where they were: the kernel's own way from the root pointer on. See replay.h.
 */
#include "arch/x86_64/cpu/paging.h"
#include "tests/unit/replay.h"

static u64 mapped; /* bytes, by the last paging_map_ro() */

void paging_map_ro(u64, u64 size)
{
	mapped = size;
}

#define phys_to_virt(pa) replay_memory(pa, mapped)

#include "kernel/acpi/acpi.c"
#include "kernel/acpi/acpi_noted.c"
