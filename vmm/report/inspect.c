/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See inspect.h. The backtrace follows frame pointers: {caller's RBP, return address} at RBP
 * (System V ABI, 3.4.1).
 */
#include "vmm/report/inspect.h"

#include <margay/string.h>

#include "vmm/hvm.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/stage.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/startup.h"

#define DEPTH 16
#define STACK_WORDS 8
#define CODE_BYTES 16

#define say(...) \
	do { \
		char text_[160]; \
		snprintf(text_, sizeof(text_), __VA_ARGS__); \
		line(vcpu, text_); \
	} while (0)

static void general(const struct vcpu *vcpu, inspect_line line)
{
	static const char names[GPR_COUNT][4] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp",
						  "rsi", "rdi", "r8 ", "r9 ", "r10", "r11",
						  "r12", "r13", "r14", "r15" };
	const u64 *gpr = vcpu->regs.gpr;

	for (unsigned i = 0; i < GPR_COUNT; i += 4)
		say("%s %016lx  %s %016lx  %s %016lx  %s %016lx", names[i], gpr[i], names[i + 1],
		    gpr[i + 1], names[i + 2], gpr[i + 2], names[i + 3], gpr[i + 3]);
}

static void control(struct vcpu *vcpu, inspect_line line)
{
	struct segment cs, ss;

	hvm->get_segment(vcpu, SEG_CS, &cs);
	hvm->get_segment(vcpu, SEG_SS, &ss);
	say("cs %04x base %lx  ss %04x  cpl %u  efer %lx  cr0 %lx  cr2 %lx  cr3 %lx  cr4 %lx",
	    cs.selector, cs.base, ss.selector, ss.attr >> SEG_ATTR_DPL_SHIFT & 3u,
	    hvm->get(vcpu, HVM_EFER), hvm->get(vcpu, HVM_CR0), hvm->get(vcpu, HVM_CR2),
	    hvm->get(vcpu, HVM_CR3), hvm->get(vcpu, HVM_CR4));
}

static const char *activity(const struct vcpu *vcpu)
{
	if (vcpu->startup != STARTUP_RUN)
		return "waits for a startup IPI";
	return vcpu->halted ? "halted" : "runs";
}

static void code(struct vcpu *vcpu, inspect_line line)
{
	char text[CODE_BYTES * 3 + 1] = "";
	struct guest_fault f;
	struct segment cs;
	u8 b[CODE_BYTES];

	hvm->get_segment(vcpu, SEG_CS, &cs);
	if (guest_read_virt(vcpu, cs.base + vcpu->regs.rip, ACCESS_DEBUG, b, sizeof(b), &f))
		return;
	for (unsigned i = 0; i < CODE_BYTES; i++)
		snprintf(text + 3 * i, sizeof(text) - 3 * i, " %02x", b[i]);
	say("code%s", text);
}

static void stack(struct vcpu *vcpu, inspect_line line)
{
	u64 words[STACK_WORDS];
	struct guest_fault f;
	struct segment ss;

	hvm->get_segment(vcpu, SEG_SS, &ss);
	if (guest_read_virt(vcpu, ss.base + vcpu->regs.gpr[GPR_RSP], ACCESS_DEBUG, words,
			    sizeof(words), &f))
		return;
	for (unsigned i = 0; i < STACK_WORDS; i += 4)
		say("stack %016lx %016lx %016lx %016lx", words[i], words[i + 1], words[i + 2],
		    words[i + 3]);
}

/* Each frame is further up the stack than the one before, which ends loops. */
static void backtrace(struct vcpu *vcpu, inspect_line line)
{
	u64 frame = vcpu->regs.gpr[GPR_RBP], f[2];
	struct guest_fault fault;

	if (!(hvm->get(vcpu, HVM_EFER) & EFER_LMA))
		return;
	for (unsigned i = 0; i < DEPTH && frame; i++) {
		if (guest_read_virt(vcpu, frame, ACCESS_DEBUG, f, sizeof(f), &fault))
			return;
		say("from %016lx", f[1]);
		if (f[0] <= frame)
			return;
		frame = f[0];
	}
}

static void last_exits(const struct vcpu *vcpu, inspect_line line)
{
	const struct vcpu_stats *s = &vcpu->stats;

	for (unsigned n = telemetry_kept(s); n; n--) {
		unsigned i = (s->next - n) % TELEMETRY_LAST;

		say("exit -%u: %s, code %#x, at rip %lx", n, vmexit_name(s->last[i].reason),
		    s->last[i].code, s->last[i].rip);
	}
}

void inspect_vcpu(struct vcpu *vcpu, inspect_line line)
{
	say("%s, CPU %u, rip %016lx, rflags %08lx", activity(vcpu), vcpu->cpu, vcpu->regs.rip,
	    vcpu->regs.rflags);
	general(vcpu, line);
	control(vcpu, line);
	code(vcpu, line);
	stack(vcpu, line);
	backtrace(vcpu, line);
	last_exits(vcpu, line);
}

static void log_one(const struct vcpu *vcpu, const char *text)
{
	vm_tell(vcpu->vm, "vcpu%u: %s", vcpu->id, text);
}

static void last_words(struct vcpu *vcpu)
{
	if (vcpu->died)
		inspect_vcpu(vcpu, log_one);
}

static const struct vcpu_stage inspect_stage = { .at = VCPU_INSPECT,
						 .on = { [VCPU_STOPS] = last_words } };
VCPU_STAGE(inspect_stage);
