/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see aml.h. Bytes, integers and packages (ACPI 6.4, 20.2.3 and 20.2.4). */
#include "kernel/acpi/aml.h"

bool aml_take(struct aml_span *s, u8 *byte)
{
	if (!s->left)
		return false;
	*byte = *s->p++;
	s->left--;
	return true;
}

bool aml_skip(struct aml_span *s, size_t n)
{
	if (n > s->left)
		return false;
	s->p += n;
	s->left -= n;
	return true;
}

bool aml_take_bytes(struct aml_span *s, unsigned n, u64 *value)
{
	u8 byte;

	*value = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!aml_take(s, &byte))
			return false;
		*value |= (u64)byte << (8 * i);
	}
	return true;
}

bool aml_take_integer(struct aml_span *s, u64 *value)
{
	u8 op;

	if (!aml_take(s, &op))
		return false;
	switch (op) {
	case AML_ZERO:
	case AML_ONE: *value = op; return true;
	case AML_ONES: *value = ~0ull; return true;
	case AML_BYTE: return aml_take_bytes(s, 1, value);
	case AML_WORD: return aml_take_bytes(s, 2, value);
	case AML_DWORD: return aml_take_bytes(s, 4, value);
	case AML_QWORD: return aml_take_bytes(s, 8, value);
	default: return false;
	}
}

bool aml_take_package(struct aml_span *s, struct aml_span *inner)
{
	struct aml_span start = *s;
	size_t length, taken;
	u64 rest;
	u8 lead;

	if (!aml_take(s, &lead))
		return false;
	/* One byte holds 6 bits; with more of them the first holds 4 and two must be 0. */
	length = lead >> 6 ? lead & 0xf : lead & 0x3f;
	if ((lead >> 6 && lead & 0x30) || !aml_take_bytes(s, lead >> 6, &rest))
		return false;
	length |= (size_t)rest << 4;
	taken = start.left - s->left;
	/* It counts itself. */
	if (length < taken || length > start.left)
		return false;
	*inner = (struct aml_span){ s->p, length - taken };
	return aml_skip(s, inner->left);
}
