/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/lapic.sources @tests/unit/fake_vm.sources */
/* The software local APIC against SDM vol. 3, chapter 11: the test plays the guest. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/lapic_guest.h"
#include "vmm/vcpu.h"
#include "vmm/vm/intc.h"

static void test_reset_values(void **)
{
	u64 base;

	assert_int_equal(guest_rdmsr(vm, MSR_APIC_BASE, &base), 0);
	assert_int_equal(base, 0xfee00900);
	assert_int_equal(rd(0x20), 0);
	assert_int_equal(rd(0x30), 0x00050014);
	assert_int_equal(rd(0xe0), 0xffffffff);
	assert_int_equal(rd(0xf0), 0xff);
	for (u32 lvt = 0x320; lvt <= 0x370; lvt += 0x10)
		assert_int_equal(rd(lvt), 0x10000);
	assert_int_equal(pending(), -1);
}

/*
 * Each register is its own: no two have the same value, and in both modes (table 11-1, 11.12.1.2).
 */
static void test_registers_apart(void **)
{
	static const u16 at[] = { 0x80,  0xf0,  0x280, 0x320, 0x330, 0x340,
				  0x350, 0x360, 0x370, 0x380, 0x3e0 };
	struct lapic *l = vcpu->lapic;
	u64 value;

	for (unsigned i = 0; i < 4; i++) {
		l->isr[i] = (0x5101ull + 2 * i) << 32 | (0x5100 + 2 * i);
		l->tmr[i] = (0x5201ull + 2 * i) << 32 | (0x5200 + 2 * i);
		l->irr[i] = (0x5301ull + 2 * i) << 32 | (0x5300 + 2 * i);
	}
	l->tpr = 0x5400;
	l->svr = 0x5401;
	l->esr = 0x5402;
	for (unsigned i = 0; i < LAPIC_LVT_COUNT; i++)
		l->lvt[i] = 0x5403 + i;
	l->initial_count = 0x5409;
	l->divide = 0x540a;
	for (unsigned x2apic = 0; x2apic < 2; x2apic++) {
		for (unsigned i = 0; i < 24; i++) {
			assert_int_equal(guest_rdmsr(vm, 0x810 + i, &value), x2apic ? 0 : -EFAULT);
			assert_int_equal(x2apic ? value : rd(0x100 + 16 * i),
					 0x5100 + (i / 8 << 8) + i % 8);
		}
		for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
			assert_int_equal(guest_rdmsr(vm, 0x800 + at[i] / 16, &value),
					 x2apic ? 0 : -EFAULT);
			assert_int_equal(x2apic ? value : rd(at[i]), 0x5400 + i);
		}
		go_x2apic();
	}
}

static void test_xapic_access_sizes(void **)
{
	enable();
	assert_int_equal(guest_load(vm, 0xfee00030, 1), 0xff);
	assert_int_equal(guest_load(vm, 0xfee00034, 4), 0);
	guest_store(vm, 0xfee00080, 1, 0x50);
	guest_store(vm, 0xfee00084, 4, 0x50);
	assert_int_equal(rd(0x80), 0);
	/* The last bytes of the page are no register either. */
	assert_int_equal(guest_load(vm, 0xfee00ffc, 4), 0);
	assert_int_equal(guest_load(vm, 0xfee00ff8, 8), ~0ull);
}

static void test_software_disable_masks_lvts(void **)
{
	wr(0x350, 0x00400);
	assert_int_equal(rd(0x350), 0x10400);
	enable();
	wr(0x350, 0x00400);
	assert_int_equal(rd(0x350), 0x00400);
	wr(0xf0, 0xff);
	assert_int_equal(rd(0x350), 0x10400);
	lapic_msi(vm, 0xfee00000, 0x40);
	assert_int_equal(pending(), -1);
}

