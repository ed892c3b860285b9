/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * FULL: its race with the other CPU has a new form, which has not run on Bochs yet
 * CPUS: 2
 *
 * Device registers by every kind of instruction and addressing mode, across
 * the end of a page, and through a page table that the other CPU changes all
 * the time. The device is the I/O APIC, whose redirection entries keep what is
 * written.
 */
#include "apic.h"
#include "tiny.h"

#define IOAPIC 0xfec00000ull
#define ALIAS 0x40000000ull /* two pages: one of RAM, then the I/O APIC or the other way round */
#define RTE_LOW 0x10
#define MASK 0x10000u
#define ROUNDS 300
#define PATIENCE 1000000

static void select_reg(u32 reg)
{
	*(volatile u32 *)IOAPIC = reg;
}

/* Leaves the masked entry of pin 0 holding v in its vector. */
static void put(u32 v)
{
	select_reg(RTE_LOW);
	*(volatile u32 *)(IOAPIC + 0x10) = MASK | v;
}

static u32 get(void)
{
	return *(volatile u32 *)(IOAPIC + 0x10);
}

static void addressing(void)
{
	u64 base = IOAPIC, index = 4;
	u32 v;

	put(0x31);
#define LOAD(text, ...) \
	do { \
		v = 0; \
		asm volatile(text : "=&r"(v) : __VA_ARGS__ : "memory"); \
		check(v == (MASK | 0x31), "%s: %#x", text, v); \
	} while (0)
	LOAD("mov (%1), %0", "r"(base + 0x10));
	LOAD("mov 0x10(%1), %0", "r"(base));
	LOAD("mov (%1,%2,4), %0", "r"(base), "r"(index));
	LOAD("mov -0x1000(%1,%2,8), %0", "r"(base + 0xff0), "r"(index));
	LOAD("mov 0x7fffff10(%1), %0", "r"(base - 0x7fffff00));
	LOAD("mov (,%1,1), %0", "r"(base + 0x10));
	LOAD("addr32 mov (%k1), %0", "r"(base + 0x10));
	LOAD("mov %%gs:(%1), %0", "r"(base + 0x10 - (u64)this_cpu()));
#undef LOAD
	{
		u64 rax, r9;

		asm volatile("movabs 0xfec00010, %%eax" : "=a"(rax));
		check((u32)rax == (MASK | 0x31), "movabs: %#lx", rax);
		asm volatile("mov $-1, %%r9\n\tmov (%1), %%r9d\n\tmov %%r9, %0" : "=r"(r9)
			     : "r"(base + 0x10) : "r9", "memory");
		check(r9 == (MASK | 0x31), "a 32-bit load clears the upper half: %#lx", r9);
	}
}

static void operations(void)
{
	volatile u32 *win = (u32 *)(IOAPIC + 0x10);
	u32 v, before;
	u64 flags;

#define RMW(text, start, in, result) \
	do { \
		put(start); \
		asm volatile(text : "+m"(*win) : "r"(in) : "memory", "cc"); \
		check(get() == (MASK | (result)), "%s: %#x, not %#x", text, get(), \
		      MASK | (result)); \
	} while (0)
	RMW("orl %1, %0", 0x11, 0x22u, 0x33);
	RMW("andl %1, %0", 0x3f, ~0xfu, 0x30);
	RMW("xorl %1, %0", 0x3c, 0xffu, 0xc3);
	RMW("addl %1, %0", 0x21, 0x0fu, 0x30);
	RMW("subl %1, %0", 0x21, 0x02u, 0x1f);
	RMW("lock orl %1, %0", 0x11, 0x22u, 0x33);
	RMW("btsl %1, %0", 0x40, 0u, 0x41);
	RMW("btrl %1, %0", 0x41, 6u, 0x01);
	RMW("btcl %1, %0", 0x41, 1u, 0x43);
#undef RMW
	put(0x55);
	asm volatile("orl $0x0a, %0" : "+m"(*win) : : "cc");
	check(get() == (MASK | 0x5f), "or with an immediate: %#x", get());
	asm volatile("movl $0x10066, %0" : "=m"(*win));
	check(get() == (MASK | 0x66), "store of an immediate: %#x", get());
	before = get();
	v = MASK | 0x77;
	asm volatile("xchg %0, %1" : "+r"(v), "+m"(*win));
	check(v == before && get() == (MASK | 0x77), "xchg: %#x, %#x", v, get());
	asm volatile("cmpl %2, %1\n\tpushfq\n\tpop %0" : "=r"(flags) : "m"(*win),
								       "r"(MASK | 0x77) : "cc");
	check((flags & 0x8d5) == 0x44, "cmp equal: flags %#lx", flags);
	asm volatile("cmpl %2, %1\n\tpushfq\n\tpop %0" : "=r"(flags) : "m"(*win),
								       "r"(MASK | 0x78) : "cc");
	check((flags & 0x8d5) == 0x95, "cmp below: flags %#lx", flags);
	asm volatile("testl %2, %1\n\tpushfq\n\tpop %0" : "=r"(flags) : "m"(*win),
									"r"(0x88u) : "cc");
	check((flags & 0x8d5) == 0x44, "test: flags %#lx", flags);
	asm volatile("btl $5, %1\n\tpushfq\n\tpop %0" : "=r"(flags) : "m"(*win) : "cc");
	check(flags & 1, "bt: flags %#lx", flags);
}

