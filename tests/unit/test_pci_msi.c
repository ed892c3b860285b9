/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/pci/pci_msi.c vmm/pci/pci_config.c vmm/pci/pci_rules.c vmm/dev/apic/lapic_ipi.c tests/unit/fake_host.c tests/unit/fake_pci.c */
/*
 * MSI and MSI-X of an assigned function: what its device is given, and what arrives in the guest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <margay/errno.h>
#include "tests/unit/fake_host.h"
#include "vmm/dev/apic/lapic.h"
#include "vmm/pci/pci_device.h"
#include "vmm/vcpu.h"
#include "vmm/vm.h"
#include "vmm/vm/intc.h"

#define MSI 0x50
#define MSIX 0x70
#define ENTRIES 65
#define TABLE 0x2000

static struct vm vm;
static struct vcpu vcpus[2], *by_id[2];
static struct lapic lapics[2];
static struct pci_device dev;
static struct host_pci_function function;
static u32 registers[FAKE_REGISTERS / 4];

/* What the local APICs take. */
static unsigned taken_on, taken_vector, taken;

void lapic_set_irr(struct lapic *l, u8 vector, bool)
{
	taken_on = l->vcpu->id;
	taken_vector = vector;
	taken++;
}

void lapic_error(struct lapic *, u32) { }

void vcpu_kick(struct vcpu *) { }

void vcpu_init_ipi(struct vcpu *)
{
	fail();
}

void vcpu_sipi(struct vcpu *, u8)
{
	fail();
}

static const struct intc_ops intc = { .msi = lapic_msi, .msi_vcpu = lapic_msi_vcpu };

static int setup(void **)
{
	static const struct pci_cap caps[] = { { 0x05, false, MSI }, { 0x11, false, MSIX } };
	static const struct pci_bar bars[PCI_BARS] = { { 0xfebf0000, 0x4000, 0 } };

	fake_host_reset();
	fake_host.nr_pci = 1;
	fake_host.registers = (u8 *)registers;
	memset(registers, 0, sizeof(registers));
	memset(&dev, 0, sizeof(dev));
	memset(&vm, 0, sizeof(vm));
	strcpy(vm.name, "vm0");
	vm.intc = &intc;
	vm.nr_vcpus = 2;
	vm.vcpus = by_id;
	for (unsigned i = 0; i < 2; i++) {
		vcpus[i] = (struct vcpu){
			.vm = &vm, .id = i, .apic_id = i, .cpu = i + 2, .lapic = &lapics[i]
		};
		vcpus[i].apic_base = APIC_BASE_EN;
		lapics[i] = (struct lapic){ .vcpu = &vcpus[i], .svr = LAPIC_SVR_ENABLE };
		by_id[i] = &vcpus[i];
	}
	function = (struct host_pci_function){ .bar[0] = { 0xfebf0000, 0x4000, 0 } };
	fake_host.pci[0] = function;
	host_pci_write(0, MSI, 4, 0x00847005); /* 64-bit, 4 messages */
	host_pci_write(0, MSIX, 4, (ENTRIES - 1) << 16 | 0x11);
	host_pci_write(0, MSIX + 4, 4, TABLE);
	host_pci_write(0, MSIX + 8, 4, TABLE + 0x1000);
	host_pci_write(0, 0x34, 1, MSI);
	dev.vm = &vm;
	dev.host = &function;
	assert_int_equal(pci_config_init(&dev.config, &fake_pci_io, bars, false, false, caps,
					 ARRAY_SIZE(caps)),
			 0);
	assert_int_equal(pci_msi_create(&dev), 0);
	dev.bar[0].nr_traps = 1;
	dev.bar[0].trap[0] = (struct pci_trap){ TABLE, TABLE + 0x2000, (volatile u8 *)registers };
	taken = 0;
	return 0;
}

