/* SPDX-License-Identifier: GPL-2.0-only */
/* Making and unmaking a virtual machine: memory, second-level tables, CPUID, devices, ACPI tables, guest image. */
#include "vmm/vm.h"

#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/acpi/guest_acpi.h"
#include "vmm/debugger.h"
#include "vmm/devices.h"
#include "vmm/guest_platform.h"
#include "vmm/hvm.h"
#include "vmm/load/load_check.h"
#include "vmm/load/load_linux.h"
#include "vmm/load/loader.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/memory/shootdown.h"
#include "vmm/memory/split.h"
#include "vmm/pci/pci_dma.h"
#include "vmm/pci/pci_virtual.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/plan/place.h"
#include "vmm/slot.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

extern const struct loader *const __start_loaders[], *const __stop_loaders[];

/* What a VM is: its parts, and behind them a pointer for each device that this image was linked with. */
static unsigned vm_pages(void)
{
	return (unsigned)(ALIGN_UP(sizeof(struct vm_parts) + devices_count() * sizeof(void *), PAGE_SIZE) / PAGE_SIZE);
}

/* ---- second-level tables ----------------------------------------------------- */

static_assert((int)VM_LEAF_4K == LEAF_4K && (int)VM_LEAF_2M == LEAF_2M && (int)VM_LEAF_1G == LEAF_1G, "the same order");

static int stage2_build(struct vm *vm)
{
	struct vm_parts *parts = vm_parts(vm);
	enum stage2_leaf leaf = MIN((enum stage2_leaf)vm->config->leaf, hvm_caps.stage2_1g ? LEAF_1G : LEAF_2M);
	int err = stage2_init(&parts->stage2, hvm->stage2_format, &stage2_host_pages, leaf);

	parts->stage2.small_exec = IS_ENABLED(CONFIG_MITIGATIONS) && vm_splits(vm);
	for (unsigned i = 0; !err && i < parts->map.count; i++) {
		const struct gpa_region *r = &parts->map.region[i];

		err = vm_map_host(vm, gpa(r->gpa), hpa(r->hpa), r->size, STAGE2_RWX, MEMTYPE_WB);
	}
	if (err == -ENOMEM)
		return host_no_memory(vm->name);
	if (err)
		vm_tell(vm, "%s tables: internal map error", hvm->stage2_format->name);
	return err;
}

/* ---- the parts in order --------------------------------------------------------- */

static int cpuid_build(struct vm *vm)
{
	u64 ignored;
	struct cpuid_input in = {
		.host = host_cpuid_for, .caps = &hvm_caps, .nr_vcpus = vm->nr_vcpus,
		.flat = vm->config->flat, .direct = vm_direct(vm), .mwait = vm_mwait(vm), .ext_dest_id = vm->wide_ids,
		.tsc_khz = host_tsc_khz(), .tsc_stable = host_tsc_stable(),
		.tsc_freezes = IS_ENABLED(CONFIG_VM_PAUSE) && vm->config->clock == VM_CLOCK_FREEZE,
		.pvclock = msr_find(vm, MSR_KVM_SYSTEM_TIME),
		.machine_checks = IS_ENABLED(CONFIG_VM_MACHINE_CHECKS) && vm->config->on_mce == ON_MCE_INJECT,
		.counters = IS_ENABLED(CONFIG_VM_COUNTERS) && (msr_find(vm, MSR_PERF_SELECT0) ||
							       msr_find(vm, MSR_AMD_CORE_SELECT0)),
		.arch_capabilities_ok = host_rdmsr(MSR_ARCH_CAPABILITIES, &ignored) == 0,
	};

	return cpuid_policy_build(&in, &vm_parts(vm)->cpuid);
}

static int vcpus_create(struct vm *vm)
{
	for (unsigned i = 0; i < vm->nr_host_cpus; i++) {
		struct vcpu *vcpu = vcpu_create(vm, i);

		if (!vcpu)
			return host_no_memory(vm->name);
		vm->wide_ids = vm->wide_ids || vcpu->apic_id >= 0xff;
		vm->vcpus[vm->nr_vcpus++] = vcpu;
	}
	return 0;
}

