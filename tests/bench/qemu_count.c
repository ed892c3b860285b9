/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin for QEMU's TCG that counts executed instructions, from outside of
 * whatever runs: all of them, those of one address range (the hypervisor's
 * image) and of a guest's kernel by function, and VMRUNs, at every marker that the code executes.
 *
 *   -plugin
 *   qemu_count.so,out=FILE[,lo=ADDR,hi=ADDR][,symbols=FILE][,guest-symbols=FILE][,at=ADDR]...
 *           [,interrupt=ADDR]...[,messages=1][,device=ADDR][,stats=ADDR:VCPUS:STATS:NEXT:N:INJECTED
 *           [,reasons=NAME:...]][,cpus=N[,events=1|,by-function=1]] [,from=N]
 *
 * A marker is the 7-byte NOP with the displacement 0x59474dNN, "MGY" and its number, which means
 * nothing to any CPU (marker.h). `at` makes a marker of an address. `symbols` is what nm(1) prints,
 * and `guest-symbols` what a Linux without KASLR has in /proc/kallsyms. `interrupt` is where a
 * kernel is entered for interrupts, which are counted so. `messages` counts WRMSRs of the x2APIC's
 * ICR outside of the image, with which a guest sends messages, and its RDMSRs of machine-check
 * registers. `device` is such an entry, too: from it to the next WRMSR of the x2APIC's EOI all
 * instructions are counted, as are those ends; functions are counted from it to there alone. Each
 * VMRUN is followed by the guest's instructions, up to the one behind it. `stats` is where Margay's
 * own counters lie (systems.py: telemetry_place()): they are read out of memory at each VMRUN, so
 * that they are of the moment to which VMRUNs are counted, of all vCPUs where there are as many as
 * CPUs, each reason of an exit by its name. With `cpus`, for a machine of several CPUs, it counts
 * each one's instructions apart and none by function: slowly, by a call for each, as QEMU 10.0's
 * inline counters crash there. With `events`, too, no instructions but VMRUNs and those that
 * interrupts begin with; with `by-function`, each function's too, which takes a machine whose CPUs
 * run in turns (-icount). With `cpus`, `repeats` are what QEMU executes more often than a CPU does:
 * a string instruction with a REP prefix is there an instruction for each of its rounds, and in the
 * other counters, too. `from`: before the marker of that number nothing is counted, which takes no
 * time then.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../qemu_plugin.h"
#include "functions.h"

struct qemu_plugin_scoreboard;
/* qemu_plugin_u64 */
struct u64_entry {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};
enum { OP_ADD = 0 };        /* QEMU_PLUGIN_INLINE_ADD_U64 */

extern void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
								int op, struct u64_entry entry,
								uint64_t imm);
extern struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
extern uint64_t qemu_plugin_u64_sum(struct u64_entry entry);

extern void *qemu_get_cpu(int index); /* these two are for QEMU's own modules */
extern __thread void *current_cpu;

extern void qemu_plugin_reset(uint64_t id, void (*cb)(uint64_t id));

extern bool qemu_plugin_read_memory_vaddr(uint64_t address, struct byte_array *data, size_t len);

struct qemu_plugin_register;
/* qemu_plugin_reg_descriptor */
struct descriptor {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
};
/* GLib's GArray */
struct descriptors {
	struct descriptor *data;
	unsigned len;
};
enum { FLAGS_READ_REGS = 1 }; /* QEMU_PLUGIN_CB_R_REGS */

extern void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*cb)(uint64_t id, unsigned vcpu));
extern struct descriptors *qemu_plugin_get_registers(void);
extern int qemu_plugin_read_register(struct qemu_plugin_register *handle, struct byte_array *data);
extern struct byte_array *g_byte_array_set_size(struct byte_array *data, unsigned len);

#define MAX_AT 8
#define MAX_INTERRUPTS 64
#define MAX_CPUS 8
#define MAX_REASONS 32
#define MSR_X2APIC_EOI 0x80b
#define MSR_X2APIC_ICR 0x830
#define MSR_MCG_CAP 0x179
#define MSR_MCG_CTL 0x17b
#define MSR_MC_FIRST 0x400          /* of the banks' */
#define MSR_MC_LAST 0x47f
#define KERNEL_HALF (1ull << 63)    /* of addresses */

