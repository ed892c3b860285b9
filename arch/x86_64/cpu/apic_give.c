/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The local APIC as it changes hands between the LWK and a guest that owns it
 * in x2APIC mode: registers at their reset values, nothing pending, nothing in
 * service (SDM vol. 3, 11.4.7 and 11.12.5). What belongs to the machine, not to
 * a program, stays the LWK's: of the LVT all but the timer's entry, and ESR,
 * which nobody reads. LINT0, LINT1 and the thermal sensor's are those that are not masked anyhow.
 */
#include <margay/host.h>
#include <margay/string.h>

#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/trap.h"
#include "arch/x86_64/cpu/tsc.h"
#include "arch/x86_64/cpu/upcall.h"

/* x2APIC MSRs (table 11-6). */
enum {
	X2_ID = 0x802,
	X2_TPR = 0x808,
	X2_EOI = 0x80b,
	X2_SVR = 0x80f,
	X2_ISR = 0x810,
	X2_IRR = 0x820,
	X2_LVT_TIMER = 0x832,
	X2_LVT_LINT0 = 0x835,
	X2_TIMER_INITIAL = 0x838,
	X2_TIMER_DIVIDE = 0x83e,
};
#define SVR_RESET 0xffu
#define SVR_ENABLE BIT(8)
/*
 * A spurious interrupt comes by this vector without being in service (11.9). No interrupt has a
 * number below 16, so whatever comes by another one is in service, and its stub's EOI ends that.
 */
#define SVR_SPURIOUS 0x0fu
#define LVT_MASKED BIT(16)
#define LVT_STATUS 0x5000u /* delivery status and remote IRR, which nobody writes */
#define GATES 256
/* Rounds of taking what is pending; all of one takes one, unless somebody goes on sending. */
#define ROUNDS 1000
/*
 * Until a message that another CPU has sent to this one before has come: there is no sign of it in
 * x2APIC mode.
 */
#define ARRIVAL_US 50

bool apic_mixed;

extern const u8 apic_drop[], apic_drop_18[], apic_drop_30[];

struct idt_pointer {
	u16 limit;
	u64 base;
} __packed apic_idt; /* the LWK's, for drain() and apic_drop_18 */

/* As the CPU's IDT (SDM vol. 3, figure 6-8), but for where its gates lead. */
struct gate {
	u16 offset_low;
	u16 selector;
	u8 ist;
	u8 attr;
	u16 offset_mid;
	u32 offset_high;
	u32 reserved;
} __packed;
static_assert(sizeof(struct gate) == 16, "SDM vol. 3, figure 6-8");

static void lead(struct gate *g, const u8 *to)
{
	u64 entry = (u64)to;

	g->offset_low = (u16)entry;
	/*
	 * a machine check may meet the stub of vector 18: not from the top of the same stack again
	 */
	g->ist = 0;
	g->offset_mid = (u16)(entry >> 16);
	g->offset_high = (u32)(entry >> 32);
}

static bool is_busy(u32 first)
{
	for (u32 i = 0; i < 8; i++)
		if (rdmsr(first + i))
			return true;
	return false;
}

/* The next owner of the CPU gets it. Once a boot: a guest might bring it about again and again. */
static void tell_left(void)
{
	static bool told;

	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		upcall_log(
			"APIC %u: interrupts are left in it, pending or in service: somebody goes on sending",
			(u32)rdmsr(X2_ID));
}

/*
 * Takes all that is pending by an IDT of its own, in which only NMI and machine
 * check mean something: a guest may have left itself any vector, of exceptions
 * of the LWK and of devices too. The only place where IF is 1 on such a CPU.
 */
static void drain(void)
{
	struct gate gates[GATES];
	struct idt_pointer own = { sizeof(gates) - 1, (u64)gates };
	u64 status;
	/*
	 * Its stub reads this; a CPU that has not got it has no machine checks, and a fault there
	 * would not end.
	 */
	const u8 *drop_18 = host_rdmsr(MSR_MCG_STATUS, &status) ? apic_drop : apic_drop_18;

	asm volatile("sidt %0" : "=m"(apic_idt));
	memcpy(gates, (const void *)apic_idt.base, sizeof(gates));
	for (unsigned v = 0; v < GATES; v++)
		if (v != VEC_NMI)
			lead(&gates[v], apic_drop);
	lead(&gates[VEC_MC], drop_18);
	lead(&gates[VEC_SX], apic_drop_30);
	gates[VEC_NMI].ist = 0; /* TCG delivers even a vector 2: an NMI may meet that one */
	wrmsr(X2_TPR, 0);
	wrmsr(X2_SVR, SVR_ENABLE | SVR_SPURIOUS);
	for (unsigned i = 0; i < ROUNDS && (is_busy(X2_ISR) || is_busy(X2_IRR)); i++) {
		for (unsigned k = 0; k < GATES && is_busy(X2_ISR); k++)
			wrmsr(X2_EOI, 0);
		asm volatile("lidt %0; sti; nop; cli; lidt %1" : : "m"(own),
								   "m"(apic_idt) : "memory");
	}
	if (is_busy(X2_ISR) || is_busy(X2_IRR))
		tell_left();
}

void apic_give(u32 lint[2])
{
	u64 base = rdmsr(MSR_APIC_BASE), start;

	/* The LWK leaves xAPIC mode on under QEMU's TCG. */
	if (!(base & APIC_BASE_EXTD)) {
		apic_mixed = true;
		wrmsr(MSR_APIC_BASE, base | APIC_BASE_EN | APIC_BASE_EXTD);
	}
	for (u32 i = 0; i < 2; i++)
		lint[i] = (u32)rdmsr(X2_LVT_LINT0 + i) & ~LVT_STATUS;
	start = rdtsc();
	apic_timer_stop();
	/* first: with a TSC deadline a write of the count is ignored (11.5.4.1) */
	wrmsr(X2_LVT_TIMER, LVT_MASKED);
	wrmsr(X2_TIMER_INITIAL, 0);
	wrmsr(X2_TIMER_DIVIDE, 0);
	while (rdtsc() - start < apic_tsc_khz * ARRIVAL_US / 1000)
		cpu_pause();
	drain();
	wrmsr(X2_SVR, SVR_RESET);
}
