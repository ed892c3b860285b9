/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: pci = 1234:11e8
 * NOT ON qemu: needs two devices edu, and somebody outside: tests/system/test_remapping.py
 * NOT ON bochs: no device edu
 *
 * Two of edu, which send an MSI each. Then somebody outside has changed what the second one sends,
 * and has left in RAM what it shall write where by DMA: what arrives is told. At the end the first
 * one works as before.
 */
#include "edu.h"
#include "vectors.h"

#define MAILBOX 0x1800000ull /* a page of RAM that nobody uses: address and data of a DMA write */
#define WAIT 10000000u
#define MSI_ENABLE BIT(16)

struct function {
	u32 bdf;
	u32 cap;
	u8 vector;
	volatile u8 *regs;
};

static void set_up(struct function *f, u32 bdf, u8 vector)
{
	*f = (struct function){ bdf, pci_find_cap(bdf, PCI_CAP_MSI), vector,
				(volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu) };
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 6);
	pci_write(bdf, f->cap + 4, 0xfee00000);
	pci_write(bdf, f->cap + 8, 0);
	pci_write(bdf, f->cap + 12, vector);
	pci_write(bdf, f->cap, pci_read(bdf, f->cap) | MSI_ENABLE);
}

static void interrupt(const struct function *f)
{
	*(volatile u32 *)(f->regs + EDU_RAISE) = 1;
	wait_for_vectors(arrived + 1, WAIT / 10);
	*(volatile u32 *)(f->regs + EDU_ACK) = 1;
}

static void works(const struct function *f)
{
	unsigned before = at_vector[f->vector];

	interrupt(f);
	check(at_vector[f->vector] == before + 1, "%u interrupts at %#x",
	      at_vector[f->vector] - before, f->vector);
}

/* The console is this VM's: each key is a step. */
static void next(const char *what)
{
	print("forged: %s: %u and %u", what, at_vector[0x61], at_vector[0x62]);
	while (!(inb(0x3fd) & 1))
		;
	(void)inb(0x3f8);
}

static void dma(u64 from, u64 to, u32 command)
{
	*(volatile u64 *)(edu + EDU_DMA_FROM) = from;
	*(volatile u64 *)(edu + EDU_DMA_TO) = to;
	*(volatile u64 *)(edu + EDU_DMA_COUNT) = 4;
	*(volatile u64 *)(edu + EDU_DMA_COMMAND) = command | EDU_DMA_START;
	edu_wait();
}

void test_main(void)
{
	volatile u64 *mailbox = (volatile u64 *)MAILBOX;
	struct function first, second;

	if (!check(pci_read(0x48, 0) == EDU_IDS && pci_read(0x50, 0) == EDU_IDS, "no two edu"))
		return;
	count_vectors();
	set_up(&first, 0x48, 0x61);
	set_up(&second, 0x50, 0x62);
	works(&first);
	works(&second);
	mailbox[0] = 0;
	print("forged: capability at %#x", first.cap);
	next("sent");
	interrupt(&second);
	next("forged");
	edu = second.regs;
	dma(MAILBOX + 8, EDU_BUFFER, 0);
	dma(EDU_BUFFER, mailbox[0], EDU_DMA_TO_RAM);
	wait_for_vectors(arrived + 1, WAIT / 10);
	next("written");
	works(&first);
	irq_off();
}
