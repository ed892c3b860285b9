/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Configuration spaces of a ConnectX-5, PF and VF, as dwords with their sources; what is not named
 * is zero, synthesised. Public, all of them mailing lists:
 *   [A] netdev, 2021-07-15, Message-ID
 *   BYAPR21MB12703228F3E7A8B8158EB054BF129@BYAPR21MB1270.namprd21.prod.outlook.com:
 *       a ConnectX-5's first 64 bytes (lspci -x), the offsets and order of its capabilities, BAR
 *       and ROM sizes, link.
 *   [B] linux-rdma, 2019-04-30, bab2ed8b-70dc-4a00-6c68-06a2df6ccb62@lca.pw: lspci -vvv of a
 *   ConnectX-4 Lx, of the same
 *       layout: what is in these capabilities.
 *   [C] netdev, 2021-01-26, 20210126085730.1165673-1-leon@kernel.org: a ConnectX-5 VF's MSI-X:
 *   offset and size. [D] lspci -vvv of a ConnectX-7's VF (mlx5Gen, 15b3:101e), on a list in 2024:
 *   which capabilities such a VF has,
 *       where, and its MSI-X table.
 *   [E] pci.ids: 15b3:1018 is the ConnectX-5's VF.
 * "Synthesised" stands where neither says it.
 */
#ifndef TESTS_CONNECTX5_H
#define TESTS_CONNECTX5_H

#include "tests/unit/config_dword.h"

/* clang-format off */
static const struct config_dword connectx5_pf[] = {
	/* Header [A]. */
	{ 0x00, 0x101715b3 }, { 0x04, 0x00100546 }, { 0x08, 0x02000000 }, { 0x0c, 0x00000008 },
	{ 0x10, 0xf800000c },
	{ 0x2c, 0x008015b3 }, { 0x30, 0xfbe00000 }, { 0x34, 0x00000060 }, { 0x3c, 0x000001ff },
	/*
	 * Power management, last of the list: place [A]; version 3, 375 mA, PME from D3cold,
	 * No_Soft_Reset [B].
	 */
	{ 0x40, 0x81c30001 }, { 0x44, 0x00000008 },
	/* VPD: place [A]; address synthesised. */
	{ 0x48, 0x00009c03 },
	/*
	 * PCI Express, version 2, endpoint: place [A]; device registers [B]; 8 GT/s, x16 [A]; the
	 * link's other bits [B].
	 */
	{ 0x60, 0x00024810 }, { 0x64, 0x10008fe2 }, { 0x68, 0x0009291f }, { 0x6c, 0x00400103 },
	{ 0x70, 0x11030000 },
	{ 0x84, 0x0000001f }, { 0x8c, 0x0000000e }, { 0x90, 0x001e0003 },
	/* MSI-X: place, 64 entries, enabled [A]; table and pending bits [B]. */
	{ 0x9c, 0x803fc011 }, { 0xa0, 0x00002000 }, { 0xa4, 0x00003000 },
	/* Vendor-specific, 0x18 bytes: place and size [A]; contents synthesised. */
	{ 0xc0, 0x00184009 }, { 0xc4, 0x5a5a5a5a },
	/* AER: place [A]; severity, masks and capabilities [B]. */
	{ 0x100, 0x15010001 }, { 0x10c, 0x00062030 }, { 0x114, 0x00002000 }, { 0x118, 0x000000a4 },
	/* ARI: place [A]; of one port: synthesised. */
	{ 0x150, 0x1801000e },
	/*
	 * SR-IOV: place [A]; 8 VFs, ARI hierarchy, offset 2, stride 1, page sizes [B]; the VF's ID
	 * [E]; VF BAR synthesised.
	 */
	{ 0x180, 0x1c010010 }, { 0x188, 0x00000010 }, { 0x18c, 0x00080008 }, { 0x194, 0x00010002 },
	{ 0x198, 0x10180000 },
	{ 0x19c, 0x000007ff }, { 0x1a0, 0x00000001 }, { 0x1a4, 0xfa00000c },
	/* Secondary PCI Express, the last: place [A]. */
	{ 0x1c0, 0x00010019 },
};
/* clang-format on */

/* As another hypervisor shows it: on the bare machine a VF's IDs read as ones. */
/* clang-format off */
static const struct config_dword connectx5_vf[] = {
	/* IDs [E]; class [A]; command as after a reset, BAR's address synthesised, its kind [D]. */
	{ 0x00, 0x101815b3 }, { 0x04, 0x00100000 }, { 0x08, 0x02000000 }, { 0x10, 0xe080000c },
	{ 0x2c, 0x008015b3 },
	{ 0x34, 0x00000060 },
	/* PCI Express: place and device registers [D]; link synthesised as the PF's. */
	{ 0x60, 0x00029c10 }, { 0x64, 0x10008fe2 }, { 0x6c, 0x00400103 }, { 0x84, 0x0000001f },
	/* MSI-X: place and 12 entries [C], the last and table [D]. */
	{ 0x9c, 0x000b0011 }, { 0xa0, 0x00002000 }, { 0xa4, 0x00003000 },
	/* Vendor-specific, 12 bytes, and ARI: [D]. */
	{ 0x100, 0x1501000b }, { 0x104, 0x00c00000 }, { 0x150, 0x0001000e },
};
/* clang-format on */

#endif
