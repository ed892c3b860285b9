/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * Who is no bus master any more before memory is given to anyone: on a machine of this file's,
 * asked by mechanism 1 alone (PCI Local Bus 3.0, 3.2.2.3.2), whose writes to Command leave Status
 * alone (6.2.3).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/pci.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/log/printk.h"
#include "tests/unit/fake_say.h"

static struct function {
	u8 bus;
	u8 devfn;
	u8 header;
	u32 class_code;
	u16 command;
	bool stubborn;
	unsigned writes;
	unsigned after; /* reads of its command since the last write */
} machine[] = {
	{ .bus = 0, .devfn = PCI_DEVFN(0, 0), .class_code = 0x060000 }, /* host bridge */
	{ .bus = 0, .devfn = PCI_DEVFN(2, 0), .class_code = 0x030000 }, /* display */
	/* network, of one function: */
	{ .bus = 0, .devfn = PCI_DEVFN(3, 0), .class_code = 0x020000 },
	/* ... which shows itself again */
	{ .bus = 0, .devfn = PCI_DEVFN(3, 1), .class_code = 0x020000 },
	/* port, of two */
	{ .bus = 0, .devfn = PCI_DEVFN(0x1c, 0), .class_code = 0x060400, .header = 0x81 },
	/* a bridge, whatever its class says */
	{ .bus = 0, .devfn = PCI_DEVFN(0x1c, 5), .class_code = 0x088000, .header = 1 },
	{ .bus = 0, .devfn = PCI_DEVFN(0x1d, 0), .class_code = 0x0c0320 }, /* USB */
	{ .bus = 0, .devfn = PCI_DEVFN(0x1e, 0), .class_code = 0x080600 }, /* an IOMMU */
	/* ISA bridge, first of several: */
	{ .bus = 0, .devfn = PCI_DEVFN(0x1f, 0), .class_code = 0x060100, .header = 0x80 },
	/* a disk's controller */
	{ .bus = 0, .devfn = PCI_DEVFN(0x1f, 2), .class_code = 0x010601 },
	{ .bus = 0, .devfn = PCI_DEVFN(0x1f, 3), .class_code = 0x0c0500 }, /* SMBus */
	/* a DMA controller */
	{ .bus = 0, .devfn = PCI_DEVFN(0x1f, 7), .class_code = 0x080100 },
	/* behind the port */
	{ .bus = 1, .devfn = PCI_DEVFN(0, 0), .class_code = 0x020000 },
	/* on a root bus that only AML names */
	{ .bus = 0xff, .devfn = PCI_DEVFN(31, 0), .class_code = 0x120000 },
	{ .bus = 0x80, .devfn = PCI_DEVFN(1, 0), .class_code = 0x010802 },
};
enum { NIC = 2, AGAIN = 3, DISK = 9, DMAC = 11, BEHIND = 12, LAST = 13, NVME = 14 };
static const u32 silenced =
	BIT(NIC) | BIT(DISK) | BIT(10) | BIT(DMAC) | BIT(BEHIND) | BIT(LAST) | BIT(NVME);
static u32 address;

static struct function *at_address(void)
{
	assert_true(address & BIT(31) && !(address & 0x7f000003));
	for (unsigned i = 0; i < ARRAY_SIZE(machine); i++)
		if (machine[i].bus == (u8)(address >> 16) && machine[i].devfn == (u8)(address >> 8))
			return &machine[i];
	return NULL;
}

static u32 in_port(u16 port)
{
	struct function *f = at_address();

	switch ((address & 0xfc) + port - 0xcfc) {
	case 0:
		if (f)
			return 0x10d38086;
		return address & 0x100 ? 0xffffffff : 0;
	case 4: f->after++; return f->command;
	case 8: return f->class_code << 8 | 3;
	case 0xc: return (u32)f->header << 16 | 0x10;
	}
	fail_msg("read of %#x", address);
	return 0;
}

static void out_port(u16 port, unsigned size, u32 value)
{
	struct function *f;

	if (port == 0xcf8) {
		assert_int_equal(size, 4);
		address = value;
		return;
	}
	f = at_address();
	assert_true(f && size == 2 && port == 0xcfc && (address & 0xfc) == 4);
	assert_int_equal(value, f->command & ~4u);
	f->writes++;
	f->after = 0;
	if (!f->stubborn)
		f->command = (u16)value;
}

#define outl(port, value) out_port(port, 4, value)
#define outw(port, value) out_port(port, 2, value)
#define outb(port, value) out_port(port, 1, value)
#define inl(port) in_port(port)
#define inw(port) (u16) in_port(port)
#define inb(port) (u8) in_port(port)
#include "kernel/pci/pci_port.c"
#include "kernel/pci/pci_masters.c"

void printk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

void printk_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

static int reset(void **)
{
	for (unsigned i = 0; i < ARRAY_SIZE(machine); i++) {
		machine[i].command = 0x0547;
		machine[i].stubborn = false;
		machine[i].writes = 0;
	}
	said[0] = 0;
	return 0;
}

static void test_all(void **)
{
	pci_masters_off();
	for (unsigned i = 0; i < ARRAY_SIZE(machine); i++) {
		assert_int_equal(machine[i].command, silenced & BIT(i) ? 0x0543 : 0x0547);
		assert_int_equal(machine[i].writes, !!(silenced & BIT(i)));
		/* What was on its way has arrived. */
		assert_true(!machine[i].writes || machine[i].after);
	}
	assert_string_equal(said, "pci: firmware left bus mastering on in 7 functions: off now\n");
	/* Nobody is one: nothing is written, nothing is said. */
	said[0] = 0;
	pci_masters_off();
	assert_int_equal(machine[NIC].writes, 1);
	assert_string_equal(said, "");
}

static void test_stubborn(void **)
{
	machine[BEHIND].stubborn = true;
	pci_masters_off();
	assert_int_equal(machine[LAST].command, 0x0543);
	assert_string_equal(said, "pci 0000:01:00.0: does not stop its bus mastering\n"
				  "pci: firmware left bus mastering on in 7 functions: off now\n");
}

/* The rule by which pci_keep_quiet() goes, too. */
static void test_serves_others(void **)
{
	static const u32 yes[] = { 0x060000, 0x060400, 0x080000, 0x080020, 0x080200,
				   0x080300, 0x080400, 0x080600, 0x080700 };
	static const u32 no[] = { 0x080100, 0x080500, 0x080800, 0x088000,
				  0x020000, 0x030000, 0x0c0330 };

	for (unsigned i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(pci_serves_others(0, yes[i]));
	for (unsigned i = 0; i < ARRAY_SIZE(no); i++)
		assert_true(!pci_serves_others(0, no[i]) && pci_serves_others(1, no[i]) &&
			    pci_serves_others(2, no[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all, reset),
		cmocka_unit_test_setup(test_stubborn, reset),
		cmocka_unit_test(test_serves_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
