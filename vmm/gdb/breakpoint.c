/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The debugger's breakpoints: INT3 in guest memory, known by its physical
 * address, and debug registers (SDM vol. 3, 18.2), from number 3 down. While
 * the debugger uses these the guest's accesses to them exit: it reads what it
 * wrote, and its own breakpoints stay armed in registers that are left.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/emulate/emulate.h"
#include "vmm/gdb/gdb.h"
#include "vmm/hvm.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/vcpu.h"
#include "vmm/vm/debugger.h"

#define INT3 0xcc
#define SOFT_MAX 32
#define DR7_ENABLE(i) (3ull << 2 * (i))
#define DR7_GLOBAL(i) (2ull << 2 * (i))
#define DR7_SHIFT(i) (16 + 4 * (i)) /* type in 2 bits, length in 2 bits */
#define DR7_GD BIT(13)

/* All vCPUs', under the session's lock. */
static struct soft {
	bool used;
	u8 old;
	u64 address;
	u64 gpa;
} soft[SOFT_MAX];
static struct hard {
	bool used;
	u8 kind;  /* enum gdb_break */
	u8 dr7;   /* type and length */
	u64 address;
} hard[DEBUG_REGISTERS];

unsigned gdb_memory(struct vcpu *vcpu, u64 address, u8 *bytes, unsigned n, bool write)
{
	struct vm *vm = vcpu->vm;
	struct guest_fault f;
	unsigned done, len;
	gpa_t pa;
	int err;

	for (done = 0; done < n; done += len) {
		len = (unsigned)MIN(n - done, PAGE_SIZE - ((address + done) & (PAGE_SIZE - 1)));
		if (guest_translate(vcpu, address + done, ACCESS_DEBUG, &pa, &f))
			break;
		err = write ? guest_write(vm, pa, bytes + done, len)
			    : guest_read(vm, pa, bytes + done, len);
		if (err)
			break;
		for (struct soft *s = soft; s < soft + SOFT_MAX; s++) {
			u8 *byte = bytes + done + (s->gpa - pa.v), int3 = INT3;

			if (!s->used || s->gpa - pa.v >= len)
				continue;
			if (write) {
				s->old = *byte;
				guest_write(vm, gpa(s->gpa), &int3, 1);
			} else if (*byte == INT3) {
				*byte = s->old;
			}
		}
	}
	return done;
}

static struct soft *find_soft(u64 pa)
{
	for (struct soft *s = soft; s < soft + SOFT_MAX; s++)
		if (s->used && s->gpa == pa)
			return s;
	return NULL;
}

static int insert_soft(struct vcpu *vcpu, u64 address)
{
	struct guest_fault f;
	struct soft *s = soft;
	u8 int3 = INT3;
	gpa_t pa;

	if (guest_translate(vcpu, address, ACCESS_DEBUG, &pa, &f))
		return -EFAULT;
	if (find_soft(pa.v))
		return 0;
	while (s < soft + SOFT_MAX && s->used)
		s++;
	if (s == soft + SOFT_MAX)
		return -ENOSPC;
	if (guest_read(vcpu->vm, pa, &s->old, 1) || guest_write(vcpu->vm, pa, &int3, 1))
		return -EFAULT;
	s->used = true;
	s->address = address;
	s->gpa = pa.v;
	return 0;
}

/* What the guest itself has written there meanwhile stays. */
static void remove_soft(struct vm *vm, struct soft *s)
{
	u8 byte;

	s->used = false;
	if (!guest_read(vm, gpa(s->gpa), &byte, 1) && byte == INT3)
		guest_write(vm, gpa(s->gpa), &s->old, 1);
}

/* Type and length as in DR7; -1: no such watch. */
static int dr7_bits(enum gdb_break kind, u64 address, unsigned length)
{
	static const u8 type[] = {
		[GDB_EXEC] = 0, [GDB_WRITE] = 1, [GDB_READ] = 3, [GDB_ACCESS] = 3
	};
	static const u8 code[] = { [1] = 0, [2] = 1, [4] = 3, [8] = 2 };

	if (kind == GDB_EXEC)
		return 0;
	if (!length || length > 8 || length & (length - 1) || address & (length - 1))
		return -1;
	return type[kind] | code[length] << 2;
}

