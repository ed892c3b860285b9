/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPU as tiny guests use it: instructions, registers, descriptors, exceptions, ring 3. */
#ifndef TINY_CPU_H
#define TINY_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define BIT(n) (1ull << (n))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE_SIZE 4096ull
#define MAX_CPUS 192

/* Selectors of lib/start.asm's GDT. */
enum {
	SEL_CODE64 = 0x08,
	SEL_DATA = 0x10,
	SEL_CODE32 = 0x18,
	SEL_CODE16 = 0x20,
	SEL_DATA16 = 0x28,
	SEL_USER_CODE32 = 0x30,
	SEL_USER_DATA = 0x38,
	SEL_USER_CODE64 = 0x40,
	SEL_USER_CODE16 = 0x48,
	SEL_TSS = 0x70,  /* + 16 * CPU */
	SEL_FREE = 0x50, /* four entries that the runtime does not use */
};
extern u64 gdt[];

enum {
	VEC_DE = 0,
	VEC_DB = 1,
	VEC_NMI = 2,
	VEC_BP = 3,
	VEC_OF = 4,
	VEC_BR = 5,
	VEC_UD = 6,
	VEC_NM = 7,
	VEC_DF = 8,
	VEC_TS = 10,
	VEC_NP = 11,
	VEC_SS = 12,
	VEC_GP = 13,
	VEC_PF = 14,
	VEC_MF = 16,
	VEC_AC = 17,
	VEC_MC = 18,
	VEC_XM = 19,
	NO_TRAP = -1,
};

/* What an exception or interrupt leaves on the stack (lib/trap.asm). */
struct trap_frame {
	u64 r15;
	u64 r14;
	u64 r13;
	u64 r12;
	u64 r11;
	u64 r10;
	u64 r9;
	u64 r8;
	u64 rdi;
	u64 rsi;
	u64 rbp;
	u64 rbx;
	u64 rdx;
	u64 rcx;
	u64 rax;
	u64 vector;
	u64 error;
	u64 rip;
	u64 cs;
	u64 rflags;
	u64 rsp;
	u64 ss;
};

struct context {
	u64 rbx;
	u64 rbp;
	u64 r12;
	u64 r13;
	u64 r14;
	u64 r15;
	u64 rsp;
	u64 rip;
	u64 rflags;
};
int context_save(struct context *c) __attribute__((returns_twice));
void context_restore(struct context *c) __attribute__((noreturn));

struct tss {
	u32 reserved0;
	u64 rsp[3];
	u64 reserved1;
	u64 ist[7];
	u64 reserved2;
	u16 reserved3;
	u16 iomap;
	u8 io[8193]; /* all ports open, and the byte of ones that must follow */
} __attribute__((packed));

/* Per CPU, at GS:0, also in ring 3. */
struct cpu {
	struct cpu *self;
	unsigned id;              /* 0: the boot CPU */
	volatile int trap;        /* vector of the last trap in a TRY(), or NO_TRAP */
	volatile u64 trap_error;
	volatile u64 trap_cr2;
	volatile u64 trap_rip;
	volatile int ended_by;    /* the vector that ended a catch_trap() or user_run() */
	struct context *catching; /* where CATCH() goes on */
	struct context *user;     /* where user_run() goes on */
	volatile bool up;
	void (*volatile fn)(void *arg); /* work of smp_run(), NULL when done */
	void *volatile arg;
	struct tss tss;
	u8 trap_stack[8192] __attribute__((aligned(16))); /* from ring 3 */
	u8 ist_stack[8192] __attribute__((aligned(16)));  /* of gates with IST 1 */
	u8 user_stack[8192] __attribute__((aligned(16)));
	u8 stack[16384] __attribute__((aligned(16)));     /* not of the boot CPU */
};
extern struct cpu cpus[MAX_CPUS];

static inline struct cpu *this_cpu(void)
{
	struct cpu *c;

	asm volatile("mov %%gs:0, %0" : "=r"(c));
	return c;
}

/*
 * Called with interrupts off on the trap's stack; what it changes in the frame takes effect. NULL:
 * the default.
 */
typedef void (*trap_handler)(struct trap_frame *f);
extern trap_handler trap_handlers[256];

/* A gate of the IDT: present interrupt gate of ring dpl, IST ist (0: none). */
struct gate {
	u16 offset0;
	u16 selector;
	u8 ist;
	u8 attr;
	u16 offset1;
	u32 offset2;
	u32 reserved;
};
extern struct gate idt[256];
extern u8 trap_stubs[]; /* 16 bytes per vector */
void idt_set(u8 vector, u8 dpl, u8 ist);
/*
 * Loads the table again with this base and limit; idt_load(idt, sizeof(idt) - 1) is the normal one.
 */
