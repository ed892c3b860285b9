/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_management.sources */
/*
 * The node as the management VM sees it: messages, rights, images, files of VMs.
 * docs/management-vm.md
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/fake_management.h"
#include "tests/unit/lost_memory.h"
#include "vmm/management/sha256.h"
#include "vmm/node/outcome.h"
#include "vmm/vcpu.h"

#define ALL "create, destroy, console, cpus:1-2, memory:256M"
#define FUNCTION ", pci:02:00.0, net:lan0, net:lan1"
#define BOOTS \
	"pci_irq, pci_node, cache, bandwidth, counters, dmi = node: only a VM of the boot has it"
#define VM "kernel = image\nmemory = 64M\n"

/* Bytes of images, by what was taken. */
static u64 taken(void)
{
	u64 sum = 0;

	for (unsigned i = 0; i < fake_host.nr_extents; i++)
		sum += fake_host.extent[i].size;
	return sum;
}

static void hex_of(const void *data, u64 size, char text[65])
{
	struct sha256 s;
	u8 digest[32];

	sha256_begin(&s, NULL);
	/* In two pieces, the first of an odd length. */
	sha256_add(&s, data, size / 3);
	sha256_add(&s, (const u8 *)data + size / 3, size - size / 3);
	sha256_end(&s, digest);
	for (unsigned i = 0; i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static const char *text(void)
{
	static char copy[MANAGEMENT_MAX];

	snprintf(copy, sizeof(copy), "%.*s", (int)(answer.size - sizeof(struct management_message)),
		 (const char *)answer.data + sizeof(struct management_message));
	return copy;
}

static u16 ask(unsigned what, const char *request)
{
	return management_request(0, what, request, (u32)strlen(request));
}

static u16 put_as(unsigned session, const char *name, const u8 *data, u64 size, const char *how)
{
	char line[200], hex[65];
	u16 err;

	hex_of(data, size, hex);
	snprintf(line, sizeof(line), "%s %lu %s%s", name, size, hex, how);
	err = management_request(session, MANAGEMENT_IMAGE, line, (u32)strlen(line));
	if (err || !strncmp(text(), "have=yes", 8))
		return err;
	for (u64 at = 0; !err && at < size; at += 30000)
		err = management_request(session, MANAGEMENT_DATA, data + at,
					 (u32)MIN(size - at, 30000ul));
	return err ? err : management_request(session, MANAGEMENT_IMAGE_END, "", 0);
}

static u16 put(unsigned session, const char *name, const u8 *data, u64 size)
{
	return put_as(session, name, data, size, "");
}

/* What is none is refused and counted, whatever it says, and the next one is served. */
static void test_messages(void **)
{
	struct management_message m = { MANAGEMENT_MAGIC, MANAGEMENT_VERSION, MANAGEMENT_HELLO, 9,
					0 };
	static u8 large[MANAGEMENT_MAX + 16];
	u16 what;

	management_begin("");
	management_bytes(0, &m, sizeof(m), &what);
	assert_int_equal(what, 0);
	assert_int_equal(((struct management_message *)answer.data)->tag, 9);
	assert_non_null(strstr(
		text(),
		"protocol=1\tmanagement=management\tcommander=management\tmay=\tmemory=0\tmemory_used=0\trefused=0\n"));
	management_bytes(0, &m, sizeof(m) - 1, &what);
	assert_int_equal(what, EINVAL);
	management_bytes(0, &m, 0, &what);
	assert_int_equal(what, EINVAL);
	m.size = 1;
	management_bytes(0, &m, sizeof(m), &what);
	assert_string_equal(text(), "a message of 0 bytes that says 1");
	m.size = 0;
	memcpy(large, &m, sizeof(m));
	management_bytes(0, large, sizeof(m) + 1, &what);
	assert_string_equal(text(), "a message of 1 bytes that says 0");
	m.size = MANAGEMENT_MAX;
	memcpy(large, &m, sizeof(m));
	management_bytes(0, large, sizeof(large), &what);
	assert_string_equal(text(), "32784 bytes that are no message");
	m = (struct management_message){ MANAGEMENT_MAGIC, 2, MANAGEMENT_HELLO, 9, 0 };
	management_bytes(0, &m, sizeof(m), &what);
	assert_string_equal(text(), "a message of version 2: this node speaks 1");
	m = (struct management_message){ MANAGEMENT_MAGIC + 1, 1, MANAGEMENT_HELLO, 9, 0 };
	management_bytes(0, &m, sizeof(m), &what);
	assert_string_equal(text(), "16 bytes that are no message");
	for (unsigned i = MANAGEMENT_REQUESTS; i <= MANAGEMENT_REQUESTS + 1; i++)
		assert_int_equal(management_request(0, i, "", 0), ENOSYS);
	assert_int_equal(management_request(0, 0, "", 0), ENOSYS);
	assert_int_equal(ask(MANAGEMENT_HELLO, ""), 0);
	assert_non_null(strstr(text(), "refused=10\n"));
}

static void test_rights(void **)
{
	static const struct {
		unsigned what;
		const char *needs;
	} rows[] = {
		{ MANAGEMENT_CREATE, "create" },       { MANAGEMENT_START, "create" },
		{ MANAGEMENT_RESUME, "create" },       { MANAGEMENT_IMAGE, "create" },
		{ MANAGEMENT_DATA, "create" },         { MANAGEMENT_IMAGE_END, "create" },
		{ MANAGEMENT_IMAGE_REMOVE, "create" }, { MANAGEMENT_DESTROY, "destroy" },
		{ MANAGEMENT_STOP, "destroy" },        { MANAGEMENT_PAUSE, "destroy" },
		{ MANAGEMENT_PRESS, "destroy" },       { MANAGEMENT_RESTART, "create, destroy" },
		{ MANAGEMENT_NMI, "destroy" },         { MANAGEMENT_READ, "console" },
		{ MANAGEMENT_WRITE, "console" },
	};
	static const char *const others[] = { "",        "create",          "destroy",
					      "console", "create, destroy", "boot",
					      "trusted" };

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(others); k++) {
			bool has = !strcmp(others[k], rows[i].needs) ||
				   (!strcmp(others[k], "create, destroy") &&
				    strcmp(rows[i].needs, "console") != 0);

			management_begin(others[k]);
			assert_int_equal(ask(rows[i].what, "no-such-vm") == EPERM, !has);
		}
	/* Those of the boot, and least of all itself. */
	management_begin("create, destroy");
	monitor_slots[1] = (struct slot){ .file = "b.conf",
					  .config = &(struct vm_config){ .name = "b" },
					  .state = STARTED };
	monitor_nr_slots = 2;
	assert_int_equal(ask(MANAGEMENT_STOP, "b"), EPERM);
	management_config.control.may |= MAY_BOOT;
	assert_int_equal(ask(MANAGEMENT_STOP, "b"), 0);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "b"), EPERM);
	assert_int_equal(ask(MANAGEMENT_STOP, "management"), EPERM);
	assert_int_equal(ask(MANAGEMENT_STOP, "nobody"), ENOENT);
}

/* Of the VM that is named, and of no other. */
static void test_press(void **)
{
	management_begin("create, destroy");
	management_there(true);
	pressed = NULL;
	assert_int_equal(ask(MANAGEMENT_PRESS, "nobody"), ENOENT);
	assert_null(pressed);
	assert_int_equal(ask(MANAGEMENT_PRESS, "t"), 0);
	assert_ptr_equal(pressed, &there.vm);
	press_result = -ENOSYS;
	assert_int_equal(ask(MANAGEMENT_PRESS, "t"), ENXIO);
	assert_string_equal(text(), "t has no such button");
	press_result = 0;
	monitor_slots[1].vm = NULL;
	pressed = NULL;
	assert_int_equal(ask(MANAGEMENT_PRESS, "t"), ENODEV);
	assert_null(pressed);
}

