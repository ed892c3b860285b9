/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/lapic.sources vmm/pci/pci_intx.c @tests/unit/fake_vm.sources */
/* The I/O APIC against its data sheet, in front of the software local APIC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <margay/errno.h>

#include "tests/unit/fake_functions.h"
#include "tests/unit/fake_vm.h"
#include "vmm/dev/apic/lapic.h"
#include "vmm/vm/intc.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/pci/pci_device.h"
#include "vmm/guest_platform.h"
#include "vmm/vcpu.h"

static struct vm *vm;

static int setup(void **)
{
	fake_host_reset();
	vm = fake_vm_create(0);
	guest_store(vm, 0xfee000f0, 4, 0x1ff);
	return 0;
}

static int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

static u32 rd(u8 reg)
{
	guest_store(vm, 0xfec00000, 4, reg);
	return (u32)guest_load(vm, 0xfec00010, 4);
}

static void wr(u8 reg, u32 value)
{
	guest_store(vm, 0xfec00000, 4, reg);
	guest_store(vm, 0xfec00010, 4, value);
}

/* Takes the pending vector as a CPU does; -1: there is none. */
static int take(void)
{
	int vector = vm->intc->pending(vm->vcpus[0]);

	if (vector >= 0)
		vm->intc->accept(vm->vcpus[0], (u8)vector);
	return vector;
}

static void eoi(void)
{
	guest_store(vm, 0xfee000b0, 4, 0);
}

static void test_registers(void **)
{
	assert_int_equal(rd(1), 0x00170020);
	wr(0, 0xff123456);
	assert_int_equal(rd(0), 0x0f000000);
	for (u8 pin = 0; pin < 24; pin++)
		assert_int_equal(rd(0x10 + 2 * pin), 0x10000);
	/* Read-only and reserved bits. */
	wr(0x10, 0xffffffff);
	assert_int_equal(rd(0x10), 0x1afff);
	wr(0x11, 0xffffffff);
	assert_int_equal(rd(0x11), 0xff000000);
	/* No registers beyond the table, nor anything behind it in memory. */
	for (unsigned reg = 0x40; reg < 0x100; reg++) {
		wr((u8)reg, 0x12345678);
		assert_int_equal(rd((u8)reg), 0xffffffff);
	}
	for (unsigned reg = 3; reg < 0x10; reg++)
		assert_int_equal(rd((u8)reg), 0xffffffff);
	/* Only aligned 32-bit accesses. */
	guest_store(vm, 0xfec00000, 1, 1);
	assert_int_equal(guest_load(vm, 0xfec00000, 4), 0x0f);
	assert_int_equal(guest_load(vm, 0xfec00ffc, 4), 0);
	wr(0x10, 0x10000);
}

static void test_edge(void **)
{
	vm->intc->line(vm, 4, true); /* masked: lost, as in hardware */
	vm->intc->line(vm, 4, false);
	wr(0x18, 0x44);
	assert_int_equal(take(), -1);
	vm->intc->line(vm, 4, true);
	vm->intc->line(vm, 4, true); /* no second edge */
	assert_int_equal(take(), 0x44);
	assert_int_equal(take(), -1);
	/* A new edge while in service is kept for after the EOI. */
	vm->intc->line(vm, 4, false);
	vm->intc->line(vm, 4, true);
	assert_int_equal(take(), -1);
	eoi();
	assert_int_equal(take(), 0x44);
	eoi();
	assert_int_equal(take(), -1);
	assert_int_equal(rd(0x18), 0x44);
}

static void test_level(void **)
{
	vm->intc->line(vm, 10, true);
	wr(0x24, 0x18055);
	assert_int_equal(take(), -1);
	wr(0x24, 0x08055); /* unmasked with its input asserted */
	assert_int_equal(rd(0x24), 0x0c055);
	assert_int_equal(take(), 0x55);
	vm->intc->line(vm, 10, false);
	vm->intc->line(vm, 10, true);
	assert_int_equal(take(), -1); /* in service */
	eoi();
	assert_int_equal(take(), 0x55); /* still asserted */
	vm->intc->line(vm, 10, false);
	eoi();
	assert_int_equal(take(), -1);
	assert_int_equal(rd(0x24), 0x08055);
}

