/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's side of arch/x86_64/cpu/upcall.h. */
#ifndef KERNEL_UPCALL_H
#define KERNEL_UPCALL_H

/* Before anything else is called of the CPU layer. */
void upcall_start(void);

/* From now on (pmem_start() is done) page tables come from the page pool. */
void upcall_use_page_pool(void);

#endif
