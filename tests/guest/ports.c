/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 *
 * Ports: every one in all widths, and string I/O across the end of a page in
 * all widths, both directions and both address sizes. A fault in the middle
 * leaves the registers at the element that faulted, CR2 at its first byte on
 * the page that is not there, and the port was not touched for it. Pages that
 * the monitor reads or writes are marked as accessed and dirty.
 */
#include "tiny.h"

#define NOBODY 0x80     /* swallows and reads ones */
#define SCRATCH 0x3ff   /* the UART's scratch register: one byte of memory */
#define PAGES 0x40000000ull /* two pages of linear addresses, the second one absent at first */

#define PTE_A BIT(5)
#define PTE_D BIT(6)

/* Ends of the VM, the console's registers, the debug window and the watchdog. */
static bool excluded(u32 port, unsigned size, bool write)
{
	static const struct {
		u16 first;
		u16 last;
		bool reads;
	} ranges[] = {
		{ 0x64, 0x64, true },   { 0xf4, 0xfb, true },     { 0x3f8, 0x3ff, false },
		{ 0x505, 0x505, true }, { 0x600, 0x602, true },   { 0x610, 0x617, false },
		{ 0xcf9, 0xcf9, true }, { 0x8900, 0x8900, true },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(ranges); i++)
		if (port <= ranges[i].last && port + size > ranges[i].first &&
		    (write || !ranges[i].reads))
			return true;
	return false;
}

/* Reads and writes a port; false when it did not read as ones. */
static bool touch(u16 port, unsigned size)
{
	u32 ones = size == 4 ? ~0u : (1u << size * 8) - 1, v;

	if (size == 1)
		v = inb(port);
	else if (size == 2)
		v = inw(port);
	else
		v = inl(port);
	if (excluded(port, size, true))
		return v == ones;
	if (size == 1)
		outb(port, 0);
	else if (size == 2)
		outw(port, 0);
	else
		outl(port, 0);
	return v == ones;
}

/* Where devices are, each port in all widths; above, where none is, in one width each. */
static void every_port(void)
{
	unsigned wrong = 0, owned = 0;

	for (u32 port = 0; port < 0x1000; port++) {
		owned += !touch((u16)port, 1);
		touch((u16)port, 2);
		touch((u16)port, 4);
	}
	for (u32 port = 0x1000; port < 0x10000; port += on_bochs() ? 5 : 1)
		wrong += !touch((u16)port, 1u << port % 3);
	check(wrong == 0, "%u ports that nobody owns do not read as ones", wrong);
	check(owned < 64, "%u ports below 0x1000 are somebody's", owned);
}

struct string_regs {
	u64 address;
	u64 count;
};

#define STRING_IO(name, insn, pointer) \
	static int name(u16 port, struct string_regs *r, bool down) \
	{ \
		int trap; \
\
		if (down) \
			asm volatile("std"); \
		trap = TRY("rep " insn, O(pointer(r->address), "+c"(r->count)), O("d"(port))); \
		asm volatile("cld"); \
		return trap; \
	}

STRING_IO(ins1, "insb", "+D")
STRING_IO(ins2, "insw", "+D")
STRING_IO(ins4, "insl", "+D")
STRING_IO(ins1_short, "addr32 insb", "+D")
STRING_IO(ins4_short, "addr32 insl", "+D")
STRING_IO(outs1, "outsb", "+S")
STRING_IO(outs2, "outsw", "+S")
STRING_IO(outs4, "outsl", "+S")
STRING_IO(outs1_short, "addr32 outsb", "+S")
STRING_IO(outs4_short, "addr32 outsl", "+S")

static const struct {
	int (*fn)(u16 port, struct string_regs *r, bool down);
	u8 size;
	bool in;
	const char *name;
} kinds[] = {
	{ ins1, 1, true, "insb" },
	{ ins2, 2, true, "insw" },
	{ ins4, 4, true, "insl" },
	{ ins1_short, 1, true, "addr32 insb" },
	{ ins4_short, 4, true, "addr32 insl" },
	{ outs1, 1, false, "outsb" },
	{ outs2, 2, false, "outsw" },
	{ outs4, 4, false, "outsl" },
	{ outs1_short, 1, false, "addr32 outsb" },
	{ outs4_short, 4, false, "addr32 outsl" },
};

/* From `start` on, 64 elements; `absent` is the page that is not there. */
static void string(unsigned k, u64 start, u64 absent, bool down)
{
	const unsigned size = kinds[k].size, count = 64;
	u64 step = down ? -(u64)size : size, fits = 0, at = start;
	struct string_regs r = { start, count };
	u64 first_bad;
	int trap;

	/* Elements before the first one that touches the absent page. */
	while (fits < count && (at + size <= absent || at >= absent + PAGE_SIZE)) {
		fits++;
		at += step;
	}
	first_bad = at < absent ? absent : at;
	trap = kinds[k].fn(NOBODY, &r, down);
	check(fits < count ? trap == VEC_PF : trap == NO_TRAP, "%s%s at %#lx: trap %d",
	      kinds[k].name, down ? " down" : "", start, trap);
	check(r.address == at && r.count == count - fits,
	      "%s%s at %#lx stops at %#lx, %lu left, not %#lx, %lu", kinds[k].name,
	      down ? " down" : "", start, r.address, r.count, at, count - fits);
	if (fits == count)
		return;
	check(this_cpu()->trap_cr2 == first_bad, "%s%s: CR2 %#lx, not %#lx", kinds[k].name,
	      down ? " down" : "", this_cpu()->trap_cr2, first_bad);
	check((this_cpu()->trap_error & 3) == (kinds[k].in ? 2 : 0), "%s: error code %#lx",
	      kinds[k].name, this_cpu()->trap_error);
}