/*
 * The local APIC must have nothing against another one: the vector is new, and nothing is in
 * service.
 */
static void test_remote_irr(void **)
{
	wr(0x24, 0x08055);
	vm->intc->line(vm, 10, true);
	assert_int_equal(take(), 0x55);
	wr(0x24, 0x08066);
	assert_int_equal(rd(0x24), 0x0c066);
	vm->intc->line(vm, 10, false);
	vm->intc->line(vm, 10, true);
	assert_int_equal(take(), -1);
	/*
	 * The local APIC's EOI is for the old vector: the entry has another, and waits for that
	 * one's.
	 */
	eoi();
	assert_int_equal(take(), -1);
	assert_int_equal(rd(0x24), 0x0c066);
	guest_store(vm, 0xfec00040, 4, 0x66);
	assert_int_equal(take(), 0x66);
}

static void test_eoi_register(void **)
{
	wr(0x24, 0x08055);
	vm->intc->line(vm, 10, true);
	assert_int_equal(rd(0x24), 0x0c055);
	vm->intc->line(vm, 10, false);
	guest_store(vm, 0xfec00040, 4, 0x56);
	assert_int_equal(rd(0x24), 0x0c055);
	guest_store(vm, 0xfec00040, 4, 0x55);
	assert_int_equal(rd(0x24), 0x08055);
	/* The older way: mask and make it edge. */
	vm->intc->line(vm, 10, true);
	assert_int_equal(rd(0x24), 0x0c055);
	wr(0x24, 0x10055);
	assert_int_equal(rd(0x24), 0x10055);
}

static void test_destination_and_modes(void **)
{
	wr(0x19, 0x05000000); /* APIC ID 5: nobody */
	wr(0x18, 0x08044);
	vm->intc->line(vm, 4, true);
	assert_int_equal(take(), -1);
	assert_int_equal(rd(0x18), 0x08044); /* nobody took it: no remote IRR */
	vm->intc->line(vm, 4, false);
	wr(0x19, 0xff000000);
	vm->intc->line(vm, 4, true);
	assert_int_equal(take(), 0x44);
	vm->intc->line(vm, 4, false);
	eoi();
	wr(0x1a, 0x400); /* pin 5: NMI */
	vm->intc->line(vm, 5, true);
	assert_true(vm->vcpus[0]->nmi_pending);
	wr(0x1c, 0x700); /* pin 6: ExtINT, INIT, SMI lead nowhere */
	vm->intc->line(vm, 6, true);
	assert_int_equal(take(), -1);
}

static void test_no_such_gsi(void **)
{
	vm->intc->line(vm, 24, true);
	vm->intc->line(vm, ~0u, true);
	assert_int_equal(take(), -1);
}

/* 15-bit destinations of RTE and MSI, where the guest is told of them only. */
static void test_wide_ids(void **)
{
	vm->vcpus[0]->apic_id = 0x1234;
	for (unsigned wide = 0; wide < 2; wide++) {
		vm->wide_ids = wide;
		wr(0x11, 0x34000000 | 0x12 << 17);
		assert_int_equal(rd(0x11), 0x34000000 | (wide ? 0x12 << 17 : 0));
		wr(0x10, 0x31);
		vm->intc->line(vm, 0, true);
		vm->intc->line(vm, 0, false);
		assert_int_equal(take(), wide ? 0x31 : -1);
		vm->intc->msi(vm, 0xfee34000 | 0x12 << 5, 0x32);
		if (wide)
			eoi();
		assert_int_equal(take(), wide ? 0x32 : -1);
	}
}

/* ---- line interrupts of assigned functions ---- */

#define COMMAND 0x04
#define NO_INTX BIT(10)

static struct vm_pci pci;
static struct fake_functions functions;

