/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: function level resets that are announced and hang, or after which the device needs more than the 100 ms that PCI
 * Express Base 5.0, 6.6.2 allows. Nobody of us has seen these: each is from Linux' drivers/pci/quirks.c, where its maker or owner
 * reported it. A line here needs a report of the same kind.
 */
#include "kernel/pci/pci_function.h"

#define FLR_MS 100
#define HANGS 0

static const struct {
	u16 vendor, device, ms;
} known[] = {
	/* quirk_no_flr(): audio, Starship's and Matisse's USB, AHCI of AMD's chipsets; 82579LM and V; MT7922. */
	{ 0x1022, 0x1487, HANGS }, { 0x1022, 0x148c, HANGS }, { 0x1022, 0x149c, HANGS }, { 0x1022, 0x7901, HANGS },
	{ 0x8086, 0x1502, HANGS }, { 0x8086, 0x1503, HANGS }, { 0x14c3, 0x0616, HANGS },
	/* nvme_disable_and_flr(): Samsung SM951 and 950 PRO, SM961 and PM961 read as ones then, if a driver had them running. */
	{ 0x144d, 0xa802, HANGS }, { 0x144d, 0xa804, HANGS },
	/* delay_250ms_after_flr(): Intel P3700 and P4500, Solidigm P44 Pro, which are not ready for their driver before. */
	{ 0x8086, 0x0953, 350 }, { 0x8086, 0x0a54, 350 }, { 0x025e, 0xf1ac, 350 },
};

unsigned pci_flr_ms(const struct pci_id *id)
{
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].vendor == id->vendor && known[i].device == id->device)
			return known[i].ms;
	return FLR_MS;
}