/* Counters by index: the fixed ones, then one per function. */
enum { TOTAL, IMAGE, VMRUNS, INTERRUPTS, FUNCTIONS };

static struct functions functions; /* first those of the image, then those of the guest's kernel */
static unsigned nr_image_functions;
static uint64_t at[MAX_AT];
static unsigned nr_at;
static uint64_t interrupt[MAX_INTERRUPTS];
static unsigned nr_interrupts;
static uint64_t image_lo, image_hi;
static uint64_t vmrun_at; /* where the last VMRUN was found: behind it the host goes on */
static bool in_guest;
/* all instructions when the guest was entered; the guest's before that */
static uint64_t entered, guest;
static bool messages_wanted;
static uint64_t device; /* an entry of the guest's */
/* WRMSRs of the ICR and RDMSRs of machine-check registers, by guests */
static uint64_t messages, mc_reads;
/* device_entered: 0, or all instructions then */
static uint64_t device_entered, device_instructions, device_ends;
static struct {
	/* a function's instructions at the entry, and from entries to ends */
	uint64_t entered;
	uint64_t counted;
} *in_device;
static struct qemu_plugin_register *rcx;
/*
 * Where the counters lie: (*(*pointer + to_vcpus))[vCPU] + to_stats, nr of them, next to each
 * other, and injected interrupts.
 */
static struct {
	uint64_t pointer;
	uint64_t to_vcpus;
	uint64_t to_stats;
	uint64_t next;
	uint64_t nr;
	uint64_t injected;
} stats;
static char *reason[MAX_REASONS]; /* the names of those nr */
static uint64_t by_reason[MAX_REASONS];
static uint64_t telemetry, injected;
static struct byte_array *bytes;
static struct qemu_plugin_scoreboard *score;
static unsigned cpus; /* 0: one, counted inline */
static bool events;
static uint64_t by_cpu[MAX_CPUS][FUNCTIONS];
static uint64_t at_rep[MAX_CPUS]; /* the string instruction that a CPU is at, or 0 */
static uint64_t repeats;
static bool by_function_wanted;
static uint64_t *by_function; /* with several CPUs */
static unsigned from; /* a marker that is waited for */
static uint64_t plugin;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct u64_entry counter(unsigned index)
{
	return (struct u64_entry){ score, index * sizeof(uint64_t) };
}

static uint64_t sum(unsigned index)
{
	uint64_t n = 0;

	if (!cpus)
		return qemu_plugin_u64_sum(counter(index));
	for (unsigned i = 0; i < cpus; i++)
		n += by_cpu[i][index];
	return n;
}

static uint64_t function(unsigned i)
{
	if (cpus)
		return by_function ? by_function[i] : 0;
	return qemu_plugin_u64_sum(counter(FUNCTIONS + i));
}

