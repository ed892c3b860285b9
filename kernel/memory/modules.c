/* SPDX-License-Identifier: GPL-2.0-only */
/* Boot modules: out of the boot loader's scattered places into one block, found by name. */
#include "kernel/memory/modules.h"

#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/paging.h"
#include "kernel/log/printk.h"
#include "kernel/memory/pmem.h"

static struct host_module modules[BOOTINFO_MODULES];
static char strings[BOOTINFO_MODULES][BOOTINFO_MODULE_STRING];
static unsigned count;
static u64 bytes;
static u64 room; /* for one module, before there was any */
static bool moved;
static struct host_extent block; /* all of them, when moved */

static u64 footprint(u64 start, u64 end)
{
	return ALIGN_UP(end, PAGE_SIZE) - ALIGN_DOWN(start, PAGE_SIZE);
}

/* Splits "name args" in place. */
static void name_module(struct host_module *m, char *text)
{
	char *p = text;

	while (*p && *p != ' ' && *p != '\t')
		p++;
	m->name = text;
	m->args = p;
	if (!*p)
		return;
	*p++ = 0;
	while (*p == ' ' || *p == '\t')
		p++;
	m->args = p;
}

static void report_duplicates(void)
{
	for (unsigned i = 1; i < count; i++)
		for (unsigned k = 0; k < i; k++)
			if (modules[i].name[0] && !strcmp(modules[i].name, modules[k].name)) {
				printk_error(
					"module %u: '%s' is module %u's name: who asks by name gets that one",
					i + 1, modules[i].name, k + 1);
				break;
			}
}

/* Copies all modules into the block; false when there is no room for it. */
static bool move(void)
{
	struct host_extent_request req = { .size = bytes, .align = PAGE_SIZE, .node = -1 };
	u64 at;

	if (!bytes || pmem_extent_alloc_top(&req, &block))
		return false;
	at = block.base.v;
	for (unsigned i = 0; i < count; i++) {
		memcpy(phys_to_virt(at), modules[i].data, modules[i].size);
		modules[i].data = phys_to_virt(at);
		at += ALIGN_UP(modules[i].size, PAGE_SIZE);
	}
	return true;
}

void modules_init(const struct bootinfo *bi)
{
	count = bi->nr_modules;
	room = bootinfo_module_room(bi);
	for (unsigned i = 0; i < count; i++) {
		const struct boot_module *b = &bi->module[i];

		memcpy(strings[i], b->string, sizeof(strings[i]));
		name_module(&modules[i], strings[i]);
		modules[i].data = phys_to_virt(b->start);
		modules[i].size = b->end - b->start;
		bytes += ALIGN_UP(modules[i].size, PAGE_SIZE);
	}
	report_duplicates();
	moved = move();
	if (moved) {
		for (unsigned i = 0; i < count; i++)
			pmem_release(bi->module[i].start, bi->module[i].end);
	} else {
		bytes = 0;
		for (unsigned i = 0; i < count; i++)
			bytes += footprint(bi->module[i].start, bi->module[i].end);
	}
	for (unsigned i = 0; i < count; i++)
		printk_debug("module %u: '%s', %lu bytes", i + 1, modules[i].name, modules[i].size);
}

const struct host_module *host_module(unsigned i)
{
	return i < count ? &modules[i] : module_late(i - count);
}

u64 host_module_room(void)
{
	return room;
}

u64 modules_bytes(void)
{
	return bytes;
}

u64 host_modules_release(void)
{
	u64 freed = bytes;

	if (moved)
		host_extent_free(&block);
	else
		for (unsigned i = 0; i < count; i++)
			pmem_release(virt_to_phys(modules[i].data),
				     virt_to_phys(modules[i].data) + modules[i].size);
	count = 0;
	bytes = 0;
	moved = false;
	return freed;
}
