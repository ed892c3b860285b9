/* SPDX-License-Identifier: GPL-2.0-only */
/* The table HEST, and the blocks that its generic sources have: hest.h. */
#include "kernel/acpi/hest.h"

#include <margay/acpi.h>
#include <margay/string.h>
#include "kernel/acpi/tables.h"

#define HEST_FIRST 40 /* behind the header and the number of sources */
#define GENERIC 9
#define GENERIC_V2 10

/* ACPI 6.4, 18.3.2.7 and 18.3.2.8. */
struct generic {
	u16 type;
	u16 id;
	u16 related;
	u8 flags;
	u8 enabled;
	u32 records;
	u32 sections;
	u32 raw_size;
	struct acpi_gas pointer;
	u8 notification[28];
	u32 size;
	struct acpi_gas ack; /* from here on GENERIC_V2 only */
	u64 ack_kept;
	u64 ack_set;
} __packed;
static_assert(sizeof(struct generic) == 92 && offsetof(struct generic, ack) == 64,
	      "ACPI 6.4, table 18-11");

/* 18.3.2.7.1 */
struct block {
	u32 status;
	u32 raw_at;
	u32 raw_size;
	u32 size;
	u32 severity;
} __packed;
#define BLOCK_STATUS 0xfu /* errors of whatever kind; above is how many */

struct section {
	u8 type[16];
	u32 severity;
	u16 revision;
	u8 valid;
	u8 flags;
	u32 size;
	u8 fru[16];
	char fru_text[20];
	u64 time; /* from revision 3.0 on */
} __packed;
static_assert(sizeof(struct section) == 72, "ACPI 6.4, table 18-13");
#define SECTION_FRU_TEXT BIT(1)
#define REVISION_TIME 0x300
enum { RECOVERABLE, FATAL };

/* Bytes of an entry, by its type (18.3.2.1 to 18.3.2.11). */
/* clang-format off */
static const struct {
	u8 size;     /* fixed */
	u8 per_bank; /* and for each bank so many, */
	u8 banks_at; /* which the byte here counts */
} entries[] = {
	[0] = { 40, 28, 32 }, [1] = { 48, 28, 44 }, [2] = { 20, 0, 0 }, [6] = { 48, 0, 0 },
	[7] = { 44, 0, 0 }, [8] = { 56, 0, 0 },
	[GENERIC] = { offsetof(struct generic, ack), 0, 0 },
	[GENERIC_V2] = { sizeof(struct generic), 0, 0 }, [11] = { 48, 28, 44 },
};
/* clang-format on */

static bool in_memory(const struct acpi_gas *reg)
{
	return reg->space_id == ACPI_SPACE_MEMORY && reg->address && reg->address < BIT(52) - 8;
}

static void add(struct hest_info *h, const u8 *entry, size_t size)
{
	struct generic g = { 0 };

	memcpy(&g, entry, size);
	if (!g.enabled || !in_memory(&g.pointer) || g.size < sizeof(struct block))
		return;
	if (h->count == HEST_MAX) {
		h->dropped++;
		return;
	}
	h->source[h->count++] = (struct hest_source){
		.pointer = g.pointer.address,
		.size = g.size,
		.ack = in_memory(&g.ack) ? g.ack.address : 0,
		.ack_kept = g.ack_kept,
		.ack_set = g.ack_set,
	};
}

const char *hest_read(const void *table, size_t size, struct hest_info *out)
{
	struct {
		struct acpi_sdt header;
		u32 count;
	} __packed fixed;
	const char *reason = acpi_read_fixed(table, size, "HEST", &fixed, sizeof(fixed));
	const u8 *p = (const u8 *)table + HEST_FIRST;
	size_t left;

	if (reason)
		return reason;
	memset(out, 0, sizeof(*out));
	left = fixed.header.length - HEST_FIRST;
	for (u32 i = 0; i < fixed.count; i++) {
		unsigned type = left >= 2 ? p[0] | (unsigned)p[1] << 8 : ~0u;
		size_t n = type < ARRAY_SIZE(entries) ? entries[type].size : 0;

		if (!n || left < n)
			return n || left < 2 ? "an entry is too short"
					     : "it has an entry of a kind that is not known";
		n += entries[type].per_bank * (size_t)p[entries[type].banks_at];
		if (left < n)
			return "an entry is too short";
		if (type == GENERIC || type == GENERIC_V2)
			add(out, p, n);
		p += n;
		left -= n;
	}
	return NULL;
}

/* Little-endian, at an offset of the section; 0 past its end. */
static u64 field(const u8 *p, size_t size, unsigned at, unsigned bytes)
{
	u64 value = 0;

	if (at + bytes <= size)
		memcpy(&value, p + at, bytes);
	return value;
}

/* What is said of a section, by the bits of its first 8 bytes that call it valid. */
struct told {
	u8 bit;
	u8 at;
	u8 bytes;
	const char *format;
};
#define MEMORY_ADDRESS 16
#define MEMORY_ADDRESS_VALID BIT(1)
/* clang-format off */
static const struct told of_memory[] = {
	{ 1, MEMORY_ADDRESS, 8, " address %#lx" },
	{ 3, 32, 2, " node %lu" },
	{ 4, 34, 2, " card %lu" },
	{ 5, 36, 2, " module %lu" },
	{ 6, 38, 2, " bank %lu" },
	{ 7, 40, 2, " device %lu" },
	{ 8, 42, 2, " row %lu" },
	{ 9, 44, 2, " column %lu" },
	{ 14, 72, 1, " kind %lu" },
	{ 17, 78, 2, " SMBIOS handle %#lx" },
};
/* clang-format on */

