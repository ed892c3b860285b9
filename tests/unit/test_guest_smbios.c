/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/test_guest_smbios.sources */
/* A VM's SMBIOS tables, with those of a node and without, read by the standard. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/fake_vm.h"
#include "tests/unit/smbios_table.h"
#include "vmm/acpi/acpi_build.h"
#include "vmm/memory/guest_mem.h"
#include "vmm/guest_platform.h"
#include "vmm/vm_parts.h"

#define NO_STRINGS "\0\0"

/*
 * A node with two sockets of which the first is empty, two slots likewise, and memory of its
 * graphics first.
 */
#define NODE_UUID "\x33\x22\x11\x00\x55\x44\x77\x66" UUID_END
#define UUID_END "\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
static const char node_table[] =
	"\x00\x1a\x01\0"
	"\x01\x02\0\xf0\x03\xff"
	"\x80\x98\x8b\x3f\1\0\0\0"
	"\3\x0d\5\x12\xff\xff\x20\0"
	"FIRM\0F1.2\0"
	"01/02/2020\0"
	"\0"
	"\x01\x1b\x02\0"
	"\x01\x02\x03\x04" NODE_UUID "\x06\x05\x06"
	"MAKER\0MODEL\0VERSION\0SERIAL\0SKU\0FAMILY\0"
	"\0"
	"\x02\x13\x03\0"
	"\x01\x02\0\x03\x04\x09\0\x77\x77\x0a\2\x11\x11\x12\x12"
	"BOARDMAKER\0BOARD\0BOARDSERIAL\0BOARDTAG\0"
	"\0"
	"\x03\x1c\x04\0"
	"\x01\x17\0\x02\x03\3\3\3\3\0\0\0\0\2\1\2\3\x20\0\1\x21\0\1\0"
	"CHASSISMAKER\0CHASSISSERIAL\0CHASSISTAG\0"
	"\0"
	"\x04\x30\x05\0"
	"\x01\x03\xb3\0"
	"\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0"
	"\0\x02\1\1\1\1\1\1"
	"\0\0\0\0\0\0\0\0\xb3\0\0\0\0\0\0\0"
	"SOCKETA\0"
	"\0"
	"\x04\x30\x06\0"
	"\x01\x03\xb3\x02"
	"12345678"
	"\x03\x8c\x64\0\xa0\x0f\x34\x0c"
	"\x41\x3c\1\1\1\1\1\1"
	"\x04\0\x05\x40\x40\x80\xfc\0\xb3\0\x40\0\x40\0\x80\0"
	"SOCKETB\0CPUMAKER\0CPUNAME\0CPUSERIAL\0CPUPART\0"
	"\0"
	"\x10\x0f\x07\0"
	"\x03\x04\x03\0\0\0\1\xfe\xff\1\0" NO_STRINGS "\x10\x0f\x08\0"
	"\x03\x03\x06\0\0\0\1\xfe\xff\2\0" NO_STRINGS "\x11\x28\x09\0"
	"\x08\0\xfe\xff\xff\xff\xff\xff"
	"\0\0\x09\0\1\2\2\0\0\0\0\3\0\0\0\0"
	"\0\0\0\0\0\0\0\0\0\0\0\0"
	"DIMM0\0BANK0\0NO DIMM\0"
	"\0"
	"\x11\x54\x0a\0"
	"\x08\0\xfe\xff\x48\0\x40\0"
	"\0\x40\x09\0\1\2\x1a\x80\x20\x80\x0c\3\4\5\6\2"
	"\0\0\0\0\x80\x0c\xb0\4\xb0\4\xb0\4"
	"\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	"DIMM1\0BANK1\0DIMMMAKER\0DIMMSERIAL\0DIMMTAG\0DIMMPART\0"
	"\0"
	"\x13\x0f\x0b\0"
	"\0\0\0\0\xff\xff\xff\0\x08\0\1" NO_STRINGS "\x7f\x04\x0c\0" NO_STRINGS;
#define NODE_SIZE (sizeof(node_table) - 1)

