/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: reads the setup header of a bzImage (Linux, Documentation/x86/boot.rst). */
#ifndef VMM_BZIMAGE_H
#define VMM_BZIMAGE_H

#include <margay/bootparams.h>
#include <margay/types.h>

struct bzimage {
	struct linux_setup_header hdr; /* fields past the file's header end are 0 */
	/* protected-mode part in the file */
	u64 offset;
	u64 size;
	u64 memory;      /* bytes that it needs from its load address on */
	u64 align;       /* of that address; a power of two */
};

/* Does it bear the magic of a Linux boot image? */
bool bzimage_is_linux(const void *data, u64 size);

/*
 * Checks that it is a whole, relocatable 64-bit bzImage of boot protocol 2.12
 * or later. NULL, or a short text: why not.
 */
const char *bzimage_parse(const void *data, u64 size, struct bzimage *out);

#endif
