/* SPDX-License-Identifier: GPL-2.0-only */
/* Which Margay this is: what git says of the tree that it was built from, or "unknown". The Makefile asks. */
#ifndef KERNEL_VERSION_H
#define KERNEL_VERSION_H

extern const char margay_version[];

#endif
