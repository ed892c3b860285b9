/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * margay_dump(): a VM's memory as an ELF core, a segment for each piece by its guest-physical
 * addresses, with the registers of each vCPU (NT_PRSTATUS) and the note by which Linux tells
 * debuggers of itself (VMCOREINFO; its kernel's crash_core.c), which is looked for in the memory.
 * Notes stand before all segments: `crash` looks for them there only.
 */
#define _GNU_SOURCE /* memmem() */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmargay.h"

#define PAGE 4096ul
#define PIECE (256ul << 10) /* the node looks at no more at once */
#define PIECES 64           /* more than a VM's map has */
#define NAME "VMCOREINFO"
#define NAMED (sizeof(Elf64_Nhdr) + 12)
#define INFO_MAX PAGE       /* of its text: what Linux gives it */

/* In the order of struct user_regs_struct. */
static const char *const registers[] = {
	"r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11", "r10", "r9",
	"r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", NULL,  "rip", "cs",
	"rflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",  "fs",  "gs",
};
#define REGISTERS (sizeof(registers) / sizeof(*registers))

/* Linux' struct elf_prstatus (its linux/elfcore.h), as a note: all but these fields is 0. */
struct status_note {
	Elf64_Nhdr head;
	char name[8];
	char signal_etc[32];
	int pid;
	char ids_and_times[76];
	unsigned long registers[REGISTERS];
	long fpu_is_valid;
} __attribute__((packed));
#define STATUS_SIZE (sizeof(struct status_note) - sizeof(Elf64_Nhdr) - 8)
_Static_assert(REGISTERS == 27 && STATUS_SIZE == 336, "x86-64's");

struct dump {
	struct margay *node;
	const char *vm;
	int fd;
	unsigned vcpus;
	unsigned pieces;
	struct {
		unsigned long at;
		unsigned long size;
		off_t file;
	} piece[PIECES];
	off_t info;             /* where in the file VMCOREINFO was found; 0: nowhere */
	unsigned info_size;
	char **answer;
};

static unsigned long number(const char *line, const char *key)
{
	char text[32] = "0";

	margay_value(line, key, text, sizeof(text));
	return strtoul(text, NULL, 0);
}

static int ask(struct dump *d, enum management_request what, const char *text, size_t *size)
{
	return margay_call(d->node, what, text, strlen(text), d->answer, size);
}

static int put(struct dump *d, const void *data, size_t n, off_t at)
{
	while (n) {
		ssize_t put = pwrite(d->fd, data, n, at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		data = (const char *)data + put;
		n -= (size_t)put;
		at += put;
	}
	return 0;
}

/* ---- memory ----------------------------------------------------------------------------- */

static int read_map(struct dump *d)
{
	int err = ask(d, MANAGEMENT_DUMP, d->vm, NULL);
	const char *line = *d->answer;

	if (err)
		return err;
	d->vcpus = (unsigned)number(line, "vcpus");
	while ((line = strchr(line, '\n')) && *++line && d->pieces < PIECES) {
		d->piece[d->pieces].at = number(line, "address");
		d->piece[d->pieces++].size = number(line, "size");
	}
	return 0;
}

/* The note begins a page: Linux takes whole ones for it. */
static void look_for_info(struct dump *d, const char *page, off_t at)
{
	Elf64_Nhdr head;

	memcpy(&head, page, sizeof(head));
	if (d->info || head.n_namesz != sizeof(NAME) || head.n_type || !head.n_descsz ||
	    head.n_descsz > INFO_MAX || memcmp(page + sizeof(head), NAME, sizeof(NAME)) != 0 ||
	    memcmp(page + NAMED, "OSRELEASE=", 10) != 0 ||
	    !memmem(page, PAGE, "\nKERNELOFFSET=", 14))
		return;
	d->info = at;
	d->info_size = (unsigned)NAMED + (head.n_descsz + 3) / 4 * 4;
}

static int copy_piece(struct dump *d, unsigned i, int (*stops)(void))
{
	unsigned long n;
	char text[128];

	for (unsigned long done = 0; done < d->piece[i].size; done += n) {
		unsigned long left = d->piece[i].size - done;
		off_t at = d->piece[i].file + (off_t)done;
		const char *data;
		size_t size;
		int err;

		if (stops && stops()) {
			errno = EINTR;
			return -1;
		}
		snprintf(text, sizeof(text), "%.60s %lu %lu", d->vm, d->piece[i].at + done,
			 left < PIECE ? left : PIECE);
		err = ask(d, MANAGEMENT_MEMORY, text, &size);
		if (err)
			return err;
		n = number(*d->answer, "zeros");
		if (n)
			continue; /* a hole in the file */
		n = number(*d->answer, "bytes");
		data = strchr(*d->answer, '\n');
		if (!data || !n || n % PAGE || (size_t)(data + 1 - *d->answer) + n != size) {
			errno = EPROTO;
			return -1;
		}
		for (unsigned long k = 0; k < n; k += PAGE)
			look_for_info(d, data + 1 + k, at + (off_t)k);
		if (put(d, data + 1, n, at))
			return -1;
	}
	return 0;
}

/* ---- the file's head -------------------------------------------------------------------- */

static int read_status(struct dump *d, unsigned vcpu, struct status_note *note)
{
	char text[128];
	int err;

	snprintf(text, sizeof(text), "%.60s %u", d->vm, vcpu);
	*note = (struct status_note){ { 5, STATUS_SIZE, NT_PRSTATUS },
				      "CORE",
				      .pid = (int)vcpu + 1 };
	err = ask(d, MANAGEMENT_REGISTERS, text, NULL);
	if (err > 0)
		fprintf(stderr, "margay: without registers: %s\n", *d->answer);
	if (err)
		return err < 0 ? err : 0;
	/* The one without a name is the number of a system call. */
	for (unsigned i = 0; i < REGISTERS; i++)
		note->registers[i] = registers[i] ? number(*d->answer, registers[i]) : ~0ul;
	return 0;
}

static size_t head_size(const struct dump *d)
{
	size_t size = sizeof(Elf64_Ehdr) + (1 + d->pieces) * sizeof(Elf64_Phdr) +
		      d->vcpus * sizeof(struct status_note) + NAMED + INFO_MAX;

	return (size + PAGE - 1) / PAGE * PAGE;
}

static int put_head(struct dump *d)
{
	size_t notes = sizeof(Elf64_Ehdr) + (1 + d->pieces) * sizeof(Elf64_Phdr), at = notes;
	char *head = calloc(1, head_size(d));
	Elf64_Phdr *ph = (Elf64_Phdr *)(void *)(head + sizeof(Elf64_Ehdr));
	int err = 0;

	if (!head)
		return -1;
	*(Elf64_Ehdr *)(void *)head = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)(1 + d->pieces),
	};
	for (unsigned i = 0; !err && i < d->vcpus; i++, at += sizeof(struct status_note))
		err = read_status(d, i, (struct status_note *)(void *)(head + at));
	if (!err && d->info &&
	    pread(d->fd, head + at, d->info_size, d->info) != (ssize_t)d->info_size)
		d->info_size = 0; /* what only looked like it, at the end */
	at += d->info_size;
	ph[0] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = notes, .p_filesz = at - notes, .p_memsz = at - notes
	};
	for (unsigned i = 0; i < d->pieces; i++)
		ph[1 + i] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W | PF_X,
			.p_offset = (Elf64_Off)d->piece[i].file,
			.p_vaddr = d->piece[i].at,
			.p_paddr = d->piece[i].at,
			.p_filesz = d->piece[i].size,
			.p_memsz = d->piece[i].size,
		};
	if (!err)
		err = put(d, head, head_size(d), 0);
	free(head);
	return err;
}

int margay_dump(struct margay *m, const char *vm, int fd, int (*stops)(void), char **answer)
{
	struct dump d = { .node = m, .vm = vm, .fd = fd, .answer = answer };
	int err = read_map(&d);
	off_t end = (off_t)head_size(&d);

	for (unsigned i = 0; i < d.pieces; i++) {
		d.piece[i].file = end;
		end += (off_t)d.piece[i].size;
	}
	if (!err && ftruncate(fd, end))
		return -1;
	for (unsigned i = 0; !err && i < d.pieces; i++)
		err = copy_piece(&d, i, stops);
	return err ? err : put_head(&d);
}
