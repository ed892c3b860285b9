/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel does for the CPU layer below it (arch/x86_64/cpu/upcall.h). */
#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/upcall.h"
#include "kernel/cpu/irq.h"
#include "kernel/cpu/nmi.h"
#include "kernel/errors/mce.h"
#include "kernel/errors/panic.h"
#include "kernel/iommu/iommu.h"
#include "kernel/log/printk.h"
#include "kernel/memory/pmem.h"
#include "kernel/percpu.h"
#include "kernel/upcall.h"

static void nmi(void)
{
	nmi_taken();
	panic_stop_here();
}

static void device_fault(const volatile void *reg)
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

static u64 table_page(void)
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

void upcall_start(void)
{
	static const struct upcalls kernel = {
		.log = vprintk_error,
		.panic = vpanic,
		.trap = panic_trap,
		.nmi = nmi,
		.machine_check = mce_taken,
		.local_nmis = irq_local_nmis,
		.device_fault = device_fault,
		.route = iommu_route_input,
		.table_page = table_page,
	};

	upcall_register(&kernel);
}
