/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the section .margay_options of an image: lines of text, as tools/image-options has made
 * them.
 */
#include "tools/image_options.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <margay/has.h>

#define SECTION ".margay_options"
#define OPTIONS_MAX 65536
#define PREFIX "CONFIG_"

static char *lacks; /* their names, a blank before and behind each; NULL: none */

bool image_has(const char *option)
{
	char word[80];

	snprintf(word, sizeof(word), " %.60s ",
		 option + (strncmp(option, PREFIX, strlen(PREFIX)) ? 0 : strlen(PREFIX)));
	return !lacks || !strstr(lacks, word);
}

/* So many bytes of the file, with a 0 behind them; the caller frees. NULL: it has not that many. */
static char *read_at(FILE *f, unsigned long at, size_t size)
{
	char *data = size < OPTIONS_MAX ? malloc(size + 1) : NULL;

	if (data && (fseek(f, (long)at, SEEK_SET) || fread(data, 1, size, f) != size)) {
		free(data);
		return NULL;
	}
	if (data)
		data[size] = 0;
	return data;
}

/* The content of the section; the caller frees. NULL: there is none. */
static char *read_section(FILE *f)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)read_at(f, 0, sizeof(*head));
	Elf64_Shdr *section = NULL;
	char *names = NULL, *found = NULL;
	unsigned count = 0;

	if (head && !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
	    head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_shentsize == sizeof(*section) &&
	    head->e_shstrndx < head->e_shnum) {
		count = head->e_shnum;
		section = (Elf64_Shdr *)read_at(f, head->e_shoff, count * sizeof(*section));
	}
	if (section)
		names = read_at(f, section[head->e_shstrndx].sh_offset,
				section[head->e_shstrndx].sh_size);
	for (unsigned i = 0; names && !found && i < count; i++)
		if (section[i].sh_name < section[head->e_shstrndx].sh_size &&
		    !strcmp(names + section[i].sh_name, SECTION))
			found = read_at(f, section[i].sh_offset, section[i].sh_size);
	free(names);
	free(section);
	free(head);
	return found;
}

const char *image_options_read(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text, *at;
	size_t n;

	if (!f)
		return strerror(errno);
	text = read_section(f);
	fclose(f);
	at = text ? strstr(text, "\nlacks ") : NULL;
	if (!at) {
		free(text);
		return "no image of Margay's that says which options it has";
	}
	/*
	 * From the blank before the first name to the line's end, which becomes the blank behind
	 * the last.
	 */
	at += strlen("\nlacks");
	n = strcspn(at, "\n");
	lacks = strndup(at, n + 1);
	if (lacks && lacks[n])
		lacks[n] = ' ';
	free(text);
	return lacks ? NULL : "out of memory";
}