/* By uuid.uuid5() of Python: of NODE_UUID and "vm0", of that and others, of 16 zeros and "vm0". */
#define UUID_VM0 "71dca33c-deb4-5178-847d-ef1aa9dc308e"
#define UUID_OTHER "20118c4a-ba5a-534a-84c1-4b8f3e878517"
#define LONGEST "a-name-of-thirty-one-characters"
#define UUID_LONGEST "9ce5e4d4-5eb6-5d7c-8506-1a61ebde7569"
#define UUID_NO_NODE "bf5f4f26-d870-58d2-8c1d-d57fb300f782"

static const u8 *base, *stop; /* the structures */
static const struct acpi_guest_cpu cpus[] = {
	{ 0, 0, NULL }, { 1, 0, NULL }, { 2, 0, NULL }, { 16, 1, NULL }, { 18, 1, NULL }
};
static const struct acpi_guest_memory memory[] = {
	{ 0, 0xa0000, 0 },        { MIB(1), MIB(2047), 0 }, { GIB(4), GIB(40), 1 },
	{ GIB(4095), GIB(1), 1 }, { GIB(4096), GIB(1), 1 },
};
static struct acpi_guest in;
static struct vm *vm;
static struct vm_config config;

/* The n-th structure of a type. */
static const u8 *get(u8 type, unsigned n)
{
	for (const u8 *p = base; p < stop; p = smbios_after(p, stop))
		if (p[0] == type && !n--)
			return p;
	fail_msg("no structure of type %u", type);
	return NULL;
}

static const char *say(u8 type, unsigned n, unsigned at)
{
	const u8 *p = get(type, n);
	const char *s = smbios_text(p, p[at]);

	return s ? s : "BAD INDEX";
}

/* Whether these bytes are anywhere in the first MiB. */
static bool leaks(const char *text)
{
	return memmem(guest_ptr(vm, gpa(0), MIB(1)), MIB(1), text, strlen(text));
}

static void check_uuid(const char *expected)
{
	const u8 *u = get(1, 0) + 8;
	char s[37];

	snprintf(s, sizeof(s),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[3], u[2],
		 u[1], u[0], u[5], u[4], u[7], u[6], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
		 u[15]);
	assert_string_equal(s, expected);
}

/* Builds the tables behind some bytes of ACPI tables; what was there before is garbage. */
static void build(const void *table, size_t size)
{
	u64 address;
	u32 length;
	u8 *area = guest_ptr(vm, gpa(GUEST_ACPI_BASE), GUEST_ACPI_SIZE);
	unsigned nr = 0;

	fake_host.smbios = size ? table : NULL;
	fake_host.smbios_size = (u32)size;
	memset(area, 0xee, GUEST_ACPI_SIZE);
	assert_int_equal(guest_smbios_build(vm, &in, 1001), 0);
	assert_int_equal(area[1000], 0xee);
	assert_true(smbios_entry_says(guest_ptr(vm, gpa(0xf0040), 24), &address, &length));
	assert_int_equal(address, GUEST_ACPI_BASE + 1008);
	base = guest_ptr(vm, gpa(address), length);
	stop = base + length;
	for (const u8 *p = base; p < stop; p = smbios_after(p, stop), nr++) {
		assert_non_null(smbios_after(p, stop));
		/* A handle is nobody else's. */
		for (const u8 *q = base; q < p; q = smbios_after(q, stop))
			assert_memory_not_equal(p + 2, q + 2, 2);
		assert_true((p[0] == 127) == (smbios_after(p, stop) == stop));
	}
}

static void check_types(const char *expected)
{
	char s[80] = "";

	for (const u8 *p = base; p < stop; p = smbios_after(p, stop))
		snprintf(s + strlen(s), sizeof(s) - strlen(s), " %u", p[0]);
	assert_string_equal(s + 1, expected);
}

static unsigned package_bits;

static void cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	static const char name[48] = "A CPU of the tests";

	if (leaf == 0)
		out->eax = 0xb;
	else if (leaf == 1)
		*out = (struct cpuid_regs){ .eax = 0x306f2, .edx = 0xbfebfbff };
	else if (leaf == 0xb && subleaf < 2)
		*out = (struct cpuid_regs){ .eax = subleaf ? package_bits : 1,
					    .ebx = subleaf ? 8 : 2,
					    .ecx = subleaf ? 0x201 : 0x100 };
	else if (leaf >= 0x80000002 && leaf <= 0x80000004)
		memcpy(out, name + (leaf - 0x80000002) * 16, 16);
}

