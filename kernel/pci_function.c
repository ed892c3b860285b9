/* SPDX-License-Identifier: GPL-2.0-only */
/* See pci_function.h. PCI Local Bus 3.0, 6.2; PCI Express Base 5.0, 7.5. */
#include "kernel/pci_function.h"

#include <margay/errno.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/clock.h"
#include "kernel/printk.h"

enum {
	REG_COMMAND = 0x04, REG_CACHE_LINE = 0x0c, REG_BAR = 0x10, REG_ROM = 0x30, REG_INTERRUPT = 0x3c,
	COMMAND_IO = BIT(0), COMMAND_MEMORY = BIT(1), COMMAND_MASTER = BIT(2), COMMAND_NO_INTX = BIT(10),
};

/* Offsets within capabilities. */
enum {
	PM_CONTROL = 4, PM_NO_SOFT_RESET = BIT(3), PM_STATE = 3,
	MSI_CONTROL = 2, MSI_ENABLE = BIT(0), MSIX_ENABLE = BIT(15),
	EXP_CAPABILITIES = 4, EXP_FLR = BIT(28), EXP_CONTROL = 8, EXP_START_FLR = BIT(15), EXP_STATUS = 10, EXP_PENDING = BIT(5),
	EXP_LINK_CONTROL = 0x10, EXP_CONTROL2 = 0x28,
	AF_CAPABILITIES = 3, AF_FLR = BIT(1), AF_CONTROL = 4, AF_START_FLR = BIT(0), AF_STATUS = 5, AF_PENDING = BIT(0),
};

#define CLASS_BRIDGE 0x06
#define CLASS_IDE 0x0101
#define IDE_BOTH_NATIVE (BIT(0) | BIT(2))
#define PENDING_MS 100
#define FLR_MS 100
#define D3_MS 10

static u32 read_dword(void *ctx, u16 offset)
{
	const struct pci_function *f = ctx;

	return pci_read(f->address, offset, 4);
}

static struct pcicap_reader reader_of(const struct pci_function *f)
{
	return (struct pcicap_reader){ read_dword, (void *)(uintptr_t)f, f->extended };
}

unsigned pci_capabilities(const struct pci_function *f, struct pcicap *cap, unsigned max, const char **problem)
{
	const struct pcicap_reader reader = reader_of(f);

	return pcicap_walk(&reader, cap, max, problem);
}

static u16 find(const struct pci_function *f, u16 id)
{
	const struct pcicap_reader reader = reader_of(f);

	return pcicap_find(&reader, id, false);
}

static void change16(const struct pci_function *f, u16 offset, u16 clear, u16 set)
{
	u32 old = pci_read(f->address, offset, 2), new = (old & ~(u32)clear) | set;

	if (old != new)
		pci_write(f->address, offset, 2, new);
}

static void delay_ms(unsigned ms)
{
	u64 start = rdtsc();

	while (rdtsc() - start < ms * clock_tsc_khz())
		cpu_pause();
}

static bool is_bridge(const struct pci_function *f)
{
	return f->header_type != 0 || f->class_code >> 16 == CLASS_BRIDGE;
}

/* The address bits that one register takes. Decoding is off meanwhile. */
static u32 probe_mask(const struct pci_function *f, u16 offset, u32 all)
{
	u32 old = pci_read(f->address, offset, 4), mask;

	pci_write(f->address, offset, 4, all);
	mask = pci_read(f->address, offset, 4);
	pci_write(f->address, offset, 4, old);
	return mask;
}

static void size_bars(struct pci_function *f)
{
	u32 rom;

	for (unsigned i = 0; i < PCI_ROM_BAR; i++) {
		u16 at = (u16)(REG_BAR + i * 4);
		u32 low = pci_read(f->address, at, 4), flags = low & PCI_BAR_IO ? 3 : 0xf;
		u64 mask = probe_mask(f, at, ~0u) & ~flags;

		f->bar[i] = low;
		if (low & PCI_BAR_IO) {
			mask &= 0xffff;
		} else if ((low & PCI_BAR_TYPE) == PCI_BAR_64 && i + 1 < PCI_ROM_BAR) {
			f->bar[i] |= (u64)pci_read(f->address, (u16)(at + 4), 4) << 32;
			mask |= (u64)probe_mask(f, (u16)(at + 4), ~0u) << 32;
			f->bar_shift[i++] = mask ? (u8)__builtin_ctzll(mask) : 0;
			continue;
		}
		f->bar_shift[i] = mask ? (u8)__builtin_ctzll(mask) : 0;
	}
	/* The ROM's enable bit shares the register. */
	rom = probe_mask(f, REG_ROM, ~1u) & ~0x7ffu;
	f->bar[PCI_ROM_BAR] = pci_read(f->address, REG_ROM, 4) & ~0x7ffu;
	f->bar_shift[PCI_ROM_BAR] = rom ? (u8)__builtin_ctz(rom) : 0;
}

/* Waits for a bit to clear; false when it does not. */
static bool wait_clear(const struct pci_function *f, u16 offset, u16 bit)
{
	for (unsigned ms = 0; pci_read(f->address, offset, 2) & bit; ms++) {
		if (ms == PENDING_MS)
			return false;
		delay_ms(1);
	}
	return true;
}

