/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's own page tables: linear to guest-physical address with the
 * access rights of SDM vol. 3, 4.3-4.6 (32-bit, PAE and 4-level paging; SMEP,
 * SMAP, WP and NX), and copies at linear addresses. guest_translate() stands
 * for the CPU's own walk and sets accessed and dirty bits (4.8); the others
 * only look, the code that guest_fetch() finds was fetched by the CPU itself.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/hvm.h"
#include "vmm/memory/guest_fetched.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vcpu.h"
#include "vmm/vm_parts.h"

/*
 * A guest whose other CPUs rewrite an entry without end shall not hold the host: then its bits stay
 * as they are.
 */
#define MARK_TRIES 16

struct walk {
	struct vcpu *vcpu;
	const struct hvm_context *c;
	enum guest_access access;
	struct guest_path *path; /* where the entries that were read are noted, or NULL */
	bool mark; /* set accessed and dirty bits */
};

static int fault(const struct walk *w, u64 gva, u32 error, struct guest_fault *out)
{
	error |= w->access == ACCESS_WRITE ? PFERR_W : 0;
	error |= w->c->cpl == 3 ? PFERR_U : 0;
	if (w->access == ACCESS_FETCH && (w->c->efer & EFER_NXE || w->c->cr4 & CR4_SMEP))
		error |= PFERR_I;
	*out = (struct guest_fault){ .cr2 = gva, .error = error };
	return -EFAULT;
}

/* May this access use a page with the combined rights of its path? (SDM vol. 3, 4.6.1) */
static bool permitted(const struct walk *w, bool user_page, bool writable, bool nx)
{
	const struct hvm_context *c = w->c;
	bool user = c->cpl == 3;

	switch (w->access) {
	case ACCESS_FETCH:
		if (nx && c->efer & EFER_NXE)
			return false;
		return user ? user_page : !(user_page && c->cr4 & CR4_SMEP);
	case ACCESS_WRITE:
		if (!writable && (user || c->cr0 & CR0_WP))
			return false;
		break;
	case ACCESS_READ: break;
	case ACCESS_DEBUG: return true;
	}
	if (user)
		return user_page;
	return !(user_page && c->cr4 & CR4_SMAP && !(w->vcpu->regs.rflags & RFLAGS_AC));
}

/* What differs between the paging modes: entry size, levels, index bits per level. */
struct paging_mode {
	u8 entry_size;
	u8 levels;
	u8 index_bits;
};

static struct paging_mode paging_mode(const struct hvm_context *c)
{
	if (!(c->cr4 & CR4_PAE))
		return (struct paging_mode){ 4, 2, 10 };
	if (!(c->efer & EFER_LMA))
		return (struct paging_mode){ 8, 3, 9 };
	return (struct paging_mode){ 8, 4, 9 };
}

/*
 * Bits at which the CPU faults, whatever the rights (SDM vol. 3, 4.3, 4.4.2, 4.5.4). Not of the
 * four PAE pointers.
 */
static u64 reserved(const struct walk *w, unsigned entry_size, unsigned level, unsigned shift,
		    bool leaf)
{
	unsigned phys = vm_parts(w->vcpu->vm)->cpuid.phys_bits;
	u64 bits = (leaf ? (BIT(shift) - 1) & ~0x1fffull : 0) | (PTE_ADDR & ~(BIT(phys) - 1));

	if (entry_size == 4) /* bits 13 to 20 of a large page are 32 to 39 of its address */
		return leaf && level ? 0x3fe000 & ~((BIT(MIN(phys, 40u)) - 1) >> 32 << 13) : 0;
	bits |= level == 3 ? PTE_PS : 0;
	bits |= w->c->efer & EFER_NXE ? 0 : PTE_NX;
	return w->c->efer & EFER_LMA ? bits : bits | 0x7ff0000000000000;
}

/*
 * Sets bits in an entry that was `e`; MC_OTHER when it is another one by now, which nobody may
 * touch.
 */
static enum mc_exchange mark(void *entry, u8 size, u64 e, u64 bits)
{
	if (likely((e & bits) == bits))
		return MC_EXCHANGED;
	return size == 8 ? mc_exchange64(entry, e, e | bits)
			 : mc_exchange32(entry, (u32)e, (u32)(e | bits));
}

/* The same for a walk: 0, -EAGAIN: another one, -EIO. */
static int mark_for(const struct walk *w, void *entry, u8 size, u64 e, u64 bits)
{
	enum mc_exchange result = w->mark ? mark(entry, size, e, bits) : MC_EXCHANGED;

	if (result == MC_LOST)
		return guest_lost(w->vcpu->vm);
	return result == MC_OTHER ? -EAGAIN : 0;
}

