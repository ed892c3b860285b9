/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/pci/pci_config.c vmm/pci/pci_config_path.c vmm/pci/pci_rules.c */
/*
 * A function's configuration space as its guest sees it: over a device of plain memory with a
 * network card's layout.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host_pci.h>
#include "vmm/pci/pci_config.h"

static u32 hw[1024];
static unsigned writes;
static struct pci_config c;

static u32 io_read(void *, u16 offset, unsigned size)
{
	u32 v = hw[offset / 4] >> (offset & 3) * 8;

	assert_true(offset < 4096 && IS_ALIGNED(offset, size));
	return size == 4 ? v : v & (u32)(BIT(size * 8) - 1);
}

static void io_write(void *, u16 offset, unsigned size, u32 value)
{
	u32 mask = (size == 4 ? ~0u : (u32)(BIT(size * 8) - 1)) << (offset & 3) * 8;

	assert_true(offset < 4096 && IS_ALIGNED(offset, size));
	hw[offset / 4] = (hw[offset / 4] & ~mask) | (value << (offset & 3) * 8 & mask);
	writes++;
}

static const struct pci_config_io io = { io_read, io_write, NULL };
/* 32-bit memory, I/O, 64-bit prefetchable of 8 GiB, ROM. */
static const struct pci_bar bars[PCI_BARS] = {
	{ 0xfebe0000, 0x20000, 0 },
	{ 0xc040, 0x20, 1 },
	{ 0x380000000000, GIB(8), 0xc },
	{ 0, 0, 0 },
	{ 0, 0, 0 },
	{ 0, 0, 0 },
	{ 0xfeb80000, 0x40000, 0 },
};
/*
 * PM, MSI (64-bit, masks, 4 messages), PCI Express, MSI-X; SR-IOV first of all, AER, ATS, an
 * unknown one.
 */
static const struct pci_cap caps[] = {
	{ 0x01, false, 0xc8 }, { 0x14, false, 0xb0 }, { 0x05, false, 0xd0 },
	{ 0x10, false, 0x60 }, { 0x11, false, 0xa0 }, { 0x10, true, 0x100 },
	{ 0x01, true, 0x140 }, { 0x0f, true, 0x200 }, { 0x77, true, 0x210 },
};

static int setup(void **)
{
	memset(hw, 0, sizeof(hw));
	writes = 0;
	hw[0] = 0x10d38086;
	hw[1] = 0x00100403;
	hw[2] = 0x02000000;
	hw[3] = 0x00800010;
	hw[0x34 / 4] = 0xc8;
	hw[0x3c / 4] = 0x0000010b;
	hw[0x50 / 4] = 0x12345678; /* a register of its vendor's, in no capability */
	hw[0xc8 / 4] = 0x0003b001;
	hw[0xb0 / 4] = 0x0000d014;
	hw[0xd0 / 4] = 0x01846005; /* 64-bit, masks, 4 capable */
	hw[0x60 / 4] = 0x0002a010;
	hw[0x64 / 4] = 0x10008001; /* FLR */
	hw[0x68 / 4] = 0x00092030;
	hw[0xa0 / 4] = 0x00040011;
	hw[0x100 / 4] = 0x14010010;
	hw[0x140 / 4] = 0x20020001;
	hw[0x200 / 4] = 0x2101000f;
	hw[0x210 / 4] = 0x00010077;
	hw[0x214 / 4] = 0xabcdef01;
	assert_int_equal(pci_config_init(&c, &io, bars, true, false, caps, ARRAY_SIZE(caps)), 0);
	assert_int_equal(writes, 0);
	return 0;
}

/* The list as a guest walks it: IDs in order. */
static void list(const u16 *expected)
{
	u16 at = (u16)pci_config_read(&c, 0x34, 1);

	for (; at; at = (u16)pci_config_read(&c, at + 1, 1))
		assert_int_equal(pci_config_read(&c, at, 1), *expected++);
	assert_int_equal(*expected, 0);
}

