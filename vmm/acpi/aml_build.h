/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: an encoder for static AML (ACPI 6.4, chapter 20) and resource
 * descriptors (6.4). Writes past the capacity are dropped and remembered:
 * check aml_error() once at the end.
 */
#ifndef VMM_AML_BUILD_H
#define VMM_AML_BUILD_H

#include <margay/types.h>

#define AML_MAX_DEPTH 8

struct aml {
	u8 *buf;
	size_t cap;
	size_t len;
	unsigned depth;
	size_t start[AML_MAX_DEPTH]; /* where each open object's PkgLength goes */
	size_t crs_size;             /* where the open resource template's buffer begins */
	int error;
};

/* aml_build.c: encodes into buf[0..cap). */
void aml_init(struct aml *a, void *buf, size_t cap);
/* 0; -ENOSPC: too small; -EINVAL: misuse (bad name, unbalanced or too deep objects). */
int aml_error(const struct aml *a);
/* The first error is the one that is remembered. */
void aml_fail(struct aml *a, int err);
/* The lowest bytes of a value, the lowest first. */
void aml_put(struct aml *a, u64 value, unsigned bytes);
/* What is encoded already. */
void aml_bytes(struct aml *a, const void *bytes, size_t n);

/* aml_encode.c, only in images with PASSTHROUGH: */

/*
 * Names are four-character segments ("_SB_", "COM0"), shorter ones are padded
 * with '_'; a leading '\' makes them absolute.
 */
/* Scope (name) { ... }, Device (name) { ... }; each closed by aml_end(). */
void aml_scope(struct aml *a, const char *name);
void aml_device(struct aml *a, const char *name);
void aml_end(struct aml *a);

/* Name (name, value), Name (name, "text"), Name (name, EisaId ("PNP0501")). */
void aml_name_integer(struct aml *a, const char *name, u64 value);
void aml_name_text(struct aml *a, const char *name, const char *text);
void aml_name_eisaid(struct aml *a, const char *name, const char *id);

/*
 * Name (name, Package () { Package () { v[0], ... }, ... }) of n packages, n <= 255; closed by
 * aml_end().
 */
void aml_packages_begin(struct aml *a, const char *name, unsigned n);
void aml_package(struct aml *a, const u64 *v, unsigned n);

/* Method (name, nargs) { ... }, closed by aml_end(); Notify (name, value) in one. */
void aml_method(struct aml *a, const char *name, u8 nargs);
void aml_notify(struct aml *a, const char *name, u64 value);
/* Method (name, nargs) { Return (Arg<arg>) } */
void aml_method_return_arg(struct aml *a, const char *name, u8 nargs, u8 arg);

/* Name (name, ResourceTemplate () { ... }): the descriptors between the two calls. */
void aml_crs_begin(struct aml *a, const char *name);
void aml_crs_end(struct aml *a);
/* Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive) { gsi } */
void aml_edge(struct aml *a, u32 gsi);
/*
 * QWordMemory, QWordIO or WordBusNumber (ResourceProducer or -Consumer, MinFixed, MaxFixed, ...)
 * with the range [base, base + size). Memory is read-write and not cacheable. translation: what is
 * to be added to an address of the range, as its secondary side, the bus, has it, to get the CPU's
 * (6.2.4: in _DMA base is where devices see what the guest has elsewhere).
 */
enum aml_range { AML_RANGE_MEMORY, AML_RANGE_IO, AML_RANGE_BUS };
void aml_range(struct aml *a, enum aml_range kind, bool producer, u64 base, u64 size,
	       u64 translation);

/* IO (Decode16, port, port, 1, count), a resource template's only descriptor. */
#define AML_IO_ONLY(port, count) \
	0x11, 0x0d, 0x0a, 0x0a, 0x47, 0x01, (port) & 0xff, (port) >> 8, (port) & 0xff, \
		(port) >> 8, 0x01, (count), 0x79, 0x00

#endif
