/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: see aml.h. Opcodes, names, and values of any kind, which are stepped over (ACPI 6.4,
 * 20.2.2 and 20.2.5).
 */
#include "kernel/acpi/aml.h"

#define VALUE_DEPTH 8 /* of expressions in expressions */

bool aml_take_op(struct aml_span *s, u16 *op)
{
	u8 byte;

	if (!aml_take(s, &byte))
		return false;
	*op = byte;
	if (byte != AML_EXTENDED)
		return true;
	if (!aml_take(s, &byte))
		return false;
	*op = (u16)(AML_EXTENDED << 8 | byte);
	return true;
}

bool aml_take_buffer(struct aml_span *s, struct aml_span *bytes)
{
	u64 size;
	u8 op;

	return aml_take(s, &op) && op == AML_BUFFER && aml_take_package(s, bytes) &&
	       aml_take_integer(bytes, &size) && size >= bytes->left;
}

static bool letter(u8 c)
{
	return (c >= 'A' && c <= 'Z') || c == '_';
}

static bool take_seg(struct aml_span *s, u32 *seg)
{
	u64 v;

	if (!aml_take_bytes(s, 4, &v) || !letter((u8)v))
		return false;
	for (unsigned i = 1; i < 4; i++) {
		u8 c = (u8)(v >> (8 * i));

		if (!letter(c) && (c < '0' || c > '9'))
			return false;
	}
	*seg = (u32)v;
	return true;
}

bool aml_at_name(const struct aml_span *s)
{
	u8 c = s->left ? *s->p : 0;

	return letter(c) || c == AML_ROOT || c == AML_PARENT || c == AML_DUAL_NAME ||
	       c == AML_MULTI_NAME;
}

bool aml_take_name(struct aml_span *s, struct aml_name *out)
{
	u8 n = 1;

	*out = (struct aml_name){ 0 };
	if (s->left && *s->p == AML_ROOT) {
		out->absolute = true;
		aml_skip(s, 1);
	}
	for (; s->left && *s->p == AML_PARENT && out->up < AML_NAME_MAX; out->up++)
		aml_skip(s, 1);
	if (!s->left)
		return false;
	if (*s->p == AML_ZERO || *s->p == AML_DUAL_NAME || *s->p == AML_MULTI_NAME) {
		u8 kind = *s->p;

		aml_skip(s, 1);
		n = kind == AML_ZERO ? 0 : 2;
		if (kind == AML_MULTI_NAME && !aml_take(s, &n))
			return false;
	}
	if (n > AML_NAME_MAX)
		return false;
	for (; out->n < n; out->n++)
		if (!take_seg(s, &out->seg[out->n]))
			return false;
	return true;
}

static bool skip_string(struct aml_span *s)
{
	u8 c;

	do {
		if (!aml_take(s, &c))
			return false;
	} while (c);
	return true;
}

static bool skip_nested(struct aml_span *s, unsigned depth)
{
	struct aml_span inner;
	struct aml_name name;
	u64 value;
	u16 op;

	if (!depth || !s->left)
		return false;
	if (aml_at_name(s))
		return aml_take_name(s, &name);
	if (*s->p >= AML_LOCAL0 && *s->p <= AML_ARG6)
		return aml_skip(s, 1);
	switch (*s->p) {
	case AML_STRING: return aml_skip(s, 1) && skip_string(s);
	case AML_BUFFER:
	case AML_PACKAGE:
	case AML_VAR_PACKAGE: return aml_skip(s, 1) && aml_take_package(s, &inner);
	case AML_REF_OF:
	case AML_DEREF_OF:
	case AML_SIZE_OF:
	case AML_LNOT: return aml_skip(s, 1) && skip_nested(s, depth - 1);
	case AML_LAND:
	case AML_LOR:
	case AML_LEQUAL:
	case AML_LGREATER:
	case AML_LLESS:
		return aml_skip(s, 1) && skip_nested(s, depth - 1) && skip_nested(s, depth - 1);
	case AML_ADD:
	case AML_SUBTRACT:
	case AML_MULTIPLY:
	case AML_SHIFT_LEFT:
	case AML_SHIFT_RIGHT:
	case AML_AND:
	case AML_OR:
	case AML_INDEX:
		/* Two operands and where the result goes. */
		if (!aml_skip(s, 1) || !skip_nested(s, depth - 1) || !skip_nested(s, depth - 1) ||
		    !s->left)
			return false;
		return *s->p == AML_ZERO ? aml_skip(s, 1) : skip_nested(s, depth - 1);
	case AML_EXTENDED:
		return aml_take_op(s, &op) &&
		       (op == AML_REVISION || op == AML_DEBUG || op == AML_TIMER);
	default: return aml_take_integer(s, &value);
	}
}

bool aml_skip_value(struct aml_span *s)
{
	return skip_nested(s, VALUE_DEPTH);
}