static void test_lists(void **)
{
	static const u16 standard[] = { 0x01, 0x05, 0x10, 0x11, 0 };
	u32 head;

	list(standard);
	/* SR-IOV leaves a place holder; ATS is skipped; what is unknown is seen and not written. */
	assert_int_equal(pci_config_read(&c, 0x100, 4), 0x14000000);
	head = pci_config_read(&c, 0x140, 4);
	assert_int_equal(head, 0x21020001);
	assert_int_equal(pci_config_read(&c, 0x210, 4), 0x00010077);
	assert_int_equal(pci_config_read(&c, 0x108, 4), 0);
	pci_config_write(&c, 0x214, 4, 0);
	pci_config_write(&c, 0x108, 4, ~0u);
	pci_config_write(&c, 0x204, 4, ~0u);
	assert_int_equal(writes, 0);
	assert_int_equal(pci_config_read(&c, 0x214, 4), 0xabcdef01);
	/* The vendor's own registers are the device's, in the guest's own size. */
	pci_config_write(&c, 0x51, 1, 0xee);
	assert_int_equal(hw[0x50 / 4], 0x1234ee78);
}

static void test_header(void **)
{
	assert_int_equal(pci_config_read(&c, 0, 4), 0x10d38086);
	assert_int_equal(pci_config_read(&c, 2, 2), 0x10d3);
	assert_int_equal(pci_config_read(&c, 0x0b, 1), 0x02);
	/*
	 * The host has INTx off: the guest's register says on, and its writes do not reach the
	 * device's bit.
	 */
	assert_int_equal(pci_config_read(&c, 4, 2), 0x0003);
	assert_int_equal(pci_config_write(&c, 4, 2, 0x0406), PCI_CHANGED_DECODE);
	assert_int_equal(pci_config_read(&c, 4, 2), 0x0406);
	assert_int_equal(hw[1] & 0xffff, 0x0407);
	pci_config_write(&c, 4, 2, 0x0002);
	assert_int_equal(hw[1] & 0xffff, 0x0403);
	/* Writing the command does not clear errors; writing ones there clears these alone. */
	hw[1] |= 0xf9000000;
	pci_config_write(&c, 4, 2, 0x0006);
	/* plain memory: zeros were written, which clears nothing in a device */
	assert_int_equal(hw[1] >> 24, 0);
	/* No pin: line interrupts do not come. */
	assert_int_equal(pci_config_read(&c, 0x3d, 1), 0);
	pci_config_write(&c, 0x3c, 1, 0x55);
	assert_int_equal(pci_config_read(&c, 0x3c, 1), 0x55);
	assert_int_equal(hw[0x3c / 4] & 0xff, 0x0b);
	pci_config_write(&c, 0, 4, 0);
	assert_int_equal(hw[0], 0x10d38086);
}

/*
 * The device begins to decode as its guest says, and does not end: what the guest still has mapped
 * answers.
 */
static void test_decode(void **)
{
	hw[1] &= ~3u;
	for (u32 v = 0; v < 4; v++) {
		pci_config_write(&c, 4, 1, v);
		assert_int_equal(pci_config_read(&c, 4, 1), v);
		assert_int_equal(hw[1] & 3, v == 2 ? 3 : v);
	}
	for (unsigned size = 1; size <= 4; size *= 2) {
		assert_int_equal(pci_config_write(&c, 4, size, 0), PCI_CHANGED_DECODE);
		assert_int_equal(pci_config_read(&c, 4, 1), 0);
		assert_int_equal(hw[1] & 0xffff, 0x0403);
	}
	/* A write that is not of these bits. */
	hw[1] &= ~3u;
	pci_config_write(&c, 5, 1, 3);
	assert_int_equal(hw[1] & 3, 0);
}

