/* SPDX-License-Identifier: GPL-2.0-only */
/* See screen.h: when the screen is drawn, and by whom. */
#include "kernel/console/screen.h"

#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/console/raster.h"
#include "kernel/console/screen_text.h"
#include "kernel/console/serial.h"
#include "kernel/log/printk.h"

#define BATCH 256u
#define LOCK_TRIES 10000000u
#define PAGE_SECONDS 20u /* where there is no serial line */
#define LONGEST_LINE (HOST_LOG_LINE + 1)

static bool on;          /* there is a screen, and it is ours; atomic */
static u32 pending;      /* the ring has something that is not drawn; atomic */
static u32 drawing;      /* a CPU draws: the lock of all that follows; atomic */
static struct raster raster;
static struct screen_text text;
static u8 shown[RASTER_ROWS][RASTER_COLUMNS]; /* what the framebuffer has */
static u32 taken;        /* bytes of the ring, modulo 2^32 */
static void (*wake_idle)(void);
static u64 base;         /* of the framebuffer, physical */
static unsigned page_seconds; /* 0: pages do not stay */
static bool without_line; /* they stay only as long as there is no serial line */
static u32 page_begun;   /* text.begun when the last page was full */
static bool panicking;

static bool try_lock(void)
{
	return !__atomic_exchange_n(&drawing, 1, __ATOMIC_SEQ_CST);
}

/*
 * Whoever has printed meanwhile has left it to us: orders the flag before the look at `pending`
 * that follows.
 */
static void unlock(void)
{
	__atomic_exchange_n(&drawing, 0, __ATOMIC_SEQ_CST);
}

static bool is_pending(void)
{
	return __atomic_load_n(&pending, __ATOMIC_SEQ_CST);
}

/* What the ring has, into the text; not more than that at once, however fast it is filled. */
static void take(void)
{
	for (unsigned i = 0; i < SERIAL_RING / BATCH; i++) {
		u8 batch[BATCH];
		bool locked = serial_lock();
		u32 head;
		const u8 *ring = serial_ring(&head);
		unsigned n;

		if (head - taken > SERIAL_RING)
			taken = head - SERIAL_RING;
		for (n = 0; n < BATCH && taken != head; n++)
			batch[n] = ring[taken++ % SERIAL_RING];
		serial_unlock(locked);
		for (unsigned k = 0; k < n; k++)
			screen_text_put(&text, batch[k]);
		if (n < BATCH)
			return;
	}
}

static void draw_row(unsigned row)
{
	const u8 *cells = screen_text_row(&text, row);

	for (unsigned i = 0; i < text.columns; i++) {
		if (cells[i] != shown[row][i])
			raster_draw(&raster, i, row, cells[i]);
		shown[row][i] = cells[i];
	}
}

/* Until wanted(), which may be NULL, asks for the CPU. With the lock. */
static void draw(bool (*wanted)(void))
{
	unsigned row = 0;

	__atomic_exchange_n(&pending, 0, __ATOMIC_SEQ_CST);
	take();
	while (row < text.rows && !(wanted && wanted()))
		draw_row(row++);
	if (row < text.rows)
		__atomic_store_n(&pending, 1, __ATOMIC_SEQ_CST);
}

static void wait_seconds(unsigned seconds)
{
	u64 start = host_tsc(), ticks = host_tsc_khz() * 1000 * seconds;

	while (host_tsc() - start < ticks)
		__builtin_ia32_pause();
}

static bool pages_stay(void)
{
	return page_seconds && !(without_line && serial_mode() != SERIAL_NONE);
}

/* Draws all, whoever else does so; the time is bounded, as a CPU that does may never go on. */
static void draw_now(void)
{
	bool locked = false;

	for (unsigned i = 0; !panicking && !locked && i < LOCK_TRIES; i++)
		locked = try_lock();
	if (!locked && !panicking)
		return;
	draw(NULL);
	unlock();
}

void screen_show(void)
{
	/* A page fault in here, in a panic, comes back. */
	static bool inside;

	if (!__atomic_load_n(&on, __ATOMIC_ACQUIRE) || (panicking && inside))
		return;
	inside = panicking;
	draw_now();
	inside = false;
	if (is_pending() && wake_idle && !panicking)
		wake_idle();
	/* The next line of the report must not push out what was not there before the last wait. */
	if (pages_stay() &&
	    text.begun - page_begun + 1 + LONGEST_LINE / text.columns >= text.rows) {
		wait_seconds(page_seconds);
		page_begun = text.begun;
	}
}

