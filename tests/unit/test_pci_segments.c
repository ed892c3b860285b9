/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/pci/pci_fitness.c */
/*
 * Functions outside segment 0: which of them a VM could have otherwise, and the line that says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/pci/pci_segments.c"

static struct pci_info function[300];
static unsigned count, lines;
static char line[400];

bool host_pci_info(unsigned i, struct pci_info *out)
{
	if (i < count)
		*out = function[i];
	return i < count;
}

void host_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	lines++;
}

static struct pci_info *add(u16 segment, u8 bus, u32 class_code)
{
	struct pci_info *f = &function[count++];

	*f = (struct pci_info){ .address = { segment, bus, 1 },
				.id = { 0x8086, 0x1234, class_code } };
	return f;
}

static int setup(void **)
{
	count = lines = 0;
	add(0, 1, 0x020000);
	return 0;
}

/*
 * An EPYC's: in each segment a root complex with a bridge and an IOMMU, which are no VM's anyhow,
 * and a card.
 */
static void test_lost(void **)
{
	char text[PCI_SEGMENTS_TEXT];

	for (u16 segment = 1; segment < 4; segment++) {
		add(segment, 0, 0x080600);
		add(segment, 0, 0x060400)->header_type = PCI_HEADER_BRIDGE;
	}
	assert_true(pci_segments(text));
	assert_string_equal(text, "");
	for (u16 segment = 1; segment < 4; segment++)
		add(segment, 0x41, 0x010802);
	add(3, 0x42, 0x020000)->problem = "it does not stop";
	assert_false(pci_segments(text));
	assert_string_equal(
		text,
		"no VM can have 3 functions outside segment 0: 0001:41:00.1, 0002:41:00.1, 0003:41:00.1: "
		"let the setup put all in one segment");
	tell();
	assert_int_equal(lines, 1);
	assert_memory_equal(line, "margay: pci: ", 13);
	assert_string_equal(line + 13, text);
}

/* All are counted, as many named as fit. */
static void test_many(void **)
{
	static const char last[] = "0001:09:00.1, ...: let the setup put all in one segment";
	char text[PCI_SEGMENTS_TEXT], names[NAMES];

	for (unsigned i = 0; i < 10; i++)
		add(1, (u8)i, 0x010802);
	/* Ten fit, and the sign that there are more. */
	assert_int_equal(list_lost(names), 10);
	assert_string_equal(names + strlen(names) - 12, "0001:09:00.1");
	for (unsigned i = 10; i < 250; i++)
		add(1, (u8)i, 0x010802);
	assert_false(pci_segments(text));
	assert_memory_equal(
		text,
		"no VM can have 250 functions outside segment 0: 0001:00:00.1, 0001:01:00.1, ", 75);
	assert_string_equal(text + strlen(text) - strlen(last), last);
}

/* With segment 0 alone nothing is said. */
static void test_one_segment(void **)
{
	tell();
	assert_int_equal(lines, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lost, setup),
		cmocka_unit_test_setup(test_many, setup),
		cmocka_unit_test_setup(test_one_segment, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
