/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin for QEMU's TCG that counts executed instructions, from outside of
 * whatever runs: all of them, those of one address range (the hypervisor's
 * image) by function, and VMRUNs, at every marker that the code executes.
 *
 *   -plugin qemu_count.so,out=FILE[,lo=ADDR,hi=ADDR][,symbols=FILE][,at=ADDR]...
 *
 * A marker is the 7-byte NOP with the displacement 0x59474dNN, "MGY" and its
 * number, which means nothing to any CPU (marker.h). `at` makes a marker of an
 * address. `symbols` is what nm(1) prints.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../qemu_plugin.h"

struct qemu_plugin_scoreboard;
struct u64_entry { /* qemu_plugin_u64 */
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};
enum { OP_ADD = 0 };        /* QEMU_PLUGIN_INLINE_ADD_U64 */

extern void qemu_plugin_register_atexit_cb(uint64_t id, void (*cb)(uint64_t id, void *data), void *data);
extern size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
extern void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
								 struct u64_entry entry, uint64_t imm);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*cb)(unsigned vcpu, void *data),
						    int flags, void *data);
extern struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
extern uint64_t qemu_plugin_u64_sum(struct u64_entry entry);

#define MAX_FUNCTIONS 4096
#define MAX_AT 8

/* Counters by index: the fixed ones, then one per function. */
enum { TOTAL, IMAGE, VMRUNS, FUNCTIONS };

struct function {
	uint64_t address;
	char name[64];
};

static struct function function[MAX_FUNCTIONS];
static unsigned nr_functions;
static uint64_t at[MAX_AT];
static unsigned nr_at;
static uint64_t image_lo, image_hi;
static struct qemu_plugin_scoreboard *score;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct u64_entry counter(unsigned index)
{
	return (struct u64_entry){ score, index * sizeof(uint64_t) };
}

static void print_counters(const char *what, uint64_t value)
{
	pthread_mutex_lock(&lock);
	fprintf(out, "%s %#" PRIx64 " total %" PRIu64 " image %" PRIu64 " vmruns %" PRIu64 "\n", what, value,
		qemu_plugin_u64_sum(counter(TOTAL)), qemu_plugin_u64_sum(counter(IMAGE)),
		qemu_plugin_u64_sum(counter(VMRUNS)));
	for (unsigned i = 0; i < nr_functions; i++) {
		uint64_t n = qemu_plugin_u64_sum(counter(FUNCTIONS + i));

		if (n)
			fprintf(out, "  %s %" PRIu64 "\n", function[i].name, n);
	}
	fflush(out);
	pthread_mutex_unlock(&lock);
}

static void marker_executed(unsigned vcpu, void *data)
{
	(void)vcpu;
	print_counters("marker", (uintptr_t)data);
}

static void address_executed(unsigned vcpu, void *data)
{
	(void)vcpu;
	print_counters("at", at[(uintptr_t)data]);
}

/* The last function that begins at or before the address. */
static int find_function(uint64_t address)
{
	unsigned low = 0, high = nr_functions;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (function[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return (int)low - 1;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < count; i++) {
		static const uint8_t vmrun[] = { 0x0f, 0x01, 0xd8 }, marker[] = { 0x0f, 0x1f, 0x80 };
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		uint8_t byte[7] = { 0 };

		qemu_plugin_insn_data(insn, byte, sizeof(byte));
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, OP_ADD, counter(TOTAL), 1);
		if (address >= image_lo && address < image_hi) {
			int f = find_function(address);

			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, OP_ADD, counter(IMAGE), 1);
			if (f >= 0)
				qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
					insn, OP_ADD, counter(FUNCTIONS + (unsigned)f), 1);
		}
		if (!memcmp(byte, vmrun, sizeof(vmrun)))
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, OP_ADD, counter(VMRUNS), 1);
		if (!memcmp(byte, marker, sizeof(marker)) && !memcmp(byte + 4, "MGY", 3))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marker_executed, FLAGS_NO_REGS,
							       (void *)(uintptr_t)byte[3]);
		for (uintptr_t a = 0; a < nr_at; a++)
			if (at[a] == address)
				qemu_plugin_register_vcpu_insn_exec_cb(insn, address_executed, FLAGS_NO_REGS, (void *)a);
	}
}

static void ended(uint64_t id, void *data)
{
	(void)id;
	(void)data;
	print_counters("end", 0);
	fclose(out);
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int read_symbols(const char *path)
{
	char line[512], type;
	FILE *f = fopen(path, "r");

	if (!f) {
		perror(path);
		return -1;
	}
	while (nr_functions < MAX_FUNCTIONS && fgets(line, sizeof(line), f)) {
		struct function *s = &function[nr_functions];

		if (sscanf(line, "%" SCNx64 " %c %63s", &s->address, &type, s->name) == 3 && strchr("tT", type))
			nr_functions++;
	}
	fclose(f);
	qsort(function, nr_functions, sizeof(function[0]), by_address);
	return 0;
}

static int argument(const char *name, const char *value)
{
	if (!strcmp(name, "out")) {
		out = fopen(value, "w");
		if (!out)
			perror(value);
		return out ? 0 : -1;
	}
	if (!strcmp(name, "symbols"))
		return read_symbols(value);
	if (!strcmp(name, "lo")) {
		image_lo = strtoull(value, NULL, 0);
	} else if (!strcmp(name, "hi")) {
		image_hi = strtoull(value, NULL, 0);
	} else if (!strcmp(name, "at") && nr_at < MAX_AT) {
		at[nr_at++] = strtoull(value, NULL, 0);
	} else {
		return -1;
	}
	return 0;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (plugin_arguments(argc, argv, argument))
		return -1;
	if (!out) {
		fprintf(stderr, "qemu_count: out=FILE is missing\n");
		return -1;
	}
	score = qemu_plugin_scoreboard_new((FUNCTIONS + nr_functions) * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
