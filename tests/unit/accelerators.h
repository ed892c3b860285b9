/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Configuration spaces of accelerators, as dwords with their sources; what is not named is zero,
 * synthesised. All public:
 *   [A] topofmind.dev, notes on GPUs: hexdump of an H100 SXM5's (10de:2330) first 96 bytes, as a
 *   host has them. [B] github.com/NVIDIA/nvtrust, issue 51, 2024-04-04: lspci -vvv of an H100
 *   (10de:2331): sizes of BARs, device capabilities. [C] the same, issue 128: lspci -v of an H20
 *   (10de:2329) in a guest of KVM's: which capabilities such a card has, and where. [D] a wiki
 *   page, in Chinese, on "MSIx PBA outside of specified BAR": lspci -vvs of an L20 (AD102GL) with
 *   all of its
 *       capabilities, and Linux' log, by which firmware has given no address to two of its BARs.
 *   [E] github.com/ROCm/legacy-rocm-build, issue 4793: lspci -vvv of an MI50 32GB (1002:66a1), from
 *   ACS on; its class. [F] the same, issue 787: lspci -vv of a Vega 10 (1002:6868), a sibling:
 *   BARs, ROM, power management, device capabilities. [G] github.com/robertrosenbusch/gfx803_rocm,
 *   issue 6: lspci -vvv of another: where Resizable BAR and Secondary PCI Express are.
 *   [H] an article on passing B200s through, with `lspci -vvv | grep Region`: its BARs.
 *   [I] pci.ids: names and IDs.
 * "Synthesised" stands where none says it.
 */
#ifndef TESTS_ACCELERATORS_H
#define TESTS_ACCELERATORS_H

#include "tests/unit/fake_card.h"

/* clang-format off */
static const struct config_dword h100[] = {
	/* Header, power management, MSI with 16 maskable messages: [A], byte by byte. */
	{ 0x00, 0x233010de }, { 0x04, 0x00100547 }, { 0x08, 0x030200a1 }, { 0x10, 0x0200000c },
	{ 0x14, 0x000038c0 },
	{ 0x18, 0x0000000c }, { 0x1c, 0x000038a0 }, { 0x20, 0x0000000c }, { 0x24, 0x000038c0 },
	{ 0x2c, 0x16c110de },
	{ 0x34, 0x00000040 }, { 0x3c, 0x0000010a }, { 0x40, 0x00134801 }, { 0x44, 0x00000008 },
	{ 0x48, 0x01886005 },
	/*
	 * PCI Express: place [C]; version 2, endpoint, device capabilities with FLR and 75 W [B].
	 */
	{ 0x60, 0x00029c10 }, { 0x64, 0x112c8021 },
	/* Vendor-specific, 0x14 bytes; MSI-X with 9 entries: [C]; where the table is: as [D]. */
	{ 0x9c, 0x0014b009 }, { 0xb0, 0x00080011 }, { 0xb4, 0x00b90000 }, { 0xb8, 0x00ba0000 },
	/*
	 * The list begins with a place holder; LTR; Resizable BAR: places [C]; sizes from 64 MiB
	 * on, of BAR 2: synthesised.
	 */
	{ 0x100, 0x12c10000 }, { 0x12c, 0x13410018 }, { 0x134, 0x1b810015 }, { 0x138, 0x003ffc00 },
	{ 0x13c, 0x00001122 },
	/* AER, vendor-specific (0x14 bytes), power budgeting, serial number: [C]. */
	{ 0x1b8, 0x2a420001 }, { 0x2a4, 0x2b81000b }, { 0x2a8, 0x01410001 }, { 0x2b8, 0x2f010004 },
	{ 0x2f0, 0x00010003 },
	{ 0x2f4, 0xa42db048 }, { 0x2f8, 0x9f210f69 },
};
/* clang-format on */

