/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * NOT ON bochs-svm: its vCPUs flip and run in step; and once 4 INS were wrong: docs/testing.md
 *
 * Code that changes at the instruction which the hypervisor carries out: by the CPU itself just
 * before, and by another CPU all the while. What runs is the old or the new instruction, with the
 * rights that it has, and the VM lives on. TCG reads an instruction byte by byte and may run half
 * of each: there only such change by another CPU of which every mixture is harmless.
 */
#include "apic.h"
#include "tiny.h"

#define RUNS 5000
#define CR0_MP BIT(1)

static u8 code[64] __attribute__((aligned(64)));
static volatile bool stop;
static volatile unsigned flips;

/* A routine of RDI, RSI, EAX; `bytes` end with RET. */
static void put(const u8 *bytes, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		((volatile u8 *)code)[i] = bytes[i];
}

static u64 run(u64 di, u64 si, u64 a)
{
	asm volatile("call *%[code]" : "+a"(a), "+D"(di), "+S"(si) : [code] "r"(code)
		     : "rbx", "rcx", "rdx", "memory", "cc");
	return a;
}

/* movw $new, 2(%rdi) ; the two bytes there ; ret */
static void own_change(void)
{
	static const struct {
		u16 old;
		u16 new;
		const char *name;
	} to[] = {
		{ 0x9090, 0xa20f, "NOPs to CPUID" },      { 0xa20f, 0x9090, "CPUID to NOPs" },
		{ 0x80e4, 0xa20f, "IN to CPUID" },        { 0xa20f, 0x80e6, "CPUID to OUT" },
		{ 0x078b, 0x0789, "MMIO load to store" }, { 0x310f, 0x80e4, "RDTSC to IN" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(to); i++) {
		u16 new = to[i].new;
		/* clang-format off */
		const u8 bytes[] = { 0x66, 0xc7, 0x06, (u8)new, (u8)(new >> 8), (u8)to[i].old,
				     (u8)(to[i].old >> 8), 0xc3 };
		/* clang-format on */

		u32 top = cpuid(0, 0).eax, a;

		put(bytes, sizeof(bytes));
		a = (u32)run(LAPIC_BASE + APIC_TPR, (u64)code + 5, 0);
		switch (new) {
		case 0xa20f: check(a == top, "%s: EAX %#x", to[i].name, a); break;
		case 0x80e4: check((a & 0xff) == 0xff, "%s: EAX %#x", to[i].name, a); break;
		default: check(a == 0, "%s: EAX %#x", to[i].name, a);
		}
	}
}

/* CPU 1: one two-byte instruction after the other at the same place. */
static void flip(void *arg)
{
	/* Each one instruction of two bytes. */
	static const u16 insn[] = {
		0x078b, 0x0789, 0x0723, 0xc08b, 0x0787, 0x9066, 0xa20f, 0x80e4
	};
	const unsigned count = on_qemu() ? 5 : ARRAY_SIZE(insn);

	(void)arg;
	for (unsigned i = 0; !stop; i++)
		flips = i, *(volatile u16 *)code = insn[i % count];
}

/* CPU 1: control-register moves, for a host whose CPU tells nothing of them. */
static void flip_cr(void *arg)
{
	/*
	 * Each one of four; the first five differ in one byte: from CR0, NOP, to CR0, and two that
	 * compute in RAX.
	 */
	static const u32 insn[] = { 0xc0200f48, 0xc01f0f48, 0xc0220f48, 0xc0400f48,
				    0xc0b60f48, 0x00401f0f, 0xa20f4848, 0x80e44848 };
	const unsigned count = on_qemu() ? 5 : ARRAY_SIZE(insn);

	(void)arg;
	for (unsigned i = 0; !stop; i++)
		flips = i, *(volatile u32 *)code = insn[i % count];
}

/* CPU 1: what ring 3 may do, and what not. */
static void flip_msw(void *arg)
{
	static const u32 insn[] = { 0xe0010f48, 0xc0220f48 }; /* smsw %rax; mov %rax, %cr0 */

	(void)arg;
	for (unsigned i = 0; !stop; i++)
		flips = i, *(volatile u32 *)code = insn[i % 2];
}

static void user_smsw(void *arg)
{
	run(0, 0, (u64)arg);
}

/* An exit in ring 3 whose instruction is another one when it is carried out. */
static void user_change(void)
{
	u64 cr0 = read_cr0(), now = cr0;
	unsigned runs = 0, read = 0;

	put((const u8[]){ 0x48, 0x0f, 0x01, 0xe0, 0xc3 }, 5);
	stop = false;
	flips = 0;
	smp_run(1, flip_msw, NULL);
	for (; now == cr0 && (runs < RUNS || flips < RUNS); runs++) {
		read += user_run(user_smsw, (void *)(cr0 ^ CR0_MP)) == NO_TRAP;
		now = read_cr0();
	}
	stop = true;
	smp_wait(1);
	check(now == cr0 && read, "CR0 is %#lx, not %#lx, after %u runs, %u of them SMSW", now, cr0,
	      runs, read);
}

#define PORT 0x80 /* nobody's: reads as ones */

static volatile u32 read_there;

/* CPU 1: a string instruction for one port and for four. */
static void flip_ins(void *)
{
	for (unsigned i = 0; !stop; i++)
		flips = i, *(volatile u8 *)code = i & 1 ? 0x6d : 0x6c; /* insl: insb */
}

static void user_ins(void *)
{
	u64 to = (u64)&read_there;

	asm volatile("call *%[code]" : "+D"(to) : [code] "r"(code), "d"(PORT) : "memory", "cc");
}

/* Ring 3 has one port. INSB reads a byte there, INSD is #GP; no run is half of each. */
static void user_port(void)
{
	struct tss *tss = &this_cpu()->tss;
	unsigned runs = 0, reads = 0, wrong = 0;

	for (unsigned i = 0; i < sizeof(tss->io); i++)
		tss->io[i] = i == PORT / 8 ? 0xfe : 0xff;
	put((const u8[]){ 0x6c, 0xc3 }, 2);
	stop = false;
	flips = 0;
	smp_run(1, flip_ins, NULL);
	for (; runs < RUNS || flips < RUNS; runs++) {
		int trap;

		read_there = 0;
		trap = user_run(user_ins, NULL);
		reads += trap == NO_TRAP;
		wrong += read_there != (trap == NO_TRAP ? 0xff : 0) ||
			 (trap != NO_TRAP && trap != VEC_GP);
	}
	stop = true;
	smp_wait(1);
	check(!wrong && reads, "%u of %u runs read another number of ports, %u one", wrong, runs,
	      reads);
	for (unsigned i = 0; i < sizeof(tss->io) - 1; i++)
		tss->io[i] = 0;
}

static void others_change(void (*flipper)(void *), u64 rax, const u8 bytes[5])
{
	unsigned runs = 0;

	put(bytes, 5);
	stop = false;
	flips = 0;
	smp_run(1, flipper, NULL);
	for (; runs < RUNS || flips < RUNS; runs++)
		run(LAPIC_BASE + APIC_TPR, (u64)code, rax);
	stop = true;
	smp_wait(1);
	check(runs >= RUNS, "%u runs, %u flips", runs, flips);
}

void test_main(void)
{
	check(smp_start() == 2, "two CPUs");
	own_change();
	others_change(flip, 0, (const u8[]){ 0x66, 0x90, 0x66, 0x90, 0xc3 });
	others_change(flip_cr, read_cr0(), (const u8[]){ 0x0f, 0x1f, 0x40, 0x00, 0xc3 });
	user_change();
	user_port();
}