/* Functions with pins INTA, INTB, ... at these inputs of the host's. */
static void assign(unsigned count, const u32 *gsi)
{
	fake_functions(&pci, &functions);
	vm->pci = &pci;
	pci.nr_functions = count;
	for (unsigned i = 0; i < count; i++) {
		pci.function[i] =
			(struct host_pci_function){ .index = i, .address.devfn = (u8)(i << 3) };
		fake_host.pci_route[i].at.gsi = gsi[i];
		fake_host.pci_config[i][0x3d] = (u8)(i % 4 + 1);
		host_pci_write(i, COMMAND, 2, NO_INTX | 2);
	}
}

/*
 * The device asserts its line: the host's I/O APIC interrupts where it is open, and is masked then.
 */
static bool interrupt(u32 gsi)
{
	if (!fake_host.intx[gsi].fn || !fake_host.intx[gsi].open)
		return false;
	fake_host.intx[gsi].open = false;
	fake_host.intx[gsi].fn(fake_host.intx[gsi].arg, 0);
	return true;
}

static void test_intx(void **)
{
	static const u32 gsi[] = { 11, 19, 11 };

	assign(ARRAY_SIZE(gsi), gsi);
	for (unsigned i = 0; i < ARRAY_SIZE(gsi); i++) {
		assert_int_equal(pci_intx_create(vm, i), 0);
		assert_int_equal(pci.intx[i].pin, i);
		assert_int_equal(host_pci_read(i, COMMAND, 2), 2);
	}
	/* One line for the two that share it. */
	assert_int_equal(pci.nr_lines, 2);
	assert_int_equal(pci.intx[0].gsi, GUEST_INTX_GSI);
	assert_int_equal(pci.intx[1].gsi, GUEST_INTX_GSI + 1);
	assert_int_equal(pci.intx[2].gsi, GUEST_INTX_GSI);
	assert_true(pci.intx[0].has_gsi && pci.intx[1].has_gsi && pci.intx[2].has_gsi);
	/* Kept while the guest has its pin masked. */
	assert_true(interrupt(11));
	assert_false(interrupt(11));
	assert_int_equal(take(), -1);
	wr(0x10 + 2 * GUEST_INTX_GSI, 0x08055);
	wr(0x12 + 2 * GUEST_INTX_GSI, 0x08066);
	assert_int_equal(take(), 0x55);
	/* The other one is not held up. */
	assert_true(interrupt(19));
	assert_int_equal(take(), 0x66);
	assert_false(interrupt(11));
	assert_false(interrupt(19));
	eoi();
	assert_false(interrupt(11));
	assert_true(interrupt(19));
	assert_int_equal(take(), 0x66);
	eoi();
	eoi();
	/* Ended, and not asserted any more: no interrupt without the device. */
	assert_int_equal(take(), -1);
	assert_true(interrupt(11));
	assert_int_equal(take(), 0x55);
	/* The EOI of another vector opens nothing; one by the I/O APIC's register is as good. */
	guest_store(vm, 0xfec00040, 4, 0x56);
	assert_false(interrupt(11));
	guest_store(vm, 0xfec00040, 4, 0x55);
	assert_true(interrupt(11));
	pci_intx_destroy(&pci);
	assert_null(fake_host.intx[11].fn);
	assert_null(fake_host.intx[19].fn);
	assert_false(fake_host.intx[11].open || fake_host.intx[19].open);
}

/* More lines than pins: the last one is at the first one's. */
static void share_pin(void)
{
	static const u32 gsi[] = { 11, 19 };

	assign(2, gsi);
	assert_int_equal(pci_intx_create(vm, 0), 0);
	/* As if fifteen others came between; none of them is at a pin. */
	pci.nr_lines = GUEST_IOAPIC_PINS - GUEST_INTX_GSI;
	assert_int_equal(pci_intx_create(vm, 1), 0);
	assert_true(pci.intx[0].gsi == GUEST_INTX_GSI && pci.intx[1].gsi == GUEST_INTX_GSI);
}