static int change_hard(enum gdb_break kind, u64 address, unsigned length, bool insert)
{
	int bits = dr7_bits(kind, address, length);
	struct hard *free = NULL;

	if (bits < 0)
		return -EINVAL;
	for (struct hard *h = hard; h < hard + DEBUG_REGISTERS; h++) {
		if (!h->used) {
			free = h;
		} else if (h->kind == kind && h->address == address && h->dr7 == bits) {
			h->used = insert;
			return 0;
		}
	}
	if (!insert)
		return 0;
	if (!free)
		return -ENOSPC;
	*free = (struct hard){
		.used = true, .kind = (u8)kind, .dr7 = (u8)bits, .address = address
	};
	return 0;
}

int gdb_break(struct vcpu *vcpu, enum gdb_break kind, u64 address, unsigned length, bool insert)
{
	if (kind != GDB_SOFT)
		return change_hard(kind, address, length, insert);
	if (insert)
		return insert_soft(vcpu, address);
	for (struct soft *s = soft; s < soft + SOFT_MAX; s++)
		if (s->used && s->address == address)
			remove_soft(vcpu->vm, s);
	return 0;
}

void gdb_break_clear(struct vm *vm)
{
	for (struct soft *s = soft; s < soft + SOFT_MAX; s++) {
		if (s->used && vm)
			remove_soft(vm, s);
		s->used = false;
	}
	memset(hard, 0, sizeof(hard));
}

bool gdb_soft_at_rip(struct vcpu *vcpu)
{
	struct hvm_context c;
	struct guest_fault f;
	gpa_t pa;

	hvm->get_context(vcpu, &c);
	return !guest_translate(vcpu, c.cs_base + vcpu->regs.rip, ACCESS_DEBUG, &pa, &f) &&
	       find_soft(pa.v);
}

bool gdb_hard_free(unsigned *i)
{
	for (*i = 0; *i < DEBUG_REGISTERS; ++*i)
		if (!hard[*i].used)
			return true;
	return false;
}

u64 gdb_hard_hit(u64 bits, enum gdb_break *kind, u64 *address)
{
	u64 ours = 0;

	for (unsigned i = DEBUG_REGISTERS; i-- > 0;) {
		if (!hard[i].used || !(bits & BIT(i)))
			continue;
		ours |= BIT(i);
		*kind = (enum gdb_break)hard[i].kind;
		*address = hard[i].address;
	}
	return ours;
}

static bool any_soft(void)
{
	for (unsigned i = 0; i < SOFT_MAX; i++)
		if (soft[i].used)
			return true;
	return false;
}

/* The guest's registers are put aside, or back. */
static void own(struct vcpu *vcpu, bool on)
{
	struct vcpu_debug *d = &vcpu->debug;

	for (unsigned i = 0; i < DEBUG_REGISTERS; i++) {
		if (on)
			d->dr[i] = hvm->get(vcpu, HVM_DR0 + i);
		else
			hvm->set(vcpu, HVM_DR0 + i, d->dr[i]);
	}
	if (on) {
		d->dr6 = hvm->get(vcpu, HVM_DR6);
		d->dr7 = hvm->get(vcpu, HVM_DR7);
		hvm->set(vcpu, HVM_DR6, DR6_NONE);
	} else {
		hvm->set(vcpu, HVM_DR6, d->dr6);
		hvm->set(vcpu, HVM_DR7, d->dr7);
	}
	hvm->intercept_dr(vcpu, on);
	d->own = on;
}