/* The same with another capability: what stands at MSI, how many entries at MSI-X. */
static void again(u32 msi, unsigned entries)
{
	static const struct pci_cap caps[] = { { 0x05, false, MSI }, { 0x11, false, MSIX } };
	static const struct pci_bar bars[PCI_BARS] = { { 0xfebf0000, 0x10000, 0 } };

	pci_msi_destroy(&dev);
	memset(&dev, 0, sizeof(dev));
	dev.vm = &vm;
	dev.host = &function;
	function.bar[0].size = 0x10000;
	host_pci_write(0, MSI, 4, msi);
	host_pci_write(0, MSIX, 4, (entries - 1) << 16 | 0x11);
	host_pci_write(0, MSIX + 8, 4, TABLE + 0x8000);
	assert_int_equal(pci_config_init(&dev.config, &fake_pci_io, bars, false, false, caps,
					 ARRAY_SIZE(caps)),
			 0);
	assert_int_equal(pci_msi_create(&dev), 0);
	dev.bar[0].nr_traps = 1;
	dev.bar[0].trap[0] = (struct pci_trap){ TABLE, TABLE + 0x9000, (volatile u8 *)registers };
}

/* The same where an IOMMU remaps interrupts. */
static void remap_interrupts(void)
{
	pci_msi_destroy(&dev);
	fake_host.remaps = true;
	assert_int_equal(pci_msi_create(&dev), 0);
}

static int teardown(void **)
{
	pci_msi_destroy(&dev);
	for (unsigned i = 0; i < FAKE_VECTORS; i++)
		assert_null(fake_host.vector[i].fn);
	for (unsigned i = 0; i < FAKE_ENTRIES; i++)
		assert_false(fake_host.entry[i].used);
	assert_int_equal(fake_host.pages_in_use, 0);
	return 0;
}

static void write_entry(unsigned i, u64 address, u32 data, u32 control)
{
	pci_msix_write(&dev, TABLE + i * 16, 8, address);
	pci_msix_write(&dev, TABLE + i * 16 + 8, 4, data);
	pci_msix_write(&dev, TABLE + i * 16 + 12, 4, control);
}

/* The device interrupts: what it sends arrives at the vector that it was given. */
static void interrupt(u32 data)
{
	assert_non_null(fake_host.vector[data].fn);
	fake_host.vector[data].fn(fake_host.vector[data].arg, fake_host.vector[data].n);
}

static void test_msix(void **)
{
	u32 *e = &registers[64 * 4], first;

	assert_true(pci_msix_owns(&dev, 0, TABLE + ENTRIES * 16 - 1));
	assert_false(pci_msix_owns(&dev, 0, TABLE + ENTRIES * 16));
	assert_false(pci_msix_owns(&dev, 0, TABLE - 1));
	write_entry(64, 0xfee01000, 0x41, 0);
	assert_int_equal(e[0], 0xfee02000 + 0x1000); /* the fake's CPU 3 */
	assert_int_equal(e[1], 0);
	assert_int_equal(e[3], 0);
	first = e[2];
	interrupt(first);
	assert_int_equal(taken, 1);
	assert_int_equal(taken_on, 1);
	assert_int_equal(taken_vector, 0x41);
	/* The guest reads its own. */
	assert_int_equal(pci_msix_read(&dev, TABLE + 64 * 16, 8), 0xfee01000);
	assert_int_equal(pci_msix_read(&dev, TABLE + 64 * 16 + 8, 8), 0x41);
	/*
	 * Moved to the other vCPU: the device's message, too. One on its way to the old place
	 * arrives as the new one.
	 */
	write_entry(64, 0xfee00000, 0x52, 0);
	assert_int_equal(e[0], 0xfee02000);
	interrupt(first);
	assert_int_equal(taken_on, 0);
	assert_int_equal(taken_vector, 0x52);
	interrupt(e[2]);
	assert_int_equal(taken, 3);
	pci_msix_write(&dev, TABLE + 64 * 16 + 12, 4, 1);
	assert_int_equal(e[3], 1);
	/* Enable bits reach the device, nothing else of the capability. */
	pci_config_write(&dev.config, MSIX, 4, 0xffffffff);
	pci_msix_update(&dev);
	assert_int_equal(host_pci_read(0, MSIX, 4), 0xc0000011 | (ENTRIES - 1) << 16);
}

/*
 * A function without a reset of its own has the entries of whoever had it before (6.8.2.9), and
 * that one's mask bits: the next one gets none of these interrupts, whatever it leaves alone.
 */
