/* SPDX-License-Identifier: GPL-2.0-only */
/* The AML encoder. Opcodes and encodings: ACPI 6.4, 20.2 and 20.3; descriptors: 6.4.2 and 6.4.3. */
#include "vmm/acpi/aml_build.h"

#include <margay/errno.h>
#include <margay/span.h>
#include <margay/string.h>

enum {
	AML_NAME = 0x08,
	AML_BYTE = 0x0a,
	AML_WORD = 0x0b,
	AML_DWORD = 0x0c,
	AML_STRING = 0x0d,
	AML_QWORD = 0x0e,
	AML_SCOPE = 0x10,
	AML_BUFFER = 0x11,
	AML_PACKAGE = 0x12,
	AML_METHOD = 0x14,
	AML_ARG0 = 0x68,
	AML_NOTIFY = 0x86,
	AML_RETURN = 0xa4,
	AML_EXT = 0x5b,
	AML_EXT_DEVICE = 0x82,
};

/* Resource descriptor tags. */
enum {
	RES_END_TAG = 0x79,
	RES_WORD_ADDRESS = 0x88,
	RES_INTERRUPT = 0x89,
	RES_QWORD_ADDRESS = 0x8a,
};

#define PKG_LENGTH_MAX 0x0fffffffu

static bool lead_char(char c)
{
	return (c >= 'A' && c <= 'Z') || c == '_';
}

static void put_name(struct aml *a, const char *name)
{
	size_t n;

	if (*name == '\\')
		aml_put(a, (u8)*name++, 1);
	n = strlen(name);
	if (n < 1 || n > 4 || !lead_char(name[0]))
		aml_fail(a, -EINVAL);
	for (unsigned i = 0; i < 4 && !a->error; i++) {
		char c = i < n ? name[i] : '_';

		if (!lead_char(c) && !(c >= '0' && c <= '9'))
			aml_fail(a, -EINVAL);
		aml_put(a, (u8)c, 1);
	}
}

static void put_integer(struct aml *a, u64 value)
{
	static const u8 prefix[] = {
		[1] = AML_BYTE, [2] = AML_WORD, [4] = AML_DWORD, [8] = AML_QWORD
	};
	unsigned bytes = 1;

	while (bytes < 8 && value >> (8 * bytes))
		bytes *= 2;
	/* 0 and 1 are their own opcodes. */
	if (value > 1)
		aml_put(a, prefix[bytes], 1);
	aml_put(a, value, bytes);
}

/* An object whose PkgLength stands at the current place; known at aml_end(). */
static void open(struct aml *a)
{
	if (a->depth == AML_MAX_DEPTH)
		aml_fail(a, -EINVAL);
	else if (!a->error)
		a->start[a->depth++] = a->len;
}

/* Of a PkgLength: 6 bits by one byte, 12, 20 or 28 by more. */
static unsigned length_bytes(size_t content)
{
	if (content + 1 < 0x40)
		return 1;
	if (content + 2 < 0x1000)
		return 2;
	return content + 3 < 0x100000 ? 3 : 4;
}

/* Moves the content up and writes PkgLength before it: it counts itself (20.2.4). */
void aml_end(struct aml *a)
{
	size_t start, content, length;
	unsigned bytes;

	if (a->error)
		return;
	if (!a->depth) {
		aml_fail(a, -EINVAL);
		return;
	}
	start = a->start[--a->depth];
	content = a->len - start;
	bytes = length_bytes(content);
	length = content + bytes;
	if (a->cap - a->len < bytes || length > PKG_LENGTH_MAX) {
		aml_fail(a, -ENOSPC);
		return;
	}
	memmove(a->buf + start + bytes, a->buf + start, content);
	a->len = start;
	if (bytes == 1) {
		aml_put(a, length, 1);
	} else {
		aml_put(a, (bytes - 1) << 6 | (length & 0xf), 1);
		aml_put(a, length >> 4, bytes - 1);
	}
	a->len += content;
}

void aml_scope(struct aml *a, const char *name)
{
	aml_put(a, AML_SCOPE, 1);
	open(a);
	put_name(a, name);
}

void aml_device(struct aml *a, const char *name)
{
	aml_put(a, AML_EXT, 1);
	aml_put(a, AML_EXT_DEVICE, 1);
	open(a);
	put_name(a, name);
}

static void begin_name(struct aml *a, const char *name)
{
	aml_put(a, AML_NAME, 1);
	put_name(a, name);
}

void aml_name_integer(struct aml *a, const char *name, u64 value)
{
	begin_name(a, name);
	put_integer(a, value);
}