static void test_nmi(void **)
{
	management_begin("destroy");
	management_there(true);
	nmi_sent = NULL;
	assert_int_equal(ask(MANAGEMENT_NMI, "nobody"), ENOENT);
	assert_null(nmi_sent);
	assert_int_equal(ask(MANAGEMENT_NMI, "t"), 0);
	assert_ptr_equal(nmi_sent, &there.vm);
	nmi_result = -ENXIO;
	assert_int_equal(ask(MANAGEMENT_NMI, "t"), ENXIO);
	assert_string_equal(text(), "t: its guest takes no NMI, at LINT1 of any vCPU");
	nmi_result = 0;
	monitor_slots[1].vm = NULL;
	nmi_sent = NULL;
	assert_int_equal(ask(MANAGEMENT_NMI, "t"), ENODEV);
	assert_null(nmi_sent);
}

static void test_images(void **)
{
	static u8 data[100000], other[5000];
	char hex[65], line[200];

	management_begin(ALL);
	/* What was zero when it was taken is not when it is given back. */
	fake_host.extents_zero = true;
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i * 31 + i / 256);
	hex_of(data, sizeof(data), hex);
	assert_int_equal(put(0, "image", data, sizeof(data)), 0);
	assert_int_equal(taken(), MIB(2));
	assert_memory_equal(fake_host.modules[1].data, data, sizeof(data));
	assert_int_equal(fake_host.modules[1].size, sizeof(data));
	assert_int_equal(ask(MANAGEMENT_IMAGES, ""), 0);
	snprintf(line, sizeof(line),
		 "name=k\tsize=6\tsha256=-\tused=yes\tboot=yes\n"
		 "name=image\tsize=100000\tsha256=%s\tused=no\tboot=no\n",
		 hex);
	assert_string_equal(text(), line);
	/* The same again is not sent, and stands there once. */
	assert_int_equal(put(1, "twin", data, sizeof(data)), 0);
	assert_string_equal(text(), "have=yes\n");
	assert_int_equal(taken(), MIB(2));
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), 0);
	assert_int_equal(taken(), MIB(2));
	assert_int_equal(put(0, "twin", other, sizeof(other)), EEXIST);
	assert_int_equal(put(0, "k", other, sizeof(other)), EEXIST);
	assert_string_equal(text(), "k: there is a boot module of that name");
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "k"), ENOENT);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "twin"), 0);
	assert_int_equal(taken(), 0);
	/* What a VM of the boot lacks is not for anybody to bring. */
	fake_host.nr_modules = 0;
	assert_int_equal(put(0, "k", other, sizeof(other)), EPERM);
	fake_host.nr_modules = 1;
	/* Data that are not what was announced; too few, too many, none. */
	hex[0] ^= 1;
	snprintf(line, sizeof(line), "wrong 10 %s", hex);
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), 0);
	assert_int_equal(taken(), MIB(2));
	assert_int_equal(management_request(0, MANAGEMENT_DATA, data, 9), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE_END, ""), EINVAL);
	assert_string_equal(text(), "wrong: 1 of 10 bytes are missing");
	assert_int_equal(taken(), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), 0);
	assert_int_equal(management_request(0, MANAGEMENT_DATA, data, 10), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE_END, ""), EINVAL);
	assert_string_equal(text(), "wrong: it has another SHA-256 than was announced");
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), 0);
	assert_int_equal(management_request(0, MANAGEMENT_DATA, data, 11), EINVAL);
	assert_int_equal(taken(), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), 0);
	assert_int_equal(management_request(0, MANAGEMENT_DATA, data, 6), 0);
	assert_int_equal(management_request(0, MANAGEMENT_DATA, data, 6), EINVAL);
	assert_int_equal(taken(), 0);
	assert_int_equal(ask(MANAGEMENT_DATA, "x"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_IMAGE_END, ""), EINVAL);
	/* One that breaks off, and one that another takes the place of. */
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), 0);
	management_close(1);
	assert_int_equal(taken(), MIB(2));
	management_close(0);
	assert_int_equal(taken(), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), 0);
	assert_int_equal(taken(), MIB(2));
	management_close(0);
	/* Two send the same at once. */
	hex_of(other, sizeof(other), hex);
	snprintf(line, sizeof(line), "one %zu %s", sizeof(other), hex);
	assert_int_equal(management_request(2, MANAGEMENT_IMAGE, line, (u32)strlen(line)), 0);
	assert_int_equal(management_request(2, MANAGEMENT_DATA, other, sizeof(other)), 0);
	assert_int_equal(put(3, "two", other, sizeof(other)), 0);
	assert_int_equal(management_request(2, MANAGEMENT_IMAGE_END, "", 0), 0);
	assert_int_equal(taken(), MIB(2));
	assert_ptr_equal(fake_host.modules[1].data, fake_host.modules[2].data);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "two"), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "one"), 0);
	assert_int_equal(taken(), 0);
	assert_false(fake_host.freed_zero);
	/* What is no announcement. */
	static const char *const bad[] = { "",       "a",       "a 5",   "a 5 12",  "a 0 %s",
					   "a x %s", "a 5x %s", " 5 %s", "a 5 %s0", "a\tb 5 %s" };

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *hash = strstr(bad[i], "%s");

		snprintf(line, sizeof(line), "%.*s%s%s", hash ? (int)(hash - bad[i]) : 99, bad[i],
			 hash ? hex : "", hash ? hash + 2 : "");
		assert_int_equal(ask(MANAGEMENT_IMAGE, line), EINVAL);
	}
	assert_int_equal(taken(), 0);
}

/* What the module has that a VM of this slot starts from: its first byte; 0: there is none. */
static u8 kernel_of(const struct slot *s)
{
	for (unsigned i = 0; i < fake_host.nr_modules; i++)
		if (!strcmp(fake_host.modules[i].name, s->config->kernel))
			return *(const u8 *)fake_host.modules[i].data;
	return 0;
}

static unsigned modules(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < fake_host.nr_modules; i++)
		n += fake_host.modules[i].name[0] != 0;
	return n;
}

/*
 * A name gets another content; VMs that are there keep theirs, over their restarts; nothing of it
 * is left at the end.
 */
