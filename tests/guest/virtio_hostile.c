/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * CMDLINE: seed=20261124 rounds=2000 races=200
 * VM: disk = pattern
 * VM: disk = scratch:32M
 * VM: console = virtio
 * NOT ON qemu: needs a disk, and who must not notice: tests/system/test_virtio_hostile.py
 * NOT ON bochs: the same
 *
 * A virtio driver that breaks each rule there is: chains that loop or point outside of RAM,
 * indirect tables, rings that are elsewhere, that are moved under way, or of a wrong size, indices
 * that jump, messages that are no interrupts, registers and configuration space in every width,
 * BARs over everything; with two CPUs also what changes while it is read, and resets in between.
 * After each the device does what it is for; nothing was written where no descriptor has said so.
 */
#include "hostile.h"
#include "vectors.h"

#define VECTOR 0x91
#define MSIX_TABLE 0x3000u /* where the capability says, in the BAR */
#define QUIET 100000u

static struct virtio disk, scratch, console;
static volatile struct block_request request;
static u64 ecam;

/* ---- what must hold after each -------------------------------------------------------- */

static void works(const char *after)
{
	volatile u64 *data = (volatile u64 *)DATA;
	u64 sector = rnd() % 64;

	virtio_start(&disk, 1);
	check(!block_do(&disk, BLOCK_IN, sector, data, 4096) &&
		      disk_differs(data, sector * 64, 512) == 512,
	      "%s: no disk", after);
	check(get(&disk, STATUS, 1) == DRIVER_OK, "%s: its status is %#x", after,
	      get(&disk, STATUS, 1));
	check(block_do(&disk, BLOCK_OUT, 0, data, 512) == 1, "%s: it was written to", after);
}

/* ---- chains ----------------------------------------------------------------------------- */

static volatile struct virtq_desc table[VIRTQ_SIZE + 2] __attribute__((aligned(16)));

static void entry(unsigned i, u64 addr, u32 len, u16 flags, u16 next)
{
	table[i].addr = addr;
	table[i].len = len;
	table[i].flags = flags;
	table[i].next = next;
}

static void prepare(u64 data, u32 size)
{
	virtio_start(&disk, 1);
	block_prepare(&disk, 0, &request, BLOCK_IN, 1, data, size);
}

/* What is offered breaks the queue: nothing is given back, and the device says what it wants. */
static void breaks(const char *how, u16 head)
{
	offer(disk.queue, head);
	notify(&disk, 0);
	check(get(&disk, STATUS, 1) & NEEDS_RESET && !disk.queue->used.index,
	      "%s: status %#x, %u given back", how, get(&disk, STATUS, 1), disk.queue->used.index);
	/* And does nothing more. */
	set_desc(disk.queue, 0, (u64)&request, 16, DESC_NEXT, 1);
	offer(disk.queue, 0);
	notify(&disk, 0);
	check(!disk.queue->used.index, "%s: it goes on", how);
	works(how);
}

static void chains(void)
{
	prepare(DATA, 512);
	set_desc(disk.queue, 0, DATA, 16, DESC_NEXT, 0);
	breaks("a loop", 0);
	prepare(DATA, 512);
	set_desc(disk.queue, 2, DATA, 16, DESC_NEXT | DESC_WRITE, 1);
	breaks("a loop of two", 0);
	prepare(DATA, 512);
	set_desc(disk.queue, 1, DATA, 512, DESC_NEXT | DESC_WRITE, VIRTQ_SIZE);
	breaks("a next beyond the table", 0);
	prepare(DATA, 512);
	breaks("a head beyond the table", 0xffff);
	prepare(DATA, 512);
	set_desc(disk.queue, 2, (u64)&request.status, 1, 0, 0);
	breaks("to be read behind what is to be written", 0);
	prepare(-512ull, 1024);
	breaks("an address that wraps", 0);
	prepare(DATA, 512);
	disk.queue->avail.index = VIRTQ_SIZE;
	breaks("an index that jumps", 0);
	prepare(DATA, 512);
	disk.queue->avail.index = 0xfffe;
	breaks("an index that goes back", 0);
}

static void indirect(const char *how, u64 addr, u32 len, u16 flags)
{
	prepare(DATA, 512);
	set_desc(disk.queue, 0, addr, len, DESC_INDIRECT | flags, 1);
	breaks(how, 0);
}

