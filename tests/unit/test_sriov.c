/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_sriov_cap.c kernel/pci/pci_info.c kernel/pci/pci_cap.c */
/*
 * SR-IOV capabilities: those of QEMU's igb and nvme, as recorded, and of devices that lie; a
 * ConnectX-5's: test_connectx.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/pci/pci_sriov_cap.h"

#define WORDS (PCI_SRIOV_SIZE / 4)

static u32 config[1024], writable[1024];
static struct sriov s;

static u32 read32(void *, u16 offset)
{
	assert_true(IS_ALIGNED(offset, 4) && offset < PCI_EXTENDED_END);
	return config[offset / 4];
}

static void write32(void *, u16 offset, u32 value)
{
	u32 w = writable[offset / 4];

	config[offset / 4] = (config[offset / 4] & ~w) | (value & w);
}

static const struct pcicap_reader reader = { read32, NULL, true };

/* The registers, and which bits of its BARs can be written. */
static const char *take(u16 at, const u32 words[WORDS], const u32 bars[6])
{
	u32 before[1024];
	const char *why;

	memset(config, 0, sizeof(config));
	memset(writable, 0, sizeof(writable));
	memcpy(&config[at / 4], words, WORDS * 4);
	memcpy(&writable[(at + PCI_SRIOV_BAR) / 4], bars, 6 * 4);
	memcpy(before, config, sizeof(before));
	why = sriov_read(&reader, write32, at, &s);
	assert_memory_equal(config, before, sizeof(before));
	return why;
}

/*
 * QEMU 10.0.2, -device igb, read through its qtest protocol on 2026-11-24, as are the sizes of the
 * BARs.
 */
static const u32 igb[WORDS] = {
	0x00010010, 0x00000000, 0x00000000, 0x00080008, 0x00000000, 0x00020080, 0x10ca0000,
	0x00000553, 0x00000001, 0x0000000c, 0x00000000, 0x00000000, 0x0000000c,
};
static const u32 igb_bars[6] = { 0xffffc000, 0xffffffff, 0, 0xffffc000, 0xffffffff };

/* The same of -device nvme with sriov_max_vfs=4. */
static const u32 nvme[WORDS] = {
	0x00010010, 0x00000000, 0x00000000, 0x00040004, 0x00000000,
	0x00010001, 0x00100000, 0x00000553, 0x00000001, 0x00000004,
};
static const u32 nvme_bars[6] = { 0xffffc000, 0xffffffff };

static void is_at(const struct pci_address *pf, unsigned n, u8 bus, u8 device, u8 function)
{
	struct pci_address a;

	assert_true(sriov_address(&s, pf, n, &a));
	assert_int_equal(a.segment, pf->segment);
	assert_int_equal(a.bus, bus);
	assert_int_equal(a.devfn, PCI_DEVFN(device, function));
}

static void test_igb(void **)
{
	const struct pci_address pf = { 0, 0, PCI_DEVFN(8, 0) }, high = { 0, 0, PCI_DEVFN(16, 0) };
	struct pci_bar bar[PCI_BARS];

	assert_null(take(0x160, igb, igb_bars));
	assert_int_equal(s.total, 8);
	assert_int_equal(s.device, 0x10ca);
	is_at(&pf, 0, 0, 24, 0);
	is_at(&pf, 1, 0, 24, 2);
	is_at(&pf, 7, 0, 25, 6);
	assert_null(sriov_unfit(&s, &pf, 8, 0));
	assert_string_equal(sriov_unfit(&s, &pf, 9, 255), "it has not so many virtual functions");
	/*
	 * From slot 16 on they are on the next bus, which the root has only where there is no
	 * bridge.
	 */
	is_at(&high, 0, 1, 0, 0);
	assert_non_null(sriov_unfit(&s, &high, 1, 0));
	assert_null(sriov_unfit(&s, &high, 1, 1));
	assert_true(s.bar[0].size == KIB(16) && s.bar[3].size == KIB(16) &&
		    pci_bar_is_64(&s.bar[3]));
	assert_true(!s.bar[0].base && !s.bar[1].size && !s.bar[4].size && !s.bar[5].size);
	/* Without an address of the first one's, none has one. */
	sriov_bars(&s, 5, bar);
	assert_true(!bar[0].base && bar[0].size == KIB(16) && !bar[PCI_ROM_BAR].size);
	s.bar[0].base = 0xfe000000;
	s.bar[3].base = 0x7000000000;
	sriov_bars(&s, 5, bar);
	assert_int_equal(bar[0].base, 0xfe000000 + 5 * KIB(16));
	assert_int_equal(bar[3].base, 0x7000000000 + 5 * KIB(16));
	assert_int_equal(bar[3].flags, 0xc);
}

