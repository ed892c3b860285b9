/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A page that a test kernel moves about its physical address space, as a
 * PCI function's BAR is moved: the hypervisor's way to take a mapping from a
 * running VM, for guests that test it. Where the VM file says `debug_exit =
 * yes`. A move is over when the OUT is: neither a CPU nor a PCI function that an
 * IOMMU contains finds the page at its old place any more. With WINDOW_NO_FLUSH
 * set it is not, which the test must notice.
 */
#include <margay/errno.h>

#include "vmm/hvm.h"
#include "vmm/memory/shootdown.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm_parts.h"

#define WINDOW_PORT 0xf8
#define WINDOW_PORTS 4
#define WINDOW_NO_FLUSH BIT(31) /* bits 30:0: page number (GPA / 4096); 0: nowhere */

struct window {
	void *page;
	u32 at; /* where it is, as the guest wrote it; guarded by the VM's stage-2 lock */
};

/* Neither RAM nor a device's registers, and within the CPU's addresses. */
static bool is_free(const struct vm *vm, u64 gpa)
{
	const struct vm_ranges *all = &vm_parts(vm)->ranges;

	if (gpa_map_find(&vm_parts(vm)->map, gpa) || gpa >> hvm_caps.phys_bits)
		return false;
	for (unsigned i = 0; i < all->nr_mmio; i++)
		if (gpa - ALIGN_DOWN(all->mmio[i].base, PAGE_SIZE) <
		    ALIGN_UP(all->mmio[i].size, PAGE_SIZE))
			return false;
	return true;
}

static u32 window_read(void *dev, struct vcpu *, u16, unsigned)
{
	const struct window *w = dev;

	return __atomic_load_n(&w->at, __ATOMIC_RELAXED);
}

static void window_write(void *dev, struct vcpu *vcpu, u16, unsigned, u32 value)
{
	u64 to = (value & ~WINDOW_NO_FLUSH) * PAGE_SIZE;
	struct window *w = dev;
	struct vm *vm = vcpu->vm;
	int err = 0;

	vm_stage2_lock(vcpu);
	if (w->at && value & WINDOW_NO_FLUSH)
		err = stage2_unmap(&vm_parts(vm)->stage2, w->at * PAGE_SIZE, PAGE_SIZE);
	else if (w->at)
		err = vm_unmap(vcpu, gpa(w->at * PAGE_SIZE), PAGE_SIZE);
	w->at = 0;
	if (err || !is_free(vm, to))
		to = 0;
	if (to)
		err = vm_map(vm, gpa(to), host_virt_to_hpa(w->page), PAGE_SIZE, STAGE2_RWX,
			     MEMTYPE_WB);
	if (err && to)
		vm_unmap(vcpu, gpa(to), PAGE_SIZE);
	if (err)
		vm_log(vm, "vcpu%u: no memory to move the debug window", vcpu->id);
	else
		__atomic_store_n(&w->at, (u32)(to / PAGE_SIZE), __ATOMIC_RELAXED);
	vm_stage2_unlock(vm);
}

static const struct pio_ops window_ops = { .sizes = 4, .read = window_read, .write = window_write };

static void window_destroy(struct vm *, void *instance)
{
	struct window *w = instance;

	if (!w)
		return;
	host_pages_free(w->page, 1);
	host_pages_free(w, 1);
}

static int window_create(struct vm *vm, void **instance)
{
	struct window *w;

	if (!vm->config->debug_exit)
		return 0;
	w = *instance = host_pages_alloc(1, -1);
	if (w)
		w->page = host_pages_alloc(1, -1);
	if (!w || !w->page)
		return host_no_memory(vm->name);
	return vm_register_pio(vm, WINDOW_PORT, WINDOW_PORTS, &window_ops, w);
}

static const struct vdev window_vdev = { .create = window_create, .destroy = window_destroy };
VDEV(window_vdev);