static int setup(void **)
{
	fake_host_reset();
	fake_host.cpuid = cpuid;
	package_bits = 4;
	fake_host.tsc_khz = 2500999;
	vm = fake_vm_create(MIB(32));
	config = (struct vm_config){ .file = "vm0.conf" };
	vm->config = &config;
	in = (struct acpi_guest){ .cpus = cpus,
				  .nr_cpus = ARRAY_SIZE(cpus),
				  .memory = memory,
				  .nr_memory = ARRAY_SIZE(memory),
				  .nr_nodes = 2 };
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

/* What is the guest's own, whoever's the rest is. */
static void check_counts(void)
{
	static const u8 cores[] = { 2, 2 }, threads[] = { 3, 2 };
	static const u64 sizes[] = { 2048, 43008 };

	for (unsigned i = 0; i < 2; i++) {
		const u8 *p = get(4, i);

		assert_int_equal(p[0x18] & 0x47, 0x41);
		assert_int_equal(smbios_le(p + 0x1a, 6), 0xffffffffffff);
		assert_int_equal(p[0x20] | p[0x21], 0); /* serial number and tag are none's */
		assert_int_equal(p[0x23], cores[i]);
		assert_int_equal(p[0x24], cores[i]);
		assert_int_equal(p[0x25], threads[i]);
		assert_int_equal(smbios_le(p + 0x2a, 2), cores[i]);
		assert_int_equal(smbios_le(p + 0x2c, 2), cores[i]);
		assert_int_equal(smbios_le(p + 0x2e, 2), threads[i]);
		assert_string_equal(say(4, i, 4), i ? "CPU 1" : "CPU 0");
		p = get(17, i);
		assert_memory_equal(p + 4, get(16, 0) + 2, 2);
		assert_int_equal(smbios_le(p + 6, 2), 0xfffe);
		assert_int_equal(smbios_le(p + 0xc, 2), i ? 0x7fff : sizes[i]);
		assert_int_equal(smbios_le(p + 0x1c, 4), sizes[i]);
		assert_int_equal(p[0xf] | p[0x11] | p[0x18] | p[0x19], 0);
		assert_string_equal(say(17, i, 0x10), i ? "RAM 1" : "RAM 0");
	}
	assert_int_equal(smbios_le(get(16, 0) + 7, 4), GIB(44) >> 10);
	assert_int_equal(smbios_le(get(16, 0) + 0xb, 2), 0xfffe);
	assert_int_equal(smbios_le(get(16, 0) + 0xd, 2), 2);
	assert_int_equal(smbios_le(get(16, 0) + 0xf, 8), GIB(44));
	assert_int_equal(get(16, 0)[5], 3);
	for (unsigned i = 0; i < ARRAY_SIZE(memory); i++) {
		const u8 *p = get(19, i);

		assert_int_equal(smbios_le(p + 4, 4), i == 4 ? ~0u : memory[i].base >> 10);
		assert_int_equal(smbios_le(p + 8, 4),
				 i == 4 ? ~0u : (memory[i].base + memory[i].size - 1) >> 10);
		assert_memory_equal(p + 0xc, get(16, 0) + 2, 2);
		assert_int_equal(smbios_le(p + 0xf, 8), memory[i].base);
		assert_int_equal(smbios_le(p + 0x17, 8), memory[i].base + memory[i].size - 1);
	}
	assert_int_equal(get(32, 0)[0xa], 0);
	assert_true(get(0, 0)[0x13] & 0x10); /* a virtual machine */
	assert_int_equal(smbios_le(get(3, 0) + 0x13, 2), 0); /* no contained elements */
}

static void test_own(void **)
{
	static const char *const secret[] = { "SERIAL", "MAKER", "MODEL",   "TAG",   "FIRM",
					      "SOCKET", "DIMM",  "CPUNAME", UUID_END };

	build(node_table, NODE_SIZE);
	check_types("0 1 3 4 4 16 17 17 19 19 19 19 19 32 127");
	check_counts();
	check_uuid(UUID_VM0);
	for (unsigned i = 0; i < ARRAY_SIZE(secret); i++)
		assert_false(leaks(secret[i]));
	assert_string_equal(say(0, 0, 4), "Margay");
	assert_string_equal(say(1, 0, 4), "Margay");
	assert_string_equal(say(1, 0, 5), "VM");
	assert_string_equal(say(1, 0, 7), "");
	assert_string_equal(say(3, 0, 4), "Margay");
	assert_string_equal(say(3, 0, 7), "");
	assert_string_equal(say(4, 1, 0x10), "A CPU of the tests");
	assert_int_equal(smbios_le(get(4, 0) + 8, 8), 0xbfebfbff000306f2);
	assert_int_equal(smbios_le(get(4, 0) + 0x14, 4), 2500 << 16 | 2500);
	assert_int_equal(get(17, 0)[0x12], 7); /* RAM */
	assert_string_equal(fake_host.log, "");
}

static void test_node(void **)
{
	config.dmi_node = true;
	build(node_table, NODE_SIZE);
	check_types("0 1 2 3 4 4 16 17 17 19 19 19 19 19 32 127");
	check_counts();
	check_uuid(UUID_VM0);
	assert_false(leaks(UUID_END));
	assert_string_equal(say(0, 0, 4), "FIRM");
	assert_string_equal(say(0, 0, 5), "F1.2");
	assert_string_equal(say(0, 0, 8), "01/02/2020");
	assert_string_equal(say(1, 0, 4), "MAKER");
	assert_string_equal(say(1, 0, 5), "MODEL");
	assert_string_equal(say(1, 0, 6), "VERSION");
	assert_string_equal(say(1, 0, 7), "SERIAL");
	assert_string_equal(say(1, 0, 0x19), "SKU");
	assert_string_equal(say(1, 0, 0x1a), "FAMILY");
	assert_string_equal(say(2, 0, 4), "BOARDMAKER");
	assert_string_equal(say(2, 0, 7), "BOARDSERIAL");
	assert_string_equal(say(2, 0, 8), "BOARDTAG");
	assert_memory_equal(get(2, 0) + 0xb, get(3, 0) + 2, 2);
	assert_int_equal(get(2, 0)[0xe], 0); /* contains no objects */
	assert_string_equal(say(3, 0, 4), "CHASSISMAKER");
	assert_string_equal(say(3, 0, 7), "CHASSISSERIAL");
	assert_string_equal(say(3, 0, 8), "CHASSISTAG");
	assert_int_equal(get(3, 0)[5], 0x17);
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(say(4, i, 7), "CPUMAKER");
		assert_string_equal(say(4, i, 0x10), "CPUNAME");
		assert_string_equal(say(4, i, 0x22), "CPUPART");
		assert_memory_equal(get(4, i) + 8, "12345678", 8);
		assert_int_equal(smbios_le(get(4, i) + 0x14, 4), 0x0c340fa0);
		assert_int_equal(smbios_le(get(4, i) + 0x26, 2), 0xfc);
		assert_string_equal(say(17, i, 0x17), "DIMMMAKER");
		assert_string_equal(say(17, i, 0x1a), "DIMMPART");
		assert_int_equal(get(17, i)[0x12], 0x1a);
		assert_int_equal(smbios_le(get(17, i) + 8, 4), 0x00400048);
		assert_int_equal(smbios_le(get(17, i) + 0x15, 2), 3200);
	}
	assert_int_equal(get(16, 0)[6], 6); /* of the memory of the system, not of its graphics */
}

