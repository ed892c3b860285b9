/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Errors that firmware has found and keeps in memory (ACPI 6.4, 18.3.2.7): looked for after an NMI
 * of the platform, and by whoever looks for corrected errors; and in a machine check of which no
 * bank tells. Each section is a line, and memory that is lost is kept out of use; then the block is
 * the firmware's again.
 */
#include <margay/host.h>
#include <margay/spinlock.h>
#include <margay/string.h>

#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/acpi/hest.h"
#include "kernel/boot/cmdline.h"
#include "kernel/errors/mce.h"
#include "kernel/errors/panic.h"
#include "kernel/log/printk.h"
#include "kernel/memory/lost.h"

#define BLOCK_MAX KIB(16) /* what is longer is read that far */

static struct hest_info hest;
static struct block_of {
	volatile u8 *block;
	volatile u8 *ack;
	u32 size;
} of[HEST_MAX];
static unsigned count; /* constant after ghes_init() */
static struct spinlock lock; /* guards the blocks, and the copy */
static u8 copy[BLOCK_MAX] __aligned(8);
/*
 * Lines: a guest may use what is broken again and again. Of pages that are lost each is told, once.
 */
static struct log_limit corrected, fatal, lost = { .burst = HOST_LOST_MAX };

/*
 * Not where VMs and the hypervisor have their memory: firmware would be wrong, and be written to.
 */
static volatile u8 *map(u64 at, u64 size)
{
	const struct bootinfo *bi = bootinfo_of_boot();

	for (unsigned i = 0; i < bi->nr_ranges; i++)
		if (bi->range[i].type == BOOT_MEMORY_USABLE && at < bi->range[i].end &&
		    at + size > bi->range[i].start)
			return NULL;
	return at && at < BIT(52) - size ? mmio_map(at, size) : NULL;
}

void ghes_init(void)
{
	const struct acpi_sdt *t = acpi_table("HEST", 0);
	const char *reason = t ? hest_read(t, t->length, &hest) : NULL;

	if (reason)
		printk_error("acpi: table HEST: %s: firmware's errors are read as far as that",
			     reason);
	if (hest.dropped)
		printk_error("acpi: table HEST: %u generic sources beyond %u are not read",
			     hest.dropped, HEST_MAX);
	for (unsigned i = 0; i < hest.count; i++) {
		const struct hest_source *s = &hest.source[i];
		const volatile u8 *pointer = map(s->pointer, sizeof(u64));
		u32 size = MIN(s->size, (u32)BLOCK_MAX);
		u64 at = pointer ? mmio_read64(pointer) : 0;

		of[count] = (struct block_of){ map(at, size),
					       s->ack ? map(s->ack, sizeof(u64)) : NULL, size };
		hest.source[count] = *s;
		if (of[count].block && (!s->ack || of[count].ack))
			count++;
		else
			printk_error(
				"acpi: table HEST: source %u has its block at an impossible address, %#lx",
				i, at);
	}
	if (count)
		printk("firmware's errors: %u blocks in memory", count);
}

/*
 * What the blocks have held: sections, and of these how many with a page that is lost, and the last
 * one.
 */
struct sum {
	unsigned sections;
	unsigned lost;
	u64 page;
	bool fatal;
};

static struct log_limit *limit_of(const struct hest_found *found)
{
	if (found->fatal)
		return &fatal;
	return found->lost ? &lost : &corrected;
}

static void look_at(unsigned i, struct sum *sum)
{
	char text[200];
	struct hest_found found;
	size_t at = 0;

	if (!mmio_read32(of[i].block))
		return;
	for (u32 k = 0; k < of[i].size; k++)
		copy[k] = of[i].block[k];
	while (hest_section(copy, of[i].size, &at, text, sizeof(text), &found)) {
		sum->sections++;
		sum->fatal |= found.fatal;
		if (found.fatal || !found.lost || !memory_lost_told(found.page))
			host_log_limited(limit_of(&found), "margay",
					 "firmware reports an error: %s", text);
		if (!found.lost)
			continue;
		sum->lost++;
		sum->page = found.page;
		memory_lost(found.page);
	}
	mmio_write32(of[i].block, 0);
	if (of[i].ack) {
		volatile u64 *ack = (volatile u64 *)of[i].ack;

		*ack = (*ack & hest.source[i].ack_kept) | hest.source[i].ack_set;
	}
}

static struct sum look_at_all(void)
{
	struct sum sum = { 0 };

	spin_lock(&lock);
	for (unsigned i = 0; i < count; i++)
		look_at(i, &sum);
	spin_unlock(&lock);
	return sum;
}

bool ghes_look(void)
{
	struct sum sum = look_at_all();

	if (sum.fatal && cmdline_of_boot()->nmi_panic)
		panic("nmi=panic");
	return sum.sections;
}

/* Who holds the lock meanwhile is another CPU: this one was in its guest. */
enum mce_verdict ghes_judge(u64 *page)
{
	struct sum sum = look_at_all();

	*page = sum.lost == 1 ? sum.page : HOST_LOST_UNKNOWN;
	if (sum.fatal)
		return MCE_FATAL;
	return sum.lost ? MCE_USED : MCE_NONE;
}
