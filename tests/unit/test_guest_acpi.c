/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/acpi/guest_acpi.c vmm/acpi/guest_smbios.c vmm/acpi/uuid.c vmm/cpuid/cpuid_topology.c kernel/acpi/smbios.c vmm/acpi/acpi_build.c vmm/acpi/acpi_devices.c vmm/acpi/acpi_pci.c vmm/acpi/aml_build.c vmm/acpi/aml_encode.c vmm/memory/guest_mem.c vmm/memory/gpa_map.c kernel/acpi/rsdp.c kernel/acpi/madt.c kernel/acpi/srat.c kernel/acpi/slit.c tests/unit/fake_host.c vmm/ranges.c tests/unit/fake_vm.c kernel/span.c */
/*
 * What a VM's tables say of the host's NUMA nodes: a VM on nodes 1, 2 and 4 of
 * five, whose distances differ there and back; our own readers read them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <margay/acpi.h>

#include "kernel/acpi/tables.h"
#include "tests/unit/fake_vm.h"
#include "vmm/acpi/guest_acpi.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

#define MEMORY MIB(32)

static const int nodes[] = { 1, 2, 4 };
static struct madt_info madt;
static struct srat_info srat;
static struct slit_info slit;

static const struct acpi_sdt *find(struct vm *vm, const char *signature)
{
	const struct acpi_rsdp *r = guest_ptr(vm, vm->rsdp, sizeof(*r));
	const struct acpi_xsdt *x = guest_ptr(vm, gpa(r->xsdt_address), sizeof(*x));

	for (unsigned i = 0; i < (x->header.length - sizeof(*x)) / 8; i++) {
		const struct acpi_sdt *h = guest_ptr(vm, gpa(x->entry[i]), sizeof(*h));

		if (!memcmp(h->signature, signature, 4))
			return h;
	}
	fail_msg("no table %s", signature);
	return NULL;
}

#define READ(reader, signature, out)                            \
	do {                                                    \
		const struct acpi_sdt *h_ = find(vm, signature); \
		assert_null(reader(h_, h_->length, out));       \
	} while (0)

/* A vCPU and a third of the memory on each of the nodes, the first with APIC ID first_id. */
static void build(u32 first_id, bool flat)
{
	static struct vcpu others[2];
	struct vm_config config = { .flat = flat };
	struct vm *vm;

	fake_host_reset();
	vm = fake_vm_create(MEMORY);
	vm->config = &config;
	fake_host.nr_cpus = ARRAY_SIZE(nodes);
	memset(&vm_parts(vm)->map, 0, sizeof(vm_parts(vm)->map));
	for (unsigned i = 0; i < ARRAY_SIZE(nodes); i++) {
		u64 start = i * MIB(10), size = i == 2 ? MIB(12) : MIB(10);

		assert_int_equal(gpa_map_add(&vm_parts(vm)->map, vm->extent[0].base.v + start, size, nodes[i]), 0);
		fake_host.cpus[i].node = nodes[i];
		vm->vcpus[i] = i ? &others[i - 1] : vm->vcpus[0];
		vm->vcpus[i]->vm = vm;
		vm->vcpus[i]->cpu = i;
		vm->vcpus[i]->apic_id = first_id + i;
	}
	vm->nr_vcpus = ARRAY_SIZE(nodes);
	assert_int_equal(guest_acpi_build(vm), 0);
	READ(madt_read, "APIC", &madt);
	READ(srat_read, "SRAT", &srat);
	READ(slit_read, "SLIT", &slit);
	vm->nr_vcpus = 1;
	fake_vm_destroy(vm);
}

static void test_nodes(void **)
{
	static const u32 first_id[] = { 5, 0x1000 }; /* SRAT's entries of type 0, and of type 2 */

	for (unsigned t = 0; t < ARRAY_SIZE(first_id); t++) {
		build(first_id[t], false);
		assert_int_equal(slit.count, ARRAY_SIZE(nodes));
		for (unsigned i = 0; i < slit.count; i++)
			for (unsigned k = 0; k < slit.count; k++)
				assert_int_equal(slit.distance[i * slit.count + k],
						 host_node_distance((unsigned)nodes[i], (unsigned)nodes[k]));
		assert_int_equal(madt.nr_cpus, ARRAY_SIZE(nodes));
		assert_int_equal(srat.nr_cpus, ARRAY_SIZE(nodes));
		for (unsigned i = 0; i < srat.nr_cpus; i++) {
			assert_int_equal(madt.cpu[i].apic_id, first_id[t] + i);
			assert_int_equal(srat.cpu[i].apic_id, first_id[t] + i);
			assert_int_equal(srat.cpu[i].domain, i);
		}
		/* The first region is in two pieces, around the hole below 1 MiB. */
		assert_int_equal(srat.nr_memory, ARRAY_SIZE(nodes) + 1);
		for (unsigned i = 0; i < srat.nr_memory; i++)
			assert_int_equal(srat.memory[i].domain, i ? i - 1 : 0);
		assert_int_equal(srat.memory[1].base, 0x100000);
		assert_int_equal(srat.memory[3].base, MIB(20));
		assert_int_equal(srat.memory[3].size, MIB(12));
	}
}

static void test_flat(void **)
{
	build(0, true);
	assert_int_equal(slit.count, 1);
	for (unsigned i = 0; i < srat.nr_cpus; i++)
		assert_int_equal(srat.cpu[i].domain, 0);
	for (unsigned i = 0; i < srat.nr_memory; i++)
		assert_int_equal(srat.memory[i].domain, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_nodes), cmocka_unit_test(test_flat) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
