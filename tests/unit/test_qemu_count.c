/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/bench/qemu_count.c */
/*
 * The plugin that counts for `make bench`, in a QEMU of a few lines: host
 * instructions around a VMRUN, a guest with two markers and a handler, and
 * Margay's counters in memory. What is expected is counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define MEMORY 0xffffffff80000000ull /* as the image's own variables lie */
#define VM 0x200
#define VCPU 0x400
#define STATS (VCPU + 0x38)

struct callback {
	void (*run)(unsigned vcpu, void *data);
	void *data;
	size_t counter;
};
struct qemu_plugin_insn {
	uint64_t address;
	uint8_t byte[7];
	struct callback callback[8];
	unsigned callbacks;
};
#include "tests/unit/fake_plugin_host.h"

struct entry {
	void *score;
	size_t offset;
};

void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op, struct entry entry, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*cb)(unsigned vcpu, void *data), int flags,
					     void *data);
void *qemu_plugin_scoreboard_new(size_t size);
uint64_t qemu_plugin_u64_sum(struct entry entry);
struct bytes *g_byte_array_new(void);
bool qemu_plugin_read_memory_vaddr(uint64_t address, struct bytes *data, size_t len);

static uint64_t counters[64];
static uint64_t memory[256];
static struct bytes bytes;
static char out[] = "out=/tmp/qemu_count.XXXXXX"; /* the plugin's argument, and behind the '=' the file */

void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op, struct entry entry, uint64_t imm)
{
	assert_int_equal(op, 0);
	assert_int_equal(imm, 1);
	insn->callback[insn->callbacks++] = (struct callback){ .counter = entry.offset / sizeof(uint64_t) };
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*cb)(unsigned vcpu, void *data), int flags,
					     void *data)
{
	assert_int_equal(flags, 0);
	insn->callback[insn->callbacks++] = (struct callback){ .run = cb, .data = data };
}

void *qemu_plugin_scoreboard_new(size_t size)
{
	assert_true(size <= sizeof(counters));
	return counters;
}

uint64_t qemu_plugin_u64_sum(struct entry entry)
{
	return counters[entry.offset / sizeof(uint64_t)];
}

struct bytes *g_byte_array_new(void)
{
	return &bytes;
}

bool qemu_plugin_read_memory_vaddr(uint64_t address, struct bytes *data, size_t len)
{
	assert_true(address >= MEMORY && address - MEMORY + len <= sizeof(memory));
	data->data = (uint8_t *)memory + (address - MEMORY);
	data->len = (unsigned)len;
	return true;
}

/* ---- the machine ---- */

enum { HOST, VMRUN, BEHIND, MARKER_1, GUEST, HANDLER, MARKER_2, INSNS };

static struct qemu_plugin_insn code[INSNS];

static void load(int argc, const char **arguments)
{
	static const struct qemu_plugin_insn loaded[INSNS] = {
		[HOST] = { 0x1000, { 0x90 } },       [VMRUN] = { 0x1001, { 0x0f, 0x01, 0xd8 } },
		[BEHIND] = { 0x1004, { 0x90 } },     [MARKER_1] = { 0x5000, { 0x0f, 0x1f, 0x80, 1, 'M', 'G', 'Y' } },
		[GUEST] = { 0x5007, { 0x90 } },      [HANDLER] = { 0x7000, { 0x90 } },
		[MARKER_2] = { 0x5008, { 0x0f, 0x1f, 0x80, 2, 'M', 'G', 'Y' } },
	};
	char *copy[8];

	memset(counters, 0, sizeof(counters));
	memset(memory, 0, sizeof(memory));
	memcpy(code, loaded, sizeof(code));
	for (int i = 0; i < argc; i++)
		copy[i] = strdup(arguments[i]);
	assert_int_equal(qemu_plugin_install(1, NULL, argc, copy), 0);
	for (int i = 0; i < argc; i++)
		free(copy[i]);
	translated(1, &(struct qemu_plugin_tb){ code, INSNS });
}

static void execute(unsigned cpu, unsigned insn)
{
	for (unsigned i = 0; i < code[insn].callbacks; i++) {
		struct callback *c = &code[insn].callback[i];

		if (c->run)
			c->run(cpu, c->data);
		else
			counters[c->counter]++;
	}
}

/* A VMRUN, what the guest does then, and Margay's handling of the exit, which counts it. */
static void enter(const unsigned *guest, unsigned count, unsigned reason)
{
	execute(0, HOST);
	execute(0, VMRUN);
	for (unsigned i = 0; i < count; i++)
		execute(0, guest[i]);
	execute(0, BEHIND);
	memory[(STATS + reason * 0x20) / 8]++;
}

/* The n-th line of what the plugin wrote. */
static const char *line(unsigned n)
{
	static char text[256];
	FILE *f = fopen(out + 4, "r");

	assert_non_null(f);
	for (unsigned i = 0; i <= n; i++)
		assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	return text;
}

static void test_one_cpu(void **)
{
	const char *arguments[] = { out, "lo=0x1000", "hi=0x2000", "interrupt=0x7000",
				    "stats=0xffffffff80000100:0x48:0x38:0x20:0x3:0x90:0x2" };

	load(5, arguments);
	memory[0x100 / 8] = MEMORY + VM;
	memory[(VM + 0x48) / 8] = MEMORY + VCPU;
	enter((unsigned[]){ GUEST, MARKER_1, GUEST }, 3, 0);
	memory[(STATS + 0x90) / 8]++;
	enter((unsigned[]){ HANDLER, GUEST }, 2, 2);
	enter((unsigned[]){ GUEST, MARKER_2 }, 2, 1);
	ended(1, NULL);
	/* Host, VMRUN, guest, marker; the marker itself is the guest's. */
	assert_string_equal(line(0), "marker 0x1 total 4 image 2 vmruns 1 interrupts 0 guest 2 telemetry 0 injected 0 cpuids 0\n");
	/* Two exits between the markers, and one interrupt, as both sides say. */
	assert_string_equal(line(1), "marker 0x2 total 15 image 8 vmruns 3 interrupts 1 guest 7 telemetry 2 injected 1 cpuids 1\n");
	assert_string_equal(line(2), "end 0 total 16 image 9 vmruns 3 interrupts 1 guest 7 telemetry 2 injected 1 cpuids 1\n");
}

static void test_each_cpu(void **)
{
	const char *arguments[] = { out, "lo=0x1000", "hi=0x2000", "cpus=2", "stats=0:0:0:0:0:0:0" };

	load(5, arguments);
	execute(0, HOST);
	execute(1, GUEST);
	execute(1, GUEST);
	execute(0, MARKER_1);
	ended(1, NULL);
	assert_string_equal(line(0), "marker 0x1 total 4 image 1 vmruns 0 interrupts 0 total0 2 total1 2\n");
}

int main(void)
{
	/* In this order: what one run leaves in the plugin, cpus= would have to take back. */
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_cpu), cmocka_unit_test(test_each_cpu) };

	int file = mkstemp(out + 4), failed;

	if (file < 0)
		return 1;
	close(file);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(out + 4);
	return failed;
}
