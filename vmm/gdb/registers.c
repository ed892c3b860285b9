/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU's registers by gdb's numbers, and the description that tells gdb of
 * them (GDB manual, appendix G.5.23: i386 features). The x87 registers, which
 * the core feature must have, are not read: they stay in the CPU.
 */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/gdb/gdb.h"
#include "vmm/hvm.h"
#include "vmm/vcpu.h"

enum kind { GENERAL, RIP, FLAGS, SELECTOR, NONE, OTHER };

#define FEATURE(name) "<feature name=\"org.gnu.gdb.i386." name "\">"

/* Runs of registers that differ by one number; `names` as many words as there are. */
/* clang-format off */
static const struct run {
	const char *before; /* in the description */
	const char *names;
	const char *type;
	u8 bytes;
	u8 kind;
	u8 count;
	u8 first[16];
} runs[] = {
	{ FEATURE("core"), "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15", "int64",
		8, GENERAL, 16,
	  { GPR_RAX, GPR_RBX, GPR_RCX, GPR_RDX, GPR_RSI, GPR_RDI, GPR_RBP, GPR_RSP, 8, 9, 10, 11,
		12, 13, 14, 15 } },
	{ "", "rip", "code_ptr", 8, RIP, 1, { 0 } },
	{ "", "eflags", "int32", 4, FLAGS, 1, { 0 } },
	{ "", "cs ss ds es fs gs", "int32", 4, SELECTOR, 6,
		{ SEG_CS, SEG_SS, SEG_DS, SEG_ES, SEG_FS, SEG_GS } },
	{ "", "st0 st1 st2 st3 st4 st5 st6 st7", "i387_ext", 10, NONE, 8, { 0 } },
	{ "", "fctrl fstat ftag fiseg fioff foseg fooff fop", "int", 4, NONE, 8, { 0 } },
	{ "</feature>" FEATURE("segments"), "fs_base gs_base", "int64", 8, OTHER, 2,
		{ HVM_FS_BASE, HVM_GS_BASE } },
	{ "</feature><feature name=\"margay.system\">", "k_gs_base cr0 cr3 cr4 efer lstar", "int64",
		8, OTHER, 6,
	  { HVM_KERNEL_GS_BASE, HVM_CR0, HVM_CR3, HVM_CR4, HVM_EFER, HVM_LSTAR } },
	{ "", "cr2", "int64", 8, OTHER, 1, { HVM_CR2 } },
};
/* clang-format on */

static const struct run *find_run(unsigned i, unsigned *in_run)
{
	for (const struct run *r = runs; r < runs + ARRAY_SIZE(runs); i -= r++->count)
		if (i < r->count) {
			*in_run = i;
			return r;
		}
	return NULL;
}

unsigned gdb_register_count(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++)
		n += runs[i].count;
	return n;
}

unsigned gdb_register_size(unsigned i)
{
	const struct run *r = find_run(i, &i);

	return r ? r->bytes : 0;
}

static u64 selector(struct vcpu *vcpu, enum seg seg)
{
	struct segment s;

	hvm->get_segment(vcpu, seg, &s);
	return s.selector;
}

bool gdb_register_get(struct vcpu *vcpu, unsigned i, u8 value[GDB_REGISTER_MAX])
{
	const struct run *r = find_run(i, &i);
	u64 v;

	if (!r)
		return false;
	switch ((enum kind)r->kind) {
	case GENERAL: v = vcpu->regs.gpr[r->first[i]]; break;
	case RIP: v = vcpu->regs.rip; break;
	case FLAGS: v = vcpu->regs.rflags; break;
	case SELECTOR: v = selector(vcpu, r->first[i]); break;
	case OTHER: v = hvm->get(vcpu, r->first[i]); break;
	default: return false;
	}
	memcpy(value, &v, MIN(r->bytes, sizeof(v)));
	return true;
}

/* What an entry would refuse is refused here (SDM vol. 3, 27.3.1.4). */
int gdb_register_set(struct vcpu *vcpu, unsigned i, const u8 value[GDB_REGISTER_MAX])
{
	const u64 flags = RFLAGS_CF | RFLAGS_PF | RFLAGS_AF | RFLAGS_ZF | RFLAGS_SF | RFLAGS_TF |
			  RFLAGS_IF | RFLAGS_DF | RFLAGS_OF | RFLAGS_IOPL | RFLAGS_NT | RFLAGS_RF |
			  RFLAGS_AC | BIT(21);
	const struct run *r = find_run(i, &i);
	bool fits;
	u64 v = 0;

	if (!r)
		return -EINVAL;
	memcpy(&v, value, MIN(r->bytes, sizeof(v)));
	switch ((enum kind)r->kind) {
	case GENERAL: vcpu->regs.gpr[r->first[i]] = v; return 0;
	case RIP:
		fits = hvm->get(vcpu, HVM_EFER) & EFER_LMA ? (u64)((s64)(v << 16) >> 16) == v
							   : !(v >> 32);
		if (!fits)
			return -EINVAL;
		vcpu->regs.rip = v;
		vcpu->halted = false;
		return 0;
	case FLAGS:
		if (!(v & RFLAGS_IF))
			vcpu->regs.shadow = 0;
		vcpu->regs.rflags = (vcpu->regs.rflags & ~flags) | (v & flags);
		return 0;
	default: return -EPERM;
	}
}

/* The characters of the description that lie in [offset, offset + max). */
struct window {
	unsigned offset;
	unsigned max;
	unsigned at;
	unsigned n;
	char *out;
};

static void emit(struct window *w, const char *text, unsigned length)
{
	for (unsigned i = 0; i < length && text[i]; i++, w->at++)
		if (w->at >= w->offset && w->n < w->max)
			w->out[w->n++] = text[i];
}

static void emit_run(struct window *w, const struct run *r)
{
	char rest[64];

	emit(w, r->before, ~0u);
	snprintf(rest, sizeof(rest), "\" bitsize=\"%u\" type=\"%s\"/>", r->bytes * 8u, r->type);
	for (const char *name = r->names, *end; *name; name = *end ? end + 1 : end) {
		for (end = name; *end && *end != ' '; end++)
			;
		emit(w, "<reg name=\"", ~0u);
		emit(w, name, (unsigned)(end - name));
		emit(w, rest, ~0u);
	}
}

unsigned gdb_description(unsigned offset, unsigned max, char *out, bool *more)
{
	struct window w = { .offset = offset, .max = max, .out = out };

	emit(&w,
	     "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
	     "<architecture>i386:x86-64</architecture>",
	     ~0u);
	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++)
		emit_run(&w, &runs[i]);
	emit(&w, "</feature></target>", ~0u);
	*more = w.at > offset + w.n;
	return w.n;
}