static void test_left(void **)
{
	again(0x018a7005, ENTRIES); /* with mask bits */
	for (unsigned i = 0; i < ENTRIES; i++)
		memcpy(&registers[i * 4], (const u32[]){ 0xfee05000, 1, 0x4041, 0 }, 16);
	registers[ENTRIES * 4] = 0xeeeeeeee;
	host_pci_write(0, MSI + 0x10, 4, 0xf);
	host_pci_write(0, 4, 2, 0x400);
	fake_host.decodes = true;
	pci_msi_clean(&dev);
	fake_host.decodes = false;
	for (unsigned i = 0; i < ENTRIES; i++)
		assert_memory_equal(&registers[i * 4], ((const u32[]){ 0, 0, 0, 1 }), 16);
	assert_int_equal(registers[ENTRIES * 4], 0xeeeeeeee);
	assert_int_equal(host_pci_read(0, MSI + 0x10, 4), 0);
	assert_int_equal(host_pci_read(0, 4, 2), 0x400);
	/*
	 * Of a capability of 32-bit addresses they are elsewhere; where it has none, nothing is
	 * written.
	 */
	again(0x010a7005, ENTRIES);
	host_pci_write(0, MSI + 0xc, 4, 0xf);
	host_pci_write(0, MSI + 0x10, 4, 0xf);
	pci_msi_clean(&dev);
	assert_true(!host_pci_read(0, MSI + 0xc, 4) && host_pci_read(0, MSI + 0x10, 4) == 0xf);
	again(0x00847005, ENTRIES);
	pci_msi_clean(&dev);
	assert_int_equal(host_pci_read(0, MSI + 0x10, 4), 0xf);
}

/*
 * interrupts = direct: the device has the guest's own vector and CPU, edge and fixed, and the host
 * no vector for it.
 */
static void test_direct(void **)
{
	u32 *e = &registers[64 * 4], control;

	vm.direct = true;
	vcpus[1].apic_id = 0x21;
	write_entry(64, 0xfee21008, 0xc210, 0);
	assert_int_equal(e[3], 1); /* a delivery mode that is none */
	write_entry(64, 0xfee21008, 0xc110, 0);
	assert_int_equal(e[0], 0xfee21000);
	assert_int_equal(e[1], 0);
	assert_int_equal(e[2], 0x10);
	assert_int_equal(e[3], 0);
	write_entry(64, 0xfee00000, 0xff, 0);
	assert_int_equal(e[0], 0xfee00000);
	assert_int_equal(e[2], 0xff);
	assert_int_equal(e[3], 0);
	/* Somebody else's CPU, vectors below 16, and an ID that no message reaches. */
	write_entry(64, 0xfee22000, 0x41, 0);
	assert_int_equal(e[3], 1);
	write_entry(64, 0xfee00000, 0x0f, 0);
	assert_int_equal(e[3], 1);
	write_entry(64, 0xfee00000, 0x41, 0);
	assert_int_equal(e[3], 0);
	vcpus[0].apic_id = 0xff;
	write_entry(64, 0xfeeff000, 0x41, 0);
	assert_int_equal(e[3], 1);
	/* Four messages of MSI, which differ in the low bits. */
	pci_config_write(&dev.config, MSI + 4, 4, 0xfee21000);
	pci_config_write(&dev.config, MSI + 12, 2, 0x65);
	pci_config_write(&dev.config, MSI + 2, 2, 0x21);
	pci_msi_update(&dev);
	assert_int_equal(host_pci_read(0, MSI + 4, 4), 0xfee21000);
	assert_int_equal(host_pci_read(0, MSI + 12, 2), 0x64);
	control = host_pci_read(0, MSI + 2, 2);
	assert_int_equal(control & 0x71, 0x21);
	for (unsigned i = 0; i < FAKE_VECTORS; i++)
		assert_null(fake_host.vector[i].fn);
	assert_int_equal(taken, 0);
}

static void enable_msi(u64 address, u32 data, unsigned log2)
{
	pci_config_write(&dev.config, MSI + 4, 4, (u32)address);
	pci_config_write(&dev.config, MSI + 8, 4, (u32)(address >> 32));
	pci_config_write(&dev.config, MSI + 12, 2, data);
	pci_config_write(&dev.config, MSI + 2, 2, 1 | log2 << 4);
	pci_msi_update(&dev);
}

static unsigned entries_used(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < FAKE_ENTRIES; i++)
		count += fake_host.entry[i].used;
	return count;
}

/*
 * What an entry that a message names says: the function's own, and the vector and CPU of the
 * host's.
 */
