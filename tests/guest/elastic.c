/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * VM: pci = 1234:11e8
 * NOT ON qemu: needs the device edu, and an IOMMU: tests/system/test_iommu.py
 * NOT ON bochs: no device edu
 *
 * A page of the VM's leaves it and comes back at another place (port 0xf8, as in window.c) again
 * and again, while one CPU reads it and edu writes to it: a write that has been started, and
 * arrives after the page is gone, must not land; one to where it is then must. Without the
 * hypervisor's flush (control=1) the first lands. edu writes 100 ms of the host's time after it is
 * told to: on a busy host the write may come before the page is gone, which says nothing, and is
 * tried again.
 */
#include "edu.h"

#define WINDOW_PORT 0xf8
#define NO_FLUSH BIT(31)
#define FIRST 0xd0000000ull
#define SECOND 0xd0201000ull /* another table of the second level */
#define SOURCE 0x1801000ull  /* a page of RAM that nobody uses */
#define PATTERN 0x60616261676f7221ull
#define TRIES 20
#define OWN 0x6c6c7566206f7375ull /* what is in the page before */

static volatile u64 *volatile place; /* where the reader reads */
static volatile bool stop;
static volatile u64 reads;

static void reader(void *arg)
{
	(void)arg;
	while (!stop) {
		(void)*place;
		reads++;
	}
}

static void fill(u64 at, u64 value)
{
	for (unsigned i = 0; i < 512; i++)
		((volatile u64 *)at)[i] = value;
}

/* Is all of it this? */
static bool holds(u64 at, u64 value)
{
	for (unsigned i = 0; i < 512; i++)
		if (((volatile u64 *)at)[i] != value)
			return false;
	return true;
}

static void dma_to(u64 at)
{
	edu_dma(EDU_BUFFER, at, EDU_DMA_TO_RAM);
	edu_wait();
}

/* Moves the page while edu's write to its old place is under way. False: the write came first. */
static bool move_in_time(u64 from, u64 to, u32 flags)
{
	bool in_time;

	fill(from, OWN);
	edu_dma(EDU_BUFFER, from, EDU_DMA_TO_RAM);
	outl(WINDOW_PORT, (u32)(to >> 12) | flags);
	in_time = edu_under_way();
	edu_wait();
	return in_time;
}

/* Where edu's write to the page's old place went is seen at the new one. */
static bool lands(u64 from, u64 to, u32 flags)
{
	u64 before = reads;

	for (unsigned tries = 1; !move_in_time(from, to, flags); tries++) {
		if (!check(tries < TRIES,
			   "the write came before the page was gone, each of %u times", tries))
			return false;
		outl(WINDOW_PORT, (u32)(from >> 12));
	}
	check(inl(WINDOW_PORT) == to >> 12, "the page is at %#x", inl(WINDOW_PORT));
	place = (volatile u64 *)to;
	while (reads == before)
		cpu_relax();
	if (holds(to, PATTERN))
		return true;
	check(holds(to, OWN), "a part of the write has come");
	return false;
}

void test_main(void)
{
	u32 bdf = pci_find(EDU_IDS);

	check(smp_start() == 2, "two CPUs");
	if (!check(bdf, "no edu"))
		return;
	edu = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 6);
	fill(SOURCE, PATTERN);
	edu_dma(SOURCE, EDU_BUFFER, 0);
	edu_wait();
	outl(WINDOW_PORT, (u32)(FIRST >> 12));
	fill(FIRST, OWN);
	place = (volatile u64 *)FIRST;
	smp_run(1, reader, NULL);
	/* What is given is edu's, too, and kept by the unit. */
	dma_to(FIRST);
	check(holds(FIRST, PATTERN), "a page that was given is not reached");
	if (option_number("control", 0)) {
		check(lands(FIRST, SECOND, NO_FLUSH), "without a flush the write must land");
	} else
		for (unsigned i = 0; i < option_number("times", 1); i++) {
			u64 from = i % 2 ? SECOND : FIRST, to = i % 2 ? FIRST : SECOND;

			check(!lands(from, to, 0), "a page that was taken is written to");
			dma_to(to);
			check(holds(to, PATTERN), "a page that came back is not reached");
		}
	outl(WINDOW_PORT, 0);
	stop = true;
	smp_wait(1);
}
