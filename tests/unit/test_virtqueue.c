/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/virtio/virtqueue.c vmm/dev/virtio/pieces.c */
/*
 * Split virtqueues (virtio 1.2, 2.7) against a driver that keeps the rules and one that does not:
 * chains, indirect tables, the event index; and each way in which a ring can be broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/dev/virtio/virtqueue.h"

#define SIZE 8u

static struct {
	struct {
		u64 addr;
		u32 len;
		u16 flags;
		u16 next;
	} desc[SIZE], indirect[VIRTQ_SIZE + 1];
	struct {
		u16 flags;
		u16 index;
		u16 ring[SIZE];
		u16 used_event;
	} avail;
	u16 pad;
	struct {
		u16 flags;
		u16 index;
		struct {
			u32 id;
			u32 len;
		} ring[SIZE];
		u16 avail_event;
	} used;
} __aligned(16) ram;

#define BASE 0x100000ull
#define AT(part) (BASE + (u64)((u8 *)&(part) - (u8 *)&ram))
enum { NEXT = 1, WRITE = 2, INDIRECT = 4 };

static struct virtq q;
static struct virtq_chain chain;

/* What buffers are in: two regions that touch, from LOW on, which are far apart in the host. */
#define LOW 0x1000ull
#define MIDDLE 0x4000ull
#define HIGH 0x8000ull
static u8 first[MIDDLE - LOW], second[HIGH - MIDDLE];
static unsigned looked; /* how often it was looked up */

static bool memory(void *guest, u64 gpa, struct gpa_window *w)
{
	const struct gpa_window all[] = { { BASE, sizeof(ram), (u8 *)&ram },
					  { LOW, sizeof(first), first },
					  { MIDDLE, sizeof(second), second } };

	assert_ptr_equal(guest, &ram);
	looked++;
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		if (gpa - all[i].gpa >= all[i].size)
			continue;
		*w = all[i];
		return true;
	}
	return false;
}

/* A piece of the chain: where it is, and how long. */
#define PIECE(i, where, length) \
	assert_true(chain.piece[i].at == (where) && chain.piece[i].size == (length))

static unsigned told;

static void lost(void *guest)
{
	assert_ptr_equal(guest, &ram);
	told++;
}

static int setup(void **)
{
	memset(&ram, 0, sizeof(ram));
	q = (struct virtq){ .area = { AT(ram.desc), AT(ram.avail), AT(ram.used) }, .size = SIZE };
	assert_int_equal(virtq_enable(&q, memory, lost, &ram), 0);
	assert_true(q.enabled);
	return 0;
}

static void desc(unsigned i, u64 addr, u32 len, u16 flags, u16 next)
{
	ram.desc[i].addr = addr;
	ram.desc[i].len = len;
	ram.desc[i].flags = flags;
	ram.desc[i].next = next;
}

static void indirect(unsigned i, u64 addr, u32 len, u16 flags, u16 next)
{
	ram.indirect[i].addr = addr;
	ram.indirect[i].len = len;
	ram.indirect[i].flags = flags;
	ram.indirect[i].next = next;
}

static void offer(u16 head)
{
	ram.avail.ring[ram.avail.index++ % SIZE] = head;
}

static int next(void)
{
	return virtq_next(&q, &chain);
}

static void test_chain(void **)
{
	assert_int_equal(next(), 0);
	desc(3, 0x1000, 16, NEXT, 1);
	desc(1, 0x2000, 512, NEXT | WRITE, 7);
	desc(7, 0x3000, 1, WRITE, 0);
	offer(3);
	assert_int_equal(next(), 1);
	assert_int_equal(chain.head, 3);
	assert_int_equal(chain.count, 3);
	assert_int_equal(chain.readable, 1);
	PIECE(0, first, 16);
	PIECE(1, first + 0x1000, 512);
	PIECE(2, first + 0x2000, 1);
	assert_true(chain.bytes[0] == 16 && chain.bytes[1] == 513 && chain.buffers == 3);
	assert_int_equal(next(), 0);
	virtq_put_back(&q, 1);
	assert_int_equal(next(), 1);
	virtq_done(&q, chain.head, 513);
	assert_int_equal(ram.used.index, 1);
	assert_true(ram.used.ring[0].id == 3 && ram.used.ring[0].len == 513);
}

