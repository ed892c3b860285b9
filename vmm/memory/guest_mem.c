/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest RAM by guest-physical address: every access is looked up in the VM's map, nothing is trusted. */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/memory/guest_mem.h"
#include "vmm/vm_parts.h"

void *guest_ptr(struct vm *vm, gpa_t addr, u64 size)
{
	const struct gpa_region *r = gpa_map_find(&vm_parts(vm)->map, addr.v);

	if (!r || size > r->size - (addr.v - r->gpa))
		return NULL;
	return host_hpa_to_virt(hpa(r->hpa + (addr.v - r->gpa)));
}

/* The longest piece of [addr, addr+size) that is contiguous; *len is its length. NULL when addr is not RAM. */
static void *piece(struct vm *vm, u64 addr, u64 size, u64 *len)
{
	const struct gpa_region *r = gpa_map_find(&vm_parts(vm)->map, addr);

	if (!r)
		return NULL;
	*len = MIN(size, r->size - (addr - r->gpa));
	return host_hpa_to_virt(hpa(r->hpa + (addr - r->gpa)));
}

int guest_read(struct vm *vm, gpa_t addr, void *buf, u64 size)
{
	for (u64 done = 0, len; done < size; done += len) {
		const void *p = piece(vm, addr.v + done, size - done, &len);

		if (!p)
			return -EFAULT;
		memcpy((u8 *)buf + done, p, len);
	}
	return 0;
}

int guest_write(struct vm *vm, gpa_t addr, const void *buf, u64 size)
{
	for (u64 done = 0, len; done < size; done += len) {
		void *p = piece(vm, addr.v + done, size - done, &len);

		if (!p)
			return -EFAULT;
		memcpy(p, (const u8 *)buf + done, len);
	}
	return 0;
}

int guest_zero(struct vm *vm, gpa_t addr, u64 size)
{
	for (u64 done = 0, len; done < size; done += len) {
		void *p = piece(vm, addr.v + done, size - done, &len);

		if (!p)
			return -EFAULT;
		memset(p, 0, len);
	}
	return 0;
}