static void print_counters(const char *what, uint64_t value)
{
	pthread_mutex_lock(&lock);
	fprintf(out, "%s %#" PRIx64 " total %" PRIu64 " image %" PRIu64 " vmruns %" PRIu64, what,
		value, sum(TOTAL), sum(IMAGE), sum(VMRUNS));
	fprintf(out, " interrupts %" PRIu64, sum(INTERRUPTS));
	if (!cpus)
		fprintf(out, " guest %" PRIu64, guest + (in_guest ? sum(TOTAL) - entered : 0));
	if (stats.pointer)
		fprintf(out, " telemetry %" PRIu64 " injected %" PRIu64, telemetry, injected);
	for (unsigned i = 0; i < stats.nr && i < MAX_REASONS; i++)
		if (reason[i] && by_reason[i])
			fprintf(out, " exit:%s %" PRIu64, reason[i], by_reason[i]);
	if (messages_wanted)
		fprintf(out, " messages %" PRIu64 " mc-reads %" PRIu64, messages, mc_reads);
	if (device)
		fprintf(out, " device-instructions %" PRIu64 " device-ends %" PRIu64,
			device_instructions, device_ends);
	if (cpus)
		fprintf(out, " repeats %" PRIu64, repeats);
	for (unsigned i = 0; i < cpus; i++)
		fprintf(out, " total%u %" PRIu64 " vmruns%u %" PRIu64, i, by_cpu[i][TOTAL], i,
			by_cpu[i][VMRUNS]);
	fputc('\n', out);
	for (unsigned i = 0; (!cpus || by_function) && i < functions.count; i++) {
		uint64_t n = in_device ? in_device[i].counted : function(i);

		if (n)
			fprintf(out, "  %s %" PRIu64 "\n", functions.of[i].name, n);
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

static uint64_t read_u64(uint64_t address)
{
	uint64_t value = 0;

	if (qemu_plugin_read_memory_vaddr(address, bytes, sizeof(value)))
		memcpy(&value, bytes->data, sizeof(value));
	return value;
}

/* Margay's image is executing: its counters are where it sees them. */
static void read_stats(void)
{
	uint64_t vm = read_u64(stats.pointer), vcpus;
	unsigned nr_vcpus = cpus ? cpus : 1;

	if (!vm)
		return;
	vcpus = read_u64(vm + stats.to_vcpus);
	telemetry = injected = 0;
	memset(by_reason, 0, sizeof(by_reason));
	for (unsigned vcpu = 0; vcpu < nr_vcpus; vcpu++) {
		uint64_t at = read_u64(vcpus + vcpu * sizeof(uint64_t)) + stats.to_stats;

		for (unsigned i = 0; i < stats.nr; i++) {
			uint64_t n = read_u64(at + i * stats.next);

			telemetry += n;
			if (i < MAX_REASONS)
				by_reason[i] += n;
		}
		injected += read_u64(at + stats.injected);
	}
}

static void vmrun_executed(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	if (stats.pointer)
		read_stats();
	entered = sum(TOTAL);
	in_guest = true;
}

/* Behind VMRUN: the instruction itself has been counted and is the host's. */
static void left_guest(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	if (in_guest)
		guest += sum(TOTAL) - 1 - entered;
	in_guest = false;
}

/* The registers are the same of all CPUs, and only known when there is one. */
static void cpu_begins(uint64_t id, unsigned vcpu)
{
	struct descriptors *registers = rcx ? NULL : qemu_plugin_get_registers();

	(void)id;
	(void)vcpu;
	for (unsigned i = 0; registers && i < registers->len; i++)
		if (!strcmp(registers->data[i].name, "rcx"))
			rcx = registers->data[i].handle;
}

/* The register that RDMSR or WRMSR is about to access. */
static uint32_t msr_number(void)
{
	uint32_t msr = 0;

	g_byte_array_set_size(bytes, 0);
	if (rcx && qemu_plugin_read_register(rcx, bytes) >= (int)sizeof(msr))
		memcpy(&msr, bytes->data, sizeof(msr));
	return msr;
}

static void rdmsr_executed(unsigned vcpu, void *data)
{
	uint32_t msr = msr_number();

	(void)vcpu;
	(void)data;
	mc_reads += (msr >= MSR_MCG_CAP && msr <= MSR_MCG_CTL) ||
		    (msr >= MSR_MC_FIRST && msr <= MSR_MC_LAST);
}

static void wrmsr_executed(unsigned vcpu, void *data)
{
	uint32_t msr = msr_number();

	(void)vcpu;
	(void)data;
	if (msr == MSR_X2APIC_ICR)
		messages++;
	if (msr == MSR_X2APIC_EOI && device_entered) {
		device_instructions += sum(TOTAL) - device_entered;
		device_ends++;
		device_entered = 0;
		for (unsigned i = 0; in_device && i < functions.count; i++)
			in_device[i].counted += function(i) - in_device[i].entered;
	}
}

static void device_interrupts(unsigned vcpu, void *data)
{
	int own = functions_find(&functions, device, nr_image_functions, functions.count);

	(void)vcpu;
	(void)data;
	device_entered = sum(TOTAL) - 1; /* without this one */
	for (int i = 0; in_device && i < (int)functions.count; i++)
		in_device[i].entered = function((unsigned)i) - (i == own);
}

/*
 * The CPU that executes: what QEMU tells is who had the code translated, where CPUs run in turns
 * (gen_cpu_index(), accel/tcg/plugin-gen.c in QEMU 10).
 */
static unsigned this_cpu(void)
{
	static void *known[MAX_CPUS];

	for (unsigned i = 0; i < cpus; i++) {
		known[i] = known[i] ? known[i] : qemu_get_cpu((int)i);
		if (known[i] == current_cpu)
			return i;
	}
	return 0;
}

static void executed(unsigned vcpu, void *data)
{
	(void)vcpu;
	by_cpu[this_cpu()][(uintptr_t)data]++;
}

static void function_executed(unsigned vcpu, void *data)
{
	(void)vcpu;
	by_function[(uintptr_t)data]++;
}

static void count(struct qemu_plugin_insn *insn, unsigned index)
{
	if (!cpus)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, OP_ADD, counter(index),
								    1);
	else if (index < FUNCTIONS)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, FLAGS_NO_REGS,
						       (void *)(uintptr_t)index);
	else if (by_function)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, function_executed, FLAGS_NO_REGS,
						       (void *)(uintptr_t)(index - FUNCTIONS));
}

