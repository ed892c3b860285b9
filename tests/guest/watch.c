/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Breakpoints on accesses that the hypervisor carries out: data breakpoints on
 * device registers and on the memory operand of string I/O, I/O breakpoints
 * (CR4.DE). Each is one #DB behind the instruction, or behind the repetition,
 * with its bit in DR6; accesses beside it and of the other kind are none.
 */
#include "apic.h"
#include "tiny.h"

enum { ON_EXECUTE, ON_WRITE, ON_IO, ON_ACCESS };
enum { LEN_1, LEN_2, LEN_8, LEN_4 };
#define CR4_DE BIT(3)

static unsigned came;
static u64 bits, where;
static u8 buffer[16] __attribute__((aligned(16)));

static void on_debug(struct trap_frame *f)
{
	u64 dr6;

	asm volatile("mov %%dr6, %0" : "=r"(dr6));
	bits |= dr6 & 0xe00f;
	where = f->rip;
	came++;
	f->rflags |= RFLAGS_RF;
	asm volatile("mov %0, %%dr6" : : "r"(0xffff0ff0ull));
}

/* Breakpoint 1, alone. */
static void set(u64 addr, unsigned on, unsigned len)
{
	came = 0;
	bits = 0;
	asm volatile("mov %0, %%dr1; mov %1, %%dr7" :
		     : "r"(addr), "r"(0x400ull | 1 << 2 | on << 20 | len << 22));
}

static void clear(void)
{
	asm volatile("mov %0, %%dr7" : : "r"(0x400ull));
}

#define EXPECT(name, n, text, inputs, ...) \
	({ \
		u64 behind_; \
\
		asm volatile("lea 1f(%%rip), %0\n\t" text "\n1:\tnop" : "=&r"(behind_) : inputs \
			     : "memory", ##__VA_ARGS__); \
		clear(); \
		check(came == (n) && bits == ((n) ? 2 : 0) && (!(n) || where == behind_), \
		      "%s: %u #DB, DR6 %#lx, at +%ld", name, came, bits, where - behind_); \
	})

/* A breakpoint on the instruction `text`. The handler returns to it with RF set. */
#define EXECUTE(name, text, inputs, ...) \
	({ \
		u64 at_; \
\
		asm volatile("lea 1f(%%rip), %0" : "=r"(at_)); \
		set(at_, ON_EXECUTE, LEN_1); \
		asm volatile("1:\t" text : : inputs : "memory", ##__VA_ARGS__); \
		clear(); \
		check(came == 1 && bits == 2 && where == at_, \
		      "a breakpoint on %s: %u #DB, DR6 %#lx, at +%ld", name, came, bits, \
		      where - at_); \
	})

void test_main(void)
{
	u64 tpr = LAPIC_BASE + APIC_TPR;

	trap_handlers[VEC_DB] = on_debug;
	set((u64)buffer, ON_WRITE, LEN_4);
	EXPECT("the control, RAM", 1, "movl $0, (%1)", O("r"(buffer)));
	set(tpr, ON_WRITE, LEN_4);
	EXPECT("a store to MMIO", 1, "movl $0, (%1)", O("r"(tpr)));
	set(tpr, ON_WRITE, LEN_4);
	EXPECT("a load, where stores are watched", 0, "mov (%1), %%eax", O("r"(tpr)), "rax");
	set(tpr, ON_ACCESS, LEN_4);
	EXPECT("a load from MMIO", 1, "mov (%1), %%eax", O("r"(tpr)), "rax");
	set(tpr, ON_ACCESS, LEN_4);
	EXPECT("read-modify-write", 1, "orl $0, (%1)", O("r"(tpr)));
	set(tpr + 0x10, ON_ACCESS, LEN_4);
	EXPECT("the next register", 0, "movl $0, (%1)", O("r"(tpr)));
	set(tpr + 2, ON_WRITE, LEN_1);
	EXPECT("one of its bytes", 1, "movl $0, (%1)", O("r"(tpr)));
	set((u64)buffer + 2, ON_WRITE, LEN_1);
	EXPECT("REP INSB, its third byte", 1, "rep insb", O("D"(buffer), "c"(3), "d"(0x80)));
	set((u64)buffer + 4, ON_ACCESS, LEN_4);
	EXPECT("REP OUTSB beside it", 0, "rep outsb", O("S"(buffer), "c"(4), "d"(0x80)));
	/*
	 * On the instruction itself: once, however many exits and interrupts its repetitions take.
	 */
	EXECUTE("REP OUTSB", "rep outsb", O("S"(buffer), "c"(600), "d"(0x80)));
	EXECUTE("REP STOSD to MMIO", "rep stosl", O("D"(LAPIC_BASE + 0x400), "a"(0), "c"(600)));
	EXECUTE("CPUID", "cpuid", O("a"(0), "c"(0)), "rbx", "rdx");
	write_cr4(read_cr4() | CR4_DE);
	set(0x80, ON_IO, LEN_1);
	EXPECT("OUT", 1, "outb %%al, $0x80", O("a"(0)));
	set(0x80, ON_IO, LEN_1);
	EXPECT("IN", 1, "inb $0x80, %%al", , "rax");
	set(0x81, ON_IO, LEN_1);
	EXPECT("IN of a word that reaches it", 1, "inw $0x80, %%ax", , "rax");
	set(0x82, ON_IO, LEN_2);
	EXPECT("IN beside it", 0, "inw $0x80, %%ax", , "rax");
	write_cr4(read_cr4() & ~CR4_DE);
}
