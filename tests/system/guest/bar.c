// SPDX-License-Identifier: GPL-2.0-only
/*
 * bar FILE OFFSET...: maps a page of a PCI BAR's file in sysfs at each offset, writes ~OFFSET
 * there, and when all are written prints what is read ("margay-bar: OFFSET VALUE"), then the
 * kernel's cache types of what is mapped ("margay-memtype: LINE").
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define MOST 16
#define TYPES "/sys/kernel/debug/x86/pat_memtype_list"

static int fail(const char *what)
{
	printf("margay-bar: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	volatile uint64_t *word[MOST];
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1, count = argc - 2;
	char line[256];
	FILE *types;

	if (fd < 0 || count > MOST)
		return fail(argc > 1 ? argv[1] : "no file");
	for (int i = 0; i < count; i++) {
		uint64_t at = strtoull(argv[2 + i], NULL, 0);
		void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				  (off_t)(at & ~(uint64_t)(PAGE - 1)));

		if (page == MAP_FAILED)
			return fail(argv[2 + i]);
		word[i] = (volatile uint64_t *)((char *)page + at % PAGE);
		*word[i] = ~at;
	}
	for (int i = 0; i < count; i++)
		printf("margay-bar: %s %#llx\n", argv[2 + i], (unsigned long long)*word[i]);
	types = fopen(TYPES, "r");
	if (!types)
		return fail(TYPES);
	while (fgets(line, sizeof(line), types))
		printf("margay-memtype: %s", line);
	return 0;
}