/*
 * The same instruction on RAM and on a register that keeps any 32 bits, the initial count of a
 * masked timer.
 */
static void against_ram(void)
{
	static const u32 values[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x0f0f0f0f };
	volatile u32 ram, *const both[] = { &ram, (u32 *)(LAPIC_BASE + APIC_TIMER_INIT) };

#define BOTH(text) \
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(values) * ARRAY_SIZE(values); i++) { \
		u32 a = values[i / 2 % ARRAY_SIZE(values)], \
		    b = values[i / 2 / ARRAY_SIZE(values)]; \
		u32 left[2], reg[2] = { b, b }; \
		u64 flags[2]; \
		for (unsigned k = 0; k < 2; k++) { \
			*both[k] = a; \
			asm volatile("bt $0, %[carry]\n\t" text "\n\tpushfq\n\tpop %[flags]" \
				     : [flags] "=&r"(flags[k]), [reg] "+r"(reg[k]) \
				     : [carry] "r"(i), [at] "r"(both[k]) : "memory", "cc"); \
			left[k] = *both[k]; \
		} \
		check(left[0] == left[1] && reg[0] == reg[1] && !((flags[0] ^ flags[1]) & 0x8d5), \
		      "%s of %#x and %#x, CF %u: %#x %#x %#lx in RAM, %#x %#x %#lx in the device", \
		      text, a, b, i & 1, left[0], reg[0], flags[0], left[1], reg[1], flags[1]); \
	}
	BOTH("adcl %[reg], (%[at])")
	BOTH("adcl (%[at]), %[reg]")
	BOTH("adcl $-1, (%[at])")
	BOTH("lock adcl $0x12345678, (%[at])")
	BOTH("sbbl %[reg], (%[at])")
	BOTH("sbbl (%[at]), %[reg]")
	BOTH("sbbl $-1, (%[at])")
	BOTH("incl (%[at])")
	BOTH("lock decl (%[at])")
	BOTH("negl (%[at])")
	BOTH("notl (%[at])")
#undef BOTH
	*both[1] = 0;
}

static void strings(void)
{
	static u32 buf[4];
	u64 di = (u64)buf, si = IOAPIC + 0x10, n = 1;

	put(0x41);
	asm volatile("rep movsl" : "+D"(di), "+S"(si), "+c"(n) : : "memory");
	check(buf[0] == (MASK | 0x41) && n == 0 && di == (u64)(buf + 1) && si == IOAPIC + 0x14,
	      "movs from the device: %#x", buf[0]);
	buf[0] = MASK | 0x42;
	si = (u64)buf;
	di = IOAPIC + 0x10;
	asm volatile("movsl" : "+D"(di), "+S"(si) : : "memory");
	check(get() == (MASK | 0x42), "movs to the device: %#x", get());
	di = IOAPIC + 0x10;
	asm volatile("stosl" : "+D"(di) : "a"(MASK | 0x43) : "memory");
	check(get() == (MASK | 0x43), "stos: %#x", get());
	si = IOAPIC + 0x10;
	asm volatile("lodsl" : "+S"(si), "=a"(n) : : "memory");
	check((u32)n == (MASK | 0x43), "lods: %#lx", n);
}

