/* SPDX-License-Identifier: GPL-2.0-only */
/* See version.h. A file of its own, as another commit compiles it anew. */
#include "kernel/version.h"

const char margay_version[] = MARGAY_VERSION;
