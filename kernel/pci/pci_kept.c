/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What firmware has set in a function for the way to it and for its errors. Whoever has it next
 * begins with that, and not with what the last one left there: a reset loses some of it, and does
 * not touch the rest (PCI Express Base 5.0, 6.6.2, 7.4 "sticky").
 */
#include <margay/host.h>
#include "kernel/pci/pci_function.h"
#include "kernel/pci/pci_path.h"

/*
 * Accesses that pass by the CPUs' caches, which is on after a reset (7.5.3.4): memory may still
 * have what the last VM wrote where the zeros written since are in a cache. And words to the
 * platform about errors, which firmware may have made an NMI: who has the function could send them
 * at will.
 */
#define OFF (PCI_EXP_NO_SNOOP | PCI_EXP_REPORTS)
#define COMMAND_OFF (PCI_COMMAND_SERR | PCI_COMMAND_PARITY)

static const u8 aer_kept[PCI_KEPT_AER] = { PCI_AER_MASK, PCI_AER_SEVERITY, PCI_AER_CORRECTABLE_MASK,
					   PCI_AER_CONTROL };

/* Version 1 ends before it (PCI Express Base 1.1, 7.8): another capability may be there. */
static bool has_control2(const struct pci_function *f, u16 exp)
{
	return (pci_read(f->address, exp + PCI_EXP_CAPABILITIES, 2) & PCI_EXP_VERSION) > 1;
}

/* Offset of control n of a capability that resizes BARs; 0: it has no more. */
static u16 rebar_control(const struct pci_function *f, u16 cap, unsigned n)
{
	if (!cap || n >= PCI_KEPT_BARS ||
	    n >= PCI_REBAR_COUNT(pci_read(f->address, cap + PCI_REBAR_CONTROL, 2)))
		return 0;
	return (u16)(cap + PCI_REBAR_CONTROL + n * PCI_REBAR_STEP);
}

static const u16 rebar_ids[] = { PCI_EXT_CAP_REBAR, PCI_EXT_CAP_VF_REBAR };
static_assert(ARRAY_SIZE(rebar_ids) == ARRAY_SIZE(((struct pci_function *)NULL)->kept.rebar));

static void keep_sizes(struct pci_function *f)
{
	for (unsigned i = 0; i < ARRAY_SIZE(rebar_ids); i++) {
		u16 cap = pci_find_extended_cap(f, rebar_ids[i]), at;

		for (unsigned n = 0; (at = rebar_control(f, cap, n)); n++)
			f->kept.rebar[i][n] = (u16)pci_read(f->address, at, 2);
	}
}

/* Nothing decodes the addresses where one has to be written: a reset has changed it. */
static void restore_sizes(const struct pci_function *f)
{
	for (unsigned i = 0; i < ARRAY_SIZE(rebar_ids); i++) {
		u16 cap = pci_find_extended_cap(f, rebar_ids[i]), at;

		for (unsigned n = 0; (at = rebar_control(f, cap, n)); n++)
			pci_change16(f, at, PCI_REBAR_SIZE, f->kept.rebar[i][n] & PCI_REBAR_SIZE);
	}
}

void pci_keep(struct pci_function *f)
{
	u16 exp = pci_find_cap(f, PCI_CAP_EXP), aer = pci_find_extended_cap(f, PCI_EXT_CAP_AER);
	u16 ltr = pci_find_extended_cap(f, PCI_EXT_CAP_LTR);
	unsigned takes = exp ? pci_path(f) : 0;

	/*
	 * Relaxed ordering is on after a reset. AtomicOps a Linux that sees no root port uses where
	 * they are on already; a function that knows none has no such bit.
	 */
	if (exp)
		f->kept.control = (u16)pci_read(f->address, exp + PCI_EXP_DEVICE_CONTROL, 2) &
				  ~OFF & ~(takes & HOST_PCI_RELAXED ? 0 : PCI_EXP_RELAXED);
	if (exp && has_control2(f, exp))
		f->kept.control2 = (u16)pci_read(f->address, exp + PCI_EXP_DEVICE_CONTROL2, 2) |
				   (takes & HOST_PCI_ATOMICS ? PCI_EXP_ATOMICS : 0);
	if (aer)
		for (unsigned i = 0; i < PCI_KEPT_AER; i++)
			f->kept.aer[i] = pci_read(f->address, aer + aer_kept[i], 4);
	if (ltr)
		f->kept.ltr = pci_read(f->address, ltr + PCI_LTR_LATENCIES, 4);
	keep_sizes(f);
	if (exp)
		pci_change16(f, (u16)(exp + PCI_EXP_DEVICE_CONTROL), OFF | PCI_EXP_RELAXED,
			     f->kept.control & PCI_EXP_RELAXED);
	if (exp && takes & HOST_PCI_ATOMICS && has_control2(f, exp))
		pci_change16(f, (u16)(exp + PCI_EXP_DEVICE_CONTROL2), 0, PCI_EXP_ATOMICS);
	pci_change16(f, PCI_REG_COMMAND, COMMAND_OFF, 0);
}

/* What it has noted is cleared by writing ones. */
static void forget_errors(const struct pci_function *f, u16 exp, u16 aer)
{
	if (aer) {
		pci_write(f->address, aer + PCI_AER_STATUS, 4, ~0u);
		pci_write(f->address, aer + PCI_AER_CORRECTABLE_STATUS, 4, ~0u);
	}
	if (exp)
		pci_write(f->address, exp + PCI_EXP_DEVICE_STATUS, 2, PCI_EXP_ERRORS);
	pci_write(f->address, PCI_REG_STATUS, 2, PCI_STATUS_ERRORS);
}

void pci_restore(const struct pci_function *f)
{
	u16 exp = pci_find_cap(f, PCI_CAP_EXP), aer = pci_find_extended_cap(f, PCI_EXT_CAP_AER);
	u16 ltr = pci_find_extended_cap(f, PCI_EXT_CAP_LTR);

	/* Before Device Control 2 has them sent. */
	if (ltr)
		pci_write(f->address, ltr + PCI_LTR_LATENCIES, 4, f->kept.ltr);
	restore_sizes(f);
	if (exp)
		pci_write(f->address, exp + PCI_EXP_DEVICE_CONTROL, 2, f->kept.control);
	if (exp && has_control2(f, exp))
		pci_write(f->address, exp + PCI_EXP_DEVICE_CONTROL2, 2, f->kept.control2);
	if (aer)
		for (unsigned i = 0; i < PCI_KEPT_AER; i++)
			pci_write(f->address, aer + aer_kept[i], 4, f->kept.aer[i]);
	pci_change16(f, PCI_REG_COMMAND, COMMAND_OFF, 0);
	forget_errors(f, exp, aer);
}
