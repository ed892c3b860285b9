/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking a function back from a VM: the strongest reset that hurts no other function, FLR (PCI Express 6.6.2, Advanced
 * Features 2.2), else D3hot and back (PCI PM 1.2, 5.4.1). PCI Local Bus 3.0, 6.2; PCI Express Base 5.0, 7.5.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include "kernel/pci/pci_function.h"

enum {
	REG_COMMAND = 0x04, REG_CACHE_LINE = 0x0c, REG_BAR = 0x10, REG_ROM = 0x30, REG_INTERRUPT = 0x3c,
	COMMAND_IO = BIT(0), COMMAND_MEMORY = BIT(1), COMMAND_NO_INTX = BIT(10),
	ROM_ENABLE = BIT(0),
};

/* Offsets within capabilities. */
enum {
	PM_CONTROL = 4, PM_NO_SOFT_RESET = BIT(3), PM_STATE = 3,
	EXP_VERSION = 2, EXP_CAPABILITIES = 4, EXP_FLR = BIT(28), EXP_CONTROL = 8, EXP_START_FLR = BIT(15),
	EXP_LINK_CONTROL = 0x10, EXP_CONTROL2 = 0x28,
	AF_CAPABILITIES = 3, AF_FLR = BIT(1), AF_CONTROL = 4, AF_START_FLR = BIT(0),
};

#define FLR_MS 100
#define D3_MS 10
#define READY_MS 1000

/* Resets it and waits. False: it has no reset. */
static bool run_reset(const struct pci_function *f)
{
	u16 exp = pci_find_cap(f, PCI_CAP_EXP), af = pci_find_cap(f, PCI_CAP_AF), pm = pci_find_cap(f, PCI_CAP_PM);

	if (exp && pci_read(f->address, (u16)(exp + EXP_CAPABILITIES), 4) & EXP_FLR) {
		pci_change16(f, (u16)(exp + EXP_CONTROL), 0, EXP_START_FLR);
		pci_delay_ms(FLR_MS);
	} else if (af && pci_read(f->address, (u16)(af + AF_CAPABILITIES), 1) & AF_FLR) {
		pci_write(f->address, (u16)(af + AF_CONTROL), 1, AF_START_FLR);
		pci_delay_ms(FLR_MS);
	} else if (pm && !(pci_read(f->address, (u16)(pm + PM_CONTROL), 2) & PM_NO_SOFT_RESET)) {
		pci_change16(f, (u16)(pm + PM_CONTROL), PM_STATE, PM_STATE);
		pci_delay_ms(D3_MS);
		pci_change16(f, (u16)(pm + PM_CONTROL), PM_STATE, 0);
		pci_delay_ms(D3_MS);
	} else {
		return false;
	}
	return true;
}

/* Addresses as firmware gave them: the device may have lost them before, by a reset that its guest knows and we do not. */
static void put_bars(const struct pci_function *f, u32 header[16])
{
	for (unsigned i = 0; i < PCI_INFO_ROM; i++) {
		const struct pci_bar *b = &f->bar[i];

		header[REG_BAR / 4 + i] = (u32)b->base | b->flags;
		if (b->wide)
			header[REG_BAR / 4 + ++i] = (u32)(b->base >> 32);
	}
	header[REG_ROM / 4] = (header[REG_ROM / 4] & 0x7ff) | (u32)f->bar[PCI_INFO_ROM].base;
}

int host_pci_reset(unsigned index)
{
	static const u8 exp_kept[] = { EXP_CONTROL, EXP_LINK_CONTROL, EXP_CONTROL2 };
	const struct pci_function *f = pci_get(index);
	u16 exp = pci_find_cap(f, PCI_CAP_EXP), kept[ARRAY_SIZE(exp_kept)] = { 0 };
	unsigned nr_kept = exp ? ARRAY_SIZE(exp_kept) : 0;
	u32 header[16];

	pci_quiet(f);
	/* A guest may have switched it on; whoever has the function next does so for itself. */
	pci_change16(f, REG_ROM, ROM_ENABLE, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(header); i++)
		header[i] = pci_read(f->address, (u16)(i * 4), 4);
	put_bars(f, header);
	/* Version 1 ends before the last of them (PCI Express Base 1.1, 7.8): another capability may be there. */
	if (exp && (pci_read(f->address, exp + EXP_VERSION, 2) & 0xf) < 2)
		nr_kept--;
	for (unsigned i = 0; i < nr_kept; i++)
		kept[i] = (u16)pci_read(f->address, exp + exp_kept[i], 2);
	if (!run_reset(f))
		return -ENODEV;
	/* It may ask for more time (PCI Express 2.3.1, Configuration Request Retry), for which writes would be lost. */
	for (unsigned ms = 0; pci_read(f->address, 0, 4) != header[0] && ms < READY_MS; ms++)
		pci_delay_ms(1);
	for (unsigned i = 0; i < nr_kept; i++)
		pci_write(f->address, exp + exp_kept[i], 2, kept[i]);
	for (u16 at = REG_CACHE_LINE; at <= REG_INTERRUPT; at += 4)
		pci_write(f->address, at, 4, header[at / 4]);
	pci_write(f->address, REG_COMMAND, 2, COMMAND_NO_INTX);
	return pci_quiet(f);
}

int host_pci_take_back(unsigned index)
{
	const struct pci_function *f = pci_get(index);
	u32 decode = pci_read(f->address, REG_COMMAND, 2) & (COMMAND_IO | COMMAND_MEMORY);
	int err = host_pci_reset(index);

	/* A reset ends what did not end by itself; without one it must. */
	if (err == -ENODEV)
		return pci_quiet(f);
	pci_change16(f, REG_COMMAND, 0, (u16)decode);
	return err;
}
