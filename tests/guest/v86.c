/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Virtual-8086 mode: INT, IN and OUT, IOPL and the TSS's I/O map, privileged
 * instructions, and what the hypervisor carries out there (ports, string I/O,
 * CPUID, MMIO, hypercalls).
 */
#include "apic.h"
#include "tiny.h"

#define LOW 0x9000ull
#define VIDEO 0xa0 /* page number of the segment where the local APIC is seen */
#define FLAGS_VM BIT(17)
#define IOPL(n) ((u64)(n) << 12)
#define INT_VECTOR 0x60

extern volatile u32 v86_cr3, v86_ip, v86_flags, v86_vector, v86_error, v86_at, v86_eax, v86_ecx;
extern u8 v86_stack[], v86_stubs[], v86_idt_pointer[];
extern const u8 v86_low[], v86_low_end[];
void v86_enter(void);

#define CODE(name) extern const u8 v86_##name[]
CODE(int);
CODE(int3);
CODE(in);
CODE(inw);
CODE(out);
CODE(cli);
CODE(sti);
CODE(pushf);
CODE(popf);
CODE(hlt);
CODE(cpuid);
CODE(rdmsr);
CODE(cr0);
CODE(lmsw);
CODE(wbinvd);
CODE(lldt);
CODE(ltr);
CODE(vmmcall);
CODE(vmcall);
CODE(outs);
CODE(ins);
CODE(mmio);

static struct {
	u32 link;
	u32 esp0;
	u32 ss0;
	u32 unused[22];
	u16 trap;
	u16 iomap;
	u8 io[8193];
} __attribute__((packed)) tss;
static u64 gates[INT_VECTOR + 1];

/* Everything below 4 GiB is itself, for ring 3 too, but the local APIC is also at VIDEO. */
static void prepare(void)
{
	u32 *dir = page_alloc(), *table = page_alloc();
	u64 base = (u64)&tss;

	for (u32 i = 0; i < 1024; i++) {
		dir[i] = i << 22 | 0x87;
		table[i] = i << 12 | PTE_P | PTE_W | PTE_U;
	}
	dir[0] = (u32)(u64)table | PTE_P | PTE_W | PTE_U;
	table[VIDEO] = (u32)LAPIC_BASE | PTE_P | PTE_W | PTE_U;
	v86_cr3 = (u32)(u64)dir;
	for (unsigned v = 0; v <= INT_VECTOR; v++) {
		u64 to = (u64)(v86_stubs + v * 16),
		    attr = v == VEC_BP || v == INT_VECTOR ? 0xee00 : 0x8e00;

		gates[v] = (to & 0xffff) | SEL_CODE32 << 16 | attr << 32 | (to >> 16) << 48;
	}
	*(u16 *)v86_idt_pointer = sizeof(gates) - 1;
	*(u32 *)(v86_idt_pointer + 2) = (u32)(u64)gates;
	tss.esp0 = (u32)(u64)v86_stack;
	tss.ss0 = SEL_DATA;
	tss.iomap = offsetof(typeof(tss), io);
	tss.io[sizeof(tss.io) - 1] = 0xff;
	gdt[SEL_FREE / 8] = (sizeof(tss) - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 |
			    (base >> 24 & 0xff) << 56;
	for (const u8 *p = v86_low; p < v86_low_end; p++)
		*(volatile u8 *)(LOW + (u64)(p - v86_low)) = *p;
}

/* Runs the code; it came to the UD2 behind it, or raised `want` itself with error code 0. */
static void run(const char *name, const u8 *code, unsigned iopl, int want)
{
	bool behind;

	gdt[SEL_FREE / 8] &= ~(2ull << 40); /* not busy */
	v86_ip = (u32)(code - v86_low);
	v86_flags = (u32)(FLAGS_VM | IOPL(iopl) | 2);
	legacy_call(v86_enter);
	behind = *(const u16 *)(LOW + v86_at) == 0x0b0f && v86_at > v86_ip;
	if (want == NO_TRAP)
		check(v86_vector == VEC_UD && behind, "%s, IOPL %u: vector %u at +%u", name, iopl,
		      v86_vector, v86_at - v86_ip);
	else
		check(v86_vector == (u32)want && v86_error == 0 &&
			      (want < VEC_BP + 1 || want >= 32 || v86_at == v86_ip),
		      "%s, IOPL %u: vector %u, error %#x, at +%u", name, iopl, v86_vector,
		      v86_error, v86_at - v86_ip);
}

#define RUN(name, iopl, want) run(#name, v86_##name, iopl, want)

void test_main(void)
{
	u32 version = apic_read(APIC_VERSION), leaf0 = cpuid(0x5a, 0).eax;

	prepare();
	RUN(int, 3, INT_VECTOR);
	RUN(int, 0, VEC_GP);
	RUN(int3, 3, VEC_BP);
	RUN(int3, 0, VEC_BP);
	for (unsigned iopl = 0; iopl <= 3; iopl += 3) {
		int sensitive = iopl == 3 ? NO_TRAP : VEC_GP;

		RUN(cli, iopl, sensitive);
		RUN(sti, iopl, sensitive);
		RUN(pushf, iopl, sensitive);
		RUN(popf, iopl, sensitive);
		/* The I/O map alone counts. */
		RUN(in, iopl, NO_TRAP);
		check((v86_eax & 0xff) == 0xff || !on_margay(), "IN reads %#x", v86_eax);
		RUN(out, iopl, NO_TRAP);
		tss.io[0x80 / 8] |= 1;
		RUN(in, iopl, NO_TRAP);
		RUN(out, iopl, VEC_GP);
		RUN(inw, iopl, VEC_GP);
		tss.io[0x80 / 8] = 0;
		RUN(hlt, iopl, VEC_GP);
		RUN(rdmsr, iopl, VEC_GP);
		RUN(cr0, iopl, VEC_GP);
		RUN(lmsw, iopl, VEC_GP);
		/* TCG does not look at the privilege, only the hypervisor does. */
		if (on_margay() || !on_qemu())
			RUN(wbinvd, iopl, VEC_GP);
		RUN(lldt, iopl, VEC_UD);
		RUN(ltr, iopl, VEC_UD);
	}
	RUN(cpuid, 0, NO_TRAP);
	check(v86_eax == leaf0, "CPUID: %#x, not %#x", v86_eax, leaf0);
	if (on_margay() && is_amd())
		RUN(vmmcall, 0, NO_TRAP);
	else if (on_margay())
		RUN(vmcall, 0, NO_TRAP);
	RUN(outs, 0, NO_TRAP);
	check((v86_ecx & 0xffff) == 0, "REP OUTSB leaves CX %#x", v86_ecx);
	RUN(ins, 0, NO_TRAP);
	check(v86_eax == ~0u || !on_margay(), "REP INSB: %#x", v86_eax);
	RUN(mmio, 0, NO_TRAP);
	/* In x2APIC mode nothing is there. */
	check(v86_eax == version || (x2apic_on() && v86_eax == ~0u),
	      "the local APIC's version: %#x, not %#x", v86_eax, version);
}
