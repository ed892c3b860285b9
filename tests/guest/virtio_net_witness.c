/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: net = lan0 mac=02:00:00:00:02:01
 * VM: net = lan0 mac=02:00:00:00:02:02
 * NOT ON qemu: needs who attacks: tests/system/test_virtio_hostile.py
 * NOT ON bochs: the same
 *
 * Two interfaces that keep the rules, on the segment of those of virtio_net_hostile: they send each
 * other frames of all sizes, and each comes as it was sent, at once, until a key is typed. Others'
 * frames come, too; one of its own is lost only where these have filled all of its buffers. It
 * tells how many accesses of its were exits: telemetry must say the same.
 */
#include "virtio_net.h"

#define UART_DATA 0x3f8
#define UART_STATUS 0x3fd
#define SIZE_MIN 64u
#define AT 16u /* its content begins with the mark */

static struct net one, other;
static u64 strange, full;

/* Is it the sender's last one? All before it were others'. */
static bool arrives(struct net *to, const struct net *from, u32 size)
{
	volatile u8 *frame;
	u32 got;

	for (u32 i = 0; i < NET_BUFFERS * 4 && (frame = net_peek(to, &got)); i++) {
		bool mine = *(volatile u64 *)(frame + AT) == NET_MARK;
		bool same = got == size && net_same(frame, from->out.frame, size);

		check(!mine || same, "a frame of %u bytes has come as one of %u", size, got);
		net_release(to);
		if (same)
			return true;
		strange++;
	}
	return false;
}

static void send(struct net *from, struct net *to, u64 round)
{
	u32 size = SIZE_MIN + (u32)(round * 97 % (NET_FRAME_MAX - SIZE_MIN + 1));
	volatile u8 *frame = from->out.frame;
	volatile struct virtq *q = &to->v.queue[RECEIVE];
	u32 got;

	net_address(frame, to->mac, from->mac);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	*(volatile u64 *)(frame + AT) = NET_MARK;
	*(volatile u64 *)(frame + AT + 8) = round;
	for (u32 i = AT + 16; i < size; i++)
		frame[i] = (u8)(round * 31 + i);
	/* Room, as far as others leave any. */
	while (net_peek(to, &got)) {
		net_release(to);
		strange++;
	}
	check(net_send(from, size), "round %lu: the frame is not given back", round);
	if (!arrives(to, from, size)) {
		check(q->used.index == (u16)(to->seen), "round %lu: lost, and there is more",
		      round);
		full++;
	}
	check(get(&from->v, STATUS, 1) == DRIVER_OK, "the sender's status");
}

void test_main(void)
{
	u64 rounds = 0;
	u64 said_at = 10;

	if (!check(net_find(&one, 0) && net_find(&other, 1), "two interfaces"))
		return;
	net_start(&one, 0);
	net_start(&other, 0);
	print("witness: begins");
	while (!(inb(UART_STATUS) & 1)) {
		send(&one, &other, rounds);
		send(&other, &one, rounds);
		/* The log of the other VM may cut a line: there is always another one. */
		if (++rounds == said_at) {
			print("witness: at work");
			said_at *= 2;
		}
	}
	check(inb(UART_DATA) == 'q', "what was typed");
	/* Somebody was there, and nobody could keep it from its work. */
	check(full * 100 < rounds, "%lu frames of %lu rounds were lost", full, rounds);
	print("witness: rounds=%lu lost=%lu others=%lu accesses=%lu", rounds, full, strange,
	      virtio_exits);
}