static void test_nvme(void **)
{
	const struct pci_address pf = { 0, 0, PCI_DEVFN(9, 0) };

	assert_null(take(0x120, nvme, nvme_bars));
	assert_int_equal(s.total, 4);
	assert_int_equal(s.device, 0x0010);
	is_at(&pf, 0, 0, 9, 1);
	is_at(&pf, 3, 0, 9, 4);
	assert_null(sriov_unfit(&s, &pf, 4, 0));
	assert_true(s.bar[0].size == KIB(16) && !s.bar[2].size);
}

/* igb, but for one register. */
static const char *lie(unsigned offset, u32 value)
{
	u32 words[WORDS];

	memcpy(words, igb, sizeof(words));
	words[offset / 4] = value;
	return take(0x160, words, igb_bars);
}

static void test_lies(void **)
{
	const struct pci_address pf = { 0, 0, PCI_DEVFN(8, 0) },
				 last = { 0, 0xff, PCI_DEVFN(8, 0) };
	struct pci_address a;

	assert_null(lie(PCI_SRIOV_OFFSET, 0x00000080));
	assert_null(sriov_unfit(&s, &pf, 1, 255));
	assert_string_equal(sriov_unfit(&s, &pf, 2, 255),
			    "its virtual functions have all the same address");
	assert_null(lie(PCI_SRIOV_OFFSET, 0x00020000));
	assert_string_equal(sriov_unfit(&s, &pf, 1, 255),
			    "its first virtual function has its own address");
	assert_null(lie(PCI_SRIOV_OFFSET, 0xffffffff));
	assert_false(sriov_address(&s, &last, 0, &a));
	assert_non_null(sriov_unfit(&s, &last, 1, 255));
	assert_null(lie(PCI_SRIOV_OFFSET, 0x00020080));
	assert_true(sriov_address(&s, &last, 31, &a));
	assert_false(sriov_address(&s, &last, 32, &a));
	assert_null(lie(PCI_SRIOV_VFS, 0xffffffff));
	assert_int_equal(s.total, 65535);
	assert_non_null(sriov_unfit(&s, &pf, 65535, 255));
	assert_false(sriov_address(&s, &pf, 65534, &a));
	assert_string_equal(lie(PCI_SRIOV_VFS, 0), "it has no virtual functions");
	assert_string_equal(lie(PCI_SRIOV_VFS, 0x00080004),
			    "not all of its virtual functions are there at first");
	assert_string_equal(lie(PCI_SRIOV_PAGES, 0x552),
			    "its virtual functions cannot have pages of 4 KiB");
}

static void test_bars_that_lie(void **)
{
	const struct pci_address pf = { 0, 0, PCI_DEVFN(8, 0) };
	static const u32 small[6] = { 0xfffffc00 }, huge[6] = { 0, 0xff000000 }, none[6] = { 0 };

	assert_string_equal(take(0x160, igb, small),
			    "a BAR of its virtual functions is smaller than a page");
	config[0] = 0;
	assert_null(take(0x160, igb, none));
	assert_null(sriov_unfit(&s, &pf, 8, 0));
	assert_null(take(0x160, igb, huge));
	assert_int_equal(s.bar[0].size, BIT(56));
	assert_string_equal(sriov_unfit(&s, &pf, 1, 0),
			    "the BARs of its virtual functions end beyond the address space");
	/* Not by the size of one, but by that of all. */
	assert_null(take(0x160, igb, igb_bars));
	s.bar[0].base = 0xffffffffffff8000;
	assert_null(sriov_unfit(&s, &pf, 2, 0));
	assert_non_null(sriov_unfit(&s, &pf, 3, 0));
	assert_string_equal(lie(PCI_SRIOV_BAR, 1),
			    "its virtual functions have ports, which none may have");
	/* The last register is of 64 bits, and the next one is none. */
	assert_null(lie(PCI_SRIOV_BAR + 20, 4));
}

static void test_places_that_lie(void **)
{
	static const u16 at[] = { 0, 0x40, 0xfc, 0xfc4, 0xffc };

	for (unsigned i = 0; i < ARRAY_SIZE(at); i++)
		assert_string_equal(sriov_read(&reader, write32, at[i], &s),
				    "its SR-IOV capability ends beyond its configuration space");
	assert_null(take(0xfc0, igb, igb_bars));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_igb),
		cmocka_unit_test(test_nvme),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_bars_that_lie),
		cmocka_unit_test(test_places_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
