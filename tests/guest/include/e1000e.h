/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and descriptors of the network card 82574 (its data sheet, 7.1.4, 7.2.10, 10.2), which
 * QEMU has as e1000e.
 */
#ifndef TINY_E1000E_H
#define TINY_E1000E_H

#include "pci.h"

#define E1000E_IDS 0x10d38086u

enum e1000e_reg {
	E1000E_RCTL = 0x100,
	E1000E_TCTL = 0x400,
	E1000E_RDBAL = 0x2800,
	E1000E_RDBAH = 0x2804,
	E1000E_RDLEN = 0x2808,
	E1000E_RDH = 0x2810,
	E1000E_RDT = 0x2818,
	E1000E_TDBAL = 0x3800,
	E1000E_TDBAH = 0x3804,
	E1000E_TDLEN = 0x3808,
	E1000E_TDH = 0x3810,
	E1000E_TDT = 0x3818,
};

/* RCTL: on; all unicast, multicast and broadcast frames; what is sent comes back; no CRC stored. */
enum {
	E1000E_RCTL_ON = BIT(1),
	E1000E_RCTL_ALL = BIT(3) | BIT(4) | BIT(15),
	E1000E_RCTL_LOOP = BIT(6),
	E1000E_RCTL_NO_CRC = BIT(26),
};
#define E1000E_TCTL_ON BIT(1)

/*
 * Of both rings, in the oldest format: where the data is, and what to do with it or what became of
 * it.
 */
struct e1000e_desc {
	u64 address;
	u64 word;
};
/* Sending: the whole frame, its CRC added, and a word when it is gone. Receiving: it is there. */
#define E1000E_SEND (u64)(BIT(24) | BIT(25) | BIT(27))
#define E1000E_RECEIVED BIT(32)

#endif
