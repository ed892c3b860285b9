/* SPDX-License-Identifier: GPL-2.0-only */
/* The log as text: a line each, those at level error with "! " before them. */
#ifndef TESTS_UNIT_FAKE_LOG_H
#define TESTS_UNIT_FAKE_LOG_H

#include "kernel/log/printk.h"

static char log_text[4096];

static void log_add(const char *mark, const char *fmt, va_list ap)
{
	size_t n;

	strcat(log_text, mark);
	n = strlen(log_text);
	vsnprintf(log_text + n, sizeof(log_text) - n - 1, fmt, ap);
	strcat(log_text, "\n");
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_add("", fmt, ap);
	va_end(ap);
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_add("! ", fmt, ap);
	va_end(ap);
}

#endif
