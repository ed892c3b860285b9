/* SPDX-License-Identifier: GPL-2.0-only */
/* Structures of a VM's SMBIOS tables, one behind the other: Margay's own, or the node's instead. */
#ifndef VMM_SMBIOS_PUT_H
#define VMM_SMBIOS_PUT_H

#include <margay/types.h>

#define SMBIOS_COPIED_MAX 256 /* a structure of the node's, strings included */
#define SMBIOS_STRUCTURE_MAX (SMBIOS_COPIED_MAX + 128) /* with what is added to it */

enum smbios_type {
	SMBIOS_BIOS,
	SMBIOS_SYSTEM,
	SMBIOS_BOARD,
	SMBIOS_CHASSIS,
	SMBIOS_PROCESSOR,
	SMBIOS_OEM = 11,
	SMBIOS_ARRAY = 16,
	SMBIOS_MEMORY,
	SMBIOS_MAPPED = 19,
	SMBIOS_BOOT = 32,
	SMBIOS_END = 127
};

struct smbios_out {
	const void *node; /* the node's, and only if the guest shall see them */
	u32 node_size;
	unsigned strings; /* of the last structure, */
	u8 *end; /* and where they end: the rest is zero */
};

/* The next structure, the node's where it has one. Its handle is number and type. */
u8 *smbios_put(struct smbios_out *t, u8 type, unsigned number);
/* One more string of the last structure; its number there, 0 for an empty one. */
u8 smbios_text(struct smbios_out *t, const char *s);
/* That of a name and a number. */
u8 smbios_label(struct smbios_out *t, const char *what, unsigned n);

#endif
