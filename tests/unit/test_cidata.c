/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/dev/virtio/cidata.c @tests/unit/vm_files.sources lib/span.c */
/* The volume of `meta =` lines: blkid says what it is, mtools read its files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "vmm/config/config.h"
#include "vmm/dev/virtio/cidata.h"

#define REQUIRED "kernel = k\nmemory = 64M\n"
#define NOTHING "#cloud-config\n{}\n"

static u8 image[CIDATA_SIZE];
static struct vm_config config;
static char said[CIDATA_SIZE * 2];

/* The volume of these lines, of a VM called node7; no byte of it may be what was there before. */
static void make(const char *lines)
{
	static char text[3 * VM_META_MAX];
	struct config_error err;

	snprintf(text, sizeof(text), REQUIRED "%s", lines);
	assert_int_equal(vm_config_parse("f", text, strlen(text), &config, &err, NULL), 0);
	memset(image, 0xee, sizeof(image));
	cidata_make(image, &config, "node7");
}

/* What a program says of it; %s stands for the file. */
static const char *ask(const char *program)
{
	char path[] = "/tmp/cidata-XXXXXX", command[200];
	int file = mkstemp(path);
	size_t n;
	FILE *out;

	assert_true(file >= 0);
	assert_int_equal(write(file, image, sizeof(image)), sizeof(image));
	close(file);
	snprintf(command, sizeof(command), program, path);
	out = popen(command, "r");
	assert_non_null(out);
	n = fread(said, 1, sizeof(said) - 1, out);
	said[n] = 0;
	assert_int_equal(pclose(out), 0);
	unlink(path);
	return said;
}

#define ASK_FILE(name) ask("mtype -i %s '::" name "' 2>&1")

static void test_volume(void **)
{
	make("meta = public-keys=ssh-ed25519 AAAA me@desk\n");
	assert_string_equal(ask("/sbin/blkid -p -s LABEL -s LABEL_FATBOOT -s TYPE -s VERSION "
				"-o export %s | grep -v DEVNAME"),
			    "LABEL_FATBOOT=cidata\nLABEL=cidata\nVERSION=FAT12\nTYPE=vfat\n");
	assert_string_equal(ask("mdir -b -i %s :: 2>&1"), "::/meta-data\n::/user-data\n");
	assert_memory_equal(image + 0x1fe, "\x55\xaa", 2);
	/* Linux mounts none whose root directory is not of whole sectors; mtools do. */
	assert_memory_equal(image + 0x11, "\x10\0", 2);
	assert_non_null(strstr(ask("mdir -i %s :: 2>&1"), " 1980-01-01   0:00  meta-data\n"));
	/* It is full of nothing: 32 sectors but those of the volume's own and one of each file. */
	assert_non_null(strstr(ask("mdir -i %s :: 2>&1"), " 13 824 bytes free"));
}

static void test_files(void **)
{
	make("meta = public-keys=ssh-ed25519 AAAA me@desk\n"
	     "meta = role = compute \"new\" \\ a\n"
	     "meta = user-data=#cloud-config\n"
	     "meta = dsmode=local\n"
	     "meta = io.systemd.credential:a.b=c\n"
	     "meta = public-keys=ssh-rsa BBBB=\n"
	     "meta = user-data=runcmd: [[touch, \"/a\"]]\n"
	     "meta = network-config={version: 2}\n");
	assert_string_equal(ASK_FILE("meta-data"), "instance-id: \"node7\"\n"
						   "local-hostname: \"node7\"\n"
						   "role: \"compute \\\"new\\\" \\\\ a\"\n"
						   "dsmode: \"local\"\n"
						   "public-keys:\n"
						   "- \"ssh-ed25519 AAAA me@desk\"\n"
						   "- \"ssh-rsa BBBB=\"\n");
	assert_string_equal(ASK_FILE("user-data"), "#cloud-config\nruncmd: [[touch, \"/a\"]]\n");
	assert_string_equal(ASK_FILE("network-config"), "{version: 2}\n");
	assert_string_equal(ask("mdir -b -i %s :: 2>&1"),
			    "::/meta-data\n::/user-data\n::/network-config\n");
}

static void test_names(void **)
{
	make("meta = local-hostname=a.example.org\nmeta = instance-id=b\n");
	assert_string_equal(ASK_FILE("meta-data"),
			    "instance-id: \"b\"\nlocal-hostname: \"a.example.org\"\n");
	assert_string_equal(ASK_FILE("user-data"), NOTHING);
}

static void test_same(void **)
{
	static u8 before[CIDATA_SIZE];

	make("meta = a=b\n");
	memcpy(before, image, sizeof(before));
	make("meta = a=c\n");
	assert_memory_not_equal(image, before, sizeof(before));
	make("meta = a=b\n");
	assert_memory_equal(image, before, sizeof(before));
}

/* A file of many sectors, and as much as there can be, each byte of it quoted. */
static void test_large(void **)
{
	static char lines[2 * VM_META_MAX], expected[3 * VM_META_MAX];
	size_t n = 0, m = 0;

	for (unsigned i = 0; i < 4; i++) {
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "meta = %c=", 'a' + (char)i);
		memset(lines + n, '"', 1021);
		n += 1021;
		lines[n++] = '\n';
	}
	make(lines);
	assert_int_equal(strlen(config.meta), VM_META_MAX);
	m += (size_t)snprintf(expected, sizeof(expected),
			      "instance-id: \"node7\"\nlocal-hostname: \"node7\"\n");
	for (unsigned i = 0; i < 4; i++) {
		m += (size_t)snprintf(expected + m, sizeof(expected) - m, "%c: \"", 'a' + (char)i);
		for (unsigned k = 0; k < 1021; k++, m += 2)
			memcpy(expected + m, "\\\"", 2);
		m += (size_t)snprintf(expected + m, sizeof(expected) - m, "\"\n");
	}
	assert_string_equal(ASK_FILE("meta-data"), expected);
	assert_string_equal(ASK_FILE("user-data"), NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_volume), cmocka_unit_test(test_files),
		cmocka_unit_test(test_names),  cmocka_unit_test(test_same),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
