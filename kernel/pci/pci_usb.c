/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * USB controllers are taken from the firmware, which has its keyboard there by SMIs, in the ways
 * that their standards know: xHCI 1.2, 7.1; EHCI 1.0, 2.1.7 and 5.1; OHCI 1.0a, 5.1.1.3.3; UHCI as
 * the Intel 82371AB, 7.1.4, has it. One that just lost its bus mastering would leave SMM waiting
 * for it, or switching it on again.
 */
#include <margay/host.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"

#define HANDOFF_MS 1000
#define MAPPED KIB(64)
#define CAPS_MAX 64

enum {
	PROG_UHCI = 0x00,
	PROG_OHCI = 0x10,
	PROG_EHCI = 0x20,
	PROG_XHCI = 0x30,
	EHCI_PARAMS = 8,
	XHCI_PARAMS = 0x10
};
/* what was trapped is forgotten, no trap, the interrupt stays routed */
enum { UHCI_LEGACY = 0xc0, UHCI_NO_SMIS = 0xaf00 };
enum { OHCI_CONTROL = 4, OHCI_COMMAND = 8, OHCI_ENABLE = 0x10, OHCI_DISABLE = 0x14 };
enum { OHCI_TO_SMI = BIT(8), OHCI_CHANGE_OWNER = BIT(3) };
#define OHCI_OWNER_CHANGED BIT(30)
/*
 * The legacy capability of both: EHCI's is in configuration space. Behind it what makes an SMI,
 * events in the upper bits.
 */
enum { LEGACY = 1, LEGACY_FIRMWARE = BIT(16), LEGACY_OS = BIT(24), LEGACY_SMIS = 4 };
#define SMI_EVENTS 0xe0000000u
#define XHCI_RESERVED 0x000e1feeu

/* Registers of a controller, in memory or in configuration space. */
struct usb {
	const struct pci_function *f;
	volatile u8 *mmio; /* NULL: configuration space */
	u64 size;
};

static u32 get(const struct usb *u, u32 at)
{
	return u->mmio ? (u32)host_mmio_read(u->mmio + at, 4) : pci_read(u->f->address, (u16)at, 4);
}

static void put(const struct usb *u, u32 at, u32 value)
{
	if (u->mmio)
		host_mmio_write(u->mmio + at, 4, value);
	else
		pci_write(u->f->address, (u16)at, 4, value);
}

/* Asked for, it is waited for; who does not let go of it loses it. */
static void take(const struct usb *u, u32 owner, u32 firmware)
{
	for (unsigned ms = 0; get(u, owner) & firmware; ms++) {
		if (ms == HANDOFF_MS) {
			printk_error("pci " PCI_FULL_FORMAT
				     ": firmware keeps this USB controller: taken all the same",
				     PCI_FULL_FORMAT_ARGS(u->f->address));
			put(u, owner, get(u, owner) & ~firmware);
			break;
		}
		pci_delay_ms(1);
	}
}

static void take_legacy(const struct usb *u, u32 at, unsigned unit, u32 reserved)
{
	for (unsigned i = 0; at && at + LEGACY_SMIS + 4 <= u->size && i < CAPS_MAX; i++) {
		u32 cap = get(u, at), next = (cap >> 8 & 0xff) * unit;

		if ((cap & 0xff) == LEGACY) {
			put(u, at, cap | LEGACY_OS);
			take(u, at, LEGACY_FIRMWARE);
			put(u, at + LEGACY_SMIS,
			    (get(u, at + LEGACY_SMIS) & reserved) | SMI_EVENTS);
			return;
		}
		at = u->mmio && next ? at + next : next;
	}
}

void pci_take_usb(const struct pci_function *f)
{
	const struct usb config = { f, NULL, PCI_STANDARD_END };
	struct usb u = { f, NULL, MIN(f->bar[0].size, MAPPED) };
	unsigned kind = f->id.class_code & 0xff;

	if (kind == PROG_UHCI)
		pci_write(f->address, UHCI_LEGACY, 2, UHCI_NO_SMIS);
	/* The others answer in memory; one that does not cannot be in use. */
	if (kind != PROG_UHCI && pci_read(f->address, PCI_REG_COMMAND, 2) & PCI_COMMAND_MEMORY &&
	    pci_bar_is_memory(&f->bar[0]) && !pci_misplaced(f))
		u.mmio = mmio_map(f->bar[0].base, u.size);
	if (!u.mmio)
		return;
	if (kind == PROG_OHCI && get(&u, OHCI_CONTROL) & OHCI_TO_SMI) {
		put(&u, OHCI_ENABLE, OHCI_OWNER_CHANGED);
		put(&u, OHCI_COMMAND, OHCI_CHANGE_OWNER);
		take(&u, OHCI_CONTROL, OHCI_TO_SMI);
		put(&u, OHCI_DISABLE, ~0u);
	} else if (kind == PROG_EHCI) {
		take_legacy(&config, get(&u, EHCI_PARAMS) >> 8 & 0xff, 1, 0);
	} else if (kind == PROG_XHCI) {
		take_legacy(&u, (get(&u, XHCI_PARAMS) >> 16) * 4, 4, XHCI_RESERVED);
	}
}
