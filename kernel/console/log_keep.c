/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log across a reset of the machine (printk.h). Firmware clears the first MiB, so its place is
 * a hole in the image, which the loader takes with it and does not write to (margay.lds). Of each
 * byte the checksum takes its place into account, and changes with it, so that a line costs its
 * length and no more. What a line changes is flushed out of the caches, which a reset loses.
 */
#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/console/log_parts.h"

/*
 * What the sum begins with, and what each byte adds to it whatever it is: odd, so that the head
 * cannot change alone.
 */
#define KEPT_MAGIC 0x474f4c7961677261ull
#define HEAD_WEIGHT 0x9e3779b97f4a7c15ull
#define CACHE_LINE 64u

struct kept {
	struct log_ring log;
	u64 sum;
} __attribute__((aligned(CACHE_LINE)));

static struct kept area __attribute__((section(".kept,\"aw\",@nobits#"), aligned(PAGE_SIZE)));
static struct kept *kept; /* NULL: not yet */
static unsigned lines_left; /* of the boot before */
struct log_ring *log_before;

static void put(struct kept *k, char c)
{
	u64 at = k->log.head++ % PRINTK_RING;
	char *byte = &k->log.text[at];

	k->sum += HEAD_WEIGHT + (at + 1) * (u64)((u8)c - (u64)(u8)*byte);
	*byte = c;
	if (at % CACHE_LINE == CACHE_LINE - 1 || c == '\n')
		cpu_clflush(byte);
}

static bool valid(const struct kept *k)
{
	u64 sum = KEPT_MAGIC + k->log.head * HEAD_WEIGHT;

	for (u64 i = 0; i < PRINTK_RING; i++)
		sum += (i + 1) * (u8)k->log.text[i];
	return sum == k->sum;
}

static void log_keep_add(enum loglevel level, const char *text, size_t n)
{
	if (!kept)
		return;
	put(kept, (char)('0' + level));
	for (size_t i = 0; i < n; i++)
		put(kept, text[i]);
	put(kept, '\n');
	cpu_clflush(&kept->log.head);
}

static const struct log_part keep_part = { .keep = log_keep_add };
LOG_PART(keep_part);

static void count(enum loglevel, const char *, size_t)
{
	lines_left++;
}

/* Printable text only: what stands there may be anybody's. */
static void take_before(const struct log_ring *log)
{
	struct log_ring *copy = host_pages_alloc(PRINTK_RING / PAGE_SIZE + 1, -1);

	if (!copy)
		return;
	for (size_t i = 0; i < PRINTK_RING; i++) {
		char c = log->text[i];

		copy->text[i] = c == '\n' || (c >= 0x20 && c < 0x7f) ? c : '?';
	}
	copy->head = log->head;
	printk_last(copy, ~0u, count);
	log_before = copy;
}

void log_keep(void)
{
	if (valid(&area))
		take_before(&area.log);
	memset(&area, 0, sizeof(area));
	area.sum = KEPT_MAGIC;
	for (size_t i = 0; i < sizeof(area); i += CACHE_LINE)
		cpu_clflush((u8 *)&area + i);
	kept = &area;
	printk_last(&printk_log, ~0u, log_keep_add);
	if (lines_left)
		printk_error(
			"log: %u lines of the boot before this one are left: log before shows them",
			lines_left);
}
