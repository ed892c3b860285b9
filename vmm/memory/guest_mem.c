/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest RAM by guest-physical address: every access is looked up in the VM's map, nothing is
 * trusted.
 */
#include <margay/errno.h>
#include <margay/mc_access.h>

#include "vmm/memory/guest_mem.h"
#include "vmm/vm_parts.h"

/* Is some of it known to be lost? */
static bool is_lost(u64 hpa, u64 size)
{
	return host_memory_lost_in(ALIGN_DOWN(hpa, PAGE_SIZE), hpa + size) != hpa + size;
}

#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
bool guest_is_lost(struct vm *vm, gpa_t addr)
{
	const struct gpa_region *r = gpa_map_find(&vm_parts(vm)->map, addr.v);

	return r && is_lost(r->hpa + (addr.v - r->gpa), 1);
}
#endif

void *guest_ptr(struct vm *vm, gpa_t addr, u64 size)
{
	const struct gpa_region *r = gpa_map_find(&vm_parts(vm)->map, addr.v);

	if (!r || size > r->size - (addr.v - r->gpa) || is_lost(r->hpa + (addr.v - r->gpa), size))
		return NULL;
	return host_hpa_to_virt(hpa(r->hpa + (addr.v - r->gpa)));
}

bool guest_window(struct vm *vm, gpa_t addr, struct gpa_window *w)
{
	const struct gpa_region *r = gpa_map_find(&vm_parts(vm)->map, addr.v);
	u64 from, end;

	if (!r)
		return false;
	from = r->hpa;
	end = r->hpa + r->size;
	if (unlikely(is_lost(from, r->size))) {
		from = ALIGN_DOWN(r->hpa + (addr.v - r->gpa), PAGE_SIZE);
		end = host_memory_lost_in(from, end);
	}
	if (from == end)
		return false;
	*w = (struct gpa_window){ r->gpa + (from - r->hpa), end - from,
				  host_hpa_to_virt(hpa(from)) };
	return true;
}

int guest_lost(struct vm *vm)
{
	u64 at;

	if (!IS_ENABLED(CONFIG_MACHINE_CHECKS) ||
	    !gpa_map_of_host(&vm_parts(vm)->map, host_failed_page(), &at))
		return -EIO;
	if (vm_end(vm, VM_END_MACHINE_CHECK))
		vm_tell(vm,
			"memory that the hypervisor uses for it is lost, at GPA %#lx: the machine checks before",
			at);
	return -EIO;
}

/*
 * The longest piece of [addr, addr+size) that is contiguous; *len is its length. NULL when addr is
 * not RAM, or it is lost.
 */
static void *piece(struct vm *vm, u64 addr, u64 size, u64 *len)
{
	const struct gpa_region *r = gpa_map_find(&vm_parts(vm)->map, addr);

	if (!r)
		return NULL;
	*len = MIN(size, r->size - (addr - r->gpa));
	if (is_lost(r->hpa + (addr - r->gpa), *len))
		return NULL;
	return host_hpa_to_virt(hpa(r->hpa + (addr - r->gpa)));
}

int guest_read(struct vm *vm, gpa_t addr, void *buf, u64 size)
{
	for (u64 done = 0, len; done < size; done += len) {
		const void *p = piece(vm, addr.v + done, size - done, &len);

		if (!p)
			return -EFAULT;
		if (!mc_copy((u8 *)buf + done, p, len))
			return guest_lost(vm);
	}
	return 0;
}

int guest_write(struct vm *vm, gpa_t addr, const void *buf, u64 size)
{
	for (u64 done = 0, len; done < size; done += len) {
		void *p = piece(vm, addr.v + done, size - done, &len);

		if (!p)
			return -EFAULT;
		if (!mc_copy(p, (const u8 *)buf + done, len))
			return guest_lost(vm);
	}
	return 0;
}

int guest_zero(struct vm *vm, gpa_t addr, u64 size)
{
	for (u64 done = 0, len; done < size; done += len) {
		void *p = piece(vm, addr.v + done, size - done, &len);

		if (!p)
			return -EFAULT;
		if (!mc_zero(p, len))
			return guest_lost(vm);
	}
	return 0;
}

int guest_probe(struct vm *vm, u64 end)
{
	u64 word;

	for (u64 at = 0, len; at < end; at += len) {
		const u8 *p = piece(vm, at, end - at, &len);

		if (!p)
			return 0;
		for (u64 i = 0; i < len; i += sizeof(word))
			if (!mc_load64(p + i, &word))
				return guest_lost(vm);
	}
	return 0;
}
