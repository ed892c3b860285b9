/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CPUS: 2
 * VM: pci = 8086:100e
 * VM: dma = window
 * NOT ON qemu: needs a network card: tests/system/test_intx.py
 * NOT ON bochs: the same
 *
 * Line interrupts of an e1000 (PCI/PCI-X Family of Gigabit Ethernet Controllers
 * Software Developer's Manual, 13.4.17 to 13.4.21), which asserts its line at a
 * word, by an entry of the I/O APIC: mode=count takes count= of them on each
 * CPU, each once, and none by an entry that leads nowhere, as one for NMIs or
 * INITs does where the APICs are the CPUs' own (direct=1). mode=storm never asks
 * the card to withdraw. mode=die ends in the handler, or, with late=1, with the
 * interrupt pending, on CPU at=. mode=after finds the line as the VM before has
 * left it, asserted, and an entry of its own, with nothing pending.
 *
 * Bochs' I/O APIC keeps no remote IRR: while a level-triggered input is asserted,
 * each other input that rises has it sent once more (service_ioapic(), in 2.7 and
 * later; no more of ours than the console's is there). So an interrupt may come a
 * second time there, for which the card has no cause left; these are told apart.
 */
#include "apic.h"
#include "pci.h"
#include "tiny.h"

#define CARD_IDS 0x100e8086u
enum card_reg { CARD_ICR = 0xc0, CARD_ICS = 0xc8, CARD_IMS = 0xd0, CARD_IMC = 0xd8 };
#define LINK_CHANGE 4u /* the cause that stands for all */

#define IOAPIC 0xfec00000ull
#define PIN 8 /* the first line's */
#define ENTRY (0x10 + 2 * PIN)
#define REMOTE_IRR BIT(14)
#define LEVEL BIT(15)
#define MASKED BIT(16)
#define LOGICAL BIT(11)

#define VECTOR 0x61
#define OTHER 0x71
#define PATIENCE 3000000u
#define QUIET 300000u

static volatile u8 *card;
static volatile u32 came[MAX_CPUS], others, repeated, apic_id[MAX_CPUS];
static bool bochs;
static volatile bool keep, renamed, dying, listening, stop;
static volatile u32 remote_irr, level_mode;

static u32 io_read(u32 reg)
{
	*(volatile u32 *)IOAPIC = reg;
	return *(volatile u32 *)(IOAPIC + 0x10);
}

static void io_write(u32 reg, u32 value)
{
	*(volatile u32 *)IOAPIC = reg;
	*(volatile u32 *)(IOAPIC + 0x10) = value;
}

static void lead(u32 dest, u32 low)
{
	io_write(ENTRY, (u32)(LEVEL | MASKED | VECTOR));
	io_write(ENTRY + 1, dest << 24);
	io_write(ENTRY, (u32)LEVEL | low);
}

static u32 card_read(enum card_reg reg)
{
	return *(volatile u32 *)(card + reg);
}

static void card_write(enum card_reg reg, u32 value)
{
	*(volatile u32 *)(card + reg) = value;
}

/* Whether there was anything to withdraw. */
static bool withdraw(void)
{
	return card_read(CARD_ICR) != 0;
}

/* Nothing here is an exit where the APIC is the CPU's own: apic.h's look at the mode is one. */
static void on_line(struct trap_frame *f)
{
	bool again;

	if (dying)
		exit_test();
	if (renamed) {
		io_write(ENTRY, (u32)LEVEL | OTHER);
		renamed = false;
	}
	again = !keep && !withdraw() && bochs;
	if (level_mode) {
		level_mode = apic_read(APIC_TMR + f->vector / 32 * 16) >> f->vector % 32 & 1;
		remote_irr = io_read(ENTRY) & (u32)REMOTE_IRR;
		apic_write(APIC_EOI, 0);
	} else {
		wrmsr(0x80b, 0);
	}
	/* Not before all that: who sees it has the next one sent. */
	if (again)
		repeated++;
	else
		came[this_cpu()->id]++;
}

static void on_other(struct trap_frame *)
{
	others++;
	(void)withdraw();
	apic_write(APIC_EOI, 0);
}

static void wait(void)
{
	for (u32 i = 0; i < QUIET; i++)
		cpu_relax();
}

static bool open_card(void)
{
	u32 bdf = pci_find(CARD_IDS);

	if (!check(bdf, "no e1000"))
		return false;
	card = (volatile u8 *)(u64)(pci_read(bdf, 0x10) & ~0xfu);
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff & ~BIT(10)) | 2);
	check((pci_read(bdf, 0x3c) >> 8 & 0xff) >= 1, "it has a pin");
	return true;
}

