/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/bench/qemu_walk.c tests/bench/tlb_model.c */
/*
 * The plugin of `make bench-walk` in a QEMU of a few lines: which accesses it
 * counts, by whose tables it walks for them, and what it flushes by. The model
 * itself is tested by test_tlb_model.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

struct qemu_plugin_insn {
	uint64_t address;
	uint8_t byte[7];
	void (*run[4])(unsigned vcpu, void *data);
	void *data[4];
	unsigned runs;
	void (*accessed)(unsigned vcpu, uint32_t info, uint64_t address, void *data);
};
#include "tests/unit/fake_plugin_host.h"

struct descriptor {
	void *handle;
	const char *name;
	const char *feature;
};
struct descriptors {
	struct descriptor *data;
	unsigned len;
};
typedef void (*at_init)(uint64_t id, unsigned vcpu);
typedef void (*execution)(unsigned vcpu, void *data);
typedef void (*memory_access)(unsigned vcpu, uint32_t info, uint64_t address, void *data);

void qemu_plugin_register_vcpu_init_cb(uint64_t id, at_init cb);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, execution cb, int flags,
					    void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, memory_access cb, int flags,
				      int rw, void *data);
struct descriptors *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(void *handle, struct bytes *value);
struct bytes *g_byte_array_new(void);
struct bytes *g_byte_array_set_size(struct bytes *array, unsigned length);

static at_init cpu_there;
static struct {
	uint64_t rcx;
	uint64_t cr3;
	uint64_t cr4;
	uint64_t rax;
} registers;

void qemu_plugin_register_vcpu_init_cb(uint64_t, at_init cb)
{
	cpu_there = cb;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, execution cb, int,
					    void *data)
{
	insn->run[insn->runs] = cb;
	insn->data[insn->runs++] = data;
}

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, memory_access cb, int flags,
				      int rw, void *data)
{
	assert_int_equal(flags, 1);
	assert_int_equal(rw, 3);
	assert_null(data);
	insn->accessed = cb;
}

struct descriptors *qemu_plugin_get_registers(void)
{
	static struct descriptor all[] = {
		{ &registers.rcx, "rcx", "" }, { &registers.cr3, "cr3", "" },
		{ &registers.rax, "rax", "" }, { &registers.cr4, "cr4", "" },
		{ NULL, "st0", "" },
	};
	static struct descriptors found = { all, sizeof(all) / sizeof(all[0]) };

	return &found;
}

/* As QEMU does, it appends. */
int qemu_plugin_read_register(void *handle, struct bytes *value)
{
	memcpy(value->data + value->len, handle, 8);
	value->len += 8;
	return 8;
}

struct bytes *g_byte_array_new(void)
{
	static uint8_t data[64];
	static struct bytes array = { data, 0 };

	return &array;
}

struct bytes *g_byte_array_set_size(struct bytes *array, unsigned length)
{
	array->len = length;
	return array;
}

/* ---- the machine ---- */

enum { VMRUN, BEHIND, MARKER_1, LOAD, MARKER_2, CR3, CR4, INVLPG_RCX, INVLPG_OTHER, INSNS };
enum {
	HOST_CR3 = 0x1000,
	GUEST_CR3 = 0x1000,
	VMCB = 0x8000,
	N_CR3 = 0x9000,
	GUEST = 0x200000,
	RAM = 0x400000
};

static char out[] = "out=/tmp/qemu_walk.XXXXXX", ram[] = "ram=/tmp/qemu_walk.XXXXXX";
static uint64_t *memory;
static struct qemu_plugin_insn code[INSNS] = {
	[VMRUN] = { 0x1001, { 0x0f, 0x01, 0xd8 } },
	[BEHIND] = { 0x1004, { 0x90 } },
	[LOAD] = { 0x5007, { 0x8b, 0x01 } },
	[MARKER_1] = { 0x5000, { 0x0f, 0x1f, 0x80, 1, 'M', 'G', 'Y' } },
	[CR3] = { 0x6000, { 0x41, 0x0f, 0x22, 0xdf } },
	[MARKER_2] = { 0x5008, { 0x0f, 0x1f, 0x80, 2, 'M', 'G', 'Y' } },
	[CR4] = { 0x6010, { 0x0f, 0x22, 0xe0 } },
	[INVLPG_RCX] = { 0x6020, { 0x0f, 0x01, 0x39 } },
	[INVLPG_OTHER] = { 0x6030, { 0x0f, 0x01, 0x7d, 0x08 } },
};

/*
 * Four levels of tables in four pages from here on, whose last has these 4 KiB pages, the second
 * one global.
 */
static void tables(uint64_t at, uint64_t base)
{
	for (unsigned level = 0; level < 3; level++)
		memory[(base + at + level * 0x1000) / 8] = (at + (level + 1) * 0x1000) | 1;
	for (unsigned page = 0; page < 8; page++)
		memory[(base + at + 0x3000) / 8 + page] =
			(0x10000 + page * 0x1000) | (page == 1 ? 0x101 : 1);
}

