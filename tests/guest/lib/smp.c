/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other CPUs: started by INIT and SIPI, each then waits for work. And the pages of the identity
 * map.
 */
#include "runtime.h"

#include "apic.h"

#define AP_PAGE 0x8000ull

extern const u8 ap_start[], ap_end[];
extern u64 ap_stack, page_dirs[];
extern u8 image_end[];

static struct cpu *volatile starting;

void ap_main(void);
void ap_main(void)
{
	struct cpu *c = starting;

	cpu_init(c);
	apic_enable();
	c->up = true;
	for (;;) {
		while (!c->fn)
			cpu_relax();
		c->fn(c->arg);
		c->fn = NULL;
	}
}

void smp_restart(unsigned cpu)
{
	struct cpu *c = &cpus[cpu];

	c->id = cpu;
	c->fn = NULL;
	c->up = false;
	starting = c;
	ap_stack = (u64)(c->stack + sizeof(c->stack));
	apic_ipi(cpu, ICR_INIT | ICR_ASSERT);
	/* On the bare machine an INIT takes 10 ms; a VM needs no time. */
	if (!on_margay())
		for (u64 end = rdtsc() + 50000000; rdtsc() < end;)
			cpu_relax();
	apic_ipi(cpu, ICR_STARTUP | ICR_ASSERT | AP_PAGE >> 12);
	while (!c->up)
		cpu_relax();
}

unsigned smp_start(void)
{
	unsigned n = (unsigned)option_number("cpus", 1);

	apic_enable();
	for (const u8 *p = ap_start; p < ap_end; p++)
		*(volatile u8 *)(AP_PAGE + (u64)(p - ap_start)) = *p;
	for (unsigned i = 1; i < n && i < MAX_CPUS; i++)
		smp_restart(i);
	return n;
}

void smp_run(unsigned cpu, void (*fn)(void *arg), void *arg)
{
	cpus[cpu].arg = arg;
	cpus[cpu].fn = fn;
}

void smp_wait(unsigned cpu)
{
	while (cpus[cpu].fn)
		cpu_relax();
}

/* ---- pages ---- */

void *page_alloc(void)
{
	static u64 next;
	u64 page;

	if (!next)
		next = ((u64)image_end + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
	page = __atomic_fetch_add(&next, PAGE_SIZE, __ATOMIC_RELAXED);
	for (u64 *p = (u64 *)page; p < (u64 *)(page + PAGE_SIZE); p++)
		*p = 0;
	return (void *)page;
}

u64 *page_entry(u64 va)
{
	u64 *pde = &page_dirs[va >> 21], *table;

	if (*pde & BIT(7)) {
		table = page_alloc();
		for (unsigned i = 0; i < 512; i++)
			table[i] =
				(*pde & ~(BIT(21) - 1)) + i * PAGE_SIZE + (PTE_P | PTE_W | PTE_U);
		*pde = (u64)table | PTE_P | PTE_W | PTE_U;
	}
	table = (u64 *)(*pde & ~0xfffull);
	return &table[va >> 12 & 511];
}

void map_page(u64 va, u64 pa, u64 flags)
{
	*page_entry(va) = flags ? pa | flags : 0;
	asm volatile("invlpg (%0)" : : "r"(va) : "memory");
}
