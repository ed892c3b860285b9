/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log across a reset of the machine (printk.h). Firmware clears the first MiB, so its place is a hole in the image, which
 * the loader takes with it and does not write to (margay.lds). Of each byte the checksum takes its place into account, and
 * changes with it, so that a line costs its length and no more. What a line changes is flushed out of the caches, which a
 * reset loses.
 */
#include <margay/host.h>
#include <margay/string.h>
#include "kernel/console/printk.h"

#define KEPT_MAGIC 0x474f4c7961677261ull
#define CACHE_LINE 64u

struct kept {
	u64 magic, head, sum, check; /* head: bytes ever written */
	char ring[PRINTK_RING];
};

static struct kept area __attribute__((section(".kept,\"aw\",@nobits#"), aligned(PAGE_SIZE)));
static struct kept *kept;   /* NULL: not yet */
static char *before;        /* lines of the boot before, each with its newline */
static size_t before_size;

static void flush(const void *p)
{
	asm volatile("clflush %0" : : "m"(*(const u8 *)p) : "memory");
}

static u64 check_of(const struct kept *k)
{
	return k->magic ^ (k->head + 1) * 0x9e3779b97f4a7c15ull ^ (k->sum + 1) * 0xc2b2ae3d27d4eb4full;
}

static void put(struct kept *k, char c)
{
	u64 at = k->head++ % PRINTK_RING;

	k->sum += (at + 1) * (u64)((u8)c - (u64)(u8)k->ring[at]);
	k->ring[at] = c;
	if (at % CACHE_LINE == CACHE_LINE - 1 || c == '\n')
		flush(&k->ring[at]);
}

static bool valid(const struct kept *k)
{
	u64 sum = 0;

	if (k->magic != KEPT_MAGIC || k->check != check_of(k))
		return false;
	for (u64 i = 0; i < PRINTK_RING; i++)
		sum += (i + 1) * (u8)k->ring[i];
	return sum == k->sum;
}

void log_keep_add(const char *text, size_t n)
{
	if (!kept)
		return;
	for (size_t i = 0; i < n; i++)
		put(kept, text[i]);
	put(kept, '\n');
	kept->check = check_of(kept);
	flush(kept);
}

/* Whole lines of printable text only: what stands there may be anybody's. Returns how many. */
static unsigned take_before(const struct kept *k)
{
	u64 at = k->head > PRINTK_RING ? k->head - PRINTK_RING : 0;
	unsigned lines = 0;

	before = host_pages_alloc((unsigned)(PRINTK_RING / PAGE_SIZE), -1);
	if (!before)
		return 0;
	while (at && at < k->head && k->ring[at++ % PRINTK_RING] != '\n')
		;
	for (; at < k->head; at++) {
		char c = k->ring[at % PRINTK_RING];

		before[before_size++] = c == '\n' || (c >= 0x20 && c < 0x7f) ? c : '?';
		lines += c == '\n';
	}
	return lines;
}

static void add_line(enum loglevel, const char *text, size_t n)
{
	log_keep_add(text, n);
}

void log_keep(void)
{
	unsigned lines = valid(&area) ? take_before(&area) : 0;

	memset(&area, 0, sizeof(area));
	for (size_t i = 0; i < sizeof(area); i += CACHE_LINE)
		flush((u8 *)&area + i);
	area.magic = KEPT_MAGIC;
	kept = &area;
	printk_last(~0u, add_line);
	if (lines)
		printk_error("log: %u lines of the boot before this one are left: log before shows them", lines);
}

bool host_log_before(unsigned lines, void (*fn)(const char *text))
{
	size_t at = before_size;

	while (lines && at && (at == before_size || before[at - 1] != '\n' || --lines))
		at--;
	while (at < before_size) {
		char text[HOST_LOG_LINE + 1];
		size_t n = 0;

		for (; at < before_size && before[at] != '\n'; at++)
			if (n < HOST_LOG_LINE)
				text[n++] = before[at];
		at++;
		text[n] = 0;
		fn(text);
	}
	return before_size;
}
