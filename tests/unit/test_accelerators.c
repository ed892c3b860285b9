/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_cap.c kernel/pci/pci_info.c vmm/pci/pci_fitness.c vmm/pci/pci_config.c vmm/pci/pci_rules.c vmm/pci/pci_bars.c vmm/pci/pci_msi.c tests/unit/fake_host.c tests/unit/fake_pci.c */
/*
 * Accelerators as public dumps show them: the capability walker, the judgement, BARs of up to 256
 * GiB, what of their configuration space a guest sees and changes. The cards themselves nobody of
 * us has.
 *
 * An H100, an L20, an MI50 and a B200 (accelerators.h), with BARs of up to 256 GiB, each mapped by
 * one call. A list that begins with a place holder whose next entry is hidden went no further for
 * the guest, until this test.
 */
#include "tests/unit/accelerators.h"

#define CARD(words, ...) \
	{ \
		words, ARRAY_SIZE(words), \
		{ \
			__VA_ARGS__ \
		} \
	}
static const struct card h100_card = CARD(h100, [0] = MIB(16), [2] = GIB(128), [4] = MIB(32));
static const struct card l20_card = CARD(l20, [0] = MIB(16), [1] = GIB(64), [3] = MIB(32));
static const struct card mi50_card =
	CARD(mi50, [0] = GIB(32), [2] = MIB(2), [5] = KIB(512), [PCI_ROM_BAR] = KIB(128));
static const struct card b200_card = CARD(b200, [0] = MIB(64), [2] = GIB(256), [4] = MIB(32));

static void bar(unsigned n, u64 base, u64 size)
{
	assert_int_equal(info.bar[n].base, base);
	assert_int_equal(info.bar[n].size, size);
	assert_true(pci_bar_is_memory(&info.bar[n]));
}

static void fits(enum pci_fitness expected, const char *text)
{
	char why[PCI_FITNESS_TEXT];

	assert_int_equal(pci_fitness(&info, why), expected);
	assert_string_equal(why, text);
}

/*
 * A BAR that is mapped as a whole, by one call, so that its leaves are as large as tables have
 * them.
 */
static void whole(u64 base, u64 size)
{
	for (unsigned i = 0; i < nr_mapped; i++)
		if (mapped[i].start == base && mapped[i].end == base + size)
			return;
	fail_msg("%lx is not mapped as a whole", base);
}

/* Of what is hidden a guest reads zeros. */
static void hidden(u16 start, u16 end)
{
	for (u16 at = start; at < end; at += 4)
		assert_int_equal(pci_config_read(&dev.config, at, 4), 0);
}

static void test_h100(void **)
{
	static const struct place all[] = {
		{ 0x01, 0x40 },  { 0x05, 0x48 },  { 0x10, 0x60 },  { 0x09, 0x9c },
		{ 0x11, 0xb0 },  { 0x18, 0x12c }, { 0x15, 0x134 }, { 0x01, 0x1b8 },
		{ 0x0b, 0x2a4 }, { 0x04, 0x2b8 }, { 0x03, 0x2f0 },
	};
	static const struct place standard[] = {
		{ 0x01, 0x40 }, { 0x05, 0x48 }, { 0x10, 0x60 },
		{ 0x09, 0x9c }, { 0x11, 0xb0 }, { 0 },
	};
	static const struct place extended[] = {
		{ 0x00, 0x100 }, { 0x18, 0x12c }, { 0x01, 0x1b8 }, { 0x0b, 0x2a4 },
		{ 0x04, 0x2b8 }, { 0x03, 0x2f0 }, { 0 },
	};
	/*
	 * Power's status; MSI's masks; FLR's and payload's register; the vendor's; AER; in no
	 * capability.
	 */
	static const struct span open[] = {
		{ 0x04, 0x08 }, { 0x44, 0x48 },  { 0x58, 0x5c },   { 0x68, 0x6c },   { 0x88, 0x8c },
		{ 0x9c, 0xb0 }, { 0xbc, 0x100 }, { 0x1b8, 0x200 }, { 0x2a4, 0x2b8 },
	};

	assign(&h100_card);
	walked(all, ARRAY_SIZE(all));
	bar(0, 0x38c002000000, MIB(16));
	bar(2, 0x38a000000000, GIB(128));
	bar(4, 0x38c000000000, MIB(32));
	assert_int_equal(info.bar[PCI_ROM_BAR].size, 0);
	assert_true(info.flr && !info.pm_reset && info.pcie && !info.ats);
	assert_int_equal(info.type, PCIE_ENDPOINT);
	assert_int_equal(info.msi, 16);
	assert_int_equal(info.msix, 9);
	fits(PCI_FIT, "");
	seen(standard, extended);
	hidden(0x134, 0x140);
	whole(0x38a000000000, GIB(128));
	whole(0x38c000000000, MIB(32));
	/*
	 * The pages of table and pending bits are trapped: nobody's DMA and no guest writes a
	 * message there.
	 */
	assert_int_equal(nr_mapped, 5);
	for (u64 at = 0; at < MIB(16); at += PAGE_SIZE)
		assert_int_equal(is_mapped(0x38c002000000 + at), at != 0xb90000 && at != 0xba0000);
	changes_only(open, ARRAY_SIZE(open));
	assert_int_equal(host_pci_read(0, 0x13c, 4), 0x1122);
	assert_int_equal(host_pci_read(0, 0x44, 2) & 3, 0);
}

