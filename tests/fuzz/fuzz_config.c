/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/config.c vmm/config_shape.c */
/*
 * libFuzzer: the VM file's parser on any bytes. Checked beside memory safety:
 * an accepted file is within all limits, a refused one has a printable line.
 */
#include <stdlib.h>
#include <string.h>

#include "vmm/config.h"

#define CHECK(cond)              \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct vm_config c;
	struct config_error err;

	memset(&err, 0xaa, sizeof(err));
	if (vm_config_parse("f", (const char *)data, size, &c, &err)) {
		size_t n = strnlen(err.text, sizeof(err.text));

		CHECK(n > 3 && n < sizeof(err.text));
		CHECK(!strncmp(err.text, "f:", 2));
		for (size_t i = 0; i < n; i++)
			CHECK(err.text[i] >= ' ' && err.text[i] <= '~');
		return 0;
	}
	CHECK(!c.memory || (c.memory >= VM_MEMORY_MIN && c.memory <= VM_MEMORY_MAX && IS_ALIGNED(c.memory, PAGE_SIZE_2M)));
	CHECK(c.nr_memory_nodes <= VM_MEMORY_NODES && (!c.memory || !c.nr_memory_nodes));
	CHECK(c.cpus <= VM_CPUS_MAX && (c.cpus || !c.pinned));
	CHECK(c.kernel[0] && strnlen(c.kernel, sizeof(c.kernel)) < sizeof(c.kernel));
	CHECK(strnlen(c.initrd, sizeof(c.initrd)) < sizeof(c.initrd));
	CHECK(strnlen(c.name, sizeof(c.name)) < sizeof(c.name));
	CHECK(strnlen(c.cmdline, sizeof(c.cmdline)) < sizeof(c.cmdline));
	return 0;
}
