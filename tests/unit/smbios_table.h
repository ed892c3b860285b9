/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a guest's SMBIOS tables by the standard alone (DSP0134 3.6, 5.2.2 and 6.1), for tests that
 * build them.
 */
#ifndef TESTS_SMBIOS_TABLE_H
#define TESTS_SMBIOS_TABLE_H

#include <stdlib.h>
#include <string.h>

#include <margay/types.h>

static inline u64 smbios_le(const u8 *p, unsigned bytes)
{
	u64 v = 0;

	memcpy(&v, p, bytes);
	return v;
}

/* What an entry point says; false: it is wrong. */
static inline bool smbios_entry_says(const u8 *e, u64 *address, u32 *length)
{
	u8 sum = 0;

	for (unsigned i = 0; i < 24; i++)
		sum += e[i];
	*length = (u32)smbios_le(e + 12, 4);
	*address = smbios_le(e + 16, 8);
	return !sum && !memcmp(e, "_SM3_", 5) && e[6] == 24 && e[7] == 3 && e[10] == 1;
}

/* The end of a structure's strings, behind their last zero; NULL: it does not end before `stop`. */
static inline const u8 *smbios_after(const u8 *p, const u8 *stop)
{
	const u8 *s = p + p[1];

	if (stop - p < 4 || p[1] < 4 || stop - s < 2)
		return NULL;
	if (!*s)
		return s[1] ? NULL : s + 2;
	while (s < stop && *s) {
		s = memchr(s, 0, (size_t)(stop - s));
		if (!s)
			return NULL;
		s++;
	}
	return s < stop ? s + 1 : NULL;
}

/* Its n-th string, from 1 on; "": number 0; NULL: there are fewer. */
static inline const char *smbios_text(const u8 *p, unsigned n)
{
	const char *s = (const char *)p + p[1];

	if (!n)
		return "";
	for (; --n && *s; s += strlen(s) + 1)
		;
	return *s ? s : NULL;
}

#endif
