/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_connectx.sources */
/*
 * An InfiniBand card as its public dumps show it, PF and VF: the capability walker, the judgement,
 * the table of rules and the MSI-X logic on its registers. The card itself nobody of us has.
 *
 * A ConnectX-5's configuration space, PF and VF, put together from public dumps: connectx5.h says
 * which bytes are whose.
 */
#include "kernel/pci/pci_sriov_cap.h"
#include "tests/unit/connectx5.h"
#include "tests/unit/fake_card.h"

#define CARD(words, ...) \
	{ \
		words, ARRAY_SIZE(words), \
		{ \
			__VA_ARGS__ \
		} \
	}
static const struct card pf_card = CARD(connectx5_pf, MIB(32), [PCI_ROM_BAR] = MIB(1));
static const struct card vf_card = CARD(connectx5_vf, MIB(1));

static int pf(void **)
{
	assign(&pf_card);
	return 0;
}

static int vf(void **)
{
	assign(&vf_card);
	return 0;
}

static void test_pf(void **)
{
	static const struct place all[] = {
		{ 0x10, 0x60 },  { 0x03, 0x48 },  { 0x11, 0x9c },  { 0x09, 0xc0 },  { 0x01, 0x40 },
		{ 0x01, 0x100 }, { 0x0e, 0x150 }, { 0x10, 0x180 }, { 0x19, 0x1c0 },
	};
	static const struct place standard[] = {
		{ 0x10, 0x60 }, { 0x03, 0x48 }, { 0x11, 0x9c },
		{ 0x09, 0xc0 }, { 0x01, 0x40 }, { 0 },
	};
	static const struct place extended[] = {
		{ 0x01, 0x100 }, { 0x0e, 0x150 }, { 0x19, 0x1c0 }, { 0 }
	};
	char why[PCI_FITNESS_TEXT];

	walked(all, ARRAY_SIZE(all));
	assert_int_equal(info.bar[0].base, 0xf8000000);
	assert_int_equal(info.bar[0].size, MIB(32));
	assert_true(pci_bar_is_64(&info.bar[0]) && info.bar[0].flags & PCI_BAR_PREFETCH);
	assert_int_equal(info.bar[PCI_ROM_BAR].size, MIB(1));
	assert_true(info.flr && !info.pm_reset && info.pcie && !info.ats);
	assert_int_equal(info.type, PCIE_ENDPOINT);
	assert_int_equal(info.msix, 64);
	assert_int_equal(info.msi, 0);
	assert_int_equal(info.pin, 1);
	assert_int_equal(info.vfs, 8);
	assert_int_equal(info.vfs_on, 0);
	assert_int_equal(pci_fitness(&info, why), PCI_FIT);
	seen(standard, extended);
}

static void test_vf(void **)
{
	static const struct place all[] = {
		{ 0x10, 0x60 }, { 0x11, 0x9c }, { 0x0b, 0x100 }, { 0x0e, 0x150 }
	};
	static const struct place standard[] = { { 0x10, 0x60 }, { 0x11, 0x9c }, { 0 } };
	static const struct place extended[] = { { 0x0b, 0x100 }, { 0x0e, 0x150 }, { 0 } };
	char why[PCI_FITNESS_TEXT];

	walked(all, ARRAY_SIZE(all));
	assert_int_equal(info.bar[0].size, MIB(1));
	assert_false(info.bar[PCI_ROM_BAR].base || info.bar[PCI_ROM_BAR].size);
	assert_true(info.flr && !info.pm);
	assert_int_equal(info.msix, 12);
	assert_int_equal(info.pin, 0);
	assert_int_equal(info.vfs, 0);
	assert_int_equal(pci_fitness(&info, why), PCI_FIT);
	seen(standard, extended);
}

/* With VFs that firmware has switched on nobody gets it. */
static void test_vfs_on(void **)
{
	host_pci_write(0, 0x188, 2, 0x19);
	host_pci_write(0, 0x190, 2, 4);
	pciinfo_read(&reader, &info);
	assert_int_equal(info.vfs_on, 4);
	assert_non_null(pci_unfit(&info));
}

/* Where its VFs are, and what: 8 of them, from function 2 on. */
static void test_vfs(void **)
{
	const struct pci_address at = { 0, 0x3b, PCI_DEVFN(0, 0) };
	struct pci_address a;
	struct sriov s;

	assert_null(sriov_read(&reader, NULL, 0x180, &s));
	assert_int_equal(s.total, 8);
	assert_int_equal(s.device, vf_card.words[0].value >> 16);
	assert_int_equal(s.bar[0].base, 0xfa000000);
	assert_true(pci_bar_is_64(&s.bar[0]));
	assert_true(sriov_address(&s, &at, 0, &a));
	assert_true(a.bus == 0x3b && a.devfn == PCI_DEVFN(0, 2));
	/* The card has its bus for itself (ARI): behind function 7 comes the next device number. */
	assert_true(sriov_address(&s, &at, 7, &a));
	assert_true(a.bus == 0x3b && a.devfn == PCI_DEVFN(1, 1));
	assert_null(sriov_unfit(&s, &at, 8, 0x3b));
}

