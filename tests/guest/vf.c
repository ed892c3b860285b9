/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * NOT ON qemu: needs QEMU's igb, and two VMs: tests/system/test_sriov.py, test_sriov_kill.py
 * NOT ON bochs: no igb
 *
 * Network card 82576 (its data sheet, 7.2, 7.10, 8.12) by hand, the card or one virtual function of
 * it. role=owner: has the card, switches vfs= functions on, lets them send without a driver of the
 * card's, and runs until it is stopped; before that, on and off cycles= times. role=load: has a
 * function, and sends with it all the time until it is gone; then tells how many frames, and that
 * this CPU is still alive; with absent=1 it may be gone already. role=rogue: has the function write
 * to addresses where its VM has no memory (at0=, at1=, ...), fetch a descriptor from one (read=),
 * which it does as itself: 82576s do not check what a driver says. With message=1 it also
 * interrupts until that does not arrive, as somebody outside has changed the message. The card's
 * driver is another VM's.
 */
#include "apic.h"
#include "bus.h"
#include "pci.h"
#include "vectors.h"

#define PF_IDS 0x10c98086u
#define VF_IDS 0x10ca8086u
#define ECAM 0xb0000000u /* QEMU's q35 */
#define SRIOV 0x160u     /* the card's capability */

enum {
	STATUS = 0x8,
	VTEICS = 0x1520,
	VTEIMS = 0x1524,
	VTEICR = 0x1580,
	TCTL = 0x400,
	MAILBOX_MEMORY = 0x800,
	MAILBOX = 0xc40,
	TDBAL = 0x3800,
	TDBAH = 0x3804,
	TDLEN = 0x3808,
	TDH = 0x3810,
	TDT = 0x3818,
	TXDCTL = 0x3828,
	TDWBAL = 0x3838,
	TDWBAH = 0x383c,
};
enum { MAILBOX_REQUEST = 1, MAILBOX_MINE = 4, MAILBOX_ANSWER = 0x10, VF_RESET = 1 };

#define RING 0x1800000ull /* RAM that nobody uses */
#define FRAME 0x1810000ull
#define ENTRIES 4096u
#define FIRST 0x50u
#define VECTOR 0x61
#define FRAME_BYTES 64u
/*
 * Advanced data descriptor, the whole frame, its CRC added, and a word when it is gone (7.2.2.3).
 */
#define SEND (0x00300000u | BIT(29) | BIT(24) | BIT(25) | BIT(27))
#define DONE BIT(0)

struct desc {
	u64 address;
	u32 command;
	u32 status;
};

static volatile u8 *regs;

static u32 get(u32 reg)
{
	return *(volatile u32 *)(regs + reg);
}

static void put(u32 reg, u32 value)
{
	*(volatile u32 *)(regs + reg) = value;
}

static u32 take(u32 ids)
{
	u32 bdf = pci_find(ids), bar = bdf ? pci_read(bdf, 0x10) : ~0u;

	if (!check(bar != ~0u || option("absent"), "no function %#x", ids) || bar == ~0u)
		exit_test();
	regs = (volatile u8 *)(u64)(bar & ~0xfu);
	bus_init(bdf);
	pci_write(bdf, 4, (pci_read(bdf, 4) & 0xffff) | 6);
	return bdf;
}

/* ---- the card ----------------------------------------------------------------------------- */

static void set_control(volatile u8 *config, u16 value)
{
	volatile u16 *control = (volatile u16 *)(config + SRIOV + 0x08);

	*control = value;
	check(*control == value, "control is %#x, not %#x", *control, value);
}

static void owner(void)
{
	volatile u8 *config = (volatile u8 *)(u64)(ECAM | take(PF_IDS) << 12);
	u16 vfs = (u16)option_number("vfs", 1);

	check(*(volatile u32 *)config == PF_IDS, "no ECAM");
	*(volatile u16 *)(config + SRIOV + 0x10) = vfs;
	for (unsigned i = 0; i < option_number("cycles", 0); i++) {
		u64 since = rdtsc();

		set_control(config, 9);
		/* Others' VMs get them meanwhile, and come as far as they do. */
		while (rdtsc() - since < (i % 8) * 50000000ull)
			cpu_relax();
		set_control(config, 0);
	}
	set_control(config, 9);
	put(TCTL, BIT(1));
	print("vf: owner has %u on", vfs);
	while (1)
		cpu_relax();
}

/* ---- one of its functions ----------------------------------------------------------------- */

/* The card's driver lets it send from then on. */
static void ask(void)
{
	put(MAILBOX, MAILBOX_MINE);
	put(MAILBOX_MEMORY, VF_RESET);
	put(MAILBOX, MAILBOX_REQUEST);
	while (!(get(MAILBOX) & MAILBOX_ANSWER))
		cpu_relax();
}