static void test_priority_and_eoi(void **)
{
	enable();
	lapic_msi(vm, 0xfee00000, 0x41);
	lapic_msi(vm, 0xfee00000, 0x83);
	assert_int_equal(fake_host.kicks[0], 2);
	assert_int_equal(pending(), 0x83);
	vm->intc->accept(vcpu, 0x83);
	assert_int_equal(rd(0x140), 1u << 3);
	assert_int_equal(rd(0x240), 0);
	assert_int_equal(rd(0xa0), 0x80);
	/* Lower class, and the same class, wait; a higher one does not. */
	assert_int_equal(pending(), -1);
	lapic_msi(vm, 0xfee00000, 0x8f);
	assert_int_equal(pending(), -1);
	lapic_msi(vm, 0xfee00000, 0x90);
	assert_int_equal(pending(), 0x90);
	vm->intc->accept(vcpu, 0x90);
	wr(0xb0, 0);
	assert_int_equal(rd(0xa0), 0x80);
	wr(0xb0, 0);
	assert_int_equal(pending(), 0x8f);
	vm->intc->accept(vcpu, 0x8f);
	vm->intc->unaccept(vcpu, 0x8f);
	assert_int_equal(rd(0xa0), 0);
	assert_int_equal(pending(), 0x8f);
	/* An EOI without anything in service does nothing. */
	wr(0xb0, 0);
	assert_int_equal(pending(), 0x8f);
}

static void test_tpr_and_cr8(void **)
{
	enable();
	lapic_msi(vm, 0xfee00000, 0x5a);
	wr(0x80, 0x50);
	assert_int_equal(pending(), -1);
	assert_int_equal(vm->intc->get_cr8(vcpu), 5);
	assert_int_equal(rd(0xa0), 0x50);
	vm->intc->set_cr8(vcpu, 4);
	assert_int_equal(rd(0x80), 0x40);
	assert_int_equal(pending(), 0x5a);
	wr(0x80, 0x5f);
	assert_int_equal(rd(0xa0), 0x5f);
}

static void test_base_transitions(void **)
{
	const u64 page = 0xfee00000 | APIC_BASE_BSP;
	char line[128];

	/* From xAPIC mode: EXTD without EN, another page, reserved bits. */
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, page | APIC_BASE_EXTD), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, page | APIC_BASE_EN | 1), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, page | APIC_BASE_EN | BIT(9)), -EFAULT);
	assert_string_equal(fake_host.log, "");
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, 0xfed00000 | APIC_BASE_EN), -EFAULT);
	/* A line says that the page does not move. */
	snprintf(
		line, sizeof(line),
		"%s: vcpu0: IA32_APIC_BASE = 0xfed00800: #GP, for the local APIC stays at 0xfee00000\n",
		vm->name);
	assert_string_equal(fake_host.log, line);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, page | APIC_BASE_EN | BIT(52)), -EFAULT);
	go_x2apic();
	assert_int_equal(guest_load(vm, 0xfee00030, 4), 0xffffffff);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, page | APIC_BASE_EN), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, page), 0);
	assert_int_equal(vcpu->apic_base, page);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, page | APIC_BASE_EN | APIC_BASE_EXTD),
			 -EFAULT);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, page | APIC_BASE_EN), 0);
	assert_int_equal(rd(0x30), 0x00050014);
}

static void test_disable_resets(void **)
{
	u64 value;

	enable();
	wr(0x80, 0x20);
	wr(0x380, 1000);
	lapic_msi(vm, 0xfee00000, 0x44);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, 0xfee00000), 0);
	assert_null(fake_host.timers);
	assert_int_equal(pending(), -1);
	lapic_msi(vm, 0xfee00000, 0x44);
	assert_int_equal(guest_rdmsr(vm, 0x802, &value), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE, 0xfee00000 | APIC_BASE_EN), 0);
	assert_int_equal(rd(0x80), 0);
	assert_int_equal(rd(0x220), 0);
	assert_int_equal(pending(), -1);
}

static void test_x2apic_faults(void **)
{
	static const u8 readable[] = { 0x02, 0x03, 0x08, 0x0a, 0x0d, 0x0f, 0x28, 0x30, 0x32,
				       0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3e };
	static const u8 writable[] = { 0x08, 0x0b, 0x0f, 0x28, 0x30, 0x32, 0x33,
				       0x34, 0x35, 0x36, 0x37, 0x38, 0x3e };
	bool can_read[256] = { false }, can_write[256] = { false };
	u64 value;

	assert_int_equal(guest_rdmsr(vm, 0x802, &value), -EFAULT); /* still in xAPIC mode */
	go_x2apic();
	for (unsigned i = 0; i < ARRAY_SIZE(readable); i++)
		can_read[readable[i]] = true;
	for (unsigned i = 0x10; i < 0x28; i++)
		can_read[i] = true;
	for (unsigned i = 0; i < ARRAY_SIZE(writable); i++)
		can_write[writable[i]] = true;
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(guest_rdmsr(vm, 0x800 + i, &value), can_read[i] ? 0 : -EFAULT);
	for (unsigned i = 0; i < 256; i++)
		if (i != 0x3f && i != 0x30)
			assert_int_equal(guest_wrmsr(vm, 0x800 + i, 0), can_write[i] ? 0 : -EFAULT);
	/* Reserved bits. */
	assert_int_equal(guest_wrmsr(vm, 0x808, 0x100), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x80b, 1), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x80f, 0x11ff), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x828, 1), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x830, BIT(13)), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x830, BIT(20)), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x832, BIT(8)), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x837, BIT(17)), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x838, BIT(32)), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x83e, 4), -EFAULT);
	assert_int_equal(guest_wrmsr(vm, 0x83f, 0x100), -EFAULT);
}

