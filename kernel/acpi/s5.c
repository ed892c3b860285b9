/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: \_S5 by its bytes: NameOp, the name, PackageOp, PkgLength,
 * NumElements, then small integer constants (ACPI 20.2.2, 20.2.3, 20.2.4,
 * 20.2.5.4). A name that is not followed by exactly that is not taken, so text
 * or code that happens to hold the four letters does no harm.
 */
#include "kernel/acpi/s5.h"

enum aml_op {
	AML_ZERO = 0x00,
	AML_ONE = 0x01,
	AML_NAME = 0x08,
	AML_BYTE = 0x0a,
	AML_WORD = 0x0b,
	AML_DWORD = 0x0c,
	AML_PACKAGE = 0x12,
	AML_ROOT = 0x5c,
};

/* A bounded read position. */
struct cursor {
	const u8 *p;
	size_t left;
};

static bool take(struct cursor *c, u8 *byte)
{
	if (!c->left)
		return false;
	*byte = *c->p++;
	c->left--;
	return true;
}

/* PkgLength counts from its own first byte (20.2.4); narrows the cursor to the package. */
static bool enter_package(struct cursor *c)
{
	struct cursor start = *c;
	size_t length;
	u8 lead, byte;
	unsigned more;

	if (!take(c, &lead))
		return false;
	more = lead >> 6;
	if (more && (lead & 0x30))
		return false;
	length = more ? lead & 0xf : lead & 0x3f;
	for (unsigned i = 0; i < more; i++) {
		if (!take(c, &byte))
			return false;
		length |= (size_t)byte << (4 + 8 * i);
	}
	if (length > start.left || length < start.left - c->left)
		return false;
	c->left = length - (start.left - c->left);
	return true;
}

static bool take_integer(struct cursor *c, u64 *value)
{
	unsigned width;
	u8 op, byte;

	if (!take(c, &op))
		return false;
	*value = op;
	switch (op) {
	case AML_ZERO:
	case AML_ONE: return true;
	case AML_BYTE: width = 1; break;
	case AML_WORD: width = 2; break;
	case AML_DWORD: width = 4; break;
	default: return false;
	}
	*value = 0;
	for (unsigned i = 0; i < width; i++) {
		if (!take(c, &byte))
			return false;
		*value |= (u64)byte << (8 * i);
	}
	return true;
}

static bool read_s5(struct cursor c, struct s5_info *out)
{
	u64 a, b = 0;
	u8 op, elements;

	if (!take(&c, &op) || op != AML_PACKAGE || !enter_package(&c) || !take(&c, &elements) || elements < 1)
		return false;
	if (!take_integer(&c, &a))
		return false;
	/* Firmware that packs both types into the first element is as old as ACPI 1.0. */
	if (elements == 1)
		b = a >> 8;
	else if (!take_integer(&c, &b))
		return false;
	if ((a & 0xff) > 7 || (b & 0xff) > 7)
		return false;
	out->slp_typa = a & 7;
	out->slp_typb = b & 7;
	return true;
}

bool s5_find(const void *aml, size_t size, struct s5_info *out)
{
	static const u8 name[4] = { '_', 'S', '5', '_' };
	const u8 *p = aml;

	for (size_t at = 1; at + sizeof(name) <= size; at++) {
		bool named = p[at - 1] == AML_NAME || (at > 1 && p[at - 1] == AML_ROOT && p[at - 2] == AML_NAME);
		size_t after = at + sizeof(name);

		if (named && p[at] == name[0] && p[at + 1] == name[1] && p[at + 2] == name[2] && p[at + 3] == name[3] &&
		    read_s5((struct cursor){ p + after, size - after }, out))
			return true;
	}
	return false;
}
