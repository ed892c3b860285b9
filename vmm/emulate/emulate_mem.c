/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory operands of emulated instructions: RAM or a device, at linear addresses. */
#include <margay/errno.h>
#include <margay/mc_access.h>
#include <margay/string.h>

#include "vmm/emulate/emulate.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vm_parts.h"

/*
 * An aligned access of 1, 2, 4 or 8 bytes: of the device whose range holds all of it and that takes
 * such, or of nobody.
 */
static void access_device(struct vcpu *vcpu, u64 addr, unsigned size, bool write, u64 *value)
{
	u64 offset;
	const struct mmio_range *r = mmio_find(vcpu->vm, addr, size, &offset);

	if (r && !(r->ops->sizes & size))
		r = NULL;
	if (r && write)
		r->ops->write(r->dev, vcpu, offset, size, insn_truncate(*value, size));
	else if (!write)
		*value = insn_truncate(r ? r->ops->read(r->dev, vcpu, offset, size) : ~0ull, size);
}

/*
 * What is not such an access is several of them, the largest that are, from the lowest address on.
 */
static noinline void access_parts(struct vcpu *vcpu, u64 addr, unsigned size, bool write,
				  u64 *value)
{
	for (unsigned done = 0, part; done < size; done += part) {
		u64 v = *value >> done * 8;

		for (part = 4; part > size - done || !IS_ALIGNED(addr + done, part); part /= 2)
			;
		access_device(vcpu, addr + done, part, write, &v);
		if (!write)
			*value |= v << done * 8;
	}
}

/*
 * Of an access that would begin at it. It is told of once, before any of the instruction is carried
 * out.
 */
static bool meets_lost(struct vcpu *vcpu, gpa_t page)
{
	if (likely(!guest_is_lost(vcpu->vm, page)))
		return false;
	vcpu_lost_access(vcpu, page);
	return true;
}

/*
 * One access within a page, of any size up to 8: RAM, or a device. What is read is or-ed into 0.
 * -EAGAIN: the page was lost since find_pages().
 */
static int access_page(struct vcpu *vcpu, gpa_t addr, unsigned size, bool write, u64 *value)
{
	void *ram = guest_ptr(vcpu->vm, addr, size);
	bool copied;

	if (ram) {
		copied = write ? mc_copy(ram, value, size) : mc_copy(value, ram, size);
		if (!copied)
			guest_lost(vcpu->vm);
	} else if (unlikely(meets_lost(vcpu, addr))) {
		return -EAGAIN;
	} else if (likely(!(size & (size - 1)) && IS_ALIGNED(addr.v, size))) {
		access_device(vcpu, addr.v, size, write, value);
	} else {
		access_parts(vcpu, addr.v, size, write, value);
	}
	return 0;
}

static bool canonical(u64 gva)
{
	return (u64)((s64)(gva << 16) >> 16) == gva;
}

/* Bytes of the operand on its first page. */
static unsigned first_part(u64 gva, unsigned size)
{
	return (unsigned)MIN(size, PAGE_SIZE - (gva & (PAGE_SIZE - 1)));
}

/*
 * Has the CPU itself translated this address, and found the access permitted, before it exited? The
 * instruction's bytes may have changed since then, but not to more than that: its only operand in
 * memory, the same or a lesser access.
 */
static bool translated(const struct vcpu *vcpu, u64 gva, bool write)
{
	const struct exit_access *a = &vcpu->access;

	return a->valid && !((a->gpa.v ^ gva) & (PAGE_SIZE - 1)) && (a->write || !write);
}

/*
 * All pages of the operand are translated before the first byte moves, so a
 * fault leaves no half of the access behind.
 */
static int translate(struct vcpu *vcpu, u64 gva, unsigned size, bool write, gpa_t page[2])
{
	unsigned first = first_part(gva, size);
	enum guest_access access = write ? ACCESS_WRITE : ACCESS_READ;
	struct guest_fault f;
	int err;

	/* The CPU has not looked at the operands of INS and OUTS, nor at the second one of MOVS. */
	if (unlikely(!canonical(gva) || !canonical(gva + size - 1))) {
		vcpu_raise_error(vcpu, VEC_GP, 0);
		return -EFAULT;
	}
	err = guest_translate(vcpu, gva, access, &page[0], &f);
	if (!err && first < size)
		err = guest_translate(vcpu, gva + first, access, &page[1], &f);
	if (err == -EFAULT)
		vcpu_raise_page_fault(vcpu, f.cr2, f.error);
	/* Lost: its VM has ended, or is told by #MC, and begins again. */
	return err == -EIO ? -EAGAIN : err;
}

/* translate(), but for what the CPU has translated. */
static int find_pages(struct vcpu *vcpu, u64 gva, unsigned size, bool write, gpa_t page[2])
{
	unsigned first = first_part(gva, size);
	int err = 0;

	if (unlikely(!translated(vcpu, gva, write) || first < size))
		err = translate(vcpu, gva, size, write, page);
	else
		page[0] = vcpu->access.gpa;
	if (!err && (meets_lost(vcpu, page[0]) || (first < size && meets_lost(vcpu, page[1]))))
		err = -EAGAIN;
	return err;
}

static int access_virt(struct vcpu *vcpu, u64 gva, unsigned size, bool write, u64 *value)
{
	unsigned first = first_part(gva, size);
	gpa_t page[2];
	u64 part = 0;
	int err = find_pages(vcpu, gva, size, write, page);

	if (err)
		return err;
	emulate_watch(vcpu, gva, size, write ? WATCH_WRITE : WATCH_READ);
	if (!write)
		*value = 0;
	err = access_page(vcpu, page[0], first, write, value);
	if (!err && first < size) {
		part = *value >> first * 8;
		err = access_page(vcpu, page[1], size - first, write, &part);
		if (!write)
			*value |= part << first * 8;
	}
	return err;
}

int emulate_mem_read(struct vcpu *vcpu, u64 gva, unsigned size, u64 *value)
{
	return access_virt(vcpu, gva, size, false, value);
}

int emulate_mem_write(struct vcpu *vcpu, u64 gva, unsigned size, u64 value)
{
	return access_virt(vcpu, gva, size, true, &value);
}

int emulate_mem_writable(struct vcpu *vcpu, u64 gva, unsigned size)
{
	gpa_t page[2];

	return find_pages(vcpu, gva, size, true, page);
}

static int access_bytes(struct vcpu *vcpu, u64 gva, unsigned size, bool write, u8 *bytes)
{
	unsigned first = first_part(gva, size);
	gpa_t page[2];
	int err = find_pages(vcpu, gva, size, write, page);

	if (err)
		return err;
	emulate_watch(vcpu, gva, size, write ? WATCH_WRITE : WATCH_READ);
	for (unsigned done = 0, part; !err && done < size; done += part) {
		gpa_t at = done < first ? gpa(page[0].v + done) : gpa(page[1].v + done - first);
		u64 value = 0;

		part = MIN((done < first ? first : size) - done, 8u);
		if (write)
			memcpy(&value, bytes + done, part);
		err = access_page(vcpu, at, part, write, &value);
		if (!write)
			memcpy(bytes + done, &value, part);
	}
	return err;
}

int emulate_mem_read_bytes(struct vcpu *vcpu, u64 gva, unsigned size, void *bytes)
{
	return access_bytes(vcpu, gva, size, false, bytes);
}

int emulate_mem_write_bytes(struct vcpu *vcpu, u64 gva, unsigned size, const void *bytes)
{
	return access_bytes(vcpu, gva, size, true, (u8 *)bytes);
}
