/* SPDX-License-Identifier: GPL-2.0-only */
/* The ELF64 reader: nothing in the file is believed before it is checked. */
#include "vmm/elf.h"

#include <margay/errno.h>
#include <margay/string.h>

struct elf64_header {
	u8 ident[16];
	u16 type, machine;
	u32 version;
	u64 entry, phoff, shoff;
	u32 flags;
	u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
static_assert(sizeof(struct elf64_header) == 64, "gABI Elf64_Ehdr");

struct elf64_phdr {
	u32 type, flags;
	u64 offset, vaddr, paddr, filesz, memsz, align;
};
static_assert(sizeof(struct elf64_phdr) == 56, "gABI Elf64_Phdr");

enum { EI_CLASS = 4, EI_DATA = 5, ELFCLASS64 = 2, ELFDATA2LSB = 1, ET_EXEC = 2, EM_X86_64 = 62, PT_LOAD = 1 };

bool elf_is_elf(const void *data, u64 size)
{
	return size >= 4 && !memcmp(data, "\177ELF", 4);
}

static int refuse(const char **why, const char *text)
{
	*why = text;
	return -ENOEXEC;
}

static int add_segment(const struct elf64_phdr *ph, u64 size, struct elf_image *out, const char **why)
{
	if (ph->offset > size || ph->filesz > size - ph->offset)
		return refuse(why, "truncated: a segment lies beyond its end");
	if (ph->filesz > ph->memsz || ph->memsz > ~0ull - ph->paddr)
		return refuse(why, "damaged: a segment's sizes contradict each other");
	if (out->count == ELF_MAX_SEGMENTS)
		return refuse(why, "not a Linux kernel: too many loadable segments");
	out->segment[out->count++] = (struct elf_segment){ ph->offset, ph->filesz, ph->paddr, ph->memsz };
	return 0;
}

int elf_parse(const void *data, u64 size, struct elf_image *out, const char **why)
{
	struct elf64_header h;

	*out = (struct elf_image){ 0 };
	if (size < sizeof(h))
		return refuse(why, "truncated: shorter than an ELF header");
	memcpy(&h, data, sizeof(h));
	if (h.ident[EI_CLASS] != ELFCLASS64 || h.ident[EI_DATA] != ELFDATA2LSB || h.machine != EM_X86_64)
		return refuse(why, "not an x86-64 ELF file");
	if (h.type != ET_EXEC || h.phentsize != sizeof(struct elf64_phdr))
		return refuse(why, "not an executable ELF file");
	if (h.phoff > size || h.phnum > (size - h.phoff) / sizeof(struct elf64_phdr))
		return refuse(why, "truncated: its program headers lie beyond its end");
	for (unsigned i = 0; i < h.phnum; i++) {
		struct elf64_phdr ph;
		int err;

		memcpy(&ph, (const u8 *)data + h.phoff + i * sizeof(ph), sizeof(ph));
		if (ph.type != PT_LOAD || !ph.memsz)
			continue;
		err = add_segment(&ph, size, out, why);
		if (err)
			return err;
	}
	out->entry = h.entry;
	for (unsigned i = 0; i < out->count; i++)
		if (h.entry - out->segment[i].paddr < out->segment[i].memsz)
			return 0;
	return refuse(why, "not a Linux kernel: its entry point is no loaded physical address");
}
