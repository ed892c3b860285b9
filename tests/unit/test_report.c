/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/report/report.c lib/span.c */
/*
 * The node's memory in the report: it adds up whatever is rounded, and whatever a VM does
 * meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_say.h"

#include "vmm/pci/pci_fitness.h"
#include "vmm/pci/pci_report.h"
#include "vmm/pci/vm_pci.h"
#include "vmm/plan/place.h"
#include "vmm/report/report.h"
#include "vmm/slots/slot.h"

bool monitor_booted = true;
static u64 total, free_memory, vm_memory;

u64 host_node_memory(unsigned)
{
	return total;
}

u64 host_mem_free(int, u64 *largest)
{
	*largest = free_memory;
	return free_memory;
}

unsigned host_node_count(void)
{
	return 1;
}

const struct host_cpu_info *host_cpu_info(unsigned cpu)
{
	static const struct host_cpu_info info = { .online = true };

	return cpu < 1 ? &info : NULL;
}

const char *host_version(void)
{
	return "x";
}

const char *host_image(void)
{
	return "default +VIRTIO";
}

static u64 checks[2];

u64 host_machine_checks(u64 *lost)
{
	*lost = checks[1];
	return checks[0];
}

u64 host_own_bytes(u64 *used)
{
	*used = 1784 << 10;
	return 3264 << 10;
}

bool place_owner(unsigned, char *)
{
	return false;
}

u64 place_memory(unsigned, unsigned, char *name)
{
	strcpy(name, "vm0");
	return vm_memory;
}

bool host_pci_info(unsigned, struct pci_info *)
{
	return false;
}

enum pci_fitness pci_fitness(const struct pci_info *, char[PCI_FITNESS_TEXT])
{
	return PCI_UNFIT;
}

const char *pci_class_name(u32)
{
	return "";
}

void pci_report_bars(const struct pci_info *, char[PCI_REPORT_TEXT]) { }

void pci_report_caps(const struct pci_info *, char[PCI_REPORT_TEXT]) { }

bool vm_pci_owner(unsigned, char[VM_NAME_MAX + 1])
{
	return false;
}

bool pci_iommu_text(unsigned, char *, size_t)
{
	return false;
}

bool host_sriov_text(unsigned, char *, size_t)
{
	return false;
}

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

static void expect(u64 all, u64 not_used, u64 of_vm, const char *lines)
{
	total = all;
	free_memory = not_used;
	vm_memory = of_vm;
	said[0] = 0;
	report_node(say);
	if (!strstr(said, lines))
		fail_msg("not \"%s\" but:\n%s", lines, said);
}

static void test_adds_up(void **)
{
	expect(MIB(500), MIB(400), MIB(96),
	       "node 0: 500M for guests, free 400M (419430400 bytes), largest piece 400M\n"
	       "    96M taken, 4M kept\n    96M vm0\n");
	/* 500 less 399 less 96, whatever the bytes say. */
	expect(MIB(500) + 4096, MIB(400) - 4096, MIB(96), "    96M taken, 5M kept\n");
	expect(MIB(500), MIB(500), 0,
	       "500M\nhypervisor: 3264K held in all, 1784K of these in use\n");
	for (unsigned i = 0; i < 2; i++) {
		checks[i] = 7;
		expect(0, 0, 0,
		       i ? "\nmachine checks: 0 corrected, 7 not\n"
			 : "\nmachine checks: 7 corrected, 0 not\n");
		checks[i] = 0;
	}
}

/* A VM that was freed, or was not there yet, between the two looks: nothing wraps. */
static void test_meanwhile(void **)
{
	expect(MIB(500), MIB(450), MIB(96), "    96M taken, 0M kept\n");
	expect(MIB(500), MIB(501), MIB(96), "500M for guests, free 501M");
	monitor_booted = false;
	expect(MIB(500), MIB(400), 0, "400M\nhypervisor");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_adds_up),
					    cmocka_unit_test(test_meanwhile) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
