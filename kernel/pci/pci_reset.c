/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking a function back from a VM: the strongest reset that hurts no other function, FLR (PCI Express 6.6.2, Advanced
 * Features 2.2), else D3hot and back (PCI PM 1.2, 5.4.1), else of the bus on which it is alone (PCI Express 6.6.1, 7.5.1.3.13).
 * PCI Local Bus 3.0, 6.2; PCI Express Base 5.0, 7.5.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/console/printk.h"
#include "kernel/console/screen.h"
#include "kernel/pci/pci_function.h"

#define D3_MS 10
#define BUS_RESET_MS 2    /* at least one */
#define LINK_MS 1000      /* until it is there again, if nothing says so */
#define BUS_READY_MS 100
#define ASPM 3u           /* of Link Control: L0s, L1 */
/* No standard says how long a device may take in the end: a minute is what some need that start firmware of their own. */
#define READY_S 60
#define TELL_S 10

/* The port keeps its own registers. */
static void reset_bus(const struct pci_function *port)
{
	u16 exp = pci_find_cap(port, PCI_CAP_EXP);
	bool tells = pci_read(port->address, (u16)(exp + PCI_EXP_LINK), 4) & PCI_EXP_LINK_TELLS;

	pci_change16(port, PCI_REG_BRIDGE_CONTROL, 0, PCI_BRIDGE_RESET);
	pci_delay_ms(BUS_RESET_MS);
	pci_change16(port, PCI_REG_BRIDGE_CONTROL, PCI_BRIDGE_RESET, 0);
	for (unsigned ms = 0; ms < LINK_MS; ms++) {
		if (tells && pci_read(port->address, exp + PCI_EXP_LINK_STATUS, 2) & PCI_EXP_LINK_ACTIVE)
			break;
		pci_delay_ms(1);
	}
	pci_delay_ms(BUS_READY_MS);
}

/* Resets it and waits for as long as each must. False: it has no reset. by_bus: all that it had is lost. */
static bool run_reset(const struct pci_function *f, bool *by_bus)
{
	unsigned flr_ms = pci_flr_ms(&f->id);
	u16 exp = flr_ms ? pci_find_cap(f, PCI_CAP_EXP) : 0, af = flr_ms ? pci_find_cap(f, PCI_CAP_AF) : 0;
	u16 pm = pci_find_cap(f, PCI_CAP_PM);

	if (exp && pci_read(f->address, (u16)(exp + PCI_EXP_DEVICE), 4) & PCI_EXP_FLR) {
		pci_change16(f, (u16)(exp + PCI_EXP_DEVICE_CONTROL), 0, PCI_EXP_START_FLR);
		pci_delay_ms(flr_ms);
	} else if (af && pci_read(f->address, (u16)(af + PCI_AF_CAPABILITIES), 1) & PCI_AF_FLR) {
		pci_write(f->address, (u16)(af + PCI_AF_CONTROL), 1, PCI_AF_START_FLR);
		pci_delay_ms(flr_ms);
	} else if (pm && !(pci_read(f->address, (u16)(pm + PCI_PM_CONTROL), 2) & PCI_PM_NO_SOFT_RESET)) {
		pci_change16(f, (u16)(pm + PCI_PM_CONTROL), PCI_PM_STATE, PCI_PM_STATE);
		pci_delay_ms(D3_MS);
		pci_change16(f, (u16)(pm + PCI_PM_CONTROL), PCI_PM_STATE, 0);
		pci_delay_ms(D3_MS);
	} else if (pci_own_port(f)) {
		reset_bus(pci_own_port(f));
		*by_bus = true;
	} else {
		return false;
	}
	return true;
}

/*
 * It may ask for more time (PCI Express 2.3.1, Configuration Request Retry), for which it reads as another and writes would be
 * lost. False: it does not come back. free: this CPU may do other things meanwhile.
 */
