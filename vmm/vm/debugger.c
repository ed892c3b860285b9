/* SPDX-License-Identifier: GPL-2.0-only */
/* Who debugs guests. */
#include "vmm/vm/debugger.h"

const struct debugger *debugger;