int pci_quiet(const struct pci_function *f)
{
	u16 msi = find(f, PCI_CAP_MSI), msix = find(f, PCI_CAP_MSIX), exp = find(f, PCI_CAP_EXP);

	change16(f, REG_COMMAND, COMMAND_MASTER, COMMAND_NO_INTX);
	if (msi)
		change16(f, (u16)(msi + MSI_CONTROL), MSI_ENABLE, 0);
	if (msix)
		change16(f, (u16)(msix + MSI_CONTROL), MSIX_ENABLE, 0);
	if (pci_read(f->address, REG_COMMAND, 2) & COMMAND_MASTER)
		return -EIO;
	return exp && !wait_clear(f, (u16)(exp + EXP_STATUS), EXP_PENDING) ? -EIO : 0;
}

void pci_prepare(struct pci_function *f)
{
	const struct pci_address a = f->address;
	u32 command;

	if (is_bridge(f))
		return;
	if (pci_quiet(f))
		printk_error("pci %04x:%02x:%02x.%u: does not stop its bus mastering", a.segment, a.bus, a.devfn >> 3,
			     a.devfn & 7u);
	command = pci_read(a, REG_COMMAND, 2);
	pci_write(a, REG_COMMAND, 2, command & ~(u32)(COMMAND_IO | COMMAND_MEMORY));
	size_bars(f);
	pci_write(a, REG_COMMAND, 2, command);
}

/* Starts a reset. True when there is one. */
static bool reset(const struct pci_function *f)
{
	u16 exp = find(f, PCI_CAP_EXP), af = find(f, PCI_CAP_AF), pm = find(f, PCI_CAP_PM);

	if (exp && pci_read(f->address, (u16)(exp + EXP_CAPABILITIES), 4) & EXP_FLR) {
		change16(f, (u16)(exp + EXP_CONTROL), 0, EXP_START_FLR);
		delay_ms(FLR_MS);
	} else if (af && pci_read(f->address, (u16)(af + AF_CAPABILITIES), 1) & AF_FLR) {
		pci_write(f->address, (u16)(af + AF_CONTROL), 1, AF_START_FLR);
		delay_ms(FLR_MS);
	} else if (pm && !(pci_read(f->address, (u16)(pm + PM_CONTROL), 2) & PM_NO_SOFT_RESET)) {
		change16(f, (u16)(pm + PM_CONTROL), PM_STATE, PM_STATE);
		delay_ms(D3_MS);
		change16(f, (u16)(pm + PM_CONTROL), PM_STATE, 0);
		delay_ms(D3_MS);
	} else {
		return false;
	}
	return true;
}

int pci_take_back(const struct pci_function *f)
{
	static const u8 exp_kept[] = { EXP_CONTROL, EXP_LINK_CONTROL, EXP_CONTROL2 };
	u16 exp = find(f, PCI_CAP_EXP), kept[ARRAY_SIZE(exp_kept)] = { 0 };
	u32 header[16];
	int err = pci_quiet(f);

	for (unsigned i = 0; i < ARRAY_SIZE(header); i++)
		header[i] = pci_read(f->address, (u16)(i * 4), 4);
	for (unsigned i = 0; exp && i < ARRAY_SIZE(exp_kept); i++)
		kept[i] = (u16)pci_read(f->address, exp + exp_kept[i], 2);
	/* A reset ends what did not end by itself. */
	if (!reset(f))
		return err;
	for (unsigned i = 0; exp && i < ARRAY_SIZE(exp_kept); i++)
		pci_write(f->address, exp + exp_kept[i], 2, kept[i]);
	for (u16 at = REG_CACHE_LINE; at <= REG_INTERRUPT; at += 4)
		pci_write(f->address, at, 4, header[at / 4]);
	pci_write(f->address, REG_COMMAND, 2, (header[1] & 0xffff & ~(u32)COMMAND_MASTER) | COMMAND_NO_INTX);
	return pci_quiet(f);
}

static bool overlap(const struct pci_function *a, unsigned i, const struct pci_function *b, unsigned k)
{
	u64 from = pci_bar_base(a, i), to = pci_bar_base(b, k);

	if (!from || !to || !a->bar_shift[i] || !b->bar_shift[k])
		return false;
	if ((i < PCI_ROM_BAR && a->bar[i] & PCI_BAR_IO) != (k < PCI_ROM_BAR && b->bar[k] & PCI_BAR_IO))
		return false;
	return from < to + BIT(b->bar_shift[k]) && to < from + BIT(a->bar_shift[i]);
}

static bool overlaps(const struct pci_function *f)
{
	const struct pci_function *g;

	for (unsigned n = 0; (g = pci_get(n)); n++)
		for (unsigned i = 0; i < PCI_BARS; i++)
			for (unsigned k = 0; k < PCI_BARS; k++)
				if ((g != f || i != k) && overlap(f, i, g, k))
					return true;
	return false;
}

const char *pci_unfit(const struct pci_function *f)
{
	const char *problem = NULL;

	if (is_bridge(f))
		return "a bridge, which stays the node's";
	if (f->address.segment)
		return "not in segment 0";
	if (f->class_code >> 8 == CLASS_IDE && (f->class_code & IDE_BOTH_NATIVE) != IDE_BOTH_NATIVE)
		return "IDE in legacy mode, whose ports and interrupts are fixed: set the controller to AHCI in the firmware";
	pci_capabilities(f, NULL, 0, &problem);
	if (problem)
		return problem;
	if (overlaps(f))
		return "one of its BARs overlaps another";
	return NULL;
}