static bool wait_ready(const struct pci_function *f, u32 id, bool free)
{
	for (unsigned ms = 0; pci_read(f->address, PCI_REG_ID, 4) != id || pci_vf_silent(f); ms++) {
		if (ms && ms % (TELL_S * 1000) == 0)
			printk_error("pci " PCI_FULL_FORMAT ": not ready %u s after its reset, of %u",
				     PCI_FULL_FORMAT_ARGS(f->address), ms / 1000, READY_S);
		if (ms == READY_S * 1000)
			return false;
		pci_delay_ms(1);
		if (free)
			host_interrupt_window();
	}
	return true;
}

/* Addresses as firmware gave them: the device may have lost them before, by a reset that its guest knows and we do not. */
static void put_bars(const struct pci_function *f, u32 header[16])
{
	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		const struct pci_bar *b = &f->bar[i];

		header[PCI_REG_BAR / 4 + i] = (u32)b->base | b->flags;
		if (pci_bar_is_64(b) && i + 1 < PCI_ROM_BAR)
			header[PCI_REG_BAR / 4 + ++i] = (u32)(b->base >> 32);
	}
	header[PCI_REG_ROM / 4] = (header[PCI_REG_ROM / 4] & PCI_ROM_FLAGS) | (u32)f->bar[PCI_ROM_BAR].base;
}

static int reset(const struct pci_function *f, bool free)
{
	u16 exp = pci_find_cap(f, PCI_CAP_EXP), link = exp ? (u16)pci_read(f->address, exp + PCI_EXP_LINK_CONTROL, 2) : 0;
	bool by_bus = false, obeys;
	u32 header[16];

	for (unsigned i = 0; i < PCI_ROM_BAR; i++)
		if (!pci_bar_is_io(&f->bar[i]))
			screen_yield(f->bar[i].base, f->bar[i].size);
	obeys = !pci_quiet(f);
	/* A guest may have switched it on; whoever has the function next does so for itself. */
	pci_change16(f, PCI_REG_ROM, PCI_ROM_ENABLE, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(header); i++)
		header[i] = pci_read(f->address, (u16)(i * 4), 4);
	put_bars(f, header);
	if (!run_reset(f, &by_bus)) {
		pci_restore(f);
		/* A reset would end what does not end by itself. */
		return obeys ? -ENODEV : -EIO;
	}
	if (!wait_ready(f, header[0], free))
		return -EIO;
	/* The link does not save power any more: the times for that are lost, which its other end has still. */
	if (exp)
		pci_write(f->address, exp + PCI_EXP_LINK_CONTROL, 2, by_bus ? link & ~ASPM : link);
	pci_restore(f);
	if (IS_ENABLED(CONFIG_IOMMU))
		pci_isolate(f);
	for (u16 at = PCI_REG_HEADER; at <= PCI_REG_INTERRUPT; at += 4)
		pci_write(f->address, at, 4, header[at / 4]);
	pci_write(f->address, PCI_REG_COMMAND, 2, PCI_COMMAND_NO_INTX);
	return pci_quiet(f);
}

/* A virtual function that is off: nothing is there to be reset, or to do anything. */
static bool is_absent(unsigned index)
{
	return IS_ENABLED(CONFIG_SRIOV) && host_sriov_is_vf(index) && !host_sriov_on(index);
}

int host_pci_reset(unsigned index)
{
	return is_absent(index) ? 0 : reset(pci_get(index), false);
}

int host_pci_take_back(unsigned index)
{
	const struct pci_function *f = pci_get(index);
	u32 decode = pci_read(f->address, PCI_REG_COMMAND, 2) & (PCI_COMMAND_IO | PCI_COMMAND_MEMORY);
	int err = is_absent(index) ? 0 : reset(f, true);

	if (err == -ENODEV)
		return 0;
	pci_change16(f, PCI_REG_COMMAND, 0, (u16)decode);
	return err;
}