void aml_name_text(struct aml *a, const char *name, const char *text)
{
	begin_name(a, name);
	aml_put(a, AML_STRING, 1);
	aml_bytes(a, text, strlen(text) + 1);
}

/* Three letters of five bits and four hexadecimal digits, big endian (19.6.37). */
void aml_name_eisaid(struct aml *a, const char *name, const char *id)
{
	u32 value = 0;

	begin_name(a, name);
	if (strlen(id) != 7) {
		aml_fail(a, -EINVAL);
		return;
	}
	for (unsigned i = 0; i < 7; i++) {
		int digit = i < 3 ? id[i] - '@' : hex_digit(id[i]);

		if (digit < 0 || (i < 3 && (digit < 1 || digit > 26)))
			aml_fail(a, -EINVAL);
		value = value << (i < 3 ? 5 : 4) | ((u32)digit & 0x1f);
	}
	aml_put(a, AML_DWORD, 1);
	aml_put(a, __builtin_bswap32(value), 4);
}

static void begin_package(struct aml *a, unsigned n)
{
	if (n > 255)
		aml_fail(a, -EINVAL);
	aml_put(a, AML_PACKAGE, 1);
	open(a);
	aml_put(a, n, 1);
}

void aml_packages_begin(struct aml *a, const char *name, unsigned n)
{
	begin_name(a, name);
	begin_package(a, n);
}

void aml_package(struct aml *a, const u64 *v, unsigned n)
{
	begin_package(a, n);
	for (unsigned i = 0; i < n && !a->error; i++)
		put_integer(a, v[i]);
	aml_end(a);
}

void aml_method(struct aml *a, const char *name, u8 nargs)
{
	aml_put(a, AML_METHOD, 1);
	open(a);
	put_name(a, name);
	aml_put(a, nargs, 1);
}

void aml_notify(struct aml *a, const char *name, u64 value)
{
	aml_put(a, AML_NOTIFY, 1);
	put_name(a, name);
	put_integer(a, value);
}

void aml_method_return_arg(struct aml *a, const char *name, u8 nargs, u8 arg)
{
	aml_method(a, name, nargs);
	aml_put(a, AML_RETURN, 1);
	aml_put(a, AML_ARG0 + arg, 1);
	aml_end(a);
}

/* The buffer's size is a fixed-width integer, so that it can be filled in at the end. */
void aml_crs_begin(struct aml *a, const char *name)
{
	begin_name(a, name);
	aml_put(a, AML_BUFFER, 1);
	open(a);
	aml_put(a, AML_WORD, 1);
	a->crs_size = a->len;
	aml_put(a, 0, 2);
}

void aml_crs_end(struct aml *a)
{
	size_t size;

	aml_put(a, RES_END_TAG, 1);
	aml_put(a, 0, 1); /* checksum 0: not used */
	if (a->error)
		return;
	size = a->len - a->crs_size - 2;
	if (size > 0xffff) {
		aml_fail(a, -ENOSPC);
		return;
	}
	a->buf[a->crs_size] = (u8)size;
	a->buf[a->crs_size + 1] = (u8)(size >> 8);
	aml_end(a);
}

/* 6.4.3.6: one interrupt. */
void aml_edge(struct aml *a, u32 gsi)
{
	aml_put(a, RES_INTERRUPT, 1);
	aml_put(a, 6, 2);
	aml_put(a, 0x03, 1); /* consumer, edge, active high, exclusive */
	aml_put(a, 1, 1);
	aml_put(a, gsi, 4);
}

/* 6.4.3.5.1 and 6.4.3.5.3. */
void aml_range(struct aml *a, enum aml_range kind, bool producer, u64 base, u64 size,
	       u64 translation)
{
	static const u8 specific[] = {
		[AML_RANGE_MEMORY] = 1, [AML_RANGE_IO] = 3, [AML_RANGE_BUS] = 0
	};
	unsigned bytes = kind == AML_RANGE_BUS ? 2 : 8;

	aml_put(a, kind == AML_RANGE_BUS ? RES_WORD_ADDRESS : RES_QWORD_ADDRESS, 1);
	aml_put(a, 3 + 5 * bytes, 2);
	aml_put(a, kind, 1);
	aml_put(a, 0x0c | !producer, 1); /* minimum and maximum are fixed, positive decode */
	aml_put(a, specific[kind], 1); /* read-write; all of ISA's ports */
	aml_put(a, 0, bytes); /* granularity */
	aml_put(a, base, bytes);
	aml_put(a, base + size - 1, bytes);
	aml_put(a, translation, bytes);
	aml_put(a, size, bytes);
}
