/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Single-stepping over instructions that the hypervisor carries out: one #DB
 * after each, DR6.BS alone, and one after each repetition of a string one.
 * INT1, which is such a trap of its own: behind it, with no bit of DR6, in
 * both rings whatever the gate's DPL.
 */
#include "apic.h"
#include "tiny.h"

#define SEEN_MAX 16

static u64 seen[SEEN_MAX], seen_dr6[SEEN_MAX], seen_rf[SEEN_MAX];
static unsigned count;
static u8 buffer[64];

static void on_debug(struct trap_frame *f)
{
	u64 dr6;

	asm volatile("mov %%dr6, %0" : "=r"(dr6));
	if (count < SEEN_MAX) {
		seen[count] = f->rip;
		seen_dr6[count] = dr6;
		seen_rf[count] = f->rflags & RFLAGS_RF;
	}
	if (++count > SEEN_MAX)
		f->rip++; /* or it would never get on */
	dr6 = 0xffff0ff0;
	asm volatile("mov %0, %%dr6" : : "r"(dr6));
}

/*
 * The instruction, then a NOP, with TF set before and cleared behind; at[0..2]: their addresses and
 * the one behind.
 */
#define STEP(text, inputs, ...) \
	({ \
		count = 0; \
		asm volatile( \
			"lea 1f(%%rip), %%r12; mov %%r12, at; lea 2f(%%rip), %%r12; mov %%r12, at + 8\n\t" \
			"lea 3f(%%rip), %%r12; mov %%r12, at + 16\n\t" \
			"pushfq; orl $0x100, (%%rsp); popfq\n" \
			"1:\t" text "\n2:\tnop\n3:\tpushfq; andl $~0x100, (%%rsp); popfq" : \
			: inputs : "memory", "cc", "r12", ##__VA_ARGS__); \
	})

u64 at[3];

static void stepped(const char *name)
{
	bool ok = count >= 2 && seen[0] == at[1] && seen[1] == at[2];

	check(ok && !seen_rf[0] && !seen_rf[1], "%s: stepped to +%ld, +%ld, %u #DB in all", name,
	      seen[0] - at[0], seen[1] - at[0], count);
	for (unsigned i = 0; i < count && i < SEEN_MAX; i++)
		if ((seen_dr6[i] & 0xe00f) != 0x4000)
			check(false, "%s: DR6 %#lx", name, seen_dr6[i]);
}

/*
 * n repetitions: each but the last leaves RIP on the instruction, and RF set for its return there
 * (not on TCG natively).
 */
static void repeated(const char *name, unsigned n)
{
	bool ok = count >= n + 1;

	for (unsigned i = 0; ok && i < n - 1; i++)
		ok = seen[i] == at[0] && seen_rf[i];
	check(ok && !seen_rf[n - 1] && seen[n - 1] == at[1] && seen[n] == at[2],
	      "%s: %u #DB, at +%ld, +%ld, +%ld, +%ld", name, count, seen[0] - at[0],
	      seen[1] - at[0], seen[2] - at[0], seen[3] - at[0]);
}

static void int1(void *arg)
{
	count = 0;
	asm volatile("lea 1f(%%rip), %%rax; mov %%rax, at + 8\n\t"
		     ".byte 0xf1\n1:\tnop" : : : "memory", "rax");
	check(count == 1 && seen[0] == at[1] && !(seen_dr6[0] & 0xe00f),
	      "INT1 in %s: %u #DB, at +%ld, DR6 %#lx", (const char *)arg, count, seen[0] - at[1],
	      seen_dr6[0]);
}

static u8 target[64];

/*
 * DR6 as a #DB with BS leaves it where other bits stood: B0 to B3 are this one's, BD stays (SDM
 * vol. 3, 18.2.3).
 */
#define STATUS(name, text, inputs, ...) \
	({ \
		asm volatile("mov %0, %%dr6" : : "r"(0xffff2ff5ull)); \
		STEP(text, O(inputs), ##__VA_ARGS__); \
		check(count >= 2 && seen_dr6[0] == 0xffff6ff0 && seen_dr6[1] == 0xffff4ff0, \
		      "%s: DR6 %#lx, then %#lx", name, seen_dr6[0], seen_dr6[1]); \
	})

static void status(void)
{
	STATUS("NOP", "nop", );
	STATUS("CPUID", "cpuid", O("a"(0), "c"(0)), "rbx", "rdx");
	STATUS("OUT", "out %%al, $0x80", O("a"(0)));
	/* INT1 is a trap which sets no bit, and leaves those that stand. */
	asm volatile("mov %0, %%dr6" : : "r"(0xffff2ff5ull));
	count = 0;
	asm volatile("lea 1f(%%rip), %%r12; .byte 0xf1\n1:\tmov %%r12, at" : : : "memory", "r12");
	check(count == 1 && seen[0] == at[0] && seen_dr6[0] == 0xffff2ff5 && !seen_rf[0],
	      "INT1: %u #DB, at +%ld, DR6 %#lx", count, seen[0] - at[0], seen_dr6[0]);
	/* In the shadow of MOV SS, which holds back its own single-step trap: that never comes. */
	STEP("mov %%ss, %%eax; mov %%eax, %%ss; .byte 0xf1", , "rax");
	check(count >= 3 && seen[0] == at[1] - 3 && seen[1] == at[1] && !(seen_dr6[1] & 0xe00f) &&
		      seen[2] == at[2] && seen_dr6[2] == 0xffff4ff0,
	      "MOV SS; INT1: %u #DB, at +%ld, +%ld, +%ld, DR6 %#lx, %#lx, %#lx", count,
	      seen[0] - at[0], seen[1] - at[0], seen[2] - at[0], seen_dr6[0], seen_dr6[1],
	      seen_dr6[2]);
}

void test_main(void)
{
	u64 pat = rdmsr(0x277), cr0 = read_cr0(), cr4 = read_cr4();

	trap_handlers[VEC_DB] = on_debug;
	STEP("nop", ); /* the control: nobody but the CPU has to do with it */
	stepped("NOP");
	STEP("cpuid", O("a"(0), "c"(0)), "rbx", "rdx");
	stepped("CPUID");
	STEP("in $0x80, %%al", , "rax");
	stepped("IN");
	STEP("out %%al, $0x80", O("a"(0)));
	stepped("OUT");
	STEP("rdmsr", O("c"(0x277)), "rax", "rdx");
	stepped("RDMSR");
	STEP("wrmsr", O("c"(0x277), "a"((u32)pat), "d"((u32)(pat >> 32))));
	stepped("WRMSR");
	STEP("rdtsc", , "rax", "rdx");
	stepped("RDTSC");
	STEP("mov (%%rsi), %%eax", O("S"(LAPIC_BASE + APIC_ID)), "rax");
	stepped("MMIO load");
	STEP("mov %%eax, (%%rdi)", O("D"(LAPIC_BASE + APIC_TPR), "a"(0)));
	stepped("MMIO store");
	STEP("orl $0, (%%rdi)", O("D"(LAPIC_BASE + APIC_TPR)));
	stepped("MMIO read-modify-write");
	STEP("adcl $0, (%%rdi)", O("D"(LAPIC_BASE + APIC_TPR)));
	stepped("MMIO add with carry");
	STEP("mov %%cr0, %%rax", , "rax");
	stepped("MOV from CR0");
	STEP("mov %%rax, %%cr0", O("a"(cr0)));
	stepped("MOV to CR0");
	STEP("mov %%rax, %%cr4", O("a"(cr4)));
	stepped("MOV to CR4");
	STEP("mov %%cr8, %%rax", , "rax");
	stepped("MOV from CR8");
	STEP("mov %%rax, %%cr8", O("a"(0ull)));
	stepped("MOV to CR8");
	STEP("clts", );
	stepped("CLTS");
	STEP("lmsw %%ax", O("a"((u16)cr0)));
	stepped("LMSW");
	STEP("smsw %%ax", , "rax");
	stepped("SMSW");
	STEP("wbinvd", );
	stepped("WBINVD");
	if (on_margay() && is_amd())
		STEP("vmmcall", , "rax");
	else if (on_margay())
		STEP("vmcall", , "rax");
	stepped("hypercall");
	status();
	STEP("rep outsb", O("S"(buffer), "d"(0x80), "c"(3)));
	repeated("REP OUTSB", 3);
	STEP("rep insb", O("D"(target), "d"(0x80), "c"(3)));
	repeated("REP INSB", 3);
	STEP("rep stosl", O("D"(LAPIC_BASE + APIC_TPR), "a"(0), "c"(3)));
	repeated("REP STOSD to MMIO", 3);
	STEP("rep lodsl", O("S"(LAPIC_BASE + APIC_TPR), "c"(3)), "rax");
	repeated("REP LODSD from MMIO", 3);
	int1((void *)"ring 0");
	check(user_run(int1, (void *)"ring 3") == NO_TRAP, "ring 3 came to its end");
}
