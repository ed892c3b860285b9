/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collects what a VM's ACPI tables say. Host nodes become dense proximity domains, in their order.
 */
#include "vmm/acpi/guest_acpi.h"

#include <margay/errno.h>
#include <margay/host_cst.h>

#include "vmm/acpi/acpi_build.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/pci/dma_windows.h"
#include "vmm/pci/pci_virtual.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/guest_platform.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

#define LOW_RAM_END 0xa0000ull
#define LOW_HOLE_END 0x100000ull

/* Everything the builder takes; too big for the stack. */
struct collected {
	struct acpi_guest guest;
	int host_node[ACPI_GUEST_MAX_NODES]; /* by proximity domain */
	u8 distances[ACPI_GUEST_MAX_NODES * ACPI_GUEST_MAX_NODES];
	struct acpi_guest_cpu cpu[VM_MAX_VCPUS];
	struct acpi_guest_memory memory[GPA_MAP_MAX + 1];
	struct acpi_guest_root root[VM_PCI_FUNCTIONS + 2];
	struct acpi_guest_window
		window[VM_PCI_FUNCTIONS * (PCI_BARS + IS_ENABLED(CONFIG_SRIOV) * PCI_ROM_BAR) +
		       PCI_VIRTUAL_MAX];
	struct acpi_guest_intx intx[VM_PCI_FUNCTIONS];
};

#define COLLECTED_PAGES (unsigned)(ALIGN_UP(sizeof(struct collected), PAGE_SIZE) / PAGE_SIZE)

/*
 * The host's nodes that the VM has memory or CPUs on, in their order; all as one where it sees no
 * nodes.
 */
static void number_nodes(struct collected *c, const struct vm *vm)
{
	const struct gpa_map *map = &vm_parts(vm)->map;
	u64 used = 0;

	for (unsigned i = 0; i < map->count; i++)
		used |= BIT(map->region[i].node);
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		used |= BIT(host_cpu_info(vm->vcpus[i]->cpu)->node);
	for (int n = 0; n < ACPI_GUEST_MAX_NODES; n++) {
		if (!(used & BIT(n)))
			continue;
		c->host_node[c->guest.nr_nodes++] = n;
		if (vm->config->flat)
			break;
	}
}

static u32 domain_of(const struct collected *c, int host_node)
{
	u32 domain = 0;

	while (IS_ENABLED(CONFIG_NUMA) && domain + 1 < c->guest.nr_nodes &&
	       c->host_node[domain] != host_node)
		domain++;
	return domain;
}

static void add_memory(struct collected *c, u64 base, u64 end, u32 domain)
{
	if (base < end)
		c->memory[c->guest.nr_memory++] =
			(struct acpi_guest_memory){ base, end - base, domain };
}

/* RAM as the e820 shows it: without the hole below 1 MiB. */
static void collect_memory(struct collected *c, const struct gpa_map *map)
{
	for (unsigned i = 0; i < map->count; i++) {
		const struct gpa_region *r = &map->region[i];
		u64 end = r->gpa + r->size;
		u32 domain = domain_of(c, r->node);

		if (r->gpa < LOW_RAM_END) {
			add_memory(c, r->gpa, MIN(end, LOW_RAM_END), domain);
			add_memory(c, LOW_HOLE_END, end, domain);
		} else {
			add_memory(c, r->gpa, end, domain);
		}
	}
}

static void collect_cpus(struct collected *c, const struct vm *vm)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		const struct vcpu *vcpu = vm->vcpus[i];

		c->cpu[i].node = domain_of(c, host_cpu_info(vcpu->cpu)->node);
		c->cpu[i].apic_id = vcpu->apic_id;
		if (vm->config->cstates_firmware && vm_mwait(vm))
			c->cpu[i].cstates = host_cstates(vcpu->cpu);
	}
	c->guest.nr_cpus = vm->nr_vcpus;
}

static void collect_distances(struct collected *c)
{
	unsigned n = c->guest.nr_nodes;

	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++)
			c->distances[i * n + j] =
				i == j ? 10
				       : host_node_distance((unsigned)c->host_node[i],
							    (unsigned)c->host_node[j]);
}

