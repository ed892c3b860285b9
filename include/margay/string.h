/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few C library functions that the image has (lib/string.c,
 * lib/format.c). On the build host the C library's own are used.
 */
#ifndef MARGAY_STRING_H
#define MARGAY_STRING_H

#include <margay/types.h>

#if __STDC_HOSTED__
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#else
#include <stdarg.h>

void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);

/*
 * printf subset: flags "-", "0", "#"; width and precision (also '*'); length
 * l, ll, z; conversions d u x c s %. No floating point. Always
 * terminates the buffer when size > 0; returns the length that the whole text
 * would have had.
 */
int snprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);
int vsnprintf(char *buf, size_t size, const char *fmt, va_list ap);
#endif

#endif
