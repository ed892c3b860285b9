/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/boot/bootinfo.c kernel/boot/bootinfo_screen.c kernel/console/raster.c */
/* FUZZ: -max_len=1024 */
/*
 * Fuzzes the multiboot2 information reader. The input is the structure's
 * tags; the bytes in front say how often its tail repeats (the limits are
 * hundreds of entries) and whether the total size is made to fit. Checked: the
 * memory map is sorted, aligned and without overlap; strings are terminated;
 * what would be drawn on a framebuffer that is accepted lies within it.
 */
#include "kernel/boot/bootinfo.h"
#include "kernel/console/raster.h"
#include "tests/fuzz/fuzz.h"

#define ROOM 16384
#define HEAD 4

/* As in fuzz_acpi.c: only a sealed input repeats its tail without end. */
static bool sealed(const u8 *data, size_t size)
{
	u8 sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = (u8)(sum + data[i]);
	return !sum;
}

static void move(u8 *field, u64 by)
{
	u64 v;

	memcpy(&v, field, sizeof(v));
	v += by;
	memcpy(field, &v, sizeof(v));
}

static void check_map(const struct bootinfo *bi)
{
	u64 usable = 0;

	CHECK(bi->nr_ranges <= BOOTINFO_RANGES && bi->nr_ranges);
	for (unsigned i = 0; i < bi->nr_ranges; i++) {
		const struct boot_range *r = &bi->range[i];

		CHECK(r->start < r->end && IS_ALIGNED(r->start | r->end, PAGE_SIZE) &&
		      r->end <= BIT(52));
		CHECK(r->type > BOOT_MEMORY_NONE && r->type <= BOOT_MEMORY_BAD);
		CHECK(*boot_memory_name(r->type));
		usable += r->type == BOOT_MEMORY_USABLE ? r->end - r->start : 0;
		if (!i)
			continue;
		CHECK(r[-1].end <= r->start);
		CHECK(r[-1].end < r->start || r[-1].type != r->type);
	}
	CHECK(usable && usable == bootinfo_usable(bi));
}

const u8 screen_font[FONT_COUNT][FONT_HEIGHT] = { { 0xff } };

/* Its corners; memory for it where it is not too large. */
static void check_framebuffer(const struct boot_framebuffer *fb)
{
	struct raster r;
	const char *reason = raster_init(&r, fb);

	CHECK(!reason || *reason);
	if (reason)
		return;
	CHECK(r.size <= MIB(256) && r.size / fb->height == fb->pitch &&
	      fb->address + r.size <= BIT(52));
	CHECK(r.columns && r.columns <= RASTER_COLUMNS && r.rows && r.rows <= RASTER_ROWS);
	if (r.size > MIB(4))
		return;
	r.base = (u8 *)malloc(r.size);
	raster_draw(&r, r.columns - 1, r.rows - 1, ' ');
	raster_draw(&r, 0, r.rows - 1, 0xff);
	raster_clear(&r);
	free(r.base);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct bootinfo bi;
	static u8 room[ROOM];
	size_t total, tail, times;
	const char *reason;
	u32 n;
	u8 *mbi;

	if (size < HEAD)
		return 0;
	/* data[0]: repeat the last (1 + data[1]) * 8 bytes that often. */
	times = data[0] == 0xff && sealed(data, size) ? ROOM : data[0] & 3;
	tail = MIN((data[1] + 1u) * 8, (size - HEAD) & ~7ul);
	total = size - HEAD;
	memcpy(room, data + HEAD, total);
	for (size_t i = 0; i < times && tail && total + tail <= ROOM; i++, total += tail) {
		memcpy(room + total, data + size - tail, tail);
		/* The entries of a memory map each at another place. */
		for (size_t base = 16; data[2] & 4 && base + 24 <= tail; base += 24)
			move(room + total + base, (i + 1) << 20);
	}
	mbi = fuzz_copy(room, total);
	n = (u32)total;
	if (data[2] & 1 && total >= 8)
		memcpy(mbi, &n, sizeof(n));
	/* An end tag in the last 8 bytes. */
	if (data[2] & 2 && total >= 16 && total % 8 == 0)
		memcpy(mbi + total - 8, "\0\0\0\0\x08\0\0", 8);
	reason = bootinfo_parse(mbi, total, &bi);
	free(mbi);
	if (reason) {
		CHECK(*reason);
		return 0;
	}
	check_map(&bi);
	check_framebuffer(&bi.framebuffer);
	CHECK(bi.nr_modules <= BOOTINFO_MODULES);
	for (unsigned i = 0; i < bi.nr_modules; i++) {
		CHECK(bi.module[i].start <= bi.module[i].end);
		CHECK(strnlen(bi.module[i].string, sizeof(bi.module[i].string)) <
		      sizeof(bi.module[i].string));
	}
	CHECK(strnlen(bi.cmdline, sizeof(bi.cmdline)) < sizeof(bi.cmdline));
	CHECK(strnlen(bi.loader, sizeof(bi.loader)) < sizeof(bi.loader));
	return 0;
}