void screen_last_page(void)
{
	screen_show();
	if (pages_stay())
		wait_seconds(page_seconds);
}

void screen_anew(void)
{
	taken = page_begun = 0;
	if (__atomic_load_n(&on, __ATOMIC_ACQUIRE))
		screen_text_init(&text, raster.columns, raster.rows);
}

void screen_output(void)
{
	u32 head;

	serial_ring(&head);
	/*
	 * Nothing new, or the screen is off, or somebody has been told, or looks once more when it
	 * has drawn.
	 */
	if (!__atomic_load_n(&on, __ATOMIC_ACQUIRE) ||
	    head == __atomic_load_n(&taken, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&pending, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&pending, 1, __ATOMIC_SEQ_CST) ||
	    __atomic_load_n(&drawing, __ATOMIC_SEQ_CST))
		return;
	if (wake_idle && !panicking)
		wake_idle();
}

void screen_by_idle_cpus(void (*wake)(void))
{
	page_seconds = 0;
	__atomic_store_n(&wake_idle, wake, __ATOMIC_RELEASE);
	screen_show();
}

bool screen_idle(bool (*wanted)(void))
{
	if (!__atomic_load_n(&on, __ATOMIC_ACQUIRE) ||
	    !__atomic_load_n(&wake_idle, __ATOMIC_ACQUIRE))
		return false;
	/*
	 * An exchange: whoever prints from here on sees that this CPU has no work, or we see that
	 * it has printed.
	 */
	if (!__atomic_fetch_or(&pending, 0, __ATOMIC_SEQ_CST) || !try_lock())
		return false;
	draw(wanted);
	unlock();
	return true;
}

void screen_idle_ends(void)
{
	if (__atomic_load_n(&on, __ATOMIC_ACQUIRE) && is_pending() && wake_idle)
		wake_idle();
}

void screen_yield(u64 start, u64 size)
{
	if (!__atomic_load_n(&on, __ATOMIC_ACQUIRE) || start >= base + raster.size ||
	    base - MIN(base, start) >= size)
		return;
	printk_error("screen: a VM gets its device: nothing more is drawn");
	screen_show();
	__atomic_store_n(&on, false, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&drawing, __ATOMIC_SEQ_CST))
		__builtin_ia32_pause();
}

void screen_panic(void)
{
	panicking = true;
	page_seconds = 0;
}

/* Does the memory map take it for what others use? */
static bool is_memory(const struct bootinfo *bi, u64 end)
{
	for (unsigned i = 0; i < bi->nr_ranges; i++)
		if (bi->range[i].type != BOOT_MEMORY_RESERVED && bi->range[i].start < end &&
		    bi->range[i].end > base)
			return true;
	return false;
}

void screen_init(const struct bootinfo *bi, const struct cmdline *cmdline)
{
	const char *reason = cmdline->screen ? raster_init(&raster, &bi->framebuffer)
					     : "the command line wants none";

	base = bi->framebuffer.address;
	if (!reason && is_memory(bi, base + raster.size))
		reason = "its address is that of memory";
	if (!reason) {
		raster.base = mmio_map_type(base, raster.size, true);
		if (!raster.base)
			reason = "it cannot be mapped";
	}
	if (reason) {
		printk("screen: none: %s", reason);
		return;
	}
	printk("screen: %ux%u pixels of %u bits at %#lx: %ux%u characters", bi->framebuffer.width,
	       bi->framebuffer.height, bi->framebuffer.bpp, base, raster.columns, raster.rows);
	screen_text_init(&text, raster.columns, raster.rows);
	memset(shown, ' ', sizeof(shown));
	raster_clear(&raster);
	without_line = cmdline->screen == CMDLINE_SCREEN_DEFAULT;
	if (cmdline->check)
		page_seconds = without_line ? PAGE_SECONDS : cmdline->screen;
	__atomic_store_n(&on, true, __ATOMIC_RELEASE);
	screen_show();
}
