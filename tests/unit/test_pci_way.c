/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_way.c */
/*
 * A function two bridges below its root: both pass on what it sends before its VM runs (PCI-to-PCI
 * Bridge 1.2, 3.2.5.3).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <margay/host.h>
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"
#include "tests/unit/fake_say.h"

static const struct pci_function function[] = {
	{ .address = { 0, 0, PCI_DEVFN(0x1c, 0) } },
	{ .address = { 0, 1, 0 } },
	{ .address = { 0, 2, PCI_DEVFN(1, 0) } },
	{ .address = { 0, 0, PCI_DEVFN(3, 0) } },
};
static u16 command[4];
static unsigned writes;

const struct pci_function *pci_get(unsigned i)
{
	return &function[i];
}

const struct pci_function *pci_bridge_of(const struct pci_function *f)
{
	return f == &function[3] || f == &function[0] ? NULL : f - 1;
}

static unsigned which(struct pci_address a)
{
	unsigned i = 0;

	while (!pci_same_address(&function[i].address, &a))
		i++;
	return i;
}

u32 pci_read(struct pci_address a, u16 offset, unsigned size)
{
	assert_true(offset == 4 && size == 2);
	return command[which(a)];
}

bool pci_change16(const struct pci_function *f, u16 offset, u16 clear, u16 set)
{
	assert_true(offset == 4 && !clear && set == 4);
	command[f - function] |= set;
	writes++;
	return true;
}

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

static void test_way(void **)
{
	command[0] = 0x103;
	command[1] = 0x100;
	host_pci_open_way(2);
	assert_true(command[0] == 0x107 && command[1] == 0x104 && !command[2]);
	assert_string_equal(said,
			    "pci 0000:01:00.0: bus mastering on, for what a VM has behind it\n"
			    "pci 0000:00:1c.0: bus mastering on, for what a VM has behind it\n");
	/* The nearest one is, the next is not. */
	command[0] = 0x103;
	writes = 0;
	host_pci_open_way(2);
	assert_true(command[0] == 0x107 && writes == 1);
	writes = 2;
	/* Once: it stays so. One that hangs from the root has nobody above it. */
	said[0] = 0;
	host_pci_open_way(2);
	host_pci_open_way(3);
	assert_int_equal(writes, 2);
	assert_int_equal(command[3], 0);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_way) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
