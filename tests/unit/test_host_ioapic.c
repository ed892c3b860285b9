/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: kernel/pci/pci_lines.c */
/*
 * The machine's I/O APICs, and lines of devices that lead to guests' own local
 * APICs, before a model of a controller: 82093AA data sheet, 3.2.4; the later
 * kind does not end an interrupt by a change of its trigger mode, but has a
 * register for that (Intel 100 series PCH data sheet, vol. 2).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/insn.h"
#include "kernel/pci/pci_remapping.h"
#include "kernel/percpu.h"

#define PINS 24
#define BASE 16 /* GSI of the first one */
#define GSI 20
#define PIN (GSI - BASE)
#define LOW 0x2000u
#define REMOTE_IRR 0x4000u
#define LEVEL 0x8000u
#define MASKED 0x10000u

static u8 registers[0x44];
static struct {
	u32 version;
	u32 select;
	u32 low[PINS];
	u32 high[PINS];
	bool asserted[PINS];
	/* Interrupts, and those of them that have the wanted destination and vector. */
	unsigned sent;
	unsigned right;
	u8 apic;
	u8 vector;
	unsigned unread; /* writes since the last read */
} device;

/* Level-triggered inputs that are asserted, open and not in service are sent. */
static void send(void)
{
	for (unsigned i = 0; i < PINS; i++) {
		if (!device.asserted[i] || (device.low[i] & (MASKED | LEVEL | REMOTE_IRR)) != LEVEL)
			continue;
		device.low[i] |= REMOTE_IRR;
		device.sent++;
		device.right +=
			device.high[i] >> 24 == device.apic && (u8)device.low[i] == device.vector;
	}
}

/* An EOI as CPUs broadcast it. */
static void eoi(u8 vector)
{
	for (unsigned i = 0; i < PINS; i++)
		if ((u8)device.low[i] == vector && device.low[i] & LEVEL)
			device.low[i] &= ~REMOTE_IRR;
	send();
}

static u32 fake_mmio_read32(const volatile void *p)
{
	u32 n = device.select - 0x10;

	assert_ptr_equal(p, registers + 0x10);
	device.unread = 0;
	if (device.select == 1)
		return device.version;
	assert_true(n < 2 * PINS);
	return n % 2 ? device.high[n / 2] : device.low[n / 2];
}

static void fake_mmio_write32(volatile void *p, u32 value)
{
	size_t at = (size_t)((volatile u8 *)p - registers);
	u32 n = device.select - 0x10;

	if (at == 0) {
		device.select = value;
		return;
	}
	device.unread++;
	if (at == 0x40 && (device.version & 0xff) >= 0x20) {
		eoi((u8)value);
		return;
	}
	assert_int_equal(at, 0x10);
	assert_true(n < 2 * PINS);
	if (n % 2) {
		device.high[n / 2] = value;
	} else {
		u32 kept = device.low[n / 2] & REMOTE_IRR;

		/* Whatever is open is level-triggered, or an NMI. */
		assert_true(value & (LEVEL | MASKED) || (value & 0x700) == 0x400);
		if (!(value & LEVEL) && (device.version & 0xff) < 0x20)
			kept = 0;
		device.low[n / 2] = (value & ~REMOTE_IRR) | kept;
	}
	send();
}

#define mmio_read32 fake_mmio_read32
#define mmio_write32 fake_mmio_write32
#include "arch/x86_64/cpu/ioapic.c"
#include "arch/x86_64/cpu/ioapic_line.c"

void *mmio_map_type(u64 pa, u64 size, bool)
{
	assert_int_equal(pa, 0xfec00000);
	return size <= sizeof(registers) ? registers : NULL;
}

void upcall_log(const char *, ...) { }

/* Interrupts are not remapped: test_ioapic_remap.c has that. */
const struct interrupt_remapping *interrupt_remapping;

int upcall_route(u32, u32 apic_id, u64 *)
{
	return apic_id < 0xff ? 0 : -ERANGE;
}

struct cpu *cpu_get(unsigned id)
{
	static struct cpu cpu;

	cpu.apic_id = id;
	return &cpu;
}

int host_msi_alloc(unsigned, unsigned, void (*)(void *arg, unsigned n), void *, struct host_msi *)
{
	fail();
	return 0;
}

void host_msi_free(struct host_msi *v)
{
	assert_int_equal(v->count, 0);
}

static const struct host_intx line = { GSI, true };

/* A controller of that version, whose inputs firmware has left open. */
static void begin(u32 version)
{
	memset(&device, 0, sizeof(device));
	device.version = (PINS - 1) << 16 | version;
	nr_ioapics = 0;
	for (unsigned i = 0; i < PINS; i++)
		device.low[i] = 0x30 + i;
	assert_int_equal(ioapic_add(0xfec00000, BASE), 0);
}

static int early(void **)
{
	begin(0x11);
	return 0;
}

static int later(void **)
{
	begin(0x20);
	return 0;
}

static int end(void **)
{
	host_intx_release(GSI);
	return 0;
}

/* Leads the line there; nothing else is ever sent meanwhile. */
static void lead(u8 apic, u8 vector)
{
	unsigned wrong = device.sent - device.right;

	device.apic = apic;
	device.vector = vector;
	host_intx_lead(&line, apic, vector);
	assert_int_equal(device.sent - device.right, wrong);
}

static void test_add(void **)
{
	for (unsigned i = 0; i < PINS; i++)
		assert_int_equal(device.low[i], MASKED);
	assert_int_equal(ioapic_route_level(BASE - 1, 1, 0x40, false), -ENODEV);
	assert_int_equal(ioapic_route_level(BASE + PINS, 1, 0x40, false), -ENODEV);
	device.version = ~0u;
	assert_int_equal(ioapic_add(0xfec00000, 0), -EINVAL);
}