/* Every instruction is here or there. */
static void total_executed(unsigned vcpu, void *data)
{
	unsigned cpu = this_cpu();

	(void)vcpu;
	by_cpu[cpu][(uintptr_t)data]++;
	at_rep[cpu] = 0;
}

static void rep_executed(unsigned vcpu, void *data)
{
	unsigned cpu = this_cpu();

	(void)vcpu;
	by_cpu[cpu][TOTAL]++;
	repeats += at_rep[cpu] == (uintptr_t)data;
	at_rep[cpu] = (uintptr_t)data;
}

static void count_one(struct qemu_plugin_insn *insn, uint64_t address, const uint8_t *byte)
{
	if (!cpus)
		count(insn, TOTAL);
	else if (is_rep_string(byte))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, rep_executed, FLAGS_NO_REGS,
						       (void *)(uintptr_t)address);
	else
		qemu_plugin_register_vcpu_insn_exec_cb(insn, total_executed, FLAGS_NO_REGS,
						       (void *)(uintptr_t)TOTAL);
}

static void begin(uint64_t id);

/* What has been translated has no counters: QEMU translates all of it again. */
static void begin_executed(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	if (from)
		qemu_plugin_reset(plugin, begin);
	from = 0;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t insns = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		uint8_t byte[INSTRUCTION_BYTES] = { 0 };

		bool in_image = address >= image_lo && address < image_hi;

		qemu_plugin_insn_data(insn, byte, sizeof(byte));
		if (from) {
			if (is_marker(byte) && byte[3] == from)
				qemu_plugin_register_vcpu_insn_exec_cb(insn, begin_executed,
								       FLAGS_NO_REGS, NULL);
			continue;
		}
		if (!events)
			count_one(insn, address, byte);
		if (!events && in_image) {
			int f = functions_find(&functions, address, 0, nr_image_functions);

			count(insn, IMAGE);
			if (f >= 0)
				count(insn, FUNCTIONS + (unsigned)f);
		} else if (!events && functions.count > nr_image_functions &&
			   address >= KERNEL_HALF) {
			int f = functions_find(&functions, address, nr_image_functions,
					       functions.count);

			if (f >= 0)
				count(insn, FUNCTIONS + (unsigned)f);
		}
		if ((messages_wanted || device) && !in_image && is_wrmsr(byte))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, wrmsr_executed,
							       FLAGS_READ_REGS, NULL);
		if (messages_wanted && !in_image && is_rdmsr(byte))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, rdmsr_executed,
							       FLAGS_READ_REGS, NULL);
		if (device && device == address)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, device_interrupts,
							       FLAGS_NO_REGS, NULL);
		for (unsigned a = 0; a < nr_interrupts; a++)
			if (interrupt[a] == address)
				count(insn, INTERRUPTS);
		if (!cpus && vmrun_at && address == vmrun_at + VMRUN_LENGTH)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, left_guest, FLAGS_NO_REGS,
							       NULL);
		if (is_vmrun(byte)) {
			count(insn, VMRUNS);
			vmrun_at = address;
			if (!cpus || stats.pointer)
				qemu_plugin_register_vcpu_insn_exec_cb(insn, vmrun_executed,
								       FLAGS_NO_REGS, NULL);
		}
		if (is_marker(byte))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marker_executed, FLAGS_NO_REGS,
							       (void *)(uintptr_t)byte[3]);
		for (uintptr_t a = 0; a < nr_at; a++)
			if (at[a] == address)
				qemu_plugin_register_vcpu_insn_exec_cb(insn, address_executed,
								       FLAGS_NO_REGS, (void *)a);
	}
}

