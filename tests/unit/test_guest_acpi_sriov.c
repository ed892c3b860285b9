/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/acpi/guest_acpi_sriov.c */
/*
 * What a guest's tables say of virtual functions (VFs): windows and buses for those of its own,
 * which of its functions may go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/fake_functions.h"
#include "vmm/acpi/acpi_build.h"
#include "vmm/pci/vm_pci.h"

#define PF 2 /* the host's index, at 03:00.1 */
#define VF 10 /* the first of three of it, which are at 03:10.0, 04:10.0, 04:10.1 */
#define OTHER 7 /* a VF of another card, at 05:10.2 */

static unsigned vfs = 3;

bool host_sriov_is_vf(unsigned index)
{
	return index == OTHER || index >= VF;
}

u8 vm_pci_last_bus(const struct host_pci_function *f)
{
	return f->index == PF && vfs > 1 ? 4 : f->address.bus;
}

bool vm_pci_vf_window(const struct vm_pci *pci, unsigned n, unsigned bar, u64 *base, u64 *size)
{
	*base = 0xfe000000 + bar;
	*size = 0x4000;
	return pci->function[n].index == PF && (bar == 0 || bar == 3);
}

static void test_both(void **)
{
	static struct fake_functions functions;
	static struct vm_pci pci;
	struct acpi_guest_root roots[] = { { 0, 0, -1, false },
					   { 5, 5, -1, false },
					   { 3, 3, -1, false } };
	struct acpi_guest_window windows[6] = { { 0 } };
	static struct acpi_guest out;

	fake_functions(&pci, &functions);
	pci.nr_functions = 2;
	pci.function[0] = (struct host_pci_function){ .index = OTHER, .address = { 0, 5, 0x82 } };
	pci.function[1] = (struct host_pci_function){ .index = PF, .address = { 0, 3, 1 } };
	out.nr_windows = 1;
	guest_acpi_sriov(&pci, 0, &out, windows, roots);
	assert_true(out.nr_vfs == 1 && out.vf[0].bus == 5 && out.vf[0].devfn == 0x82);
	assert_int_equal(out.nr_windows, 1);
	guest_acpi_sriov(&pci, 1, &out, windows, roots);
	assert_int_equal(out.nr_vfs, 1);
	/* Behind those that there are. */
	assert_true(out.nr_windows == 3 && !windows[0].size && !windows[3].size);
	for (unsigned i = 1; i < 3; i++)
		assert_true(windows[i].bus == 3 && !windows[i].io && windows[i].size == 0x4000);
	assert_true(windows[1].base == 0xfe000000 && windows[2].base == 0xfe000003);
	/* Its own root has as many buses as they need, and no other. */
	assert_true(roots[0].last_bus == 0 && roots[1].last_bus == 5 && roots[2].last_bus == 4);
	vfs = 1;
	roots[2].last_bus = 3;
	guest_acpi_sriov(&pci, 1, &out, windows, roots);
	assert_int_equal(roots[2].last_bus, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_both) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
