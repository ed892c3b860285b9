/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPU layer's calls of the kernel above it: who is called is what the kernel has registered. */
#include "arch/x86_64/cpu/upcall.h"

static const struct upcalls *above;

void upcall_register(const struct upcalls *kernel)
{
	above = kernel;
}

void upcall_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	above->log(fmt, ap);
	va_end(ap);
}

void upcall_panic(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	above->panic(fmt, ap);
}

void upcall_trap(const struct trap_frame *frame, const char *what)
{
	above->trap(frame, what);
}

void upcall_nmi(void)
{
	above->nmi();
}

enum mc_outcome upcall_machine_check(enum mc_place place)
{
	return above->machine_check(place);
}

void upcall_local_nmis(void)
{
	above->local_nmis();
}

void upcall_device_fault(const volatile void *reg)
{
	above->device_fault(reg);
}

int upcall_route(u32 gsi, u32 apic_id, u64 *entry)
{
	return above->route(gsi, apic_id, entry);
}

u64 upcall_table_page(void)
{
	return above->table_page();
}
