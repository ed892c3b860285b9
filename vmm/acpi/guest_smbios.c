/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM's SMBIOS tables (DMTF DSP0134 3.6): Margay's own structures, or with `dmi = node` the node's
 * instead, as far as they hold; CPUs, memory and UUID are the VM's always, as is what its file says
 * by `meta =`. Nothing that the node's tables say is trusted further than its bytes go.
 */
#include <margay/acpi.h>
#include <margay/errno.h>
#include <margay/span.h>
#include <margay/string.h>

#include "vmm/acpi/acpi_build.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/vm_parts.h"

#define ENTRY 0xf0040ull /* a multiboot guest has its RSDP at 0xf0000 */
#define ENTRY_SIZE 24
#define COPIED_MAX 256 /* a structure of the node's, strings included */
#define STRUCTURE_MAX (COPIED_MAX + 128) /* with what is added to it */
#define CPU_WORKS 0x40
#define SYSTEM_MEMORY 3

enum {
	BIOS,
	SYSTEM,
	BOARD,
	CHASSIS,
	PROCESSOR,
	OEM = 11,
	ARRAY = 16,
	MEMORY,
	MAPPED = 19,
	BOOT = 32,
	END = 127
};

/*
 * Each with the length that it has in a guest's table (SMBIOS 3.0), whoever's it is. The board is
 * there for that alone.
 */
static const char own[] =
	/* BIOS: maker, version; a virtual machine's */
	"\x00\x18\0\0"
	"\x01\x02\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\xff\xff\xff\xff"
	"Margay\0"
	"1\0"
	"\0"
	/* System: maker, product; switched on */
	"\x01\x1b\0\0"
	"\x01\x02\0\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0"
	"\x06\0\0"
	"Margay\0"
	"VM\0"
	"\0"
	/* Board: in the chassis */
	"\x02\x0f\0\0"
	"\0\0\0\0\0\0\0\0\x03\x0a\0"
	"\0\0"
	/* Chassis: maker, of another type; safe, security unknown */
	"\x03\x15\0\0"
	"\x01\x01\0\0\0\x03\x03\x03\x02\0\0\0\0\0\0\0\0"
	"Margay\0"
	"\0"
	/*
	 * Processor: a central one, of unknown family; there, and works; caches not described; of
	 * 64 bits
	 */
	"\x04\x30\0\0"
	"\0\x03\x02\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0"
	"\x41\x02\xff\xff\xff\xff\xff\xff"
	"\0\0\0\0\0\0\x04\0\x02\0\0\0\0\0\0\0"
	"\0\0"
	/* OEM strings: their number */
	"\x0b\x05\0\0"
	"\0"
	"\0\0"
	/*
	 * Memory: on the board, for the system, error correction unknown; a size that is too much
	 * here is further behind
	 */
	"\x10\x17\0\0"
	"\x03\x03\x02\0\0\0\x80\xfe\xff\0\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0"
	/* A device of it: widths and form unknown, RAM */
	"\x11\x28\0\0"
	"\0\x10\xfe\xff\xff\xff\xff\xff"
	"\0\0\x02\0\0\0\x07\x04\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0\0\0\0\0"
	"\0\0"
	/* Where it is, likewise */
	"\x13\x1f\0\0"
	"\xff\xff\xff\xff\xff\xff\xff\xff\0\x10\x01"
	"\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0"
	/* No errors detected at boot */
	"\x20\x0b\0\0"
	"\0\0\0\0\0\0\0"
	"\0\0"
	"\x7f\x04\0\0"
	"\0"; /* and C's own */

/*
 * The bytes that a guest's structure has of the node's: not counts, sizes, handles, nor the serial
 * number of one of many.
 */
#define BYTES(from, to) (BIT((to) + 1) - BIT(from))
static const u64 taken[] = {
	[BIOS] = BYTES(0x04, 0x12) | BYTES(0x14, 0x17),
	[SYSTEM] = BYTES(0x04, 0x07) | BYTES(0x18, 0x1a),
	[BOARD] = BYTES(0x04, 0x0a) | BYTES(0x0d, 0x0d),
	[CHASSIS] = BYTES(0x04, 0x12),
	[PROCESSOR] = BYTES(0x05, 0x19) | BYTES(0x22, 0x22) | BYTES(0x26, 0x29),
	[ARRAY - 11] = BYTES(0x06, 0x06),
	[MEMORY - 11] = BYTES(0x08, 0x0b) | BYTES(0x0e, 0x0e) | BYTES(0x12, 0x17) |
			BYTES(0x1a, 0x1b) | BYTES(0x20, 0x27),
};

struct tables {
	const void *node; /* the node's, and only if the guest shall see them */
	u32 node_size;
	unsigned strings; /* of the last structure, */
	u8 *end; /* and where they end: the rest is zero */
};

/*
 * A structure of the node's that can stand for a guest's: not too long, no empty string; of several
 * the first that is in use.
 */
static bool fits(const u8 *p, const u8 *end)
{
	if (end - p > COPIED_MAX || p[1] < 8 || (!p[p[1]] && p + p[1] < end))
		return false;
	switch (p[0]) {
	case PROCESSOR: return p[1] > 0x18 && p[0x18] & CPU_WORKS;
	case ARRAY: return p[5] == SYSTEM_MEMORY;
	case MEMORY: return p[1] > 0x18 && (p[0xc] | p[0xd]); /* its size */
	}
	return p[0] < PROCESSOR;
}