static void drop_shared(void)
{
	pci.line[1] = pci.line[pci.nr_lines - 1];
	pci.nr_lines = 2;
	pci_intx_destroy(&pci);
	assert_false(fake_host.intx[11].taken || fake_host.intx[19].taken);
}

/* An EOI opens both; what is asserted still comes again. */
static void test_intx_shared(void **)
{
	share_pin();
	wr(0x10 + 2 * GUEST_INTX_GSI, 0x08055);
	assert_true(interrupt(11));
	assert_int_equal(take(), 0x55);
	/* One interrupt of the guest's is for both. */
	assert_true(interrupt(19));
	assert_int_equal(take(), -1);
	eoi();
	assert_int_equal(take(), -1);
	assert_true(interrupt(19));
	assert_int_equal(take(), 0x55);
	eoi();
	assert_true(interrupt(11));
	assert_true(interrupt(19));
	assert_int_equal(take(), 0x55);
	eoi();
	drop_shared();
}

/*
 * A guest that uses its pin as an edge, or for something else, hears nothing more; the host is not
 * troubled.
 */
static void test_intx_misused(void **)
{
	static const u32 gsi[] = { 11 };

	assign(1, gsi);
	assert_int_equal(pci_intx_create(vm, 0), 0);
	wr(0x10 + 2 * GUEST_INTX_GSI, 0x00055);
	assert_true(interrupt(11));
	assert_int_equal(take(), 0x55);
	eoi();
	assert_false(interrupt(11));
	wr(0x10 + 2 * GUEST_INTX_GSI, 0x08055);
	assert_int_equal(take(), 0x55);
	eoi();
	assert_true(interrupt(11));
	assert_int_equal(take(), 0x55);
	/* SMI, INIT, ExtINT, and a vector below 16. */
	for (unsigned mode = 0; mode < 8; mode++) {
		wr(0x10 + 2 * GUEST_INTX_GSI, 0x08005 | mode << 8);
		assert_int_equal(take(), -1);
		assert_false(interrupt(11));
	}
	/* A pin of no line's, with an input of the host's that is somebody else's. */
	wr(0x10 + 2 * (GUEST_INTX_GSI + 1), 0x08077);
	vm->intc->line(vm, GUEST_INTX_GSI + 1, true);
	assert_int_equal(take(), 0x77);
	eoi();
	for (unsigned i = 0; i < FAKE_LINES; i++)
		assert_false(fake_host.intx[i].open);
	pci_intx_destroy(&pci);
}

static void test_intx_refused(void **)
{
	static const u32 gsi[] = { 11, 12, 13, 14 };
	const struct vm_config *was = vm->config;
	static struct vm_config config;

	assign(ARRAY_SIZE(gsi), gsi);
	fake_host.intx[11].others = true;
	fake_host.pci_route[1].err = -ENOENT;
	fake_host.pci_route[2].err = -ENXIO;
	fake_host.pci_route[3].at.gsi = FAKE_LINES;
	/* What the VM file says stands, but not for a function without a pin. */
	config.pci_irq = (struct vm_config_pci_facts){
		2, { { { 0, 0, 1 << 3 }, 7 }, { { 0, 0, 2 << 3 }, 9 } }
	};
	vm->config = &config;
	assert_int_equal(pci_intx_create(vm, 1), 0);
	assert_int_equal(pci.line[0].at.gsi, 7);
	assert_non_null(fake_host.intx[7].fn);
	assert_int_equal(pci_intx_create(vm, 2), 0);
	assert_int_equal(pci.nr_lines, 1);
	pci_intx_destroy(&pci);
	pci.nr_lines = 0;
	host_pci_write(1, COMMAND, 2, NO_INTX | 2);
	vm->config = was;
	/* With messages it does without; a function without a pin asks for nothing. */
	for (unsigned i = 0; i < ARRAY_SIZE(gsi); i++) {
		fake_host.pci_cap[i][0] = (struct pci_cap){ .id = i % 2 ? 0x05 : 0x11 };
		fake_host.nr_pci_caps[i] = 1;
		assert_int_equal(pci_intx_create(vm, i), 0);
		assert_false(pci.intx[i].has_gsi);
		/* A capability of that number among the extended ones is another. */
		fake_host.pci_cap[i][0].extended = true;
		assert_int_equal(pci_intx_create(vm, i), i == 2 ? 0 : -ENODEV);
		assert_int_equal(host_pci_read(i, COMMAND, 2), NO_INTX | 2);
	}
	assert_int_equal(pci.nr_lines, 0);
	assert_non_null(
		strstr(fake_host.log, "00:00.0 is without its line interrupt: it is another VM's"));
	assert_non_null(
		strstr(fake_host.log,
		       "00:01.0 is of no use without its line interrupt: firmware does not say"));
	assert_null(strstr(fake_host.log, "00:02.0"));
	pci_intx_destroy(&pci);
}