/* clang-format off */
static const struct config_dword l20[] = {
	/* IDs [I]; class, status: [D]; kinds of BARs [D], addresses synthesised; pin A [D]. */
	{ 0x00, 0x26ba10de }, { 0x04, 0x00100002 }, { 0x08, 0x030200a1 }, { 0x10, 0xd0000000 },
	{ 0x14, 0x0000000c },
	{ 0x18, 0x00000020 }, { 0x1c, 0x0000000c }, { 0x20, 0x00000030 }, { 0x34, 0x00000060 },
	{ 0x3c, 0x000001ff },
	/*
	 * All of this: [D]. Power management; one without an ID; PCI Express, a legacy endpoint;
	 * vendor-specific; MSI-X.
	 */
	{ 0x60, 0x48036801 }, { 0x64, 0x00000008 }, { 0x68, 0x00007800 }, { 0x78, 0x0012b410 },
	{ 0x7c, 0x10008de1 },
	{ 0x80, 0x00002910 }, { 0xb4, 0x0014c809 }, { 0xc8, 0x00050011 }, { 0xcc, 0x00b90000 },
	{ 0xd0, 0x00ba0000 },
	/*
	 * Virtual channel, LTR, L1 substates, power budgeting, AER, vendor-specific (0x24 bytes),
	 * Secondary PCI Express.
	 */
	{ 0x100, 0x25010002 }, { 0x250, 0x25810018 }, { 0x258, 0x1281001e }, { 0x128, 0x42010004 },
	{ 0x420, 0x60020001 },
	{ 0x600, 0x9001000b }, { 0x604, 0x02410001 }, { 0x900, 0xbb010019 },
	/* Resizable BAR, of BARs 0, 1 and 3, right up to SR-IOV, which has 32 VFs and none on. */
	{ 0xbb0, 0xbcc10015 }, { 0xbb4, 0x00000100 }, { 0xbb8, 0x00000460 }, { 0xbbc, 0x001ffc00 },
	{ 0xbc0, 0x00001001 },
	{ 0xbc4, 0x00000200 }, { 0xbc8, 0x00000503 }, { 0xbcc, 0xc1410010 }, { 0xbd0, 0x00000004 },
	{ 0xbd4, 0x00000010 },
	{ 0xbd8, 0x00200020 }, { 0xbe0, 0x00010004 }, { 0xbe4, 0x26ba0000 }, { 0xbe8, 0x00000573 },
	{ 0xbec, 0x00000001 },
	{ 0xbf0, 0x5a000000 }, { 0xbf4, 0x8000000c }, { 0xbf8, 0x00000008 }, { 0xbfc, 0x0200000c },
	{ 0xc00, 0x00000008 },
	/* ARI, 16 GT/s, lane margining, data link feature. */
	{ 0xc14, 0xc1c1000e }, { 0xc1c, 0xd0010026 }, { 0xd00, 0xe0010027 }, { 0xe00, 0x00010025 },
};
/* clang-format on */

/* clang-format off */
static const struct config_dword mi50[] = {
	/* IDs, class [E]; kinds of BARs, ports and ROM [F], addresses synthesised. */
	{ 0x00, 0x66a11002 }, { 0x04, 0x00100007 }, { 0x08, 0x03800001 }, { 0x10, 0x0000000c },
	{ 0x14, 0x00000060 },
	{ 0x18, 0x0000000c }, { 0x1c, 0x00000068 }, { 0x20, 0x0000e001 }, { 0x24, 0xfb800000 },
	{ 0x30, 0xfb880000 },
	{ 0x34, 0x00000048 }, { 0x3c, 0x000001ff },
	/*
	 * Vendor-specific, 8 bytes; power management; PCI Express, a legacy endpoint without FLR:
	 * [F]. MSI: synthesised.
	 */
	{ 0x48, 0x00085009 }, { 0x50, 0xf0036401 }, { 0x54, 0x00000008 }, { 0x64, 0x0012a010 },
	{ 0x68, 0x00008fa1 },
	{ 0xa0, 0x00800005 },
	/*
	 * Vendor-specific: synthesised. Resizable BAR, of BARs 0 and 2; Secondary PCI Express:
	 * places [G].
	 */
	{ 0x100, 0x2001000b }, { 0x104, 0x01010001 }, { 0x200, 0x27010015 }, { 0x204, 0x000ff000 },
	{ 0x208, 0x00000f40 },
	{ 0x20c, 0x00001fe0 }, { 0x210, 0x00000102 }, { 0x270, 0x2a010019 },
	/*
	 * ACS (place synthesised), ATS, PRI with 256 pages, PASID of 16 bits, LTR, data link
	 * feature, 16 GT/s, margining: [E].
	 */
	{ 0x2a0, 0x2b01000d }, { 0x2b0, 0x2c01000f }, { 0x2c0, 0x2d010013 }, { 0x2c8, 0x00000100 },
	{ 0x2d0, 0x3201001b },
	{ 0x2d4, 0x00001006 }, { 0x320, 0x40010018 }, { 0x400, 0x41010025 }, { 0x410, 0x44010026 },
	{ 0x440, 0x00010027 },
};
/* clang-format on */

static const struct config_dword b200[] = {
	/* IDs [I]; class as [A]; BARs [H]. PCI Express with FLR: synthesised. */
	{ 0x00, 0x290110de }, { 0x04, 0x00100002 }, { 0x08, 0x030200a1 }, { 0x10, 0x0000000c },
	{ 0x14, 0x00002280 }, { 0x18, 0x0000000c }, { 0x1c, 0x00002200 }, { 0x20, 0x4400000c },
	{ 0x24, 0x00002280 }, { 0x34, 0x00000040 }, { 0x40, 0x00020010 }, { 0x44, 0x10008021 },
};

#endif