static void test_x2apic_id(void **)
{
	u64 value;

	vcpu->apic_id = 0x12345;
	go_x2apic();
	assert_int_equal(guest_rdmsr(vm, 0x802, &value), 0);
	assert_int_equal(value, 0x12345);
	/* Logical ID: bits 19:4 of the ID in 31:16, and bit 5 of 15:0. */
	assert_int_equal(guest_rdmsr(vm, 0x80d, &value), 0);
	assert_int_equal(value, 0x12340020);
}

static void test_self_ipis(void **)
{
	u64 value;

	go_x2apic();
	assert_int_equal(guest_wrmsr(vm, 0x80f, 0x1ff), 0);
	assert_int_equal(guest_wrmsr(vm, 0x83f, 0x61), 0);
	assert_int_equal(pending(), 0x61);
	assert_int_equal(guest_wrmsr(vm, 0x830, 0x40000 | 0x72), 0); /* self shorthand */
	assert_int_equal(pending(), 0x72);
	assert_int_equal(guest_wrmsr(vm, 0x830, 0x83), 0); /* destination: own ID 0 */
	assert_int_equal(pending(), 0x83);
	assert_int_equal(guest_wrmsr(vm, 0x830, 1ull << 32 | 0x94), 0); /* nobody */
	assert_int_equal(pending(), 0x83);
	assert_int_equal(guest_wrmsr(vm, 0x830, 0xffffffffull << 32 | 0xa5), 0); /* everybody */
	assert_int_equal(pending(), 0xa5);
	assert_int_equal(guest_wrmsr(vm, 0x830, 0xc0000 | 0xb6), 0); /* all but self: nobody */
	assert_int_equal(pending(), 0xa5);
	assert_int_equal(guest_wrmsr(vm, 0x830, 0x80000 | 0xb7), 0); /* all */
	assert_int_equal(pending(), 0xb7);
	assert_int_equal(guest_rdmsr(vm, 0x830, &value), 0);
	assert_int_equal(value, 0x800b7);
}

static void test_nmi_init_sipi(void **)
{
	enable();
	wr(0x310, 0);
	wr(0x300, 0x500); /* INIT to itself: the only CPU is the boot CPU */
	wr(0x300, 0x608);
	assert_false(vcpu->nmi_pending);
	assert_int_equal(pending(), -1);
	wr(0x300, 0x400);
	assert_true(vcpu->nmi_pending);
	vcpu->nmi_pending = false;
	wr(0x300, 0x40400); /* NMI with the self shorthand is invalid */
	assert_false(vcpu->nmi_pending);
}

static void test_errors(void **)
{
	enable();
	wr(0x370, 0x30);
	wr(0x300, 0x4000f); /* vector 15 */
	assert_int_equal(pending(), 0x30);
	assert_int_equal(rd(0x280), 0);
	wr(0x280, 0);
	assert_int_equal(rd(0x280), 0x20);
	lapic_msi(vm, 0xfee00000, 0x0f);
	rd(0x40); /* a reserved register */
	wr(0x280, 0);
	assert_int_equal(rd(0x280), 0xc0);
	wr(0x280, 0);
	assert_int_equal(rd(0x280), 0);
	/* An error LVT with an illegal vector reports itself once and no more. */
	wr(0x370, 0x05);
	wr(0x300, 0x40001);
	wr(0x280, 0);
	assert_int_equal(rd(0x280), 0x60);
}

static void test_msi_format(void **)
{
	enable();
	lapic_msi(vm, 0xfed00000, 0x51);
	lapic_msi(vm, 0x1fee00000, 0x51);
	lapic_msi(vm, 0xfee01000, 0x51); /* ID 1 */
	lapic_msi(vm, 0xfee00004, 0x51); /* logical, nobody */
	lapic_msi(vm, 0xfee00000, 0x751); /* ExtINT: there is no 8259 */
	assert_int_equal(pending(), -1);
	wr(0xd0, 0x08000000);
	lapic_msi(vm, 0xfee08004, 0x51); /* logical, flat, bit 3 */
	assert_int_equal(pending(), 0x51);
	lapic_msi(vm, 0xfeeff000, 0x152); /* broadcast, lowest priority */
	assert_int_equal(pending(), 0x52);
	lapic_msi(vm, 0xfee00000, 0x400);
	assert_true(vcpu->nmi_pending);
}