static void ring(u64 at, u32 head)
{
	u64 bus = at == RING ? bus_address(RING) : at;

	put(TXDCTL, 0);
	put(TDBAL, (u32)bus);
	put(TDBAH, (u32)(bus >> 32));
	put(TDLEN, ENTRIES * sizeof(struct desc));
	put(TDH, head);
	put(TDT, head);
	put(TXDCTL, BIT(25));
}

/*
 * Where the head's value goes at the end of each frame; 0: nowhere, but into the descriptor what
 * became of it.
 */
static void write_back(u64 at)
{
	put(TDWBAL, (u32)at | (at ? 1 : 0));
	put(TDWBAH, (u32)(at >> 32));
}

/* False: the function is gone. */
static bool send(u32 head)
{
	u32 next = (head + 1) % ENTRIES, now = head;

	((volatile struct desc *)RING)[head] =
		(struct desc){ bus_address(FRAME), SEND | FRAME_BYTES, FRAME_BYTES << 14 };
	put(TDT, next);
	for (unsigned n = 0; n < 100000000u && now == head; n++)
		now = get(TDH);
	/* The ring's registers say whether it was reset. */
	return check(now == next || now == ~0u,
		     "head is at %#x, then at %#x, of %#x bytes at %#x, control %#x", now, get(TDH),
		     get(TDLEN), get(TDBAL), get(TXDCTL)) &&
	       now == next;
}

/* QEMU's VT-d notes one fault, and what comes before that has been read is lost. */
static void let_it_be_told(void)
{
	for (u64 since = rdtsc(); rdtsc() - since < 1000000000ull;)
		cpu_relax();
}

/* The function's first message, at a cause that is set by hand (8.8.8). */
static void interrupt_until_lost(u32 bdf)
{
	u32 cap = pci_find_cap(bdf, PCI_CAP_MSIX), at = pci_read(bdf, cap + 4),
	    bar = 0x10 + 4 * (at & 7);
	volatile u32 *entry = (volatile u32 *)(((u64)pci_read(bdf, bar + 4) << 32 |
						(pci_read(bdf, bar) & ~0xfu)) +
					       (at & ~7u));
	unsigned before;

	count_vectors();
	entry[0] = 0xfee00000;
	entry[1] = 0;
	entry[2] = VECTOR;
	entry[3] = 0;
	pci_write(bdf, cap, pci_read(bdf, cap) | BIT(31));
	put(VTEIMS, 1);
	do {
		before = arrived;
		put(VTEICR, 1);
		put(VTEICS, 1);
		wait_for_vectors(before + 1, 10000000);
		if (arrived == 1 && !before)
			print("vf: message arrives");
		let_it_be_told();
	} while (arrived != before);
	check(arrived && arrived == at_vector[VECTOR], "%u interrupts, %u of them its own", arrived,
	      at_vector[VECTOR]);
	irq_off();
}

static void rogue(void)
{
	volatile struct desc *own = (volatile struct desc *)RING;
	char key[] = "at0";
	u32 bdf = take(VF_IDS);

	ask();
	for (; option(key); key[2]++) {
		ring(RING, FIRST);
		write_back(option_number(key, 0));
		check(send(FIRST), "gone");
		let_it_be_told();
	}
	write_back(0);
	/* The ring is elsewhere. */
	if (option("read")) {
		ring(option_number("read", 0), 0);
		put(TDT, 1);
		while (get(TDH) != 1)
			cpu_relax();
		let_it_be_told();
	}
	if (option("message"))
		interrupt_until_lost(bdf);
	/* The function itself goes on: what is its VM's it reaches. */
	ring(RING, FIRST);
	check(send(FIRST) && own[FIRST].status & DONE, "its own descriptor says %#x",
	      own[FIRST].status);
	print("vf: rogue is done");
}

static volatile u32 nmis;

static void on_nmi(struct trap_frame *)
{
	nmis++;
}

static void load(void)
{
	u32 bdf, head = 0;
	u64 frames = 0, since;

	bdf = take(VF_IDS);
	apic_enable();
	trap_handlers[VEC_NMI] = on_nmi;
	ring(RING, 0);
	while (send(head)) {
		head = (head + 1) % ENTRIES;
		if (++frames == 100)
			print("vf: load sends");
	}
	since = rdtsc();
	check((frames > 0 || option("absent")) && get(STATUS) == ~0u && pci_read(bdf, 0) == ~0u,
	      "%lu frames, and it is there", frames);
	put(TDT, 0);
	apic_ipi((u32)(x2apic_on() ? apic_read(APIC_ID) : apic_read(APIC_ID) >> 24),
		 ICR_NMI | ICR_ASSERT);
	while (!nmis && rdtsc() - since < 1000000000000ull)
		cpu_relax();
	check(nmis == 1 && rdtsc() > since, "%u NMIs", nmis);
	print("vf: load lost it after %lu frames", frames);
}

void test_main(void)
{
	const char *role = option("role");

	if (!check(role, "no role"))
		return;
	if (role[0] == 'o')
		owner();
	else if (role[0] == 'r')
		rogue();
	else
		load();
}
