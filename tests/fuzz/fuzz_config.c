/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/config/config.c vmm/config/config_pci.c vmm/config/config_ends.c vmm/config/config_shape.c kernel/span.c */
/* FUZZ: -max_len=2600 -dict=tests/fuzz/config.dict */
/*
 * Fuzzes the VM file's parser with any bytes. Checked beside memory safety:
 * an accepted file is within all limits, a refused one has a printable line,
 * and the module check asks for what the file names.
 */
#include "tests/fuzz/fuzz.h"
#include "vmm/config/config.h"

static void check_error(const struct config_error *err)
{
	size_t n = strnlen(err->text, sizeof(err->text));

	CHECK(n > 3 && n < sizeof(err->text));
	CHECK(!strncmp(err->text, "f:", 2));
	for (size_t i = 0; i < n; i++)
		CHECK(err->text[i] >= ' ' && err->text[i] <= '~');
}

/* Modules whose name begins with the letter exist. */
static bool exists(void *ctx, const char *name)
{
	CHECK(*name);
	return *name == *(const char *)ctx;
}

static bool all_exist(const struct vm_config *c, char first)
{
	bool all = c->kernel[0] == first && (!c->initrd[0] || c->initrd[0] == first);

	for (unsigned i = 0; i < c->nr_modules; i++)
		all &= c->module[i].name[0] == first;
	return all;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct vm_config c;
	struct config_error err;
	char first = 'k';

	memset(&err, 0xaa, sizeof(err));
	if (vm_config_parse("f", (const char *)data, size, &c, &err)) {
		check_error(&err);
		return 0;
	}
	CHECK(!c.memory || (c.memory >= VM_MEMORY_MIN && c.memory <= VM_MEMORY_MAX && IS_ALIGNED(c.memory, PAGE_SIZE_2M)));
	CHECK(c.nr_memory_nodes <= VM_MEMORY_NODES && (!c.memory || !c.nr_memory_nodes));
	CHECK(c.cpus <= VM_CPUS_MAX && (c.cpus || !c.pinned));
	for (unsigned i = 0; c.pinned && i < c.cpus; i++) {
		CHECK(c.cpu[i] <= VM_CPU_NUMBER_MAX);
		for (unsigned k = 0; k < i; k++)
			CHECK(c.cpu[i] != c.cpu[k]);
	}
	CHECK(c.kernel[0] && strnlen(c.kernel, sizeof(c.kernel)) < sizeof(c.kernel));
	CHECK(strnlen(c.initrd, sizeof(c.initrd)) < sizeof(c.initrd));
	CHECK(strnlen(c.name, sizeof(c.name)) < sizeof(c.name));
	CHECK(strnlen(c.cmdline, sizeof(c.cmdline)) < sizeof(c.cmdline));
	if (vm_config_check_modules(&c, exists, &first, &err)) {
		CHECK(!all_exist(&c, first));
		check_error(&err);
	} else {
		CHECK(all_exist(&c, first));
	}
	return 0;
}
