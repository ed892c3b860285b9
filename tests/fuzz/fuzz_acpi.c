/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/fuzz/fuzz_acpi.sources */
/* FUZZ: -max_len=400 */
/*
 * Fuzzes the readers of the firmware's ACPI tables. Byte 0 chooses the reader,
 * byte 1 what is made good (signature, length, checksum) so that inputs get
 * behind these, bytes 2 and 3 how often the tail repeats (the limits are
 * hundreds of entries) and whether each copy bears another number. Checked:
 * counts and indices of an accepted table stay within its struct and the table,
 * and who has a function or an I/O APIC by it is one of its units.
 */
#include "kernel/acpi/hest.h"
#include "kernel/acpi/s5.h"
#include "kernel/acpi/tables.h"
#include "kernel/acpi/wdat.h"
#include "kernel/iommu/iommu.h"
#include "tests/fuzz/fuzz.h"

#define ROOM 24576
/*
 * Bytes in front of the table. The last one seals an input that repeats its tail without end: all
 * bytes sum up to
 * 0. A chance hit is rare, so that the fuzzer does not spend its time on large tables.
 */
#define HEAD 5
#define FIX_SIGNATURE BIT(0)
#define FIX_LENGTH BIT(1)
#define FIX_CHECKSUM BIT(2)
/* adds its number to the dword at offset 4 of each copy: an x2APIC ID */
#define COUNT_COPIES BIT(3)

enum reader {
	RSDP,
	RSDP_SCAN,
	XSDT,
	RSDT,
	MADT,
	SRAT,
	SLIT,
	MCFG,
	FADT,
	HPET,
	DMAR,
	IVRS,
	S5,
	HEST,
	BLOCK,
	WDAT,
	READERS
};

static const char *const signature[READERS] = {
	[XSDT] = "XSDT", [RSDT] = "RSDT", [MADT] = "APIC", [SRAT] = "SRAT",
	[SLIT] = "SLIT", [MCFG] = "MCFG", [FADT] = "FACP", [HPET] = "HPET",
	[DMAR] = "DMAR", [IVRS] = "IVRS", [HEST] = "HEST", [WDAT] = "WDAT",
};

static u8 sum(const u8 *p, size_t n)
{
	u8 s = 0;

	for (size_t i = 0; i < n; i++)
		s = (u8)(s + p[i]);
	return s;
}

static void fix(enum reader which, u8 *t, size_t size, unsigned what)
{
	u32 n = (u32)size;

	if (which == RSDP || which == RSDP_SCAN) {
		if (size < ACPI_RSDP_V1_SIZE)
			return;
		if (what & FIX_SIGNATURE)
			memcpy(t, "RSD PTR ", 8);
		if (what & FIX_CHECKSUM)
			t[8] = (u8)(t[8] - sum(t, ACPI_RSDP_V1_SIZE));
		if (size < sizeof(struct acpi_rsdp))
			return;
		if (what & FIX_LENGTH)
			memcpy(t + 20, &n, sizeof(n));
		if (what & FIX_CHECKSUM)
			t[32] = (u8)(t[32] - sum(t, size));
		return;
	}
	if (!signature[which] || size < sizeof(struct acpi_sdt))
		return;
	if (what & FIX_SIGNATURE)
		memcpy(t, signature[which], 4);
	if (what & FIX_LENGTH)
		memcpy(t + 4, &n, sizeof(n));
	if (what & FIX_CHECKSUM)
		t[9] = (u8)(t[9] - sum(t, size));
}

static void madt(const u8 *t, size_t size)
{
	static struct madt_info m;

	if (madt_read(t, size, &m))
		return;
	CHECK(m.nr_cpus && m.nr_cpus <= MADT_MAX_CPUS &&
	      (!m.dropped_cpus || m.nr_cpus == MADT_MAX_CPUS));
	CHECK(m.nr_ioapics <= MADT_MAX_IOAPICS && m.nr_nmis <= MADT_MAX_NMIS);
	for (unsigned i = 1; i < MIN(m.nr_cpus, 8u); i++)
		for (unsigned k = 0; k < i; k++)
			CHECK(m.cpu[i].apic_id != m.cpu[k].apic_id);
	for (unsigned i = 0; i < m.nr_nmis; i++)
		CHECK(m.nmi[i].lint <= 1);
	CHECK(!m.dropped_nmis || m.nr_nmis == MADT_MAX_NMIS);
}

static void srat(const u8 *t, size_t size)
{
	static struct srat_info s;

	if (srat_read(t, size, &s))
		return;
	CHECK(s.nr_cpus <= SRAT_MAX_CPUS && s.nr_memory && s.nr_memory <= SRAT_MAX_MEMORY);
	for (unsigned i = 0; i < s.nr_memory; i++)
		CHECK(s.memory[i].size && s.memory[i].base + s.memory[i].size >= s.memory[i].base);
}

static void slit(const u8 *t, size_t size)
{
	static struct slit_info s;

	if (slit_read(t, size, &s))
		return;
	CHECK(s.count && s.count <= SLIT_MAX);
	for (unsigned i = 0; i < s.count; i++)
		for (unsigned k = 0; k < s.count; k++)
			CHECK(i == k ? s.distance[i * s.count + k] == 10
				     : s.distance[i * s.count + k] > 10);
}

