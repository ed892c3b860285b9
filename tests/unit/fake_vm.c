/* SPDX-License-Identifier: GPL-2.0-only */
/* See fake_vm.h. */
#include "tests/unit/fake_vm.h"

#include <margay/errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vmm/hvm.h"
#include "vmm/pci/pci_dma.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/slots/slot.h"
#include "vmm/vcpu.h"
#include "vmm/vm/startup.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm_parts.h"

/* Weak: a loader test links no device at all. */
extern const struct vdev *const __start_vdevs[] __attribute__((weak));
extern const struct vdev *const __stop_vdevs[] __attribute__((weak));

/* What devices keep beyond their VM's end. */
__attribute__((weak)) struct slot monitor_slots[MONITOR_MAX_VMS];

__attribute__((weak)) void pci_silence(struct vcpu *)
{
	fail();
}

/* Of VMs with functions. */
__attribute__((weak)) void pci_intx_end(struct vm_pci *, unsigned, u32 *)
{
	fail();
}

__attribute__((weak)) void pci_intx_lead(struct vm_pci *, unsigned, u64)
{
	fail();
}

__attribute__((weak)) bool pci_intx_in_service(struct vm_pci *, unsigned, bool)
{
	fail();
	return false;
}

/* Of ipi = direct: a test of that has its own. */
__attribute__((weak)) int vcpu_call(struct vcpu *, void (*)(struct vcpu *))
{
	fail();
	return 0;
}

__attribute__((weak)) void vcpu_serve_call(struct vcpu *)
{
	fail();
}

__attribute__((weak)) bool vcpu_may_answer(struct vcpu *, u64)
{
	return true;
}

__attribute__((weak)) void shootdown_flush(struct vcpu *vcpu)
{
	vcpu->stage2_seen = vcpu->vm->stage2_count;
}

/* Of memory that is known to be lost. */
__attribute__((weak)) void vcpu_lost_access(struct vcpu *, gpa_t)
{
	fail();
}

__attribute__((weak)) bool vm_tells_lost(struct vm *, u64)
{
	return true;
}

__attribute__((weak)) bool vcpu_nmi(struct host_work *)
{
	fail();
	return false;
}

__attribute__((weak)) void direct_take_init(struct vcpu *)
{
	fail();
}

unsigned fake_vm_vcpus;
u32 fake_vm_apic_id[FAKE_CPUS];
bool fake_vm_direct, fake_vm_ipi_direct, fake_vm_counters;

/* A test that has a backend defines its own. */
const struct hvm_ops *hvm __attribute__((weak));

struct vm_config fake_vm_config = {
	.file = "vm0.conf", .line_kernel = 1, .line_memory = 2, .line_initrd = 3, .line_cmdline = 4
};

static unsigned alive; /* VMs */

struct vm *fake_vm_create(u64 memory)
{
	struct vm *vm = calloc(1, sizeof(struct vm_parts));
	const struct vdev *const *d = __start_vdevs;

	assert_non_null(vm);
	alive++;
	strcpy(vm->name, "vm0");
	fake_vm_config.counters = fake_vm_counters;
	fake_vm_config.ipi_direct = fake_vm_ipi_direct;
	vm->config = &fake_vm_config;
	vm->direct = fake_vm_direct;
	vm->nr_vcpus = fake_vm_vcpus ? fake_vm_vcpus : 1;
	vm->vcpus = calloc(VM_MAX_VCPUS, sizeof(*vm->vcpus));
	vm->host_cpu = calloc(VM_MAX_VCPUS, sizeof(*vm->host_cpu));
	vm->device = calloc((size_t)(__stop_vdevs - d) + 1, sizeof(*vm->device));
	assert_true(vm->vcpus && vm->host_cpu && vm->device);
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		struct vcpu *vcpu = calloc(1, sizeof(*vcpu));

		assert_non_null(vcpu);
		vcpu->vm = vm;
		vcpu->id = vcpu->cpu = i;
		vcpu->apic_id = fake_vm_vcpus ? fake_vm_apic_id[i] : 0;
		vm->vcpus[i] = vcpu;
	}
	if (memory) {
		const struct host_extent_request req = { .size = memory, .node = -1 };

		assert_int_equal(host_extent_alloc(&req, &vm->extent[0]), 0);
		vm->nr_extents = 1;
		assert_int_equal(gpa_map_add(&vm_parts(vm)->map, vm->extent[0].base.v, memory, 0),
				 0);
	}
	for (; d != __stop_vdevs; d++, vm->nr_devices++)
		assert_int_equal((*d)->create ? (*d)->create(vm, &vm->device[vm->nr_devices]) : 0,
				 0);
	for (unsigned v = 0; v < vm->nr_vcpus; v++) {
		fake_host.this_cpu = v;
		for (unsigned i = 0; i < vm->nr_devices; i++)
			if (__start_vdevs[i]->vcpu_start)
				__start_vdevs[i]->vcpu_start(vm->vcpus[v], vm->device[i]);
	}
	fake_host.this_cpu = 0;
	return vm;
}