/* One behind another in the list: what is said of a chain is the last one's. */
static void test_more(void **)
{
	desc(0, LOW, 16, NEXT, 1);
	desc(1, LOW + 0x100, 32, WRITE, 0);
	desc(2, LOW + 0x200, 8, WRITE, 0);
	desc(3, LOW + 0x300, 4, NEXT, 2);
	offer(0);
	offer(2);
	offer(3);
	offer(0);
	assert_int_equal(next(), 1);
	assert_int_equal(virtq_more(&q, &chain), 1);
	assert_true(chain.head == 2 && chain.count == 3 && chain.readable == 2);
	assert_true(chain.buffers == 1 && chain.bytes[0] == 0 && chain.bytes[1] == 8);
	assert_int_equal(virtq_more(&q, &chain), 1);
	assert_true(chain.head == 3 && chain.count == 5 && chain.readable == 4);
	assert_true(chain.buffers == 2 && chain.bytes[0] == 4 && chain.bytes[1] == 8);
	PIECE(0, first, 16);
	PIECE(1, first + 0x100, 32);
	PIECE(2, first + 0x200, 8);
	PIECE(3, first + 0x300, 4);
	PIECE(4, first + 0x200, 8);
	assert_int_equal(next(), 1);
	assert_true(chain.count == 2 && chain.readable == 1 && chain.buffers == 2);
	assert_int_equal(virtq_more(&q, &chain), 0);
}

/* Indices go round, those of 16 bits and the ring's places. */
static void test_round(void **)
{
	for (unsigned i = 0; i < 0x10000 + 3; i++) {
		u16 head = (u16)(i * 3 % SIZE);

		desc(head, i, i + 1, 0, 0);
		offer(head);
		assert_int_equal(next(), 1);
		assert_true(chain.head == head && chain.count >= 1 && chain.bytes[0] == i + 1);
		virtq_done(&q, chain.head, i);
		assert_true(ram.used.index == (u16)(i + 1) && ram.used.ring[i % SIZE].id == head);
		assert_int_equal(ram.used.ring[i % SIZE].len, i);
		assert_int_equal(next(), 0);
	}
}

static void test_indirect(void **)
{
	desc(0, 0x1000, 16, NEXT, 5);
	desc(5, AT(ram.indirect), 3 * 16, INDIRECT, 0);
	indirect(0, 0x2000, 64, NEXT, 2);
	indirect(2, 0x4000, 32, WRITE, 0);
	offer(0);
	assert_int_equal(next(), 1);
	assert_true(chain.count == 3 && chain.readable == 2);
	PIECE(1, first + 0x1000, 64);
	PIECE(2, second, 32);
}

static void broken(void)
{
	offer(0);
	assert_int_equal(next(), -EINVAL);
	setup(NULL);
}

static void test_broken_chains(void **)
{
	/* Loops, of one and of two; a next beyond the table. */
	desc(0, 0, 1, NEXT, 0);
	broken();
	desc(0, 0, 1, NEXT, 4);
	desc(4, 0, 1, NEXT, 0);
	broken();
	desc(0, 0, 1, NEXT, SIZE);
	broken();
	/* To be read behind what is to be written. */
	desc(0, 0, 1, NEXT | WRITE, 1);
	desc(1, 0, 1, 0, 0);
	broken();
	/* An address that wraps. */
	desc(0, ~0ull, 2, 0, 0);
	broken();
	/*
	 * Indirect: no RAM, over RAM's end, not whole entries, none, one too many, not aligned,
	 * with NEXT, in another.
	 */
	desc(0, 0x10, 16, INDIRECT, 0);
	broken();
	desc(0, BASE + ALIGN_UP(sizeof(ram), 16) - 16, 32, INDIRECT, 0);
	broken();
	desc(0, AT(ram.indirect), 17, INDIRECT, 0);
	broken();
	desc(0, AT(ram.indirect), 0, INDIRECT, 0);
	broken();
	desc(0, AT(ram.indirect), 16 * (VIRTQ_SIZE + 1), INDIRECT, 0);
	broken();
	desc(0, AT(ram.indirect) + 4, 16, INDIRECT, 0);
	broken();
	desc(0, AT(ram.indirect), 16, INDIRECT | NEXT, 1);
	broken();
	desc(0, AT(ram.indirect), 16, INDIRECT, 0);
	indirect(0, AT(ram.indirect), 16, INDIRECT, 0);
	broken();
	desc(0, AT(ram.indirect), 32, INDIRECT, 0);
	indirect(0, 0, 1, NEXT, 2);
	broken();
}