static void tables(void)
{
	for (u16 i = 0; i < VIRTQ_SIZE + 2; i++)
		entry(i, DATA, 16, DESC_NEXT, i + 1);
	indirect("a table too long", (u64)table, sizeof(table), 0);
	indirect("a table whose end has a next", (u64)table, 32, 0);
	indirect("a table not of whole descriptors", (u64)table, 24, 0);
	indirect("an empty table", (u64)table, 0, 0);
	indirect("a table of 4 GiB", (u64)table, 0xfffffff0, 0);
	indirect("a table with a next", (u64)table, 32, DESC_NEXT);
	indirect("a table outside of RAM", RAM_END, 16, 0);
	indirect("a table over RAM's end", RAM_END - 16, 32, 0);
	indirect("a table in a local APIC", LAPIC_BASE, 16, 0);
	indirect("a table in a BAR", (u64)disk.area[1], 16, 0);
	indirect("a table at the end of all addresses", -16ull, 16, 0);
	entry(0, (u64)table, 32, DESC_INDIRECT, 0);
	indirect("a table in a table", (u64)table, 32, 0);
}

/* Nothing but an error comes of it. */
static void addresses(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(nowhere); i++) {
		prepare(nowhere[i], 512);
		offer(disk.queue, 0);
		notify(&disk, 0);
		check(disk.queue->used.index == 1 && request.status == 1, "data at %#lx: status %u",
		      nowhere[i], request.status);
		/* The header; and the status, which cannot be written then. */
		prepare(DATA, 512);
		set_desc(disk.queue, 0, nowhere[i], 512, DESC_NEXT, 1);
		offer(disk.queue, 0);
		set_desc(disk.queue, 5, nowhere[i], 512, DESC_WRITE, 0);
		offer(disk.queue, 5);
		notify(&disk, 0);
		/* Of the one over RAM's end all that is a header can be read. */
		check(disk.queue->used.index == 2 && (request.status == 1 || nowhere[i] < RAM_END),
		      "header at %#lx: status %u", nowhere[i], request.status);
		/* Nothing is said. */
		set_desc(&console.queue[1], 0, nowhere[i], 512, 0, 0);
		offer(&console.queue[1], 0);
		notify(&console, 1);
		check(console.queue[1].used.index == console.queue[1].avail.index,
		      "the console keeps what is at %#lx", nowhere[i]);
	}
	works("addresses");
	check(get(&console, STATUS, 1) == DRIVER_OK, "the console's status is %#x",
	      get(&console, STATUS, 1));
}

/* ---- rings -------------------------------------------------------------------------------- */

static void rings(void)
{
	static const u16 sizes[] = { 0, 3, 127, 129, 256, 0x8000, 0xffff };
	u64 good[3];

	for (unsigned i = 0; i < ARRAY_SIZE(nowhere) * 3; i++) {
		u64 area[3] = { DATA, DATA + 0x1000, DATA + 0x2000 };

		area[i % 3] = nowhere[i / 3];
		virtio_reset(&disk, 0);
		virtio_queue(&disk, 0, area);
		put(&disk, STATUS, 1, DRIVER_OK);
		check(!get(&disk, QUEUE_ENABLE, 2), "area %u at %#lx is taken", i % 3, area[i % 3]);
		notify(&disk, 0);
	}
	/* Neither the driver's features nor the status go back without a reset. */
	virtio_start(&disk, 1);
	put(&disk, STATUS, 1, 3);
	put(&disk, ACCEPT_SELECT, 4, 1);
	put(&disk, ACCEPT, 4, 0);
	check(get(&disk, STATUS, 1) == DRIVER_OK && get(&disk, ACCEPT, 4) == 1,
	      "status %#x, features %#x after less of them", get(&disk, STATUS, 1),
	      get(&disk, ACCEPT, 4));
	virtio_start(&disk, 1);
	for (unsigned i = 0; i < 3; i++) {
		good[i] = get(&disk, QUEUE_DESC + i * 8, 4);
		put(&disk, QUEUE_DESC + i * 8, 8, GUARD);
		check(get(&disk, QUEUE_DESC + i * 8, 4) == good[i], "area %u has moved under way",
		      i);
	}
	put(&disk, QUEUE_SIZE, 2, 16);
	check(get(&disk, QUEUE_SIZE, 2) == VIRTQ_SIZE, "its size has changed under way");
	check(!block_do(&disk, BLOCK_IN, 0, (void *)DATA, 512), "it does not go on where it was");
	virtio_reset(&disk, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		put(&disk, QUEUE_SIZE, 2, sizes[i]);
		check(get(&disk, QUEUE_SIZE, 2) == VIRTQ_SIZE, "a size of %u is taken", sizes[i]);
	}
	/* Queues that there are not. */
	for (u32 n = 1; n < 0x10000; n = n * 2 + 1) {
		put(&disk, SELECT, 2, n);
		put(&disk, QUEUE_DESC, 8, DATA);
		put(&disk, QUEUE_ENABLE, 2, 1);
		check(!get(&disk, QUEUE_SIZE, 2) && !get(&disk, QUEUE_ENABLE, 2), "queue %u", n);
	}
	/* All three in one place: what is given back is the next request's descriptors. */
	virtio_reset(&disk, 0);
	for (unsigned i = 0; i < 512; i++)
		((volatile u64 *)DATA)[i] = 0x0001000000000001ull * i;
	virtio_queue(&disk, 0, (u64[]){ DATA, DATA, DATA });
	put(&disk, STATUS, 1, DRIVER_OK);
	for (unsigned i = 0; i < 16; i++) {
		*(volatile u16 *)(DATA + 2) = (u16)(i + 64);
		notify(&disk, 0);
	}
	works("rings");
}