static void test_replace(void **)
{
	static u8 first[1000], second[1000], third[1000];
	static const char file[] = "%c.conf\nname = %c\n" VM;
	char text_of[200], left[100], hex[65];

	management_begin(ALL);
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	memset(first, 1, sizeof(first));
	memset(second, 2, sizeof(second));
	memset(third, 3, sizeof(third));
	assert_int_equal(put(0, "image", first, sizeof(first)), 0);
	/* The same again is there; another is not meant without a word. */
	assert_int_equal(put(0, "image", first, sizeof(first)), 0);
	assert_string_equal(text(), "have=yes\n");
	assert_int_equal(put(0, "image", second, sizeof(second)), EEXIST);
	assert_int_equal(put_as(0, "k", second, sizeof(second), " replace"), EEXIST);
	assert_int_equal(put_as(0, "image", second, sizeof(second), " replaces"), EINVAL);
	/* Nobody has it: it goes. */
	assert_int_equal(put_as(0, "image", second, sizeof(second), " replace"), 0);
	assert_true(taken() == MIB(2) && modules() == 2);
	snprintf(text_of, sizeof(text_of), file, 'a', 'a');
	assert_int_equal(ask(MANAGEMENT_CREATE, text_of), 0);
	ask(MANAGEMENT_SHOW, "a");
	assert_non_null(strstr(text(), "\nkernel=image\n"));
	assert_int_equal(put_as(0, "image", third, sizeof(third), " replace"), 0);
	snprintf(text_of, sizeof(text_of), file, 'b', 'b');
	assert_int_equal(ask(MANAGEMENT_CREATE, text_of), 0);
	assert_true(kernel_of(&monitor_slots[1]) == 2 && kernel_of(&monitor_slots[2]) == 3 &&
		    taken() == MIB(4));
	hex_of(second, sizeof(second), hex);
	snprintf(left, sizeof(left), "image@%.12s", hex);
	ask(MANAGEMENT_SHOW, "a");
	assert_non_null(strstr(text(), left));
	ask(MANAGEMENT_IMAGES, "");
	assert_true(strstr(text(), left) && strstr(text(), "\nname=image\t") &&
		    strstr(text(), "\tused=yes\tboot=no"));
	/*
	 * Neither can be removed, nor the name that one has left be given away; and back again to
	 * what is still there.
	 */
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, left), EBUSY);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), EBUSY);
	assert_int_equal(put(0, left, first, sizeof(first)), EINVAL);
	assert_int_equal(put_as(0, "image", second, sizeof(second), " replace"), 0);
	assert_string_equal(text(), "have=yes\n");
	assert_true(kernel_of(&monitor_slots[1]) == 2 && kernel_of(&monitor_slots[2]) == 3 &&
		    taken() == MIB(4));
	/* A third VM of what has left the name once already, and leaves it again. */
	snprintf(text_of, sizeof(text_of), file, 'c', 'c');
	assert_int_equal(ask(MANAGEMENT_CREATE, text_of), 0);
	assert_int_equal(modules(), 1 + 3);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
	assert_int_equal(put_as(0, "image", first, sizeof(first), " replace"), 0);
	assert_int_equal(kernel_of(&monitor_slots[3]), 2);
	ask(MANAGEMENT_IMAGES, "");
	assert_non_null(strstr(text(), left));
	assert_null(strstr(strstr(text(), left) + 1, left));
	assert_int_equal(put_as(0, "image", second, sizeof(second), " replace"), 0);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "c"), 0);
	snprintf(text_of, sizeof(text_of), file, 'a', 'a');
	assert_int_equal(ask(MANAGEMENT_CREATE, text_of), 0);
	/* The names of what is left go as any that nobody has. */
	assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, left), 0);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "b"), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), 0);
	hex_of(third, sizeof(third), hex);
	snprintf(left, sizeof(left), "image@%.12s", hex);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, left), 0);
	assert_true(!taken() && modules() == 1);
	/* A VM that is not made binds nothing. */
	assert_int_equal(put(0, "image", first, sizeof(first)), 0);
	assert_int_equal(ask(MANAGEMENT_CREATE,
			     "a.conf\nname = a\nkernel = image\nmemory = 300M\n"),
			 EINVAL);
	assert_int_equal(modules(), 2);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), 0);
}

/* By the right, and by what there is: those that no file names go, the oldest first. */
static void test_room(void **)
{
	static u8 data[4][1000];
	char hex[65], line[200];

	management_begin("create, destroy, cpus:1, memory:70M");
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	for (unsigned i = 0; i < 4; i++)
		memset(data[i], (int)i + 1, sizeof(data[i]));
	assert_int_equal(put(0, "image", data[0], sizeof(data[0])), 0);
	assert_int_equal(put(0, "old", data[1], sizeof(data[1])), 0);
	assert_int_equal(put(0, "new", data[2], sizeof(data[2])), 0);
	/* 70 - 64 - 3 x 2 = 0 MiB are left. */
	assert_int_equal(ask(MANAGEMENT_CREATE, "a.conf\nname = a\n" VM), 0);
	assert_int_equal(put(0, "more", data[3], sizeof(data[3])), 0);
	ask(MANAGEMENT_IMAGES, "");
	assert_null(strstr(text(), "name=old"));
	assert_non_null(strstr(text(), "name=new\t"));
	assert_non_null(strstr(text(), "name=image\tsize=1000"));
	hex_of("x", 1, hex);
	snprintf(line, sizeof(line), "large %lu %s", (u64)MIB(7), hex);
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), ENOSPC);
	assert_string_equal(
		text(), "large: 8388608 bytes in whole 2 MiB: control_may has memory for 0 more");
	/*
	 * Nor for what has no room beside an image that a VM names, though nobody names it by
	 * another of its names.
	 */
	assert_int_equal(put(0, "twin", data[0], sizeof(data[0])), 0);
	snprintf(line, sizeof(line), "large %lu %s", (u64)MIB(5), hex);
	assert_int_equal(ask(MANAGEMENT_IMAGE, line), ENOSPC);
	ask(MANAGEMENT_IMAGES, "");
	assert_true(strstr(text(), "name=new\t") && strstr(text(), "name=more\t"));
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "twin"), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), EBUSY);
	assert_int_equal(ask(MANAGEMENT_CREATE, "b.conf\nname = b\n" VM), EINVAL);
	assert_string_equal(
		text(), "b.conf:3: memory: 67108864 bytes with its disks: control_may has 0 left");
	assert_int_equal(
		ask(MANAGEMENT_CREATE,
		    "b.conf\nname = b\nkernel = image\nmemory = 32M\ndisk = scratch:32M\n"),
		EINVAL);
	assert_string_equal(
		text(), "b.conf:3: memory: 67108864 bytes with its disks: control_may has 0 left");
	/* For a VM, too, but none of its own: new and more go. */
	assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
	assert_int_equal(ask(MANAGEMENT_CREATE, "a.conf\nname = a\nkernel = image\nmemory = 70M\n"),
			 EINVAL);
	ask(MANAGEMENT_IMAGES, "");
	assert_true(strstr(text(), "name=new\t") && strstr(text(), "name=more\t"));
	assert_int_equal(ask(MANAGEMENT_CREATE, "a.conf\nname = a\nkernel = image\nmemory = 68M\n"),
			 0);
	ask(MANAGEMENT_IMAGES, "");
	assert_true(!strstr(text(), "name=new") && !strstr(text(), "name=more") &&
		    strstr(text(), "name=image"));
	assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
	assert_int_equal(ask(MANAGEMENT_CREATE, "a.conf\nname = a\nkernel = image\nmemory = 70M\n"),
			 EINVAL);
	assert_string_equal(
		text(),
		"a.conf:3: memory: 73400320 bytes with its disks: control_may has 71303168 left");
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), 0);
}