/* Closed, Bus Master Enable is the guest's own bit; opened, the device gets what the guest has. */
static void test_master(void **)
{
	hw[1] |= 4;
	pci_config_gate_master(&c, true);
	assert_int_equal(hw[1] & 0xffff, 0x0403);
	assert_true(pci_config_master_waits(&c)); /* it was on, so it waits */
	pci_config_write(&c, 4, 2, 0x0002);
	assert_false(pci_config_master_waits(&c));
	for (unsigned size = 1; size <= 4; size *= 2) {
		pci_config_write(&c, 4, size, 0x0006);
		assert_int_equal(hw[1] & 0xffff, 0x0403);
		assert_int_equal(pci_config_read(&c, 4, 1), 0x06);
		assert_true(pci_config_master_waits(&c));
	}
	/* Said twice. */
	for (unsigned i = 0; i < 2; i++) {
		pci_config_gate_master(&c, false);
		assert_int_equal(hw[1] & 0xffff, 0x0407);
		assert_false(pci_config_master_waits(&c));
	}
	pci_config_write(&c, 4, 2, 0x0002);
	assert_int_equal(hw[1] & 0xffff, 0x0403);
	pci_config_write(&c, 4, 2, 0x0006);
	assert_int_equal(hw[1] & 0xffff, 0x0407);
	for (unsigned i = 0; i < 2; i++) {
		pci_config_gate_master(&c, true);
		assert_int_equal(hw[1] & 0xffff, 0x0403);
		assert_int_equal(pci_config_read(&c, 4, 2), 0x0006);
	}
	/* Its other bits stay as they were. */
	pci_config_gate_master(&c, false);
	pci_config_write(&c, 4, 2, 0x0406);
	pci_config_gate_master(&c, true);
	assert_int_equal(pci_config_read(&c, 4, 2), 0x0406);
}

static void test_bars(void **state)
{
	u64 at;

	for (unsigned i = 0; i < 6; i++)
		pci_config_write(&c, (u16)(0x10 + i * 4), 4, ~0u);
	pci_config_write(&c, 0x30, 4, ~1u);
	assert_int_equal(writes, 0);
	assert_int_equal(pci_config_read(&c, 0x10, 4), 0xfffe0000);
	assert_int_equal(pci_config_read(&c, 0x14, 4), 0xffffffe1);
	assert_int_equal(pci_config_read(&c, 0x18, 4), 0x0000000c);
	assert_int_equal(pci_config_read(&c, 0x1c, 4), 0xfffffffe);
	assert_int_equal(pci_config_read(&c, 0x20, 4), 0);
	assert_int_equal(pci_config_read(&c, 0x24, 4), 0);
	assert_int_equal(pci_config_read(&c, 0x30, 4), 0xfffc0000);
	setup(state);
	assert_true(pci_config_bar(&c, 0, &at));
	assert_int_equal(at, 0xfebe0000);
	assert_true(pci_config_bar(&c, 2, &at));
	assert_int_equal(at, 0x380000000000);
	assert_false(pci_config_bar(&c, 3, &at));
	assert_false(pci_config_bar(&c, 6, &at)); /* the ROM is not enabled */
	assert_int_equal(pci_config_write(&c, 0x30, 4, 0xfeb80001), PCI_CHANGED_DECODE);
	assert_true(pci_config_bar(&c, 6, &at));
	assert_int_equal(at, 0xfeb80000);
	/*
	 * Enabled in the device where the host has it, wherever the guest has put it; off only when
	 * it is mapped no more.
	 */
	pci_config_write(&c, 0x30, 4, 0xfe000001);
	pci_config_unmapped(&c);
	assert_int_equal(hw[0x30 / 4], 0xfeb80001);
	pci_config_write(&c, 0x30, 1, 0);
	assert_false(pci_config_bar(&c, 6, &at));
	assert_int_equal(hw[0x30 / 4], 0xfeb80001);
	pci_config_unmapped(&c);
	assert_int_equal(hw[0x30 / 4], 0xfeb80000);
	assert_int_equal(pci_config_write(&c, 0x1c, 4, 0x10), PCI_CHANGED_DECODE);
	assert_true(pci_config_bar(&c, 2, &at));
	assert_int_equal(at, 0x1000000000);
	pci_config_write(&c, 4, 2, 0x0001);
	assert_false(pci_config_bar(&c, 0, &at));
	assert_true(pci_config_bar(&c, 1, &at));
	assert_int_equal(at, 0xc040);
}