/* ---- messages -------------------------------------------------------------------------------- */

static void message(unsigned n, u32 address, u32 data)
{
	volatile u8 *at = disk.area[1] + MSIX_TABLE + n * 16;

	mmio_write(at, 4, address);
	mmio_write(at + 4, 4, 0);
	mmio_write(at + 8, 4, data);
	mmio_write(at + 12, 4, 0);
}

/* A request whose end is told by entry 0. */
static unsigned told(void)
{
	unsigned before = arrived;

	virtio_start(&disk, 1);
	put(&disk, QUEUE_VECTOR, 2, 0);
	check(!block_do(&disk, BLOCK_IN, 0, (void *)DATA, 512), "a read");
	for (u32 i = 0; i < QUIET && arrived == before; i++)
		cpu_relax();
	return arrived - before;
}

static void messages(void)
{
	/* NMI, INIT, SMI, ExtINT; vectors that are exceptions; addresses that are none. */
	/* clang-format off */
	static const struct {
		u32 address;
		u32 data;
	} wrong[] = {
		{ 0, 0x400 | VECTOR }, { 0, 0x500 | VECTOR }, { 0, 0x200 | VECTOR },
		{ 0, 0x700 | VECTOR }, { 0, 0x600 | VECTOR },
		{ 0, 3 }, { 0, 15 }, { 0xff000, 0x500 }, { 0x80000000, VECTOR },
		{ 0x01200000, VECTOR },
		{ 0xfee00000 ^ DATA, VECTOR },
	};
	/* clang-format on */

	u32 self = (u32)LAPIC_BASE | apic_read(APIC_ID) >> (x2apic_on() ? 0 : 24) << 12,
	    cap = pci_find_cap(disk.bdf, PCI_CAP_MSIX);
	u32 entries = (pci_read(disk.bdf, cap) >> 16 & 0x7ff) + 1;

	pci_write(disk.bdf, cap, 0x80000000);
	message(0, self, VECTOR);
	check(told() == 1 && at_vector[VECTOR] == arrived, "the control: a message arrives");
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		message(0, self ^ wrong[i].address, wrong[i].data);
		check(!told(), "a message of %#x at %#x arrives", wrong[i].data,
		      self ^ wrong[i].address);
	}
	/* Beyond the table's entries, in every width. */
	for (u32 at = MSIX_TABLE + entries * 16; at < BAR_SIZE; at += 4)
		for (unsigned size = 1; size <= 8; size *= 2)
			mmio_write(disk.area[1] + (at & ~(size - 1)), size, ~0ull);
	for (u32 at = MSIX_TABLE + entries * 16; at < BAR_SIZE; at += 4)
		check(!mmio_read(disk.area[1] + at, 4), "%#x, behind the table, is %#x", at,
		      mmio_read(disk.area[1] + at, 4));
	for (u32 n = entries; n < 0x10000; n = n * 3 + 1) {
		put(&disk, QUEUE_VECTOR, 2, n);
		check(get(&disk, QUEUE_VECTOR, 2) == 0xffff, "vector %u of a queue", n);
	}
	message(0, self, VECTOR);
	check(told() == 1, "a message arrives again");
	pci_write(disk.bdf, cap, 0);
	works("messages");
}

/* ---- anything ------------------------------------------------------------------------------ */

