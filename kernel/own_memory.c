/* SPDX-License-Identifier: GPL-2.0-only */
/* What the hypervisor keeps for itself before any VM is made: a line of it. */
#include "kernel/own_memory.h"

#include <margay/host.h>
#include "kernel/log/printk.h"
#include "kernel/memory/pmem.h"
#include "kernel/memory/modules.h"
#include "kernel/percpu.h"

static u64 per_cpu; /* bytes of all CPUs */

static u64 image_bytes(void)
{
	extern const u8 image_start[], image_end[];

	return ALIGN_UP((u64)(image_end - image_start), PAGE_SIZE);
}

/* Bytes in use beside the image and the page tables. */
static u64 pages_used(void)
{
	u64 used;

	host_own_bytes(&used);
	return used - image_bytes() - pmem_early_bytes();
}

void own_memory_note_cpus(void)
{
	per_cpu = pages_used();
}

void own_memory_tell(void)
{
	u64 used, held = host_own_bytes(&used);

	printk("own memory: image %lu KiB, page tables %lu KiB, %u CPUs %lu KiB, other %lu KiB; held in all %lu KiB; "
	       "boot modules %lu KiB apart",
	       image_bytes() >> 10, pmem_early_bytes() >> 10, cpu_count(), per_cpu >> 10,
	       (pages_used() - per_cpu) >> 10, held >> 10, modules_bytes() >> 10);
}
