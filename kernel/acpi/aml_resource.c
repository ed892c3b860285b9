/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see aml_resource.h. */
#include "kernel/acpi/aml_resource.h"

#include <margay/errno.h>

enum { LARGE = 0x80, SMALL_TYPE = 0x78, SMALL_LENGTH = 7 };
/*
 * Of an address space descriptor's body; an extended one has its fields behind a revision and a
 * reserved byte.
 */
enum { RESOURCE_TYPE = 0, FIELDS = 3, FIELDS_EXTENDED = 5 };
enum { MINIMUM = 1, MAXIMUM = 2, TRANSLATION = 3, LENGTH = 4, ADDRESS_FIELDS = 5 };

int aml_next_resource(struct aml_span *bytes, struct aml_resource *out)
{
	const u8 *p = bytes->p;
	size_t head, length;

	if (!bytes->left)
		return -ENOENT;
	head = *p & LARGE ? 3 : 1;
	if (bytes->left < head)
		return -EINVAL;
	length = *p & LARGE ? (size_t)p[1] | (size_t)p[2] << 8 : *p & SMALL_LENGTH;
	if (length > bytes->left - head)
		return -EINVAL;
	out->tag = *p & LARGE ? *p : *p & SMALL_TYPE;
	out->body = (struct aml_span){ p + head, length };
	bytes->p += head + length;
	bytes->left -= head + length;
	return out->tag == AML_RESOURCE_END ? -ENOENT : 0;
}

static unsigned field_width(u8 tag)
{
	switch (tag) {
	case AML_RESOURCE_WORD: return 2;
	case AML_RESOURCE_DWORD: return 4;
	case AML_RESOURCE_QWORD:
	case AML_RESOURCE_EXTENDED: return 8;
	default: return 0;
	}
}

bool aml_window(const struct aml_resource *r, struct aml_window *out)
{
	unsigned width = field_width(r->tag),
		 at = r->tag == AML_RESOURCE_EXTENDED ? FIELDS_EXTENDED : FIELDS;
	const u8 *p = r->body.p;
	u64 field[ADDRESS_FIELDS] = { 0 };

	if (!width || r->body.left < at + ADDRESS_FIELDS * width ||
	    p[RESOURCE_TYPE] > AML_WINDOW_BUS)
		return false;
	for (unsigned i = 0; i < ADDRESS_FIELDS * width; i++)
		field[i / width] |= (u64)p[at + i] << i % width * 8;
	*out = (struct aml_window){
		(enum aml_window_type)p[RESOURCE_TYPE],
		field[MINIMUM] + field[TRANSLATION],
		field[MAXIMUM] + field[TRANSLATION],
	};
	return field[LENGTH] && field[MINIMUM] <= field[MAXIMUM] && out->first <= out->last;
}
