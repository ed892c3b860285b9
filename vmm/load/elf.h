/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: reads an x86 or x86-64 ELF executable's loadable segments (System V gABI, chapters 4
 * and 5).
 */
#ifndef VMM_ELF_H
#define VMM_ELF_H

#include <margay/types.h>

#define ELF_MAX_SEGMENTS 16

/*
 * A PT_LOAD segment; checked: the file part lies in the file, filesz <= memsz, paddr + memsz does
 * not wrap.
 */
struct elf_segment {
	u64 offset;
	u64 filesz;
	u64 vaddr;
	u64 paddr;
	u64 memsz;
};

struct elf_image {
	bool bits64; /* ELF64, else ELF32 */
	u64 entry; /* physical address */
	unsigned count;
	struct elf_segment segment[ELF_MAX_SEGMENTS];
};

/* Does it begin like an ELF file? */
bool elf_is_elf(const void *data, u64 size);

/*
 * Checks the file and collects its PT_LOAD segments with memsz > 0. The entry
 * point lies in one of them; when the file gives its virtual address, it is
 * translated. NULL, or a short text: why not.
 */
const char *elf_parse(const void *data, u64 size, struct elf_image *out);

#endif