void idt_load(const void *base, u16 limit);

#define O(...) __VA_ARGS__
#define EXTABLE(from, to) \
	".pushsection .extable, \"a\"\n\t.quad " from ", " to "\n\t.popsection\n\t"

/*
 * Executes `text`, one instruction, with operands as in asm: TRY("rdmsr",
 * O("=a"(lo), "=d"(hi)), O("c"(msr))). Its value is the vector that it raised
 * (this_cpu()->trap_error, trap_cr2), or NO_TRAP. Works in ring 3 too.
 */
#define TRY(text, outputs, inputs, ...) \
	({ \
		this_cpu()->trap = NO_TRAP; \
		asm volatile("1:\t" text "\n2:\n\t" EXTABLE("1b", "2b") : outputs : inputs \
			     : "memory", "cc", ##__VA_ARGS__); \
		this_cpu()->trap; \
	})

/*
 * Runs fn(arg); when it raises what no TRY() covers, ends it. The vector, or NO_TRAP when fn
 * returned.
 */
int catch_trap(void (*fn)(void *arg), void *arg);

/*
 * Runs fn(arg) in ring 3 on a stack of its own, back when it returns. The vector that ended it, or
 * NO_TRAP.
 */
int user_run(void (*fn)(void *arg), void *arg);

static inline void outb(u16 port, u8 v)
{
	asm volatile("outb %0, %1" : : "a"(v), "Nd"(port) : "memory");
}
static inline void outw(u16 port, u16 v)
{
	asm volatile("outw %0, %1" : : "a"(v), "Nd"(port) : "memory");
}
static inline void outl(u16 port, u32 v)
{
	asm volatile("outl %0, %1" : : "a"(v), "Nd"(port) : "memory");
}
static inline u8 inb(u16 port)
{
	u8 v;
	asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}
static inline u16 inw(u16 port)
{
	u16 v;
	asm volatile("inw %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}
static inline u32 inl(u16 port)
{
	u32 v;
	asm volatile("inl %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

#define CR_ACCESS(n) \
	static inline u64 read_cr##n(void) \
	{ \
		u64 v; \
		asm volatile("mov %%cr" #n ", %0" : "=r"(v) : : "memory"); \
		return v; \
	} \
	static inline void write_cr##n(u64 v) \
	{ \
		asm volatile("mov %0, %%cr" #n : : "r"(v) : "memory"); \
	} \
	/* The vector raised, or NO_TRAP. */ \
	static inline int try_write_cr##n(u64 v) \
	{ \
		return TRY("mov %0, %%cr" #n, , O("r"(v))); \
	}
CR_ACCESS(0)
CR_ACCESS(2)
CR_ACCESS(3)
CR_ACCESS(4)
CR_ACCESS(8)

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;

	asm volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr) : "memory");
	return (u64)hi << 32 | lo;
}

static inline void wrmsr(u32 msr, u64 v)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
}

/* The vector raised, or NO_TRAP. */
static inline int try_rdmsr(u32 msr, u64 *v)
{
	u32 lo = 0, hi = 0;
	int trap = TRY("rdmsr", O("+a"(lo), "+d"(hi)), O("c"(msr)));

	*v = (u64)hi << 32 | lo;
	return trap;
}

static inline int try_wrmsr(u32 msr, u64 v)
{
	return TRY("wrmsr", , O("c"(msr), "a"((u32)v), "d"((u32)(v >> 32))));
}

struct cpuid {
	u32 eax;
	u32 ebx;
	u32 ecx;
	u32 edx;
};
static inline struct cpuid cpuid(u32 leaf, u32 subleaf)
{
	struct cpuid r;

	asm volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf),
										    "c"(subleaf));
	return r;
}
static inline bool is_amd(void)
{
	return cpuid(0, 0).ebx == 0x68747541; /* "Auth" */
}

static inline u64 rdtsc(void)
{
	u32 lo, hi;

	asm volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (u64)hi << 32 | lo;
}

static inline u64 read_rflags(void)
{
	u64 v;

	asm volatile("pushfq; pop %0" : "=r"(v) : : "memory");
	return v;
}
#define RFLAGS_TF BIT(8)
#define RFLAGS_IF BIT(9)
#define RFLAGS_RF BIT(16)

static inline void irq_on(void)
{
	asm volatile("sti" : : : "memory");
}
static inline void irq_off(void)
{
	asm volatile("cli" : : : "memory");
}
static inline void cpu_relax(void)
{
	asm volatile("pause" : : : "memory");
}

#define MSR_APIC_BASE 0x1b
#define MSR_EFER 0xc0000080

#endif
