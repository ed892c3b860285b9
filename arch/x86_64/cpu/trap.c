/* SPDX-License-Identifier: GPL-2.0-only */
/* The shared IDT and the dispatch of exceptions and interrupts. SDM vol. 3, chapter 6. */
#include <margay/host.h>
#include <margay/mc_access.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/desc.h"
#include "arch/x86_64/cpu/extable.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/nmi_table.h"
#include "arch/x86_64/cpu/trap.h"
#include "arch/x86_64/cpu/upcall.h"

/* 64-bit interrupt gate (SDM vol. 3, figure 6-8). */
struct idt_gate {
	u16 offset_low;
	u16 selector;
	u8 ist; /* 1-based; 0: stay on the current stack */
	u8 attr;
	u16 offset_mid;
	u32 offset_high;
	u32 reserved;
} __packed;
static_assert(sizeof(struct idt_gate) == 16, "SDM vol. 3, figure 6-8");
#define GATE_INTERRUPT 0x8e /* present, DPL 0, interrupts off */

#define NR_VECTORS 256
#define NR_EXCEPTIONS 32

static struct idt_gate idt[NR_VECTORS] __aligned(16);
static struct {
	irq_handler fn;
	void *arg;
} handlers[NR_VECTORS];

extern const u8 trap_stubs[], trap_device_stubs[];

static const char *const names[NR_EXCEPTIONS] = {
	[VEC_DE] = "#DE divide error",
	[VEC_DB] = "#DB debug exception",
	[VEC_NMI] = "NMI",
	[VEC_BP] = "#BP breakpoint",
	[VEC_OF] = "#OF overflow",
	[VEC_BR] = "#BR bound range exceeded",
	[VEC_UD] = "#UD invalid opcode",
	[VEC_NM] = "#NM device not available",
	[VEC_DF] = "#DF double fault (stack overflow?)",
	[VEC_TS] = "#TS invalid TSS",
	[VEC_NP] = "#NP segment not present",
	[VEC_SS] = "#SS stack fault",
	[VEC_GP] = "#GP general protection",
	[VEC_PF] = "#PF page fault",
	[VEC_MF] = "#MF x87 error",
	[VEC_AC] = "#AC alignment check",
	[VEC_MC] = "#MC machine check",
	[VEC_XM] = "#XM SIMD error",
	[VEC_VE] = "#VE virtualization exception",
	[VEC_CP] = "#CP control protection",
};

/*
 * 4 bytes each, and 8 more after every 16 (trap_stubs.inc); all NMIs go to what has registered for
 * them (run_clean.asm of VT-x).
 */
static u64 stub(unsigned vector)
{
	extern const u64 __start_nmi_entries[], __stop_nmi_entries[];
	const u64 *registered = __start_nmi_entries;
	const u8 *first = trap_stubs;

	if (IS_ENABLED(CONFIG_MITIGATIONS) && vector == VEC_NMI && registered < __stop_nmi_entries)
		return *registered;
	if (vector >= VECTOR_TIMER) {
		vector -= VECTOR_TIMER - VECTOR_FIRST;
	} else if (vector >= VECTOR_FIRST) {
		if (!IS_ENABLED(CONFIG_PASSTHROUGH))
			return stub(VECTOR_STRAY);
		vector -= VECTOR_FIRST;
		first = trap_device_stubs;
	}
	return (u64)first + vector * 4 + vector / 16 * 8;
}

void trap_init(void)
{
	for (unsigned v = 0; v < NR_VECTORS; v++) {
		u64 entry = stub(v);

		idt[v] = (struct idt_gate){
			.offset_low = (u16)entry,
			.selector = SEL_CODE,
			.attr = GATE_INTERRUPT,
			.offset_mid = (u16)(entry >> 16),
			.offset_high = (u32)(entry >> 32),
		};
	}
}

void trap_load(void)
{
	struct {
		u16 limit;
		u64 base;
	} __packed idtr = { sizeof(idt) - 1, (u64)idt };

	asm volatile("lidt %0" : : "m"(idtr) : "memory");
}

void trap_use_ist(void)
{
	idt[VEC_NMI].ist = IST_NMI + 1;
	idt[VEC_DF].ist = IST_DF + 1;
}