static void path_note(struct guest_path *path, const void *entry, u64 value)
{
	path->entry[path->levels] = entry;
	path->value[path->levels++] = value;
}

/* None is there: for the CPU it would be a machine check, where it is lost. */
static int no_entry(const struct walk *w, u64 gva, gpa_t at, struct guest_fault *f)
{
	if (!guest_is_lost(w->vcpu->vm, at))
		return fault(w, gva, 0, f);
	if (w->access != ACCESS_DEBUG)
		vcpu_lost_access(w->vcpu, at);
	return -EIO;
}

/* An entry on the way to a page. */
struct step {
	void *at;
	u64 value;
	unsigned level;
	unsigned shift;
};

/* What the entries of a way have in common. */
struct rights {
	bool user;
	bool writable;
	bool nx;
};

static u64 top_table(const struct hvm_context *c, const struct paging_mode *m)
{
	if (m->levels == 3)
		return c->cr3 & 0xffffffe0;
	return c->cr3 & (m->entry_size == 4 ? 0xfffff000 : PTE_ADDR);
}

static u64 next_table(const struct paging_mode *m, u64 value)
{
	return value & (m->entry_size == 8 ? PTE_ADDR : 0xfffff000);
}

/* The four PAE pointers carry none. */
static bool carries_rights(const struct paging_mode *m, unsigned level)
{
	return m->levels != 3 || level != 2;
}

static bool is_leaf(const struct walk *w, const struct paging_mode *m, const struct step *s)
{
	if (s->level == 0)
		return true;
	return s->level < 3 && s->value & PTE_PS && (m->entry_size == 8 || w->c->cr4 & CR4_PSE);
}

/* The entry of a table that is of gva, which is present. */
static int read_step(const struct walk *w, const struct paging_mode *m, u64 table, u64 gva,
		     struct step *s, struct guest_fault *f)
{
	u64 index = gva >> s->shift & (BIT(m->index_bits) - 1);
	gpa_t at = gpa(table + index * m->entry_size);

	s->at = guest_ptr(w->vcpu->vm, at, m->entry_size);
	if (!s->at)
		return no_entry(w, gva, at, f);
	if (!read_entry(s->at, m->entry_size, &s->value))
		return guest_lost(w->vcpu->vm);
	if (w->path)
		path_note(w->path, s->at, s->value);
	return s->value & PTE_P ? 0 : fault(w, gva, 0, f);
}

static void restrict_rights(struct rights *r, const struct paging_mode *m, u64 value)
{
	r->user = r->user && value & PTE_U;
	r->writable = r->writable && value & PTE_W;
	r->nx = r->nx || (m->entry_size == 8 && value & PTE_NX);
}

static u64 page_of(const struct paging_mode *m, const struct step *s)
{
	if (m->entry_size == 8)
		return s->value & PTE_ADDR & ~(BIT(s->shift) - 1);
	if (s->level)
		return (s->value & 0xffc00000) | (s->value >> 13 & 0xff) << 32;
	return s->value & 0xfffff000;
}

/*
 * 0; -EFAULT and *f; -EAGAIN: an entry has changed before its bits could be set; -EIO: one is lost.
 */
static int walk(const struct walk *w, u64 gva, gpa_t *out, struct guest_fault *f)
{
	const struct paging_mode m = paging_mode(w->c);
	struct rights rights = { .user = true, .writable = true };
	u64 table = top_table(w->c, &m);

	if (m.levels != 4)
		gva &= 0xffffffff;
	for (unsigned level = m.levels; level-- > 0;) {
		struct step s = { .level = level, .shift = PAGE_SHIFT + level * m.index_bits };
		bool has_rights = carries_rights(&m, level);
		int err = read_step(w, &m, table, gva, &s, f);
		bool leaf;

		if (err)
			return err;
		leaf = has_rights && is_leaf(w, &m, &s);
		if (has_rights) {
			if (s.value & reserved(w, m.entry_size, level, s.shift, leaf))
				return fault(w, gva, PFERR_P | PFERR_RSVD, f);
			restrict_rights(&rights, &m, s.value);
		}
		if (leaf && !permitted(w, rights.user, rights.writable, rights.nx))
			return fault(w, gva, PFERR_P, f);
		if (leaf) {
			*out = gpa(page_of(&m, &s) | (gva & (BIT(s.shift) - 1)));
			return mark_for(w, s.at, m.entry_size, s.value,
					PTE_A | (w->access == ACCESS_WRITE ? PTE_D : 0));
		}
		err = has_rights ? mark_for(w, s.at, m.entry_size, s.value, PTE_A) : 0;
		if (err)
			return err;
		table = next_table(&m, s.value);
	}
	return fault(w, gva, 0, f);
}

