/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the guest's processors in its DSDT, each a device of ACPI0007
 * with its C-states (ACPI 6.4, 8.4 and 8.4.2.1). They have no _CSD: each is
 * one CPU's own matter, as MWAIT and HLT are.
 */
#include "vmm/acpi/acpi_build.h"

#include <margay/acpi.h>

#include "vmm/acpi/aml_build.h"

/*
 * Package () { ResourceTemplate () { Register (reg) }, type, latency, power } as iasl encodes it
 * (20.2 and 6.4.3.7).
 */
struct cst_entry {
	u8 package_op;
	u8 package_length;
	u8 elements;
	u8 buffer_op;
	u8 buffer_length;
	u8 size_op;
	u8 size;
	u8 register_tag;
	u16 register_length;
	struct acpi_gas reg;
	u8 end_tag;
	u8 checksum;
	u8 type_op;
	u8 type;
	u8 latency_op;
	u32 latency;
	u8 power_op;
	u32 power;
} __packed;
static_assert(sizeof(struct cst_entry) == 36, "one byte of opcode, then what its length counts");

/* A device without its C-states: at most. */
#define DEVICE_BYTES 48
/*
 * All of them, of the VM's 256 KiB of tables: its MADT and SRAT have 40 bytes for each vCPU, and
 * SMBIOS may have 64 KiB.
 */
#define ROOM KIB(64)

static void put_state(struct aml *a, const struct cstate *s)
{
	const struct cst_entry e = {
		.package_op = 0x12,
		.package_length = sizeof(e) - 1,
		.elements = 4,
		.buffer_op = 0x11,
		.buffer_length = 20,
		.size_op = 0x0a,
		.size = 17,
		.register_tag = 0x82,
		.register_length = sizeof(e.reg),
		.reg = s->reg,
		.end_tag = 0x79,
		.type_op = 0x0a,
		.type = s->type,
		.latency_op = 0x0c,
		.latency = s->latency,
		.power_op = 0x0c,
		.power = s->power,
	};

	aml_bytes(a, &e, sizeof(e));
}

static bool all_fit(const struct acpi_guest *in)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < in->nr_cpus; i++) {
		if (!in->cpus[i].cstates)
			return false;
		bytes += DEVICE_BYTES + in->cpus[i].cstates->count * sizeof(struct cst_entry);
	}
	return bytes <= ROOM;
}

void acpi_put_cstates(struct aml *a, const struct acpi_guest *in)
{
	static const char digit[] = "0123456789ABCDEF";

	if (!all_fit(in))
		return;
	aml_scope(a, "\\_SB");
	for (unsigned i = 0; i < in->nr_cpus; i++) {
		const struct cstates *c = in->cpus[i].cstates;
		const char name[] = { 'C', digit[i >> 8 & 0xf], digit[i >> 4 & 0xf], digit[i & 0xf],
				      '\0' };

		aml_device(a, name);
		aml_name_text(a, "_HID", "ACPI0007");
		/* As in the MADT. */
		aml_name_integer(a, "_UID", i);
		aml_packages_begin(a, "_CST", c->count + 1);
		aml_put(a, 0x0a, 1);
		aml_put(a, c->count, 1);
		for (unsigned k = 0; k < c->count; k++)
			put_state(a, &c->state[k]);
		aml_end(a);
		aml_end(a);
	}
	aml_end(a);
}
