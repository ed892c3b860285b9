/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel does for the CPU layer below it (arch/x86_64/cpu/upcall.h). */
#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/upcall.h"
#include "kernel/console/printk.h"
#include "kernel/memory/pmem.h"
#include "kernel/nmi.h"
#include "kernel/panic.h"
#include "kernel/percpu.h"
#include "kernel/upcall.h"

void upcall_trap(const struct trap_frame *frame, const char *what)
{
	panic_trap(frame, what);
}

void upcall_nmi(void)
{
	nmi_taken();
	panic_stop_here();
}

void upcall_device_fault(const volatile void *reg)
{
	struct cpu *cpu = this_cpu();

	if (!cpu->working || !cpu->work->fault)
		panic("no device registers at %#lx", (u64)reg);
	cpu->work->fault(cpu->work, HOST_NO_DEVICE, HOST_LOST_UNKNOWN);
}

static bool use_pool;

void upcall_use_page_pool(void)
{
	use_pool = true;
}

u64 upcall_table_page(void)
{
	u64 pa = 0;
	void *page;

	if (use_pool) {
		page = pmem_pages_alloc(1, -1);
		pa = page ? virt_to_phys(page) : 0;
	} else {
		pa = pmem_early_page();
		if (pa)
			memset(phys_to_virt(pa), 0, PAGE_SIZE);
	}
	if (!pa)
		panic("no memory for page tables");
	return pa;
}
