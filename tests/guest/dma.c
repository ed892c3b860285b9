/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EXPECT: exit=0
 * VM: dma = window
 * NOT ON qemu: that node has as many guests as it takes; test_dma_windows.py runs it
 * NOT ON bochs: as on qemu
 *
 * The hypercalls of a guest with DMA windows (include/margay/abi.h): the table
 * is true to the rules, and to the VM's own memory; what is garbage is refused,
 * and touches nothing.
 */
#include "margay.h"
#include "random.h"
#include "tiny.h"

#define PAGE 0x1000ull
#define GIB4 0x100000000ull

static void table(const struct margay_info *info)
{
	u64 end = 0;

	check(info->abi == MARGAY_ABI_VERSION && info->dma == MARGAY_DMA_WINDOW,
	      "version %d, mode %d", (int)info->abi, (int)info->dma);
	check(info->vm[0] == 'd' && info->vm[1] == 'm' && info->vm[2] == 'a' && !info->vm[3],
	      "the VM's name");
	check(info->version[0] > ' ' && !info->version[sizeof(info->version) - 1],
	      "the hypervisor's version");
	check(info->windows > 1 && info->windows <= MARGAY_DMA_WINDOWS, "%d windows",
	      (int)info->windows);
	for (unsigned i = 0; i < info->windows; i++) {
		const struct margay_dma_window *w = &info->window[i];

		check(w->length && !((w->gpa | w->hpa | w->length) & (PAGE - 1)),
		      "window %d: whole pages", i);
		check(w->gpa >= end, "window %d: %lx is below the end of the one before", i,
		      w->gpa);
		check(w->gpa < 0x100000 || ((w->gpa < GIB4) == (w->hpa < GIB4) && w->hpa >= w->gpa),
		      "window %d: %lx is at %lx", i, w->gpa, w->hpa);
		end = w->gpa + w->length;
	}
	/* The image lies at 4 MiB, in the second window; the last is of no memory. */
	check(info->window[1].gpa == 0x200000 && info->window[1].hpa != info->window[1].gpa,
	      "memory is elsewhere: %lx", info->window[1].hpa);
	check(end == GIB4 &&
		      info->window[info->windows - 1].hpa == info->window[info->windows - 1].gpa,
	      "registers up to 4 GiB");
}

static u64 seed = 0x9e3779b97f4a7c15;

static u64 any(void)
{
	return random64(&seed);
}

/* No function is this VM's, so whatever is confirmed is refused. */
static void garbage(u8 *page)
{
	static const u64 nowhere[] = { 0xc0000000, 0xfee00000,          GIB4,
				       0x100000,   ~0ull & ~(PAGE - 1), 1ull << 51 };

	for (unsigned i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
		check(hypercall(MARGAY_HC_INFO, nowhere[i], 1) == MARGAY_HC_EFAULT, "%lx is no RAM",
		      nowhere[i]);
	for (u64 i = 1; i < PAGE; i <<= 1)
		check(hypercall(MARGAY_HC_INFO, (u64)page + i, 1) == MARGAY_HC_EINVAL,
		      "unaligned by %lx", i);
	for (unsigned i = 0; i < 300; i++) {
		u64 function = i < 100 ? i : any() >> (i & 63), version = any();
		s64 answer = hypercall(MARGAY_HC_DMA_CONFIRM, function, i & 1);

		check(answer == (function >> 32 ? MARGAY_HC_EINVAL : MARGAY_HC_ENODEV),
		      "%lx is confirmed: %ld", function, answer);
		check(hypercall(MARGAY_HC_DMA_CONFIRM, 0, version | 2) == MARGAY_HC_EINVAL,
		      "neither yes nor no");
		check(hypercall(MARGAY_HC_INFO, (u64)page, version | 2) == MARGAY_HC_EINVAL,
		      "another version");
		check(hypercall(MARGAY_HC_DMA_CONFIRM + 1 + (version >> 32), (u64)page, 1) ==
			      MARGAY_HC_ENOSYS,
		      "another call");
	}
}

void test_main(void)
{
	u8 *around = page_alloc(), *page = page_alloc(), *behind = page_alloc();

	for (unsigned i = 0; i < PAGE; i++)
		around[i] = page[i] = behind[i] = 0x5a;
	garbage(page);
	for (unsigned i = 0; i < PAGE; i++)
		if (page[i] != 0x5a)
			check(false, "garbage wrote at %x", i);
	check(hypercall(MARGAY_HC_INFO, (u64)page, MARGAY_ABI_VERSION) == 0, "the table");
	table((const struct margay_info *)page);
	for (unsigned i = 0; i < PAGE; i++)
		if (around[i] != 0x5a || behind[i] != 0x5a)
			check(false, "more than its page was written, at %x", i);
}
