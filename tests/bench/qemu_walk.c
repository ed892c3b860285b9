/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin for QEMU's TCG that gives every load and store to a model of a
 * processor's TLBs (tlb_model.h), and counts what walks of the page tables
 * they cost it: between the markers 1 and 2 of marker.h, the host's accesses
 * and the guest's, beginning with empty TLBs. For a machine of one CPU.
 *
 *   -plugin qemu_walk.so,out=FILE,ram=FILE
 *
 * A walk is made through the tables themselves, those of the guest and of the
 * second level, in the machine's memory: `ram` is the file behind it, all of it
 * from address 0 on. One model has the second level's leaves as they are;
 * others have them all of 4 KiB, 2 MiB and 1 GiB.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../qemu_plugin.h"
#include "tlb_model.h"

enum { FLAGS_R_REGS = 1, MEM_RW = 3 }; /* QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_MEM_RW */

/* qemu_plugin_reg_descriptor */
struct reg_descriptor {
	void *handle;
	const char *name;
	const char *feature;
};
/* GLib's GArray of these */
struct reg_array {
	struct reg_descriptor *data;
	unsigned len;
};
extern struct byte_array *g_byte_array_set_size(struct byte_array *array, unsigned length);
extern struct reg_array *qemu_plugin_get_registers(void);
extern int qemu_plugin_read_register(void *handle, struct byte_array *value);
extern void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*cb)(uint64_t id, unsigned vcpu));
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
					     void (*cb)(unsigned vcpu, uint32_t info,
							uint64_t address, void *data),
					     int flags, int rw, void *data);

/* As an instruction encodes them, and two more. */
static const char *const reg_name[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp",
					"rsi", "rdi", "r8",  "r9",  "r10", "r11",
					"r12", "r13", "r14", "r15", "cr3", "cr4" };
enum { RAX = 0, CR3 = 16, CR4, REGS };
static void *reg[REGS];

/* A VMCB's fields (AMD64 manual, volume 2, appendix B). */
enum { VMCB_ASID = 0x58, VMCB_TLB_CONTROL = 0x5c, VMCB_N_CR3 = 0xb0 };

static const char *const model_name[] = { "is", "4K", "2M", "1G" };
#define MODELS (sizeof(model_name) / sizeof(model_name[0]))

static struct tlb_model model[MODELS];
static struct tlb_space host, guest, *now = &host;
static unsigned models = 1; /* until there is a guest */
static bool counting;
static uint64_t accesses, not_mapped; /* the latter shows that we do not find the tables */
static uint64_t last_page = UINT64_MAX; /* in all first-level TLBs, the last used */
static uint64_t vmrun_at;
static const uint8_t *ram;
static uint64_t ram_size;
static struct byte_array *bytes;
static FILE *out;

static uint64_t read_register(unsigned index)
{
	uint64_t value = 0;
	int size;

	g_byte_array_set_size(bytes, 0);
	size = qemu_plugin_read_register(reg[index], bytes);
	if (size > 0)
		memcpy(&value, bytes->data, size > 8 ? 8 : (size_t)size);
	return value;
}

uint64_t tlb_read(uint64_t address)
{
	uint64_t value = 0;

	if (address < ram_size && ram_size - address >= sizeof(value))
		memcpy(&value, ram + address, sizeof(value));
	return value;
}

static void print_counters(const char *what, uint64_t value)
{
	fprintf(out, "%s %#" PRIx64 " accesses %" PRIu64 " not-mapped %" PRIu64, what, value,
		accesses, not_mapped);
	for (unsigned i = 0; i < models; i++)
		fprintf(out,
			" %s.l1-misses %" PRIu64 " %s.walks %" PRIu64 " %s.references %" PRIu64
			" %s.cached %" PRIu64,
			model_name[i], model[i].l1_misses, model_name[i], model[i].walks,
			model_name[i], model[i].references, model_name[i],
			model[i].cached_references);
	for (unsigned g = 0; g < PAGE_SIZES; g++)
		for (unsigned h = 0; h <= PAGE_SIZES; h++)
			fprintf(out, " %s/%s %" PRIu64, model_name[1 + g],
				h < PAGE_SIZES ? model_name[1 + h] : "-", model[0].leaves[g][h]);
	fputc('\n', out);
	fflush(out);
}

static void marker_executed(unsigned vcpu, void *data)
{
	uintptr_t number = (uintptr_t)data;

	(void)vcpu;
	if (number == 1) {
		counting = true;
		last_page = UINT64_MAX;
		for (unsigned i = 0; i < MODELS; i++)
			memset(model[i].entry, 0, sizeof(model[i].entry));
	}
	print_counters("marker", number);
	if (number == 2)
		counting = false;
}

static void accessed(unsigned vcpu, uint32_t info, uint64_t address, void *data)
{
	struct tlb_walk walk = { .made = false };

	(void)vcpu;
	(void)info;
	(void)data;
	if (!counting)
		return;
	accesses++;
	if (address >> 12 == last_page)
		return;
	last_page = address >> 12;
	for (unsigned i = 0; i < models; i++) {
		if (tlb_hit(&model[i], now->asid, address))
			continue;
		if (!walk.made) {
			now->cr3 = read_register(CR3);
			now->levels = read_register(CR4) & CR4_LA57 ? 5 : 4;
			tlb_walk(&walk, now, address);
		}
		if (!walk.made) {
			/*
			 * VMRUN and the exit use the VMCB and the host's state by physical
			 * addresses.
			 */
			not_mapped += address >= ram_size;
			return;
		}
		tlb_miss(&model[i], now, &walk, address);
	}
}