/*
 * Two root ports, a switch that is numbered right, one in a circle and one backwards, what is
 * behind, and another segment.
 */
#define BRIDGE(bus, device, from, to) \
	{ .address = { 0, bus, PCI_DEVFN(device, 0) }, \
	  .header_type = PCI_HEADER_BRIDGE, \
	  .secondary_bus = (from), \
	  .subordinate_bus = (to) }
#define FUNCTION(segment, bus, device) \
	{ \
		.address = { segment, bus, PCI_DEVFN(device, 0) } \
	}
static const struct pci_function functions[] = {
	FUNCTION(0, 0, 0),  BRIDGE(0, 1, 1, 1),    BRIDGE(0, 2, 2, 5), FUNCTION(0, 1, 0),
	BRIDGE(2, 0, 3, 5), BRIDGE(3, 0, 3, 3),    BRIDGE(3, 1, 5, 4), FUNCTION(0, 5, 0),
	FUNCTION(1, 0, 0),  FUNCTION(0, 0xff, 31),
};

const struct pci_function *pci_get(unsigned i)
{
	return i < ARRAY_SIZE(functions) ? &functions[i] : NULL;
}

/*
 * Answers are of a unit, named by nobody before it; those that take the rest come last, and never
 * where one was lost.
 */
static void ask(const struct dmar_info *d)
{
	for (unsigned i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct pci_function *f = &functions[i];
		int n = dmar_unit_of(d, f);
		bool named = n >= 0 && dmar_names(d, &d->unit[n], f);
		unsigned
			nr_others; /* that do not name it: those before the one that does, or all */

		dmar_shares(d, f);
		dmar_settings(d, f);
		CHECK(n < (int)d->nr_units && n < DMAR_MAX_UNITS);
		CHECK(n < 0 || (d->unit[n].type == ACPI_DMAR_DRHD &&
				d->unit[n].segment == f->address.segment));
		CHECK(n < 0 || named || (d->unit[n].flags & ACPI_DMAR_PCI_ALL && !d->lost));
		nr_others = named ? (unsigned)n : d->nr_units;
		for (unsigned u = 0; u < nr_others; u++)
			CHECK(d->unit[u].type != ACPI_DMAR_DRHD || !dmar_names(d, &d->unit[u], f));
	}
	for (unsigned id = 0; id < 256; id++) {
		u16 source;
		int n = dmar_unit_of_ioapic(d, (u8)id, &source);

		CHECK(n < 0 || (n < DMAR_MAX_UNITS && d->unit[n].type == ACPI_DMAR_DRHD));
	}
}

static void dmar(const u8 *t, size_t size)
{
	static struct dmar_info d;

	if (dmar_read(t, size, &d))
		return;
	CHECK(d.address_width >= 1 && d.address_width <= 64 && d.nr_units <= DMAR_MAX_STRUCTURES &&
	      d.nr_scopes <= DMAR_MAX_SCOPES);
	for (unsigned i = 0; i < d.nr_units; i++) {
		CHECK(d.unit[i].first_scope <= d.nr_scopes &&
		      d.unit[i].nr_scopes <= d.nr_scopes - d.unit[i].first_scope);
		CHECK(d.unit[i].type != ACPI_DMAR_RMRR || d.unit[i].base <= d.unit[i].limit);
		CHECK(d.unit[i].type != ACPI_DMAR_DRHD || i < DMAR_MAX_UNITS);
	}
	for (unsigned i = 0; i < d.nr_scopes; i++)
		CHECK(d.scope[i].depth >= 1 && d.scope[i].depth <= DMAR_MAX_PATH);
	ask(&d);
}

static void ivrs(const u8 *t, size_t size)
{
	static struct ivrs_info v;
	static struct dmar_info d;

	if (ivrs_read(t, size, &v))
		return;
	CHECK(v.nr_iommus <= IVRS_MAX_IOMMUS && v.nr_memory <= IVRS_MAX_MEMORY);
	for (unsigned i = 0; i < v.nr_iommus; i++) {
		u32 at = v.iommu[i].entries_offset, left = v.iommu[i].entries_size;

		CHECK(at <= size && left <= size - at);
		/* The promise to whoever walks the entries: they end exactly at the block's end. */
		while (left) {
			size_t n = ivrs_entry_length(t + at, left);

			CHECK(n && n <= left);
			at += (u32)n;
			left -= (u32)n;
		}
	}
	for (unsigned i = 0; i < v.nr_memory; i++)
		CHECK(v.memory[i].first <= v.memory[i].last &&
		      v.memory[i].base + v.memory[i].size >= v.memory[i].base);
	if (ivrs_units(&v, t, &d))
		return;
	CHECK(d.nr_units <= DMAR_MAX_STRUCTURES && d.nr_scopes <= DMAR_MAX_SCOPES);
	for (unsigned i = 0; i < d.nr_units; i++)
		CHECK(d.unit[i].first_scope + d.unit[i].nr_scopes <= d.nr_scopes);
	ask(&d);
}