static void take_id(void *)
{
	check(x2apic_on() || x2apic_enable(), "no x2APIC mode");
	apic_id[this_cpu()->id] = apic_read(APIC_ID);
}

static void listen(void *)
{
	irq_on();
	listening = true;
	while (!stop)
		cpu_relax();
	irq_off();
	listening = false;
}

/* Each one once, on that CPU. */
static void count_on(unsigned cpu, u32 dest, u32 low, u32 count)
{
	u32 before = came[cpu], other = came[!cpu];

	lead(dest, low);
	for (u32 i = 1; i <= count; i++) {
		card_write(CARD_ICS, LINK_CHANGE);
		if (!reaches(&came[cpu], before + i, PATIENCE))
			break;
	}
	check(came[cpu] - before == count && came[!cpu] == other,
	      "%u of %u on CPU %u by %#x at %#x, %u elsewhere", came[cpu] - before, count, cpu, low,
	      dest, came[!cpu] - other);
}

/*
 * Nothing comes by an entry like that, though the line is asserted; it does as soon as the entry is
 * right again.
 */
static void refused(u32 dest, u32 low)
{
	u32 before = came[0] + came[1];

	lead(dest, low);
	card_write(CARD_ICS, LINK_CHANGE);
	wait();
	check(came[0] + came[1] == before && !others, "an interrupt by %#x at %#x", low, dest);
	check(io_read(ENTRY) == (LEVEL | low) && io_read(ENTRY + 1) == dest << 24,
	      "its own values back: %#x", io_read(ENTRY));
	lead(apic_id[0], VECTOR);
	check(reaches(&came[0], before - came[1] + 1, PATIENCE), "it comes by a right one");
}

/* The mode and the end of one as they show in the APICs; Bochs' I/O APIC keeps no remote IRR. */
static void ends(void)
{
	u32 before = came[0];

	level_mode = 1;
	count_on(0, apic_id[0], VECTOR, 1);
	check(level_mode, "its trigger mode is level");
	check(bochs || remote_irr, "remote IRR, while in service");
	check(!(io_read(ENTRY) & REMOTE_IRR), "remote IRR, after it");
	level_mode = 0;
	/*
	 * The machine's I/O APIC alone from here on. Kept asserted once: it comes again at the end
	 * of the first.
	 */
	if (bochs || !option_number("direct", 0))
		return;
	keep = true;
	card_write(CARD_ICS, LINK_CHANGE);
	for (u32 i = 0; i < PATIENCE && came[0] < before + 3; i++)
		cpu_relax();
	keep = false;
	check(came[0] >= before + 3, "it comes again while the line is asserted");
	wait();
	/*
	 * With another vector meanwhile, the EOI is for nothing; the I/O APIC's register is for
	 * that.
	 */
	before = came[0];
	renamed = true;
	card_write(CARD_ICS, LINK_CHANGE);
	check(reaches(&came[0], before + 1, PATIENCE), "the last one of its vector");
	card_write(CARD_ICS, LINK_CHANGE);
	wait();
	check(came[0] == before + 1 && !others && io_read(ENTRY) & REMOTE_IRR,
	      "it is still in service");
	*(volatile u32 *)(IOAPIC + 0x40) = VECTOR;
	check(io_read(ENTRY) & REMOTE_IRR && !others, "another's end is not its own");
	*(volatile u32 *)(IOAPIC + 0x40) = OTHER;
	check(reaches(&others, 1, PATIENCE) && came[0] == before + 1,
	      "it has come by its new vector");
	others = 0;
}

