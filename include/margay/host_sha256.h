/* SPDX-License-Identifier: GPL-2.0-only */
/* SHA-256 by instructions of the CPU's own. Part of the door, <margay/host.h>. */
#ifndef MARGAY_HOST_SHA256_H
#define MARGAY_HOST_SHA256_H

#include <margay/types.h>

/*
 * FIPS 180-4, 6.2.2 of `count` blocks of 64 bytes, at least one; k: the constants of 4.2.2. Vector
 * registers, which hold the guest's values, have them afterwards, too.
 */
typedef void host_sha256_fn(u32 state[8], const u8 *blocks, u64 count, const u32 k[64]);

/* In images with MANAGEMENT_VM; asks CPUID. NULL: the CPU has no such instructions. */
host_sha256_fn *host_sha256(void);

#endif
