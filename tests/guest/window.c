/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 *
 * One CPU reads a page of the physical address space while the other moves
 * what is there to another place (port 0xf8, as a BAR move would), and writes
 * it there. Once the move is over the reader must find nothing at the old
 * place. The same move without the hypervisor's flush must be seen to fail.
 *
 * Then a reader that a kick does not stop at once: QEMU looks for an NMI
 * between blocks of instructions, and this block takes longer than the mover
 * needs to come out of its exit and write. If the hypervisor did not wait for
 * the reader, that would read what is written after the move. Bochs looks
 * after each instruction: there it cannot be shown.
 *
 * A hypervisor that does not wait is caught in most runs; test_shootdown.c, in which one vCPU after
 * the other is late or never answers, catches it in all.
 */
#include "tiny.h"

#define WINDOW_PORT 0xf8
#define NO_FLUSH BIT(31)
#define FIRST 0xd0000000ull
#define SECOND 0xd0201000ull /* another table of the second level */
#define MOVES 200
#define LOOKS 64
#define SLOW_MOVES 200

static volatile u64 *volatile place; /* where the reader reads */
static volatile u32 moves, seen; /* moves that are over; those that the reader has looked after */
static volatile bool reading, stop;
static volatile u64 stale; /* reads after the move that still found the page */

static void reader(void *arg)
{
	u32 done = 0;

	(void)arg;
	while (!stop) {
		u64 v = *place;

		reading = v != ~0ull;
		if (moves == done)
			continue;
		done = moves;
		for (unsigned i = 0; i < LOOKS; i++)
			stale += *place != ~0ull;
		reading = false;
		seen = done;
	}
}

/*
 * Reads the count of moves and then the page, over and over in one block of QEMU's, with slow
 * instructions in between: did it find the page after a move that it had not known of? In one page
 * of code, where such a block ends.
 */
static bool slow_look(const volatile u64 *page, u32 done)
{
	u64 found = 0;

	asm volatile(".p2align 11\n\t"
		     ".rept 28\n\t"
		     "f2xm1; f2xm1; f2xm1; f2xm1; f2xm1; f2xm1; f2xm1; f2xm1; f2xm1\n\t"
		     "movl %[moves], %%eax; movq (%[page]), %%rdx\n\t"
		     "cmpl %[done], %%eax; setne %%al\n\t"
		     "incq %%rdx; setnz %%dl\n\t" /* all ones: nobody is there */
		     "andb %%dl, %%al; orb %%al, %b[found]\n\t"
		     ".endr" : [found] "+r"(found)
		     : [moves] "m"(moves), [page] "r"(page), [done] "r"(done)
		     : "eax", "edx", "cc", "memory");
	return found;
}

/* At a page that is gone it does not look again: that is an exit each time. */
static void slow_reader(void *arg)
{
	static const u32 half = 0x3f000000; /* 0.5 */
	volatile u64 *at = NULL;
	u32 done = moves;

	(void)arg;
	asm volatile("clts; fninit; flds %0" : : "m"(half));
	while (!stop) {
		if (place == at) {
			cpu_relax();
			continue;
		}
		at = place;
		while (moves == done && *at != ~0ull) {
			reading = true;
			stale += slow_look(at, done);
		}
		while (moves == done)
			cpu_relax();
		done = moves;
		reading = false;
		seen = done;
	}
}

/*
 * Moves the window from one place to the other while the reader reads it; the reads that were
 * stale.
 */
static u64 move(u64 from, u64 to, u64 flags, u64 value)
{
	u64 before = stale;

	outl(WINDOW_PORT, (u32)(from >> 12));
	*(volatile u64 *)from = value;
	place = (volatile u64 *)from;
	while (!reading)
		cpu_relax();
	outl(WINDOW_PORT, (u32)(to >> 12 | flags));
	*(volatile u64 *)to = value + 1;
	moves++;
	while (seen != moves)
		cpu_relax();
	return stale - before;
}

void test_main(void)
{
	u64 failed = 0;

	check(smp_start() == 2, "two CPUs");
	check(inl(WINDOW_PORT) == 0, "nowhere at first");
	outl(WINDOW_PORT, 1);
	check(inl(WINDOW_PORT) == 0, "not over RAM");
	outl(WINDOW_PORT, 0xfee00);
	check(inl(WINDOW_PORT) == 0, "not over a device");
	outl(WINDOW_PORT, 0x7fffffff);
	check(inl(WINDOW_PORT) == 0, "not beyond the CPU's addresses");
	outl(WINDOW_PORT, (u32)(FIRST >> 12));
	check(inl(WINDOW_PORT) == FIRST >> 12, "at its place: %#x", inl(WINDOW_PORT));
	*(volatile u64 *)FIRST = 1;
	place = (volatile u64 *)FIRST;
	smp_run(1, reader, NULL);
	for (unsigned i = 0; i < MOVES; i++)
		failed += move(i % 2 ? SECOND : FIRST, i % 2 ? FIRST : SECOND, 0, i + 2);
	check(failed == 0, "%lu reads found the page where it was no longer", failed);
	check(*(volatile u64 *)FIRST == MOVES + 2, "the page itself: %#lx", *(volatile u64 *)FIRST);
	failed = move(FIRST, SECOND, NO_FLUSH, 7);
	/* Where KVM runs both by turns on one CPU, that one's TLB is empty after each turn. */
	if (!on_kvm())
		check(failed != 0, "without a flush the reader must find the page");
	stop = true;
	smp_wait(1);
	stop = false;
	place = NULL;
	smp_run(1, slow_reader, NULL);
	failed = 0;
	for (unsigned i = 0; i < SLOW_MOVES; i++)
		failed += move(i % 2 ? FIRST : SECOND, i % 2 ? SECOND : FIRST, 0, i + 2);
	check(failed == 0, "%lu blocks of reads found the page after it was moved", failed);
	stop = true;
	smp_wait(1);
}