static void strings(u64 low, u64 high)
{
	for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (unsigned off = 0; off < 8; off++) {
			/* Upwards into the absent second page; downwards into the absent first. */
			map_page(PAGES, low, PTE_P | PTE_W);
			map_page(PAGES + PAGE_SIZE, 0, 0);
			string(k, PAGES + PAGE_SIZE - 16 - off, PAGES + PAGE_SIZE, false);
			map_page(PAGES, 0, 0);
			map_page(PAGES + PAGE_SIZE, high, PTE_P | PTE_W);
			string(k, PAGES + PAGE_SIZE + 16 + off, PAGES, true);
			/* Both there. */
			map_page(PAGES, low, PTE_P | PTE_W);
			string(k, PAGES + PAGE_SIZE - 16 - off, PAGES + 2 * PAGE_SIZE, false);
			string(k, PAGES + PAGE_SIZE + 16 + off, PAGES - PAGE_SIZE, true);
		}
	}
}

/* The entry after REP INSB or OUTSB through it, which had neither bit. */
static void marks(u64 ram)
{
	struct string_regs r = { PAGES, 4 };

	map_page(PAGES, ram, PTE_P | PTE_W);
	check(outs1(NOBODY, &r, false) == NO_TRAP &&
		      (*page_entry(PAGES) & (PTE_A | PTE_D)) == PTE_A,
	      "OUTSB: entry %#lx", *page_entry(PAGES));
	map_page(PAGES, ram, PTE_P | PTE_W);
	r = (struct string_regs){ PAGES, 4 };
	check(ins1(NOBODY, &r, false) == NO_TRAP &&
		      (*page_entry(PAGES) & (PTE_A | PTE_D)) == (PTE_A | PTE_D),
	      "INSB: entry %#lx", *page_entry(PAGES));
	r = (struct string_regs){ BIT(63), 4 };
	check(ins1(NOBODY, &r, false) == VEC_GP && r.count == 4, "INSB to a non-canonical address");
	r = (struct string_regs){ BIT(63), 4 };
	check(outs4(NOBODY, &r, false) == VEC_GP && r.count == 4,
	      "OUTSD from a non-canonical address");
}

/* What goes through the port is what memory holds, in order, and no byte beside it changes. */
static void data(u64 low, u64 high)
{
	u8 *p = (u8 *)(PAGES + PAGE_SIZE - 2);
	struct string_regs r;

	map_page(PAGES, low, PTE_P | PTE_W);
	map_page(PAGES + PAGE_SIZE, high, PTE_P | PTE_W);
	for (unsigned i = 0; i < 8; i++)
		p[i] = (u8)(0x10 + i);
	r = (struct string_regs){ (u64)p, 4 };
	check(outs1(SCRATCH, &r, false) == NO_TRAP && inb(SCRATCH) == 0x13,
	      "outsb: the last byte is there: %#x", inb(SCRATCH));
	r = (struct string_regs){ (u64)p + 7, 3 };
	check(outs1(SCRATCH, &r, true) == NO_TRAP && inb(SCRATCH) == 0x15, "outsb down: %#x",
	      inb(SCRATCH));
	outb(SCRATCH, 0x5a);
	r = (struct string_regs){ (u64)p + 1, 3 };
	check(ins1(SCRATCH, &r, false) == NO_TRAP, "insb");
	for (unsigned i = 0; i < 8; i++)
		check(p[i] == (i >= 1 && i <= 3 ? 0x5a : 0x10 + i), "byte %u after insb: %#x", i,
		      p[i]);
	r = (struct string_regs){ (u64)p, 0 };
	check(ins4(NOBODY, &r, false) == NO_TRAP && p[0] == 0x10 && r.address == (u64)p,
	      "REP with a count of 0");
	/* A page that is there but may not be written. */
	map_page(PAGES + PAGE_SIZE, high, PTE_P);
	write_cr0(read_cr0() | BIT(16));
	r = (struct string_regs){ (u64)p, 4 };
	check(ins1(SCRATCH, &r, false) == VEC_PF && r.count == 2 && this_cpu()->trap_error == 3,
	      "insb to a read-only page");
}

void test_main(void)
{
	u64 low = (u64)page_alloc(), high = (u64)page_alloc();

	if (on_margay())
		every_port();
	strings(low, high);
	marks(low);
	data(low, high);
}
