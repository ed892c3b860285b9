/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/bench/qemu_count.c */
/*
 * The plugin that counts for `make bench`, in a QEMU of a few lines: host
 * instructions around a VMRUN, a guest with two markers, a handler and WRMSRs,
 * and Margay's counters in memory. What is expected is counted by hand.
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
#define VCPUS 0x7f0

struct callback {
	void (*run)(unsigned vcpu, void *data);
	void *data;
	size_t counter;
	int flags;
};
struct qemu_plugin_insn {
	uint64_t address;
	uint8_t byte[7];
	struct callback callback[10];
	unsigned callbacks;
};
#include "tests/unit/fake_plugin_host.h"

struct entry {
	void *score;
	size_t offset;
};

void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
							 struct entry entry, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned vcpu, void *data), int flags,
					    void *data);
void *qemu_plugin_scoreboard_new(size_t size);
uint64_t qemu_plugin_u64_sum(struct entry entry);
struct bytes *g_byte_array_new(void);
struct bytes *g_byte_array_set_size(struct bytes *data, unsigned len);
bool qemu_plugin_read_memory_vaddr(uint64_t address, struct bytes *data, size_t len);
void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*cb)(uint64_t id, unsigned vcpu));
void *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(void *handle, struct bytes *data);
void qemu_plugin_reset(uint64_t id, void (*cb)(uint64_t id));
void *qemu_get_cpu(int index);

static void (*begins)(uint64_t id, unsigned vcpu);
static uint64_t rcx;
static int running_with; /* the flags of the callback that is running */
static uint64_t counters[64];
static unsigned resets;
__thread void *current_cpu;
static uint64_t memory[256];
static struct bytes bytes;
/* the plugin's argument, and behind the '=' the file */
static char out[] = "out=/tmp/qemu_count.XXXXXX";

