/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: -D_GNU_SOURCE @tests/unit/guest_acpi.sources */
/*
 * The guest's ACPI tables: structure and checksums here, and ACPICA's iasl as the independent
 * reader.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <margay/pci.h>
#include <margay/acpi.h>
#include "vmm/acpi/acpi_build.h"

#define BASE 0x90000ull
#define CPUS 300

static u8 area[0x10000];
static u64 rsdp;

/* No two alike off the diagonal: nothing is symmetric. */
static const u8 distances[] = { 10, 21, 31, 22, 10, 25, 33, 27, 10 };
static const struct acpi_guest_memory memory[] = {
	{ 0, 0xa0000, 0 },
	{ 0x100000, 0x3ff00000, 0 },
	{ 0x100000000, 0x40000000, 1 },
	{ 0x8000000000, 0x80000000, 2 },
};
static struct acpi_guest_cpu cpus[CPUS];

static struct acpi_guest input(unsigned nr_cpus, u32 first_id)
{
	for (unsigned i = 0; i < nr_cpus; i++)
		cpus[i] = (struct acpi_guest_cpu){ .apic_id = first_id + i, .node = i % 3 };
	return (struct acpi_guest){
		.cpus = cpus,
		.nr_cpus = nr_cpus,
		.memory = memory,
		.nr_memory = ARRAY_SIZE(memory),
		.nr_nodes = 3,
		.distances = distances,
		.uart = true,
		.ioapic = true,
		.power = true,
		.watchdog = true,
	};
}

static void build(const struct acpi_guest *in)
{
	memset(area, 0xff, sizeof(area));
	assert_int_equal(acpi_build(in, BASE, area, sizeof(area), &rsdp, NULL), 0);
}

static const void *at(u64 gpa, size_t size)
{
	assert_true(gpa >= BASE && gpa - BASE <= sizeof(area) - size);
	return area + (gpa - BASE);
}

static u8 sum(const void *p, size_t n)
{
	u8 s = 0;

	for (size_t i = 0; i < n; i++)
		s += ((const u8 *)p)[i];
	return s;
}

/* A whole table by its address, its checksum verified. */
static const struct acpi_sdt *table_at(u64 gpa)
{
	const struct acpi_sdt *h = at(gpa, sizeof(*h));

	at(gpa, h->length);
	assert_int_equal(sum(h, h->length), 0);
	return h;
}

static const struct acpi_xsdt *xsdt(void)
{
	const struct acpi_rsdp *r = at(rsdp, sizeof(*r));

	assert_memory_equal(r->signature, "RSD PTR ", 8);
	assert_int_equal(r->revision, 2);
	assert_int_equal(sum(r, 20), 0);
	assert_int_equal(sum(r, 36), 0);
	assert_int_equal(rsdp % 16, 0);
	return (const struct acpi_xsdt *)table_at(r->xsdt_address);
}

static const void *find(const char *signature)
{
	const struct acpi_xsdt *x = xsdt();

	for (unsigned i = 0; i < (x->header.length - sizeof(*x)) / 8; i++) {
		const struct acpi_sdt *h = table_at(x->entry[i]);

		if (!memcmp(h->signature, signature, 4))
			return h;
	}
	fail_msg("no table %s", signature);
	return NULL;
}

static void test_fadt(void **)
{
	const struct acpi_guest in = input(1, 0);
	const struct acpi_fadt *f;

	build(&in);
	f = find("FACP");
	assert_int_equal(f->header.revision, 6);
	assert_int_equal(f->header.length, 276);
	assert_int_equal(f->iapc_boot_arch, 0x04);
	assert_int_equal(f->century, 0x32);
	assert_true(f->flags & 1 << 20);
	assert_true(f->flags & 1 << 10);
	assert_int_equal(f->reset_reg.space_id, 1);
	assert_int_equal(f->reset_reg.address, 0x602);
	assert_int_equal(f->reset_value, 6);
	assert_int_equal(f->sleep_control_reg.address, 0x600);
	assert_int_equal(f->sleep_status_reg.address, 0x601);
	assert_memory_equal(table_at(f->x_dsdt)->signature, "DSDT", 4);
}

static bool dsdt_names(const char *what)
{
	const struct acpi_fadt *f = find("FACP");
	const struct acpi_sdt *dsdt = table_at(f->x_dsdt);

	return memmem(dsdt + 1, dsdt->length - sizeof(*dsdt), what, strlen(what)) != NULL;
}