static void execute(unsigned insn)
{
	for (unsigned i = 0; i < code[insn].runs; i++)
		code[insn].run[i](0, code[insn].data[i]);
}

static void load(uint64_t address)
{
	execute(LOAD);
	code[LOAD].accessed(0, 0, address, NULL);
}

static uint64_t counter(const char *name)
{
	static char line[2048];
	const char *found;
	FILE *f = fopen(out + 4, "r");

	execute(MARKER_2);
	execute(MARKER_1);
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		;
	fclose(f);
	found = strstr(line, name);
	assert_non_null(found);
	return strtoull(found + strlen(name) + 1, NULL, 10);
}

static void test_natively(void **)
{
	load(0x3000);
	assert_int_equal(counter(" accesses"), 0);
	load(0x3000);
	load(0x3008);
	assert_int_equal(counter(" accesses"), 2);
	assert_int_equal(counter(" is.walks"), 1);
	assert_int_equal(counter(" is.references"), 4);
	assert_int_equal(counter(" 4K/-"), 1);
	assert_int_equal(counter(" not-mapped"), 0);
	load(0x7f0000000000);
	assert_int_equal(counter(" not-mapped"), 1);
	load(VMCB + 0x3f000);
	assert_int_equal(counter(" not-mapped"), 1);
}

/* What the walks of both pages, the second of which is global, are after each kind of flush. */
static void test_flushes(void **)
{
	static const struct {
		unsigned insn;
		unsigned walks;
	} by[] = { { CR3, 1 },          { CR4, 2 },    { INVLPG_RCX, 1 },
		   { INVLPG_OTHER, 2 }, { BEHIND, 0 }, { LOAD, 0 } };

	registers.rcx = 0x1000;
	for (unsigned i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		uint64_t before = counter(" is.walks");

		load(0x2000);
		load(0x1000);
		execute(by[i].insn);
		load(0x2000);
		load(0x1000);
		assert_int_equal(counter(" is.walks") - before, 2 + by[i].walks);
	}
}

static void test_guest(void **)
{
	uint64_t before = counter(" is.references");

	registers.rax = VMCB;
	load(0x3000);
	execute(VMRUN);
	/* The same address, but the guest's: its tables by those of the second level. */
	load(0x3000);
	assert_int_equal(counter(" is.references") - before, 4 + 19);
	assert_int_equal(counter(" 4K/2M"), 1);
	load(0x3000);
	assert_int_equal(counter(" 4K.references"), 24 + 24);
	/*
	 * An entry of the guest's stays while the hypervisor runs, and goes when the VMCB says so.
	 */
	before = counter(" is.walks");
	load(0x3000);
	execute(BEHIND);
	load(0x3000);
	execute(VMRUN);
	load(0x3000);
	execute(BEHIND);
	load(0x3000);
	assert_int_equal(counter(" is.walks") - before, 2);
	execute(VMRUN);
	load(0x3000);
	execute(BEHIND);
	memory[(VMCB + 0x5c) / 8] |= 1ull << 32;
	execute(VMRUN);
	load(0x3000);
	execute(BEHIND);
	assert_int_equal(counter(" is.walks") - before, 4);
}

static int machine(void **)
{
	static char *arguments[] = { out, ram };
	int file = mkstemp(ram + 4), other = mkstemp(out + 4);

	if (file < 0 || other < 0 || ftruncate(file, RAM))
		return -1;
	memory = mmap(NULL, RAM, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (memory == MAP_FAILED)
		return -1;
	tables(HOST_CR3, 0);
	tables(GUEST_CR3, GUEST);
	memory[(VMCB + 0x58) / 8] = 1;
	memory[(VMCB + 0xb0) / 8] = N_CR3;
	memory[N_CR3 / 8] = (N_CR3 + 0x1000) | 1;
	memory[(N_CR3 + 0x1000) / 8] = (N_CR3 + 0x2000) | 1;
	memory[(N_CR3 + 0x2000) / 8] = GUEST | 0x81;
	registers.cr3 = HOST_CR3;
	close(file);
	close(other);
	if (qemu_plugin_install(1, NULL, 2, arguments))
		return -1;
	cpu_there(1, 0);
	translated(1, &(struct qemu_plugin_tb){ code, INSNS });
	return 0;
}

static int end(void **)
{
	ended(1, NULL);
	return unlink(out + 4) | unlink(ram + 4);
}

int main(void)
{
	/* In this order: there is a guest from the last on. */
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_natively),
					    cmocka_unit_test(test_flushes),
					    cmocka_unit_test(test_guest) };

	return cmocka_run_group_tests(tests, machine, end);
}
