/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/microcode.c */
/* FUZZ: -max_len=4096 */
/*
 * Fuzzes the readers of the vendors' microcode with any bytes. Intel's checksums are made right
 * first where the input's last byte says so, as no fuzzer finds them. Checked beside memory safety:
 * what is found lies in the file whole, is of this CPU, and no other CPU gets it; a file that is
 * refused, or cut short of an update, gives none.
 */
#include <margay/string.h>

#include "arch/x86_64/cpu/microcode.h"
#include "tests/fuzz/fuzz.h"

#define SIGNATURE 0x50657u

static u32 get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The first update's, as far as there is one. */
static void make_sum(u8 *p, size_t size)
{
	u32 sum = 0;
	size_t data;

	if (size < 48)
		return;
	data = get32(p + 28) ? get32(p + 28) : 2000;
	data += 48;
	if (data > size)
		return;
	memset(p + 16, 0, 4);
	for (size_t i = 0; i + 4 <= data; i += 4)
		sum -= get32(p + i);
	memcpy(p + 16, &sum, sizeof(sum));
}

static void check(const u8 *file, size_t size, const struct microcode_cpu *cpu)
{
	struct microcode found, again;
	const char *error = microcode_find(file, size, cpu, &found);
	bool amd = cpu->vendor == CPU_AMD;

	CHECK(!error || (*error && !found.start));
	if (!found.start)
		return;
	CHECK(found.start >= file && found.size <= size && found.start + found.size <= file + size);
	CHECK(found.size >= (amd ? 64 : MICROCODE_HEADER));
	CHECK(found.revision == get32(found.start + 4));
	/* The file is of one vendor, and without its last byte none at all. */
	CHECK(microcode_find(file, size,
			     &(struct microcode_cpu){ amd ? CPU_INTEL : CPU_AMD, SIGNATURE, 0x80 },
			     &again));
	CHECK(!again.start);
	CHECK(microcode_find(file, size - 1, cpu, &again) && !again.start);
	if (!amd)
		CHECK(get32(found.start) == 1 && get32(found.start + 20) == 1);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static u8 file[8192];
	u8 *end;

	if (!size || size > sizeof(file))
		return 0;
	/* At the buffer's end, which ASan watches. */
	size--;
	end = file + sizeof(file);
	memcpy(end - size, data, size);
	if (data[size] & 1)
		make_sum(end - size, size);
	check(end - size, size, &(struct microcode_cpu){ CPU_INTEL, SIGNATURE, 0x80 });
	check(end - size, size, &(struct microcode_cpu){ CPU_AMD, SIGNATURE, 0 });
	return 0;
}