static void test_files(void **)
{
	/* clang-format off */
	static const struct {
		const char *file;
		const char *error;
	} bad[] = {
		{ "a.conf", "expected the name of a file, 1 to 63 characters without blanks, and what is in it" },
		{ "a b\nname = a\n" VM, "expected the name of a file, 1 to 63 characters without blanks, and what is in it" },
		{ "\nname = a\n" VM, "expected the name of a file, 1 to 63 characters without blanks, and what is in it" },
		{ "a.conf\nname = a\n" VM "nonsense = 1\ninitrd = \n",
			"a.conf:5: initrd: expected a value after '='" },
		{ "a.conf\n" VM,
			"a.conf: required key 'name' is missing: it is commanded by that" },
		{ "a.conf\nname = a\nkernel = none\nmemory = 64M\n",
			"a.conf:2: kernel = none: there is no such image" },
		{ "a.conf\nname = management\n" VM, "a.conf:1: name = management: management.conf has that name already: choose another" },
		{ "a.conf\nname = a\nkernel = image\nmemory = all\n",
			"a.conf:3: memory = all: expected a size: control_may has "
		  "266338304 bytes left" },
		{ "a.conf\nname = a\nkernel = image\nmemory = node0:all\n",
		  "a.conf:3: memory = all: expected a size: control_may has "
		  "266338304 bytes left" },
		{ "a.conf\nname = a\n" VM "cpus = 1-3\n",
			"a.conf:4: cpus: control_may does not have CPU 3" },
		{ "a.conf\nname = a\n" VM "cpus = 0-0\n",
			"a.conf:4: cpus: control_may does not have CPU 0" },
		{ "a.conf\nname = a\n" VM "pci = 01:00.0\n",
			"a.conf:4: pci: control_may has not all of these, by address" },
		{ "a.conf\nname = a\n" VM "pci = class:0200\n",
			"a.conf:4: pci: control_may has not all of these, by address" },
		{ "a.conf\nname = a\n" VM "pci = 02:00.0\ndma = identity\n",
		  "a.conf:5: dma = identity: control_may does not have dma:identity" },
		{ "a.conf\nname = a\n" VM "net = other\n",
			"a.conf:4: net = other: control_may does not have it" },
		{ "a.conf\nname = a\n" VM "net = lan0\nnet = lan1 mirror\n",
		  "a.conf:5: net = lan1 mirror: control_may does not have it" },
		{ "a.conf\nname = a\n" VM "net = lan0 bridge\n",
			"a.conf:4: net = lan0 bridge: control_may does not have it" },
		{ "a.conf\nname = a\nkernel = k\nmemory = 64M\n",
			"a.conf:2: kernel = k: there is no such image" },
		{ "a.conf\nname = a\n" VM "cache = 1/2\n", "a.conf:4: " BOOTS },
		{ "a.conf\nname = a\n" VM "bandwidth = 50%\n", "a.conf:4: " BOOTS },
		{ "a.conf\nname = a\n" VM "counters = yes\n", "a.conf:4: " BOOTS },
		{ "a.conf\nname = a\n" VM "dmi = node\n", "a.conf: " BOOTS },
		{ "a.conf\nname = a\n" VM "pci = 02:00.0\npci_node = 02:00.0 1\n",
			"a.conf:5: " BOOTS },
		{ "a.conf\nname = a\n" VM "trusted = yes\n",
			"a.conf:4: trusted: control_may does not have it" },
		{ "a.conf\nname = a\n" VM "ipi = direct\ninterrupts = direct\n",
		  "a.conf:4: ipi = direct: control_may does not have ipi:direct" },
		{ "a.conf\nname = a\n" VM "control = yes\n",
			"a.conf:4: control: only a VM of the boot commands" },
		{ "a.conf\nname = a\n" VM "control_may = create\n",
			"a.conf: control_may: without control = yes it may nothing" },
		{ "a.conf\nname = a\n" VM "after = management\n",
			"a.conf:4: after: who makes it starts it" },
		{ "a.conf\nname = a\n" VM "on_crash = dump\n",
			"a.conf:4: on_crash = dump: control_may does not have dump" },
		{ "a.conf\nname = a\n" VM "on_end = poweroff_node\n",
			"a.conf: only a VM of the boot ends the node" },
		{ "a.conf\nname = a\n" VM "console_log = 128K\n",
		  "a.conf: console_log: a VM that is made at run time keeps 64 KiB" },
	};
	/* clang-format on */

	static u8 data[1000];

	management_begin(ALL FUNCTION);
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	fake_host.iommu = true;
	assert_int_equal(put(0, "image", data, sizeof(data)), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *said;

		assert_int_equal(ask(MANAGEMENT_CREATE, bad[i].file), EINVAL);
		said = strrchr(text(), '\n') ? strrchr(text(), '\n') + 1 : text();
		assert_string_equal(said, bad[i].error);
		assert_int_equal(monitor_nr_slots, 1);
	}
	/* Without an IOMMU a function is as much as all of the node. */
	fake_host.iommu = false;
	assert_int_equal(ask(MANAGEMENT_CREATE,
			     "a.conf\nname = a\n" VM "pci = 02:00.0\ndma = window\n"),
			 EINVAL);
	assert_string_equal(
		text(),
		"a.conf:4: pci: without an IOMMU who has a function reaches all of the node: control_may does "
		"not have dma:identity");
	management_config.control.may |= MAY_IDENTITY;
	assert_int_equal(
		ask(MANAGEMENT_CREATE, "a.conf\nname = a\n" VM "pci = 02:00.0\ndma = window\n"), 0);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
	/* All errors of a file are told. */
	ask(MANAGEMENT_CREATE, bad[3].file);
	assert_ptr_equal(strstr(text(), "a.conf:4: unknown key 'nonsense'"), text());
	assert_int_equal(ask(MANAGEMENT_CREATE, "a.conf\nname = a\n" VM "cpus = 1-2\nnet = lan1\n"),
			 0);
	assert_true(monitor_slots[1].created && monitor_slots[1].config->created &&
		    monitor_slots[1].state == OVER);
	assert_string_equal(monitor_slots[1].config->file, "a.conf");
	assert_int_equal(ask(MANAGEMENT_CREATE, "b.conf\nname = a\n" VM), EINVAL);
	/* Which CPUs the planner may take. */
	for (unsigned cpu = 0; cpu < 4; cpu++)
		assert_int_equal(!!(monitor_slots[1].config->let_cpus[0] & BIT(cpu)),
				 cpu == 1 || cpu == 2);
	assert_null(management_config.let_cpus);
	assert_int_equal(ask(MANAGEMENT_START, "a"), 0);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), EBUSY);
	management_config.control.may |= MAY_MODULES;
	assert_int_equal(ask(MANAGEMENT_CREATE, "c.conf\nname = c\nkernel = k\nmemory = 64M\n"), 0);
	assert_int_equal(ask(MANAGEMENT_STOP, "a"), 0);
	/* What the slot has kept of its VM is nobody's. */
	own[0] = own[1] = own[2] = 5;
	output_rings[1].head = 99;
	monitor_slots[1].restart_at = 7;
	assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
	assert_true(let_go == 1 && !monitor_slots[1].restart_at);
	assert_true(!monitor_slots[1].starts && !monitor_slots[1].config &&
		    !monitor_slots[1].created);
	assert_int_equal(output_rings[1].head, 0);
	assert_int_equal(monitor_nr_slots, 3);
	assert_int_equal(ask(MANAGEMENT_LIST, ""), 0);
	assert_null(strstr(text(), "name=a\t"));
	assert_non_null(strstr(text(), "name=c\tstate=over\t"));
	assert_int_equal(ask(MANAGEMENT_CREATE, "d.conf\nname = d\n" VM), 0);
	assert_string_equal(monitor_slots[1].config->name, "d");
	assert_true(own[0] == 5 && !own[1] && own[2] == 5);
	assert_int_equal(monitor_slots[1].starts, 0);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "d"), 0);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "c"), 0);
	/* Slots stay, and are the next ones'. */
	assert_int_equal(monitor_nr_slots, 3);
	assert_int_equal(ask(MANAGEMENT_LIST, ""), 0);
	assert_ptr_equal(strrchr(text(), '\n'), strchr(text(), '\n'));
	/*
	 * The monitor console has a command, perhaps for the VM of a slot that is left: nobody else
	 * gets it before that is done.
	 */
	assert_int_equal(ask(MANAGEMENT_CREATE, "f.conf\nname = f\n" VM), 0);
	monitor_turn = 7;
	assert_int_equal(ask(MANAGEMENT_DESTROY, "f"), 0);
	assert_int_equal(ask(MANAGEMENT_CREATE, "g.conf\nname = g\n" VM), 0);
	assert_true(!monitor_slots[1].config && !strcmp(monitor_slots[2].config->name, "g"));
	monitor_turn = 8;
	assert_int_equal(ask(MANAGEMENT_CREATE, "h.conf\nname = h\n" VM), 0);
	assert_string_equal(monitor_slots[1].config->name, "h");
	assert_int_equal(ask(MANAGEMENT_DESTROY, "g"), 0);
	assert_int_equal(ask(MANAGEMENT_DESTROY, "h"), 0);
	/* One of which something lives on. */
	assert_int_equal(ask(MANAGEMENT_CREATE, "e.conf\nname = e\n" VM), 0);
	assert_int_equal(monitor_nr_slots, 3);
	monitor_slots[1].stays = true;
	assert_int_equal(ask(MANAGEMENT_DESTROY, "e"), EBUSY);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), EBUSY);
	monitor_slots[1].stays = false;
	/*
	 * Not its file: that is the name of whose a function is that did not stop, and would be the
	 * next VM's.
	 */
	pci_holder = monitor_slots[1].config;
	assert_int_equal(ask(MANAGEMENT_DESTROY, "e"), EBUSY);
	assert_non_null(strstr(
		text(),
		"e: a CPU or a function of it has not stopped: where it does not in a minute, it"));
	pci_holder = NULL;
	assert_int_equal(ask(MANAGEMENT_DESTROY, "e"), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), 0);
}