void fake_vm_destroy(struct vm *vm)
{
	for (unsigned v = 0; v < vm->nr_vcpus; v++) {
		fake_host.this_cpu = v;
		for (unsigned i = 0; i < vm->nr_devices; i++)
			if (__start_vdevs[i]->vcpu_stop)
				__start_vdevs[i]->vcpu_stop(vm->vcpus[v], vm->device[i]);
	}
	fake_host.this_cpu = 0;
	assert_null(fake_host.timers);
	while (vm->nr_devices--) {
		if (__start_vdevs[vm->nr_devices]->destroy)
			__start_vdevs[vm->nr_devices]->destroy(vm, vm->device[vm->nr_devices]);
		else
			host_pages_free(vm->device[vm->nr_devices], 1);
	}
	if (vm->nr_extents)
		host_extent_free(&vm->extent[0]);
	/* The devices of others are still there. */
	if (!--alive)
		assert_int_equal(fake_host.pages_in_use, 0);
	for (unsigned v = 0; v < vm->nr_vcpus; v++)
		free(vm->vcpus[v]);
	free(vm->vcpus);
	free(vm->host_cpu);
	free(vm->device);
	free(vm);
}

/* ---- what the devices ask of the core ---- */

bool vm_end(struct vm *vm, enum vm_end why)
{
	bool first = vm->end == VM_RUNNING;

	if (first)
		vm->end = why;
	return first;
}

void vcpu_kick(struct vcpu *vcpu)
{
	host_cpu_kick(vcpu->cpu);
}

u32 fake_startup;

void vcpu_init_ipi(struct vcpu *)
{
	fake_startup = STARTUP_INIT;
}

void vcpu_sipi(struct vcpu *, u8 vector)
{
	fake_startup = STARTUP_SIPI | vector;
}

/* ---- the guest ---- */

/* These two as ranges.h promises the devices; anything else goes to nobody. */
static const struct pio_range *find_pio(const struct vm *vm, u16 port, unsigned size)
{
	const struct pio_range *r = pio_find(vm, port);

	return r && r->ops->sizes & size && IS_ALIGNED(port, size) ? r : NULL;
}

u32 guest_in(struct vm *vm, u16 port, unsigned size)
{
	const struct pio_range *r = find_pio(vm, port, size);
	u32 mask = size == 4 ? ~0u : (1u << size * 8) - 1;

	return (r ? r->ops->read(r->dev, vm->vcpus[0], port - r->base, size) : ~0u) & mask;
}

void guest_out(struct vm *vm, u16 port, unsigned size, u32 value)
{
	const struct pio_range *r = find_pio(vm, port, size);

	if (r)
		r->ops->write(r->dev, vm->vcpus[0], port - r->base, size, value);
}

static const struct mmio_range *find_mmio(const struct vm *vm, u64 addr, unsigned size)
{
	const struct vm_ranges *all = &vm_parts(vm)->ranges;

	for (const struct mmio_range *r = all->mmio; r < all->mmio + all->nr_mmio; r++)
		if (addr - r->base < r->size && size <= r->size - (addr - r->base))
			return r->ops->sizes & size && IS_ALIGNED(addr, size) ? r : NULL;
	return NULL;
}

u64 guest_load(struct vm *vm, u64 addr, unsigned size)
{
	const struct mmio_range *r = find_mmio(vm, addr, size);
	u64 mask = size == 8 ? ~0ull : (1ull << size * 8) - 1;

	return (r ? r->ops->read(r->dev, vm->vcpus[0], addr - r->base, size) : ~0ull) & mask;
}

void guest_store(struct vm *vm, u64 addr, unsigned size, u64 value)
{
	const struct mmio_range *r = find_mmio(vm, addr, size);

	if (r)
		r->ops->write(r->dev, vm->vcpus[0], addr - r->base, size, value);
}

static const struct msr_range *find_msr(const struct vm *vm, u32 msr)
{
	const struct vm_ranges *all = &vm_parts(vm)->ranges;

	for (unsigned i = 0; i < all->nr_msr; i++)
		if (msr >= all->msr[i].first && msr <= all->msr[i].last)
			return &all->msr[i];
	return NULL;
}

int guest_rdmsr(struct vm *vm, u32 msr, u64 *value)
{
	const struct msr_range *r = find_msr(vm, msr);

	return r ? r->ops->read(r->dev, vm->vcpus[0], msr, value) : -EFAULT;
}

int guest_wrmsr(struct vm *vm, u32 msr, u64 value)
{
	const struct msr_range *r = find_msr(vm, msr);

	return r ? r->ops->write(r->dev, vm->vcpus[0], msr, value) : -EFAULT;
}
