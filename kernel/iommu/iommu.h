/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's IOMMUs and what functions reach through them. <margay/host_pci.h> has what the monitor
 * asks for. One lock inside; any CPU.
 */
#ifndef KERNEL_IOMMU_H
#define KERNEL_IOMMU_H

#include <margay/host.h>
#include "arch/x86_64/iommu/iommu_ops.h"
#include "kernel/acpi/tables.h"
#include "kernel/pci/pci_core.h"

/*
 * Takes over the units that firmware's tables name, with all functions blocked but those for which
 * it has reserved memory; in a check, or where the command line says so, no unit is used. After
 * pci_init(), before anything is interrupted. Logs.
 */
#if IS_ENABLED(CONFIG_IOMMU)
void iommu_init(void);
#else
static inline void iommu_init(void) { }
#endif

/* From here on writes are interrupts, as CPUs take them. */
#define IOMMU_MESSAGES 0xfee00000u

/* What the functions of a VM reach, or those of the firmware's RMRRs. */
struct host_iommu {
	struct stage2 tables;
	const struct host_iommu_user *user; /* guarded by the lock */
	unsigned id;
	/*
	 * a bit for each, by its index, that a function of it was attached to; guarded by the lock
	 */
	u64 units;
};
static_assert(DMAR_MAX_UNITS <= 64, "bits of host_iommu.units");

/* The requester ID of its accesses. */
static inline u16 iommu_bdf(const struct pci_function *f)
{
	return (u16)(f->address.bus << 8 | f->address.devfn);
}

/* iommu.c; guarded by the lock but at boot: */
extern const struct iommu_ops *iommu_ops; /* NULL: the node has none that is used */
/* by the DMAR's index; without a base: there is none */
extern struct iommu_unit iommu_units[DMAR_MAX_UNITS];
extern struct spinlock iommu_lock;
extern const struct dmar_info *iommu_table; /* the DMAR, or what ivrs_units() makes of an IVRS */
/* The unit that is responsible for a function, or NULL. */
struct iommu_unit *iommu_unit_of(const struct pci_function *f);

/* The domain that a function of the machine has, by its index; NULL: blocked. */
struct host_iommu *iommu_domain_of(unsigned index);
/* How many structures of this kind of the firmware's table name the function. */
unsigned iommu_named(const struct pci_function *f, enum acpi_dmar_type by);
/*
 * reserved.c, at boot: functions for which firmware has reserved memory reach that, and nothing
 * else.
 */
void iommu_keep_reserved(const struct dmar_info *d);
/* Logs that a unit has stopped answering. */
void iommu_tell_broken(const struct iommu_unit *u);

/*
 * faults.c: hears of what is blocked from now on. told: units do so by NMI. 0 or -errno (logged).
 */
int iommu_faults_init(bool told);
/* Under the lock: function `index` begins anew. */
void iommu_faults_forget(unsigned index);

/*
 * Reports what the units have noted, under iommu_lock: before a function is nobody's, while it is
 * known whose that was.
 */
void iommu_faults_take(void);

/*
 * interrupts.c: lets no interrupt of a function or an I/O APIC pass but by entries, if units can do
 * that for all of them. Before any is let through: all are masked yet. NULL, or why not.
 */
const char *iommu_remap(void);

#if IS_ENABLED(CONFIG_IOMMU)
/* interrupts.c: upcall_route() of arch/x86_64/cpu/upcall.h. */
int iommu_route_input(u32 gsi, u32 apic_id, u64 *entry);
#else
#define iommu_route_input NULL
#endif

/*
 * dmar_scope.c: does a structure of the DMAR (a DRHD, an RMRR, a SATC) name the function, or a
 * bridge above it?
 */
bool dmar_names(const struct dmar_info *d, const struct dmar_unit *u, const struct pci_function *f);
/*
 * dmar_scope.c: does firmware say that it sends by another's requester ID, or an I/O APIC by its?
 * Of an IVRS.
 */
bool dmar_shares(const struct dmar_info *d, const struct pci_function *f);
/*
 * dmar_scope.c: ACPI_IVHD_SETTINGS that firmware gives the function's requester ID: what it sends
 * past the IOMMU.
 */
u8 dmar_settings(const struct dmar_info *d, const struct pci_function *f);
/*
 * dmar_scope.c: index of the DRHD that is responsible for a function; -1: none, or one that was
 * lost.
 */
int dmar_unit_of(const struct dmar_info *d, const struct pci_function *f);
/* dmar_scope.c: the same for the I/O APIC of this ID, and the requester ID of its interrupts. */
int dmar_unit_of_ioapic(const struct dmar_info *d, u8 id, u16 *source);

#if IS_ENABLED(CONFIG_AMD_VI)
/*
 * ivrs_units.c: what an IVRS, of which iv has been read, says: its units as DRHDs, its memory
 * blocks as RMRRs. NULL, or why not.
 */
const char *ivrs_units(const struct ivrs_info *iv, const u8 *table, struct dmar_info *out);
#else
/* It has not been asked. */
static inline const char *ivrs_units(const struct ivrs_info *, const u8 *, struct dmar_info *)
{
	return "";
}
#endif

/* iommu_find.c: the DMAR, or an IVRS as one. NULL: there is neither that is used. */
const struct dmar_info *iommu_find_table(void);
/* iommu_find.c: who drives the units of that table. */
const struct iommu_ops *iommu_find_backend(const struct dmar_info *table);

#endif