/* No table promises a device that the image has left out. */
static void test_absent_devices(void **)
{
	struct acpi_guest in = input(1, 0);
	const struct acpi_fadt *f;
	const struct acpi_madt *m;
	u32 length;

	build(&in);
	assert_true(dsdt_names("_S5_") && dsdt_names("COM0"));
	length = xsdt()->header.length;
	in.power = in.uart = in.ioapic = in.watchdog = false;
	build(&in);
	assert_int_equal(xsdt()->header.length, length - 8); /* WDAT's */
	assert_false(dsdt_names("_S5_") || dsdt_names("COM0"));
	f = find("FACP");
	assert_false(f->flags & 1 << 10);
	assert_int_equal(f->reset_reg.address, 0);
	assert_int_equal(f->sleep_control_reg.address, 0);
	assert_int_equal(f->sleep_status_reg.address, 0);
	m = find("APIC");
	assert_int_equal(m->header.length, sizeof(*m) + sizeof(struct acpi_madt_lapic));
}

static void test_madt_small_ids(void **)
{
	const struct acpi_guest in = input(255, 0);
	const struct acpi_madt *m;
	const u8 *p, *end;
	unsigned n = 0, ioapics = 0;

	build(&in);
	m = find("APIC");
	assert_int_equal(m->lapic_address, 0xfee00000);
	assert_int_equal(m->flags, 0);
	end = (const u8 *)m + m->header.length;
	for (p = (const u8 *)(m + 1); p < end; p += p[1]) {
		assert_true(p[1] >= 2);
		if (p[0] == 0) {
			assert_int_equal(p[1], 8);
			assert_int_equal(p[2], n);
			assert_int_equal(p[3], n);
			assert_int_equal(p[4], 1);
			n++;
		} else {
			assert_int_equal(p[0], 1);
			assert_memory_equal(p + 4, "\0\0\xc0\xfe\0\0\0", 8);
			ioapics++;
		}
	}
	assert_ptr_equal(p, end);
	assert_int_equal(n, 255);
	assert_int_equal(ioapics, 1);
}

static void test_madt_large_ids(void **)
{
	const struct acpi_guest in = input(2, 254);
	const struct acpi_madt *m;
	const struct acpi_madt_x2apic *x;

	build(&in);
	m = find("APIC");
	x = (const struct acpi_madt_x2apic *)(m + 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(x[i].sub.type, 9);
		assert_int_equal(x[i].sub.length, 16);
		assert_int_equal(x[i].apic_id, 254 + i);
		assert_int_equal(x[i].uid, i);
	}
}

static void test_srat_slit(void **)
{
	const struct acpi_guest in = input(2, 0);
	const struct acpi_slit *l;
	const struct acpi_srat *s;
	const struct acpi_srat_memory *m;

	build(&in);
	l = find("SLIT");
	assert_int_equal(l->count, 3);
	assert_int_equal(l->header.length, sizeof(*l) + 9);
	assert_memory_equal(l->distance, distances, 9);
	s = find("SRAT");
	assert_int_equal(s->table_revision, 1);
	assert_int_equal(s->header.length, sizeof(*s) + 2 * 16 + sizeof(*m) * ARRAY_SIZE(memory));
	m = (const struct acpi_srat_memory *)((const u8 *)(s + 1) + 2 * 16);
	for (unsigned i = 0; i < ARRAY_SIZE(memory); i++) {
		assert_int_equal(m[i].sub.type, 1);
		assert_int_equal(m[i].sub.length, 40);
		assert_int_equal(m[i].base, memory[i].base);
		assert_int_equal(m[i].size, memory[i].size);
		assert_int_equal(m[i].domain, memory[i].node);
		assert_int_equal(m[i].flags, 1);
	}
}

/*
 * SRAT's entries of CPUs, byte by byte (ACPI 6.4, tables 5.58 and 5.60): type 0, or type 2 where an
 * APIC ID needs it.
 */
static void test_srat_cpus(void **)
{
	static const u32 first_id[] = { 7, 0x12fe };

	for (unsigned wide = 0; wide < 2; wide++) {
		const struct acpi_guest in = input(5, first_id[wide]);
		const struct acpi_srat *s;
		const u8 *p;

		build(&in);
		s = find("SRAT");
		p = (const u8 *)(s + 1);
		for (unsigned i = 0; i < 5; i++, p += p[1]) {
			const u8 narrow_entry[16] = { 0, 16, (u8)(i % 3), (u8)(7 + i), 1 };
			const u8 wide_entry[24] = {
				2,
				24,
				[4] = (u8)(i % 3),
				[8] = (u8)(0xfe + i),
				(u8)(0x12 + (0xfe + i) / 0x100),
				[12] = 1,
			};

			if (wide)
				assert_memory_equal(p, wide_entry, sizeof(wide_entry));
			else
				assert_memory_equal(p, narrow_entry, sizeof(narrow_entry));
		}
		/* The memory follows. */
		assert_int_equal(p[0], 1);
		assert_int_equal(s->header.length, p + 40 * ARRAY_SIZE(memory) - (const u8 *)s);
	}
}

