/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: -Wno-unused-function @tests/unit/aml.sources kernel/acpi/aml_cst.c vmm/acpi/acpi_cst.c vmm/acpi/aml_build.c vmm/acpi/aml_encode.c lib/span.c */
/*
 * Which of firmware's C-states a guest gets, and which CPUs they are of. The
 * firmware's AML is what Margay itself writes for its guests (acpi_cst.c): what
 * one writes the other reads. kernel/work/cstates.c is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <margay/host.h>
#include <margay/host_cst.h>
#include "aml_text.h"
#include "fake_log.h"
#include "kernel/acpi/acpi.h"
#include "kernel/acpi/aml_cst.h"
#include "kernel/pci/pci_route.h"
#include "kernel/work/cstates.c"
#include "vmm/acpi/acpi_build.h"

#define CPUS 4

/* EDX of leaf 5: two substates of C1, one of C3 (its hint is 0x20), none of C2. */
#define LEAF5 ((struct cpuid_regs){ .ecx = 3, .edx = 0x1020 })

static struct madt_info madt;
static struct host_cpu_info info[CPUS];
static struct cpuid_regs leaf5;
static bool mwait, no_pages;
static unsigned pages_out;

struct acpi acpi = { .madt = &madt };
const struct aml_tables *pci_route_tables(void)
{
	return &tables;
}

bool host_mwait(void)
{
	return mwait;
}

void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *regs)
{
	assert_true(leaf == 5 && !subleaf);
	*regs = leaf5;
}

const struct host_cpu_info *host_cpu_info(unsigned cpu)
{
	return &info[cpu];
}

void *host_pages_alloc(unsigned n, int)
{
	pages_out += n;
	return no_pages ? NULL : calloc(n, PAGE_SIZE);
}

void host_pages_free(void *p, unsigned n)
{
	pages_out -= n;
	free(p);
}

#define MWAIT(hint, t) { { 0x7f, 1, 2, 1, hint }, t, 10 * (t), 5 }
#define PORT(port, t) { { ACPI_SPACE_IO, 8, 0, 1, port }, t, 100, 0 }
#define HALT(t) { { 0x7f, 0, 0, 0, 0 }, t, 1, 0 }

static void test_what_a_guest_enters(void **)
{
	/* clang-format off */
	static const struct {
		struct cstate state;
		u8 type; /* as which it is told; 0: not at all */
	} rows[] = {
		{ MWAIT(0x00, 1), 1 }, { MWAIT(0x01, 1), 1 }, { MWAIT(0x20, 2), 2 },
		{ MWAIT(0x20, 3), 2 },
		{ HALT(1), 1 }, { HALT(2), 0 }, { HALT(3), 0 },
		/* Not in leaf 5: a third substate, C2, a state beyond EDX, C0; more than a hint. */
		{ MWAIT(0x02, 1), 0 }, { MWAIT(0x10, 2), 0 }, { MWAIT(0x70, 2), 0 },
		{ MWAIT(0xf0, 1), 0 }, { MWAIT(0x100, 1), 0 },
		{ MWAIT(0x100000000, 1), 0 },
		/* Ports, also before a HLT (class 1), which exit. */
		{ PORT(0x814, 2), 0 }, { PORT(0x814, 1), 0 },
		{ { { 0x7f, 1, 1, 1, 0x814 }, 1, 1, 0 }, 0 },
		{ { { ACPI_SPACE_MEMORY, 1, 2, 1, 0 }, 1, 1, 0 }, 0 },
	};
	/* clang-format on */

	const struct cpuid_regs known = LEAF5;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cstates s = { 1, { rows[i].state } };

		cstates_keep(&s, &known);
		assert_int_equal(s.count, !!rows[i].type);
		assert_int_equal(s.state[0].type, rows[i].type);
		assert_true(!s.count || s.state[0].reg.address == rows[i].state.reg.address);
	}
	/*
	 * MWAIT that is no use to acpi_idle: no extensions, or none that an interrupt ends with IF
	 * 0.
	 */
	for (u32 ecx = 0; ecx < 3; ecx++) {
		struct cstates s = { 2, { MWAIT(0x00, 1), HALT(1) } };

		cstates_keep(&s, &(struct cpuid_regs){ .ecx = ecx, .edx = known.edx });
		assert_int_equal(s.count, 1);
		assert_int_equal(s.state[0].reg.bit_offset, 0);
	}
}

