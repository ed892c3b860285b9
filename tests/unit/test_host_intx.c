/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_lines.c */
/*
 * Inputs of the host's I/O APICs as devices of VMs take them: one user each, masked from an
 * interrupt until it opens them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/ioapic.h"
#include "kernel/pci/pci_remapping.h"
#include "kernel/percpu.h"

#define LINES 64 /* that can be taken at once */

static void (*handler)(void *arg, unsigned n);
static void *handler_arg;
static unsigned vectors, interrupts, last_masked, last_open, last_closed, last_ended;
static int alloc_error, route_error;
static u32 routed_gsi, routed_apic;
static u8 routed_vector;
static bool routed_low;

int host_msi_alloc(unsigned cpu, unsigned count, void (*fn)(void *arg, unsigned n), void *arg,
		   struct host_msi *out)
{
	assert_int_equal(count, 1);
	*out = (struct host_msi){ .cpu = (u16)cpu };
	if (alloc_error)
		return alloc_error;
	handler = fn;
	handler_arg = arg;
	vectors++;
	out->count = 1;
	out->address = 0xfee00000u | cpu << 12;
	out->data = 0x51;
	return 0;
}

void host_msi_free(struct host_msi *v)
{
	/* The way to them is gone by then. */
	assert_true(!v->count || alloc_error || route_error ||
		    (last_masked == last_closed && last_closed));
	vectors -= v->count;
	v->count = 0;
}

struct cpu *cpu_get(unsigned id)
{
	static struct cpu cpu;

	cpu.apic_id = 0x120 + id;
	return &cpu;
}

static void close_input(u32 gsi)
{
	assert_int_equal(last_masked, gsi);
	last_closed = gsi;
}

static const struct interrupt_remapping remapping = { .close = close_input };
const struct interrupt_remapping *interrupt_remapping = &remapping;

int ioapic_route_level(u32 gsi, u32 apic_id, u8 vector, bool active_low)
{
	routed_gsi = gsi;
	routed_apic = apic_id;
	routed_vector = vector;
	routed_low = active_low;
	return route_error;
}

void ioapic_mask(u32 gsi, bool masked)
{
	*(masked ? &last_masked : &last_open) = gsi;
}

/* As an input opens: the EOI may have had another vector. */
bool ioapic_in_service(u32 gsi, bool end)
{
	assert_true(end);
	last_ended = gsi;
	return false;
}

static void interrupted(void *arg, unsigned n)
{
	assert_ptr_equal(arg, &interrupts);
	assert_int_equal(n, 0);
	interrupts++;
}

static int take(u32 gsi)
{
	return host_intx_take(&(struct host_intx){ gsi, true }, 3, interrupted, &interrupts);
}

static void test_one_user_each(void **)
{
	assert_int_equal(take(20), 0);
	assert_int_equal(routed_gsi, 20);
	assert_int_equal(routed_apic, 0x123);
	assert_int_equal(routed_vector, 0x51);
	assert_true(routed_low);
	assert_int_equal(take(20), -EBUSY);
	assert_int_equal(take(21), 0);
	assert_int_equal(vectors, 2);
	host_intx_release(20);
	assert_int_equal(last_masked, 20);
	assert_int_equal(vectors, 1);
	/* Nobody's: nothing happens. */
	host_intx_release(20);
	assert_int_equal(vectors, 1);
	assert_int_equal(take(21), -EBUSY);
	assert_int_equal(take(20), 0);
	host_intx_release(20);
	host_intx_release(21);
	assert_int_equal(vectors, 0);
}

static void test_masked_until_opened(void **)
{
	assert_int_equal(take(22), 0);
	last_masked = 0;
	handler(handler_arg, 0);
	assert_int_equal(interrupts, 1);
	assert_int_equal(last_masked, 22);
	host_intx_open(22);
	assert_true(last_open == 22 && last_ended == 22);
	host_intx_release(22);
}

static void test_failures(void **)
{
	alloc_error = -ENOSPC;
	assert_int_equal(take(23), -ENOSPC);
	alloc_error = 0;
	route_error = -ENODEV;
	assert_int_equal(take(23), -ENODEV);
	assert_int_equal(vectors, 0);
	route_error = 0;
	for (u32 i = 0; i < LINES; i++)
		assert_int_equal(take(100 + i), 0);
	assert_int_equal(take(99), -ENOSPC);
	assert_int_equal(take(100 + LINES - 1), -EBUSY);
	for (u32 i = 0; i < LINES; i++)
		host_intx_release(100 + i);
	assert_int_equal(vectors, 0);
	assert_int_equal(take(99), 0);
	host_intx_release(99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_user_each),
		cmocka_unit_test(test_masked_until_opened),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