static const struct told of_processor[] = {
	{ 2, 10, 1, " kind %lu" },
	{ 5, 13, 1, " level %lu" },
	{ 8, 152, 8, " APIC ID %lu" },
	{ 9, 160, 8, " address %#lx" },
};
static const struct told of_x86[] = { { 0, 8, 8, " APIC ID %lu" } };
/* clang-format off */
static const struct told of_pcie[] = {
	{ 3, 33, 2, " segment %lu" },
	{ 3, 35, 1, " bus %#lx" },
	{ 3, 32, 1, " device %#lx" },
	{ 3, 31, 1, " function %lu" },
	{ 3, 24, 2, " vendor %#lx" },
	{ 3, 26, 2, " ID %#lx" },
	{ 2, 18, 2, " status %#lx" },
};
/* clang-format on */

/* UEFI 2.9, N.2.2, N.2.4.1, N.2.4.2, N.2.5, N.2.7. */
enum { MEMORY }; /* the first one */
/* clang-format off */
static const struct {
	u8 type[16];
	const char *name;
	const struct told *told;
	unsigned count;
} kinds[] = {
	{ { 0x14, 0x11, 0xbc, 0xa5, 0x64, 0x6f, 0xde, 0x4e, 0xb8, 0x63, 0x3e, 0x83, 0xed, 0x7c,
		0x83, 0xb1 }, "memory",
	  of_memory, ARRAY_SIZE(of_memory) },
	{ { 0xad, 0xcc, 0x76, 0x98, 0xb4, 0x47, 0xdb, 0x4b, 0xb6, 0x5e, 0x16, 0xf1, 0x93, 0xc4,
		0xf3, 0xdb }, "processor",
	  of_processor, ARRAY_SIZE(of_processor) },
	{ { 0xb0, 0xa0, 0x3e, 0xdc, 0x44, 0xa1, 0x97, 0x47, 0xb9, 0x5b, 0x53, 0xfa, 0x24, 0x2b,
		0x6e, 0x1d }, "processor",
	  of_x86, ARRAY_SIZE(of_x86) },
	{ { 0x54, 0xe9, 0x95, 0xd9, 0xc1, 0xbb, 0x0f, 0x43, 0xad, 0x91, 0xb4, 0x4d, 0xcb, 0x3c,
		0x6f, 0x35 }, "PCIe",
	  of_pcie, ARRAY_SIZE(of_pcie) },
};
/* clang-format on */

static unsigned kind_of(const struct section *s)
{
	unsigned kind = 0;

	while (kind < ARRAY_SIZE(kinds) && memcmp(kinds[kind].type, s->type, sizeof(s->type)))
		kind++;
	return kind;
}

static void say(char *text, size_t max, const struct section *s, const u8 *p)
{
	static const char *const severities[] = { "recoverable", "fatal", "corrected",
						  "informational" };
	u64 valid = field(p, s->size, 0, 8);
	unsigned kind = kind_of(s);
	size_t n;

	n = (size_t)snprintf(text, max, "%s, %s:",
			     kind < ARRAY_SIZE(kinds) ? kinds[kind].name : "of another kind",
			     severities[s->severity & 3]);
	for (unsigned i = 0; kind < ARRAY_SIZE(kinds) && i < kinds[kind].count && n < max; i++) {
		const struct told *t = &kinds[kind].told[i];

		if (valid >> t->bit & 1 && t->at + t->bytes <= s->size)
			n += (size_t)snprintf(text + n, max - n, t->format,
					      field(p, s->size, t->at, t->bytes));
	}
	if (s->valid & SECTION_FRU_TEXT && n < max)
		snprintf(text + n, max - n, " part '%.20s'", s->fru_text);
}

/*
 * Of what is wider than a page, by its mask, that is the page that is named: the rest is told when
 * somebody uses it.
 */
static void find_page(struct hest_found *found, const struct section *s, const u8 *p)
{
	u64 address = field(p, s->size, MEMORY_ADDRESS, 8);

	found->lost = kind_of(s) == MEMORY &&
		      (s->severity == RECOVERABLE || s->severity == FATAL) &&
		      field(p, s->size, 0, 8) & MEMORY_ADDRESS_VALID &&
		      s->size >= MEMORY_ADDRESS + 8 && address < BIT(52);
	found->page = address & ~(PAGE_SIZE - 1);
}

bool hest_section(const void *block, size_t size, size_t *at, char *text, size_t max,
		  struct hest_found *found)
{
	struct section s = { 0 };
	struct block b;
	size_t end, head;

	memcpy(&b, block, sizeof(b));
	/* What is not said to be there is not; the sections come first, raw data behind them. */
	end = sizeof(b) + MIN((size_t)b.size, size - sizeof(b));
	*at = MAX(*at, sizeof(b));
	if (!(b.status & BLOCK_STATUS) || end - *at < sizeof(s) - sizeof(s.time))
		return false;
	memcpy(&s, (const u8 *)block + *at, sizeof(s) - sizeof(s.time));
	head = s.revision >= REVISION_TIME ? sizeof(s) : sizeof(s) - sizeof(s.time);
	if (end - *at < head || end - *at - head < s.size)
		return false;
	say(text, max, &s, (const u8 *)block + *at + head);
	find_page(found, &s, (const u8 *)block + *at + head);
	found->fatal = s.severity == FATAL || b.severity == FATAL;
	*at += head + s.size;
	return true;
}
