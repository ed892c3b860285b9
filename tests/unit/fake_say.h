/* SPDX-License-Identifier: GPL-2.0-only */
/* What was said, as text: a line each. */
#ifndef TESTS_UNIT_FAKE_SAY_H
#define TESTS_UNIT_FAKE_SAY_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char said[8192];

static void say_line(const char *fmt, va_list ap)
{
	size_t n = strlen(said);

	n += (size_t)vsnprintf(said + n, sizeof(said) - n, fmt, ap);
	snprintf(said + n, sizeof(said) - n, "\n");
}

#endif
