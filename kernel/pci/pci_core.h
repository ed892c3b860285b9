/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PCI core: configuration access by ECAM where the MCFG covers a bus, else
 * by mechanism 1 (PCI Local Bus 3.0, 3.2.2.3.2; PCI Express Base 5.0, 7.2),
 * and the list of functions found at boot, at most HOST_PCI_FUNCTIONS. Access
 * from any CPU. host_pci_info() (<margay/host.h>) says all of one.
 */
#ifndef KERNEL_PCI_CORE_H
#define KERNEL_PCI_CORE_H

#include <margay/pci.h>
#include "kernel/acpi/tables.h"
#include "kernel/boot/bootinfo.h"

#define PCI_KEPT_AER 4
#define PCI_KEPT_BARS 6

struct pci_function {
	struct pci_address address;
	struct pci_id id;
	u8 header_type; /* without the multi-function bit */
	/* of a bridge */
	u8 secondary_bus;
	u8 subordinate_bus;
	/* as firmware left the register, but for bus mastering (pci_masters_off()) */
	u16 command;
	bool extended;  /* offsets 0x100-0xfff are there */
	bool restless;  /* it did not stop at boot, and may write to memory */
	struct pci_bar bar[PCI_BARS]; /* as firmware left them; only in images with PCI_INFO */
	/* As firmware left it, of a VF as it came; only in images with PASSTHROUGH. */
	struct {
		/* of the device, by PCI Express */
		u16 control;
		u16 control2;
		u32 aer[PCI_KEPT_AER]; /* masks, severity, control */
		u32 ltr;               /* the latencies that its path may take */
		u16 rebar[2][PCI_KEPT_BARS]; /* controls of its own BARs, and of its VFs' */
	} kept;
};

/*
 * Enumerates, sizes the BARs and keeps the functions quiet (pci_function.h);
 * mcfg may be NULL. Logs each function at debug level and a count otherwise.
 */
#if IS_ENABLED(CONFIG_PCI)
void pci_init(const struct mcfg_info *mcfg, const struct bootinfo *bi);

/* Function i in address order per root bus, or NULL past the last. */
const struct pci_function *pci_get(unsigned i);
#else
static inline void pci_init(const struct mcfg_info *, const struct bootinfo *) { }

static inline const struct pci_function *pci_get(unsigned)
{
	return NULL;
}
#endif

/*
 * What is wrong with where its BARs lie, in words; NULL: nothing. Its ROM's is never wrong: see
 * pci_bars().
 */
const char *pci_misplaced(const struct pci_function *f);

/*
 * The BARs as VMs have them. A ROM that lies where it cannot be meant to, or over anything else,
 * has no address: nobody needs it, and firmware that has read one, or has not looked for it, may
 * have left anything there.
 */
void pci_bars(const struct pci_function *f, struct pci_bar bar[PCI_BARS]);

/* Does each bridge above pass these addresses on (io: ports; PCI-to-PCI Bridge 1.2, 3.2.5)? */
bool pci_bridges_pass(const struct pci_function *f, bool io, u64 first, u64 last);

/*
 * The PCI Express port below which it is the only function, or NULL: a reset of the port's bus
 * hurts nobody else.
 */
const struct pci_function *pci_own_port(const struct pci_function *f);

/*
 * The bridge above, or NULL; its own bus has a lower number, or firmware's numbers go in circles.
 */
const struct pci_function *pci_bridge_of(const struct pci_function *f);

/*
 * Names the group of functions that an IOMMU cannot keep apart, by the one nearest the root: what
 * one of them sends may reach another without passing the IOMMU, where neither a multi-function
 * device nor a bridge on the way has ACS (PCI Express Base 5.0, 6.12).
 */
struct pci_address pci_group(const struct pci_function *f);

/*
 * Is there a bridge to conventional PCI above it? What passes that has the bridge's requester ID,
 * or none of its own.
 */
bool pci_conventional(const struct pci_function *f);

#if IS_ENABLED(CONFIG_SRIOV)
/* The PF of a VF; any other function itself. */
const struct pci_function *pci_physical(const struct pci_function *f);
#else
static inline const struct pci_function *pci_physical(const struct pci_function *f)
{
	return f;
}
#endif

#if IS_ENABLED(CONFIG_PCI)
/* Does an ECAM of the MCFG reach the first function, and with it segment 0? */
bool pci_has_ecam(void);

/*
 * The register by which the machine restarts, where that lies in configuration space of bus 0 (ACPI
 * 4.8.3.6, table 5.1): is written. False: it lies elsewhere.
 */
bool pci_reset_machine(const struct acpi_gas *gas, u8 value);
#else
static inline bool pci_has_ecam(void)
{
	return false;
}

static inline bool pci_reset_machine(const struct acpi_gas *, u8)
{
	return false;
}
#endif

/*
 * Aligned accesses of 1, 2 or 4 bytes; what is out of reach reads as all ones, writes to it are
 * dropped.
 */
u32 pci_read(struct pci_address a, u16 offset, unsigned size);
void pci_write(struct pci_address a, u16 offset, unsigned size, u32 value);

#endif