static void count(void)
{
	u32 n = (u32)option_number("count", 100), modes = option_number("direct", 0) ? 8 : 4;

	irq_on();
	smp_run(1, listen, NULL);
	while (!listening)
		cpu_relax();
	card_write(CARD_IMS, LINK_CHANGE);
	count_on(0, apic_id[0], VECTOR, n);
	count_on(1, apic_id[1], VECTOR, n);
	count_on(0, apic_id[0], 1 << 8 | VECTOR, n);
	if (apic_id[1] < 8)
		count_on(1, 1u << apic_id[1], LOGICAL | VECTOR, n);
	print("line: counted");
	refused(apic_id[0], MASKED | VECTOR);
	refused(0xfe, VECTOR);
	refused(apic_id[0], 15);
	/* NMI and those above are messages that the monitor's I/O APIC sends. */
	for (u32 mode = 2; mode < modes; mode++)
		refused(apic_id[0], mode << 8 | VECTOR);
	ends();
	stop = true;
	smp_wait(1);
	irq_off();
	print("line: repeated=%u", repeated);
}

/* No more of this is to be seen than that: the handler never withdraws. */
static void storm(void)
{
	keep = true;
	irq_on();
	lead(apic_id[0], VECTOR);
	card_write(CARD_IMS, LINK_CHANGE);
	card_write(CARD_ICS, LINK_CHANGE);
	for (;;)
		if (came[0] > 1000 && came[0] != ~0u) {
			came[0] = 0;
			print("line: storm");
		}
}

static void die(void)
{
	unsigned at = (unsigned)option_number("at", 0);
	bool late = option_number("late", 0);

	check(true, "no more");
	keep = dying = true;
	if (at && !late) {
		smp_run(at, listen, NULL);
		while (!listening)
			cpu_relax();
	} else if (!late) {
		irq_on();
	}
	lead(apic_id[at], VECTOR);
	card_write(CARD_IMS, LINK_CHANGE);
	card_write(CARD_ICS, LINK_CHANGE);
	wait();
	check(late, "it has not come");
}

static void nothing_pending(void *)
{
	u32 any = 0;

	for (unsigned i = 0; i < 8; i++)
		any |= apic_read(APIC_IRR + i * 16) | apic_read(APIC_ISR + i * 16);
	check(!any, "CPU %u: nothing pending or in service", this_cpu()->id);
}

static void after(void)
{
	nothing_pending(NULL);
	smp_run(1, nothing_pending, NULL);
	smp_wait(1);
	check(io_read(ENTRY) == MASKED, "the entry as after a reset: %#x", io_read(ENTRY));
	irq_on();
	wait();
	check(!came[0] && !others, "nothing has come");
	lead(apic_id[0], VECTOR);
	check(reaches(&came[0], 1, PATIENCE), "what the card had to say still");
	wait();
	check(came[0] == 1, "once");
	count_on(0, apic_id[0], VECTOR, 10);
}

void test_main(void)
{
	const char *mode = option("mode");

	bochs = on_bochs();
	trap_handlers[VECTOR] = on_line;
	trap_handlers[OTHER] = on_other;
	if (!open_card())
		return;
	smp_start();
	take_id(NULL);
	smp_run(1, take_id, NULL);
	smp_wait(1);
	switch (mode ? mode[0] : 'c') {
	case 's': storm(); break;
	case 'd': die(); break;
	case 'a': after(); break;
	default: count();
	}
	if (mode && mode[0] != 'd')
		card_write(CARD_IMC, ~0u);
}
