/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/vm_files.sources lib/span.c */
/* FUZZ: -max_len=2600 -dict=tests/fuzz/config.dict */
/*
 * Fuzzes the VM file's parser with any bytes. Checked beside memory safety:
 * an accepted file is within all limits, a refused one has a printable line,
 * and the module check asks for what the file names.
 */
#include <margay/span.h>

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

static unsigned told;

static void tell(const char *text)
{
	struct config_error err;

	snprintf(err.text, sizeof(err.text), "%s", text);
	check_error(&err);
	told++;
}

/* All that it names, the kernel first. */
static void check_names(const struct vm_config *c)
{
	struct vm_config_name name;
	unsigned n = 0;

	while (vm_config_name(c, n, &name)) {
		char key = n <= c->nr_modules ? 'm' : 'i';

		CHECK(*name.name && name.line && *name.key == (n ? key : 'k'));
		n++;
	}
	CHECK(n == 1 + c->nr_modules + (c->initrd[0] != 0));
}

/* Each line is taken apart as it was put together, and none of it is lost. */
static void check_meta(const struct vm_config *c)
{
	struct span key, value;
	size_t n = 0;

	CHECK(strnlen(c->meta, sizeof(c->meta)) < sizeof(c->meta));
	for (unsigned i = 0; vm_config_meta(c, i, &key, &value); i++) {
		CHECK(key.n && key.p == c->meta + n && value.p == key.p + key.n + 1);
		n += key.n + value.n + 2;
		CHECK(c->meta[n - 1] == '\n');
	}
	CHECK(!c->meta[n]);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct vm_config c;
	struct config_error err;
	int wrong;

	memset(&err, 0xaa, sizeof(err));
	wrong = vm_config_parse("f", (const char *)data, size, &c, &err, NULL);
	if (wrong)
		check_error(&err);
	/* All errors, or none. */
	told = 0;
	CHECK(vm_config_parse("f", (const char *)data, size, &c, &err, tell) == wrong);
	if (wrong) {
		check_error(&err);
		return 0;
	}
	CHECK(!told);
	CHECK(!c.memory || (c.memory >= VM_MEMORY_MIN && c.memory <= VM_MEMORY_MAX &&
			    IS_ALIGNED(c.memory, PAGE_SIZE_2M)));
	CHECK(c.nr_memory_nodes <= VM_MEMORY_NODES && (!c.memory || !c.nr_memory_nodes));
	CHECK(c.cpus <= VM_CPUS_MAX && (c.cpus || !c.pinned));
	for (unsigned i = 0; c.pinned && i < c.cpus; i++) {
		CHECK(c.cpu[i] <= VM_CPUS_MAX - 1);
		for (unsigned k = 0; k < i; k++)
			CHECK(c.cpu[i] != c.cpu[k]);
	}
	CHECK(c.kernel[0] && strnlen(c.kernel, sizeof(c.kernel)) < sizeof(c.kernel));
	CHECK(strnlen(c.initrd, sizeof(c.initrd)) < sizeof(c.initrd));
	CHECK(strnlen(c.name, sizeof(c.name)) < sizeof(c.name));
	CHECK(strnlen(c.cmdline, sizeof(c.cmdline)) < sizeof(c.cmdline));
	check_names(&c);
	check_meta(&c);
	return 0;
}
