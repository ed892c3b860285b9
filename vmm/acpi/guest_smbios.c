/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM's SMBIOS tables (DMTF DSP0134 3.6): Margay's own structures, or with `dmi = node` the node's
 * instead, as far as they hold (smbios_put.c); CPUs, memory and UUID are the VM's always, as is
 * what its file says by `meta =`.
 */
#include <margay/acpi.h>
#include <margay/errno.h>
#include <margay/span.h>
#include <margay/string.h>

#include "vmm/acpi/acpi_build.h"
#include "vmm/acpi/smbios_put.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/vm_parts.h"

#define ENTRY 0xf0040ull /* a multiboot guest has its RSDP at 0xf0000 */
#define ENTRY_SIZE 24

/* Bits of an APIC ID below those of the package; a flat VM is one. */
static unsigned package_shift(bool flat)
{
	struct cpuid_regs r;

	if (flat)
		return 31;
	host_cpuid(0xb, 1, &r);
	if (r.ebx && (r.ecx >> 8 & 0xff) == 2)
		return r.eax & 31;
	host_cpuid(0x80000008, 0, &r);
	return r.ecx >> 12 & 15;
}

/* What the CPU says of itself, where the node's tables say nothing. */
static void describe_cpu(struct smbios_out *t, u8 *p)
{
	struct cpuid_regs name[4] = { 0 };
	u64 mhz = host_tsc_khz() / 1000;

	host_cpuid(1, 0, name);
	memcpy(p + 8, &name->eax, 4);
	memcpy(p + 12, &name->edx, 4);
	for (u32 i = 0; i < 3; i++)
		host_cpuid(0x80000002 + i, 0, &name[i]);
	p[0x10] = smbios_text(t, (const char *)name);
	memcpy(p + 0x14, &mhz, 2);
	memcpy(p + 0x16, &mhz, 2);
}

static bool first(const struct acpi_guest *in, unsigned cpu, unsigned shift)
{
	for (unsigned i = 0; i < cpu; i++)
		if (in->cpus[i].apic_id >> shift == in->cpus[cpu].apic_id >> shift)
			return false;
	return true;
}

/* One for each package: its cores and threads that the guest has. */
static void put_cpus(struct smbios_out *t, const struct acpi_guest *in, bool flat)
{
	unsigned package = package_shift(flat),
		 core = flat ? 0 : cpuid_smt_shift(host_cpuid_for, NULL);
	unsigned number = 0;

	for (unsigned i = 0; i < in->nr_cpus; i++) {
		unsigned cores = 0, threads = 0;
		u8 *p;

		if (!first(in, i, package))
			continue;
		for (unsigned k = i; k < in->nr_cpus; k++)
			if (in->cpus[k].apic_id >> package == in->cpus[i].apic_id >> package) {
				threads++;
				cores += first(in, k, core);
			}
		p = smbios_put(t, SMBIOS_PROCESSOR, number);
		p[4] = smbios_label(t, "CPU", number++);
		if (!p[0x10])
			describe_cpu(t, p);
		p[0x23] = p[0x24] = (u8)MIN(cores, 255u);
		p[0x25] = (u8)MIN(threads, 255u);
		memcpy(p + 0x2a, &cores, 2);
		memcpy(p + 0x2c, &cores, 2);
		memcpy(p + 0x2e, &threads, 2);
	}
}

/* A device for each NUMA node. */
static void put_memory(struct smbios_out *t, const struct acpi_guest *in)
{
	u8 *array = smbios_put(t, SMBIOS_ARRAY, 0);
	u64 total = 0;

	for (unsigned i = 0; i < in->nr_nodes; i++) {
		u8 *p = smbios_put(t, SMBIOS_MEMORY, i);
		u64 size = 0;

		for (unsigned k = 0; k < in->nr_memory; k++)
			if (in->memory[k].node == i)
				size += in->memory[k].size;
		/* The hole below 1 MiB is RAM, too. */
		size = ALIGN_UP(size, MIB(1));
		total += size;
		size >>= 20;
		memcpy(p + 0x1c, &size, 4);
		size = MIN(size, 0x7fffull);
		memcpy(p + 0xc, &size, 2);
		p[0x10] = smbios_label(t, "RAM", i);
	}
	array[0xd] = (u8)in->nr_nodes;
	memcpy(array + 0xf, &total, 8);
	total >>= 10;
	if (total < 0x80000000)
		memcpy(array + 7, &total, 4);
	for (unsigned i = 0; i < in->nr_memory; i++) {
		const struct acpi_guest_memory *m = &in->memory[i];
		u64 last = m->base + m->size - 1, kib = m->base >> 10 | last >> 10 << 32;
		u8 *p = smbios_put(t, SMBIOS_MAPPED, i);

		memcpy(p + 0xf, &m->base, 8);
		memcpy(p + 0x17, &last, 8);
		if (last < BIT(42))
			memcpy(p + 4, &kib, 8);
	}
}