const struct host_module *vm_find_module(const char *name)
{
	const struct host_module *m;

	for (unsigned i = 0; (m = host_module(i)); i++)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

/* Who has made a medium with the module will not look for what the boot loader had no room for. */
static int no_module(const struct vm_config *c, const struct vm_config_name *name, struct config_error *e)
{
	if (!IS_ENABLED(CONFIG_BOOT_LOG))
		return vm_config_error(e, c->file, name->line, VM_CONFIG_NO_MODULE, name->key, name->name);
	return vm_config_error(e, c->file, name->line, VM_CONFIG_NO_MODULE "; it had room for one of %lu MiB", name->key,
			       name->name, host_module_room() >> 20);
}

/* What the parser cannot know: which modules there are, and the node's clock. */
static int config_check(struct vm *vm)
{
	const struct vm_config *c = vm->config;
	struct vm_config_name name;
	struct config_error e;
	bool is_linux = false;
	int err = 0;

	for (unsigned i = 0; !err && vm_config_name(c, i, &name); i++) {
		const struct host_module *m = vm_find_module(name.name);

		if (!m)
			err = no_module(c, &name, &e);
		else if (IS_ENABLED(CONFIG_BOOT_LOG))
			err = load_check(c, &name, m->data, m->size, &is_linux, &e);
	}
	if (IS_ENABLED(CONFIG_VM_PAUSE) && !err && c->clock == VM_CLOCK_FREEZE && !host_tsc_stable())
		err = vm_config_error(&e, c->file, c->line_clock,
				      "clock = freeze: the TSCs of this node are not one clock that could stand still: use follow");
	if (IS_ENABLED(CONFIG_VM_TSC_ONLY) && !err && c->no_pvclock && !host_tsc_stable())
		err = vm_config_error(&e, c->file, c->line_pvclock,
				      "pvclock = no: the TSCs of this node are not one clock, and the guest has no other: use yes");
	if (err)
		vm_tell(vm, "%s", e.text);
	return err;
}

/* The loader that knows the image; Linux' own else, which says what is wrong with it. */
static int image_load(struct vm *vm)
{
	const struct vm_config *c = vm->config;
	const struct host_module *kernel = vm_find_module(c->kernel), *module[VM_MODULES_MAX];

	for (unsigned i = 0; IS_ENABLED(CONFIG_VM_MODULES) && i < c->nr_modules; i++)
		module[i] = vm_find_module(c->module[i].name);
	for (const struct loader *const *l = __start_loaders; IS_ENABLED(CONFIG_MULTIBOOT) && l < __stop_loaders; l++) {
		if (!(*l)->probe(kernel))
			continue;
		if (c->initrd[0]) {
			if (!IS_ENABLED(CONFIG_BOOT_LOG))
				vm_tell(vm, "kernel %s is no Linux kernel and takes no initrd: name what it wants by module =",
					c->kernel);
			return -EINVAL;
		}
		return (*l)->load(vm, kernel, module);
	}
	return load_linux(vm, kernel, module, c->initrd[0] ? vm_find_module(c->initrd) : NULL, c->cmdline);
}

static void print_shape(const struct vm *vm)
{
	const struct vm_parts *parts = vm_parts(vm);
	const struct stage2 *s = &parts->stage2;

	for (unsigned i = 0; i < parts->map.count; i++) {
		const struct gpa_region *r = &parts->map.region[i];

		vm_note(vm, "memory: %luM on node %d: %#lx is at %#lx", r->size >> 20, r->node, r->gpa, r->hpa);
	}
	if (vm_direct(vm) || (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && vm->not_direct))
		vm_note(vm, "interrupts: %s%s", vm->direct ? "direct" : "emulated: ", vm->direct ? "" : vm->not_direct);
	vm_note(vm, "%s: %lu 1G, %lu 2M, %lu 4K leaves, %u tables", s->fmt->name, s->leaves[LEAF_1G],
	       s->leaves[LEAF_2M], s->leaves[LEAF_4K], s->tables);
}

int vm_create(const struct vm_config *config, unsigned id, struct vm **out)
{
	unsigned pages = vm_pages();
	struct vm_parts *parts = host_pages_alloc(pages, -1);
	struct vm *vm;
	int err;

	if (!parts)
		return host_no_memory(config->name);
	vm = &parts->vm;
	vm->device = (void **)(parts + 1);
	vm->own_bytes = pages * PAGE_SIZE;
	host_account(&vm->own_bytes);
	vm->id = id;
	vm->config = config;
	memcpy(vm->name, config->name, sizeof(vm->name));
	err = config_check(vm);
	if (err)
		goto fail;
	mtrr_reset(&parts->mtrr, GPA_HOLE_START, GPA_HOLE_END, hvm_caps.phys_bits);
	err = place_vm(vm);
	err = err ? err : stage2_build(vm);
	err = err ? err : vcpus_create(vm);
	if (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS))
		err = err ? err : direct_decide(vm, vm_find_module(config->kernel));
	err = err ? err : devices_create(vm);
	if (IS_ENABLED(CONFIG_VIRTIO))
		err = err ? err : pci_virtual_place(vm);
	if (IS_ENABLED(CONFIG_PASSTHROUGH))
		err = err ? err : dma_create(vm);
	err = err ? err : cpuid_build(vm);
	err = err ? err : guest_probe(vm, GUEST_ACPI_BASE + GUEST_ACPI_SIZE);
	err = err ? err : guest_acpi_build(vm);
	err = err ? err : image_load(vm);
	if (err)
		goto fail;
	print_shape(vm);
	host_account(NULL);
	*out = vm;
	return 0;
fail:
	host_account(NULL);
	vm_destroy(vm);
	return err;
}

void vm_destroy(struct vm *vm)
{
	struct pci_end *left;

	if (debugger_on())
		debugger->vm_ended(vm);
	devices_destroy(vm);
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		vcpu_destroy(vm->vcpus[i]);
	if (IS_ENABLED(CONFIG_PASSTHROUGH))
		dma_destroy(vm);
	stage2_destroy(&vm_parts(vm)->stage2);
	left = vm->pci_end;
	if (SLOTS_WAIT && left)
		vm_pci_keep_memory(vm);
	unplace_vm(vm);
	vm_ranges_free(vm);
	host_pages_free(vm_parts(vm), vm_pages());
	if (SLOTS_WAIT && left)
		vm_pci_linger(left);
}