/* A node of the host's that the guest does not see is none. */
static void add_root(struct collected *c, u8 bus, int host_node)
{
	struct acpi_guest_root *root = c->root;
	unsigned n = 0;

	while (n < c->guest.nr_roots && root[n].bus != bus)
		n++;
	if (n == c->guest.nr_roots)
		root[c->guest.nr_roots++] = (struct acpi_guest_root){ bus, bus, -1, false };
	if (host_node >= 0 && c->guest.nr_nodes > 1 &&
	    c->host_node[domain_of(c, host_node)] == host_node)
		root[n].node = (int)domain_of(c, host_node);
}

/* One entry for a pin that functions of a device share. */
static void add_intx(struct collected *c, const struct vm_pci *pci, unsigned n)
{
	const struct acpi_guest_intx new = {
		pci->function[n].address.bus,
		PCI_DEVICE(pci->function[n].address.devfn),
		pci->intx[n].pin,
		pci->intx[n].gsi,
	};

	if (!pci->intx[n].has_gsi)
		return;
	for (unsigned i = 0; i < c->guest.nr_intx; i++)
		if (c->intx[i].bus == new.bus && c->intx[i].device == new.device &&
		    c->intx[i].pin == new.pin)
			return;
	c->intx[c->guest.nr_intx++] = new;
}

/*
 * Each bus with a function is a root bus, so that functions keep their
 * addresses without the bridges before them; bus 0 is always there. Their
 * windows are exactly the BARs: all that the guest's map has of them.
 */
static void collect_pci(struct collected *c, const struct vm *vm)
{
	const struct vm_pci *pci = vm->pci;

	c->guest.ecam = pci->ecam;
	c->guest.ecam_base = pci->ecam_base;
	c->guest.ecam_last_bus = pci->last_bus;
	c->guest.roots = c->root;
	c->guest.windows = c->window;
	c->guest.intx = c->intx;
	add_root(c, 0, -1);
	for (unsigned i = 0; i < pci->nr_functions; i++) {
		const struct host_pci_function *f = &pci->function[i];

		add_root(c, f->address.bus, f->node);
		for (unsigned k = 0; k < PCI_BARS; k++)
			if (f->bar[k].size && f->bar[k].base)
				c->window[c->guest.nr_windows++] = (struct acpi_guest_window){
					f->address.bus,
					pci_bar_is_io(&f->bar[k]),
					f->bar[k].base,
					f->bar[k].size,
				};
		guest_acpi_vfs(pci, i, &c->guest, c->window, c->root);
		add_intx(c, pci, i);
	}
	if (!vm_virtual(vm))
		return;
	c->root[c->guest.nr_roots++] =
		(struct acpi_guest_root){ pci->virtual_bus, pci->virtual_bus, -1, true };
	for (const struct pci_virtual *f = vm->virtual; f; f = f->next)
		c->window[c->guest.nr_windows++] =
			(struct acpi_guest_window){ pci->virtual_bus, false, f->bar,
						    PCI_VIRTUAL_BAR_SIZE };
}

int guest_acpi_build(struct vm *vm)
{
	void *area = guest_ptr(vm, gpa(GUEST_ACPI_BASE), GUEST_ACPI_SIZE);
	struct collected *c;
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
	if (IS_ENABLED(CONFIG_NUMA)) {
		number_nodes(c, vm);
		collect_distances(c);
	} else {
		c->guest.nr_nodes = 1;
	}
	if (IS_ENABLED(CONFIG_NUMA) || IS_ENABLED(CONFIG_SMBIOS))
		collect_memory(c, &vm_parts(vm)->map);
	collect_cpus(c, vm);
	if (IS_ENABLED(CONFIG_PASSTHROUGH) && vm->pci)
		collect_pci(c, vm);
	if (IS_ENABLED(CONFIG_PASSTHROUGH) && vm->windows) {
		c->guest.dma = vm->windows->window;
		c->guest.nr_dma = vm->windows->count;
	}
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