static void mcfg(const u8 *t, size_t size)
{
	struct mcfg_info m;

	if (mcfg_read(t, size, &m))
		return;
	CHECK(m.count && m.count <= MCFG_MAX);
	for (unsigned i = 0; i < m.count; i++)
		CHECK(m.entry[i].base && m.entry[i].bus_start <= m.entry[i].bus_end);
}

static void lists(enum reader which, const u8 *t, size_t size)
{
	static struct xsdt_info x;

	if (xsdt_read(t, size, which == XSDT, &x))
		return;
	CHECK(x.count <= XSDT_MAX && (!x.dropped || x.count == XSDT_MAX));
	for (unsigned i = 0; i < x.count; i++)
		CHECK(x.table[i] && (which == XSDT || !(x.table[i] >> 32)));
}

static void hest(const u8 *t, size_t size)
{
	static struct hest_info h;

	h.count = 0;
	hest_read(t, size, &h);
	CHECK(h.count <= HEST_MAX && (!h.dropped || h.count == HEST_MAX));
	for (unsigned i = 0; i < h.count; i++)
		CHECK(h.source[i].pointer && h.source[i].pointer < BIT(52) &&
		      h.source[i].ack < BIT(52) && h.source[i].size >= 20);
}

/* What is asked stands in one of the table's entries, of 24 bytes behind 68. */
static bool asked_by(const u8 *t, size_t size, const struct wdat_question *q)
{
	static const struct wdat_question none;

	for (size_t at = 68; at + 24 <= size; at += 24)
		if (!memcmp(t + at + 4, q, sizeof(*q)))
			return true;
	return !memcmp(q, &none, sizeof(none));
}

static void wdat(const u8 *t, size_t size)
{
	struct wdat_info w;

	static_assert(sizeof(struct wdat_question) == 20, "a register, a value and a mask");
	if (wdat_read(t, size, &w))
		return;
	CHECK(asked_by(t, size, &w.running) && asked_by(t, size, &w.stopped) &&
	      asked_by(t, size, &w.left));
}

/* Errors of the firmware: each section is told once, in printable room. */
static void block(const u8 *t, size_t size)
{
	char text[200];
	struct hest_found found;

	if (size < 20)
		return;
	for (size_t at = 0, before = 0; hest_section(t, size, &at, text, sizeof(text), &found);
	     before = at)
		CHECK(at > before && at <= size && memchr(text, 0, sizeof(text)) &&
		      (!found.lost || (found.page < BIT(52) && found.page % PAGE_SIZE == 0)));
}

static void fixed_tables(enum reader which, const u8 *t, size_t size)
{
	struct rsdp_info root;
	struct fadt_info fadt;
	struct hpet_info hpet;
	struct s5_info s5;
	long at;

	switch (which) {
	case RSDP:
		if (!rsdp_read(t, size, &root))
			CHECK(root.table);
		break;
	case RSDP_SCAN:
		at = rsdp_scan(t, size);
		CHECK(at >= -1 &&
		      (at < 0 || (at % 16 == 0 && !rsdp_read(t + at, size - (size_t)at, &root))));
		break;
	case FADT:
		if (!fadt_read(t, size, &fadt))
			CHECK(!(fadt.flags & ACPI_FADT_HW_REDUCED) || !fadt.pm1a_cnt.address);
		break;
	case HPET:
		if (!hpet_table_read(t, size, &hpet))
			CHECK(hpet.base && hpet.base < BIT(52));
		break;
	default:
		if (s5_find(t, size, &s5))
			CHECK(s5.slp_typa <= 7 && s5.slp_typb <= 7);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static u8 room[ROOM];
	enum reader which;
	size_t total, tail, times;
	u8 *t;

	if (size < HEAD)
		return 0;
	which = data[0] % READERS;
	times = data[2] == 0xff && sum(data, size) == 0 ? ROOM : data[2] & 3;
	total = size - HEAD;
	tail = MIN(data[3] + 1u, total);
	memcpy(room, data + HEAD, total);
	for (size_t i = 0; i < times && tail && total + tail <= ROOM; i++, total += tail) {
		u32 number;

		memcpy(room + total, data + size - tail, tail);
		if (!(data[1] & COUNT_COPIES) || tail < 8)
			continue;
		memcpy(&number, room + total + 4, sizeof(number));
		number += (u32)i;
		memcpy(room + total + 4, &number, sizeof(number));
	}
	t = fuzz_copy(room, total);
	fix(which, t, total, data[1]);
	switch (which) {
	case XSDT:
	case RSDT: lists(which, t, total); break;
	case HEST: hest(t, total); break;
	case BLOCK: block(t, total); break;
	case WDAT: wdat(t, total); break;
	case MADT: madt(t, total); break;
	case SRAT: srat(t, total); break;
	case SLIT: slit(t, total); break;
	case MCFG: mcfg(t, total); break;
	case DMAR: dmar(t, total); break;
	case IVRS: ivrs(t, total); break;
	default: fixed_tables(which, t, total);
	}
	free(t);
	return 0;
}