/* BARs over RAM, the local APIC, ECAM, each other. */
static void bars(void)
{
	/* clang-format off */
	u32 bar = pci_read(disk.bdf, 0x10),
	places[] = { GUARD, 0x100000, LAPIC_BASE, 0xfec00000, (u32)ecam, 0xffffc000,
							 pci_read(scratch.bdf, 0x10) & ~0xfu,
							0xb0000000 };
	/* clang-format on */

	u32 version = apic_read(APIC_VERSION);

	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		pci_write(disk.bdf, 0x10, places[i]);
		check(apic_read(APIC_VERSION) == version &&
			      *(volatile u32 *)(ecam + (disk.bdf << 12)) == VIRTIO_BLOCK,
		      "a BAR at %#x hides something", places[i]);
		guard_holds("bars");
		mmio_write(scratch.area[1] + STATUS, 1, 0);
	}
	pci_write(disk.bdf, 0x10, bar);
	works("bars");
}

static void random_round(void)
{
	struct virtio *v = rnd() & 1 ? &disk : &scratch;
	u16 i = rnd() % VIRTQ_SIZE;

	switch (rnd() & 7) {
	case 0:
		set_desc(v->queue, i, anywhere(), rnd() & 3 ? rnd() & 0xfff : rnd(), rnd() & 7,
			 rnd() % (VIRTQ_SIZE + 1));
		break;
	case 1:
	case 2:
		block_prepare(v, i % 42, &request, rnd() & 3, rnd() & 7 ? rnd() & 0xff : rnd(),
			      anywhere(), (rnd() & 0xff) * 512);
		offer(v->queue, rnd() & 7 ? i % 42 * 3 : (u16)rnd());
		break;
	case 3: virtio_start(v, 1); break;
	case 4: random_access(rnd() & 3 ? v : &console, ecam); break;
	case 5:
		((volatile u16 *)&v->queue->avail)[rnd() % (sizeof(v->queue->avail) / 2)] =
			(u16)rnd();
		v->queue->desc[i].flags = (u16)rnd();
		break;
	default: notify(v, rnd() & 1);
	}
}

/* ---- two CPUs -------------------------------------------------------------------------------- */

static volatile bool stop;

/*
 * Chains that change while they are read, between what is right and what is not; resets in between.
 */
static void change(void *)
{
	u32 mine = seed ^ 0x5555;

	while (!stop) {
		u16 i = random32(&mine) % VIRTQ_SIZE;

		disk.queue->desc[i].addr =
			random32(&mine) & 1 ? DATA : nowhere[random32(&mine) % ARRAY_SIZE(nowhere)];
		disk.queue->desc[i].next = random32(&mine) & 0xff;
		disk.queue->desc[i].flags = random32(&mine) & 7;
		disk.queue->avail.ring[i] = random32(&mine) & 0xff;
		if (!(random32(&mine) & 0xff))
			put(&disk, STATUS, 1, 0);
	}
}

static void race(u64 rounds)
{
	smp_run(1, change, NULL);
	for (u64 n = 0; n < rounds; n++) {
		virtio_start(&disk, 1);
		for (u16 i = 0; i < 42; i++) {
			block_prepare(&disk, i, &request, BLOCK_IN, 0, DATA, 0x10000);
			offer(disk.queue, i * 3);
		}
		notify(&disk, 0);
	}
	stop = true;
	smp_wait(1);
	stop = false;
	works("a race");
}

void test_main(void)
{
	u64 rounds = option_number("rounds", 100), races = option_number("races", 0);
	unsigned n_cpus = smp_start();

	seed = (u32)option_number("seed", 1);
	ecam = option_number("ecam", 0xfd000000);
	if (!check(virtio_find(&disk, VIRTIO_BLOCK, 0) && virtio_find(&scratch, VIRTIO_BLOCK, 1) &&
			   virtio_find(&console, VIRTIO_CONSOLE, 0),
		   "two disks and a console"))
		return;
	check(*(volatile u32 *)(ecam + (disk.bdf << 12)) == VIRTIO_BLOCK, "it is not in ECAM");
	count_vectors();
	set_guard();
	virtio_start(&scratch, 1);
	virtio_start(&console, 2);
	works("nothing");
	print("hostile: begins");
	chains();
	tables();
	addresses();
	rings();
	messages();
	bars();
	guard_holds("all by hand");
	for (u64 n = 0; n < rounds; n++) {
		random_round();
		if (n % 256 == 255)
			works("random");
	}
	guard_holds("random");
	if (n_cpus > 1)
		race(races);
	guard_holds("races");
	works("all");
	print("hostile: ends, %u interrupts, %lu accesses", arrived, virtio_exits);
}
