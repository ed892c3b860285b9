/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the guest's ACPI tables (ACPI 6.4, chapters 5 and 6): RSDP,
 * XSDT, FADT, MADT, SRAT, SLIT, MCFG, DSDT, laid out in one buffer.
 */
#ifndef VMM_ACPI_BUILD_H
#define VMM_ACPI_BUILD_H

#include <margay/abi.h>
#include <margay/cstates.h>
#include <margay/types.h>

#define ACPI_GUEST_MAX_NODES 64

struct acpi_guest_cpu {
	u32 apic_id;
	u32 node; /* proximity domain */
	const struct cstates *cstates; /* in images with VM_CST; NULL: it is told none */
};

struct acpi_guest_memory {
	u64 base;
	u64 size;
	u32 node;
};

/* A PCI root bus, in segment 0. */
struct acpi_guest_root {
	u8 bus;
	u8 last_bus;
	int node; /* proximity domain; -1: unknown */
	bool virtual; /* of functions that no machine has: they know no DMA windows */
};

/* An address range that a PCI root bus passes on: one of its functions' BARs. */
struct acpi_guest_window {
	u8 bus;
	bool io;
	u64 base;
	u64 size;
};

/* Where a PCI device's interrupt pin leads. */
struct acpi_guest_intx {
	/* 0: INTA */
	u8 bus;
	u8 device;
	u8 pin;

	u32 gsi;
};

/* What the tables describe. All arrays are the caller's; node numbers are below nr_nodes. */
struct acpi_guest {
	const struct acpi_guest_cpu *cpus;
	unsigned nr_cpus;
	const struct acpi_guest_memory *memory;
	unsigned nr_memory;
	unsigned nr_nodes;   /* 1..ACPI_GUEST_MAX_NODES */
	const u8 *distances; /* nr_nodes * nr_nodes, row major, 10 on the diagonal */
	const struct acpi_guest_root *roots;
	unsigned nr_roots;
	const struct acpi_guest_window *windows;
	unsigned nr_windows;
	const struct margay_dma_window *dma; /* what each root's _DMA says; none: no _DMA */
	unsigned nr_dma;
	const struct acpi_guest_intx *intx;
	unsigned nr_intx;
	bool ecam; /* of buses 0 to ecam_last_bus at ecam_base */
	u8 ecam_last_bus;
	u64 ecam_base;
	/* vmm/dev/board/uart16550.c, ioapic.c, acpi_pm.c and watchdog.c are there */
	bool uart;
	bool ioapic;
	bool power;
	bool watchdog;

	unsigned nr_vfs;
	struct {
		u8 bus;
		u8 devfn;
	} vf[64]; /* functions that may go while the guest runs */
};

/*
 * Builds all tables into `size` bytes at buf, which the guest sees at
 * gpa_base (16-byte aligned). *rsdp becomes the RSDP's guest-physical address,
 * *used (when not NULL) the bytes taken. 0; -ENOSPC: buf is too small;
 * -EINVAL: a node number or count out of range.
 */
int acpi_build(const struct acpi_guest *in, u64 gpa_base, void *buf, size_t size, u64 *rsdp,
	       size_t *used);

struct aml;
struct vm;
struct vm_pci;

#if IS_ENABLED(CONFIG_PASSTHROUGH)
/* acpi_pci.c: the root buses and the ECAM, for the DSDT. */
void acpi_put_pci(struct aml *a, const struct acpi_guest *in);
#else
static inline void acpi_put_pci(struct aml *, const struct acpi_guest *) { }
#endif

#if IS_ENABLED(CONFIG_VM_CST)
/* acpi_cst.c: the processors, for the DSDT, if each has C-states and they all fit. */
void acpi_put_cstates(struct aml *a, const struct acpi_guest *in);
#else
static inline void acpi_put_cstates(struct aml *, const struct acpi_guest *) { }
#endif

/* acpi_devices.c: what WDAT has behind its header, with VM_WATCHDOG. */
void acpi_put_wdat(struct aml *a, const struct acpi_guest *in);
#if IS_ENABLED(CONFIG_VM_ACPI_DEVICES)
/* The same file's: the nodes of the image's other devices, for the DSDT. */
void acpi_put_devices(struct aml *a);
#else
static inline void acpi_put_devices(struct aml *) { }
#endif

#if IS_ENABLED(CONFIG_VM_FOLLOW_UP)
/* acpi_pvpanic.c, acpi_rtc.c: two of these. */
void acpi_put_pvpanic(struct aml *a);
#else
static inline void acpi_put_pvpanic(struct aml *) { }
#endif

#if IS_ENABLED(CONFIG_VM_RTC)
void acpi_put_rtc(struct aml *a);

/* What the FADT says of it. */
#define ACPI_BOOT_RTC 0u
#define ACPI_RTC_CENTURY GUEST_RTC_CENTURY
#else
static inline void acpi_put_rtc(struct aml *) { }

#define ACPI_BOOT_RTC ACPI_BOOT_NO_CMOS_RTC
#define ACPI_RTC_CENTURY 0
#endif

#if IS_ENABLED(CONFIG_VM_POWER_BUTTON)
/* acpi_button.c: one of these nodes. */
void acpi_put_button(struct aml *a);
#else
static inline void acpi_put_button(struct aml *) { }
#endif

/*
 * guest_smbios.c, not pure, with CONFIG_SMBIOS: the VM's SMBIOS tables, behind `used` bytes of ACPI
 * tables, and their entry point in the last 64 KiB below 1 MiB. 0; -ENOSPC: they do not fit.
 */
int guest_smbios_build(struct vm *vm, const struct acpi_guest *in, size_t used);

#if IS_ENABLED(CONFIG_SRIOV)
/*
 * guest_acpi_sriov.c, not pure: of the VM's n-th function; windows behind those that there are.
 */
void guest_acpi_sriov(const struct vm_pci *, unsigned n, struct acpi_guest *,
		      struct acpi_guest_window *, struct acpi_guest_root *);
/* acpi_sriov.c: the functions that may go, and the event by which the guest looks for them. */
void acpi_put_sriov(struct aml *a, const struct acpi_guest *in);
#else
static inline void guest_acpi_sriov(const struct vm_pci *, unsigned, struct acpi_guest *,
				    struct acpi_guest_window *, struct acpi_guest_root *)
{
}

static inline void acpi_put_sriov(struct aml *, const struct acpi_guest *) { }
#endif

/*
 * uuid.c: the UUID of version 5 (RFC 9562, 5.5) of a name of at most 39 bytes, in that standard's
 * order of bytes.
 */
void uuid_of_name(const u8 space[16], const char *name, u8 out[16]);

#endif
