/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory and string functions (ISO C 7.24). The compiler also calls the mem* ones by itself. */
#include "lib/libc_name.h"

/*
 * String instructions, which the compiler cannot turn into a call of itself:
 * by quadwords, then the rest. With ERMS bytes would be as fast, but emulators
 * count and pay for each step, and a guest's memory is zeroed by this.
 */
void *LIBC_NAME(memcpy)(void *dst, const void *src, size_t n)
{
	size_t quads = n / 8, rest = n % 8;
	void *d = dst;

	asm volatile("rep movsq" : "+D"(d), "+S"(src), "+c"(quads) : : "memory");
	asm volatile("rep movsb" : "+D"(d), "+S"(src), "+c"(rest) : : "memory");
	return dst;
}

void *LIBC_NAME(memmove)(void *dst, const void *src, size_t n)
{
	if ((uintptr_t)dst - (uintptr_t)src >= n)
		return LIBC_NAME(memcpy)(dst, src, n);
	/* dst lies inside src: from the end downwards */
	for (size_t i = n; i; i--)
		((volatile char *)dst)[i - 1] = ((const char *)src)[i - 1];
	return dst;
}

void *LIBC_NAME(memset)(void *dst, int c, size_t n)
{
	size_t quads = n / 8, rest = n % 8;
	u64 pattern = (u8)c * 0x0101010101010101ull;
	void *d = dst;

	asm volatile("rep stosq" : "+D"(d), "+c"(quads) : "a"(pattern) : "memory");
	asm volatile("rep stosb" : "+D"(d), "+c"(rest) : "a"(pattern) : "memory");
	return dst;
}

int LIBC_NAME(memcmp)(const void *a, const void *b, size_t n)
{
	const u8 *x = a, *y = b;

	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

size_t LIBC_NAME(strnlen)(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

size_t LIBC_NAME(strlen)(const char *s)
{
	return LIBC_NAME(strnlen)(s, SIZE_MAX);
}

int LIBC_NAME(strncmp)(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		u8 x = (u8)a[i], y = (u8)b[i];

		if (x != y)
			return x < y ? -1 : 1;
		if (!x)
			break;
	}
	return 0;
}

int LIBC_NAME(strcmp)(const char *a, const char *b)
{
	return LIBC_NAME(strncmp)(a, b, SIZE_MAX);
}

char *LIBC_NAME(strchr)(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}
