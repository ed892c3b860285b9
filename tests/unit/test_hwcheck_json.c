/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/report/hwcheck_json.c vmm/report/hwcheck_encode.c */
/*
 * The hardware check's block for machines, of a node that is a few variables; its checksum by a
 * second way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_say.h"

#include <margay/errno.h>
#include <margay/host.h>

#include "vmm/report/hwcheck_dump.h"

static struct {
	/* brand NULL: CPUID has none */
	const char *vendor;
	const char *brand;

	int no_msr;
	u64 msr;
	unsigned nodes;
	unsigned functions;
	u32 class_code;
	u32 serial_low;
	u32 serial_high;
	bool has_serial;
} machine;

static char names[400];
static unsigned drains, msr_written, before_cpuid_1;

void host_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

void host_console_drain(void)
{
	drains++;
}

void host_cpuid(u32 leaf, u32, struct cpuid_regs *out)
{
	char text[48] = "";

	*out = (struct cpuid_regs){ 0 };
	if (leaf == 0) {
		memcpy(&out->ebx, machine.vendor, 4);
	} else if (leaf == 1) {
		out->eax = 0x906ea;
		before_cpuid_1 = msr_written;
	} else if (leaf == 0x80000000) {
		out->eax = machine.brand ? 0x80000004 : 0x80000003;
	} else {
		assert_in_range(leaf, 0x80000002, 0x80000004);
		memcpy(text, machine.brand, MIN(strlen(machine.brand), sizeof(text)));
		memcpy(out, text + 16 * (leaf - 0x80000002), 16);
	}
}

int host_rdmsr(u32 msr, u64 *value)
{
	assert_int_equal(msr, 0x8b);
	if (!machine.no_msr)
		*value = machine.msr;
	return machine.no_msr;
}

int host_wrmsr(u32 msr, u64 value)
{
	assert_int_equal(msr, 0x8b);
	assert_int_equal(value, 0);
	msr_written++;
	return 0;
}

const char *host_version(void)
{
	return "0.2-test";
}

const char *host_image(void)
{
	return "default +VIRTIO";
}

unsigned host_cpu_count(void)
{
	return 8;
}

u64 host_tsc_khz(void)
{
	return 2250000;
}

unsigned host_node_count(void)
{
	return machine.nodes;
}

u64 host_node_memory(unsigned node)
{
	return MIB(100) * (node + 1);
}

bool host_pci_info(unsigned i, struct pci_info *out)
{
	*out = (struct pci_info){
		.address = { 0, 1, (u8)(i << 3) },
		.id = { .vendor = 0x8086, .device = 0x10d3, .class_code = machine.class_code },
		.has_node = i == 1,
		.node = 7
	};
	return i < machine.functions;
}

unsigned host_pci_caps(unsigned, struct pci_cap *cap, unsigned max)
{
	assert_true(max >= 3);
	cap[0] = (struct pci_cap){ 3, false, 0x40 };
	cap[1] = (struct pci_cap){ 1, true, 0x100 };
	cap[2] = (struct pci_cap){ 3, true, 0x140 };
	return machine.has_serial ? 3 : 2;
}

u32 host_pci_read(unsigned, u16 offset, unsigned size)
{
	assert_int_equal(size, 4);
	assert_true(offset == 0x144 || offset == 0x148);
	return offset == 0x144 ? machine.serial_low : machine.serial_high;
}

static int setup(void **)
{
	memset(&machine, 0, sizeof(machine));
	machine.vendor = "Genu";
	machine.brand = "A CPU @ 2 GHz";
	machine.msr = 0xde00000000;
	machine.nodes = 1;
	machine.class_code = 0x20000;
	drains = msr_written = 0;
	return 0;
}

/* The block's texts, joined, once its frame has been looked at. */
static const char *block(void)
{
	static char text[8192];
	char want[20];
	u32 crc = ~0u;
	char *line;

	said[0] = text[0] = 0;
	hwcheck_json(true);
	assert_memory_equal(said, "json: begin\n", 12);
	for (line = said + 12; strncmp(line, "json: end ", 10) != 0;
	     line = strchr(line, '\n') + 1) {
		assert_memory_equal(line, "json: ", 6);
		strncat(text, line + 6, (size_t)(strchr(line, '\n') - line) - 6);
	}
	/* CRC-32 by its polynomial, the highest bit first, over mirrored bytes. */
	for (const char *p = text; *p; p++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bool out = (crc >> 31) ^ ((u8)*p >> bit & 1);

			crc = crc << 1 ^ (out ? 0x04c11db7 : 0);
		}
	crc = ~crc;
	{
		u32 mirrored = 0;

		for (unsigned i = 0; i < 32; i++)
			mirrored |= (crc >> i & 1) << (31 - i);
		snprintf(want, sizeof(want), "json: end %08x\n", mirrored);
	}
	assert_string_equal(line, want);
	return text;
}