/*
 * An operand half in RAM: that half is right, whatever the device makes of the other. And one that
 * has no second page.
 */
static void crossing(u64 ram)
{
	volatile u8 *at = (u8 *)ALIAS + PAGE_SIZE - 2;
	u32 v;

	map_page(ALIAS, ram, PTE_P | PTE_W);
	map_page(ALIAS + PAGE_SIZE, IOAPIC, PTE_P | PTE_W);
	at[0] = 0x12;
	at[1] = 0x34;
	v = *(volatile u32 *)at;
	check((u16)v == 0x3412, "a load half from RAM: %#x", v);
	put(0x44);
	*(volatile u32 *)at = 0xffff7856;
	check(at[0] == 0x56 && at[1] == 0x78, "a store half to RAM: %#x %#x", at[0], at[1]);
	check(get() == (MASK | 0x44), "the device ignores a 16-bit store: %#x", get());
	map_page(ALIAS + PAGE_SIZE, ram, PTE_P | PTE_W);
	map_page(ALIAS, IOAPIC, PTE_P | PTE_W);
	*(volatile u16 *)ram = 0xbeef;
	v = *(volatile u32 *)at;
	check(v >> 16 == 0xbeef, "a load half from the device: %#x", v);
	map_page(ALIAS + PAGE_SIZE, 0, 0);
	check(TRY("mov (%1), %0", O("=r"(v)), O("r"(at))) == VEC_PF &&
		      this_cpu()->trap_cr2 == ALIAS + PAGE_SIZE,
	      "a load whose second page is absent: CR2 %#lx", this_cpu()->trap_cr2);
	check(TRY("movl $0, (%0)", , O("r"(at))) == VEC_PF && this_cpu()->trap_error == 2,
	      "a store: error %#lx", this_cpu()->trap_error);
}

static volatile bool stop;
static volatile u64 changes;
static u64 ram_page;
static u64 *entry;

/* RAM, device and nothing by turns, behind the other CPU's back. */
static void change(void *arg)
{
	(void)arg;
	for (u64 i = 0; !stop; i++) {
		const u64 turns[] = { ram_page | PTE_P | PTE_W, IOAPIC | PTE_P | PTE_W, 0 };

		*(volatile u64 *)entry = turns[i % 3];
		changes = i;
		for (unsigned k = 0; k < i % 7; k++)
			cpu_relax();
	}
}

static void changing(u64 ram)
{
	unsigned from_ram = 0, from_device = 0, faults = 0, wrong = 0;

	ram_page = ram;
	map_page(ALIAS, ram, PTE_P | PTE_W);
	entry = page_entry(ALIAS);
	*(volatile u32 *)(ram + 0x10) = 0x600d600d;
	put(0x51);
	smp_run(1, change, NULL);
	/*
	 * Behind each of the three changes in turns: whichever of them the access meets then, all
	 * three come.
	 */
	for (unsigned i = 0; i < ROUNDS || (!(from_ram && from_device && faults) && i < PATIENCE);
	     i++) {
		u32 v = 0;
		int trap;

		while (changes % 3 != i % 3)
			cpu_relax();

		asm volatile("invlpg (%0)" : : "r"(ALIAS) : "memory");
		trap = TRY("mov 0x10(%1), %0", O("=r"(v)), O("r"(ALIAS)));
		if (trap == VEC_PF && this_cpu()->trap_cr2 == ALIAS + 0x10)
			faults++;
		else if (trap == NO_TRAP && v == 0x600d600d)
			from_ram++;
		else if (trap == NO_TRAP && v == (MASK | 0x51))
			from_device++;
		else
			wrong++;
	}
	stop = true;
	smp_wait(1);
	check(wrong == 0, "%u accesses were none of RAM, device or #PF", wrong);
	check(from_ram && from_device && faults, "all three came: RAM %u, device %u, #PF %u",
	      from_ram, from_device, faults);
}

void test_main(void)
{
	u64 ram = (u64)page_alloc();

	check(smp_start() == 2, "two CPUs");
	addressing();
	operations();
	against_ram();
	strings();
	crossing(ram);
	changing(ram);
}