#define WHEN "ended=1700000000"
#define assert_said(what) assert_non_null(strstr(text(), what))

/*
 * How a VM's last run ended, and why there was none, stay with its name, with what the log and it
 * said.
 */
static void test_outcome(void **)
{
	static struct vm_config config = {
		.name = "b",
		.memory = MIB(64),
		.cmdline = "a\tb",
		.nr_disks = 2,
		.disk = { { "d", 0, 3 }, { "", MIB(32), 4 } },
		.nr_nets = 1,
		.net = { { "lan", 0x0605040302, .bridge = true, .mtu = 9000, .pvid = 7 } },
	};
	static const char *const lines[] = { "[   12.345] b: b.conf:7: memory: 64M are not free",
					     "[   12.350] c: other",
					     "[   12.350] b: > b: mine",
					     "bb: not its",
					     "[   12.400] b: not started",
					     NULL };
	static const char *const bad[] = { "margay: bad.conf:2: unknown key 'x'", "margay: no VM",
					   NULL };
	static const char *const crash[] = { "b: vcpu0: cannot emulate 0f 0b\tat 0x10", NULL };
	struct slot *b = &monitor_slots[1], *none = &monitor_slots[2];

	management_begin("create, destroy, boot, console");
	*b = (struct slot){ .file = "b.conf", .config = &config, .state = OVER };
	snprintf(none->file, sizeof(none->file), "bad.conf");
	monitor_nr_slots = 3;
	outcome_forget(b);
	outcome_forget(none);
	ask(MANAGEMENT_LIST, "");
	assert_non_null(strstr(
		text(),
		"memory_and_disks=100663296\tend=\tstatus=0\tended=\tline=0\twhy=\tlast=\n"));
	fake_host.wall_ns = 1700000000000000000;
	fake_host.tsc = 0;
	fake_log = lines;
	stages_slot(b, SLOT_NOT_STARTED, NULL);
	ask(MANAGEMENT_LIST, "");
	assert_said("\tend=not-started\tstatus=0\t" WHEN
		    "\tline=7\twhy=memory: 64M are not free\tlast=\n");
	stages_slot(b, SLOT_NOT_STARTED, "no CPU is free");
	ask(MANAGEMENT_LIST, "");
	assert_non_null(strstr(text(), "\tline=0\twhy=no CPU is free\t"));
	fake_log = bad;
	stages_slot(none, SLOT_NOT_STARTED, NULL);
	ask(MANAGEMENT_SHOW, "bad.conf");
	assert_said("\tend=not-started\tstatus=0\t" WHEN "\tline=2\twhy=unknown key 'x'\tlast=\n");
	/* Of a guest that has ended by itself the log says nothing. */
	fake_log = crash;
	fake_output = "the\tend";
	b->last_end = VM_END_EXIT;
	b->last_status = 3;
	stages_slot(b, SLOT_ENDED, NULL);
	ask(MANAGEMENT_SHOW, "b");
	assert_said("\tend=exit\tstatus=3\t" WHEN "\tline=0\twhy=\tlast=the end\n");
	assert_non_null(strstr(text(), "\ndisk=d\ncmdline=a b\nscratch=33554432\n"));
	assert_non_null(strstr(
		text(),
		"\nsegment=lan\tmac=02:03:04:05:06:00\tbridge=yes\tisolated=no\tmirror=no\tplain=no\t"
		"mtu=9000\tpvid=7\ttrunk=\n"));
	/* What it has said is for who may read its console. */
	management_config.control.may &= ~(unsigned)MAY_CONSOLE;
	ask(MANAGEMENT_SHOW, "b");
	assert_said("\twhy=\tlast=\n");
	ask(MANAGEMENT_LIST, "");
	assert_null(strstr(text(), "the end"));
	management_config.control.may = MAY_CONSOLE;
	ask(MANAGEMENT_LIST, "");
	assert_null(strstr(text(), "the end"));
	b->created = true;
	ask(MANAGEMENT_LIST, "");
	assert_said("\tlast=the end\n");
	b->last_end = VM_END_CRASH;
	fake_output = OUTPUT_LOG_AGAIN;
	stages_slot(b, SLOT_ENDED, NULL);
	ask(MANAGEMENT_SHOW, "b");
	assert_said("\tend=crash\tstatus=3\t" WHEN
		    "\tline=0\twhy=vcpu0: cannot emulate 0f 0b at 0x10\tlast=\n");
	fake_log = NULL;
	fake_output = NULL;
	/* Each kind as often as it has been. */
	b->last_end = VM_END_PANICKED;
	stages_slot(b, SLOT_ENDED, NULL);
	stages_slot(b, SLOT_ENDED, NULL);
	ask(MANAGEMENT_COUNTS, "");
	assert_said("vm=b\tended=not-started\tcount=2\n");
	assert_said("vm=b\tended=panicked\tcount=2\n");
	assert_said("vm=bad.conf\tended=not-started\tcount=1\n");
	outcome_forget(b);
	ask(MANAGEMENT_COUNTS, "");
	assert_null(strstr(text(), "vm=b\t"));
}

#define COUNTED \
	"received=2\treceived_bytes=120\tsent=1\tsent_bytes=60\t" \
	"no_buffer=3\tpaused=4\tmalformed=5\ttoo_large=6\twrong_address=7\twrong_vlan=0\n"
#define UNCOUNTED \
	"received=\treceived_bytes=\tsent=\tsent_bytes=\t" \
	"no_buffer=\tpaused=\tmalformed=\ttoo_large=\twrong_address=\twrong_vlan=\n"

/*
 * Who is on which segment, by the order of their names, VM files and lines; what it has counted, if
 * it runs; and one segment alone.
 */
static void test_net(void **)
{
	static struct vm_config a = {
		.name = "a",
		.nr_nets = 2,
		.net = { { "lan1", 0x02 },
			 { "lan0", 0x0102, .pvid = 10, .nr_trunk = 2,
			   .trunk = { { 20, 29 }, { 40, 40 } } } },
	};
	static struct vm_config b = { .name = "b",
				      .nr_nets = 1,
				      .net = { { "lan0", 0x0202, .mtu = 9000, .pvid = 20 } } };
#define LAN0 \
	"segment=lan0\tvm=a\tnet=1\tstate=running\tmac=02:01:00:00:00:00\tmtu=1500\tpvid=10\t" \
	"trunk=20-29,40\t" UNCOUNTED \
	"segment=lan0\tvm=b\tnet=0\tstate=over\tmac=02:02:00:00:00:00\tmtu=9000\tpvid=20\t" \
	"trunk=\t" UNCOUNTED
#define LAN1 \
	"segment=lan1\tvm=a\tnet=0\tstate=running\tmac=02:00:00:00:00:00\tmtu=1500\tpvid=\ttrunk=\t"

	management_begin("");
	assert_int_equal(ask(MANAGEMENT_NET, ""), 0);
	assert_string_equal(text(), "");
	management_there(false);
	monitor_slots[1].config = &a;
	monitor_slots[2] = (struct slot){ .file = "b.conf", .config = &b, .state = OVER };
	snprintf(monitor_slots[3].file, sizeof(monitor_slots[3].file), "bad.conf");
	monitor_slots[3].config = NULL;
	monitor_nr_slots = 4;
	assert_int_equal(ask(MANAGEMENT_NET, ""), 0);
	assert_string_equal(text(), LAN0 LAN1 COUNTED);
	assert_int_equal(ask(MANAGEMENT_NET, "lan0"), 0);
	assert_string_equal(text(), LAN0);
	assert_int_equal(ask(MANAGEMENT_NET, "lan1"), 0);
	assert_string_equal(text(), LAN1 COUNTED);
	/* From one line on. */
	assert_int_equal(ask(MANAGEMENT_NET, "\nfrom=2"), 0);
	assert_string_equal(text(), LAN1 COUNTED);
	assert_int_equal(ask(MANAGEMENT_NET, "lan1\nfrom=1"), 0);
	assert_string_equal(text(), "");
	/* One that a crash keeps. */
	there.vm.kept = VM_END_PANICKED;
	ask(MANAGEMENT_NET, "lan1");
	assert_said("\tstate=crashed\t");
	there.vm.kept = VM_RUNNING;
	/* None is of a part of its name. */
	assert_int_equal(ask(MANAGEMENT_NET, "lan"), ENOENT);
	assert_string_equal(text(), "lan: there is no such segment");
	assert_int_equal(ask(MANAGEMENT_NET, "lan0\tx"), ENOENT);
	assert_string_equal(text(), "lan0?x: there is no such segment");
}