/* As many buffers as there may be, and one more. */
static void test_longest(void **)
{
	desc(0, AT(ram.indirect), 16 * VIRTQ_SIZE, INDIRECT, 0);
	for (unsigned i = 0; i < VIRTQ_SIZE; i++)
		indirect(i, i, 1, i + 1 < VIRTQ_SIZE ? NEXT : 0, (u16)(i + 1));
	offer(0);
	looked = 0;
	assert_int_equal(next(), 1);
	assert_int_equal(chain.buffers, VIRTQ_SIZE);
	desc(1, 0, 1, NEXT, 0);
	offer(1);
	assert_int_equal(next(), -EINVAL);
}

/* One look-up a region, and a piece in each; what is none is a piece without an address. */
static void test_pieces(void **)
{
	desc(0, AT(ram.indirect), 6 * 16, INDIRECT, 0);
	indirect(0, LOW + 8, 4, NEXT, 1);
	indirect(1, LOW, MIDDLE - LOW, NEXT, 2);
	indirect(2, MIDDLE - 5, 12, NEXT, 3);
	indirect(3, LOW, 0, NEXT | WRITE, 4);
	indirect(4, MIDDLE - 1, HIGH - MIDDLE + 101, NEXT | WRITE, 5);
	indirect(5, BIT(40), 7, WRITE, 0);
	offer(0);
	looked = 0;
	assert_int_equal(next(), 1);
	assert_true(chain.count == 8 && chain.readable == 4 && chain.buffers == 6);
	PIECE(0, first + 8, 4);
	PIECE(1, first, MIDDLE - LOW);
	PIECE(2, first + MIDDLE - LOW - 5, 5);
	PIECE(3, second, 7);
	PIECE(4, first + MIDDLE - LOW - 1, 1);
	PIECE(5, second, HIGH - MIDDLE);
	PIECE(6, NULL, 100);
	PIECE(7, NULL, 7);
	assert_true(chain.bytes[0] == MIDDLE - LOW + 16);
	assert_true(chain.bytes[1] == HIGH - MIDDLE + 101 + 7);
	/* The table, first, second, first, second, and two that are none. */
	assert_int_equal(looked, 7);
	/* To be read behind an empty one that is to be written. */
	indirect(4, LOW, 1, 0, 0);
	broken();
}

/* What was looked up for one chain is so for the next, until something is given or taken back. */
static void test_window(void **)
{
	desc(1, MIDDLE, 8, 0, 0);
	for (unsigned i = 0; i < 5; i++) {
		offer(1);
		looked = 0;
		assert_int_equal(next(), 1);
		assert_int_equal(looked, i != 1 && i != 4);
		PIECE(0, second, 8);
		if (i == 1)
			virtq_done(&q, 1, 0);
		if (i == 2)
			virtq_put_back(&q, 1);
	}
}

/* As many pieces as there may be; more are those of buffers that overlap. */
static void test_too_many_pieces(void **)
{
	for (unsigned over = 0; over < 2; over++) {
		desc(0, AT(ram.indirect), 16 * VIRTQ_SIZE, INDIRECT, 0);
		for (unsigned i = 0; i < VIRTQ_SIZE; i++)
			indirect(i, MIDDLE - 1, i < GPA_MAP_MAX + over ? 2 : 1,
				 i + 1 < VIRTQ_SIZE ? NEXT : 0, (u16)(i + 1));
		offer(0);
		assert_int_equal(next(), over ? -EINVAL : 1);
		assert_int_equal(chain.count, VIRTQ_PIECES);
	}
}