static void flush(enum tlb_flush what, uint64_t address)
{
	if (!counting)
		return;
	last_page = UINT64_MAX;
	for (unsigned i = 0; i < models; i++)
		tlb_flush(&model[i], now->asid, what, address);
}

static void vmrun_executed(unsigned vcpu, void *data)
{
	uint64_t vmcb = read_register(RAX);

	(void)vcpu;
	(void)data;
	models = MODELS;
	guest.asid = tlb_read(vmcb + VMCB_ASID) & 0xffff;
	guest.n_cr3 = tlb_read(vmcb + VMCB_N_CR3);
	guest.n_levels = read_register(CR4) & CR4_LA57 ? 5 : 4;
	now = &guest;
	last_page = UINT64_MAX;
	if (tlb_read(vmcb + VMCB_TLB_CONTROL) & 0xff)
		flush(FLUSH_ALL, 0);
}

static void left_guest(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	now = &host;
	last_page = UINT64_MAX;
}

static void cr3_written(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	flush(FLUSH_NOT_GLOBAL, 0);
}

static void cr4_written(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	flush(FLUSH_ALL, 0);
}

/* data: the register with the address, or REGS for an operand that is not just that. */
static void page_invalidated(unsigned vcpu, void *data)
{
	unsigned index = (unsigned)(uintptr_t)data;

	(void)vcpu;
	if (index < REGS)
		flush(FLUSH_PAGE, read_register(index));
	else
		flush(FLUSH_ALL, 0);
}

static void look_for_flushes(struct qemu_plugin_insn *insn, const uint8_t *byte)
{
	bool rex = (byte[0] & 0xf0) == 0x40;
	const uint8_t *code = byte + rex;
	unsigned field = code[2] >> 3 & 7, rm = code[2] & 7;

	if (code[0] != 0x0f)
		return;
	if (code[1] == 0x22 && field == 3)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, cr3_written, FLAGS_NO_REGS, NULL);
	if (code[1] == 0x22 && field == 4)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, cr4_written, FLAGS_NO_REGS, NULL);
	if (code[1] == 0x01 && field == 7 && code[2] >> 6 != 3) {
		bool plain = code[2] >> 6 == 0 && rm != 4 && rm != 5;

		rm |= rex && byte[0] & 1 ? 8 : 0;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, page_invalidated, FLAGS_R_REGS,
						       (void *)(uintptr_t)(plain ? rm : REGS));
	}
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t insns = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		uint8_t byte[INSTRUCTION_BYTES] = { 0 };

		qemu_plugin_insn_data(insn, byte, sizeof(byte));
		if (vmrun_at && address == vmrun_at + VMRUN_LENGTH)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, left_guest, FLAGS_NO_REGS,
							       NULL);
		if (is_vmrun(byte)) {
			vmrun_at = address;
			qemu_plugin_register_vcpu_insn_exec_cb(insn, vmrun_executed, FLAGS_R_REGS,
							       NULL);
		}
		if (is_marker(byte))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marker_executed, FLAGS_NO_REGS,
							       (void *)(uintptr_t)byte[3]);
		look_for_flushes(insn, byte);
		qemu_plugin_register_vcpu_mem_cb(insn, accessed, FLAGS_R_REGS, MEM_RW, NULL);
	}
}

/* Registers have handles of this CPU's. */
static void cpu_there(uint64_t id, unsigned vcpu)
{
	struct reg_array *found = qemu_plugin_get_registers();

	(void)id;
	(void)vcpu;
	for (unsigned i = 0; i < found->len; i++)
		for (unsigned r = 0; r < REGS; r++)
			if (!strcmp(found->data[i].name, reg_name[r]))
				reg[r] = found->data[i].handle;
}

static void ended(uint64_t id, void *data)
{
	(void)id;
	(void)data;
	print_counters("end", 0);
	fclose(out);
}

static int argument(const char *name, const char *value)
{
	struct stat status;
	int fd;

	if (!strcmp(name, "out")) {
		out = fopen(value, "w");
		if (!out)
			perror(value);
		return out ? 0 : -1;
	}
	if (strcmp(name, "ram"))
		return -1;
	fd = open(value, O_RDONLY);
	if (fd < 0 || fstat(fd, &status)) {
		perror(value);
		return -1;
	}
	ram_size = (uint64_t)status.st_size;
	ram = mmap(NULL, ram_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return ram == MAP_FAILED ? -1 : 0;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (plugin_arguments(argc, argv, argument))
		return -1;
	if (!out || !ram) {
		fprintf(stderr, "qemu_walk: out=FILE or ram=FILE is missing\n");
		return -1;
	}
	for (unsigned i = 1; i < MODELS; i++)
		model[i].force = i;
	bytes = g_byte_array_new();
	qemu_plugin_register_vcpu_init_cb(id, cpu_there);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
