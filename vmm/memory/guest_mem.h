/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to a guest's RAM by guest-physical and guest-virtual address. Nothing here trusts the
 * guest.
 */
#ifndef VMM_GUEST_MEM_H
#define VMM_GUEST_MEM_H

#include <margay/types.h>

struct gpa_window;
struct hvm_context;
struct vcpu;
struct vm;

/*
 * Host pointer to [gpa, gpa+size) when all of it is RAM of one extent, none of it known to be lost,
 * else NULL. The guest may change the bytes at any time: read each once. The machine may lose them:
 * access them by mc_access.h only.
 */
void *guest_ptr(struct vm *vm, gpa_t gpa, u64 size);

/*
 * The same for who looks up many addresses: all that lies about the one. False, and *w as it was:
 * it is no RAM, or lost.
 */
bool guest_window(struct vm *vm, gpa_t gpa, struct gpa_window *w);

/*
 * Copies from or to guest RAM across extents. 0; -EFAULT, and nothing more copied past the first
 * bad byte; -EIO: guest_lost().
 */
int guest_read(struct vm *vm, gpa_t gpa, void *buf, u64 size);
int guest_write(struct vm *vm, gpa_t gpa, const void *buf, u64 size);
int guest_zero(struct vm *vm, gpa_t gpa, u64 size);
/*
 * Reads the guest's memory up to `end`, for whoever makes things in place there before it runs. 0;
 * -EIO: guest_lost().
 */
int guest_probe(struct vm *vm, u64 end);

/*
 * What all of the above, and whoever uses guest_ptr() by mc_access.h, does when the memory turns
 * out to be lost: ends the VM if the memory is its own. -EIO. What is nobody's RAM (a module's, a
 * disk's) is an access that failed and nothing else.
 */
int guest_lost(struct vm *vm);
#if IS_ENABLED(CONFIG_MACHINE_CHECKS)
/* Is it RAM that the machine is known to have lost? All of the above refuse it. */
bool guest_is_lost(struct vm *vm, gpa_t gpa);
#else
static inline bool guest_is_lost(struct vm *, gpa_t)
{
	return false;
}
#endif

/* DEBUG: whatever the rights, and without a trace in the tables. */
enum guest_access { ACCESS_READ, ACCESS_WRITE, ACCESS_FETCH, ACCESS_DEBUG };

/* A guest page walk's failure, ready for vcpu_raise_page_fault(). */
struct guest_fault {
	u64 cr2;
	u32 error;
};

/*
 * Walks the guest's page tables (all paging modes, SMEP/SMAP/WP/NX honoured) for
 * an access that the monitor makes in the CPU's stead: sets accessed and dirty
 * bits. 0 and *out, or -EFAULT and *fault.
 */
int guest_translate(struct vcpu *vcpu, u64 gva, enum guest_access access, gpa_t *out,
		    struct guest_fault *fault);

/*
 * Host pointer to the code at a linear address, up to the end of its page, for
 * a vCPU in context *c. The vCPU remembers the last page and the page-table
 * entries that lead there: while they stay as they are, no walk is needed. 0;
 * -EFAULT and *fault; -EIO: mapped, but not to RAM.
 */
int guest_fetch(struct vcpu *vcpu, const struct hvm_context *c, u64 gva, const u8 **out,
		struct guest_fault *fault);
/*
 * The same where nothing has changed since the last guest_fetch(); NULL: something has. Needs
 * nothing of the CPU's own.
 */
const u8 *guest_fetched(const struct vcpu *vcpu, const struct hvm_context *c, u64 gva);

/*
 * Reads at a linear address, page by page, with the rights of that access. 0; -EFAULT and *fault;
 * -EIO: mapped, but not to RAM.
 */
int guest_read_virt(struct vcpu *vcpu, u64 gva, enum guest_access access, void *buf, unsigned size,
		    struct guest_fault *fault);

#endif