/* The next structure, the node's where it has one. Its handle is number and type. */
static u8 *put(struct tables *t, u8 type, unsigned number)
{
	const u8 *end, *mine_end, *mine = smbios_find(own, sizeof(own), type, 0, &mine_end), *p;
	u8 *out = t->end + (t->strings ? 1 : 2);
	u64 mask = 0;
	unsigned n = 0;

	do
		p = smbios_find(t->node, t->node_size, type, n++, &end);
	while (p && !fits(p, end));
	if (p) {
		mask = taken[type < ARRAY ? type : type - 11];
	} else if (type == BOARD) {
		return out;
	} else {
		p = mine;
		end = mine_end;
	}
	memcpy(out, mine, mine[1]);
	for (unsigned i = 0; i < mine[1] && i < p[1]; i++)
		if (mask & BIT(i))
			out[i] = p[i];
	out[2] = (u8)number;
	out[3] = type;
	t->strings = 0;
	t->end = out + mine[1];
	p += p[1];
	for (bool any = p < end; any && p <= end; p++) {
		*t->end++ = *p;
		t->strings += !*p;
	}
	return out;
}

/* One more string of the last structure; its number there, 0 for an empty one. */
static u8 text(struct tables *t, const char *s)
{
	size_t n = strlen(s);

	if (!n)
		return 0;
	memcpy(t->end, s, n);
	t->end += n + 1;
	return (u8)++t->strings;
}

static u8 label(struct tables *t, const char *what, unsigned n)
{
	char s[16];

	snprintf(s, sizeof(s), "%s %u", what, n);
	return text(t, s);
}

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
static void describe_cpu(struct tables *t, u8 *p)
{
	struct cpuid_regs name[4] = { 0 };
	u64 mhz = host_tsc_khz() / 1000;

	host_cpuid(1, 0, name);
	memcpy(p + 8, &name->eax, 4);
	memcpy(p + 12, &name->edx, 4);
	for (u32 i = 0; i < 3; i++)
		host_cpuid(0x80000002 + i, 0, &name[i]);
	p[0x10] = text(t, (const char *)name);
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
static void put_cpus(struct tables *t, const struct acpi_guest *in, bool flat)
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
		p = put(t, PROCESSOR, number);
		p[4] = label(t, "CPU", number++);
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
static void put_memory(struct tables *t, const struct acpi_guest *in)
{
	u8 *array = put(t, ARRAY, 0);
	u64 total = 0;

	for (unsigned i = 0; i < in->nr_nodes; i++) {
		u8 *p = put(t, MEMORY, i);
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
		p[0x10] = label(t, "RAM", i);
	}
	array[0xd] = (u8)in->nr_nodes;
	memcpy(array + 0xf, &total, 8);
	total >>= 10;
	if (total < 0x80000000)
		memcpy(array + 7, &total, 4);
	for (unsigned i = 0; i < in->nr_memory; i++) {
		const struct acpi_guest_memory *m = &in->memory[i];
		u64 last = m->base + m->size - 1, kib = m->base >> 10 | last >> 10 << 32;
		u8 *p = put(t, MAPPED, i);

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

	system = smbios_find(table, size, SYSTEM, 0, &end);
	if (system && system[1] >= 24)
		reorder(node, system + 8);
	uuid_of_name(node, name, uuid);
	reorder(p, uuid);
}

/*
 * What cloud-init knows of a system by its serial number, before it has found a disk, which counts
 * before what the disk says; a node's is left.
 */
static void set_serial(struct tables *t, u8 *system, const struct vm *vm)
{
	struct span host = vm_config_meta_name(vm->config, VM_META_HOST, vm->name),
		    id = vm_config_meta_name(vm->config, VM_META_ID, vm->name),
		    mode = vm_config_meta_name(vm->config, VM_META_MODE, "net");
	char s[3 * VM_META_NAME_MAX + 32];

	snprintf(s, sizeof(s), "ds=nocloud;dsmode=%.*s;h=%.*s;i=%.*s", (int)mode.n, mode.p,
		 (int)host.n, host.p, (int)id.n, id.p);
	if (!system[7])
		system[7] = text(t, s);
}

/* Strings for who knows them: systemd its credentials. A line of the file is one. */
static void put_oem(struct tables *t, const struct vm_config *c)
{
	struct span key, value;
	u8 *p = NULL;

	for (unsigned i = 0; vm_config_meta(c, i, &key, &value); i++) {
		size_t n = (size_t)(value.p + value.n - key.p);

		if (!vm_config_meta_oem(key))
			continue;
		if (!p)
			p = put(t, OEM, 0);
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
	u64 told = vm_config_has_meta(vm->config) ? VM_META_MAX + STRUCTURE_MAX : 0;
	struct tables t = { .end = area - 2 };

	for (unsigned i = 0; i < in->nr_cpus; i++)
		packages += first(in, i, package);
	if ((8 + packages + in->nr_nodes + in->nr_memory) * STRUCTURE_MAX + told > room)
		return -ENOSPC;
	if (vm->config->dmi_node) {
		t.node = host_smbios(&t.node_size);
		if (!t.node)
			vm_tell(vm, "dmi = node: this node has no SMBIOS tables");
	}
	memset(area, 0, room);
	put(&t, BIOS, 0);
	system = put(&t, SYSTEM, 0);
	set_uuid(system + 8, vm->name);
	if (told)
		set_serial(&t, system, vm);
	put(&t, BOARD, 0);
	put(&t, CHASSIS, 0);
	put_cpus(&t, in, vm->config->flat);
	if (told)
		put_oem(&t, vm->config);
	put_memory(&t, in);
	put(&t, BOOT, 0);
	put(&t, END, 0);
	length = (u32)(t.end + 2 - area);
	start += GUEST_ACPI_BASE;
	memcpy(entry + 12, &length, 4);
	memcpy(entry + 16, &start, 8);
	for (unsigned i = 0; i < ENTRY_SIZE; i++)
		sum -= entry[i];
	entry[5] = sum;
	return guest_write(vm, gpa(ENTRY), entry, ENTRY_SIZE);
}