static void test_capacity_and_input(void **)
{
	struct acpi_guest in = input(CPUS, 0);
	size_t used;

	assert_int_equal(acpi_build(&in, BASE, area, sizeof(area), &rsdp, &used), 0);
	for (size_t size = 0; size < used; size++) {
		u8 *exact = malloc(size ? size : 1); /* so that ASan sees a write past it */

		assert_int_equal(acpi_build(&in, BASE, exact, size, &rsdp, NULL), -ENOSPC);
		free(exact);
	}
	assert_int_equal(acpi_build(&in, BASE + 8, area, sizeof(area), &rsdp, NULL), -EINVAL);
	cpus[5].node = 3;
	assert_int_equal(acpi_build(&in, BASE, area, sizeof(area), &rsdp, NULL), -EINVAL);
	cpus[5].node = 0;
	in.nr_nodes = ACPI_GUEST_MAX_NODES + 1;
	assert_int_equal(acpi_build(&in, BASE, area, sizeof(area), &rsdp, NULL), -EINVAL);
}

/* ---- iasl ---- */

static char dir[] = "/tmp/margay-acpi-XXXXXX";

static void save(const struct acpi_sdt *h)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%.4s.dat", dir, h->signature);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(h, 1, h->length, f), h->length);
	fclose(f);
}

static int shell(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s", dir, command);
	return system(line);
}