/* Every register reads as the card's, but for what docs/passthrough.md names. */
static void test_pf_differences(void **)
{
	static const struct config_dword expected[] = {
		{ 0x04, 0x00100002 }, /* INTx disable, parity and SERR# are the host's */
		{ 0x3c, 0x000000ff }, /* its line is not passed through */
		{ 0x150, 0x1c01000e }, /* the next one is not SR-IOV */
	};
	unsigned n = 0;

	for (u16 at = 0; at < 4096; at += 4) {
		u32 value = pci_config_read(&dev.config, at, 4);

		if (at >= 0x180 && at < 0x1c0) {
			assert_int_equal(value, 0);
		} else if (value != before[at / 4]) {
			assert_true(n < ARRAY_SIZE(expected));
			assert_int_equal(at, expected[n].offset);
			assert_int_equal(value, expected[n++].value);
		}
	}
	assert_int_equal(n, ARRAY_SIZE(expected));
}

/*
 * Whatever a guest writes, these only ever change: and within them not what is the path's or the
 * host's.
 */
static void test_pf_writes(void **)
{
	/* clang-format off */
	static const struct span open[] = {
		{ 0x04, 0x08 }, { 0x44, 0x48 }, { 0x48, 0x50 }, { 0x68, 0x6c }, { 0x88, 0x8c },
		{ 0xc0, 0xd8 }, { 0x100, 0x150 },
		/* In no capability: the vendor's. */
		{ 0x50, 0x60 }, { 0xa8, 0xc0 }, { 0xd8, 0x100 },
	};
	/* clang-format on */

	changes_only(open, ARRAY_SIZE(open));
	/* Power state; payload size, FLR; LTR; the vendor-specific capability's head. */
	assert_int_equal(host_pci_read(0, 0x44, 2) & 3, 0);
	assert_int_equal(host_pci_read(0, 0x68, 2) & 0x80e0, before[0x68 / 4] & 0x80e0);
	assert_int_equal(host_pci_read(0, 0x88, 2) & 0x0400, 0);
	assert_int_equal(pci_config_read(&dev.config, 0xc0, 1), 9);
}

/*
 * Table and pending bits are trapped, a page each; initialisation segment and doorbells (UAR pages)
 * are not.
 */
static void test_pf_bar(void **)
{
	assert_int_equal(dev.nr_msix, 64);
	assert_int_equal(nr_mapped, 2);
	for (u64 at = 0; at < MIB(32); at += PAGE_SIZE)
		assert_int_equal(is_mapped(0xf8000000 + at), at != 0x2000 && at != 0x3000);
}

/*
 * Each of the 64 entries gets a vector of the host's, and only what the guest may say is ever in
 * the card's table.
 */
static void test_pf_msix(void **)
{
	const struct mmio_ops *ops = parts.ranges.mmio[0].ops;
	void *bar = parts.ranges.mmio[0].dev;

	assert_int_equal(parts.ranges.nr_mmio, 1);
	for (unsigned i = 0; i < 64; i++) {
		assert_int_equal(ops->read(bar, &vcpu, 0x2000 + i * 16 + 12, 4), 1);
		ops->write(bar, &vcpu, 0x2000 + i * 16, 8, i == 7 ? 0x100000 : 0xfee00000);
		ops->write(bar, &vcpu, 0x2000 + i * 16 + 8, 4, 0x30 + i);
		/* Of the fake's 64 vectors some are nobody's. */
		if (i < 32)
			ops->write(bar, &vcpu, 0x2000 + i * 16 + 12, 4, 0);
	}
	for (unsigned i = 0; i < 32; i++) {
		const u32 *e = &registers[i * 4];

		assert_int_equal(ops->read(bar, &vcpu, 0x2000 + i * 16 + 8, 4), 0x30 + i);
		if (i == 7) {
			assert_int_equal(e[3] & 1, 1);
			assert_int_equal(e[0], 0);
			continue;
		}
		assert_int_equal(e[0], 0xfee00000 | vcpu.cpu << 12);
		assert_int_equal(e[1], 0);
		assert_int_equal(e[3], 0);
		assert_non_null(fake_host.vector[e[2]].fn);
		assert_ptr_equal(fake_host.vector[e[2]].arg, &dev.msix[i]);
	}
	pci_config_write(&dev.config, 0x9e, 2, 0x8000);
	pci_msix_update(&dev);
	assert_int_equal(host_pci_read(0, 0x9e, 2), 0x803f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pf, pf, teardown),
		cmocka_unit_test_setup_teardown(test_vf, vf, teardown),
		cmocka_unit_test_setup_teardown(test_vfs_on, pf, teardown),
		cmocka_unit_test_setup_teardown(test_vfs, pf, teardown),
		cmocka_unit_test_setup_teardown(test_pf_differences, pf, teardown),
		cmocka_unit_test_setup_teardown(test_pf_writes, pf, teardown),
		cmocka_unit_test_setup_teardown(test_pf_bar, pf, teardown),
		cmocka_unit_test_setup_teardown(test_pf_msix, pf, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
