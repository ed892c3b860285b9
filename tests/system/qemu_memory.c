/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin for QEMU's TCG that counts memory accesses from outside of whatever
 * runs: which CPU loads from and stores to which NUMA node, by the machine's
 * physical address, that is, behind guest paging and nested paging. Counted
 * is what the instructions at all [LO, HI) do, virtual addresses.
 *
 *   -plugin qemu_memory.so,out=FILE,code=LO-HI[,code=...]...,ram=START-END-NODE[,ram=...]...
 *
 * FILE is a struct counters, mapped, so that it can be read at any time.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../qemu_plugin.h"

struct qemu_plugin_hwaddr;
typedef uint32_t meminfo; /* qemu_plugin_meminfo_t */
enum { MEM_RW = 3 };        /* QEMU_PLUGIN_MEM_RW */

extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
					     void (*cb)(unsigned vcpu, meminfo info, uint64_t vaddr,
							void *data),
					     int flags, int rw, void *data);
extern bool qemu_plugin_mem_is_store(meminfo info);
extern unsigned qemu_plugin_mem_size_shift(meminfo info);
extern struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(meminfo info, uint64_t vaddr);
extern uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr);

#define CPUS 64
#define NODES 8
#define RANGES 16
#define PAGE 4096

/* numa.py knows this layout. */
struct counters {
	uint64_t elsewhere; /* accesses outside of all ranges */
	uint64_t turns;     /* how often a page was begun by another CPU than the page before */
	struct {
		uint64_t loads;
		uint64_t stores;
		uint64_t stored_bytes;
	} by[CPUS][NODES];
};

static struct counters *counters;
static struct {
	uint64_t lo;
	uint64_t hi;
} code[RANGES];
static unsigned nr_code;
static struct {
	uint64_t start;
	uint64_t end;
	unsigned node;
} ram[RANGES];
static unsigned nr_ram;
static unsigned last_cpu;

/* Each CPU has its own counters; the turns are everybody's. */
static void accessed(unsigned vcpu, meminfo info, uint64_t vaddr, void *data)
{
	struct qemu_plugin_hwaddr *h = qemu_plugin_get_hwaddr(info, vaddr);
	uint64_t at = h ? qemu_plugin_hwaddr_phys_addr(h) : ~0ull;

	(void)data;
	if (at % PAGE == 0 && __atomic_exchange_n(&last_cpu, vcpu, __ATOMIC_RELAXED) != vcpu)
		__atomic_fetch_add(&counters->turns, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < nr_ram; i++) {
		if (at < ram[i].start || at >= ram[i].end)
			continue;
		if (qemu_plugin_mem_is_store(info)) {
			counters->by[vcpu % CPUS][ram[i].node].stores++;
			counters->by[vcpu % CPUS][ram[i].node].stored_bytes +=
				1u << qemu_plugin_mem_size_shift(info);
		} else {
			counters->by[vcpu % CPUS][ram[i].node].loads++;
		}
		return;
	}
	__atomic_fetch_add(&counters->elsewhere, 1, __ATOMIC_RELAXED);
}

static bool is_counted(uint64_t address)
{
	for (unsigned i = 0; i < nr_code; i++)
		if (address >= code[i].lo && address < code[i].hi)
			return true;
	return false;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (is_counted(qemu_plugin_insn_vaddr(insn)))
			qemu_plugin_register_vcpu_mem_cb(insn, accessed, FLAGS_NO_REGS, MEM_RW,
							 NULL);
	}
}

static int argument(const char *name, const char *value)
{
	if (!strcmp(name, "out")) {
		counters = plugin_counters(value, sizeof(*counters));
		return counters ? 0 : -1;
	}
	if (!strcmp(name, "code") && nr_code < RANGES &&
	    sscanf(value, "%" SCNx64 "-%" SCNx64, &code[nr_code].lo, &code[nr_code].hi) == 2) {
		nr_code++;
		return 0;
	}
	if (!strcmp(name, "ram") && nr_ram < RANGES &&
	    sscanf(value, "%" SCNx64 "-%" SCNx64 "-%u", &ram[nr_ram].start, &ram[nr_ram].end,
		   &ram[nr_ram].node) == 3 &&
	    ram[nr_ram].node < NODES) {
		nr_ram++;
		return 0;
	}
	return -1;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (plugin_arguments(argc, argv, argument))
		return -1;
	if (!counters || !nr_code || !nr_ram) {
		fprintf(stderr, "qemu_memory: out=, code= and ram= are needed\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
