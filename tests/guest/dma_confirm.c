/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * VM: dma = window
 * VM: pci = 1234:11e8
 * VM: on_end = restart
 * NOT ON qemu: needs the device edu, and runs twice: tests/system/test_dma_windows.py
 * NOT ON bochs: no device edu
 *
 * When a function is a bus master, by what its device does: not before the
 * guest confirms, nor after it takes that back, however often it says either;
 * what two CPUs say and write at once leaves what the last one said; and a VM
 * that starts again, having ended with a bus master, has to say it anew.
 */
#include "bus.h"
#include "edu.h"

#define TARGET 0x1800000ull /* a page of RAM that nobody uses */
#define SOURCE 0x1801000ull
#define ROUNDS 3000u
#define MASTER 4u

static u32 bdf;
static unsigned pattern;

static void set_master(bool on)
{
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff & ~MASTER) | (on ? MASTER : 0) | 2);
}

/*
 * The device fetches a page from this address, and leaves what it then has in another: whether that
 * is what was there.
 */
static bool carries(u64 from)
{
	volatile u64 *source = (volatile u64 *)SOURCE, *target = (volatile u64 *)TARGET;

	pattern++;
	for (unsigned i = 0; i < 512; i++) {
		source[i] = 0x5a5a000000000000 + pattern * 512 + i;
		target[i] = 0;
	}
	edu_dma(from, EDU_BUFFER, 0);
	edu_wait();
	edu_dma(EDU_BUFFER, bus_address(TARGET), EDU_DMA_TO_RAM);
	edu_wait();
	for (unsigned i = 0; i < 512; i++)
		if (target[i] != source[i])
			return false;
	return true;
}

/* Nothing arrives, not even something old. */
static bool silent(void)
{
	bool carried = carries(bus_address(SOURCE));

	for (unsigned i = 0; i < 512; i++)
		carried |= ((volatile u64 *)TARGET)[i] != 0;
	return !carried;
}

static void change_mind(void *arg)
{
	unsigned *refused = arg;

	for (unsigned i = 0; i < ROUNDS; i++)
		*refused += hypercall(MARGAY_HC_DMA_CONFIRM, bdf, i & 1) != 0;
}

static void at_once(bool confirmed, bool master)
{
	unsigned refused = 0;

	smp_run(1, change_mind, &refused);
	for (unsigned i = 0; i < ROUNDS; i++)
		if (i % 3)
			set_master(i & 1);
		else
			refused += hypercall(MARGAY_HC_DMA_CONFIRM, bdf, i >> 1 & 1) != 0;
	smp_wait(1);
	check(!refused, "%u were refused", refused);
	bus_confirm(bdf, confirmed);
	set_master(master);
	check(!(pci_read(bdf, 4) & MASTER) == !master, "the guest's bit is not what it wrote");
	if (confirmed && master)
		check(carries(bus_address(SOURCE)), "confirmed, and it does not work");
	else
		check(silent(), "confirmed %d, bus master %d, and it works", confirmed, master);
}

void test_main(void)
{
	bdf = pci_find(EDU_IDS);
	if (!check(bdf, "no edu"))
		return;
	smp_start();
	edu = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	check(bus_windows() && bus_address(SOURCE) != SOURCE, "the map is the identity");
	/* The second time the device is as it was left, but no bus master. */
	check(!(pci_read(bdf, 4) & MASTER), "it is a bus master at first");
	set_master(true);
	check(pci_read(bdf, 4) & MASTER, "the guest's bit");
	check(silent(), "not confirmed, and it works");
	bus_confirm(bdf, true);
	check(carries(bus_address(SOURCE)), "confirmed, and it does not work");
	check(!carries(SOURCE), "the guest's own address works as well");
	bus_confirm(bdf, true);
	check(carries(bus_address(SOURCE)), "confirmed twice, and it does not work");
	bus_confirm(bdf, false);
	check(silent(), "taken back, and it works");
	bus_confirm(bdf, false);
	check(silent(), "taken back twice, and it works");
	at_once(false, true);
	at_once(true, false);
	/* The last one: it ends as a bus master. */
	at_once(true, true);
}
