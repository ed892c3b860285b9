/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What firmware says in AML of PCI functions: the NUMA node and the windows of
 * their root, and the I/O APIC's input of their interrupt pin. Bridges turn pins by device
 * number (PCI-to-PCI Bridge 1.2, 9.1) where they have no table of their own.
 */
#ifndef KERNEL_PCI_ROUTE_H
#define KERNEL_PCI_ROUTE_H

#include "kernel/acpi/aml_pci.h"
#include "kernel/pci/pci_core.h"

struct host_module;

#if IS_ENABLED(CONFIG_PASSTHROUGH)
/*
 * Finds the roots, and each function's route for host_intx_route() (<margay/host_pci.h>). After
 * ACPI, NUMA and the functions.
 */
void pci_route_init(void);
#else
static inline void pci_route_init(void) { }
#endif

/*
 * Takes what the first boot module `facts:NAME` says that is of this machine, where the tables do
 * not say it; a line for each module. They are module(0), module(1) and so on, as host_module().
 * After the boot modules, before the first VM.
 */
void pci_route_facts(const struct host_module *(*module)(unsigned i));

/* The tables of AML, the DSDT first: after pci_route_init(). */
const struct aml_tables *pci_route_tables(void);

/* Do its root's windows have these addresses (io: ports)? */
enum pci_window { PCI_WINDOW_UNKNOWN, PCI_WINDOW_OUT, PCI_WINDOW_IN };
#if IS_ENABLED(CONFIG_PASSTHROUGH)
enum pci_window pci_window(const struct pci_function *f, bool io, u64 base, u64 size);

/* Has a root that is known a window that is known with all of this memory? */
bool pci_in_any_window(u64 base, u64 size);

/* The node of a function's root; -1: unknown. */
int pci_node(const struct pci_function *f);
#else
/* Without it no AML of functions is read. */
static inline enum pci_window pci_window(const struct pci_function *, bool, u64, u64)
{
	return PCI_WINDOW_UNKNOWN;
}

static inline bool pci_in_any_window(u64, u64)
{
	return false;
}

static inline int pci_node(const struct pci_function *)
{
	return -1;
}
#endif

#endif