/* A logical destination in the ICR of xAPIC mode, to itself: by the flat and the cluster model. */
static void test_logical_ipis(void **)
{
	static const struct {
		u32 dfr;
		u32 ldr;
		u32 dest;
		bool taken;
	} ipi[] = {
		{ ~0u, 0x08, 0x08, true },         { ~0u, 0x08, 0xf7, false },
		{ ~0u, 0x08, 0xff, true },         { ~0u, 0x00, 0xff, false },
		{ 0x0fffffff, 0x24, 0x24, true },  { 0x0fffffff, 0x24, 0x2b, false },
		{ 0x0fffffff, 0x24, 0x14, false }, { 0x0fffffff, 0x24, 0xf4, true },
		{ 0x0fffffff, 0x24, 0xff, true },
	};

	enable();
	for (unsigned i = 0; i < ARRAY_SIZE(ipi); i++) {
		wr(0xe0, ipi[i].dfr);
		wr(0xd0, ipi[i].ldr << 24);
		wr(0x310, ipi[i].dest << 24);
		wr(0x300, 0x4851); /* fixed, logical, assert */
		assert_int_equal(pending(), ipi[i].taken ? 0x51 : -1);
		if (ipi[i].taken) {
			vm->intc->accept(vcpu, 0x51);
			wr(0xb0, 0);
		}
	}
	/* The same destination is nobody's, or its own, where it is physical. */
	wr(0x310, 0x24 << 24);
	wr(0x300, 0x4051);
	assert_int_equal(pending(), -1);
	wr(0x310, 0);
	wr(0x300, 0x4851);
	assert_int_equal(pending(), -1);
	wr(0x300, 0x4051);
	assert_int_equal(pending(), 0x51);
}

static void test_destination_matching(void **)
{
	struct vcpu other = { .apic_base = APIC_BASE_EN, .apic_id = 0x25 };
	struct lapic l = { .vcpu = &other, .dfr = ~0u, .ldr = 0x24000000 };
	struct apic_msg m = { .dest = 0x25 };

	assert_true(lapic_match(&l, &m));
	m.dest = 0x24;
	assert_false(lapic_match(&l, &m));
	m.dest = 0xff;
	assert_true(lapic_match(&l, &m));
	m.wide = true;
	assert_false(lapic_match(&l, &m));
	/* Logical, flat: any common bit. */
	m = (struct apic_msg){ .logical = true, .dest = 0x04 };
	assert_true(lapic_match(&l, &m));
	m.dest = 0xdb;
	assert_false(lapic_match(&l, &m));
	/* Logical, cluster: cluster 2, member 4. */
	l.dfr = 0x0fffffff;
	m.dest = 0x24;
	assert_true(lapic_match(&l, &m));
	m.dest = 0x34;
	assert_false(lapic_match(&l, &m));
	m.dest = 0x23;
	assert_false(lapic_match(&l, &m));
	m.dest = 0xff;
	assert_true(lapic_match(&l, &m));
	/* Any other model is reserved. */
	l.dfr = 0x7fffffff;
	m.dest = 0x24;
	assert_false(lapic_match(&l, &m));
	/* x2APIC: cluster 2, bit 5. */
	other.apic_base |= APIC_BASE_EXTD;
	m = (struct apic_msg){ .wide = true, .logical = true, .dest = 0x20020 };
	assert_true(lapic_match(&l, &m));
	m.dest = 0x30020;
	assert_false(lapic_match(&l, &m));
	m.dest = 0x20010;
	assert_false(lapic_match(&l, &m));
	m.dest = 0xffffffff;
	assert_true(lapic_match(&l, &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reset_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registers_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_xapic_access_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_software_disable_masks_lvts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_priority_and_eoi, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tpr_and_cr8, setup, teardown),
		cmocka_unit_test_setup_teardown(test_base_transitions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_disable_resets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_x2apic_faults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_x2apic_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_self_ipis, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nmi_init_sipi, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_msi_format, setup, teardown),
		cmocka_unit_test_setup_teardown(test_logical_ipis, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destination_matching, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
