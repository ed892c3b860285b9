/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_usb.c */
/*
 * USB controllers of each kind, held by a firmware that lets go of them, by one that does not, and
 * by none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/host.h>
#include "kernel/log/printk.h"
#include "kernel/pci/pci_function.h"

#define BAR 0xfeb00000ull
enum { UHCI = 0x0c0300, OHCI = 0x0c0310, EHCI = 0x0c0320, XHCI = 0x0c0330 };
enum { FIRMWARE = BIT(16), OS = BIT(24) };

static u8 config[256], memory[KIB(64)];
static struct pci_function f;
static unsigned errors, maps, delays, writes;
static u64 mapped;
static bool misplaced, stubborn;
static unsigned patience; /* ms until the firmware lets go of it */
static u32 at; /* of the capability */
static u32 smis; /* written behind it, while firmware held it */

static u32 get(const u8 *from, u32 offset, unsigned size)
{
	u32 v = 0;

	memcpy(&v, from + offset, size);
	return v;
}

static void set(u8 *to, u32 offset, unsigned size, u32 v)
{
	memcpy(to + offset, &v, size);
}

/*
 * The firmware's SMI handler, asked by the bit of the OS; OHCI's by the command, where that event
 * makes an SMI.
 */
static void store(u8 *space, u32 offset, unsigned size, u32 v)
{
	writes++;
	if (space == memory && offset == 0x10 && f.id.class_code == OHCI)
		v |= get(memory, offset, 4);
	set(space, offset, size, v);
}

static u8 *legacy_space(void)
{
	return f.id.class_code == EHCI ? config : memory;
}

void pci_delay_ms(unsigned ms)
{
	delays += ms;
	if (stubborn || delays < patience)
		return;
	if (f.id.class_code == OHCI) {
		/* It hears of the request if that event is on. */
		if (get(memory, 8, 4) == BIT(3) && get(memory, 0x10, 4) & BIT(30))
			set(memory, 4, 4, get(memory, 4, 4) & ~(u32)BIT(8));
	} else if (get(legacy_space(), at, 4) & OS) {
		set(legacy_space(), at, 4, get(legacy_space(), at, 4) & ~(u32)FIRMWARE);
	}
}

u32 pci_read(struct pci_address, u16 offset, unsigned size)
{
	assert_true(offset + size <= sizeof(config) && IS_ALIGNED(offset, size));
	return get(config, offset, size);
}

void pci_write(struct pci_address, u16 offset, unsigned size, u32 v)
{
	assert_true(offset + size <= sizeof(config) && IS_ALIGNED(offset, size));
	if (offset == at + 4 && get(legacy_space(), at, 4) & FIRMWARE)
		smis++;
	store(config, offset, size, v);
}

void *mmio_map_type(u64 pa, u64 size, bool)
{
	assert_int_equal(pa, BAR);
	maps++;
	mapped = size;
	return memory;
}

u64 host_mmio_read(const volatile void *reg, unsigned size)
{
	u64 offset = (u64)((const volatile u8 *)reg - memory);

	assert_true(size == 4 && offset + size <= mapped);
	return get(memory, (u32)offset, size);
}

void host_mmio_write(volatile void *reg, unsigned size, u64 v)
{
	u64 offset = (u64)((volatile u8 *)reg - memory);

	assert_true(size == 4 && offset + size <= mapped);
	if (offset == at + 4 && legacy_space() == memory && get(memory, at, 4) & FIRMWARE)
		smis++;
	store(memory, (u32)offset, size, (u32)v);
}

const char *pci_misplaced(const struct pci_function *g)
{
	assert_ptr_equal(g, &f);
	return misplaced ? "over RAM" : NULL;
}

void printk_error(const char *, ...)
{
	errors++;
}

static void begin(u32 class_code)
{
	memset(config, 0, sizeof(config));
	memset(memory, 0, sizeof(memory));
	f = (struct pci_function){ .id.class_code = class_code,
				   .bar = { { .base = BAR, .size = KIB(64) } } };
	set(config, 4, 2, 6);
	errors = maps = delays = writes = smis = 0;
	misplaced = stubborn = false;
	patience = 3;
	at = 0;
}

static void ehci(u32 legacy)
{
	begin(EHCI);
	/* Another capability first. */
	set(memory, 8, 4, 0x6800);
	set(config, 0x68, 4, 0x7002);
	at = 0x70;
	set(config, at, 4, legacy);
	set(config, at + 4, 4, 0xe000203f);
}

static void xhci(u32 legacy)
{
	begin(XHCI);
	set(memory, 0x10, 4, 0x8000u / 4 << 16 | 0x1234);
	set(memory, 0x8000, 4, 0x0402);
	at = 0x8010;
	set(memory, at, 4, legacy);
	set(memory, at + 4, 4, 0xe00ee011);
}

