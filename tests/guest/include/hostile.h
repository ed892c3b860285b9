/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What hostile virtio drivers have in common, on 32 MiB of RAM: memory that nobody may write to,
 * places where there is none, and registers and configuration space in every width.
 */
#ifndef TINY_HOSTILE_H
#define TINY_HOSTILE_H

#include "apic.h"
#include "random.h"
#include "virtio.h"

#define RAM_END 0x2000000ul
#define GUARD 0x1c00000ul /* so much from there on nobody writes to */
#define GUARD_SIZE 0x40000ul
#define DATA 0x1800000ul
#define BAR_SIZE 0x4000u

static u32 seed;

static inline u32 rnd(void)
{
	return random32(&seed);
}

static inline void set_guard(void)
{
	for (u64 i = 0; i < GUARD_SIZE / 8; i++)
		((volatile u64 *)GUARD)[i] = ~disk_word(i);
}

static inline void guard_holds(const char *after)
{
	u64 right = 0;

	for (u64 i = 0; i < GUARD_SIZE / 8; i++)
		right += ((volatile u64 *)GUARD)[i] == ~disk_word(i);
	check(right == GUARD_SIZE / 8, "%s: %lu words of memory have changed", after,
	      GUARD_SIZE / 8 - right);
}

/* Where there is no RAM of its own, from the byte on or a little later. */
static const u64 nowhere[] = {
	RAM_END,    RAM_END - 256, 0x40000000, 0xc0000000, LAPIC_BASE, 0xfec00000,
	0xfd000000, 0x100000000,   1ull << 40, 1ull << 52, 1ull << 63,
};

static inline u64 anywhere(void)
{
	switch (rnd() & 7) {
	case 0: return nowhere[rnd() % ARRAY_SIZE(nowhere)];
	case 1: return (u64)rnd() << 32 | rnd();
	default: return DATA + (rnd() & 0xffff);
	}
}

/*
 * Registers and configuration space of a function, by ports, by ECAM, in every width. Rings it lets
 * have only what is no code.
 */
static inline void random_access(struct virtio *v, u64 ecam)
{
	u32 offset = rnd() % BAR_SIZE, value = rnd() & 1 ? rnd() : 1u << (rnd() & 31);
	unsigned size = 1u << (rnd() & 3);

	switch (rnd() & 7) {
	case 0: /* not where the BAR is, nor decoding, here */
		offset = 0x40 + rnd() % 0xfc0;
		size = size == 8 ? 4 : size;
		mmio_write((volatile u8 *)(ecam + (v->bdf << 12) + (offset & ~(size - 1))), size,
			   value);
		break;
	case 1: pci_write(v->bdf, 0x40 + rnd() % 0xc0, value); break;
	case 2: (void)mmio_read(v->area[1] + (offset & ~3u), 4); break;
	case 3:
		offset = rnd() % 0x40;
		/* Falls through. */
	default:
		offset &= ~(size - 1);
		if (offset + size > QUEUE_DESC && offset < QUEUE_USED + 8)
			value = (u32)anywhere();
		mmio_write(v->area[1] + offset, size, value);
	}
}

#endif
