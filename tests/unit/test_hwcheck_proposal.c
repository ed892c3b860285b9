/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/report/hwcheck_proposal.c @tests/unit/vm_files.sources lib/span.c */
/*
 * The VM file that the hardware check proposes is one that the strict parser takes, and means the
 * whole node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/config/config.h"
#include "vmm/report/hwcheck_proposal.h"

static char text[PROPOSAL_MAX];
static struct vm_config c;

static void propose(const struct vm_config *model, unsigned nodes)
{
	struct config_error err = { "" };
	size_t n = proposal_write(text, model, nodes);

	assert_int_equal(n, strlen(text));
	assert_int_equal(vm_config_parse("proposal", text, n, &c, &err, NULL), 0);
	assert_string_equal(err.text, "");
	/* All of memory, on all nodes. */
	assert_int_equal(c.memory, 0);
	assert_int_equal(c.nr_memory_nodes, 0);
	assert_int_equal(c.then[ENDING_POWEROFF], THEN_POWEROFF_NODE);
	assert_int_equal(c.then[ENDING_CRASH], THEN_RESTART);
	assert_int_equal(c.restart_limit, 5);
	assert_false(c.pinned);
}

static void test_without_model(void **)
{
	propose(NULL, 1);
	assert_string_equal(c.kernel, "vmlinuz");
	assert_string_equal(c.initrd, "initrd");
	assert_string_equal(c.cmdline, "console=ttyS0");
	assert_int_equal(c.cpus, 0);
	propose(NULL, 2);
	assert_string_equal(c.cmdline, "console=ttyS0");
	propose(NULL, 3);
	assert_string_equal(c.cmdline, "console=ttyS0 tsc=reliable");
}

static void test_model(void **)
{
	struct vm_config model = {
		.kernel = "k", .cpus = 1, .memory = MIB(512), .cmdline = "root=/dev/ram0 quiet"
	};

	propose(&model, 4);
	assert_string_equal(c.kernel, "k");
	assert_string_equal(c.initrd, "");
	assert_string_equal(c.cmdline, "root=/dev/ram0 quiet");
	assert_int_equal(c.cpus, 0);
	memset(model.cmdline, 'x', VM_CMDLINE_MAX);
	memset(model.kernel, 'k', VM_MODULE_MAX);
	memset(model.initrd, 'i', VM_MODULE_MAX);
	propose(&model, 64);
	assert_string_equal(c.cmdline, model.cmdline);
	assert_string_equal(c.kernel, model.kernel);
	assert_string_equal(c.initrd, model.initrd);
	model.cmdline[0] = 0;
	propose(&model, 1);
	assert_string_equal(c.cmdline, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_model),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
