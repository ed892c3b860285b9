/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The image's C library functions under the names that they are defined by: in
 * the image the standard ones (include/margay/string.h), on the build host
 * lwk_ ones, so that unit tests link them beside the host's C library.
 */
#ifndef KERNEL_LIBC_NAME_H
#define KERNEL_LIBC_NAME_H

#include <margay/string.h>

#if __STDC_HOSTED__
#define LIBC_NAME(name) lwk_##name
#else
#define LIBC_NAME(name) name
#endif

void *LIBC_NAME(memcpy)(void *dst, const void *src, size_t n);
void *LIBC_NAME(memmove)(void *dst, const void *src, size_t n);
void *LIBC_NAME(memset)(void *dst, int c, size_t n);
int LIBC_NAME(memcmp)(const void *a, const void *b, size_t n);
size_t LIBC_NAME(strlen)(const char *s);
size_t LIBC_NAME(strnlen)(const char *s, size_t max);
int LIBC_NAME(strcmp)(const char *a, const char *b);
int LIBC_NAME(strncmp)(const char *a, const char *b, size_t n);
char *LIBC_NAME(strchr)(const char *s, int c);
int LIBC_NAME(snprintf)(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);
int LIBC_NAME(vsnprintf)(char *buf, size_t size, const char *fmt, va_list ap);

#endif