void gdb_arm(struct vcpu *vcpu)
{
	struct vcpu_debug *d = &vcpu->debug;
	bool want = d->step != STEP_NONE;
	u32 exceptions = 0;
	u64 dr7;

	if (want)
		exceptions = ~0u;
	else if (any_soft())
		exceptions = BIT(VEC_BP);
	hvm->intercept_exceptions(vcpu, exceptions);
	for (unsigned i = 0; i < DEBUG_REGISTERS; i++)
		want = want || hard[i].used;
	if (want != d->own)
		own(vcpu, want);
	if (!want)
		return;
	dr7 = d->dr7 & ~DR7_GD;
	for (unsigned i = 0; i < DEBUG_REGISTERS; i++) {
		bool landing = d->step == STEP_LANDING && d->landing_dr == i;
		u64 address = landing ? d->landing : d->dr[i];

		hvm->set(vcpu, HVM_DR0 + i, hard[i].used ? hard[i].address : address);
		if (!hard[i].used && !landing)
			continue;
		dr7 &= ~(DR7_ENABLE(i) | 0xfull << DR7_SHIFT(i));
		dr7 |= DR7_GLOBAL(i) | (u64)(landing ? 0 : hard[i].dr7) << DR7_SHIFT(i);
	}
	hvm->set(vcpu, HVM_DR7, dr7);
}

/*
 * SDM vol. 2, MOV to/from debug registers: 0F 21 reads, 0F 23 writes; mod is taken for 3. 0,
 * -EFAULT with #PF raised, or another error: the instruction is not that of the exit any more.
 */
static int decode_dr(struct vcpu *vcpu, u8 *len, bool *write, unsigned *dr, unsigned *gpr)
{
	u8 b[INSN_MAX];
	struct hvm_context c;
	const struct insn *insn;
	unsigned i;
	int err = emulate_fetch(vcpu, &insn);

	if (err)
		return err;
	*len = insn->len;
	hvm->get_context(vcpu, &c);
	if (gdb_memory(vcpu, c.cs_base + vcpu->regs.rip, b, insn->len, false) != insn->len ||
	    insn->len < 3)
		return -EINVAL;
	i = insn->len - 3u;
	*write = b[i + 1] == 0x23;
	*dr = b[i + 2] >> 3 & 7;
	*gpr = (b[i + 2] & 7u) | (i && (b[i - 1] & 0xf1) == 0x41 && c.cs_attr & SEG_ATTR_L ? 8 : 0);
	return b[i] == 0x0f && (b[i + 1] == 0x23 || b[i + 1] == 0x21) ? 0 : -EINVAL;
}

void gdb_exit_dr(struct vcpu *vcpu)
{
	struct vcpu_debug *d = &vcpu->debug;
	unsigned dr, gpr;
	bool write;
	u64 *reg;
	u8 len;
	int err = decode_dr(vcpu, &len, &write, &dr, &gpr);

	if (err == -EFAULT)
		return;
	if (err) {
		if (!emulate_again(vcpu))
			emulate_give_up(vcpu, "debug-register access that Margay does not know");
		return;
	}
	if (dr >> 1 == 2 && hvm->get(vcpu, HVM_CR4) & CR4_DE) {
		vcpu_raise(vcpu, VEC_UD);
		return;
	}
	if (d->dr7 & DR7_GD) {
		d->dr7 &= ~DR7_GD;
		d->dr6 = dr6_after(d->dr6, BIT(13));
		vcpu_raise(vcpu, VEC_DB);
		return;
	}
	if (dr < 4)
		reg = &d->dr[dr];
	else
		reg = dr & 1 ? &d->dr7 : &d->dr6;
	if (!write) {
		vcpu->regs.gpr[gpr] = *reg;
	} else if (dr >= 4 && vcpu->regs.gpr[gpr] >> 32) {
		vcpu_raise_error(vcpu, VEC_GP, 0);
		return;
	} else {
		*reg = vcpu->regs.gpr[gpr];
		d->dr6 = (d->dr6 & 0xe00f) | DR6_NONE;
		d->dr7 = (d->dr7 & 0xffff23ff) | DR7_FIXED;
		gdb_arm(vcpu);
	}
	emulate_skip(vcpu, len);
}
