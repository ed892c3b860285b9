/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collects what a VM's ACPI tables say. Host nodes become dense proximity domains, in their order.
 */
#include "vmm/acpi/guest_acpi.h"

#include <margay/errno.h>
#include <margay/host_cst.h>

#include "vmm/acpi/guest_acpi_parts.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

#define LOW_RAM_END 0xa0000ull
#define LOW_HOLE_END 0x100000ull

#define COLLECTED_PAGES (unsigned)(ALIGN_UP(sizeof(struct acpi_collected), PAGE_SIZE) / PAGE_SIZE)

static void add_memory(struct acpi_collected *c, u64 base, u64 end, u32 domain)
{
	if (base < end)
		c->memory[c->guest.nr_memory++] =
			(struct acpi_guest_memory){ base, end - base, domain };
}

/* RAM as the e820 shows it: without the hole below 1 MiB. */
static void collect_memory(struct acpi_collected *c, const struct gpa_map *map)
{
	for (unsigned i = 0; i < map->count; i++) {
		const struct gpa_region *r = &map->region[i];
		u64 end = r->gpa + r->size;
		u32 domain = guest_acpi_domain(c, r->node);

		if (r->gpa < LOW_RAM_END) {
			add_memory(c, r->gpa, MIN(end, LOW_RAM_END), domain);
			add_memory(c, LOW_HOLE_END, end, domain);
		} else {
			add_memory(c, r->gpa, end, domain);
		}
	}
}

static void collect_cpus(struct acpi_collected *c, const struct vm *vm)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		const struct vcpu *vcpu = vm->vcpus[i];

		c->cpu[i].node = guest_acpi_domain(c, host_cpu_info(vcpu->cpu)->node);
		c->cpu[i].apic_id = vcpu->apic_id;
		if (vm->config->cstates_firmware && vm_mwait(vm))
			c->cpu[i].cstates = host_cstates(vcpu->cpu);
	}
	c->guest.nr_cpus = vm->nr_vcpus;
}

int guest_acpi_build(struct vm *vm)
{
	void *area = guest_ptr(vm, gpa(GUEST_ACPI_BASE), GUEST_ACPI_SIZE);
	struct acpi_collected *c;
	u64 rsdp = 0;
	size_t used;
	int err;

	if (!area) {
		vm_tell(vm, "no RAM at %#lx for the ACPI tables: the first 2 MiB must be RAM",
			GUEST_ACPI_BASE);
		return -ENOMEM;
	}
	c = host_pages_alloc(COLLECTED_PAGES, -1);
	if (!c)
		return host_no_memory(vm->name);
	c->guest.cpus = c->cpu;
	c->guest.memory = c->memory;
	c->guest.distances = c->distances;
	c->guest.uart = pio_find(vm, GUEST_UART_PORT);
	c->guest.ioapic = vm->ioapic;
	c->guest.power = pio_find(vm, GUEST_SLEEP_CONTROL_PORT);
	c->guest.watchdog = pio_find(vm, GUEST_WATCHDOG_PORT);
	guest_acpi_nodes(c, vm);
	if (IS_ENABLED(CONFIG_NUMA) || IS_ENABLED(CONFIG_SMBIOS))
		collect_memory(c, &vm_parts(vm)->map);
	collect_cpus(c, vm);
	guest_acpi_pci(c, vm);
	err = acpi_build(&c->guest, GUEST_ACPI_BASE, area, GUEST_ACPI_SIZE, &rsdp,
			 IS_ENABLED(CONFIG_SMBIOS) ? &used : NULL);
	if (IS_ENABLED(CONFIG_SMBIOS) && !err)
		err = guest_smbios_build(vm, &c->guest, used);
	if (err)
		vm_tell(vm, "its ACPI tables do not fit: %u vCPUs, %u nodes", vm->nr_vcpus,
			c->guest.nr_nodes);
	else
		vm->rsdp = gpa(rsdp);
	host_pages_free(c, COLLECTED_PAGES);
	return err;
}

static int acpi_vm_create(struct vm *vm)
{
	/* All that the loaders write without a look is sound. */
	int err = guest_probe(vm, GUEST_ACPI_BASE + GUEST_ACPI_SIZE);

	return err ? err : guest_acpi_build(vm);
}

static const struct vm_stage acpi_stage = { .at = STAGE_ACPI, .create = acpi_vm_create };
VM_STAGE(acpi_stage);