/* Before the tests with what is missing: names are kept for good. */
static void test_plain(void **)
{
	assert_string_equal(
		block(),
		"{\"margay\":\"0.2-test\",\"image\":\"default +VIRTIO\",\"able\":true,"
		"\"cpu\":\"A CPU @ 2 GHz\",\"signature\":\"0x906ea\","
		"\"microcode\":\"0xde\",\"cpus\":8,\"tsc_khz\":2250000,\"memory\":[104857600],\"pci\":[],"
		"\"missing\":[]}");
	assert_true(drains >= 7);
	assert_int_equal(before_cpuid_1, 1);
}

static void test_cpus(void **)
{
	machine.vendor = "Auth";
	machine.msr = 0x1234567800a0011ull;
	/* Of a hypervisor below that says what no JSON may hold. */
	machine.brand = "\"q\" \\ \n\x80 0123456789012345678901234567890123456789";
	assert_non_null(
		strstr(block(), "\"cpu\":\"?q? ? ?? 012345678901234567890123456789012345678\","));
	assert_non_null(strstr(block(), "\"microcode\":\"0x800a0011\""));
	assert_int_equal(msr_written, 0);
	machine.brand = NULL;
	machine.no_msr = -EFAULT;
	assert_non_null(
		strstr(block(), "\"cpu\":\"\",\"signature\":\"0x906ea\",\"microcode\":\"0\","));
}

static void test_nodes_and_functions(void **)
{
	machine.nodes = 2;
	machine.functions = 2;
	assert_non_null(strstr(
		block(),
		"\"memory\":[104857600,209715200],\"pci\":["
		"{\"address\":\"0000:01:00.0\",\"id\":\"8086:10d3\",\"class\":\"020000\",\"node\":-1},"
		"{\"address\":\"0000:01:01.0\",\"id\":\"8086:10d3\",\"class\":\"020000\",\"node\":7}],"));
}

static void test_mac(void **)
{
	machine.functions = 1;
	machine.has_serial = true;
	machine.serial_high = 0x525400ff;
	machine.serial_low = 0xff123456;
	assert_non_null(strstr(block(), "\"node\":-1,\"mac\":\"52:54:00:12:34:56\"}],"));
	machine.serial_low = 0xfe123456;
	assert_non_null(strstr(block(), "\"mac\":\"52:54:00:12:34:56\""));
	/* An EUI-64 of its own, and what is no network card. */
	machine.serial_low = 0xfd123456;
	assert_null(strstr(block(), "mac"));
	machine.serial_low = 0xff123456;
	machine.serial_high = 0x525400fe;
	assert_null(strstr(block(), "mac"));
	machine.serial_high = 0x525400ff;
	machine.class_code = 0x10802;
	assert_null(strstr(block(), "mac"));
}

static void test_missing(void **)
{
	hwcheck_json_missing("IOMMU");
	hwcheck_json_missing("VT-x, needed");
	assert_non_null(strstr(block(), "\"missing\":[\"IOMMU\",\"VT-x, needed\"]}"));
	/* More than there is room for: whole names, and still one object. */
	memset(names, 'a', 300);
	for (unsigned i = 0; i < 5; i++)
		hwcheck_json_missing(names);
	hwcheck_json_missing("SMIs");
	assert_int_equal(strlen(strstr(block(), "\"missing\"")),
			 strlen("\"missing\":[\"IOMMU\",\"VT-x, needed\",\"SMIs\"]}") + 3 * 303);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_plain, setup),
		cmocka_unit_test_setup(test_cpus, setup),
		cmocka_unit_test_setup(test_nodes_and_functions, setup),
		cmocka_unit_test_setup(test_mac, setup),
		cmocka_unit_test_setup(test_missing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
