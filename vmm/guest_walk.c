/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's own page tables: linear to guest-physical address with the
 * access rights of SDM vol. 3, 4.3-4.6 (32-bit, PAE and 4-level paging; SMEP,
 * SMAP, WP and NX), and copies at linear addresses. Accessed and dirty bits
 * are not set: a walk here never stands for the CPU's own.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/guest_mem.h"
#include "vmm/hvm.h"

struct walk {
	struct vcpu *vcpu;
	u64 cr0, cr3, cr4, efer;
	enum guest_access access;
	bool user; /* CPL 3 */
};

static void walk_init(struct walk *w, struct vcpu *vcpu, enum guest_access access)
{
	struct segment ss;

	hvm->get_segment(vcpu, SEG_SS, &ss);
	*w = (struct walk){
		.vcpu = vcpu,
		.cr0 = hvm->get(vcpu, HVM_CR0),
		.cr3 = hvm->get(vcpu, HVM_CR3),
		.cr4 = hvm->get(vcpu, HVM_CR4),
		.efer = hvm->get(vcpu, HVM_EFER),
		.access = access,
		.user = (ss.attr >> SEG_ATTR_DPL_SHIFT & 3) == 3,
	};
}

static int fault(const struct walk *w, u64 gva, u32 error, struct guest_fault *out)
{
	error |= w->access == ACCESS_WRITE ? PFERR_W : 0;
	error |= w->user ? PFERR_U : 0;
	if (w->access == ACCESS_FETCH && (w->efer & EFER_NXE || w->cr4 & CR4_SMEP))
		error |= PFERR_I;
	*out = (struct guest_fault){ .cr2 = gva, .error = error };
	return -EFAULT;
}

/* May this access use a page with the combined rights of its path? (SDM vol. 3, 4.6.1) */
static bool permitted(const struct walk *w, bool user_page, bool writable, bool nx)
{
	switch (w->access) {
	case ACCESS_FETCH:
		if (nx && w->efer & EFER_NXE)
			return false;
		return w->user ? user_page : !(user_page && w->cr4 & CR4_SMEP);
	case ACCESS_WRITE:
		if (!writable && (w->user || w->cr0 & CR0_WP))
			return false;
		break;
	case ACCESS_READ:
		break;
	}
	if (w->user)
		return user_page;
	return !(user_page && w->cr4 & CR4_SMAP && !(w->vcpu->regs.rflags & RFLAGS_AC));
}

/* What differs between the paging modes: entry size, levels, index bits per level. */
struct paging_mode {
	u8 entry_size, levels, index_bits;
};

static struct paging_mode paging_mode(const struct walk *w)
{
	if (!(w->cr4 & CR4_PAE))
		return (struct paging_mode){ 4, 2, 10 };
	if (!(w->efer & EFER_LMA))
		return (struct paging_mode){ 8, 3, 9 };
	return (struct paging_mode){ 8, 4, 9 };
}

static int walk(const struct walk *w, u64 gva, gpa_t *out, struct guest_fault *f)
{
	struct paging_mode m = paging_mode(w);
	bool pae32 = m.levels == 3;
	u64 table = w->cr3 & (pae32 ? 0xffffffe0ull : m.entry_size == 4 ? 0xfffff000ull : PTE_ADDR);
	bool user = true, writable = true, nx = false;

	if (m.levels != 4)
		gva &= 0xffffffff;
	for (unsigned level = m.levels; level-- > 0;) {
		unsigned shift = PAGE_SHIFT + level * m.index_bits;
		u64 index = gva >> shift & (BIT(m.index_bits) - 1);
		u64 e = 0;

		if (guest_read(w->vcpu->vm, gpa(table + index * m.entry_size), &e, m.entry_size))
			return fault(w, gva, 0, f);
		if (!(e & PTE_P))
			return fault(w, gva, 0, f);
		/* The four PAE pointers carry no rights. */
		if (!(pae32 && level == 2)) {
			user = user && e & PTE_U;
			writable = writable && e & PTE_W;
			nx = nx || (m.entry_size == 8 && e & PTE_NX);
		}
		if (level == 0 || (level < 3 && e & PTE_PS && !(pae32 && level == 2) &&
				   (m.entry_size == 8 || w->cr4 & CR4_PSE))) {
			u64 base = e & PTE_ADDR & ~(BIT(shift) - 1);

			if (m.entry_size == 4)
				base = level ? (e & 0xffc00000) | (e >> 13 & 0xff) << 32 : e & 0xfffff000;
			if (!permitted(w, user, writable, nx))
				return fault(w, gva, PFERR_P, f);
			*out = gpa(base | (gva & (BIT(shift) - 1)));
			return 0;
		}
		table = m.entry_size == 8 ? e & PTE_ADDR : e & 0xfffff000;
	}
	return fault(w, gva, 0, f);
}

static int translate(const struct walk *w, u64 gva, gpa_t *out, struct guest_fault *f)
{
	if (!(w->cr0 & CR0_PG)) {
		*out = gpa(gva & 0xffffffff);
		return 0;
	}
	return walk(w, gva, out, f);
}

int guest_translate(struct vcpu *vcpu, u64 gva, enum guest_access access, gpa_t *out, struct guest_fault *f)
{
	struct walk w;

	walk_init(&w, vcpu, access);
	return translate(&w, gva, out, f);
}

/* Copies page by page; the access decides the direction. */
static int copy_virt(struct vcpu *vcpu, u64 gva, enum guest_access access, void *buf, unsigned size,
		     struct guest_fault *f)
{
	struct walk w;

	walk_init(&w, vcpu, access);
	for (unsigned done = 0, len; done < size; done += len) {
		u64 addr = gva + done;
		gpa_t pa;
		int err;

		len = MIN(size - done, PAGE_SIZE - (addr & (PAGE_SIZE - 1)));
		err = translate(&w, addr, &pa, f);
		if (err)
			return err;
		if (access == ACCESS_WRITE)
			err = guest_write(vcpu->vm, pa, (u8 *)buf + done, len);
		else
			err = guest_read(vcpu->vm, pa, (u8 *)buf + done, len);
		if (err)
			return -EIO;
	}
	return 0;
}

int guest_read_virt(struct vcpu *vcpu, u64 gva, enum guest_access access, void *buf, unsigned size,
		    struct guest_fault *f)
{
	return copy_virt(vcpu, gva, access, buf, size, f);
}

int guest_write_virt(struct vcpu *vcpu, u64 gva, const void *buf, unsigned size, struct guest_fault *f)
{
	return copy_virt(vcpu, gva, ACCESS_WRITE, (void *)(uintptr_t)buf, size, f);
}

void vcpu_read_pdptes(struct vcpu *vcpu, u64 cr3, u64 pdptes[4])
{
	if (guest_read(vcpu->vm, gpa(cr3 & 0xffffffe0), pdptes, 4 * sizeof(u64)))
		memset(pdptes, 0, 4 * sizeof(u64));
}