static void test_mediated(void **)
{
	/* D3 is the guest's own opinion. */
	pci_config_write(&c, 0xcc, 2, 0x0103);
	assert_int_equal(pci_config_read(&c, 0xcc, 2), 0x0103);
	assert_int_equal(hw[0xcc / 4], 0);
	/*
	 * FLR is asked for, and not done here; the payload size stays; what remains is the
	 * device's.
	 */
	assert_int_equal(pci_config_read(&c, 0x64, 4), 0x10008001);
	assert_int_equal(pci_config_write(&c, 0x68, 2, 0xffff), PCI_CHANGED_RESET);
	assert_int_equal(hw[0x68 / 4] & 0xffff, 0x7130);
	assert_int_equal(pci_config_read(&c, 0x68, 2) & 0x88ef, 0x08ef);
	/* Its own messages, which the device never sees. */
	assert_int_equal(pci_config_read(&c, 0xd0, 4), 0x01846005);
	writes = 0;
	assert_int_equal(pci_config_write(&c, 0xd4, 4, 0xfee01004), PCI_CHANGED_MSI);
	assert_int_equal(pci_config_write(&c, 0xdc, 2, 0x4041), PCI_CHANGED_MSI);
	assert_int_equal(pci_config_write(&c, 0xd2, 2, 0x01f5), PCI_CHANGED_MSI);
	assert_int_equal(writes, 0);
	assert_int_equal(pci_config_read(&c, 0xd2, 2), 0x01f5);
	assert_int_equal(pci_config_read(&c, 0xd4, 4), 0xfee01004);
	pci_config_write(&c, 0xe0, 4, 5); /* but its masks are the device's */
	assert_int_equal(hw[0xe0 / 4], 5);
	/* 32-bit writes to the 16-bit control. */
	assert_int_equal(pci_config_write(&c, 0xa0, 4, 0xc0000000), PCI_CHANGED_MSIX);
	assert_int_equal(pci_config_read(&c, 0xa0, 4), 0xc0040011);
	assert_int_equal(hw[0xa0 / 4], 0x00040011);
}

/*
 * What would tell the platform of errors, of which firmware may make an NMI: the guest reads what
 * it wrote, the device has none.
 */
static void test_errors(void **)
{
	static const u16 masks[] = { 0x148, 0x14c, 0x154 };

	pci_config_write(&c, 4, 2, 0x0547);
	assert_int_equal(pci_config_read(&c, 4, 2) & 0x140, 0x140);
	assert_int_equal(hw[1] & 0x140, 0);
	pci_config_write(&c, 0x68, 2, 0x000f);
	assert_int_equal(pci_config_read(&c, 0x68, 2) & 0xf, 0xf);
	assert_int_equal(hw[0x68 / 4] & 0xf, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(masks); i++) {
		pci_config_write(&c, masks[i], 4, 0x12345678);
		assert_int_equal(pci_config_read(&c, masks[i], 4), 0x12345678);
		assert_int_equal(hw[masks[i] / 4], 0);
	}
	hw[0x158 / 4] = 0xbf;
	pci_config_write(&c, 0x158, 4, ~0u);
	assert_int_equal(pci_config_read(&c, 0x158, 4), 0x5ff & (0xbf | 0x540));
	assert_int_equal(hw[0x158 / 4], 0xbf);
	/* What is noted is cleared by ones; its header is read. */
	hw[0x144 / 4] = 0x00140000;
	pci_config_write(&c, 0x144, 4, 0x00100000);
	/* plain memory: these ones were written, and no other */
	assert_int_equal(hw[0x144 / 4], 0x00100000);
	pci_config_write(&c, 0x150, 4, 1);
	assert_int_equal(hw[0x150 / 4], 1);
	hw[0x15c / 4] = 0x1234;
	pci_config_write(&c, 0x15c, 4, 0);
	assert_int_equal(pci_config_read(&c, 0x15c, 4), 0x1234);
}

