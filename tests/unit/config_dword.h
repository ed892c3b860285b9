/* SPDX-License-Identifier: GPL-2.0-only */
/* A dword of a configuration space that is known from public dumps; what is not named is zero. */
#ifndef TESTS_CONFIG_DWORD_H
#define TESTS_CONFIG_DWORD_H

#include <margay/types.h>

struct config_dword {
	u16 offset;
	u32 value;
};

#endif
