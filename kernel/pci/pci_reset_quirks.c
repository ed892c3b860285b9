/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: resets that are not as the device says: announced and without effect, announced and
 * hanging, slower than the 100 ms that PCI Express Base 5.0, 6.6.2 allows, or there and not
 * announced. Nobody of us has seen these: each is from Linux' drivers/pci/quirks.c (6.1.192), where
 * its maker or owner reported it. A line here needs a report of the same kind.
 */
#include "kernel/pci/pci_function.h"

#define FLR_MS 100
#define ONE 0xffff /* mask of a single device ID */

static const struct {
	u16 vendor;
	u16 device;
	u16 mask;
	u32 class; /* class << 8 | subclass; 0: any */
	struct pci_reset_quirks is;
} known[] = {
	/*
	 * quirk_no_flr(): audio, Starship's and Matisse's USB, AHCI of AMD's chipsets; 82579LM and
	 * V; MT7922.
	 */
	{ 0x1022, 0x1487, ONE, 0, { .flr_hangs = true } },
	{ 0x1022, 0x148c, ONE, 0, { .flr_hangs = true } },
	{ 0x1022, 0x149c, ONE, 0, { .flr_hangs = true } },
	{ 0x1022, 0x7901, ONE, 0, { .flr_hangs = true } },
	{ 0x8086, 0x1502, ONE, 0, { .flr_hangs = true } },
	{ 0x8086, 0x1503, ONE, 0, { .flr_hangs = true } },
	{ 0x14c3, 0x0616, ONE, 0, { .flr_hangs = true } },
	/*
	 * nvme_disable_and_flr(): Samsung SM951 and 950 PRO, SM961 and PM961 read as ones then, if
	 * a driver had them running.
	 */
	{ 0x144d, 0xa802, ONE, 0, { .flr_hangs = true } },
	{ 0x144d, 0xa804, ONE, 0, { .flr_hangs = true } },
	/*
	 * delay_250ms_after_flr(): Intel P3700 and P4500, Solidigm P44 Pro, which are not ready for
	 * their driver before.
	 */
	{ 0x8086, 0x0953, ONE, 0, { .flr_ms = 350 } },
	{ 0x8086, 0x0a54, ONE, 0, { .flr_ms = 350 } },
	{ 0x025e, 0xf1ac, ONE, 0, { .flr_ms = 350 } },
	/*
	 * reset_intel_82599_sfp_virtfn(): its datasheet has the VFs' FLR, and the bit that says so
	 * in the PF alone (9.3.10.4).
	 */
	{ 0x8086, 0x10ed, ONE, 0, { .flr_unsaid = true } },
	/* reset_chelsio_generic_dev(): Chelsio T4. */
	{ 0x1425, 0x4000, 0xf000, 0, { .flr_as_master = true } },
	/*
	 * quirk_no_pm_reset(): ATI's and AMD's VGA keep picture and memory; Mellanox Spectrum 1 to
	 * 4 go on.
	 */
	{ 0x1002, 0, 0, PCI_CLASS_VGA, { .d3_keeps = true } },
	{ 0x15b3, 0xcb84, ONE, 0, { .d3_keeps = true } },
	{ 0x15b3, 0xcf6c, ONE, 0, { .d3_keeps = true } },
	{ 0x15b3, 0xcf70, ONE, 0, { .d3_keeps = true } },
	{ 0x15b3, 0xcf80, ONE, 0, { .d3_keeps = true } },
	/*
	 * quirk_nvidia_no_bus_reset(), quirk_no_bus_reset(): NVIDIA's 0x2340 to 0x237f; TI KeyStone
	 * C667X; ASM1164.
	 */
	{ 0x10de, 0x2340, 0xffc0, 0, { .bus_hangs = true } },
	{ 0x104c, 0xb005, ONE, 0, { .bus_hangs = true } },
	{ 0x1b21, 0x1164, ONE, 0, { .bus_hangs = true } },
};

struct pci_reset_quirks pci_reset_quirks(const struct pci_id *id)
{
	struct pci_reset_quirks is = { 0 };

	for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].vendor == id->vendor &&
		    known[i].device == (id->device & known[i].mask) &&
		    (!known[i].class || known[i].class == id->class_code >> 8))
			is = known[i].is;
	is.flr_ms = is.flr_ms ? is.flr_ms : FLR_MS;
	return is;
}

void pci_correct_resets(struct pci_info *out)
{
	const struct pci_reset_quirks is = pci_reset_quirks(&out->id);

	out->flr = (out->flr || is.flr_unsaid) && !is.flr_hangs;
	out->pm_reset = out->pm_reset && !is.d3_keeps;
	out->bus_reset = out->bus_reset && !is.bus_hangs;
}