void trap_set_handler(u8 vector, irq_handler fn, void *arg)
{
	handlers[vector].arg = arg;
	__atomic_store_n(&handlers[vector].fn, fn, __ATOMIC_RELEASE);
}

u64 extable_find(u64 rip)
{
	extern const struct ex_entry ex_table_start[], ex_table_end[];

	for (const struct ex_entry *e = ex_table_start; e < ex_table_end; e++)
		if (e->insn == rip)
			return e->fixup;
	return 0;
}

u64 nmi_resume_at(u64 rip)
{
	extern const struct nmi_region nmi_table_start[], nmi_table_end[];

	for (const struct nmi_region *r = nmi_table_start; r < nmi_table_end; r++)
		if (rip >= r->begin && rip < r->end)
			return r->resume;
	return rip;
}

/* Where an access that has met lost memory goes on; 0: rip is in none. */
static u64 mc_resume_at(u64 rip)
{
	extern const struct mc_region __start_mc_table[], __stop_mc_table[];

	for (const struct mc_region *r = __start_mc_table; r < __stop_mc_table; r++)
		if (rip >= (u64)&r->begin + (u64)r->begin && rip < (u64)&r->end + (u64)r->end)
			return (u64)&r->resume + (u64)r->resume;
	return 0;
}

/*
 * It goes back to where it came from, with the GS base that was there. False: the node cannot go
 * on.
 */
static bool machine_check(struct trap_frame *frame)
{
	u64 resume = mc_resume_at(frame->rip), gs = desc_take_gs();
	enum mc_outcome outcome = upcall_machine_check(resume ? MC_IN_ACCESS : MC_IN_ROOT);

	desc_give_gs(gs);
	switch (outcome) {
	case MC_STOPS: return false;
	case MC_ACCESS_FAILS: frame->rip = resume; break;
	case MC_GOES_ON: break;
	}
	return true;
}

/* Said once for each vector: a line that is not ours to quiet may go on. */
static void unexpected_interrupt(unsigned vector)
{
	static bool said[NR_VECTORS];

	if (!__atomic_exchange_n(&said[vector], true, __ATOMIC_RELAXED))
		upcall_log(IS_ENABLED(CONFIG_PASSTHROUGH)
				   ? "unexpected interrupt at vector %#x"
				   : "unexpected interrupt at vector %#x (0xf1: 0x30 to 0xef)",
			   vector);
}

static void interrupt(unsigned vector)
{
	irq_handler fn = __atomic_load_n(&handlers[vector].fn, __ATOMIC_ACQUIRE);

	/*
	 * Neither a spurious APIC interrupt nor one of the 8259s is in the APIC's ISR: no EOI (SDM
	 * vol. 3, 11.9).
	 */
	if (vector == VECTOR_SPURIOUS || vector < VECTOR_FIRST)
		return;
	if (fn)
		fn(handlers[vector].arg);
	else
		unexpected_interrupt(vector);
	apic_eoi();
}

/*
 * Nothing here looks at the CPU's own data before it is known that they are: a guest's GS base and
 * TR may still be there.
 */
void trap_dispatch(struct trap_frame *frame)
{
	u64 fixup;

	if (frame->vector >= NR_EXCEPTIONS) {
		interrupt((unsigned)frame->vector);
		return;
	}
	switch (frame->vector) {
	case VEC_NMI:
		frame->rip = nmi_resume_at(frame->rip);
		upcall_nmi();
		return;
	case VEC_MC:
		if (IS_ENABLED(CONFIG_MACHINE_CHECKS) && machine_check(frame))
			return;
		break;
	case VEC_DF: break;
	case VEC_SX:
		/*
		 * An INIT that a guest has sent by its own ICR (APM vol. 2, 15.28). A kick
		 * meanwhile has not seen whom it woke.
		 */
		if (IS_ENABLED(CONFIG_DIRECT_INTERRUPTS) && frame->error == SX_INIT) {
			frame->rip = nmi_resume_at(frame->rip);
			return;
		}
		break;
	default:
		fixup = extable_find(frame->rip);
		if (fixup) {
			frame->rip = fixup;
			return;
		}
	}
	desc_take_gs();
	desc_take_tr();
	upcall_trap(frame, IS_ENABLED(CONFIG_DUMPS) && names[frame->vector] ? names[frame->vector]
									    : "exception");
}