static void ended(uint64_t id, void *data)
{
	(void)id;
	(void)data;
	print_counters("end", 0);
	fclose(out);
}

static void begin(uint64_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
}

/* NAME:NAME:..., in the order of Margay's counters. */
static int read_reasons(const char *names)
{
	char *copy = strdup(names), *rest = copy, *name;

	for (unsigned i = 0; i < MAX_REASONS && (name = strsep(&rest, ":")); i++)
		reason[i] = name;
	return copy && !rest ? 0 : -1;
}

static int argument(const char *name, const char *value)
{
	if (!strcmp(name, "out")) {
		out = fopen(value, "w");
		if (!out)
			perror(value);
		return out ? 0 : -1;
	}
	if (!strcmp(name, "symbols")) {
		/* before guest-symbols */
		int err = functions.count ? -1 : functions_read(&functions, value);

		nr_image_functions = functions.count;
		return err;
	}
	if (!strcmp(name, "guest-symbols"))
		return functions_read(&functions, value);
	if (!strcmp(name, "reasons"))
		return read_reasons(value);
	if (!strcmp(name, "lo")) {
		image_lo = strtoull(value, NULL, 0);
	} else if (!strcmp(name, "hi")) {
		image_hi = strtoull(value, NULL, 0);
	} else if (!strcmp(name, "at") && nr_at < MAX_AT) {
		at[nr_at++] = strtoull(value, NULL, 0);
	} else if (!strcmp(name, "interrupt") && nr_interrupts < MAX_INTERRUPTS) {
		interrupt[nr_interrupts++] = strtoull(value, NULL, 0);
	} else if (!strcmp(name, "stats")) {
		return sscanf(value,
			      "%" SCNx64 ":%" SCNx64 ":%" SCNx64 ":%" SCNx64 ":%" SCNx64
			      ":%" SCNx64,
			      &stats.pointer, &stats.to_vcpus, &stats.to_stats, &stats.next,
			      &stats.nr, &stats.injected) == 6
			       ? 0
			       : -1;
	} else if (!strcmp(name, "messages")) {
		messages_wanted = true;
	} else if (!strcmp(name, "device")) {
		device = strtoull(value, NULL, 0);
	} else if (!strcmp(name, "events")) {
		events = true;
	} else if (!strcmp(name, "by-function")) {
		by_function_wanted = true;
	} else if (!strcmp(name, "from")) {
		from = (unsigned)strtoul(value, NULL, 0);
	} else if (!strcmp(name, "cpus")) {
		cpus = (unsigned)strtoul(value, NULL, 0);
		return cpus >= 1 && cpus <= MAX_CPUS ? 0 : -1;
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
	bytes = g_byte_array_new();
	score = qemu_plugin_scoreboard_new((FUNCTIONS + functions.count) * sizeof(uint64_t));
	free(in_device);
	in_device = NULL;
	if (device && !cpus && functions.count > nr_image_functions)
		in_device = calloc(functions.count, sizeof(*in_device));
	if (messages_wanted || device)
		qemu_plugin_register_vcpu_init_cb(id, cpu_begins);
	if (cpus && by_function_wanted)
		by_function = calloc(functions.count, sizeof(*by_function));
	plugin = id;
	begin(id);
	return 0;
}
