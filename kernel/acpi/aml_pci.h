/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: PCI root bridges in static AML: segment, first bus, proximity
 * domain, windows, and where line interrupts go (ACPI 6.4, 6.5.5, 6.5.6, 6.2.14,
 * 6.2.2, 6.2.13; PCI Firmware 3.2, 4.1.3). A value may be a constant, or what a method returns
 * that does nothing but choose one by whether the APIC is in use.
 */
#ifndef KERNEL_ACPI_AML_PCI_H
#define KERNEL_ACPI_AML_PCI_H

#include "kernel/acpi/aml_resource.h"

#define AML_PCI_WINDOWS 16

struct aml_pci_root {
	struct aml_name path;
	u16 segment;
	u8 bus;
	bool present; /* surely: by a constant _STA, or as it has none */
	bool has_proximity;
	u32 proximity;
	/* 0: unknown: its _CRS is no constant, broken, or has none, or too many */
	unsigned nr_windows;
	struct aml_window window[AML_PCI_WINDOWS];
};

/*
 * Fills out[] with roots whose segment and bus are known and not another one's, of the first `max`;
 * returns how many. *beyond: roots behind these.
 */
unsigned aml_pci_roots(const struct aml_tables *t, struct aml_pci_root *out, unsigned max,
		       unsigned *beyond);

/*
 * Does one window of the root have these memory addresses, or ports? True, too, where it has no
 * such windows that are known.
 */
bool aml_pci_reaches(const struct aml_pci_root *root, bool io, u64 first, u64 last);

/*
 * The device below `parent` for a function (_ADR). 0; -ENODEV: none is declared; -ENOENT: none is
 * seen, but there may be one.
 */
int aml_pci_child(const struct aml_tables *t, const struct aml_name *parent, u8 devfn,
		  struct aml_name *child);

struct aml_pci_route {
	u32 gsi;
	bool active_low; /* level-triggered in any case */
};

/*
 * Where the bus of bridge or root `bus` has the pin (0: INTA) of a device. A
 * link device whose setting is in a register has what firmware put into the
 * function's Interrupt Line register (PCI Local Bus 3.0, 6.2.4), if it offers
 * that. 0; -ENODEV: the bus has no _PRT; -ENOENT: that does not say, or not as
 * constants, or there may be one that is not seen.
 */
int aml_pci_route(const struct aml_tables *t, const struct aml_name *bus, u8 device, u8 pin,
		  u8 interrupt_line, struct aml_pci_route *out);

#endif
