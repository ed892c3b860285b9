/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the bytes of static AML (ACPI 6.4, 20.2): what stands in them
 * as constants is read, nothing is executed. aml.c: names, integers, packages
 * and how far any constant or simple expression reaches; aml_walk.c: the
 * namespace that the declarations of all tables make up.
 */
#ifndef KERNEL_ACPI_AML_H
#define KERNEL_ACPI_AML_H

#include <margay/types.h>

/*
 * 20.2.1, 20.2.3, 20.2.5. The second byte of those with the prefix 0x5b is kept as 0x5b00 | byte.
 */
enum aml_op {
	AML_ZERO = 0x00,
	AML_ONE = 0x01,
	AML_ALIAS = 0x06,
	AML_NAME = 0x08,
	AML_BYTE = 0x0a,
	AML_WORD = 0x0b,
	AML_DWORD = 0x0c,
	AML_STRING = 0x0d,
	AML_QWORD = 0x0e,
	AML_SCOPE = 0x10,
	AML_BUFFER = 0x11,
	AML_PACKAGE = 0x12,
	AML_VAR_PACKAGE = 0x13,
	AML_METHOD = 0x14,
	AML_EXTERNAL = 0x15,
	AML_DUAL_NAME = 0x2e,
	AML_MULTI_NAME = 0x2f,
	AML_EXTENDED = 0x5b,
	AML_ROOT = 0x5c,
	AML_PARENT = 0x5e,
	AML_LOCAL0 = 0x60,
	AML_ARG0 = 0x68,
	AML_ARG6 = 0x6e,
	AML_STORE = 0x70,
	AML_REF_OF = 0x71,
	AML_ADD = 0x72,
	AML_SUBTRACT = 0x74,
	AML_MULTIPLY = 0x77,
	AML_SHIFT_LEFT = 0x79,
	AML_SHIFT_RIGHT = 0x7a,
	AML_AND = 0x7b,
	AML_OR = 0x7d,
	AML_DEREF_OF = 0x83,
	AML_NOTIFY = 0x86,
	AML_SIZE_OF = 0x87,
	AML_INDEX = 0x88,
	AML_CREATE_DWORD = 0x8a,
	AML_CREATE_WORD = 0x8b,
	AML_CREATE_BYTE = 0x8c,
	AML_CREATE_BIT = 0x8d,
	AML_CREATE_QWORD = 0x8f,
	AML_LAND = 0x90,
	AML_LOR = 0x91,
	AML_LNOT = 0x92,
	AML_LEQUAL = 0x93,
	AML_LGREATER = 0x94,
	AML_LLESS = 0x95,
	AML_COPY = 0x9d,
	AML_IF = 0xa0,
	AML_ELSE = 0xa1,
	AML_WHILE = 0xa2,
	AML_NOOP = 0xa3,
	AML_RETURN = 0xa4,
	AML_BREAK = 0xa5,
	AML_ONES = 0xff,
	AML_MUTEX = 0x5b01,
	AML_EVENT = 0x5b02,
	AML_CREATE_FIELD = 0x5b13,
	AML_REVISION = 0x5b30,
	AML_DEBUG = 0x5b31,
	AML_TIMER = 0x5b33,
	AML_REGION = 0x5b80,
	AML_FIELD = 0x5b81,
	AML_DEVICE = 0x5b82,
	AML_PROCESSOR = 0x5b83,
	AML_POWER = 0x5b84,
	AML_THERMAL = 0x5b85,
	AML_INDEX_FIELD = 0x5b86,
	AML_BANK_FIELD = 0x5b87,
	AML_DATA_REGION = 0x5b88,
};

/* A piece of AML, and how far it has been read. */
struct aml_span {
	const u8 *p;
	size_t left;
};

#define AML_NAME_MAX 16 /* segments; a deeper name is no name of ours */

/* A name's four characters, as they stand in memory. */
#define AML_SEG(a, b, c, d) ((u32)(a) | (u32)(b) << 8 | (u32)(c) << 16 | (u32)(d) << 24)

struct aml_name {
	bool absolute;
	u8 up; /* '^' in front; 0 in a path */
	u8 n;
	u32 seg[AML_NAME_MAX];
};

/*
 * Each reads what stands next; false: it is something else, or cut off, and then the span's
 * position means nothing.
 */
bool aml_take(struct aml_span *s, u8 *byte);
bool aml_skip(struct aml_span *s, size_t n);
/* n <= 8 bytes, the lowest first. */
bool aml_take_bytes(struct aml_span *s, unsigned n, u64 *value);
bool aml_take_integer(struct aml_span *s, u64 *value);
/* PkgLength (20.2.4): *inner is what it counts, the span goes on behind that. */
bool aml_take_package(struct aml_span *s, struct aml_span *inner);

/* The same; in aml_terms.c, only in images with PASSTHROUGH. */
bool aml_take_op(struct aml_span *s, u16 *op);
bool aml_take_name(struct aml_span *s, struct aml_name *out);
/* Buffer with a constant size: its bytes. From the opcode on. */
bool aml_take_buffer(struct aml_span *s, struct aml_span *bytes);
/* Leaves a constant, name or simple expression behind. */
bool aml_skip_value(struct aml_span *s);

/* Is a name next? */
bool aml_at_name(const struct aml_span *s);

/* All tables of AML: the bodies, without headers, DSDT first. */
struct aml_tables {
	const struct aml_span *table;
	unsigned count;
};

/*
 * Called for each Name and Method: its path; op: AML_NAME, and value is what it
 * is set to (and what comes behind), or AML_METHOD, and value is a byte of flags
 * (bits 2:0: how many arguments) and the code, or AML_IF: of what is declared
 * under an If, which may be there or not. In images with VM_CST, too, for each
 * Processor: AML_PROCESSOR, and value begins with its ID. False ends the walk.
 */
typedef bool (*aml_visit)(void *ctx, const struct aml_name *path, u16 op, struct aml_span value);
/* False: not all was seen, for a list has something that is not known. */
bool aml_walk(const struct aml_tables *t, aml_visit fn, void *ctx);

bool aml_same(const struct aml_name *a, const struct aml_name *b);

/*
 * 0: the Name or Method of exactly this path; -EINVAL: declared under an If only; -ENOENT: not
 * seen; -ENODEV: there is none.
 */
int aml_find(const struct aml_tables *t, const struct aml_name *path, u16 *op,
	     struct aml_span *value);
/* `seg` in `scope`, likewise. */
int aml_find_in(const struct aml_tables *t, const struct aml_name *scope, u32 seg, u16 *op,
		struct aml_span *value);
/*
 * What a name means in `scope`: a Name or Method, by the search rules (5.3); or
 * `seg` in the device that it names, when seg is not 0. *path: where it was.
 */
bool aml_search(const struct aml_tables *t, const struct aml_name *scope,
		const struct aml_name *name, u32 seg, struct aml_name *path, u16 *op,
		struct aml_span *value);

#endif
