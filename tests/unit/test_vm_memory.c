/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: */
/*
 * Where a VM's second-level tables come from, on nodes with and without CPUs of its own. The file
 * is included; test_stage2.c has what a table does with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/memory/vm_memory.c"

static struct vm_parts parts;
static struct vm_config config;
static const struct hvm_ops ops;
const struct hvm_ops *hvm = &ops;
struct hvm_caps hvm_caps;

/* CPU n is on node 10 + n / 2. */
const struct host_cpu_info *host_cpu_info(unsigned cpu)
{
	static struct host_cpu_info info;

	info.node = 10 + (int)cpu / 2;
	return &info;
}

static int root_node, nodes[4];
static unsigned nr_maps;

int stage2_init(struct stage2 *s, const struct stage2_format *, const struct stage2_mem *,
		enum stage2_leaf, int node)
{
	s->node = root_node = node;
	return 0;
}

int vm_map_host(struct vm *, gpa_t, hpa_t, u64, unsigned, enum memtype)
{
	nodes[nr_maps++] = parts.stage2.node;
	return 0;
}

bool vm_splits(const struct vm *)
{
	return true;
}

void mtrr_reset(struct mtrr_state *, u64, u64, unsigned) { }

void stage2_destroy(struct stage2 *) { }

const struct stage2_mem stage2_host_pages;

int host_no_memory(const char *)
{
	fail();
	return -ENOMEM;
}

void host_log(const char *, ...) { }

static void make(u16 *cpus, unsigned nr_cpus, const int *regions, unsigned nr_regions)
{
	memset(&parts, 0, sizeof(parts));
	nr_maps = 0;
	parts.vm.config = &config;
	parts.vm.host_cpu = cpus;
	parts.vm.nr_host_cpus = nr_cpus;
	parts.map.count = nr_regions;
	for (unsigned i = 0; i < nr_regions; i++)
		parts.map.region[i].node = regions[i];
	assert_int_equal(memory_vm_create(&parts.vm), 0);
}

static void test_one_node(void **)
{
	make((u16[]){ 3, 2 }, 2, (int[]){ 11 }, 1);
	assert_true(root_node == 11 && nodes[0] == 11 && parts.stage2.node == 11);
	/* Its memory is elsewhere: its CPUs walk the tables all the same. */
	make((u16[]){ 3, 2 }, 2, (int[]){ 10 }, 1);
	assert_true(root_node == 11 && nodes[0] == 11 && parts.stage2.node == 11);
}

static void test_several_nodes(void **)
{
	make((u16[]){ 4, 0, 3 }, 3, (int[]){ 10, 12, 13, 11 }, 4);
	assert_int_equal(root_node, 12);
	assert_true(nodes[0] == 10 && nodes[1] == 12 && nodes[2] == 12 && nodes[3] == 11);
	/* What is mapped or split later: not as the last region. */
	assert_int_equal(parts.stage2.node, 12);
	assert_true(parts.stage2.small_exec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_node),
		cmocka_unit_test(test_several_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
