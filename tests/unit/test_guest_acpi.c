/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_guest_acpi.sources */
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

#include "kernel/acpi/aml_cst.h"
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

#define READ(reader, signature, out) \
	do { \
		const struct acpi_sdt *h_ = find(vm, signature); \
		assert_null(reader(h_, h_->length, out)); \
	} while (0)

/*
 * How many processors the DSDT has, each with what the host says, and the UID of the MADT's entry
 * for its place.
 */
static unsigned processors(struct vm *vm)
{
	static struct aml_processor p[4];
	const struct acpi_sdt *facp = find(vm, "FACP"), *dsdt;
	struct aml_span body;
	struct aml_tables tables = { &body, 1 };
	unsigned n;

	dsdt = guest_ptr(vm, gpa(((const struct acpi_fadt *)facp)->x_dsdt), sizeof(*dsdt));
	body = (struct aml_span){ (const u8 *)(dsdt + 1), dsdt->length - sizeof(*dsdt) };
	n = aml_processors(&tables, p, ARRAY_SIZE(p));
	aml_cstates(&tables, p, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(p[i].uid, madt.cpu[i].uid);
		assert_memory_equal(&p[i].states, fake_host.cstates, sizeof(p[i].states));
	}
	return n;
}

static const struct cstates *told;
static bool direct, mwait, asked;
static unsigned nr_processors;

/* A vCPU and a third of the memory on each of the nodes, the first with APIC ID first_id. */
static void build(u32 first_id, bool flat)
{
	static struct vcpu others[2];
	struct vm_config config = { .flat = flat, .cstates_firmware = asked };
	struct vm *vm;

	fake_host_reset();
	vm = fake_vm_create(MEMORY);
	vm->config = &config;
	vm->direct = direct;
	vm->mwait = mwait;
	fake_host.cstates = told;
	fake_host.nr_cpus = ARRAY_SIZE(nodes);
	memset(&vm_parts(vm)->map, 0, sizeof(vm_parts(vm)->map));
	for (unsigned i = 0; i < ARRAY_SIZE(nodes); i++) {
		u64 start = i * MIB(10), size = i == 2 ? MIB(12) : MIB(10);

		assert_int_equal(gpa_map_add(&vm_parts(vm)->map, vm->extent[0].base.v + start, size,
					     nodes[i]),
				 0);
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
	nr_processors = processors(vm);
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
						 host_node_distance((unsigned)nodes[i],
								    (unsigned)nodes[k]));
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

/*
 * The node's C-states are told where MWAIT is shown, where they are known, and where the VM file
 * asks for them.
 */
static void test_cstates(void **)
{
	static const struct cstates cstates = {
		2,
		{
			{ { ACPI_SPACE_FIXED_HARDWARE, 2, 2, 0, 0 }, 1, 1, 0 },
			{ { ACPI_SPACE_FIXED_HARDWARE, 1, 2, 3, 0x20 }, 2, 133, 250 },
		}
	};

	for (unsigned i = 0; i < 16; i++) {
		told = i & 1 ? &cstates : NULL;
		direct = i & 2;
		mwait = i & 4;
		asked = i & 8;
		build(0, false);
		assert_int_equal(nr_processors, i == 15 ? ARRAY_SIZE(nodes) : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_flat),
		cmocka_unit_test(test_cstates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
