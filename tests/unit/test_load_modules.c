/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/load/no_module.c vmm/load/load_check.c vmm/load/linux_built.c vmm/load/bzimage.c vmm/load/elf.c vmm/load/multiboot.c @tests/unit/vm_files.sources lib/span.c */
/*
 * What the node says of files that a VM wants: each that the boot loader did not bring, with the
 * room that it had, and the first that is wrong of those that are there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "vmm/load/modules.c"

#define ROOM "; it had room for one of 350 MiB\n"

static struct host_module module[4];
static unsigned nr_modules;
static char lines[800];
static struct vm_config config;
static struct vm vm = { .name = "vm0", .config = &config };

const struct host_module *host_module(unsigned i)
{
	return i < nr_modules ? &module[i] : NULL;
}

u64 host_module_room(void)
{
	return MIB(350) + 5;
}

bool host_tsc_stable(void)
{
	return true;
}

void host_log(const char *fmt, ...)
{
	size_t n = strlen(lines);
	va_list ap;

	va_start(ap, fmt);
	n += (size_t)vsnprintf(lines + n, sizeof(lines) - n, fmt, ap);
	va_end(ap);
	snprintf(lines + n, sizeof(lines) - n, "\n");
}

static void has(const char *name, const char *data)
{
	module[nr_modules++] =
		(struct host_module){ .name = name, .data = data, .size = strlen(data) };
}

/* What is told when the VM is created, by that file. */
static const char *told(const char *text, int want)
{
	struct config_error err;

	lines[0] = 0;
	assert_int_equal(vm_config_parse("f", text, strlen(text), &config, &err, NULL), 0);
	assert_int_equal(modules_stage.create(&vm), want);
	return lines;
}

#define FILE_TEXT "kernel = k\ninitrd = i\nmemory = 64M\n"

static void test_absent(void **)
{
	nr_modules = 0;
	assert_string_equal(
		told(FILE_TEXT, -EINVAL),
		"vm0: f:1: kernel = k: the boot loader gave no module of that name" ROOM
		"vm0: f:2: initrd = i: the boot loader gave no module of that name" ROOM);
	has("other", "");
	has("i", "an initrd");
	assert_string_equal(
		told(FILE_TEXT, -EINVAL),
		"vm0: f:1: kernel = k: the boot loader gave no module of that name" ROOM);
}

/* A wrong file is told once, and those that are not there beside it. */
static void test_wrong(void **)
{
	nr_modules = 0;
	has("k", "no kernel at all");
	assert_non_null(strstr(told(FILE_TEXT, -EINVAL), "vm0: f:1: kernel = k: "));
	assert_null(strstr(lines, "f:1: kernel = k: the boot loader"));
	assert_non_null(strstr(lines, "\nvm0: f:2: initrd = i: the boot loader gave no module"));
	has("i", "an initrd");
	told(FILE_TEXT, -EINVAL);
	assert_ptr_equal(strchr(lines, '\n'), lines + strlen(lines) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_absent),
					    cmocka_unit_test(test_wrong) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