void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
							 struct entry entry, uint64_t imm)
{
	assert_int_equal(op, 0);
	assert_int_equal(imm, 1);
	insn->callback[insn->callbacks++] =
		(struct callback){ .counter = entry.offset / sizeof(uint64_t) };
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned vcpu, void *data), int flags,
					    void *data)
{
	insn->callback[insn->callbacks++] =
		(struct callback){ .run = cb, .data = data, .flags = flags };
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

struct bytes *g_byte_array_set_size(struct bytes *data, unsigned len)
{
	data->len = len;
	return data;
}

void qemu_plugin_register_vcpu_init_cb(uint64_t, void (*cb)(uint64_t id, unsigned vcpu))
{
	begins = cb;
}

void *qemu_plugin_get_registers(void)
{
	static struct {
		void *handle;
		const char *name;
		const char *feature;
	} registers[] = { { counters, "rax", "core" }, { &rcx, "rcx", "core" } };
	static struct {
		void *data;
		unsigned count;
	} all = { registers, 2 };

	return &all;
}

int qemu_plugin_read_register(void *handle, struct bytes *data)
{
	assert_ptr_equal(handle, &rcx);
	assert_int_equal(running_with, 1);
	assert_int_equal(data->len, 0);
	data->data = (uint8_t *)&rcx;
	return sizeof(rcx);
}

bool qemu_plugin_read_memory_vaddr(uint64_t address, struct bytes *data, size_t len)
{
	assert_true(address >= MEMORY && address - MEMORY + len <= sizeof(memory));
	data->data = (uint8_t *)memory + (address - MEMORY);
	data->len = (unsigned)len;
	return true;
}

void *qemu_get_cpu(int index)
{
	static int cpu[2];

	return &cpu[index];
}

/* What was registered is gone, and the plugin begins anew. */
void qemu_plugin_reset(uint64_t id, void (*cb)(uint64_t id))
{
	assert_int_equal(id, 1);
	resets++;
	translated = NULL;
	ended = NULL;
	cb(id);
}

/* ---- the machine ---- */

enum {
	HOST,
	VMRUN,
	BEHIND,
	HOST_WRMSR,
	MARKER_1,
	GUEST,
	HANDLER,
	MARKER_2,
	WRMSR,
	RDMSR,
	KERNEL,
	REP,
	OTHER_REP,
	INSNS
};

static struct qemu_plugin_insn code[INSNS];

static void load(int argc, const char **arguments)
{
	static const struct qemu_plugin_insn loaded[INSNS] = {
		[HOST] = { 0x1000, { 0x90 } },
		[VMRUN] = { 0x1001, { 0x0f, 0x01, 0xd8 } },
		[BEHIND] = { 0x1004, { 0x90 } },
		[MARKER_1] = { 0x5000, { 0x0f, 0x1f, 0x80, 1, 'M', 'G', 'Y' } },
		[GUEST] = { 0x5007, { 0x90 } },
		[HANDLER] = { 0x7000, { 0x90 } },
		[MARKER_2] = { 0x5008, { 0x0f, 0x1f, 0x80, 2, 'M', 'G', 'Y' } },
		[HOST_WRMSR] = { 0x1005, { 0x0f, 0x30 } },
		[WRMSR] = { 0x5010, { 0x0f, 0x30 } },
		[RDMSR] = { 0x5012, { 0x0f, 0x32 } },
		[KERNEL] = { 0xffffffff81000010, { 0x90 } },
		/* REP STOSB, and REPNE SCASQ. */
		[REP] = { 0x5014, { 0xf3, 0xaa } },
		[OTHER_REP] = { 0x5016, { 0xf2, 0x48, 0xaf } },
	};
	char *copy[10];

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

		running_with = c->flags;
		current_cpu = qemu_get_cpu((int)cpu);
		/* As QEMU 10 does where CPUs run in turns, it says who translated. */
		if (c->run)
			c->run(0, c->data);
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

static void use_msr(unsigned insn, unsigned msr)
{
	rcx = msr;
	execute(0, insn);
}

/* A file with this text, whose name is behind the argument's '='. */
static void write_file(char *argument, const char *text)
{
	int file = mkstemp(strchr(argument, '=') + 1);

	assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
}

static void test_one_cpu(void **)
{
	const char *arguments[] = { out,
				    "lo=0x1000",
				    "hi=0x2000",
				    "interrupt=0x7000",
				    "reasons=io:cr:cpuid",
				    "stats=0xffffffff80000100:0x48:0x38:0x20:0x3:0x90" };

	load(6, arguments);
	memory[0x100 / 8] = MEMORY + VM;
	memory[(VM + 0x48) / 8] = MEMORY + VCPUS;
	memory[VCPUS / 8] = MEMORY + VCPU;
	enter((unsigned[]){ GUEST, MARKER_1, GUEST }, 3, 0);
	memory[(STATS + 0x90) / 8]++;
	enter((unsigned[]){ HANDLER, GUEST }, 2, 2);
	enter((unsigned[]){ GUEST, MARKER_2 }, 2, 1);
	ended(1, NULL);
	/* Host, VMRUN, guest, marker; the marker itself is the guest's. */
	assert_string_equal(
		line(0),
		"marker 0x1 total 4 image 2 vmruns 1 interrupts 0 guest 2 telemetry 0 injected 0\n");
	/* Two exits between the markers, and one interrupt, as both sides say. */
	assert_string_equal(
		line(1),
		"marker 0x2 total 15 image 8 vmruns 3 interrupts 1 guest 7 telemetry 2 injected 1"
		" exit:io 1 exit:cpuid 1\n");
	assert_string_equal(
		line(2),
		"end 0 total 16 image 9 vmruns 3 interrupts 1 guest 7 telemetry 2 injected 1"
		" exit:io 1 exit:cpuid 1\n");
}

/*
 * Which messages the guest sends and not the host, and how far it is from a device's interrupt to
 * its end, by the functions that the test before has read.
 */
static void test_wrmsr(void **)
{
	const char *arguments[] = { out, "lo=0x1000", "hi=0x2000", "messages=1",
				    "device=0xffffffff81000010" };

	load(5, arguments);
	begins(1, 0);
	execute(0, HOST);
	execute(0, KERNEL);
	use_msr(HOST_WRMSR, 0x830);
	use_msr(WRMSR, 0x830);
	use_msr(WRMSR, 0x838);
	use_msr(WRMSR, 0x17a);
	for (unsigned i = 0; i < 6; i++)
		use_msr(RDMSR, (unsigned[]){ 0x178, 0x17a, 0x17c, 0x401, 0x480, 0x830 }[i]);
	execute(0, KERNEL);
	execute(0, GUEST);
	execute(0, BEHIND);
	use_msr(WRMSR, 0x830);
	use_msr(WRMSR, 0x80b);
	execute(0, GUEST);
	execute(0, HOST);
	use_msr(WRMSR, 0x80b);
	ended(1, NULL);
	/*
	 * The entry and the WRMSR that ends it are both of it: five instructions, of the last entry
	 * before.
	 */
	assert_non_null(
		strstr(line(0), " messages 2 mc-reads 2 device-instructions 5 device-ends 1\n"));
	assert_string_equal(line(1), "  behind 1\n");
	assert_string_equal(line(2), "  this 1\n");
}

static void test_guest_functions(void **)
{
	static char image[] = "symbols=/tmp/qemu_count.XXXXXX",
		    guest[] = "guest-symbols=/tmp/qemu_count.XXXXXX";
	const char *arguments[] = { out, image, "lo=0x1000", "hi=0x2000", guest };

	write_file(image,
		   "0000000000001004 T behind\n0000000000001000 T host\n0000000000001800 D data\n");
	write_file(guest,
		   "ffffffff81000020 t next\nffffffff81000000 T _text\nffffffff81000010 t this\n");
	load(5, arguments);
	execute(0, HOST);
	execute(0, BEHIND);
	execute(0, BEHIND);
	execute(0, GUEST);
	execute(0, KERNEL);
	ended(1, NULL);
	assert_string_equal(line(1), "  host 1\n");
	assert_string_equal(line(2), "  behind 2\n");
	assert_string_equal(line(3), "  this 1\n");
	unlink(strchr(image, '=') + 1);
	unlink(strchr(guest, '=') + 1);
}

static void test_each_cpu(void **)
{
	const char *arguments[] = { out, "lo=0x1000", "hi=0x2000", "cpus=2", "stats=0:0:0:0:0:0" };

	load(5, arguments);
	execute(0, HOST);
	execute(1, GUEST);
	execute(1, GUEST);
	execute(0, MARKER_1);
	ended(1, NULL);
	assert_int_equal(strncmp(line(0), "marker 0x1 total 4 image 1 vmruns 0 interrupts 0 ", 49),
			 0);
	assert_non_null(strstr(line(0), " total0 2 vmruns0 0 total1 2 vmruns1 0\n"));
}

/*
 * Of a string instruction each round but the first is a repeat, unless something else came between
 * them on that CPU.
 */
static void test_repeats(void **)
{
	const char *arguments[] = { out, "cpus=2" };

	load(2, arguments);
	for (unsigned i = 0; i < 4; i++)
		execute(0, REP);
	execute(1, REP);
	execute(0, REP);
	execute(0, OTHER_REP);
	execute(0, OTHER_REP);
	execute(0, GUEST);
	execute(0, OTHER_REP);
	execute(0, RDMSR);
	execute(0, RDMSR);
	ended(1, NULL);
	assert_non_null(strstr(line(0), " repeats 5 "));
	/* With what the test before has counted. */
	assert_non_null(strstr(line(0), " total0 13 vmruns0 0 total1 3 vmruns1 0\n"));
}

/*
 * Nothing is counted before marker 2, and each function from there on. What the tests before have
 * counted, and the functions that they have read, are there.
 */
static void test_from_a_marker(void **)
{
	const char *arguments[] = { out,      "lo=0x1000",     "hi=0x2000",
				    "cpus=2", "by-function=1", "from=2" };
	struct qemu_plugin_insn *marker = &code[MARKER_2];

	load(6, arguments);
	for (unsigned i = 0; i < INSNS; i++)
		assert_int_equal(code[i].callbacks, i == MARKER_2);
	execute(0, HOST);
	execute(0, MARKER_1);
	execute(0, MARKER_2);
	/* Another CPU may come to it in what has been translated before. */
	marker->callback[0].run(1, marker->callback[0].data);
	assert_int_equal(resets, 1);
	for (unsigned i = 0; i < INSNS; i++)
		code[i].callbacks = 0;
	translated(1, &(struct qemu_plugin_tb){ code, INSNS });
	execute(0, HOST);
	execute(1, BEHIND);
	execute(1, BEHIND);
	execute(0, MARKER_2);
	ended(1, NULL);
	assert_int_equal(resets, 1);
	assert_int_equal(strncmp(line(0), "marker 0x2 total 20 image 4 vmruns 0 interrupts 0 ", 49),
			 0);
	assert_string_equal(line(1), "  host 1\n");
	assert_string_equal(line(2), "  behind 2\n");
}

int main(void)
{
	/* In this order: what one run leaves in the plugin, cpus= would have to take back. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_cpu), cmocka_unit_test(test_guest_functions),
		cmocka_unit_test(test_wrmsr),   cmocka_unit_test(test_each_cpu),
		cmocka_unit_test(test_repeats), cmocka_unit_test(test_from_a_marker)
	};

	int file = mkstemp(out + 4), failed;

	if (file < 0)
		return 1;
	close(file);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(out + 4);
	return failed;
}