/* As many VLANs as a file may name, and numbers as large as they get. */
static void test_net_longest(void **)
{
#define MOST "18446744073709551615"
	static struct vm_config a = {
		.name = "a",
		.nr_nets = 1,
		.net = { { "fifteen-letters", 0x02, .mtu = 9000, .pvid = 4094,
			   .nr_trunk = VM_TRUNK_MAX } },
	};
	const struct net_counts was = net_counted;

	management_begin("");
	management_there(false);
	for (unsigned i = 0; i < VM_TRUNK_MAX; i++)
		a.net[0].trunk[i] = (struct vm_config_vlans){ (u16)(4000 + i), 4094 };
	memset(&net_counted, 0xff, sizeof(net_counted));
	monitor_slots[1].config = &a;
	monitor_nr_slots = 2;
	assert_int_equal(ask(MANAGEMENT_NET, ""), 0);
	assert_said("\tpvid=4094\ttrunk=4000-4094,4001-4094,");
	assert_said(",4015-4094\treceived=" MOST "\treceived_bytes=" MOST "\tsent=" MOST);
	assert_said("\twrong_vlan=" MOST "\n");
	net_counted = was;
}

/*
 * What else is counted: of VMs that run, of functions of which something was blocked, of the
 * machine.
 */
static void test_counts(void **)
{
	management_begin("");
	management_there(true);
	fake_host.corrected = 7;
	ask(MANAGEMENT_COUNTS, "");
	assert_string_equal(text(), "corrected=7\tuncorrected=0\nvm=t\tdisk=0\treads=1\n");
	fake_host.iommu = true;
	monitor_slots[1].vm = NULL;
	ask(MANAGEMENT_COUNTS, "");
	assert_string_equal(
		text(),
		"corrected=7\tuncorrected=0\nfunction=0000:02:01.0\tblocked_dma=5\tblocked_interrupts=1\n");
	/* The pages are its lines. */
	ask(MANAGEMENT_COUNTS, "from=1");
	assert_string_equal(text(), "function=0000:02:01.0\tblocked_dma=5\tblocked_interrupts=1\n");
}

/*
 * The text of a VM's file, of the boot's and of one that was made, for as long as that VM is there.
 */
static void test_file_text(void **)
{
	static char large[40000];
	static const char made[] = "name = a\n" VM "# its end";
	static u8 data[1000];
	size_t n = sizeof(struct management_message) + strlen("offset=0\tnext=32512\tsize=40000\n");

	management_begin(ALL);
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	memset(large, '#', sizeof(large));
	fake_host.modules[1] =
		(struct host_module){ "vm:management.conf", "", large, sizeof(large) };
	fake_host.nr_modules = 2;
	assert_int_equal(ask(MANAGEMENT_FILE, "management 0"), 0);
	assert_non_null(strstr(text(), "offset=0\tnext=32512\tsize=40000\n####"));
	assert_int_equal(answer.size, n + 32512);
	assert_int_equal(ask(MANAGEMENT_FILE, "management 39999"), 0);
	assert_string_equal(text(), "offset=39999\tnext=40000\tsize=40000\n#");
	assert_int_equal(ask(MANAGEMENT_FILE, "management 99999"), 0);
	assert_string_equal(text(), "offset=40000\tnext=40000\tsize=40000\n");
	assert_int_equal(ask(MANAGEMENT_FILE, "management"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_FILE, "management 0x"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_FILE, "nobody 0"), ENOENT);
	fake_host.nr_modules = 1;
	assert_int_equal(ask(MANAGEMENT_FILE, "management 0"), ENOENT);
	assert_string_equal(text(), "management: its file is not kept");
	/* It goes with its VM, and its memory, too. */
	assert_int_equal(put(0, "image", data, sizeof(data)), 0);
	for (unsigned i = 0, pages = 0; i < 3; i++) {
		static char file[200];

		snprintf(file, sizeof(file), "a.conf\n%s", made);
		assert_int_equal(ask(MANAGEMENT_CREATE, file), 0);
		assert_int_equal(ask(MANAGEMENT_FILE, "a 0"), 0);
		assert_string_equal(strchr(text(), '\n') + 1, made);
		assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
		assert_int_equal(ask(MANAGEMENT_FILE, "a 0"), ENOENT);
		/* What stays is the slot's, once. */
		assert_true(!i || fake_host.pages_in_use == pages);
		pages = fake_host.pages_in_use;
	}
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), 0);
}

/*
 * One that still starts is as new as it can be; one that begins to run just then is stopped, and so
 * are all others.
 */
static void test_restart(void **)
{
	management_begin("create, destroy, boot");
	monitor_slots[1] = (struct slot){ .file = "b.conf",
					  .config = &(struct vm_config){ .name = "b" },
					  .state = STARTED,
					  .starts = 1,
					  .stopped = true };
	monitor_nr_slots = 2;
	management_starting = 1;
	assert_int_equal(ask(MANAGEMENT_RESTART, "b"), 0);
	assert_true(!monitor_slots[1].stopped && monitor_slots[1].state == STARTED &&
		    monitor_slots[1].starts == 1);
	monitor_slots[1].vm = &management;
	management_starting = 2;
	assert_int_equal(ask(MANAGEMENT_RESTART, "b"), 0);
	assert_int_equal(management_starting, 0);
	/* The stub has stopped it, and leaves the start to who takes it down. */
	assert_int_equal(monitor_slots[1].state, OVER);
	monitor_slots[1].vm = NULL;
	assert_int_equal(ask(MANAGEMENT_RESTART, "b"), 0);
	assert_int_equal(monitor_slots[1].starts, 2);
}

/*
 * A VM's life a thousand times: what the node has of its own, of guests' memory and of modules is
 * as it was.
 */
static void test_thousand(void **)
{
	static u8 data[1000];
	unsigned pages = 0, names = 0;

	management_begin(ALL);
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	assert_int_equal(put(0, "image", data, sizeof(data)), 0);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(ask(MANAGEMENT_CREATE, "a.conf\nname = a\n" VM), 0);
		assert_int_equal(ask(MANAGEMENT_START, "a"), 0);
		assert_int_equal(ask(MANAGEMENT_SHOW, "a"), 0);
		assert_int_equal(ask(MANAGEMENT_STOP, "a"), 0);
		monitor_slots[1].last_end = VM_END_PANICKED;
		stages_slot(&monitor_slots[1], SLOT_ENDED, NULL);
		assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
		if (!i) {
			pages = fake_host.pages_in_use;
			names = modules();
		}
	}
	assert_true(fake_host.pages_in_use == pages && taken() == MIB(2) && monitor_nr_slots == 2);
	assert_true(names == 2 && modules() == names);
	/* Nor is anything of the last one in the next. */
	assert_int_equal(ask(MANAGEMENT_CREATE, "a.conf\nname = a\n" VM), 0);
	ask(MANAGEMENT_LIST, "");
	assert_said("name=a\tstate=over\tcpus=0\tmemory=67108864\tup=0\tstarts=0\t");
	assert_said("\tend=\tstatus=0\tended=\tline=0\twhy=\tlast=\n");
	assert_int_equal(ask(MANAGEMENT_DESTROY, "a"), 0);
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), 0);
}

/*
 * A console is read on from where one has stopped, and from the oldest that is kept where that has
 * gone.
 */