static void goes_to(u32 address, unsigned n, unsigned cpu, unsigned vector)
{
	unsigned e = (address >> 5 & 0x7fff) + n;

	assert_true((address & 0xfff00017) == 0xfee00010 && fake_host.entry[e].used);
	assert_int_equal(fake_host.entry[e].index, 0);
	assert_int_equal(fake_host.entry[e].cpu, cpu);
	assert_int_equal(fake_host.entry[e].vector, vector);
}

/* The device has the number of an entry; of what it sent before the entry is left, once. */
static void test_remapped(void **)
{
	u32 *e = &registers[64 * 4], was;
	unsigned vector;

	remap_interrupts();
	write_entry(64, 0xfee01000, 0x41, 0);
	assert_true(e[1] == 0 && e[2] == 0 && e[3] == 0);
	was = e[0];
	vector = fake_host.entry[was >> 5 & 0x7fff].vector;
	goes_to(was, 0, 3, vector);
	interrupt(vector);
	assert_true(taken_on == 1 && taken_vector == 0x41);
	/* Another vector of the guest's is none of the host's. */
	write_entry(64, 0xfee01000, 0x42, 0);
	assert_true(e[0] == was && e[3] == 0);
	assert_int_equal(entries_used(), 1);
	write_entry(64, 0xfee00000, 0x41, 0);
	assert_true(e[0] != was && e[3] == 0);
	goes_to(e[0], 0, 2, fake_host.entry[e[0] >> 5 & 0x7fff].vector);
	goes_to(was, 0, 3, vector);
	assert_int_equal(entries_used(), 2);
	write_entry(64, 0xfee01000, 0x41, 0);
	assert_int_equal(entries_used(), 2);
	/* Several, in a row. */
	enable_msi(0xfee01000, 0x44, 2);
	was = host_pci_read(0, MSI + 4, 4);
	assert_true(was & 8 && !host_pci_read(0, MSI + 12, 2) && !host_pci_read(0, MSI + 8, 4));
	vector = fake_host.entry[was >> 5 & 0x7fff].vector;
	for (unsigned n = 0; n < 4; n++) {
		goes_to(was, n, 3, vector + n);
		interrupt(vector + n);
		assert_int_equal(taken_vector, 0x44 + n);
	}
	enable_msi(0xfee01000, 0x44, 0);
	assert_false(host_pci_read(0, MSI + 4, 4) & 8);
}

/*
 * interrupts = direct: the entry has the guest's own vector, and a CPU that no other message
 * reaches.
 */
static void test_remapped_direct(void **)
{
	u32 *e = &registers[64 * 4], was;

	vm.direct = true;
	vm.wide_ids = true;
	vcpus[1].apic_id = 0x1ff;
	remap_interrupts();
	write_entry(64, 0xfeeff020, 0x41, 0);
	assert_int_equal(e[3], 1);
	fake_host.wide = true;
	write_entry(64, 0xfeeff020, 0x41, 0);
	assert_true(e[1] == 0 && e[2] == 0 && e[3] == 0);
	goes_to(e[0], 0, 3, 0x41);
	was = e[0];
	write_entry(64, 0xfeeff020, 0x41, 0);
	assert_int_equal(e[0], was);
	write_entry(64, 0xfeeff020, 0x42, 0);
	goes_to(was, 0, 3, 0x41);
	goes_to(e[0], 0, 3, 0x42);
	write_entry(64, 0xfee00000, 0x42, 0);
	goes_to(e[0], 0, 2, 0x42);
	assert_int_equal(entries_used(), 2);
	enable_msi(0xfee00000, 0x65, 2);
	for (unsigned n = 0; n < 4; n++)
		goes_to(host_pci_read(0, MSI + 4, 4), n, 2, 0x64 + n);
	enable_msi(0xfee00000, 0x64, 0);
	assert_false(host_pci_read(0, MSI + 4, 4) & 8);
}

/*
 * Without entries it stays masked, and one line says so; masked ones give theirs, but the guest's
 * own.
 */