/* SMBIOS has the first three fields of a UUID with the lowest byte first. */
static void reorder(u8 *to, const u8 *from)
{
	static const u8 order[] = { 3, 2, 1, 0, 5, 4, 7, 6 };

	for (unsigned i = 0; i < 16; i++)
		to[i] = from[i < 8 ? order[i] : i];
}

/*
 * Of the node's UUID and the VM's name: the same at each start, and one that no other VM of the
 * node has.
 */
static void set_uuid(u8 *p, const char *name)
{
	u8 node[16] = { 0 }, uuid[16];
	const u8 *end, *system;
	u32 size;
	const void *table = host_smbios(&size);

	system = smbios_find(table, size, SMBIOS_SYSTEM, 0, &end);
	if (system && system[1] >= 24)
		reorder(node, system + 8);
	uuid_of_name(node, name, uuid);
	reorder(p, uuid);
}

/*
 * What cloud-init knows of a system by its serial number, before it has found a disk, which counts
 * before what the disk says; a node's is left.
 */
static void set_serial(struct smbios_out *t, u8 *system, const struct vm *vm)
{
	struct span host = vm_config_meta_name(vm->config, VM_META_HOST, vm->name),
		    id = vm_config_meta_name(vm->config, VM_META_ID, vm->name),
		    mode = vm_config_meta_name(vm->config, VM_META_MODE, "net");
	char s[3 * VM_META_NAME_MAX + 32];

	snprintf(s, sizeof(s), "ds=nocloud;dsmode=%.*s;h=%.*s;i=%.*s", (int)mode.n, mode.p,
		 (int)host.n, host.p, (int)id.n, id.p);
	if (!system[7])
		system[7] = smbios_text(t, s);
}

/* Strings for who knows them: systemd its credentials. A line of the file is one. */
static void put_oem(struct smbios_out *t, const struct vm_config *c)
{
	struct span key, value;
	u8 *p = NULL;

	for (unsigned i = 0; vm_config_meta(c, i, &key, &value); i++) {
		size_t n = (size_t)(value.p + value.n - key.p);

		if (!vm_config_meta_oem(key))
			continue;
		if (!p)
			p = smbios_put(t, SMBIOS_OEM, 0);
		memcpy(t->end, key.p, n);
		t->end += n + 1;
		p[4] = (u8)++t->strings;
	}
}

int guest_smbios_build(struct vm *vm, const struct acpi_guest *in, size_t used)
{
	u64 start = ALIGN_UP(used, 16), room = GUEST_ACPI_SIZE - start;
	u8 *area = guest_ptr(vm, gpa(GUEST_ACPI_BASE + start), room), *system,
	   entry[ENTRY_SIZE] = "_SM3_\0\x18\x03\0\0\x01", sum = 0;
	u32 length, packages = 0, package = package_shift(vm->config->flat);
	u64 told = vm_config_has_meta(vm->config) ? VM_META_MAX + SMBIOS_STRUCTURE_MAX : 0;
	struct smbios_out t = { .end = area - 2 };

	for (unsigned i = 0; i < in->nr_cpus; i++)
		packages += first(in, i, package);
	if ((8 + packages + in->nr_nodes + in->nr_memory) * SMBIOS_STRUCTURE_MAX + told > room)
		return -ENOSPC;
	if (vm->config->dmi_node) {
		t.node = host_smbios(&t.node_size);
		if (!t.node)
			vm_tell(vm, "dmi = node: this node has no SMBIOS tables");
	}
	memset(area, 0, room);
	smbios_put(&t, SMBIOS_BIOS, 0);
	system = smbios_put(&t, SMBIOS_SYSTEM, 0);
	set_uuid(system + 8, vm->name);
	if (told)
		set_serial(&t, system, vm);
	smbios_put(&t, SMBIOS_BOARD, 0);
	smbios_put(&t, SMBIOS_CHASSIS, 0);
	put_cpus(&t, in, vm->config->flat);
	if (told)
		put_oem(&t, vm->config);
	put_memory(&t, in);
	smbios_put(&t, SMBIOS_BOOT, 0);
	smbios_put(&t, SMBIOS_END, 0);
	length = (u32)(t.end + 2 - area);
	start += GUEST_ACPI_BASE;
	memcpy(entry + 12, &length, 4);
	memcpy(entry + 16, &start, 8);
	for (unsigned i = 0; i < ENTRY_SIZE; i++)
		sum -= entry[i];
	entry[5] = sum;
	return guest_write(vm, gpa(ENTRY), entry, ENTRY_SIZE);
}
