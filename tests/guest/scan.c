/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * NOT ON qemu: needs e1000e, and somebody outside: tests/system/test_rogue_scan.py
 * NOT ON bochs: no such device
 *
 * Has a network card, which sends to itself, read from and write to addresses anywhere, 64 bytes
 * each, at once. Somebody outside has left in RAM which ones, and finds there what was read. Each
 * key on the console is a step.
 */
#include "bus.h"
#include "e1000e.h"

/* RAM that nobody uses: the table, as test_rogue_scan.py knows it; the rings; what is written. */
#define TABLE 0x1800000ull
#define RECEIVE 0x1880000ull
#define SEND 0x1881000ull
#define SOURCE 0x1882000ull
#define PATTERN 0x60616261676f7221ull
#define RING 8u /* descriptors, the fewest that a ring has */

struct slot {
	u64 address;
	u64 arrived;
	u64 data[8];
};

struct table {
	/* so many slots, those to read from first */
	u64 reads;
	u64 writes;

	struct slot slot[];
};

static volatile u8 *regs;

static void write_reg(u32 reg, u32 value)
{
	*(volatile u32 *)(regs + reg) = value;
}

static void ring(u32 base_reg, u64 at)
{
	write_reg(base_reg, (u32)at);
	write_reg(base_reg + 4, (u32)(at >> 32));
	write_reg(base_reg + 8, RING * sizeof(struct e1000e_desc));
}

static void set_up(u32 bdf)
{
	regs = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	bus_init(bdf);
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 6);
	ring(E1000E_RDBAL, bus_address(RECEIVE));
	ring(E1000E_TDBAL, bus_address(SEND));
	write_reg(E1000E_RCTL,
		  E1000E_RCTL_ON | E1000E_RCTL_ALL | E1000E_RCTL_LOOP | E1000E_RCTL_NO_CRC);
	write_reg(E1000E_TCTL, E1000E_TCTL_ON);
}

/* By the device's addresses: whether it says that it has stored something. */
static bool copy(u64 from, u64 to)
{
	volatile struct e1000e_desc *receive = (void *)RECEIVE, *send = (void *)SEND;

	*receive = (struct e1000e_desc){ to, 0 };
	*send = (struct e1000e_desc){ from, E1000E_SEND | sizeof(((struct slot *)0)->data) };
	write_reg(E1000E_RDH, 0);
	write_reg(E1000E_RDT, 1);
	write_reg(E1000E_TDH, 0);
	write_reg(E1000E_TDT, 1);
	return receive->word & E1000E_RECEIVED;
}

static void next(const char *what)
{
	print("scan: %s", what);
	while (!(inb(0x3fd) & 1))
		;
	(void)inb(0x3f8);
}

void test_main(void)
{
	volatile struct table *table = (void *)TABLE;
	volatile u64 *source = (volatile u64 *)SOURCE;
	u32 bdf = pci_find(E1000E_IDS);

	if (!check(bdf, "no e1000e"))
		return;
	set_up(bdf);
	for (unsigned i = 0; i < 8; i++)
		source[i] = PATTERN;
	next("ready");
	for (u64 i = 0; i < table->reads; i++)
		table->slot[i].arrived =
			copy(table->slot[i].address, bus_address((u64)table->slot[i].data));
	next("read");
	for (u64 i = table->reads; i < table->reads + table->writes; i++)
		table->slot[i].arrived = copy(bus_address(SOURCE), table->slot[i].address);
	next("wrote");
	/* The device itself goes on. */
	source[8] = 0;
	check(copy(bus_address(SOURCE), bus_address(SOURCE + 64)) && source[8] == PATTERN,
	      "it does not write: %#lx", source[8]);
}