/* What asks for a reset, and what does not. */
static void test_reset(void **)
{
	static const struct pci_cap af[] = { { 0x13, false, 0x80 }, { 0x01, false, 0xc8 } };

	assert_int_equal(pci_config_write(&c, 0x68, 2, 0x8000), PCI_CHANGED_RESET);
	assert_int_equal(pci_config_write(&c, 0x69, 1, 0x80), PCI_CHANGED_RESET);
	assert_int_equal(pci_config_write(&c, 0x68, 1, 0x80), 0);
	assert_int_equal(pci_config_write(&c, 0x68, 2, 0x7fff), 0);
	assert_int_equal(pci_config_write(&c, 0x6a, 2, 0x8000), 0);
	assert_int_equal(hw[0x68 / 4] & 0x8000, 0);
	hw[0x64 / 4] = 0x00008001; /* none there */
	assert_int_equal(pci_config_write(&c, 0x68, 2, 0x8000), 0);
	/* To D3hot and back, also by way of D1; not where that keeps the state. */
	assert_int_equal(pci_config_write(&c, 0xcc, 2, 3), 0);
	assert_int_equal(pci_config_write(&c, 0xcc, 2, 3), 0);
	assert_int_equal(pci_config_write(&c, 0xcc, 2, 0), PCI_CHANGED_RESET);
	assert_int_equal(pci_config_write(&c, 0xcc, 2, 0), 0);
	assert_int_equal(pci_config_write(&c, 0xcc, 2, 1), 0);
	assert_int_equal(pci_config_write(&c, 0xcc, 2, 0), 0);
	hw[0xcc / 4] = 8;
	pci_config_write(&c, 0xcc, 2, 3);
	assert_int_equal(pci_config_write(&c, 0xcc, 2, 0), 0);
	assert_int_equal(hw[0xcc / 4] & 3, 0);
	/* Advanced features. */
	hw[0x80 / 4] = 0x03060013;
	assert_int_equal(pci_config_init(&c, &io, bars, true, false, af, 2), 0);
	assert_int_equal(pci_config_read(&c, 0x83, 1), 3);
	assert_int_equal(pci_config_write(&c, 0x84, 1, 1), PCI_CHANGED_RESET);
	assert_int_equal(hw[0x84 / 4], 0);
	hw[0x80 / 4] = 0x01060013;
	assert_int_equal(pci_config_write(&c, 0x84, 1, 1), 0);
	/* A device that is gone decodes and sends nothing. */
	pci_config_clear(&c);
	for (unsigned i = 0; i < PCI_BARS; i++)
		assert_false(pci_config_bar(&c, i, &(u64){ 0 }));
}

static void test_msi(void **)
{
	unsigned count;
	u64 address;
	u32 data;

	assert_false(pci_config_msi(&c, &address, &data, &count));
	pci_config_write(&c, 0xd4, 4, 0xfee01004);
	pci_config_write(&c, 0xd8, 4, 0x12);
	pci_config_write(&c, 0xdc, 4, 0xdead4041);
	pci_config_write(&c, 0xd2, 2, 0x0071);
	assert_true(pci_config_msi(&c, &address, &data, &count));
	assert_int_equal(address, 0x12fee01004);
	assert_int_equal(data, 0x4041);
	assert_int_equal(count, 4); /* 128 were asked for */
}

/*
 * PCI Express 1: what version 2 has from 0x28 on belongs to the next capability, here MSI's
 * address.
 */
static void test_short(void **)
{
	static const struct pci_cap list1[] = { { 0x10, false, 0x60 }, { 0x05, false, 0x84 } };
	static const struct pci_cap list2[] = { { 0x05, false, 0x84 }, { 0x10, false, 0x60 } };

	hw[0x60 / 4] = 0x00018410;
	hw[0x84 / 4] = 0x00800005;
	hw[0x88 / 4] = 0xfee00000;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(pci_config_init(&c, &io, bars, true, false, i ? list1 : list2, 2),
				 0);
		pci_config_write(&c, 0x88, 4, ~0u);
		assert_int_equal(hw[0x88 / 4], 0xfee00000);
		assert_int_equal(pci_config_read(&c, 0x88, 4), ~3u);
	}
	/* One that must have it, and has another there, is refused. */
	hw[0x60 / 4] = 0x00028410;
	assert_true(pci_config_init(&c, &io, bars, true, false, list1, 2) < 0);
}

/* Nobody knows how long an unknown one is: nothing is written up to the next. */
static void test_unknown(void **)
{
	static const struct pci_cap list1[] = { { 0x77, false, 0x60 }, { 0x09, false, 0x80 } };

	hw[0x80 / 4] = 0x00100009;
	hw[0x7c / 4] = 7;
	assert_int_equal(pci_config_init(&c, &io, bars, true, false, list1, 2), 0);
	pci_config_write(&c, 0x7c, 4, ~0u);
	assert_int_equal(writes, 0);
	assert_int_equal(pci_config_read(&c, 0x7c, 4), 7);
	pci_config_write(&c, 0x84, 4, 1); /* the vendor's */
	pci_config_write(&c, 0x90, 4, 2); /* and beside all of them */
	assert_int_equal(hw[0x84 / 4], 1);
	assert_int_equal(hw[0x90 / 4], 2);
}