/* ---- copies by lists ---- */

static void test_copies(void **)
{
	u8 a[40], b[40];
	const struct piece in[] = { { a, 3 }, { a, 0 }, { a + 10, 20 }, { NULL, 9 }, { a, 9 } },
			   out[] = { { b, 1 }, { b + 20, 9 }, { b + 5, 11 } };
	struct place from = { in, in + 5, 0 }, to = { out, out + 3, 0 };

	for (unsigned i = 0; i < sizeof(a); i++)
		a[i] = (u8)(i + 1);
	memset(b, 0xee, sizeof(b));
	assert_int_equal(pieces_copy(&to, &from, 0), COPY_DONE);
	assert_int_equal(pieces_copy(&to, &from, 2), COPY_DONE);
	assert_true(b[0] == 1 && b[20] == 2 && b[21] == 0xee);
	/* Both go on, over several pieces of either. */
	assert_int_equal(pieces_copy(&to, &from, 12), COPY_DONE);
	assert_true(b[21] == 3 && !memcmp(b + 22, a + 10, 7) && b[29] == 0xee);
	assert_true(!memcmp(b + 5, a + 17, 4) && b[9] == 0xee);
	/* The receiver's ends. */
	assert_int_equal(pieces_copy(&to, &from, 8), COPY_SHORT);
	assert_true(!memcmp(b + 5, a + 17, 11) && b[16] == 0xee && b[1] == 0xee && b[4] == 0xee);
	/* From a place behind the first pieces; up to what is nobody's RAM, and from within it. */
	from = (struct place){ in, in + 5, 3 + 18 };
	to = (struct place){ out, out + 3, 10 };
	assert_int_equal(pieces_copy(&to, &from, 3), COPY_SHORT);
	assert_true(b[5] == a[28] && b[6] == a[29] && b[7] == a[19]);
	from = (struct place){ in, in + 5, 3 + 20 + 8 };
	assert_int_equal(pieces_copy(&to, &from, 1), COPY_SHORT);
	from = (struct place){ in, in + 5, 3 + 20 + 9 };
	assert_int_equal(pieces_copy(&to, &from, 2), COPY_DONE);
	assert_true(b[7] == a[0] && b[8] == a[1]);
	from = (struct place){ in, in + 3, 23 };
	assert_int_equal(pieces_copy(&to, &from, 1), COPY_SHORT);
}

static void test_broken_rings(void **)
{
	offer(SIZE);
	assert_int_equal(next(), -EINVAL);
	setup(NULL);
	/* More offered than there is room for. */
	ram.avail.index = SIZE + 1;
	assert_int_equal(next(), -EINVAL);
	setup(NULL);
	ram.avail.index = (u16)-1;
	assert_int_equal(next(), -EINVAL);
}

static void not_enabled(unsigned area, u64 address)
{
	q = (struct virtq){ .area = { AT(ram.desc), AT(ram.avail), AT(ram.used) }, .size = SIZE };
	q.area[area] = address;
	assert_int_equal(virtq_enable(&q, memory, lost, &ram), -EINVAL);
	assert_false(q.enabled);
}

static void test_areas(void **)
{
	not_enabled(0, AT(ram.desc) + 8);
	not_enabled(1, AT(ram.avail) + 1);
	not_enabled(2, AT(ram.used) + 2);
	not_enabled(0, HIGH);
	not_enabled(1, ~1ull);
	/* The used ring's last byte is the first beyond: its event index counts. */
	not_enabled(2, BASE + sizeof(ram) - (4 + 8 * SIZE));
	not_enabled(1, BASE + sizeof(ram) - (4 + 2 * SIZE));
}

/* It begins at 0 again. */
static void test_enabled_again(void **)
{
	desc(0, 0, 1, 0, 0);
	offer(0);
	assert_int_equal(next(), 1);
	virtq_done(&q, 0, 1);
	assert_int_equal(virtq_enable(&q, memory, lost, &ram), 0);
	assert_int_equal(next(), 1);
	virtq_done(&q, 0, 1);
	assert_int_equal(ram.used.index, 1);
}