/* Of the node and of the name, and of nothing else. */
static void test_uuid(void **)
{
	config.dmi_node = true;
	config.flat = true;
	build(node_table, NODE_SIZE);
	check_uuid(UUID_VM0);
	strcpy(vm->name, "other");
	build(node_table, NODE_SIZE);
	check_uuid(UUID_OTHER);
	strcpy(vm->name, LONGEST);
	build(node_table, NODE_SIZE);
	check_uuid(UUID_LONGEST);
}

#define LONG_63 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

/* What its file says: a serial number that cloud-init knows, systemd's credentials. */
static void test_meta(void **)
{
	strcpy(config.meta, "a=b\nio.systemd.credential:x=y z\npublic-keys=k\n"
			    "io.systemd.credential.binary:q=eA==\n");
	build(node_table, NODE_SIZE);
	check_types("0 1 3 4 4 11 16 17 17 19 19 19 19 19 32 127");
	check_counts();
	check_uuid(UUID_VM0);
	assert_string_equal(say(1, 0, 4), "Margay");
	assert_string_equal(say(1, 0, 7), "ds=nocloud;dsmode=net;h=vm0;i=vm0");
	assert_int_equal(get(11, 0)[1], 5);
	assert_int_equal(get(11, 0)[4], 2);
	assert_string_equal(smbios_text(get(11, 0), 1), "io.systemd.credential:x=y z");
	assert_string_equal(smbios_text(get(11, 0), 2), "io.systemd.credential.binary:q=eA==");
	/* Without credentials no strings; a node's serial number stays. */
	strcpy(config.meta, "instance-id=i\nlocal-hostname=h\ndsmode=local\n");
	build(node_table, NODE_SIZE);
	check_types("0 1 3 4 4 16 17 17 19 19 19 19 19 32 127");
	assert_string_equal(say(1, 0, 7), "ds=nocloud;dsmode=local;h=h;i=i");
	config.dmi_node = true;
	build(node_table, NODE_SIZE);
	assert_string_equal(say(1, 0, 7), "SERIAL");
	/* Three of the longest names. */
	config.dmi_node = false;
	strcpy(config.meta,
	       "instance-id=" LONG_63 "\nlocal-hostname=" LONG_63 "\ndsmode=" LONG_63 "\n");
	build(node_table, NODE_SIZE);
	assert_string_equal(say(1, 0, 7), "ds=nocloud;dsmode=" LONG_63 ";h=" LONG_63 ";i=" LONG_63);
}

