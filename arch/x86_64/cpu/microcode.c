/* SPDX-License-Identifier: GPL-2.0-only */
/* The readers of microcode.h. */
#include "arch/x86_64/cpu/microcode.h"

#include <margay/string.h>

#define AMD_MAGIC 0x00414d44
#define AMD_EQUIVALENCE 0 /* types of sections */
#define AMD_PATCH 1
/* offsets in a patch's header: two chipset devices that it is for alone, */
#define AMD_CHIPSET 16
#define AMD_CPU 24        /* the number of the equivalence table, 16 bits */
#define AMD_HEADER 64

static const char cut[] = "it ends too early";

static u32 get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u32 sum(const u8 *p, size_t size)
{
	u32 total = 0;

	for (size_t i = 0; i < size; i += 4)
		total += get32(p + i);
	return total;
}

bool microcode_newer(const struct microcode_cpu *cpu, u32 a, u32 b)
{
	return cpu->vendor == CPU_INTEL ? (s32)a > (s32)b : a > b;
}

static void take(const struct microcode_cpu *cpu, const u8 *start, size_t size, u32 revision,
		 struct microcode *out)
{
	if (!out->start || microcode_newer(cpu, revision, out->revision))
		*out = (struct microcode){ start, size, revision };
}

/* ---- Intel ---------------------------------------------------------------------- */

struct intel_header {
	u32 version;
	u32 revision;
	u32 date;
	u32 signature;
	u32 checksum;
	u32 loader;
	u32 platforms;
	u32 data_size;
	u32 total_size;
	u32 reserved[3];
};
static_assert(sizeof(struct intel_header) == MICROCODE_HEADER, "SDM vol. 3, table 10-7");

static bool intel_fits(const struct microcode_cpu *cpu, u32 signature, u32 platforms)
{
	return signature == cpu->signature && (!platforms || platforms & cpu->platform);
}

/*
 * Behind the data: how many more signatures, a checksum, three words; of each signature, platforms,
 * a checksum.
 */
static const char *intel_more(const u8 *p, size_t size, const struct microcode_cpu *cpu, bool *fits)
{
	u32 count;

	if (!size)
		return NULL;
	count = size >= 20 ? get32(p) : 0;
	if (size < 20 || (size - 20) / 12 < count)
		return "its table of signatures is larger than the update";
	if (sum(p, 20 + count * 12))
		return "its table of signatures has a wrong checksum";
	for (u32 i = 0; i < count; i++)
		*fits |= intel_fits(cpu, get32(p + 20 + i * 12), get32(p + 24 + i * 12));
	return NULL;
}

static const char *intel_find(const u8 *p, size_t size, const struct microcode_cpu *cpu,
			      struct microcode *out)
{
	while (size) {
		struct intel_header h;
		const char *error;
		size_t data, total;
		bool fits;

		if (size < sizeof(h))
			return cut;
		memcpy(&h, p, sizeof(h));
		if (h.version != 1 || h.loader != 1)
			return "a header of an unknown version";
		/* 0 is the size that all had at first. */
		data = sizeof(h) + (h.data_size ? h.data_size : 2000);
		total = h.data_size ? h.total_size : 2048;
		if (data % 4 || total % 4 || total < data)
			return "a header with impossible sizes";
		if (total > size)
			return cut;
		if (sum(p, data))
			return "a wrong checksum";
		fits = intel_fits(cpu, h.signature, h.platforms);
		error = intel_more(p + data, total - data, cpu, &fits);
		if (error)
			return error;
		if (fits)
			take(cpu, p, total, h.revision, out);
		p += total;
		size -= total;
	}
	return NULL;
}

/* ---- AMD ------------------------------------------------------------------------ */

/*
 * The CPU's number in the table, whose entries are of 16 bytes: CPUID's signature, two words, the
 * number; 0: none.
 */
static u16 amd_number(const u8 *table, size_t size, u32 signature)
{
	u16 number = 0;

	for (size_t i = 0; i + 16 <= size && get32(table + i); i += 16)
		if (get32(table + i) == signature)
			memcpy(&number, table + i + 12, sizeof(number));
	return number;
}

static const char *amd_find(const u8 *p, size_t size, const struct microcode_cpu *cpu,
			    struct microcode *out)
{
	u16 number = 0, patch_number;
	bool table = false;

	while (size) {
		u32 type, length;

		if (size >= 4 && get32(p) == AMD_MAGIC) {
			/* The next container: its own table comes first. */
			p += 4;
			size -= 4;
			table = false;
			if (!size)
				return cut;
		}
		if (size < 8)
			return cut;
		type = get32(p);
		length = get32(p + 4);
		p += 8;
		size -= 8;
		if (length > size)
			return cut;
		if (table != (type == AMD_PATCH) || (type != AMD_PATCH && type != AMD_EQUIVALENCE))
			return "a section of the wrong type";
		if (!table) {
			number = amd_number(p, length, cpu->signature);
			table = true;
		} else if (length < AMD_HEADER) {
			return "a patch without its header";
		} else {
			memcpy(&patch_number, p + AMD_CPU, sizeof(patch_number));
			if (number && patch_number == number && !get32(p + AMD_CHIPSET) &&
			    !get32(p + AMD_CHIPSET + 4))
				take(cpu, p, length, get32(p + 4), out);
		}
		p += length;
		size -= length;
	}
	return NULL;
}

const char *microcode_find(const u8 *file, size_t size, const struct microcode_cpu *cpu,
			   struct microcode *out)
{
	bool amd = size >= 4 && get32(file) == AMD_MAGIC;
	enum cpu_vendor vendor = amd ? CPU_AMD : CPU_INTEL;
	const char *error;

	*out = (struct microcode){ 0 };
	if (!amd && (size < 4 || get32(file) != 1))
		return "neither Intel's updates nor AMD's container";
	if (cpu->vendor != vendor)
		return amd ? "it is for AMD's CPUs" : "it is for Intel's CPUs";
	error = (amd ? amd_find : intel_find)(file, size, cpu, out);
	if (error)
		out->start = NULL;
	return error;
}