/* What comes behind the place holder may itself be hidden: the list goes on. */
static void test_place_holder(void **)
{
	static const struct place extended[] = {
		{ 0x00, 0x100 }, { 0x01, 0x1b8 }, { 0x0b, 0x2a4 },
		{ 0x04, 0x2b8 }, { 0x03, 0x2f0 }, { 0 },
	};
	static struct config_dword words[ARRAY_SIZE(h100)];
	static const struct card other = CARD(words, [0] = MIB(16), [2] = GIB(128), [4] = MIB(32));

	memcpy(words, h100, sizeof(h100));
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].offset == 0x100)
			words[i].value = 0x13400000;
	assign(&other);
	assert_int_equal(pci_config_read(&dev.config, 0x134, 4), 0);
	for (u16 at = 0x100, n = 0; at; at = (u16)(pci_config_read(&dev.config, at, 4) >> 20), n++)
		assert_int_equal(at, extended[n].offset);
	assert_int_equal(pci_config_read(&dev.config, 0x100, 4) >> 20, 0x1b8);
}

static void test_l20(void **)
{
	static const struct place all[] = {
		{ 0x01, 0x60 },  { 0x00, 0x68 },  { 0x10, 0x78 },  { 0x09, 0xb4 },  { 0x11, 0xc8 },
		{ 0x02, 0x100 }, { 0x18, 0x250 }, { 0x1e, 0x258 }, { 0x04, 0x128 }, { 0x01, 0x420 },
		{ 0x0b, 0x600 }, { 0x19, 0x900 }, { 0x15, 0xbb0 }, { 0x10, 0xbcc }, { 0x0e, 0xc14 },
		{ 0x26, 0xc1c }, { 0x27, 0xd00 }, { 0x25, 0xe00 },
	};
	static const struct place standard[] = {
		{ 0x01, 0x60 }, { 0x00, 0x68 }, { 0x10, 0x78 },
		{ 0x09, 0xb4 }, { 0x11, 0xc8 }, { 0 },
	};
	static const struct place extended[] = {
		{ 0x02, 0x100 }, { 0x18, 0x250 }, { 0x1e, 0x258 }, { 0x04, 0x128 },
		{ 0x01, 0x420 }, { 0x0b, 0x600 }, { 0x19, 0x900 }, { 0x0e, 0xc14 },
		{ 0x26, 0xc1c }, { 0x27, 0xd00 }, { 0x25, 0xe00 }, { 0 },
	};
	static const struct span open[] = {
		{ 0x04, 0x08 }, { 0x40, 0x60 },  { 0x64, 0x68 },   { 0x80, 0x84 },   { 0xa0, 0xa4 },
		{ 0xb4, 0xc8 }, { 0xd4, 0x100 }, { 0x420, 0x468 }, { 0x600, 0x624 },
	};

	assign(&l20_card);
	walked(all, ARRAY_SIZE(all));
	bar(0, 0xd0000000, MIB(16));
	bar(1, 0x2000000000, GIB(64));
	bar(3, 0x3000000000, MIB(32));
	assert_int_equal(info.type, PCIE_LEGACY_ENDPOINT);
	assert_true(info.flr);
	assert_int_equal(info.vfs, 32);
	assert_int_equal(info.vfs_on, 0);
	assert_int_equal(info.msix, 6);
	fits(PCI_FIT, "");
	seen(standard, extended);
	hidden(0xbb0, 0xc0c);
	whole(0x2000000000, GIB(64));
	changes_only(open, ARRAY_SIZE(open));
}