/* ---- with interrupts = direct the machine's entries are the guest's ---- */

#define PIN(n) (u8)(0x10 + 2 * (GUEST_INTX_GSI + (n)))
#define ALWAYS 0x08000u /* what the machine has whatever the guest says: level */

static int direct_setup(void **)
{
	static const u32 ids[] = { 2, 3, 0x21 };

	fake_host_reset();
	fake_host.nr_cpus = fake_vm_vcpus = ARRAY_SIZE(ids);
	memcpy(fake_vm_apic_id, ids, sizeof(ids));
	vm = fake_vm_create(0);
	vm->direct = true;
	for (unsigned i = 0; i < ARRAY_SIZE(ids); i++)
		vm->vcpus[i]->apic_base |= 3 << 10;
	return 0;
}

static int direct_teardown(void **)
{
	vm->direct = false;
	fake_vm_destroy(vm);
	fake_vm_vcpus = 0;
	memset(fake_vm_apic_id, 0, sizeof(fake_vm_apic_id));
	return 0;
}

/*
 * Where the first line leads after that was written to the first line's entry: APIC ID << 8 |
 * vector, 0: nowhere.
 */
static u32 led(u32 high, u32 low)
{
	unsigned before = fake_host.intx[11].led;

	wr(PIN(0) + 1, high);
	wr(PIN(0), low);
	assert_int_equal(fake_host.intx[11].led, before + 2);
	/* Its own values back. */
	assert_int_equal(rd(PIN(0)), low & 0x1afff);
	assert_int_equal(rd(PIN(0) + 1), high & 0xff000000);
	return fake_host.intx[11].vector ? fake_host.intx[11].apic << 8 | fake_host.intx[11].vector
					 : 0;
}

static void direct_lines(void)
{
	static const u32 gsi[] = { 11, 19, 11 };

	assign(ARRAY_SIZE(gsi), gsi);
	for (unsigned i = 0; i < ARRAY_SIZE(gsi); i++) {
		assert_int_equal(pci_intx_create(vm, i), 0);
		assert_int_equal(host_pci_read(i, COMMAND, 2), 2);
	}
	assert_int_equal(pci.nr_lines, 2);
	assert_int_equal(pci.intx[2].gsi, GUEST_INTX_GSI);
	assert_false(fake_host.intx[11].open || fake_host.intx[11].led || fake_host.intx[19].open ||
		     fake_host.intx[19].led);
}

/*
 * Vector, destination and mask are the guest's, to CPUs of its own; nothing but fixed interrupts
 * from vector 16 on.
 */