static void test_limits(void **)
{
	struct pci_cap many[PCI_CONFIG_CAPS + 1];

	assert_int_equal(pci_config_read(&c, 0xffe, 4), 0xffffffff);
	assert_int_equal(pci_config_read(&c, 0x41, 2), 0xffffffff);
	assert_int_equal(pci_config_read(&c, 0x40, 8), 0xffffffff);
	assert_int_equal(pci_config_write(&c, 0x11, 4, 0), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct pci_cap){ 0x09, false, (u16)(0x40 + i * 4) };
	assert_true(pci_config_init(&c, &io, bars, true, false, many, ARRAY_SIZE(many)) < 0);
	assert_int_equal(pci_config_init(&c, &io, bars, true, false, many, PCI_CONFIG_CAPS), 0);
	/* All of them PCI Express, with many rules each: refused or not, never out of bounds. */
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i].id = 0x10;
	pci_config_init(&c, &io, bars, true, false, many, PCI_CONFIG_CAPS);
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct pci_cap){ 0x05, true, 0xffc };
	pci_config_init(&c, &io, bars, true, false, many, PCI_CONFIG_CAPS);
	assert_int_equal(pci_config_init(&c, &io, bars, false, false, NULL, 0), 0);
	assert_int_equal(pci_config_read(&c, 0x100, 4), 0xffffffff);
}

/* With the line interrupt: the pin is the device's, and its disable bit follows the guest's. */
static void test_line_interrupt(void **)
{
	hw[0x3c / 4] = 0x0000030b;
	assert_int_equal(pci_config_init(&c, &io, bars, true, true, caps, ARRAY_SIZE(caps)), 0);
	assert_int_equal(pci_config_read(&c, 0x3d, 1), 3);
	pci_config_write(&c, 0x3c, 2, 0x0a17);
	assert_int_equal(pci_config_read(&c, 0x3c, 2), 0x0317);
	assert_int_equal(hw[0x3c / 4], 0x0000030b);
	pci_config_write(&c, 4, 2, 0x0406);
	assert_int_equal(hw[1] & 0xffff, 0x0407);
	assert_int_equal(pci_config_read(&c, 4, 2), 0x0406);
	pci_config_write(&c, 4, 2, 0x0006);
	assert_int_equal(hw[1] & 0xffff, 0x0007);
	assert_int_equal(pci_config_read(&c, 4, 2), 0x0006);
}

/*
 * Relaxed ordering and AtomicOps reach the device where the way to memory takes them; else the
 * guest reads what the device has.
 */
static void test_path(void **state)
{
	for (unsigned takes = 0; takes < 4; takes++) {
		setup(state);
		pci_config_path(&c, takes);
		hw[0x68 / 4] = 0x00092020;
		pci_config_write(&c, 0x68, 2, 0x2130);
		assert_int_equal(hw[0x68 / 4] & 0xffff, takes & HOST_PCI_RELAXED ? 0x2130 : 0x2120);
		assert_int_equal(pci_config_read(&c, 0x68, 2) & 0x10,
				 takes & HOST_PCI_RELAXED ? 0x10 : 0);
		pci_config_write(&c, 0x88, 2, 0x49);
		assert_int_equal(hw[0x88 / 4], takes & HOST_PCI_ATOMICS ? 0x49 : 0x09);
		hw[0x88 / 4] = 0x40;
		pci_config_write(&c, 0x88, 2, 0);
		assert_int_equal(hw[0x88 / 4], takes & HOST_PCI_ATOMICS ? 0 : 0x40);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lists, setup),
		cmocka_unit_test_setup(test_path, setup),
		cmocka_unit_test_setup(test_header, setup),
		cmocka_unit_test_setup(test_decode, setup),
		cmocka_unit_test_setup(test_master, setup),
		cmocka_unit_test_setup(test_line_interrupt, setup),
		cmocka_unit_test_setup(test_bars, setup),
		cmocka_unit_test_setup(test_errors, setup),
		cmocka_unit_test_setup(test_mediated, setup),
		cmocka_unit_test_setup(test_msi, setup),
		cmocka_unit_test_setup(test_reset, setup),
		cmocka_unit_test_setup(test_short, setup),
		cmocka_unit_test_setup(test_unknown, setup),
		cmocka_unit_test_setup(test_limits, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
