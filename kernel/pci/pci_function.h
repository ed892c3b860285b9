/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the host does to PCI functions beside finding them: it keeps quiet what
 * no VM has, and takes back what one had (host_pci_reset_begin():
 * <margay/host_pci.h>).
 */
#ifndef KERNEL_PCI_FUNCTION_H
#define KERNEL_PCI_FUNCTION_H

#include "kernel/pci/pci_cap.h"
#include "kernel/pci/pci_core.h"

/*
 * At boot, for each function: a USB controller is taken from firmware first; then neither bus
 * mastering, which firmware may have left on for memory that is another's now, nor interrupts. Left
 * alone are bridges and system devices (an IOMMU, an interrupt controller), which work for the
 * others; of a display only the interrupts are masked, for its picture may come from memory. One
 * that goes on all the same is no VM's (f->restless).
 */
void pci_keep_quiet(struct pci_function *f);

/*
 * Ends what a function does: bus master and all interrupts off, and nothing
 * under way any more. 0; -EIO: it does not obey, and may still write to memory.
 */
int pci_quiet(const struct pci_function *f);
/*
 * The two parts of it, for those who do not wait: bus master and interrupts off, true if they are;
 * is something under way still?
 */
bool pci_still(const struct pci_function *f);
bool pci_pending(const struct pci_function *f);
#define PCI_PENDING_MS 100 /* until that has ended, if it ever does */

/* pci_kept.c, only in images with PASSTHROUGH. */
#if IS_ENABLED(CONFIG_PASSTHROUGH)
/*
 * Keeps what firmware has set in the function, which nobody has had yet; what none shall have is
 * off from here on.
 */
void pci_keep(struct pci_function *f);
#else
static inline void pci_keep(struct pci_function *) { }
#endif
/*
 * Sets that again, after a reset or where there is none, and forgets the errors that it has noted.
 */
void pci_restore(const struct pci_function *f);

/* For those who read its capabilities; valid as long as the function is. */
struct pcicap_reader pci_reader(const struct pci_function *f);

/* Fills cap[] as pcicap_walk() does. */
unsigned pci_capabilities(const struct pci_function *f, struct pci_cap *cap, unsigned max,
			  const char **problem);

/* Offset of a standard capability; 0: it has none. */
u16 pci_find_cap(const struct pci_function *f, u16 id);

/* The same of an extended one. */
u16 pci_find_extended_cap(const struct pci_function *f, u16 id);

#if IS_ENABLED(CONFIG_IOMMU)
/*
 * pci_acs.c: what the function sends to others goes by the IOMMU, as far as its ACS can do that.
 * Again after a reset.
 */
void pci_isolate(const struct pci_function *f);
/* it has been called: from then on a group goes by what ACS does, before by what it can */
extern bool pci_isolating;
#else
static inline void pci_isolate(const struct pci_function *) { }

#define pci_isolating false
#endif

/*
 * Clears and sets bits of a 16-bit register, which is written only if that changes it. False:
 * nobody answers, and nothing is written: no such register is all ones, and what has just come back
 * must not be told that it is.
 */
bool pci_change16(const struct pci_function *f, u16 offset, u16 clear, u16 set);

#if IS_ENABLED(CONFIG_PCI_INFO)
/*
 * pci_usb.c: takes a USB controller from the firmware's SMM, at boot, before it is made quiet.
 * Waits up to a second for firmware that does not let go of it, and says so.
 */
void pci_take_usb(const struct pci_function *f);
#else
static inline void pci_take_usb(const struct pci_function *) { }
#endif

void pci_delay_ms(unsigned ms);

/*
 * pci_acs_quirks.c: a function without ACS that sends to none of its device; type: enum pcie_type.
 */
bool pci_sends_to_no_other(const struct pci_id *id, unsigned type);

/* pci_reset_quirks.c: what is known of a device's resets beside what it says itself. */
struct pci_reset_quirks {
	u16 flr_ms; /* to wait after a function level reset */
	bool flr_hangs; /* it must not be used */
	bool flr_unsaid; /* it is there though the capability does not say so */
	/* it ends only while the function may write, and have its messages taken */
	bool flr_as_master;
	bool d3_keeps; /* D3hot and back changes nothing, whatever No_Soft_Reset says */
	bool bus_hangs; /* after a reset of its bus the link does not come back */
};
struct pci_reset_quirks pci_reset_quirks(const struct pci_id *id);
/* Resets as they are, where out has those that the device, and the way to it, announce. */
void pci_correct_resets(struct pci_info *out);

/* pci_core.c: those of pci_get(). Once booted only pci_sriov_vfs.c adds some, which stay. */
extern struct pci_function pci_functions[];
extern unsigned pci_nr_functions;

/* ---- pci_sriov_vfs.c, only in images with SRIOV ---- */
/* What the guest of function `index` reads where its configuration space says `value`. */
u32 pci_vf_read(unsigned index, u16 offset, unsigned size, u32 value);

/*
 * pci_sriov_place.c: gives addresses to those of the VFs' BARs to which firmware gave none. NULL,
 * or why it cannot, in words.
 */
struct sriov;
const char *pci_vf_place(const struct pci_function *pf, struct sriov *s, unsigned count);

#if IS_ENABLED(CONFIG_SRIOV)
/* How many VFs it could have. */
static inline unsigned pci_vfs_at_most(const struct pci_function *f)
{
	u16 sriov = pci_find_extended_cap(f, PCI_EXT_CAP_SRIOV);

	return sriov ? pci_read(f->address, sriov + PCI_SRIOV_VFS, 4) >> 16 : 0;
}
#else
static inline unsigned pci_vfs_at_most(const struct pci_function *)
{
	return 0;
}
#endif

/* The same in all images. */
static inline u32 pci_seen(unsigned index, u16 offset, unsigned size, u32 value)
{
	return IS_ENABLED(CONFIG_SRIOV) ? pci_vf_read(index, offset, size, value) : value;
}

/* A VF's ID is ones at all times: what else says that there is no answer. */
static inline bool pci_vf_silent(const struct pci_function *f)
{
	return IS_ENABLED(CONFIG_SRIOV) && pci_read(f->address, PCI_REG_COMMAND, 4) == ~0u;
}

#endif
