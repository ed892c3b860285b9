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
#define IOAPICVER 1
#define IOREDTBL(n) (0x10 + 2 * (n))
#define RTE_NMI (4u << 8) /* delivery mode; the vector is ignored */
#define RTE_ACTIVE_LOW (1u << 13)
#define RTE_LEVEL (1u << 15)
#define RTE_MASKED (1u << 16)
#define RTE_DEST_SHIFT 24 /* in the upper half */

static struct ioapic {
	volatile u8 *regs;
	u32 gsi_base, inputs;
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

static const struct ioapic *find_ioapic(u32 gsi)
{
	for (unsigned i = 0; i < nr_ioapics; i++)
		if (gsi >= ioapics[i].gsi_base && gsi - ioapics[i].gsi_base < ioapics[i].inputs)
			return &ioapics[i];
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
	io->regs = mmio_map(pa, 0x20);
	if (!io->regs)
		return -EINVAL;
	version = reg_read(io, IOAPICVER);
	if (version == 0xffffffff) {
		upcall_log("I/O APIC at %#lx does not answer", pa);
		return -EINVAL;
	}
	io->gsi_base = gsi_base;
	io->inputs = (version >> 16 & 0xff) + 1;
	/* The register number has 8 bits: (256 - 16) / 2 inputs at most. */
	io->inputs = MIN(io->inputs, 120u);
	for (u32 n = 0; n < io->inputs; n++)
		reg_write(io, (u8)IOREDTBL(n), RTE_MASKED);
	nr_ioapics++;
	return 0;
}

/* Nobody is interrupted by a half-written entry. */
static int route(u32 gsi, u32 apic_id, u32 low)
{
	const struct ioapic *io = find_ioapic(gsi);
	u32 old;
	u8 reg;
	int err = 0;

	if (!io)
		return -ENODEV;
	if (apic_id > 0xff)
		return -ERANGE;
	reg = (u8)IOREDTBL(gsi - io->gsi_base);
	spin_lock(&lock);
	old = reg_read(io, reg);
	/* Two lines of the host's may be one input. */
	if (old & RTE_MASKED || (old & 0xffff) == low) {
		reg_write(io, reg, low | RTE_MASKED);
		reg_write(io, reg + 1, apic_id << RTE_DEST_SHIFT);
		reg_write(io, reg, low);
	} else {
		err = -EBUSY;
	}
	spin_unlock(&lock);
	return err;
}

int ioapic_route_nmi(u32 gsi, u32 apic_id, bool active_low)
{
	return route(gsi, apic_id, RTE_NMI | (active_low ? RTE_ACTIVE_LOW : 0));
}

int ioapic_route_level(u32 gsi, u32 apic_id, u8 vector, bool active_low)
{
	return route(gsi, apic_id, RTE_MASKED | RTE_LEVEL | vector | (active_low ? RTE_ACTIVE_LOW : 0));
}

void ioapic_mask(u32 gsi, bool masked)
{
	const struct ioapic *io = find_ioapic(gsi);
	u32 low;
	u8 reg;

	if (!io)
		return;
	reg = (u8)IOREDTBL(gsi - io->gsi_base);
	spin_lock(&lock);
	low = reg_read(io, reg) & ~RTE_MASKED;
	reg_write(io, reg, masked ? low | RTE_MASKED : low);
	spin_unlock(&lock);
}