static void test_no_entries(void **)
{
	fake_host.remaps = true;
	for (unsigned direct = 0; direct < 2; direct++) {
		pci_msi_destroy(&dev);
		assert_int_equal(pci_msi_create(&dev), 0);
		vm.direct = direct;
		vm.lines.free = 0;
		fake_host.log[0] = '\0';
		memset(registers, 0, sizeof(registers));
		for (unsigned i = 0; i < FAKE_ENTRIES; i++)
			fake_host.entry[i].used = i != 5;
		write_entry(0, 0xfee01000, 0x41, 0);
		assert_true(registers[3] == 0 && registers[0] == (0xfee00010 | 5 << 5));
		write_entry(1, 0xfee01000, 0x41, 0);
		assert_int_equal(registers[7], 1);
		assert_non_null(strstr(fake_host.log, "no interrupt vectors left"));
		/* A guest may try for ever; the log has some of it. */
		for (unsigned i = 0; i < 2 * LOG_LIMIT_BURST; i++)
			write_entry(1, 0xfee01000, 0x41, 0);
		fake_host.log[0] = '\0';
		write_entry(1, 0xfee01000, 0x41, 0);
		assert_string_equal(fake_host.log, "");
		if (!direct) {
			write_entry(0, 0xfee01000, 0x41, 1);
			write_entry(1, 0xfee01000, 0x41, 0);
			assert_true(registers[7] == 0 && registers[4] == (0xfee00010 | 5 << 5));
		}
		for (unsigned i = 0; i < FAKE_ENTRIES; i++)
			fake_host.entry[i].used = i == 5;
	}
}

/*
 * As many entries as there are for it: a guest sees a smaller table, and can do nothing with the
 * rest of it.
 */
static void test_fewer_entries(void **)
{
	fake_host.entries = 64;
	remap_interrupts();
	assert_true(fake_host.reserved == 2 * ENTRIES && dev.served_msix == 63);
	assert_non_null(strstr(fake_host.log, "MSI-X 63 of 65"));
	assert_int_equal(pci_config_read(&dev.config, MSIX + 2, 2), 62);
	assert_true(pci_msix_owns(&dev, 0, TABLE + 64 * 16));
	write_entry(64, 0xfee01000, 0x41, 0);
	assert_int_equal(registers[64 * 4], 0);
	assert_true(pci_msix_read(&dev, TABLE + 64 * 16, 4) == 0 &&
		    pci_msix_read(&dev, TABLE + 64 * 16 + 12, 4) == 1);
	/* All that it sees work, and move, one after the other. */
	for (unsigned to = 0; to < 2; to++)
		for (unsigned i = 0; i < 63; i++) {
			write_entry(i, 0xfee00000 | to << 12, 0x41, 0);
			assert_true(registers[i * 4 + 3] == 0);
			goes_to(registers[i * 4], 0, 2 + to,
				fake_host.entry[registers[i * 4] >> 5 & 0x7fff].vector);
		}
	/* After a reset it is as small. */
	host_pci_write(0, MSIX, 4, (ENTRIES - 1) << 16 | 0x11);
	pci_msi_reset(&dev);
	assert_int_equal(pci_config_read(&dev.config, MSIX + 2, 2), 62);
	pci_config_write(&dev.config, MSIX + 2, 2, 0xffff);
	assert_int_equal(pci_config_read(&dev.config, MSIX + 2, 2), 0xc000 | 62);
	pci_msi_destroy(&dev);
	assert_int_equal(fake_host.released, 64);
	/* None: it is not started, with a line. */
	fake_host.reserve = -ENOSPC;
	assert_int_equal(pci_msi_create(&dev), -ENOSPC);
	assert_non_null(strstr(fake_host.log, "no entries left for its interrupts"));
	fake_host.reserve = -ENOMEM;
	assert_true(pci_msi_create(&dev) < 0);
	fake_host.reserve = 0;
	assert_int_equal(pci_msi_create(&dev), 0);
}

/* Nothing of it may reach the device, whose entry stays masked. */
static void test_garbage(void **)
{
	static const struct {
		u64 address;
		u32 data;
	} bad[] = {
		{ 0xfee00000, 0x0f }, /* vector below 16 */
		{ 0xfee00000, 0x241 }, { 0xfee00000, 0x441 }, /* SMI, NMI */
		{ 0xfee00000, 0x541 }, { 0xfee00000, 0x741 }, /* INIT, ExtINT */
		{ 0xfee05000, 0x41 }, /* somebody else's CPU */
		{ 0xfed00000, 0x41 },  { 0x1fee00000, 0x41 }, { 0, 0 }, { ~0ull, ~0u },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		write_entry(i, bad[i].address, bad[i].data, 0);
		assert_int_equal(registers[i * 4 + 3], 1);
		assert_int_equal(registers[i * 4], 0);
		assert_int_equal(registers[i * 4 + 2], 0);
	}
	/* A good one that becomes bad while it is open. */
	write_entry(3, 0xfee00000, 0x41, 0);
	assert_int_equal(registers[3 * 4 + 3], 0);
	pci_msix_write(&dev, TABLE + 3 * 16 + 8, 4, 0x400);
	assert_int_equal(registers[3 * 4 + 3], 1);
	/* Sizes that the specification leaves undefined. */
	memset(registers, 0xee, sizeof(registers));
	pci_msix_write(&dev, TABLE + 1, 1, 0xff);
	pci_msix_write(&dev, TABLE + 2, 2, ~0ull);
	assert_int_equal(registers[0], 0xeeeeeeee);
	assert_int_equal(registers[3], 0xeeeeeeee);
	assert_int_equal(pci_msix_read(&dev, TABLE, 4), bad[0].address);
}