/*
 * As the dump has it: firmware that allows no addresses above 4 GiB gives the BAR of 64 GiB none.
 */
static void test_l20_without_addresses(void **)
{
	static struct config_dword words[ARRAY_SIZE(l20)];
	static const struct card other = CARD(words, [0] = MIB(16), [1] = GIB(64), [3] = MIB(32));

	memcpy(words, l20, sizeof(l20));
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		words[i].value =
			words[i].offset == 0x10 || words[i].offset == 0x18 ? 0 : words[i].value;
	read_card(&other);
	fits(PCI_UNFIT,
	     "the firmware gave one of its BARs no address: allow addresses above 4G in the setup");
}

static void test_mi50(void **)
{
	static const struct place standard[] = {
		{ 0x09, 0x48 }, { 0x01, 0x50 }, { 0x10, 0x64 }, { 0x05, 0xa0 }, { 0 }
	};
	static const struct place extended[] = {
		{ 0x0b, 0x100 }, { 0x19, 0x270 }, { 0x0d, 0x2a0 }, { 0x18, 0x320 },
		{ 0x25, 0x400 }, { 0x26, 0x410 }, { 0x27, 0x440 }, { 0 },
	};

	assign(&mi50_card);
	assert_int_equal(nr_caps, 15);
	bar(0, 0x6000000000, GIB(32));
	bar(2, 0x6800000000, MIB(2));
	bar(5, 0xfb800000, KIB(512));
	assert_int_equal(info.bar[PCI_ROM_BAR].base, 0xfb880000);
	assert_int_equal(info.bar[PCI_ROM_BAR].size, KIB(128));
	assert_true(info.ats && info.pri && info.pasid && info.acs && !info.flr && !info.pm_reset);
	fits(PCI_FIT_BUT, "no reset of its own: the next VM finds it as the last one left it");
	seen(standard, extended);
	/* Resizable BAR; ATS, PRI, PASID. */
	hidden(0x200, 0x214);
	hidden(0x2b0, 0x2d8);
	whole(0x6000000000, GIB(32));
	/* The ROM comes and goes with its enable bit: not yet. */
	assert_false(is_mapped(0xfb880000));
	assert_int_equal(pci_config_read(&dev.config, 0x30, 4), 0xfb880000);
}

static void test_b200(void **)
{
	assign(&b200_card);
	bar(2, 0x220000000000, GIB(256));
	fits(PCI_FIT_BUT, "no interrupt");
	whole(0x220000000000, GIB(256));
	whole(0x228000000000, MIB(64));
	/* Second-level tables have four levels: one that lies higher is refused, and says so. */
	info.bar[2].base = BIT(48) - GIB(128);
	fits(PCI_UNFIT, "a BAR lies above 2^48: lower the base of MMIO in the setup");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_h100, teardown),
		cmocka_unit_test_teardown(test_place_holder, teardown),
		cmocka_unit_test_teardown(test_l20, teardown),
		cmocka_unit_test(test_l20_without_addresses),
		cmocka_unit_test_teardown(test_mi50, teardown),
		cmocka_unit_test_teardown(test_b200, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