static void test_output(void **)
{
	static u8 ring[8] = "89234567", typed[3 + MANAGEMENT_TYPED] = "b\nx";
	struct output_ring *r = &output_rings[1];

	management_begin("console, boot");
	monitor_slots[1] = (struct slot){ .file = "b.conf",
					  .config = &(struct vm_config){ .name = "b" },
					  .state = OVER };
	monitor_nr_slots = 2;
	assert_int_equal(ask(MANAGEMENT_READ, "b 0"), 0);
	assert_string_equal(text(), "offset=0\tnext=0\n");
	r->data = ring;
	r->size = sizeof(ring);
	r->head = 10;
	assert_int_equal(ask(MANAGEMENT_READ, "b 0"), 0);
	assert_string_equal(text(), "offset=2\tnext=10\n23456789");
	assert_int_equal(ask(MANAGEMENT_READ, "b 7"), 0);
	assert_string_equal(text(), "offset=7\tnext=10\n789");
	assert_int_equal(ask(MANAGEMENT_READ, "b 18446744073709551615"), 0);
	assert_string_equal(text(), "offset=10\tnext=10\n");
	assert_int_equal(ask(MANAGEMENT_READ, "b"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_READ, "b x"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_WRITE, "b\nx"), ENODEV);
	memset(typed + 2, 'x', MANAGEMENT_TYPED);
	assert_int_equal(management_request(0, MANAGEMENT_WRITE, typed, 2 + MANAGEMENT_TYPED),
			 ENODEV);
	assert_int_equal(management_request(0, MANAGEMENT_WRITE, typed, 3 + MANAGEMENT_TYPED),
			 EINVAL);
	r->data = NULL;
	r->size = r->head = 0;
}

/* An answer that is too long says so. */
static void test_long_answer(void **)
{
	management_begin("");
	for (unsigned i = 1; i < MONITOR_MAX_VMS; i++) {
		snprintf(monitor_slots[i].file, sizeof(monitor_slots[i].file), "%060u", i);
		monitor_nr_slots = i + 1;
	}
	assert_int_equal(ask(MANAGEMENT_LIST, ""), 0);
	assert_null(strstr(text(), "truncated"));
	/* Of a log the last lines; of what it makes itself the first. */
	assert_int_equal(ask(MANAGEMENT_LOG, "80"), 0);
	assert_true(strlen(text()) == 80 * 401 && text()[399] == '0');
	assert_int_equal(ask(MANAGEMENT_LOG, "1000"), 0);
	assert_true(!strstr(text(), "truncated") && strlen(text()) == 81 * 401 &&
		    !strcmp(text() + 81 * 401 - 5, "0999\n"));
	assert_int_equal(ask(MANAGEMENT_LOG, "1001"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_LOG, "x"), EINVAL);
}

static void test_memory(void **)
{
	static const char *const nowhere[] = { "t 8192 4096", "t 1327104 4096",
					       "t 18446744073709547520 4096", NULL };
	static const char *const wrong[] = { "t",       "t 0",       "t 1 4096", "t 0 0",
					     "t 0 100", "t 0 4096 ", "t x 4096", NULL };
	u64 *ram;

	management_begin("dump");
	ram = management_there(true);
	assert_int_equal(ask(MANAGEMENT_DUMP, "t"), 0);
	assert_string_equal(text(), "vcpus=2\tpaused=no\tcrashed=no\n"
				    "address=0x0\tsize=0x2000\naddress=0x100000\tsize=0x44000\n");
	there.vm.nr_paused = 2; /* some of them have not left yet */
	assert_int_equal(ask(MANAGEMENT_DUMP, "t"), 0);
	assert_non_null(strstr(text(), "paused=no"));
	there.vm.paused = true;
	there.vm.nr_paused = 1;
	assert_int_equal(ask(MANAGEMENT_DUMP, "t"), 0);
	assert_non_null(strstr(text(), "paused=no"));
	there.vm.nr_paused = 2;
	assert_int_equal(ask(MANAGEMENT_DUMP, "t"), 0);
	assert_non_null(strstr(text(), "paused=yes"));
	/*
	 * Zeros end with a piece of memory, what is asked for, what one request looks at, and
	 * before a page that is not zero.
	 */
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 0 1048576"), 0);
	assert_string_equal(text(), "zeros=8192\tbytes=0\n");
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 4096 1048576"), 0);
	assert_string_equal(text(), "zeros=4096\tbytes=0\n");
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 0 4096"), 0);
	assert_string_equal(text(), "zeros=4096\tbytes=0\n");
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1048576 1048576"), 0);
	assert_string_equal(text(), "zeros=262144\tbytes=0\n");
	ram[2 * 512 + 3 * 512 + 511] = 0x0102030405060708;
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1048576 1048576"), 0);
	assert_string_equal(text(), "zeros=12288\tbytes=0\n");
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1060864 1048576"), 0);
	assert_int_equal(strncmp(text(), "zeros=0\tbytes=28672\n", 20), 0);
	assert_int_equal(answer.size, sizeof(struct management_message) + 20 + 28672);
	assert_memory_equal(answer.data + sizeof(struct management_message) + 20, ram + 5 * 512,
			    28672);
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1060864 4096"), 0);
	assert_int_equal(answer.size, sizeof(struct management_message) + 19 + 4096);
	/* What the machine has lost is not read, and what is before that is. */
	fake_host.lost[0] = (u64)(ram + 6 * 512);
	fake_host.nr_lost = 1;
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1060864 1048576"), 0);
	assert_int_equal(answer.size, sizeof(struct management_message) + 19 + 4096);
	ram[6 * 512] = 1;
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1064960 1048576"), 0);
	assert_string_equal(text(), "zeros=4096\tbytes=0\n");
	fake_host.nr_lost = 0;
	/*
	 * One of which nobody knows yet: before it are zeros, or it is among what is no zeros,
	 * where it is told of as such.
	 */
	lose_memory(ram + 7 * 512);
	memset(ram + 5 * 512, 0, 2 * PAGE_SIZE);
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1060864 1048576"), 0);
	assert_string_equal(text(), "zeros=8192\tbytes=0\n");
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1069056 1048576"), 0);
	assert_string_equal(text(), "zeros=4096\tbytes=0\n");
	ram[6 * 512] = ram[8 * 512] = 1;
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 1064960 12288"), 0);
	assert_int_equal(strncmp(text(), "zeros=0\tbytes=12288\n", 20), 0);
	assert_int_equal(lost_memory_met, 3);
	mend_memory();
	memset(ram + 7 * 512, 0, PAGE_SIZE);
	assert_memory_equal(answer.data + sizeof(struct management_message) + 20, ram + 6 * 512,
			    12288);
	for (const char *const *p = nowhere; *p; p++)
		assert_int_equal(ask(MANAGEMENT_MEMORY, *p), EFAULT);
	for (const char *const *p = wrong; *p; p++)
		assert_int_equal(ask(MANAGEMENT_MEMORY, *p), EINVAL);
	monitor_slots[1].vm = NULL;
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 0 4096"), ENODEV);
	assert_int_equal(ask(MANAGEMENT_DUMP, "t"), ENODEV);
	/* One of the boot is not its. */
	monitor_slots[1].created = false;
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 0 4096"), EPERM);
	assert_int_equal(ask(MANAGEMENT_DUMP, "t"), EPERM);
	assert_int_equal(ask(MANAGEMENT_REGISTERS, "t 0"), EPERM);
	management_begin("create, destroy, console");
	management_there(true);
	assert_int_equal(ask(MANAGEMENT_MEMORY, "t 0 4096"), EPERM);
	assert_int_equal(ask(MANAGEMENT_DUMP, "t"), EPERM);
	assert_int_equal(ask(MANAGEMENT_REGISTERS, "t 0"), EPERM);
}