/* Which read of what size and place finds which bytes: those that a larger one does. */
static void test_msix_bytes(void **)
{
	u8 bytes[32];

	write_entry(0, 0xfee01000, 0x12345678, 1);
	write_entry(1, 0x1234fee02000, 0x9abc0042, 1);
	for (unsigned i = 0; i < sizeof(bytes) / 4; i++) {
		u32 word = (u32)pci_msix_read(&dev, TABLE + i * 4, 4);

		memcpy(bytes + i * 4, &word, 4);
	}
	assert_true(bytes[1] == 0x10 && bytes[8] == 0x78 && bytes[11] == 0x12 && bytes[12] == 1 &&
		    bytes[20] == 0x34);
	for (unsigned size = 1; size <= 8; size *= 2)
		for (unsigned at = 0; at < sizeof(bytes); at += size) {
			u64 want = 0;

			memcpy(&want, bytes + at, size);
			assert_int_equal(pci_msix_read(&dev, TABLE + at, size), want);
		}
}

static void test_msi(void **)
{
	u32 data;

	enable_msi(0xfee01000, 0x44, 2);
	assert_int_equal(host_pci_read(0, MSI + 2, 2) & 0x71, 0x21);
	assert_int_equal(host_pci_read(0, MSI + 4, 4), 0xfee03000);
	assert_int_equal(host_pci_read(0, MSI + 8, 4), 0);
	data = host_pci_read(0, MSI + 12, 2);
	assert_int_equal(data & 3, 0);
	for (unsigned n = 0; n < 4; n++) {
		interrupt(data + n);
		assert_int_equal(taken_vector, 0x44 + n);
		assert_int_equal(taken_on, 1);
	}
	/* Fewer than it had; then garbage; then off. */
	enable_msi(0xfee00000, 0x60, 0);
	assert_int_equal(host_pci_read(0, MSI + 2, 2) & 0x71, 0x01);
	assert_int_equal(host_pci_read(0, MSI + 4, 4), 0xfee02000);
	enable_msi(0xfee00000, 0x460, 0);
	assert_int_equal(host_pci_read(0, MSI + 2, 2) & 1, 0);
	enable_msi(0xfee00000, 0x61, 0);
	assert_int_equal(host_pci_read(0, MSI + 2, 2) & 1, 1);
	pci_config_write(&dev.config, MSI + 2, 2, 0);
	pci_msi_update(&dev);
	assert_int_equal(host_pci_read(0, MSI + 2, 2) & 1, 0);
}

/*
 * The most messages that there are, in a capability of 32-bit addresses; a mask bit each, which are
 * the device's own.
 */
static void test_msi_32(void **)
{
	u32 data;

	again(0x010a7005, 1);
	pci_config_write(&dev.config, MSI + 4, 4, 0xfee01000);
	pci_config_write(&dev.config, MSI + 8, 2, 0x47); /* its low bits are the message's number */
	pci_config_write(&dev.config, MSI + 2, 2, 0x51);
	pci_msi_update(&dev);
	assert_int_equal(host_pci_read(0, MSI + 2, 2) & 0x71, 0x51);
	assert_int_equal(host_pci_read(0, MSI + 4, 4), 0xfee03000);
	data = host_pci_read(0, MSI + 8, 2);
	assert_int_equal(data % 32, 0);
	for (unsigned n = 0; n < 32; n++) {
		interrupt(data + n);
		assert_int_equal(taken_vector, 0x40 + n);
		assert_int_equal(taken_on, 1);
	}
	assert_int_equal(taken, 32);
	pci_config_write(&dev.config, MSI + 0xc, 4, 0xa5a5a5a5);
	assert_int_equal(host_pci_read(0, MSI + 0xc, 4), 0xa5a5a5a5);
	/* More than it has are not given; six bits' worth is reserved. */
	host_pci_write(0, MSI, 4, 0x00027005);
	pci_config_write(&dev.config, MSI + 2, 2, 0x61);
	pci_msi_update(&dev);
	assert_int_equal(host_pci_read(0, MSI + 2, 2) & 0x71, 0x11);
}