/* As long as they may be; where there is no room for them none are written. */
static void test_meta_long(void **)
{
	int n = snprintf(config.meta, sizeof(config.meta), "io.systemd.credential:x=");

	memset(config.meta + n, 'y', sizeof(config.meta) - (size_t)n - 2);
	config.meta[sizeof(config.meta) - 2] = '\n';
	build(node_table, NODE_SIZE);
	assert_int_equal(strlen(smbios_text(get(11, 0), 1)), VM_META_MAX - 1);
	assert_int_equal(guest_smbios_build(vm, &in, GUEST_ACPI_SIZE - KIB(10)), -ENOSPC);
	for (size_t used = GUEST_ACPI_SIZE - KIB(14); used <= GUEST_ACPI_SIZE; used++)
		(void)guest_smbios_build(vm, &in, used);
}

static void test_no_node(void **)
{
	build(NULL, 0);
	check_uuid(UUID_NO_NODE);
	assert_string_equal(fake_host.log, "");
	config.dmi_node = true;
	build(NULL, 0);
	check_types("0 1 3 4 4 16 17 17 19 19 19 19 19 32 127");
	check_counts();
	assert_string_equal(fake_host.log, "vm0: dmi = node: this node has no SMBIOS tables\n");
}

static void test_flat(void **)
{
	config.flat = true;
	build(NULL, 0);
	check_types("0 1 3 4 16 17 17 19 19 19 19 19 32 127");
	assert_int_equal(get(4, 0)[0x23], 5);
	assert_int_equal(get(4, 0)[0x25], 5);
}

static void test_large(void **)
{
	static const struct acpi_guest_memory large[] = { { 0, GIB(2047), 0 },
							  { GIB(4096), GIB(2), 1 } };

	in.memory = large;
	for (in.nr_memory = 1; in.nr_memory <= 2; in.nr_memory++) {
		build(NULL, 0);
		assert_int_equal(smbios_le(get(16, 0) + 7, 4),
				 in.nr_memory == 1 ? GIB(2047) >> 10 : 0x80000000);
		assert_int_equal(smbios_le(get(16, 0) + 0xf, 8),
				 in.nr_memory == 1 ? GIB(2047) : GIB(2049));
	}
}

