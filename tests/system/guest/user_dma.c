// SPDX-License-Identifier: GPL-2.0-only
/*
 * user_dma ADDRESS: a driver in user space for QEMU's device for teaching, edu, at that address
 * (0000:00:09.0): by its registers as sysfs maps them, and by the physical addresses of its own
 * memory as /proc/self/pagemap has them, as UIO drivers do. The device fetches a page and stores
 * what it has in another: "margay-test: user-dma: right", or what was found there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define WORDS (PAGE / sizeof(uint64_t))
#define REGISTERS 0x100000
/* edu, by QEMU's docs/specs/edu.rst. */
enum {
	FROM = 0x80,
	TO = 0x88,
	COUNT = 0x90,
	COMMAND = 0x98,
	START = 1,
	TO_RAM = 2,
	BUFFER = 0x40000
};
#define PATTERN 0x75736572646d6100ull

static volatile uint8_t *registers;

static int fail(const char *what)
{
	printf("margay-test: user-dma: %s: %s\n", what, strerror(errno));
	return 1;
}

static int file(const char *function, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", function, name);
	return open(path, O_RDWR);
}

/*
 * Frame numbers are there for root only: 0 else (Linux' Documentation/admin-guide/mm/pagemap.rst).
 */
static uint64_t physical(const volatile void *page)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	if (fd < 0 || pread(fd, &entry, sizeof(entry),
			    (off_t)((uintptr_t)page / PAGE * sizeof(entry))) != sizeof(entry))
		return 0;
	close(fd);
	return (entry & ((1ull << 55) - 1)) * PAGE;
}

/* It takes 100 ms. */
static int carry(uint64_t from, uint64_t to, uint64_t command)
{
	*(volatile uint64_t *)(registers + FROM) = from;
	*(volatile uint64_t *)(registers + TO) = to;
	*(volatile uint64_t *)(registers + COUNT) = PAGE;
	*(volatile uint64_t *)(registers + COMMAND) = command | START;
	for (int i = 0; i < 1000; i++) {
		if (!(*(volatile uint64_t *)(registers + COMMAND) & START))
			return 1;
		usleep(10000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	volatile uint64_t *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
	int config = argc > 1 ? file(argv[1], "config") : -1,
	    resource = argc > 1 ? file(argv[1], "resource0") : -1;
	uint16_t command = 0;
	uint64_t source, target;

	if (config < 0 || resource < 0 || page == MAP_FAILED)
		return fail("no device");
	if (pread(config, &command, 2, 4) != 2 ||
	    (command |= 6, pwrite(config, &command, 2, 4) != 2))
		return fail("command");
	registers = mmap(NULL, REGISTERS, PROT_READ | PROT_WRITE, MAP_SHARED, resource, 0);
	if (registers == MAP_FAILED)
		return fail("registers");
	for (unsigned i = 0; i < WORDS; i++) {
		page[i] = PATTERN + i;
		page[WORDS + i] = 0;
	}
	source = physical(page);
	target = physical(page + WORDS);
	if (!source || !target)
		return fail("pagemap");
	printf("margay-test: user-page: %#llx\n", (unsigned long long)target);
	if (!carry(source, BUFFER, 0) || !carry(BUFFER, target, TO_RAM))
		return fail("it does not end");
	for (unsigned i = 0; i < WORDS; i++)
		if (page[WORDS + i] != PATTERN + i) {
			printf("margay-test: user-dma: wrong, %#llx\n",
			       (unsigned long long)page[WORDS + i]);
			return 0;
		}
	printf("margay-test: user-dma: right\n");
	return 0;
}