static int translate(const struct walk *w, u64 gva, gpa_t *out, struct guest_fault *f)
{
	if (!(w->c->cr0 & CR0_PG)) {
		*out = gpa(gva & 0xffffffff);
		return 0;
	}
	return walk(w, gva, out, f);
}

int guest_translate(struct vcpu *vcpu, u64 gva, enum guest_access access, gpa_t *out,
		    struct guest_fault *f)
{
	struct hvm_context c;
	struct walk w = { .vcpu = vcpu, .c = &c, .access = access, .mark = access != ACCESS_DEBUG };
	int err;

	hvm->get_context(vcpu, &c);
	for (unsigned i = 0; i < MARK_TRIES; i++) {
		err = translate(&w, gva, out, f);
		if (err != -EAGAIN)
			return err;
	}
	w.mark = false;
	return translate(&w, gva, out, f);
}

static bool path_holds(const struct guest_path *path)
{
	if (likely(path->entry_size == 8))
		return guest_path_holds(path);
	for (unsigned i = 0; i < path->levels; i++) {
		u64 e;

		if (!read_entry(path->entry[i], 4, &e) || e != path->value[i])
			return false;
	}
	return true;
}

static bool same_context(const struct hvm_context *a, const struct hvm_context *b)
{
	return !((a->cr3 ^ b->cr3) | (a->cr0 ^ b->cr0) | (a->cr4 ^ b->cr4) | (a->efer ^ b->efer) |
		 (u64)(a->cpl ^ b->cpl));
}

static noinline int fetch_anew(struct vcpu *vcpu, const struct hvm_context *c, u64 gva,
			       const u8 **out, struct guest_fault *f)
{
	static const u64 none;
	struct guest_path *path = &vcpu->fetched;
	struct walk w = { .vcpu = vcpu, .c = c, .access = ACCESS_FETCH, .path = path };
	u64 offset = gva & (PAGE_SIZE - 1);
	gpa_t addr;
	int err;

	*path = (struct guest_path){ .context = *c,
				     .gva = gva - offset,
				     .entry_size = paging_mode(c).entry_size };
	/* Of a walk with fewer levels the others do not change. */
	for (unsigned i = 0; i < ARRAY_SIZE(path->entry); i++)
		path->entry[i] = &none;
	err = translate(&w, gva - offset, &addr, f);
	if (err) {
		f->cr2 = gva;
		return err;
	}
	path->page = guest_ptr(vcpu->vm, addr, PAGE_SIZE);
	if (!path->page) {
		if (guest_is_lost(vcpu->vm, addr))
			vcpu_lost_access(vcpu, addr);
		return -EIO;
	}
	*out = path->page + offset;
	return 0;
}

const u8 *guest_fetched(const struct vcpu *vcpu, const struct hvm_context *c, u64 gva)
{
	const struct guest_path *path = &vcpu->fetched;
	u64 offset = gva & (PAGE_SIZE - 1);

	if (unlikely(!path->page || path->gva != gva - offset || !same_context(&path->context, c) ||
		     !path_holds(path)))
		return NULL;
	return path->page + offset;
}

int guest_fetch(struct vcpu *vcpu, const struct hvm_context *c, u64 gva, const u8 **out,
		struct guest_fault *f)
{
	*out = IS_ENABLED(CONFIG_OPTIMIZE_SIZE) ? NULL : guest_fetched(vcpu, c, gva);
	return *out ? 0 : fetch_anew(vcpu, c, gva, out, f);
}

int guest_read_virt(struct vcpu *vcpu, u64 gva, enum guest_access access, void *buf, unsigned size,
		    struct guest_fault *f)
{
	struct hvm_context c;
	struct walk w = { .vcpu = vcpu, .c = &c, .access = access };

	hvm->get_context(vcpu, &c);
	for (unsigned done = 0, len; done < size; done += len) {
		u64 addr = gva + done;
		gpa_t pa;
		int err;

		len = MIN(size - done, PAGE_SIZE - (addr & (PAGE_SIZE - 1)));
		err = translate(&w, addr, &pa, f);
		if (err)
			return err;
		if (guest_read(vcpu->vm, pa, (u8 *)buf + done, len))
			return -EIO;
	}
	return 0;
}

void vcpu_read_pdptes(struct vcpu *vcpu, u64 cr3, u64 pdptes[4])
{
	if (guest_read(vcpu->vm, gpa(cr3 & 0xffffffe0), pdptes, 4 * sizeof(u64)))
		memset(pdptes, 0, 4 * sizeof(u64));
}
