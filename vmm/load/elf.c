/* SPDX-License-Identifier: GPL-2.0-only */
/* The ELF reader: nothing in the file is believed before it is checked. */
#include "vmm/load/elf.h"

#include <margay/string.h>

/*
 * The two classes differ in the size of addresses, and in where a program header keeps its flags.
 */
struct elf32_header {
	u8 ident[16]; /* 00h: e_ident */
	u16 type; /* 10h: e_type */
	u16 machine; /* 12h: e_machine */
	u32 version; /* 14h: e_version */
	u32 entry; /* 18h: e_entry */
	u32 phoff; /* 1ch: e_phoff */
	u32 shoff; /* 20h: e_shoff */
	u32 flags; /* 24h: e_flags */
	u16 ehsize; /* 28h: e_ehsize */
	u16 phentsize; /* 2ah: e_phentsize */
	u16 phnum; /* 2ch: e_phnum */
	u16 shentsize; /* 2eh: e_shentsize */
	u16 shnum; /* 30h: e_shnum */
	u16 shstrndx; /* 32h: e_shstrndx */
};
struct elf64_header {
	u8 ident[16]; /* 00h: e_ident */
	u16 type; /* 10h: e_type */
	u16 machine; /* 12h: e_machine */
	u32 version; /* 14h: e_version */
	u64 entry; /* 18h: e_entry */
	u64 phoff; /* 20h: e_phoff */
	u64 shoff; /* 28h: e_shoff */
	u32 flags; /* 30h: e_flags */
	u16 ehsize; /* 34h: e_ehsize */
	u16 phentsize; /* 36h: e_phentsize */
	u16 phnum; /* 38h: e_phnum */
	u16 shentsize; /* 3ah: e_shentsize */
	u16 shnum; /* 3ch: e_shnum */
	u16 shstrndx; /* 3eh: e_shstrndx */
};
static_assert(sizeof(struct elf32_header) == 52 && sizeof(struct elf64_header) == 64, "gABI Ehdr");

struct elf32_phdr {
	u32 type; /* 00h: p_type */
	u32 offset; /* 04h: p_offset */
	u32 vaddr; /* 08h: p_vaddr */
	u32 paddr; /* 0ch: p_paddr */
	u32 filesz; /* 10h: p_filesz */
	u32 memsz; /* 14h: p_memsz */
	u32 flags; /* 18h: p_flags */
	u32 align; /* 1ch: p_align */
};
struct elf64_phdr {
	u32 type; /* 00h: p_type */
	u32 flags; /* 04h: p_flags */
	u64 offset; /* 08h: p_offset */
	u64 vaddr; /* 10h: p_vaddr */
	u64 paddr; /* 18h: p_paddr */
	u64 filesz; /* 20h: p_filesz */
	u64 memsz; /* 28h: p_memsz */
	u64 align; /* 30h: p_align */
};
static_assert(sizeof(struct elf32_phdr) == 32 && sizeof(struct elf64_phdr) == 56, "gABI Phdr");

enum {
	EI_CLASS = 4,
	EI_DATA = 5,
	ELFCLASS32 = 1,
	ELFCLASS64 = 2,
	ELFDATA2LSB = 1,
	ET_EXEC = 2,
	EM_386 = 3,
	EM_X86_64 = 62,
	PT_LOAD = 1,
};

bool elf_is_elf(const void *data, u64 size)
{
	return size >= 4 && !memcmp(data, "\177ELF", 4);
}

static const char *add_segment(const struct elf64_phdr *ph, u64 size, struct elf_image *out)
{
	if (ph->offset > size || ph->filesz > size - ph->offset)
		return "truncated: a segment lies beyond its end";
	if (ph->filesz > ph->memsz || ph->memsz > ~0ull - ph->paddr)
		return "damaged: a segment's sizes contradict each other";
	if (out->count == ELF_MAX_SEGMENTS)
		return "not a kernel: too many loadable segments";
	out->segment[out->count++] =
		(struct elf_segment){ ph->offset, ph->filesz, ph->vaddr, ph->paddr, ph->memsz };
	return NULL;
}

/* The header of either class as one of 64 bits. */
static const char *read_header(const void *data, u64 size, struct elf64_header *h)
{
	struct elf32_header h32;

	if (size < sizeof(h32))
		return "truncated: shorter than an ELF header";
	memcpy(&h32, data, sizeof(h32));
	if (h32.ident[EI_DATA] == ELFDATA2LSB && h32.ident[EI_CLASS] == ELFCLASS32 &&
	    h32.machine == EM_386) {
		*h = (struct elf64_header){ .type = h32.type,
					    .entry = h32.entry,
					    .phoff = h32.phoff,
					    .phentsize = h32.phentsize,
					    .phnum = h32.phnum };
		h->ident[EI_CLASS] = ELFCLASS32;
		return NULL;
	}
	if (h32.ident[EI_DATA] != ELFDATA2LSB || h32.ident[EI_CLASS] != ELFCLASS64 ||
	    h32.machine != EM_X86_64)
		return "not an x86 or x86-64 ELF file";
	if (size < sizeof(*h))
		return "truncated: shorter than an ELF header";
	memcpy(h, data, sizeof(*h));
	return NULL;
}

static struct elf64_phdr read_phdr(const u8 *p, bool bits64)
{
	struct elf64_phdr ph;
	struct elf32_phdr ph32;

	if (bits64) {
		memcpy(&ph, p, sizeof(ph));
		return ph;
	}
	memcpy(&ph32, p, sizeof(ph32));
	return (struct elf64_phdr){ .type = ph32.type,
				    .offset = ph32.offset,
				    .vaddr = ph32.vaddr,
				    .paddr = ph32.paddr,
				    .filesz = ph32.filesz,
				    .memsz = ph32.memsz };
}

/* Kernels give the entry point's physical or its virtual address. */
static bool physical_entry(struct elf_image *img)
{
	for (unsigned i = 0; i < img->count; i++)
		if (img->entry - img->segment[i].paddr < img->segment[i].memsz)
			return true;
	for (unsigned i = 0; i < img->count; i++) {
		const struct elf_segment *s = &img->segment[i];

		if (img->entry - s->vaddr < s->memsz) {
			img->entry += s->paddr - s->vaddr;
			return true;
		}
	}
	return false;
}

const char *elf_parse(const void *data, u64 size, struct elf_image *out)
{
	struct elf64_header h;
	u64 phdr_size;
	const char *reason = read_header(data, size, &h);

	*out = (struct elf_image){ 0 };
	if (reason)
		return reason;
	out->bits64 = h.ident[EI_CLASS] == ELFCLASS64;
	phdr_size = out->bits64 ? sizeof(struct elf64_phdr) : sizeof(struct elf32_phdr);
	if (h.type != ET_EXEC || h.phentsize != phdr_size)
		return "not an executable ELF file";
	if (h.phoff > size || h.phnum > (size - h.phoff) / phdr_size)
		return "truncated: its program headers lie beyond its end";
	for (unsigned i = 0; i < h.phnum; i++) {
		struct elf64_phdr ph =
			read_phdr((const u8 *)data + h.phoff + i * phdr_size, out->bits64);

		if (ph.type != PT_LOAD || !ph.memsz)
			continue;
		reason = add_segment(&ph, size, out);
		if (reason)
			return reason;
	}
	out->entry = h.entry;
	return physical_entry(out) ? NULL
				   : "not a kernel: its entry point lies in no loaded segment";
}