/*
 * What firmware has as an SMI stays as it is, and is nobody's; one that it has masked is free, and
 * so is any other mode.
 */
static void test_smi(void **)
{
	memset(&device, 0, sizeof(device));
	device.version = (PINS - 1) << 16 | 0x20;
	nr_ioapics = 0;
	for (unsigned i = 0; i < PINS; i++)
		device.low[i] = i << 8 & 0x700;
	device.low[PIN] = 0x200 | LOW | LEVEL;
	device.high[PIN] = 0x05000000;
	device.low[18] = 0x200 | MASKED;
	assert_int_equal(ioapic_add(0xfec00000, BASE), 0);
	for (unsigned i = 0; i < PINS; i++) {
		u32 is = i % 8 == 2 && i != 18 ? 0x200 : MASKED;

		assert_int_equal(device.low[i], i == PIN ? 0x200 | LOW | LEVEL : is);
	}
	assert_int_equal(ioapic_route_nmi(GSI, 1, false), -EBUSY);
	assert_int_equal(ioapic_route_level(GSI, 1, 0x40, true), -EBUSY);
	assert_true(device.low[PIN] == (0x200 | LOW | LEVEL) && device.high[PIN] == 0x05000000);
	assert_int_equal(ioapic_route_nmi(BASE + 18, 1, false), 0);
}

/* Edges to one CPU; two that are one input; 255 would be all CPUs. */
static void test_nmi(void **)
{
	assert_int_equal(ioapic_route_nmi(GSI, 0xff, true), -ERANGE);
	assert_int_equal(device.low[PIN], MASKED);
	assert_int_equal(ioapic_route_nmi(GSI, 7, true), 0);
	assert_int_equal(device.low[PIN], LOW | 0x400);
	assert_int_equal(device.high[PIN], 7u << 24);
	assert_int_equal(ioapic_route_nmi(GSI, 7, true), 0);
	assert_int_equal(ioapic_route_nmi(GSI, 7, false), -EBUSY);
	assert_int_equal(host_intx_take(&line, 0, NULL, NULL), -EBUSY);
	ioapic_mask(GSI, true);
}

/*
 * Taken masked, then the guest's: from one CPU and vector to another with the line asserted, and
 * never a mixture of two.
 */
static void test_lead(void **)
{
	assert_int_equal(host_intx_take(&line, 0, NULL, NULL), 0);
	assert_int_equal(device.low[PIN], MASKED | LEVEL | LOW);
	device.asserted[PIN] = true;
	lead(3, 0x41);
	assert_int_equal(device.low[PIN], REMOTE_IRR | LEVEL | LOW | 0x41);
	assert_int_equal(device.high[PIN], 3u << 24);
	assert_int_equal(device.right, 1);
	assert_true(host_intx_in_service(GSI, false));
	eoi(0x42);
	assert_int_equal(device.right, 1);
	eoi(0x41);
	assert_int_equal(device.right, 2);
	/* Not ended: it does not come again. */
	lead(0, 0);
	assert_true(device.low[PIN] & MASKED);
	lead(3, 0x41);
	assert_int_equal(device.right, 2);
	eoi(0x41);
	lead(0, 0);
	eoi(0x41);
	assert_int_equal(device.sent, 3);
	assert_false(host_intx_in_service(GSI, false));
	lead(9, 0xfe);
	assert_int_equal(device.right, 4);
	eoi(0xfe);
	for (u8 i = 1; i < 100; i++) {
		lead(i, 0x40 + i);
		eoi(0x40 + i);
	}
	device.asserted[PIN] = false;
	eoi(0x40 + 99);
	assert_int_equal(device.sent, device.right);
	assert_false(host_intx_in_service(GSI, false));
	/* What would be all CPUs, and an input of no controller's. */
	device.asserted[PIN] = true;
	host_intx_lead(&line, 0xff, 0x41);
	host_intx_lead(&(struct host_intx){ 200, false }, 3, 0x41);
	assert_int_equal(device.sent, device.right);
	assert_true(device.low[PIN] & MASKED);
	assert_false(host_intx_in_service(200, false));
	assert_false(host_intx_in_service(200, true));
}

/* Without a CPU's EOI, and nothing else is changed; what was written has arrived. */
static void test_end(void **)
{
	assert_int_equal(host_intx_take(&line, 0, NULL, NULL), 0);
	device.asserted[PIN] = true;
	lead(3, 0x41);
	/* Still asserted, it comes again. */
	assert_true(host_intx_in_service(GSI, true));
	assert_int_equal(device.unread, 0);
	assert_int_equal(device.low[PIN], REMOTE_IRR | LEVEL | LOW | 0x41);
	assert_int_equal(device.right, 2);
	assert_int_equal(device.sent, 2);
	lead(0, 0);
	assert_true(host_intx_in_service(GSI, false));
	assert_false(host_intx_in_service(GSI, true));
	assert_false(host_intx_in_service(GSI, false));
	assert_int_equal(device.low[PIN], MASKED | LEVEL | LOW | 0x41);
	assert_int_equal(device.sent, 2);
	host_intx_release(GSI);
	assert_true(device.low[PIN] & MASKED);
}

#define BOTH(test) \
	cmocka_unit_test_setup_teardown(test, early, end), \
		cmocka_unit_test_setup_teardown(test, later, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_add),
		BOTH(test_nmi),
		BOTH(test_lead),
		BOTH(test_end),
		cmocka_unit_test(test_smi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