static void test_registers(void **)
{
	management_begin("dump");
	management_there(true);
	fake_host.tsc_step = 1;
	assert_int_equal(ask(MANAGEMENT_REGISTERS, "t 1"), 0);
	assert_string_equal(
		text(),
		"vcpu=1\tr15=0xaf\tr14=0xae\tr13=0xad\tr12=0xac\trbp=0xa5\trbx=0xa3\tr11=0xab\tr10=0xaa\tr9=0xa9\tr8=0xa8\t"
		"rax=0xa0\trcx=0xa1\trdx=0xa2\trsi=0xa6\trdi=0xa7\trip=0x101\tcs=0x8\trflags=0x2\trsp=0xa4\tss=0x10\t"
		"fs_base=0x200f\tgs_base=0x2010\tds=0x18\tes=0x0\tfs=0x20\tgs=0x28\tcr0=0x2000\tcr2=0x2001\tcr3=0x2002\t"
		"cr4=0x2003\tefer=0x2004\n");
	assert_int_equal(ask(MANAGEMENT_REGISTERS, "t 2"), ENODEV);
	assert_string_equal(text(), "t: vCPU 2 does not run");
	call_error = -EBUSY;
	assert_int_equal(ask(MANAGEMENT_REGISTERS, "t 1"), EBUSY);
	assert_string_equal(text(), "t: vCPU 1 does not answer");
	call_error = 0;
	/* One that was asked before is not who is asked now. */
	fake_host.tsc_step = fake_host.tsc_khz * 100;
	call_late = true;
	assert_int_equal(ask(MANAGEMENT_REGISTERS, "t 1"), EIO);
	assert_int_equal(ask(MANAGEMENT_REGISTERS, "t"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_REGISTERS, "t x"), EINVAL);
}

/* What a VM is that its crash has left as it was (tests/unit/test_vm_end.c). */
static void test_kept(void **)
{
	management_begin("dump, destroy, create");
	management_there(true);
	there.vm.kept = VM_END_CRASH;
	assert_true(vm_paused(&there.vm));
	assert_int_equal(ask(MANAGEMENT_RESUME, "t"), EPERM);
	assert_int_equal(ask(MANAGEMENT_SHOW, "t"), 0);
	assert_non_null(strstr(text(), "\tstate=crashed\t"));
}

/*
 * The pages of an answer are its lines, each once and in order, whatever is counted for the first
 * time between them.
 */
static void test_pages(void **)
{
	static struct vcpu vcpus[200];
	struct vcpu *pointers[ARRAY_SIZE(vcpus)];
	struct vm vm = { .vcpus = pointers, .nr_vcpus = ARRAY_SIZE(vcpus) };
	static bool seen[ARRAY_SIZE(vcpus)][VMEXITS];
	char request[40] = "management";
	unsigned pages = 0, lines = 0, injected = 0;

	management_begin("");
	for (unsigned i = 0; i < ARRAY_SIZE(vcpus); i++) {
		pointers[i] = &vcpus[i];
		vcpus[i].stats.injected = i;
		for (unsigned r = 0; r < VMEXITS; r++)
			vcpus[i].stats.exit[r].count = r % 8 == 3 ? 0 : 1000 * r + 1;
	}
	management_held = &vm;
	for (const char *cut = ""; cut; pages++) {
		assert_int_equal(ask(MANAGEMENT_STATS, request), 0);
		cut = strstr(text(), "truncated=yes\tfrom=");
		for (const char *p = text(); *p && p != cut; p = strchr(p, '\n') + 1, lines++) {
			unsigned vcpu;
			u64 count;

			if (sscanf(p, "vcpu=%u\texit=\tcount=%lu\n", &vcpu, &count) == 2) {
				assert_true(vcpu < ARRAY_SIZE(vcpus) && count % 1000 == 1 &&
					    count / 1000 < VMEXITS);
				assert_false(seen[vcpu][count / 1000]);
				seen[vcpu][count / 1000] = true;
			} else {
				assert_int_equal(
					sscanf(p, "vcpu=%u\tinjected=%lu\n", &vcpu, &count), 2);
				assert_int_equal(vcpu, injected++);
			}
		}
		if (cut)
			snprintf(request, sizeof(request), "management\n%.*s",
				 (int)strcspn(cut + 14, "\n"), cut + 14);
		/* A line appears among those that have been said. */
		vcpus[0].stats.exit[3].count = 3001;
	}
	assert_true(pages > 1);
	assert_int_equal(injected, ARRAY_SIZE(vcpus));
	for (unsigned i = 0; i < ARRAY_SIZE(vcpus); i++)
		for (unsigned r = 0; r < VMEXITS; r++)
			assert_int_equal(seen[i][r], r % 8 != 3);
	management_held = NULL;
	/* What is no number, and a request that has none of it. */
	assert_int_equal(ask(MANAGEMENT_LIST, "from=x"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_LIST, "from=4294967296"), EINVAL);
	assert_int_equal(ask(MANAGEMENT_LIST, "from=1"), 0);
	assert_string_equal(text(), "");
	assert_int_equal(ask(MANAGEMENT_LIST, "from=0"), 0);
	assert_non_null(strstr(text(), "name=management\t"));
	assert_int_equal(ask(MANAGEMENT_LOG, "from=1"), EINVAL);
}

/* Only an image's data go to their place at once: as many as are still to come. */
static void test_place(void **)
{
	struct management_message m = { MANAGEMENT_MAGIC, MANAGEMENT_VERSION, MANAGEMENT_DATA, 1,
					10 };
	u8 data[10] = "abcdefghi", *to;
	char line[100], hex[65];

	management_begin(ALL);
	assert_null(management_place(1, &m, sizeof(m) + 10));
	hex_of(data, sizeof(data), hex);
	snprintf(line, sizeof(line), "image 10 %s", hex);
	assert_int_equal(management_request(1, MANAGEMENT_IMAGE, line, (u32)strlen(line)), 0);
	to = management_place(1, &m, sizeof(m) + 10);
	assert_non_null(to);
	assert_null(management_place(0, &m, sizeof(m) + 10));
	assert_null(management_place(1, &m, sizeof(m) + 9));
	/* More than it says: it would be written behind its place. */
	assert_null(management_place(1, &m, sizeof(m) + 11));
	m.what = MANAGEMENT_LIST;
	assert_null(management_place(1, &m, sizeof(m) + 10));
	m.what = MANAGEMENT_DATA;
	m.version++;
	assert_null(management_place(1, &m, sizeof(m) + 10));
	m.version--;
	m.magic++;
	assert_null(management_place(1, &m, sizeof(m) + 10));
	m.magic--;
	m.size = 11;
	assert_null(management_place(1, &m, sizeof(m) + 11));
	assert_int_equal(management_request(1, MANAGEMENT_DATA, data, 4), 0);
	m.size = 6;
	assert_ptr_equal(management_place(1, &m, sizeof(m) + 6), to + 4);
	assert_int_equal(management_request(1, MANAGEMENT_DATA, data + 4, 6), 0);
	assert_null(management_place(1, &m, sizeof(m) + 6));
	assert_int_equal(management_request(1, MANAGEMENT_IMAGE_END, "", 0), 0);
	assert_memory_equal(to, data, sizeof(data));
	assert_int_equal(ask(MANAGEMENT_IMAGE_REMOVE, "image"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),    cmocka_unit_test(test_rights),
		cmocka_unit_test(test_press),       cmocka_unit_test(test_nmi),
		cmocka_unit_test(test_images),      cmocka_unit_test(test_room),
		cmocka_unit_test(test_files),       cmocka_unit_test(test_output),
		cmocka_unit_test(test_long_answer), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_registers),   cmocka_unit_test(test_kept),
		cmocka_unit_test(test_pages),       cmocka_unit_test(test_restart),
		cmocka_unit_test(test_outcome),     cmocka_unit_test(test_file_text),
		cmocka_unit_test(test_replace),     cmocka_unit_test(test_counts),
		cmocka_unit_test(test_thousand),    cmocka_unit_test(test_place),
		cmocka_unit_test(test_net),         cmocka_unit_test(test_net_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