/* Asked for, given, and only then no SMI comes of it any more; what has been noted is wiped. */
static void test_given(void **)
{
	ehci(1 | FIRMWARE);
	pci_take_usb(&f);
	assert_int_equal(get(config, at, 4), 1 | OS);
	assert_int_equal(get(config, at + 4, 4), 0xe0000000);
	assert_true(delays == 3 && !errors && !smis);
	xhci(1 | FIRMWARE);
	pci_take_usb(&f);
	assert_int_equal(get(memory, at, 4), 1 | OS);
	assert_int_equal(get(memory, at + 4, 4), 0xe00e0000);
	assert_true(delays == 3 && !errors && !smis);
	assert_int_equal(mapped, KIB(64));
	begin(OHCI);
	set(memory, 4, 4, 0x1c3);
	pci_take_usb(&f);
	assert_int_equal(get(memory, 4, 4), 0xc3);
	assert_int_equal(get(memory, 0x14, 4), 0xffffffff);
	assert_true(delays == 3 && !errors);
	begin(UHCI);
	f.bar[0] = (struct pci_bar){ 0 };
	pci_take_usb(&f);
	assert_int_equal(get(config, 0xc0, 2), 0xaf00);
	assert_true(writes == 1 && !maps);
}

/* After a second it is taken all the same, and a line says so. */
static void test_kept(void **)
{
	ehci(1 | FIRMWARE);
	stubborn = true;
	pci_take_usb(&f);
	assert_int_equal(get(config, at, 4), 1 | OS);
	assert_int_equal(get(config, at + 4, 4), 0xe0000000);
	assert_true(delays == 1000 && errors == 1 && !smis);
	xhci(1 | FIRMWARE);
	stubborn = true;
	pci_take_usb(&f);
	assert_int_equal(get(memory, at, 4), 1 | OS);
	assert_int_equal(get(memory, at + 4, 4), 0xe00e0000);
	assert_true(delays == 1000 && errors == 1 && !smis);
	begin(OHCI);
	stubborn = true;
	set(memory, 4, 4, 0x1c3);
	pci_take_usb(&f);
	assert_int_equal(get(memory, 4, 4), 0xc3);
	assert_true(delays == 1000 && errors == 1);
	/* In the last moment. */
	ehci(1 | FIRMWARE);
	patience = 1000;
	pci_take_usb(&f);
	assert_true(delays == 1000 && !errors);
}

/*
 * The firmware does not have it: nothing to wait for, but its SMIs may be on all the same. An OHCI
 * that is free is left alone.
 */
static void test_unheld(void **)
{
	ehci(1);
	pci_take_usb(&f);
	assert_int_equal(get(config, at, 4), 1 | OS);
	assert_int_equal(get(config, at + 4, 4), 0xe0000000);
	xhci(1);
	pci_take_usb(&f);
	assert_int_equal(get(memory, at + 4, 4), 0xe00e0000);
	assert_true(!delays && !errors);
	begin(OHCI);
	set(memory, 4, 4, 0xc3);
	pci_take_usb(&f);
	assert_true(!writes && !delays);
}

/*
 * Registers that are not there, or lie over what is another's, are not touched; lists that lead
 * astray end.
 */
static void test_broken(void **)
{
	static const u32 kinds[] = { OHCI, EHCI, XHCI };

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		for (unsigned how = 0; how < 4; how++) {
			begin(kinds[i]);
			set(config, 4, 2, how == 0 ? 4 : 6);
			misplaced = how == 1;
			f.bar[0].base = how == 2 ? 0 : BAR;
			f.bar[0].flags = how == 3;
			pci_take_usb(&f);
			assert_true(!maps && !writes);
		}
	/* No such capability, none at all, itself the next, beyond the end; reading as ones. */
	ehci(2);
	pci_take_usb(&f);
	ehci(1 | FIRMWARE);
	set(memory, 8, 4, 0);
	pci_take_usb(&f);
	ehci(0x7002);
	pci_take_usb(&f);
	ehci(0xfc02);
	set(config, 0xfc, 4, 1 | FIRMWARE);
	pci_take_usb(&f);
	assert_int_equal(writes, 0);
	xhci(0x0002);
	pci_take_usb(&f);
	xhci(0xff02);
	f.bar[0].size = 0x8014;
	pci_take_usb(&f);
	assert_int_equal(mapped, 0x8014);
	begin(XHCI);
	memset(memory, 0xff, sizeof(memory));
	pci_take_usb(&f);
	assert_true(!writes && !delays);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_unheld),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
