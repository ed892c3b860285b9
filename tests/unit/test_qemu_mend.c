/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/bench/qemu_mend.c */
/*
 * The plugin that mends QEMU's VMRUN for KVM's guests, in a QEMU of a few lines: which CPU's state
 * it writes, when and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct qemu_plugin_insn {
	uint64_t address;
	uint8_t byte[7];
	void (*run)(unsigned vcpu, void *data);
};
#include "tests/unit/fake_plugin_host.h"

struct cpu {
	char before[0x2d0];
	int exception_index;
	int behind;
};

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned vcpu, void *data), int flags,
					    void *data);
void cpu_loop_exit_noexc(void *cpu);

static struct cpu cpus[2];
__thread char *current_cpu;

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned vcpu, void *data), int, void *)
{
	insn->run = cb;
}

/* As QEMU's begins. */
asm(".globl cpu_loop_exit_noexc\ncpu_loop_exit_noexc: subq $8, %rsp\nmovl $-1, 0x2d0(%rdi)\naddq $8, %rsp\nret\n.skip 32");

static int install(const char *one)
{
	char *copy[] = { strdup(one), strdup("entry=0xffffffff81c00f30") };
	int result = qemu_plugin_install(1, NULL, 2, copy);

	free(copy[0]);
	free(copy[1]);
	return result;
}

static void test_mends_at_entries(void **)
{
	struct qemu_plugin_insn code[] = { { .address = 0x1000 },
					   { .address = 0x1004 },
					   { .address = 0xffffffff81c00f30 } };

	assert_int_equal(install("entry=0x1004"), 0);
	translated(1, &(struct qemu_plugin_tb){ code, 3 });
	assert_null(code[0].run);
	assert_non_null(code[2].run);
	cpus[0].exception_index = cpus[1].exception_index = 0xec;
	current_cpu = (char *)&cpus[1];
	code[1].run(0, NULL);
	assert_int_equal(cpus[1].exception_index, -1);
	assert_int_equal(cpus[1].behind, 0);
	assert_int_equal(cpus[0].exception_index, 0xec);
}

static void test_refuses(void **)
{
	assert_int_equal(install("entries=0x1004"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mends_at_entries),
					    cmocka_unit_test(test_refuses) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