static void test_direct_filter(void **)
{
	direct_lines();
	assert_int_equal(led(0x02000000, ALWAYS | 0x55), 0x255);
	assert_int_equal(led(0x03000000, ALWAYS | 0x10), 0x310);
	assert_int_equal(led(0x21000000, ALWAYS | 0xff), 0x21ff);
	assert_int_equal(led(0x21000000, ALWAYS | 0x100ff), 0);
	/* Others' CPUs; all are the first of its own. */
	for (u32 dest = 0; dest < 0xff; dest++)
		if (dest != 2 && dest != 3 && dest != 0x21)
			assert_int_equal(led(dest << 24, ALWAYS | 0x55), 0);
	assert_int_equal(led(0xff000000, ALWAYS | 0x55), 0x255);
	/* Logical: a cluster and a set; 8 bits are of cluster 0 only. */
	assert_int_equal(led(0x04000000, ALWAYS | 0x855), 0x255);
	assert_int_equal(led(0x08000000, ALWAYS | 0x855), 0x355);
	assert_int_equal(led(0xff000000, ALWAYS | 0x855), 0x255);
	assert_int_equal(led(0xf3000000, ALWAYS | 0x855), 0);
	assert_int_equal(led(0x21000000, ALWAYS | 0x855), 0);
	/*
	 * Delivery modes: lowest priority is fixed; SMI, NMI, INIT, ExtINT and reserved ones are
	 * nothing.
	 */
	for (u32 mode = 0; mode < 8; mode++)
		for (u32 vector = 0; vector < 0x100; vector++)
			assert_int_equal(led(0x03000000, ALWAYS | mode << 8 | vector),
					 mode < 2 && vector >= 16 ? 0x300 | vector : 0);
	/* Trigger mode and polarity are the host's to know. */
	assert_int_equal(led(0x03000000, 0x55), 0x355);
	assert_int_equal(led(0x03000000, ALWAYS | 0x2055), 0x355);
	/* Half an entry is one, too. */
	wr(PIN(0) + 1, 0x02000000);
	assert_int_equal(fake_host.intx[11].apic, 2);
	/* The other line, and pins without one. */
	assert_int_equal(fake_host.intx[19].led, 0);
	wr(PIN(1) + 1, 0x21000000);
	wr(PIN(1), ALWAYS | 0x66);
	assert_true(fake_host.intx[19].apic == 0x21 && fake_host.intx[19].vector == 0x66);
	assert_true(fake_host.intx[11].apic == 2 && fake_host.intx[11].vector == 0x55);
	for (unsigned pin = 0; pin < GUEST_IOAPIC_PINS; pin++) {
		if (pin >= GUEST_INTX_GSI && pin < GUEST_INTX_GSI + 2)
			continue;
		wr((u8)(0x11 + 2 * pin), 0x02000000);
		wr((u8)(0x10 + 2 * pin), ALWAYS | 0x77);
	}
	for (unsigned i = 0; i < FAKE_LINES; i++)
		assert_true(fake_host.intx[i].vector != 0x77 && !fake_host.intx[i].open);
	pci_intx_destroy(&pci);
	assert_false(fake_host.intx[11].taken || fake_host.intx[19].taken);
}

/* Lines at one pin lead where its entry says, all of them, and end together. */
static void test_direct_shared(void **)
{
	share_pin();
	assert_int_equal(led(0x02000000, ALWAYS | 0x55), 0x255);
	assert_true(fake_host.intx[19].apic == 2 && fake_host.intx[19].vector == 0x55);
	assert_false(pci_intx_in_service(&pci, GUEST_INTX_GSI, false));
	/* Whichever it is. */
	for (unsigned n = 0; n < 2; n++) {
		fake_host.intx[n ? 19 : 11].in_service = true;
		assert_true(pci_intx_in_service(&pci, GUEST_INTX_GSI, false));
		assert_false(pci_intx_in_service(&pci, GUEST_INTX_GSI + 1, false));
		assert_false(pci_intx_in_service(&pci, GUEST_INTX_GSI, true));
		assert_false(fake_host.intx[n ? 19 : 11].in_service);
	}
	pci_intx_close(&pci);
	assert_int_equal(fake_host.intx[11].vector | fake_host.intx[19].vector, 0);
	drop_shared();
}

/*
 * Remote IRR is the machine's, and ends by the EOI register and by the older way; a pin of the
 * monitor's has none.
 */
