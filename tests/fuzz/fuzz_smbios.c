/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/acpi/smbios.c kernel/acpi/rsdp.c vmm/acpi/guest_smbios.c vmm/acpi/smbios_put.c vmm/acpi/uuid.c vmm/config/meta_lines.c vmm/cpuid/cpuid_topology.c lib/span.c */
/* FUZZ: -max_len=700 kernel/acpi/smbios.c vmm/acpi/guest_smbios.c vmm/acpi/smbios_put.c vmm/acpi/uuid.c */
/*
 * Fuzzes what reads the node's SMBIOS table, and the guest's tables that are made of it. Byte 0
 * says what the rest is: an area with an entry point, its checksum right, or a table; byte 1 the
 * guest: CPUs, nodes, flat or not. Checked beside memory safety: what is found lies in the table;
 * the guest's tables are whole, as the standard has them, strings named exist, and the node's UUID
 * is not the guest's.
 */
#include "kernel/acpi/tables.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/smbios_table.h"
#include "vmm/acpi/acpi_build.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/vm.h"

static u8 ram[MIB(1)];
static const u8 *node;
static size_t node_size;

const void *host_smbios(u32 *size)
{
	*size = (u32)node_size;
	return node;
}

void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ 0 };
	if (leaf == 0)
		out->eax = 0xb;
	if (leaf == 0xb)
		*out = (struct cpuid_regs){ .eax = subleaf ? 3 : 1,
					    .ebx = 2,
					    .ecx = subleaf ? 0x201 : 0x100 };
	if (leaf == 0x80000002)
		memcpy(out, "CPU", 4);
}

u64 host_tsc_khz(void)
{
	return 2000000;
}

void host_log(const char *, ...) { }

void *guest_ptr(struct vm *, gpa_t at, u64 size)
{
	CHECK(at.v <= sizeof(ram) && size <= sizeof(ram) - at.v);
	return ram + at.v;
}

int guest_write(struct vm *vm, gpa_t at, const void *buf, u64 size)
{
	memcpy(guest_ptr(vm, at, size), buf, size);
	return 0;
}

static void entry(u8 *area, size_t size)
{
	u64 table;
	u32 length;
	u8 sum = 0, n = size > 6 ? area[6] : 0;

	if (n <= size && n > 5) {
		for (unsigned i = 0; i < n; i++)
			sum += area[i];
		area[5] -= sum;
	}
	if (smbios_entry(area, size, &table, &length))
		CHECK(size >= 24);
}

/*
 * A string that is named is there. Those of the node's own structures, types 0 to 3, are as the
 * node has them.
 */
static void check_strings(const u8 *p)
{
	static const u8 at[2][3] = { { 4, 0x20, 0x21 }, { 0x10, 0x18, 0x19 } };

	for (unsigned i = 0; i < 3 && (p[0] == 4 || p[0] == 17); i++)
		CHECK(smbios_text(p, p[at[p[0] == 17][i]]));
}

static void guest(u8 kind)
{
	static struct vm vm = { .name = "vm0" };
	static struct acpi_guest_cpu cpus[16];
	static const struct acpi_guest_memory memory[] = { { 0, 0xa0000, 0 },
							   { MIB(1), GIB(2), 0 },
							   { GIB(4), GIB(64), 1 } };
	struct vm_config config = { .dmi_node = true, .flat = kind & 1 };
	struct acpi_guest in = { .cpus = cpus,
				 .nr_cpus = 1 + (kind >> 4),
				 .memory = memory,
				 .nr_memory = 3,
				 .nr_nodes = 2 };
	unsigned types[128] = { 0 };
	const u8 *p, *stop;
	u64 address;
	u32 length;

	for (unsigned i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i].apic_id = i * (1 + (kind >> 1 & 3));
	vm.config = &config;
	CHECK(!guest_smbios_build(&vm, &in, 100));
	CHECK(smbios_entry_says(ram + 0xf0040, &address, &length) &&
	      address == GUEST_ACPI_BASE + 112);
	stop = ram + address + length;
	for (p = ram + address; p != stop; p = smbios_after(p, stop)) {
		CHECK(p && smbios_after(p, stop) && p[0] < 128);
		types[p[0]]++;
		check_strings(p);
		if (p[0] == 1)
			CHECK((p[8 + 7] & 0xf0) == 0x50 && (p[8 + 8] & 0xc0) == 0x80);
	}
	CHECK(types[0] == 1 && types[1] == 1 && types[2] <= 1 && types[3] == 1 && types[4] &&
	      types[4] <= in.nr_cpus);
	CHECK(types[16] == 1 && types[17] == 2 && types[19] == 3 && types[32] == 1 &&
	      types[127] == 1);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 *copy;

	if (size < 2)
		return 0;
	copy = fuzz_copy(data + 2, size - 2);
	if (data[0] & 1) {
		entry(copy, size - 2);
	} else {
		node = copy;
		node_size = size - 2;
		for (unsigned type = 0; type < 128; type++) {
			const u8 *end,
				*p = smbios_find(node, node_size, (u8)type, data[1] & 3, &end);

			CHECK(!p || (p >= node && p[0] == type && p + p[1] <= end &&
				     end + 2 <= node + node_size));
			CHECK(!p || (!end[0] && !end[1]));
		}
		guest(data[1]);
	}
	free(copy);
	return 0;
}
