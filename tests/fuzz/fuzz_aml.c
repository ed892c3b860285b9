/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/aml.sources kernel/acpi/aml_cst.c kernel/acpi/aml_uart.c kernel/acpi/s5.c */
/* FUZZ: -max_len=1024 */
/*
 * Fuzzes the reader of static AML. Two bytes say which device, pin and
 * interrupt line are asked for, one where the rest is cut into two tables.
 * Checked: every name and value that is found lies in its table, roots,
 * routes and C-states are what their types promise, and asking twice answers the same.
 */
#include <margay/errno.h>

#include "kernel/acpi/aml_cst.h"
#include "kernel/acpi/aml_pci.h"
#include "kernel/acpi/s5.h"
#include "kernel/acpi/uart.h"
#include "tests/fuzz/fuzz.h"

static struct aml_span table[2];
static unsigned found;

static bool within(const struct aml_span *s)
{
	for (unsigned i = 0; i < 2; i++)
		if (s->p >= table[i].p && s->p + s->left <= table[i].p + table[i].left)
			return true;
	return false;
}

static bool check_one(void *ctx, const struct aml_name *path, u16 op, struct aml_span value)
{
	CHECK(ctx == &found && path->absolute && !path->up && path->n <= AML_NAME_MAX);
	CHECK((op == AML_NAME || op == AML_METHOD || op == AML_IF || op == AML_PROCESSOR) &&
	      within(&value));
	CHECK((op != AML_METHOD || value.left) && (op != AML_PROCESSOR || value.left >= 6));
	found++;
	return true;
}

static void check_cstates(const struct aml_tables *t)
{
	struct aml_processor p[4];
	unsigned n = aml_processors(t, p, ARRAY_SIZE(p));

	CHECK(n <= found && n == aml_processors(t, NULL, 0));
	n = MIN(n, (unsigned)ARRAY_SIZE(p));
	aml_cstates(t, p, n);
	for (unsigned i = 0; i < n; i++) {
		CHECK(p[i].path.absolute && p[i].path.n && p[i].states.count <= CSTATES_MAX);
		for (unsigned k = 0; k < p[i].states.count; k++)
			CHECK(p[i].states.state[k].type >= 1 && p[i].states.state[k].type <= 3);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct aml_tables t = { table, 2 };
	struct aml_pci_root root[4];
	struct aml_pci_route route, again;
	struct aml_name child;
	struct s5_info s5;
	struct acpi_uart uart;
	unsigned n, beyond, cut;

	if (size < 3)
		return 0;
	cut = MIN((unsigned)data[2] * 4, (unsigned)size - 3);
	table[0] = (struct aml_span){ data + 3, cut };
	table[1] = (struct aml_span){ data + 3 + cut, size - 3 - cut };
	found = 0;
	aml_walk(&t, check_one, &found);
	CHECK(found <= size);
	check_cstates(&t);
	n = aml_pci_roots(&t, root, ARRAY_SIZE(root), &beyond);
	CHECK(n <= ARRAY_SIZE(root) && n + beyond <= found);
	for (unsigned i = 0; i < n; i++) {
		u8 device = data[0] & 31, pin = data[0] >> 5 & 3, line = data[1];
		int err;

		for (unsigned k = 0; k < i; k++)
			CHECK(root[i].segment != root[k].segment || root[i].bus != root[k].bus);
		CHECK(root[i].path.n && (root[i].has_proximity || !root[i].proximity));
		err = aml_pci_route(&t, &root[i].path, device, pin, line, &route);
		CHECK(err == 0 || err == -ENODEV || err == -ENOENT);
		CHECK(root[i].nr_windows <= AML_PCI_WINDOWS);
		for (unsigned k = 0; k < root[i].nr_windows; k++) {
			const struct aml_window *w = &root[i].window[k];

			CHECK(w->type <= AML_WINDOW_BUS && w->first <= w->last);
			CHECK(w->type == AML_WINDOW_BUS ||
			      aml_pci_reaches(&root[i], w->type == AML_WINDOW_IO, w->first,
					      w->last));
		}
		if (!err) {
			CHECK(!aml_pci_route(&t, &root[i].path, device, pin, line, &again));
			CHECK(route.gsi == again.gsi && route.active_low == again.active_low);
		}
		err = aml_pci_child(&t, &root[i].path, data[0], &child);
		CHECK(err == -ENODEV || err == -ENOENT || (!err && child.n == root[i].path.n + 1));
	}
	for (n = 0; n < 8 && aml_uart(data, size, n, &uart); n++)
		CHECK(uart.address && uart.irq >= -1 && uart.irq <= 255 &&
		      (uart.mmio || uart.address <= 0xfff8));
	if (s5_find(data, size, &s5))
		CHECK(s5.slp_typa <= 7 && s5.slp_typb <= 7);
	return 0;
}
