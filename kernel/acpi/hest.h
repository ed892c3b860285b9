/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: errors that firmware keeps in memory. HEST (ACPI 6.4, 18.3.2) says where the generic
 * sources, types 9 and 10, have theirs, and how a block is acknowledged; a block (18.3.2.7.1) has
 * sections by UEFI's CPER (UEFI 2.9, appendix N).
 */
#ifndef KERNEL_ACPI_HEST_H
#define KERNEL_ACPI_HEST_H

#include <margay/types.h>

#define HEST_MAX 64
struct hest_info {
	/* beyond HEST_MAX */
	unsigned count;
	unsigned dropped;

	struct hest_source {
		/* where the block's address stands, 8 bytes; in memory, as the next one */
		u64 pointer;
		/* the register that is written behind a block, 8 bytes; 0: none */
		u64 ack;
		u64 ack_kept;
		u64 ack_set;
		u32 size;        /* of the block, at most */
	} source[HEST_MAX];
};
/* What is wrong, or NULL; *out has what comes before it all the same. */
const char *hest_read(const void *table, size_t size, struct hest_info *out);

/*
 * The section of a block at *at (0: the first), as a line without its end, in which a name is as
 * firmware has it; *at moves behind it. False: there is none, or what is left is broken.
 */
struct hest_found {
	bool fatal; /* the machine cannot go on with it */
	bool lost;  /* a page of memory is, uncorrected */
	u64 page;   /* which */
};
bool hest_section(const void *block, size_t size, size_t *at, char *text, size_t max,
		  struct hest_found *found);

#endif
