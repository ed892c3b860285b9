/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin for QEMU's TCG that counts executed instructions by CPU from outside
 * of whatever runs: those at [LO, HI), virtual addresses, and all others.
 *
 *   -plugin qemu_code.so,out=FILE,code=LO-HI
 *
 * FILE is a struct counters, mapped, so that it can be read at any time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../qemu_plugin.h"

#define CPUS 64

/* instructions.py knows this layout; each CPU writes its own. */
struct counters {
	struct {
		uint64_t inside;
		uint64_t outside;
	} by[CPUS];
};

static struct counters *counters;
static uint64_t code_lo, code_hi;

static void inside(unsigned vcpu, void *data)
{
	(void)data;
	counters->by[vcpu % CPUS].inside++;
}

static void outside(unsigned vcpu, void *data)
{
	(void)data;
	counters->by[vcpu % CPUS].outside++;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t at = qemu_plugin_insn_vaddr(insn);

		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, at >= code_lo && at < code_hi ? inside : outside, FLAGS_NO_REGS,
			NULL);
	}
}

static int argument(const char *name, const char *value)
{
	if (!strcmp(name, "out")) {
		counters = plugin_counters(value, sizeof(*counters));
		return counters ? 0 : -1;
	}
	if (!strcmp(name, "code"))
		return sscanf(value, "%" SCNx64 "-%" SCNx64, &code_lo, &code_hi) == 2 ? 0 : -1;
	return -1;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (plugin_arguments(argc, argv, argument))
		return -1;
	if (!counters || !code_hi) {
		fprintf(stderr, "qemu_code: out= and code= are needed\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
