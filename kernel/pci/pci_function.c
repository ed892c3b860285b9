/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_function.h. PCI Local Bus 3.0, 6.2; PCI Express Base 5.0, 7.5. */
#include "kernel/pci/pci_function.h"

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_masters.h"

static u32 read_dword(void *ctx, u16 offset)
{
	const struct pci_function *f = ctx;

	return pci_read(f->address, offset, 4);
}

struct pcicap_reader pci_reader(const struct pci_function *f)
{
	return (struct pcicap_reader){ read_dword, (void *)(uintptr_t)f, f->extended };
}

unsigned pci_capabilities(const struct pci_function *f, struct pci_cap *cap, unsigned max,
			  const char **problem)
{
	const struct pcicap_reader reader = pci_reader(f);

	return pcicap_walk(&reader, cap, max, problem);
}

u16 pci_find_cap(const struct pci_function *f, u16 id)
{
	const struct pcicap_reader reader = pci_reader(f);

	return pcicap_find(&reader, id, false);
}

u16 pci_find_extended_cap(const struct pci_function *f, u16 id)
{
	const struct pcicap_reader reader = pci_reader(f);

	return pcicap_find(&reader, id, true);
}

bool pci_change16(const struct pci_function *f, u16 offset, u16 clear, u16 set)
{
	u16 old = (u16)pci_read(f->address, offset, 2), new = (old & ~clear) | set;

	if (old == 0xffff)
		return false;
	if (old != new)
		pci_write(f->address, offset, 2, new);
	return true;
}

void pci_delay_ms(unsigned ms)
{
	u64 start = rdtsc();

	while (rdtsc() - start < ms * host_tsc_khz())
		cpu_pause();
}

static void mask_interrupts(const struct pci_function *f)
{
	u16 msi = pci_find_cap(f, PCI_CAP_MSI), msix = pci_find_cap(f, PCI_CAP_MSIX);

	pci_change16(f, PCI_REG_COMMAND, 0, PCI_COMMAND_NO_INTX);
	if (msi)
		pci_change16(f, (u16)(msi + PCI_MSI_CONTROL), PCI_MSI_ENABLE, 0);
	if (msix)
		pci_change16(f, (u16)(msix + PCI_MSIX_CONTROL), PCI_MSIX_ENABLE, 0);
}

bool pci_still(const struct pci_function *f)
{
	pci_change16(f, PCI_REG_COMMAND, PCI_COMMAND_MASTER, 0);
	mask_interrupts(f);
	return !(pci_read(f->address, PCI_REG_COMMAND, 2) & PCI_COMMAND_MASTER);
}

bool pci_pending(const struct pci_function *f)
{
	u16 exp = pci_find_cap(f, PCI_CAP_EXP), af = pci_find_cap(f, PCI_CAP_AF);

	return (exp && pci_read(f->address, exp + PCI_EXP_DEVICE_STATUS, 2) & PCI_EXP_PENDING) ||
	       (af && pci_read(f->address, (u16)(af + PCI_AF_STATUS), 1) & PCI_AF_PENDING);
}

int pci_quiet(const struct pci_function *f)
{
	if (!pci_still(f))
		return -EIO;
	for (unsigned ms = 0; pci_pending(f); ms++) {
		if (ms == PCI_PENDING_MS)
			return -EIO;
		pci_delay_ms(1);
	}
	return 0;
}

void pci_keep_quiet(struct pci_function *f)
{
	u32 base = f->id.class_code >> 16;

	if (pci_serves_others(f->header_type, f->id.class_code))
		return;
	pci_keep(f);
	if (f->id.class_code >> 8 == PCI_CLASS_USB)
		pci_take_usb(f);
	/*
	 * It may lie over anything; who has the function and its ROM switches it on again (PCI
	 * Local Bus 3.0, 6.2.5.2).
	 */
	pci_change16(f, PCI_REG_ROM, PCI_ROM_ENABLE, 0);
	if (base == PCI_BASE_CLASS_DISPLAY)
		mask_interrupts(f);
	else
		f->restless = pci_quiet(f);
	if (f->restless)
		printk_error("pci " PCI_FULL_FORMAT
			     ": does not stop its bus mastering: it is given to no VM",
			     PCI_FULL_FORMAT_ARGS(f->address));
}
