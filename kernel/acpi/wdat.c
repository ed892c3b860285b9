/* SPDX-License-Identifier: GPL-2.0-only */
/* See wdat.h. */
#include "kernel/acpi/wdat.h"

#include <margay/string.h>
#include "kernel/acpi/tables.h"

struct wdat {
	struct acpi_sdt header;
	u32 header_length; /* from here to the entries */
	u8 function[8];    /* of PCI, if it is one */
	u32 tick_ms;
	u32 max_count;
	u32 min_count;
	u8 flags;
	u8 reserved[3];
	u32 entries;
} __packed;
static_assert(sizeof(struct wdat) == 68, "WDAT");
#define ENABLED BIT(0)

struct entry {
	u8 action;
	u8 instruction;
	u16 reserved;
	struct acpi_gas reg;
	u32 value;
	u32 mask;
} __packed;
static_assert(sizeof(struct entry) == 24, "an entry of it");

enum { GET_LEFT = 4, IS_RUNNING = 8, IS_STOPPED = 10 };
enum { READ_VALUE, READ_COUNTDOWN };

static struct wdat_question *question(struct wdat_info *w, const struct entry *e)
{
	if (e->action == GET_LEFT && e->instruction == READ_COUNTDOWN)
		return &w->left;
	if (e->action == IS_RUNNING && e->instruction == READ_VALUE)
		return &w->running;
	return e->action == IS_STOPPED && e->instruction == READ_VALUE ? &w->stopped : NULL;
}

const char *wdat_read(const void *table, size_t size, struct wdat_info *out)
{
	struct wdat w;
	const char *reason = acpi_read_fixed(table, size, "WDAT", &w, sizeof(w));

	if (reason)
		return reason;
	if (w.entries > (w.header.length - sizeof(w)) / sizeof(struct entry))
		return "an entry is too short";
	*out = (struct wdat_info){ .enabled = w.flags & ENABLED, .tick_ms = w.tick_ms };
	for (u32 i = 0; i < w.entries; i++) {
		struct wdat_question *q;
		struct entry e;

		memcpy(&e, (const u8 *)table + sizeof(w) + i * sizeof(e), sizeof(e));
		q = question(out, &e);
		if (q)
			*q = (struct wdat_question){ e.reg, e.value, e.mask };
	}
	return NULL;
}
