/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's I/O APICs. Intel 82093AA data sheet, 3.2 (registers). */
#include <margay/errno.h>
#include <margay/spinlock.h>
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/ioapic.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/upcall.h"

#define IOREGSEL 0x00
#define IOWIN 0x10
#define IOAPIC_EOI 0x40 /* from VERSION_EOI on (Intel 100 series PCH data sheet, vol. 2) */
#define VERSION_EOI 0x20
#define IOAPICVER 1
#define IOREDTBL(n) (0x10 + 2 * (n))
#define RTE_MODE (7u << 8)
#define RTE_SMI (2u << 8)
#define RTE_NMI (4u << 8) /* delivery mode; the vector is ignored */
#define RTE_ACTIVE_LOW (1u << 13)
#define RTE_MASKED (1u << 16)
#define RTE_DEST_SHIFT 56

static struct ioapic {
	volatile u8 *regs;
	u32 gsi_base;
	u32 inputs;
} ioapics[IOAPIC_MAX];
static unsigned nr_ioapics;
static struct spinlock lock; /* guards the pairs of select and window register */

static u32 reg_read(const struct ioapic *io, u8 reg)
{
	mmio_write32(io->regs + IOREGSEL, reg);
	return mmio_read32(io->regs + IOWIN);
}

static void reg_write(const struct ioapic *io, u8 reg, u32 value)
{
	mmio_write32(io->regs + IOREGSEL, reg);
	mmio_write32(io->regs + IOWIN, value);
}

/* The controller that has an input, and the number of its entry. */
static const struct ioapic *find_ioapic(u32 gsi, u8 *entry)
{
	for (unsigned i = 0; i < nr_ioapics; i++) {
		*entry = (u8)IOREDTBL(gsi - ioapics[i].gsi_base);
		if (gsi >= ioapics[i].gsi_base && gsi - ioapics[i].gsi_base < ioapics[i].inputs)
			return &ioapics[i];
	}
	return NULL;
}

int ioapic_add(u64 pa, u32 gsi_base)
{
	struct ioapic *io = &ioapics[nr_ioapics];
	u32 version;

	if (nr_ioapics == IOAPIC_MAX) {
		upcall_log("I/O APIC at %#lx ignored: more than %u", pa, IOAPIC_MAX);
		return -ENOSPC;
	}
	io->regs = mmio_map(pa, IOAPIC_EOI + 4);
	if (!io->regs)
		return -EINVAL;
	version = reg_read(io, IOAPICVER);
	if (version == 0xffffffff) {
		upcall_log("I/O APIC at %#lx does not answer", pa);
		return -EINVAL;
	}
	io->gsi_base = gsi_base;
	/* The register number has 8 bits: (256 - 16) / 2 inputs at most. */
	io->inputs = MIN((version >> 16 & 0xff) + 1, 120u);
	/*
	 * What firmware has made an SMI is its own: legacy USB, power, heat. Nobody routes it, as
	 * it is open.
	 */
	for (u32 n = 0; n < io->inputs; n++)
		if ((reg_read(io, (u8)IOREDTBL(n)) & (RTE_MODE | RTE_MASKED)) != RTE_SMI)
			reg_write(io, (u8)IOREDTBL(n), RTE_MASKED);
	nr_ioapics++;
	return 0;
}

/* Nobody is interrupted by a half-written entry. */
int ioapic_route(u32 gsi, u32 apic_id, u32 low)
{
	u8 reg;
	const struct ioapic *io = find_ioapic(gsi, &reg);
	u64 entry = (u64)apic_id << RTE_DEST_SHIFT | low;
	u32 old;
	int err = 0;

	if (!io)
		return -ENODEV;
	if (apic_id >= 0xff && !IS_ENABLED(CONFIG_IOMMU)) /* that one is all CPUs */
		return -ERANGE;
	spin_lock(&lock);
	old = reg_read(io, reg);
	/*
	 * Two lines of the host's may be one input; that of a remapped one has its delivery mode
	 * elsewhere.
	 */
	if (!(old & RTE_MASKED) && (old & 0xffff & ~RTE_NMI) != (low & ~RTE_NMI))
		err = -EBUSY;
	if (IS_ENABLED(CONFIG_IOMMU) && old & RTE_MASKED)
		err = upcall_route(gsi, apic_id, &entry);
	if (!err && old & RTE_MASKED) {
		reg_write(io, reg, (u32)entry | RTE_MASKED);
		reg_write(io, reg + 1, (u32)(entry >> 32));
		reg_write(io, reg, (u32)entry);
	}
	spin_unlock(&lock);
	return err;
}

u32 ioapic_change(u32 gsi, u32 clear, u32 set)
{
	u8 reg;
	const struct ioapic *io = find_ioapic(gsi, &reg);
	u32 low;

	if (!io)
		return 0;
	spin_lock(&lock);
	low = reg_read(io, reg);
	if (clear | set)
		reg_write(io, reg, (low & ~clear) | set);
	spin_unlock(&lock);
	return low;
}

void ioapic_mask(u32 gsi, bool masked)
{
	ioapic_change(gsi, RTE_MASKED, masked ? RTE_MASKED : 0);
}

bool ioapic_write_eoi(u32 gsi, u8 vector)
{
	u8 reg;
	const struct ioapic *io = find_ioapic(gsi, &reg);
	bool able;

	if (!io)
		return false;
	spin_lock(&lock);
	able = (u8)reg_read(io, IOAPICVER) >= VERSION_EOI;
	spin_unlock(&lock);
	if (able)
		mmio_write32(io->regs + IOAPIC_EOI, vector);
	return able;
}

int ioapic_route_nmi(u32 gsi, u32 apic_id, bool active_low)
{
	return ioapic_route(gsi, apic_id, RTE_NMI | (active_low ? RTE_ACTIVE_LOW : 0));
}