static void test_direct_remote_irr(void **)
{
	direct_lines();
	assert_int_equal(led(0x02000000, ALWAYS | 0x55), 0x255);
	wr(PIN(1) + 1, 0x02000000);
	wr(PIN(1), ALWAYS | 0x66);
	fake_host.intx[11].in_service = fake_host.intx[19].in_service = true;
	/* An edge, as all are at first, has none. */
	fake_host.intx[11].ended = fake_host.intx[19].ended = 0;
	assert_int_equal(rd(PIN(0)), ALWAYS | 0x4055);
	assert_int_equal(rd(PIN(0) + 1), 0x02000000);
	assert_int_equal(rd(PIN(2)), 0x10000);
	/* Masking it, another vector: it stays. */
	wr(PIN(0), ALWAYS | 0x14057);
	assert_int_equal(rd(PIN(0)), ALWAYS | 0x14057);
	guest_store(vm, 0xfec00040, 4, 0x55);
	assert_true(fake_host.intx[11].in_service && fake_host.intx[19].in_service);
	guest_store(vm, 0xfec00040, 4, 0x57);
	assert_int_equal(rd(PIN(0)), ALWAYS | 0x10057);
	assert_int_equal(fake_host.intx[11].ended, 1);
	assert_true(fake_host.intx[19].in_service);
	wr(PIN(1), 0x10066);
	assert_int_equal(rd(PIN(1)), 0x10066);
	assert_int_equal(fake_host.intx[19].ended, 1);
	wr(PIN(1), ALWAYS | 0x66);
	assert_int_equal(fake_host.intx[19].ended, 1);
	/* The monitor's own lines go on as messages. */
	wr(0x19, 0x03000000);
	wr(0x18, 0x44);
	vm->vcpus[1]->lapic->svr |= LAPIC_SVR_ENABLE;
	vm->intc->line(vm, 4, true);
	assert_int_equal(rd(0x18), 0x44);
	pci_intx_destroy(&pci);
}

/* The VM has ended, but others of its CPUs have not left the guest yet. */
static void test_direct_close(void **)
{
	direct_lines();
	assert_int_equal(led(0x02000000, ALWAYS | 0x55), 0x255);
	wr(PIN(1) + 1, 0x03000000);
	wr(PIN(1), ALWAYS | 0x66);
	fake_host.intx[11].in_service = fake_host.intx[19].in_service = true;
	vm->end = VM_END_STOPPED;
	pci_intx_close(&pci);
	for (unsigned gsi = 11; gsi <= 19; gsi += 8)
		assert_false(fake_host.intx[gsi].vector || fake_host.intx[gsi].in_service);
	assert_int_equal(led(0x02000000, ALWAYS | 0x55), 0);
	assert_int_equal(led(0x03000000, 0x55), 0);
	pci_intx_destroy(&pci);
}

/* A VM with the monitor's local APICs leads nothing there. */
static void test_emulated_does_not_lead(void **)
{
	static const u32 gsi[] = { 11 };

	assign(1, gsi);
	assert_int_equal(pci_intx_create(vm, 0), 0);
	wr(PIN(0), ALWAYS | 0x55);
	fake_host.intx[11].in_service = true;
	assert_int_equal(rd(PIN(0)), ALWAYS | 0x55);
	guest_store(vm, 0xfec00040, 4, 0x55);
	assert_false(fake_host.intx[11].led || fake_host.intx[11].ended);
	pci_intx_destroy(&pci);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_edge, setup, teardown),
		cmocka_unit_test_setup_teardown(test_level, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remote_irr, setup, teardown),
		cmocka_unit_test_setup_teardown(test_eoi_register, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destination_and_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_such_gsi, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wide_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_intx, setup, teardown),
		cmocka_unit_test_setup_teardown(test_intx_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_intx_misused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_intx_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_direct_shared, direct_setup, direct_teardown),
		cmocka_unit_test_setup_teardown(test_direct_filter, direct_setup, direct_teardown),
		cmocka_unit_test_setup_teardown(test_direct_remote_irr, direct_setup,
						direct_teardown),
		cmocka_unit_test_setup_teardown(test_direct_close, direct_setup, direct_teardown),
		cmocka_unit_test_setup_teardown(test_emulated_does_not_lead, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