/* Firmware that has these C-states, of the processors with UID 0 and on. */
static void begin(const struct cstates *const *of, unsigned count)
{
	static struct acpi_guest_cpu cpus[CPUS];
	const struct acpi_guest guest = { .cpus = cpus, .nr_cpus = count };

	setup(NULL);
	for (unsigned i = 0; i < count; i++)
		cpus[i] = (struct acpi_guest_cpu){ .cstates = of[i] };
	acpi_put_cstates(&out[0], &guest);
	read_all();
	log_text[0] = 0;
	leaf5 = LEAF5;
	mwait = true;
	/* Not in the order of their UIDs. */
	madt.nr_cpus = CPUS;
	for (unsigned i = 0; i < CPUS; i++) {
		info[i].apic_id = 2 * i;
		madt.cpu[CPUS - 1 - i] = (struct madt_cpu){ .apic_id = 2 * i, .uid = i };
	}
}

static const struct cstates amd = { 2, { MWAIT(0, 1), PORT(0x814, 2) } },
			    deep = { 2, { MWAIT(0, 1), MWAIT(0x20, 3) } };
static const struct cstates port = { 1, { PORT(0x814, 2) } };

/* What cannot be read now is asked for again, and a CPU without MWAIT has none to tell of. */
static void test_none(void **)
{
	const struct cstates *const of[] = { &amd };

	begin(of, 1);
	no_pages = true;
	assert_null(host_cstates(0));
	assert_string_equal(log_text, "! C-states: no memory to read them: guests are told none\n");
	no_pages = false;
	pages_out = 0;
	mwait = false;
	log_text[0] = 0;
	assert_null(host_cstates(0));
	assert_string_equal(log_text, "");
}

static void test_whose_they_are(void **)
{
	const struct cstates *const of[] = { &amd, &deep, &port };

	begin(of, ARRAY_SIZE(of));
	known = false;
	assert_int_equal(host_cstates(0)->count, 1);
	assert_int_equal(pages_out, 0);
	assert_string_equal(log_text,
			    "C-states: firmware's _CST has some for guests of 2 of 4 CPUs\n");
	assert_int_equal(host_cstates(0)->state[0].latency, 10);
	assert_int_equal(host_cstates(0)->state[0].power, 5);
	assert_int_equal(host_cstates(1)->count, 2);
	assert_int_equal(host_cstates(1)->state[1].reg.address, 0x20);
	assert_int_equal(host_cstates(1)->state[1].type, 2);
	assert_null(host_cstates(2));
	assert_null(host_cstates(3));
	/* A CPU that the MADT does not name. */
	info[3].apic_id = 77;
	assert_null(host_cstates(3));
}

/* All or none of a guest's processors are told, and not more than fit. */
static void test_what_is_written(void **)
{
	static struct acpi_guest_cpu cpus[2000];
	struct acpi_guest guest = { .cpus = cpus, .nr_cpus = 2 };
	static struct aml_processor read[2000];
	static u8 buffer[KIB(128)];
	struct aml a;

	cpus[0].cstates = &deep;
	aml_init(&a, buffer, sizeof(buffer));
	acpi_put_cstates(&a, &guest);
	assert_int_equal(a.len, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i].cstates = &amd;
	guest.nr_cpus = KIB(64) / (48 + 2 * 36) + 1;
	acpi_put_cstates(&a, &guest);
	assert_int_equal(a.len, 0);
	guest.nr_cpus--;
	acpi_put_cstates(&a, &guest);
	assert_int_equal(aml_error(&a), 0);
	assert_true(a.len > KIB(50) && a.len <= KIB(64));
	assert_int_equal(
		aml_processors(&(struct aml_tables){ &(struct aml_span){ buffer, a.len }, 1 }, read,
			       2000),
		guest.nr_cpus);
	for (unsigned i = 0; i < guest.nr_cpus; i++)
		assert_int_equal(read[i].uid, i);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_a_guest_enters),
		TEST(test_none),
		TEST(test_whose_they_are),
		TEST(test_what_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