static void give(unsigned n)
{
	while (n--)
		virtq_done(&q, 0, 0);
}

static void test_interrupts(void **)
{
	assert_false(virtq_interrupts(&q));
	give(1);
	assert_true(virtq_interrupts(&q));
	assert_false(virtq_interrupts(&q));
	ram.avail.flags = 1;
	give(1);
	assert_false(virtq_interrupts(&q));
	/*
	 * By the event index, flags or not: when that entry has been used, and not before or again
	 * (2.7.7.2).
	 */
	q.event_index = true;
	ram.avail.used_event = 4;
	give(2);
	assert_false(virtq_interrupts(&q));
	give(1);
	assert_true(virtq_interrupts(&q));
	give(1);
	assert_false(virtq_interrupts(&q));
	/* Several at once, and round 2^16. */
	ram.avail.used_event = 8;
	give(10);
	assert_true(virtq_interrupts(&q));
	q.next_used = q.told = 0xfffe;
	ram.avail.used_event = 0;
	give(2);
	assert_false(virtq_interrupts(&q));
	give(1);
	assert_true(virtq_interrupts(&q));
}

/* The driver is told from where on to notify, once nothing is left. */
static void test_notifications(void **)
{
	q.event_index = true;
	for (u16 i = 0; i < 3; i++)
		offer(i);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(next(), 1);
		assert_int_equal(ram.used.avail_event, 0);
	}
	assert_int_equal(next(), 0);
	assert_int_equal(ram.used.avail_event, 3);
}

/* Several at once are seen together, over the ring's end, too. */
static void test_staged(void **)
{
	ram.used.index = q.next_used = q.told = SIZE - 1;
	virtq_stage(&q, 0, 3, 30);
	virtq_stage(&q, 1, 4, 40);
	assert_int_equal(ram.used.index, SIZE - 1);
	virtq_publish(&q, 2);
	assert_int_equal(ram.used.index, SIZE + 1);
	assert_true(ram.used.ring[SIZE - 1].id == 3 && ram.used.ring[SIZE - 1].len == 30);
	assert_true(ram.used.ring[0].id == 4 && ram.used.ring[0].len == 40);
}

/*
 * Of a quiet queue the driver is asked for no notification, by the flag, and not by the event index
 * where it is empty.
 */
static void test_quiet(void **)
{
	q.quiet = true;
	assert_int_equal(ram.used.flags, 0);
	assert_int_equal(virtq_enable(&q, memory, lost, &ram), 0);
	assert_int_equal(ram.used.flags, 1);
	q.event_index = true;
	q.next_avail = ram.avail.index = 5;
	assert_int_equal(virtq_next(&q, &chain), 0);
	assert_int_equal(ram.used.avail_event, 0);
	q.quiet = false;
	assert_int_equal(virtq_next(&q, &chain), 0);
	assert_int_equal(ram.used.avail_event, 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_chain, setup),
		cmocka_unit_test_setup(test_more, setup),
		cmocka_unit_test_setup(test_round, setup),
		cmocka_unit_test_setup(test_indirect, setup),
		cmocka_unit_test_setup(test_broken_chains, setup),
		cmocka_unit_test_setup(test_longest, setup),
		cmocka_unit_test_setup(test_pieces, setup),
		cmocka_unit_test_setup(test_window, setup),
		cmocka_unit_test_setup(test_too_many_pieces, setup),
		cmocka_unit_test_setup(test_copies, setup),
		cmocka_unit_test_setup(test_broken_rings, setup),
		cmocka_unit_test_setup(test_areas, setup),
		cmocka_unit_test_setup(test_interrupts, setup),
		cmocka_unit_test_setup(test_notifications, setup),
		cmocka_unit_test_setup(test_enabled_again, setup),
		cmocka_unit_test_setup(test_staged, setup),
		cmocka_unit_test_setup(test_quiet, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
