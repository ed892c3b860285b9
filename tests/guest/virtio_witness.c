/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: disk = pattern
 * VM: disk = scratch:32M
 * VM: console = virtio
 * NOT ON qemu: needs a disk, and who attacks: tests/system/test_virtio_hostile.py
 * NOT ON bochs: the same
 *
 * A driver that keeps the rules, beside one that does not: it reads the shared disk, writes to its
 * own and reads that, says a line on its virtio-console, and begins anew, until a key is typed. It
 * tells how many accesses of its were exits: telemetry must say the same. With hold=1 it reads the
 * disk once, tells its checksum, keeps nothing of it, and waits; with copy=1 it copies it to its
 * own disk on the way.
 */
#include "virtio.h"

#define PIECE 0x10000u
#define PATIENCE 1000000000u
#define UART_DATA 0x3f8
#define UART_STATUS 0x3fd

static struct virtio disk, scratch, console;
static volatile u64 data[PIECE / 8];

/* Its checksum. */
static u64 read_disk(u64 sectors, bool copy)
{
	u64 sum = 0;

	for (u64 at = 0; at < sectors; at += PIECE / 512) {
		u8 status = block_do(&disk, BLOCK_IN, at, data, PIECE);
		u64 same = disk_differs(data, at * 64, PIECE / 8);

		check(status == 0 && same == PIECE / 8,
		      "sector %lu: status %u, %lu words are right", at, status, same);
		for (u64 i = 0; i < PIECE / 8; i++)
			sum = sum * 31 + data[i];
		if (copy)
			check(!block_do(&scratch, BLOCK_OUT, at, data, PIECE), "a copy");
	}
	return sum;
}

static void hold(u64 sectors)
{
	u64 sum = read_disk(sectors, option_number("copy", 0));

	for (u64 i = 0; i < PIECE / 8; i++)
		data[i] = 0;
	print("witness: holds %lx", sum);
	for (;;)
		asm volatile("hlt");
}

static void use_scratch(u64 round)
{
	u64 sector = round * 128 % 0x10000, right = 0;

	for (u64 i = 0; i < PIECE / 8; i++)
		data[i] = round << 32 | i;
	check(!block_do(&scratch, BLOCK_OUT, sector, data, PIECE), "a write");
	for (u64 i = 0; i < PIECE / 8; i++)
		data[i] = ~0ull;
	check(!block_do(&scratch, BLOCK_IN, sector, data, PIECE), "a read");
	for (u64 i = 0; i < PIECE / 8; i++)
		right += data[i] == (round << 32 | i);
	check(right == PIECE / 8, "round %lu: %lu words have come back", round, right);
}

static void say(u64 round)
{
	static char line[] = "hvc of the witness 0000\n";

	for (unsigned i = 4; i--; round /= 10)
		line[19 + i] = (char)('0' + round % 10);
	set_desc(&console.queue[1], 0, (u64)line, sizeof(line) - 1, 0, 0);
	offer(&console.queue[1], 0);
	notify(&console, 1);
	/* The serial line is others', too. */
	for (u32 i = 0; i < PATIENCE && console.queue[1].used.index != console.queue[1].avail.index;
	     i++)
		cpu_relax();
	check(console.queue[1].used.index == console.queue[1].avail.index, "the line is taken");
}

void test_main(void)
{
	u64 rounds = 0, sectors;

	if (!check(virtio_find(&disk, VIRTIO_BLOCK, 0) && virtio_find(&scratch, VIRTIO_BLOCK, 1) &&
			   virtio_find(&console, VIRTIO_CONSOLE, 0),
		   "two disks and a console"))
		return;
	virtio_start(&disk, 1);
	virtio_start(&scratch, 1);
	virtio_start(&console, 2);
	sectors = mmio_read(disk.area[4], 4);
	check(sectors && sectors % (PIECE / 512) == 0, "%lu sectors", sectors);
	if (option_number("hold", 0))
		hold(sectors);
	print("witness: begins");
	while (!(inb(UART_STATUS) & 1)) {
		read_disk(sectors, false);
		use_scratch(rounds);
		say(rounds++);
	}
	check(inb(UART_DATA) == 'q', "what was typed");
	print("witness: rounds=%lu accesses=%lu", rounds, virtio_exits);
}