static void test_iasl(void **)
{
	static const struct acpi_guest_root roots[] = {
		{ 0x00, 0x00, -1, false },
		{ 0xaf, 0xb1, 1, false },
		{ 0xb2, 0xb2, -1, true },
	};
	static const struct acpi_guest_window windows[] = {
		{ 0x00, true, 0xc040, 0x20 },
		{ 0x00, false, 0xfebf0000, 0x4000 },
		{ 0xaf, false, 0x380000000000, 0x400000000 },
	};
	static const struct margay_dma_window dma[] = {
		{ 0x200000, 0x4000000, 0x8000000 },
		{ 0x180000000, 0x140000000, 0x40000000 },
	};
	static const struct acpi_guest_intx intx[] = { { 0x00, 3, 0, 8 },
						       { 0xaf, 0x1f, 3, 23 },
						       { 0xaf, 0, 1, 9 } };
	static const struct cstates cstates = {
		2,
		{
			{ { ACPI_SPACE_FIXED_HARDWARE, 1, 2, 1, 0 }, 1, 2, 1000 },
			{ { ACPI_SPACE_FIXED_HARDWARE, 1, 2, 3, 0x20 }, 2, 133, 250 },
		}
	};
	struct acpi_guest in = input(3, 0);
	const struct acpi_xsdt *x;
	const struct acpi_fadt *f;

	assert_non_null(mkdtemp(dir));
	for (unsigned i = 0; i < in.nr_cpus; i++)
		cpus[i].cstates = &cstates;
	in.intx = intx;
	in.nr_intx = ARRAY_SIZE(intx);
	in.roots = roots;
	in.nr_roots = ARRAY_SIZE(roots);
	in.windows = windows;
	in.nr_windows = ARRAY_SIZE(windows);
	in.dma = dma;
	in.nr_dma = ARRAY_SIZE(dma);
	in.ecam = true;
	in.ecam_base = 0xb0000000;
	in.ecam_last_bus = 0xff;
	in.vf[0].bus = in.vf[1].bus = 0xaf;
	in.vf[0].devfn = PCI_DEVFN(0x1f, 3);
	in.vf[1].devfn = PCI_DEVFN(0, 1);
	in.nr_vfs = 2;
	build(&in);
	x = xsdt();
	save(&x->header);
	for (unsigned i = 0; i < (x->header.length - sizeof(*x)) / 8; i++)
		save(table_at(x->entry[i]));
	f = find("FACP");
	save(table_at(f->x_dsdt));
	/* Each table disassembles and compiles again without an error or a warning. */
	assert_int_equal(shell("for t in *.dat; do iasl -d $t; done >d.log 2>&1"), 0);
	assert_int_not_equal(
		shell("grep -iE 'error|warning|invalid|incorrect|unknown|bad' d.log *.dsl >&2"), 0);
	assert_int_equal(
		shell("for t in *.dsl; do iasl -we -p again-$t $t || exit 1; done >c.log 2>&1"), 0);
	assert_int_equal(
		shell("test $(grep -c ' 0 Errors, 0 Warnings' c.log) = $(ls *.dat | wc -l)"), 0);
	/*
	 * What a reader must find of the console, the power button, the wake pin, and functions
	 * that may go: an interrupt each.
	 */
	assert_int_equal(
		shell("test $(grep -c 'Interrupt (ResourceConsumer, Edge, ActiveHigh, Exclusive' DSDT.dsl) = 4"),
		0);
	/* The pin that wakes. */
	assert_int_equal(
		shell("grep -A99 'Device (GPO0)' DSDT.dsl | sed 's,//.*,,' | tr -d ' \n' | grep -q '"
		      "Name(_HID,\"INT33FC\".*Name(_UID,\"2\").*Memory32Fixed(ReadWrite,0xFEC10000,0x00001000,)'"),
		0);
	assert_int_equal(
		shell("grep -A99 'Device (GPO0)' DSDT.dsl | grep -A2 'Interrupt (' | grep -q '0x00000007,'"),
		0);
	assert_int_equal(
		shell("grep -A99 'Device (GPO0)' DSDT.dsl | sed 's,//.*,,' | tr -d ' \n' | grep -q '"
		      "GpioInt(Edge,ActiveHigh,ExclusiveAndWake,PullNone,0x0000,.*GPO0\",0x00,ResourceConsumer,,){0x0000}"
		      ".*Method(_E00,0,'"),
		0);
	assert_int_equal(
		shell("grep -A99 'Device (GED1)' DSDT.dsl | grep -A2 'Interrupt (' | grep -q '0x00000006,'"),
		0);
	assert_int_equal(
		shell("grep -A99 'Device (GED1)' DSDT.dsl | sed 's,//.*,,' | tr -d ' \n' | grep -q '"
		      "Name(_HID,\"ACPI0013\".*Name(_UID,One).*Method(_EVT,1,NotSerialized){Notify(PCAF,Zero)}'"),
		0);
	assert_int_equal(shell("test $(grep -c 'Notify (PC' DSDT.dsl) = 1"), 0);
	assert_int_equal(
		shell("grep -A99 'Scope (PCAF)' DSDT.dsl | sed 's,//.*,,' | tr -d ' \n' | grep -q '"
		      "Device(VFFB){Name(_ADR,0x001F0003)}}Scope(PCAF){Device(VF01){Name(_ADR,One)}}'"),
		0);
	assert_int_equal(
		shell("grep -A99 'Device (GED0)' DSDT.dsl | grep -A2 'Interrupt (' | grep -q '0x00000005,'"),
		0);
	assert_int_equal(
		shell("grep -q 'EisaId (\"PNP0C0C\")' DSDT.dsl && grep -q '\"ACPI0013\"' DSDT.dsl"),
		0);
	assert_int_equal(
		shell("grep -A2 'Method (_EVT, 1,' DSDT.dsl | grep -q 'Notify (PWRB, 0x80)'"), 0);
	assert_int_equal(shell("grep -q 'EisaId (\"PNP0501\")' DSDT.dsl"), 0);
	assert_int_equal(shell("grep -q '0x00000004,' DSDT.dsl && grep -q '0x03F8,' DSDT.dsl"), 0);
	assert_int_equal(
		shell("grep -A 7 -F 'Name (\\_S5, Package (0x04)' DSDT.dsl | grep -q '0x05'"), 0);
	/* The panic port and the CMOS clock; the watchdog (test_watchdog.c has its registers). */
	assert_int_equal(
		shell("grep -A 20 'Device (PEVT)' DSDT.dsl | tr -d ' \n' | sed 's,//[A-Za-z]*,,g' | grep -q '"
		      "Name(_HID,\"QEMU0001\").*IO(Decode16,0x0505,0x0505,0x01,0x01,)'"),
		0);
	assert_int_equal(
		shell("grep -A 20 'Device (RTC0)' DSDT.dsl | tr -d ' \n' | sed 's,//[A-Za-z]*,,g' | grep -q '"
		      "Name(_HID,EisaId(\"PNP0B00\").*IO(Decode16,0x0070,0x0070,0x01,0x02,)'"),
		0);
	assert_int_equal(
		shell("test $(grep -c 'Watchdog Action :' WDAT.dsl) = 10 && grep -q 'Enabled : 1' WDAT.dsl"),
		0);
	/* The processors, with the MADT's UIDs, and their C-states. */
	assert_int_equal(shell("test $(grep -c 'Name (_HID, \"ACPI0007\"' DSDT.dsl) = 3"), 0);
	assert_int_equal(
		shell("grep -A 60 'Device (C002)' DSDT.dsl | sed 's,//.*,,' | tr -d ' \n' | grep -q '"
		      "Name(_UID,0x02)Name(_CST,Package(0x03){0x02,Package(0x04){ResourceTemplate(){"
		      "Register(FFixedHW,0x01,0x02,0x0000000000000000,0x01,)},0x01,0x00000002,0x000003E8},"
		      "Package(0x04){ResourceTemplate(){"
		      "Register(FFixedHW,0x01,0x02,0x0000000000000020,0x03,)},0x02,0x00000085,0x000000FA}}'"),
		0);
	/* The PCI roots: which bus, what they pass on, and who claims the ECAM. */
	assert_int_equal(shell("test $(grep -c 'EisaId (\"PNP0A08\")' DSDT.dsl) = 3"), 0);
	assert_int_equal(shell("grep -A 60 'Device (PCAF)' DSDT.dsl | grep -q 'Name (_BBN, 0xAF)'"),
			 0);
	assert_int_equal(shell("test $(grep -c 'Name (_PXM' DSDT.dsl) = 1"), 0);
	assert_int_equal(shell("grep -A 60 'Device (PCAF)' DSDT.dsl | grep -q 'Name (_PXM, One)'"),
			 0);
	assert_int_equal(
		shell("grep -A 80 'Device (PCAF)' DSDT.dsl | grep -A 20 'Name (_PRT, Package (0x02)' | tr -d ' \n,' | "
		      "grep -q '0x001FFFFF0x03Zero0x17}Package(0x04){0xFFFFOneZero0x09}'"),
		0);
	assert_int_equal(
		shell("grep -A 6 'WordBusNumber (ResourceProducer, MinFixed, MaxFixed' DSDT.dsl | grep -A1 '0x00AF,' | "
		      "grep -q '0x00B1,'"),
		0);
	assert_int_equal(
		shell("grep -A 6 'QWordIO (ResourceProducer' DSDT.dsl | grep -q '0x000000000000C05F,'"),
		0);
	assert_int_equal(
		shell("grep -A 6 'QWordMemory (ResourceProducer' DSDT.dsl | grep -q '0x00003803FFFFFFFF,'"),
		0);
	assert_int_equal(
		shell("grep -A 6 'QWordMemory (ResourceConsumer' DSDT.dsl | grep -q '0x00000000BFFFFFFF,'"),
		0);
	/*
	 * Windows of both roots of real functions: bus addresses, and what to add to get the CPU's,
	 * modulo 2^64.
	 */
	assert_int_equal(shell("test $(grep -c 'Name (_DMA, ResourceTemplate' DSDT.dsl) = 2"), 0);
	assert_int_equal(
		shell("grep -A 30 'Name (_DMA' DSDT.dsl | tr -d ' \\n' | sed 's,//[A-Za-z]*,,g' | grep -q '"
		      "0x0000000004000000,0x000000000BFFFFFF,0xFFFFFFFFFC200000,0x0000000008000000,'"),
		0);
	assert_int_equal(
		shell("grep -A 30 'Name (_DMA' DSDT.dsl | grep -q '0x0000000040000000, *// Translation Offset'"),
		0);
	assert_int_equal(shell("grep -A 3 'Method (_OSC, 4' DSDT.dsl | grep -q 'Return (Arg3)'"),
			 0);
	assert_int_equal(
		shell("grep -q 'Base Address : 00000000B0000000' MCFG.dsl && grep -q 'End Bus Number : FF' MCFG.dsl"),
		0);
	assert_int_equal(shell("rm -rf ../$(basename $PWD)"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fadt),
		cmocka_unit_test(test_absent_devices),
		cmocka_unit_test(test_madt_small_ids),
		cmocka_unit_test(test_madt_large_ids),
		cmocka_unit_test(test_srat_slit),
		cmocka_unit_test(test_srat_cpus),
		cmocka_unit_test(test_capacity_and_input),
		cmocka_unit_test(test_iasl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