/*
 * 2048 entries, each moved between the vCPUs while it is open; more than there are vectors, so that
 * masked ones give theirs.
 */
static void test_large_table(void **)
{
	u32 *e = registers;

	again(0x00847005, 2048);
	assert_true(pci_msix_owns(&dev, 0, TABLE + 2048 * 16 - 1));
	assert_false(pci_msix_owns(&dev, 0, TABLE + 2048 * 16));
	for (unsigned i = 0; i < 2048; i++, e += 4) {
		for (unsigned move = 0; move < 4; move++) {
			unsigned to = (i + move) % 2, before = taken;

			write_entry(i, 0xfee00000 | to << 12, 0x30 + (i + 7 * move) % 200, 0);
			assert_int_equal(e[3], 0);
			interrupt(e[2]);
			assert_int_equal(taken, before + 1);
			assert_int_equal(taken_on, to);
			assert_int_equal(taken_vector, 0x30 + (i + 7 * move) % 200);
		}
		pci_msix_write(&dev, TABLE + i * 16 + 12, 4, 1);
		assert_int_equal(e[3], 1);
	}
	assert_null(strstr(fake_host.log, "no interrupt vectors left"));
}

/* While the guest changes an entry, an interrupt means what it meant before, not half of each. */
static void test_half_changed(void **)
{
	u32 data;

	write_entry(2, 0xfee00000, 0x41, 0);
	data = registers[2 * 4 + 2];
	pci_msix_write(&dev, TABLE + 2 * 16 + 12, 4, 1);
	pci_msix_write(&dev, TABLE + 2 * 16, 4, 0xfee01000);
	interrupt(data);
	assert_int_equal(taken_on, 0);
	assert_int_equal(taken_vector, 0x41);
	pci_msix_write(&dev, TABLE + 2 * 16 + 8, 4, 0x77);
	interrupt(data);
	assert_int_equal(taken_on, 0);
	assert_int_equal(taken_vector, 0x41);
	pci_msix_write(&dev, TABLE + 2 * 16 + 12, 4, 0);
	interrupt(data);
	assert_int_equal(taken_on, 1);
	assert_int_equal(taken_vector, 0x77);
}

/* Vectors run out: what cannot be had stays masked, the rest works. */
static void test_exhaustion(void **)
{
	unsigned open = 0;

	for (unsigned i = 0; i < ENTRIES; i++) {
		write_entry(i, 0xfee00000, 0x41 + i, 0);
		open += registers[i * 4 + 3] == 0;
	}
	assert_int_equal(open, FAKE_VECTORS);
	/* Said once, however often the guest tries. */
	assert_non_null(strstr(fake_host.log, "no interrupt vectors left"));
	assert_null(strstr(strstr(fake_host.log, "no interrupt vectors left") + 1,
			   "no interrupt vectors left"));
	write_entry(0, 0xfee00000, 0x41, 1);
	write_entry(64, 0xfee00000, 0x99, 0);
	assert_int_equal(registers[64 * 4 + 3], 0);
}

static void test_table_outside(void **)
{
	pci_msi_destroy(&dev);
	dev.msix = NULL;
	host_pci_write(0, MSIX + 4, 4, 0x3c00); /* 65 entries end behind the BAR */
	assert_true(pci_msi_create(&dev) < 0);
	host_pci_write(0, MSIX + 4, 4, TABLE | 7);
	assert_true(pci_msi_create(&dev) < 0);
	host_pci_write(0, MSIX + 4, 4, TABLE | 1); /* no such BAR */
	assert_true(pci_msi_create(&dev) < 0);
	dev.nr_msix = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_msix, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_direct, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remapped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remapped_direct, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fewer_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_garbage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_msix_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_msi, setup, teardown),
		cmocka_unit_test_setup_teardown(test_msi_32, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_half_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exhaustion, setup, teardown),
		cmocka_unit_test_setup_teardown(test_table_outside, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