/* A CPU without a name. */
static void test_nameless(void **)
{
	fake_host.cpuid = NULL;
	build(NULL, 0);
	assert_int_equal(get(4, 0)[0x10], 0);
}

/*
 * Structures of a node that are not to be copied: too short, too long, without strings where they
 * are named.
 */
static void test_odd(void **)
{
	char table[600] = "\x01\x07\x01\0"
			  "\1\1\1"
			  "SHORT\0"
			  "\0"
			  "\x03\x15\x02\0"
			  "\1\1\0\2\3\3\3\3\2\0\0\0\0\0\0\0\0";
	size_t n = 14 + 21;

	config.dmi_node = true;
	memset(table + n, 'x', 256 - 21);
	build(table, n + 256 - 21 + 2);
	assert_string_equal(say(1, 0, 4), "Margay");
	assert_int_equal(strlen(say(3, 0, 4)), 256 - 21);
	memset(table + n, 'x', 257 - 21);
	build(table, n + 257 - 21 + 2);
	assert_string_equal(say(3, 0, 4), "Margay");
	/* Of SMBIOS 2.1: what is behind its end are its strings. */
	build("\x01\x19\x01\0"
	      "\0\1\0\0" NODE_UUID "\6"
	      "AB\0"
	      "\0"
	      "\x7f\x04\2\0" NO_STRINGS,
	      35);
	assert_string_equal(say(1, 0, 4), "");
	assert_string_equal(say(1, 0, 5), "AB");
	assert_int_equal(get(1, 0)[0x19] | get(1, 0)[0x1a], 0);
	check_uuid(UUID_VM0);
	/* A UUID that is not whole is none. */
	build("\x01\x17\x01\0"
	      "\0\0\0\0" NODE_UUID NO_STRINGS,
	      26);
	check_uuid(UUID_NO_NODE);
}

static void test_full(void **)
{
	static const struct acpi_guest_cpu many[64];

	assert_int_equal(guest_smbios_build(vm, &in, GUEST_ACPI_SIZE - KIB(4)), -ENOSPC);
	for (size_t used = GUEST_ACPI_SIZE - KIB(9); used <= GUEST_ACPI_SIZE; used++)
		(void)guest_smbios_build(vm, &in, used);
	in.cpus = many;
	in.nr_cpus = ARRAY_SIZE(many);
	build(node_table, NODE_SIZE);
}

/* As many CPUs as a VM may have, behind an MADT and an SRAT of so many. */
static void test_4096_cpus(void **)
{
	static struct acpi_guest_cpu many[4096];

	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i].apic_id = i;
	package_bits = 9;
	in.cpus = many;
	in.nr_cpus = ARRAY_SIZE(many);
	assert_int_equal(guest_smbios_build(vm, &in, KIB(160)), 0);
	build(NULL, 0);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(get(4, i)[0x23] & get(4, i)[0x24] & get(4, i)[0x25], 255);
		assert_int_equal(smbios_le(get(4, i) + 0x2a, 2), 256);
		assert_int_equal(smbios_le(get(4, i) + 0x2c, 2), 256);
		assert_int_equal(smbios_le(get(4, i) + 0x2e, 2), 512);
	}
}

/*
 * Each byte of the node's table in turn is another, and it ends anywhere: what the guest has is
 * whole.
 */
static void test_broken(void **)
{
	static const u8 values[] = { 0, 1, 0x7f, 0xff };
	char table[NODE_SIZE];

	config.dmi_node = true;
	for (size_t at = 0; at < NODE_SIZE; at++) {
		memcpy(table, node_table, NODE_SIZE);
		build(table, at);
		for (unsigned v = 0; v < ARRAY_SIZE(values); v++) {
			table[at] = (char)values[v];
			build(table, NODE_SIZE);
		}
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_own),       CASE(test_node),      CASE(test_uuid),   CASE(test_no_node),
		CASE(test_flat),      CASE(test_nameless),  CASE(test_large),  CASE(test_odd),
		CASE(test_full),      CASE(test_4096_cpus), CASE(test_broken), CASE(test_meta),
		CASE(test_meta_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
