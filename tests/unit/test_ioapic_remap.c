/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: arch/x86_64/cpu/ioapic_line.c */
/*
 * The host's I/O APIC where interrupts are remapped: what is asked for an entry, and what stands
 * there while it is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/upcall.h"

static u32 fake_read(const volatile void *at);
static void fake_write(volatile void *at, u32 value);
#define mmio_read32 fake_read
#define mmio_write32 fake_write
#include "arch/x86_64/cpu/ioapic.c"

#define MASK BIT(16)

static u8 window[0x20];
static u32 selected, reg[256], asked_gsi, asked_id, asked;
static u64 asked_entry;
static int answer;

void *mmio_map_type(u64, u64, bool)
{
	return window;
}

void upcall_log(const char *, ...) { }

static u32 fake_read(const volatile void *at)
{
	return (const volatile u8 *)at == window + 0x10 ? reg[selected] : selected;
}

static void fake_write(volatile void *at, u32 value)
{
	if ((volatile u8 *)at == window) {
		selected = value;
		return;
	}
	/* Nobody is interrupted by half an entry. */
	assert_true(!(selected & 1) || selected < 0x10 || reg[selected - 1] & MASK);
	reg[selected] = value;
}

int upcall_route(u32 gsi, u32 apic_id, u64 *entry)
{
	/* The input is masked meanwhile. */
	assert_true(reg[0x10 + 2 * (gsi - 24)] & MASK);
	asked_gsi = gsi;
	asked_id = apic_id;
	asked_entry = *entry;
	asked++;
	*entry = 0x000b000000000000 | (*entry & 0x1f8ff);
	return answer;
}

static int setup(void **)
{
	nr_ioapics = 0;
	asked = 0;
	answer = 0;
	reg[1] = 23 << 16 | 0x20;
	return ioapic_add(0xfec00000, 24);
}

static void test_nmi(void **)
{
	assert_int_equal(ioapic_route_nmi(28, 0x1234, true), 0);
	assert_true(asked_gsi == 28 && asked_id == 0x1234 && (u32)asked_entry == 0x2400);
	assert_true(reg[0x18] == 0x2000 && reg[0x19] == 0xb0000);
	/*
	 * The host's second line there is the same; nothing is lost meanwhile. Others are not let
	 * in, and change nothing.
	 */
	assert_int_equal(ioapic_route_nmi(28, 0x1234, true), 0);
	assert_int_equal(ioapic_route_nmi(28, 0x1234, false), -EBUSY);
	assert_int_equal(ioapic_route_level(28, 1, 0x41, true), -EBUSY);
	assert_int_equal(asked, 1);
	assert_true(reg[0x18] == 0x2000 && reg[0x19] == 0xb0000);
}

static void test_level(void **)
{
	assert_int_equal(ioapic_route_level(47, 3, 0x41, true), 0);
	assert_true(asked_entry == (3ull << 56 | 0x1a041));
	assert_true(reg[0x3e] == 0x1a041 && reg[0x3f] == 0xb0000);
	ioapic_mask(47, false);
	assert_true(reg[0x3e] == 0xa041 && reg[0x3f] == 0xb0000);
	ioapic_mask(47, true);
	/* What cannot be had leaves it as it was. */
	answer = -ERANGE;
	reg[0x3f] = 1;
	assert_int_equal(ioapic_route_level(47, 3, 0x51, false), -ERANGE);
	assert_true(reg[0x3e] == 0x1a041 && reg[0x3f] == 1);
	assert_int_equal(ioapic_route_level(48, 3, 0x51, false), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nmi, setup),
		cmocka_unit_test_setup(test_level, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
