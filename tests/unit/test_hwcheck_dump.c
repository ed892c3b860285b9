/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/report/hwcheck_encode.c */
/*
 * What the dump says of CPUs: every leaf, the subleaves that differ, MSRs that are there and those
 * that are not; of other CPUs what is different; a CPU that is silent. The file is included; the
 * encoder's lines are counted, its bytes looked at here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <margay/errno.h>

#define dump_item test_item
#include "vmm/report/hwcheck_dump.c"
#undef dump_item

#define CPUS 4

static struct {
	char text[DUMP_TEXT];
	const void *data; /* a copy */
	size_t size;
} items[200];
static unsigned nr_items, this_cpu, busy_cpu, refusing_cpu, odd_cpu, long_cpu;
static bool hypervisor, intel, with_model;
static u64 tsc, signature_written;
static unsigned pages_used;
static void *kept;

void test_item(struct dump *, const void *data, size_t size, const char *fmt, va_list ap)
{
	assert_true(nr_items < ARRAY_SIZE(items));
	vsnprintf(items[nr_items].text, DUMP_TEXT, fmt, ap);
	items[nr_items].data = data ? memcpy(malloc(size + 1), data, size) : NULL;
	items[nr_items++].size = size;
}

/*
 * Leaf 2 has no subleaves, 4 three, 0xb two and gives ECX back, 0xd many with holes; the others are
 * what they are.
 */
void host_cpuid(u32 leaf, u32 sub, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ leaf, 0, 0, 0x1000 };
	if (leaf == 0)
		*out = (struct cpuid_regs){ 0xd, 0, 0, 0 };
	if (leaf == 0 && intel)
		memcpy(&out->ebx, "Genu", 4);
	if (leaf == 1)
		*out = (struct cpuid_regs){ 1, this_cpu << 24, hypervisor ? 1u << 31 : 0, 0 };
	if (leaf == 4)
		*out = (struct cpuid_regs){ sub < 3 ? sub + 1 : 0, 0, 0, 0 };
	if (leaf == 0xb)
		*out = (struct cpuid_regs){ 0, sub < 2 ? sub + 1 : 0,
					    (sub < 2 ? (sub + 1) << 8 : 0) | sub, this_cpu };
	if (leaf == 0xd)
		*out = (struct cpuid_regs){ sub == 9 || (sub == 12 && this_cpu == odd_cpu) ? 8 : 0,
					    0, 0, 0 };
	if (leaf == 0x40000000)
		*out = (struct cpuid_regs){ 0x40000001, 7, 8, 9 };
	if (leaf == 0x80000000)
		*out = (struct cpuid_regs){ 0x80000004 + (this_cpu == long_cpu), 0, 0, 0 };
}

int host_rdmsr(u32 msr, u64 *value)
{
	*value = 0;
	if (msr == 0x3a)
		*value = this_cpu == 2 ? 1 : 0x1234500000005;
	else if (msr != 0x8b && msr != 0x480)
		return -EFAULT;
	return 0;
}

int host_wrmsr(u32 msr, u64 value)
{
	assert_int_equal(msr, 0x8b);
	assert_int_equal(value, 0);
	signature_written++;
	return 0;
}

u64 host_tsc(void)
{
	return tsc += 1000000;
}

u64 host_tsc_khz(void)
{
	return 2000000;
}

bool host_tsc_stable(void)
{
	return true;
}

bool host_is_x2apic(void)
{
	return false;
}

const char *host_version(void)
{
	return "1-g2";
}

const char *host_image(void)
{
	return "default -SCREEN";
}

u64 host_own_bytes(u64 *used)
{
	*used = 0x10;
	return 0x200000;
}

unsigned host_cpu_count(void)
{
	return CPUS;
}

unsigned host_cpu_this(void)
{
	return 0;
}

const struct host_cpu_info *host_cpu_info(unsigned cpu)
{
	static struct host_cpu_info info;

	info = (struct host_cpu_info){ .apic_id = cpu * 2 + 16, .online = cpu < CPUS };
	return cpu <= CPUS ? &info : NULL;
}

int host_cpu_assign(unsigned cpu, struct host_work *work)
{
	if (cpu == busy_cpu)
		return 0; /* and never runs it */
	if (cpu == refusing_cpu)
		return -EBUSY;
	this_cpu = cpu;
	work->run(work);
	this_cpu = 0;
	return 0;
}

unsigned host_node_count(void)
{
	return 2;
}

u64 host_node_memory(unsigned node)
{
	return MIB(node + 1);
}

bool host_mem_piece(unsigned i, struct host_extent *out)
{
	*out = (struct host_extent){ .base = hpa(GIB(i + 1)), .size = MIB(2), .node = (int)i };
	return i < 2;
}

const struct vm_config *monitor_first_config(void)
{
	static const struct vm_config model = { .kernel = "k", .initrd = "i", .cmdline = "a b" };

	return with_model ? &model : NULL;
}

void host_dump(host_dump_item put)
{
	put("ab", 2, "from the kernel %u", 5);
}

void host_log(const char *, ...) { }

void host_console_drain(void) { }

void *host_pages_alloc(unsigned count, int)
{
	pages_used += count;
	return kept = calloc(count, PAGE_SIZE);
}

void host_pages_free(void *pages, unsigned count)
{
	pages_used -= count;
	free(pages);
}

static int setup(void **)
{
	for (unsigned i = 0; i < nr_items; i++)
		free((void *)items[i].data);
	nr_items = this_cpu = pages_used = 0;
	busy_cpu = refusing_cpu = odd_cpu = long_cpu = ~0u;
	hypervisor = with_model = false;
	intel = true;
	signature_written = 0;
	return 0;
}

static int finish(void **)
{
	return setup(NULL) || pages_used;
}

/* The one item of this text. */
static unsigned item_of(const char *text)
{
	unsigned found = nr_items;

	for (unsigned i = 0; i < nr_items; i++)
		if (!strcmp(items[i].text, text)) {
			assert_int_equal(found, nr_items);
			found = i;
		}
	if (found == nr_items)
		fail_msg("no item \"%s\"", text);
	return found;
}

static const struct entry *entry_in(const char *text, u32 leaf, u32 subleaf)
{
	unsigned i = item_of(text);
	const struct entry *e = items[i].data;

	assert_int_equal(items[i].size % sizeof(*e), 0);
	for (size_t k = 0; k < items[i].size / sizeof(*e); k++)
		if (e[k].leaf == leaf && e[k].subleaf == subleaf)
			return &e[k];
	return NULL;
}

static unsigned entries_in(const char *text)
{
	return (unsigned)(items[item_of(text)].size / sizeof(struct entry));
}

static unsigned subleaves(u32 leaf)
{
	unsigned n = 0;

	for (u32 sub = 0; sub < 64; sub++)
		n += entry_in("cpuid 0 all", leaf, sub) != NULL;
	return n;
}

static void test_first_cpu(void **)
{
	hwcheck_dump();
	assert_int_equal(subleaves(2), 1);
	assert_int_equal(subleaves(4), 4);
	assert_int_equal(entry_in("cpuid 0 all", 4, 2)->regs.eax, 3);
	assert_int_equal(entry_in("cpuid 0 all", 4, 3)->regs.eax, 0);
	assert_int_equal(subleaves(0xb), 3);
	assert_int_equal(entry_in("cpuid 0 all", 0xb, 2)->regs.ecx, 2);
	assert_int_equal(subleaves(0xd), 3);
	assert_non_null(entry_in("cpuid 0 all", 0xd, 10));
	assert_int_equal(subleaves(0x80000004), 1);
	assert_null(entry_in("cpuid 0 all", 0x80000005, 0));
	assert_null(entry_in("cpuid 0 all", 0x40000000, 0));
	assert_null(entry_in("cpuid 0 all", 0xe, 0));
	assert_int_equal(entry_in("cpuid 0 all", 0x3a, ~0u)->regs.eax, 5);
	assert_int_equal(entry_in("cpuid 0 all", 0x3a, ~0u)->regs.ebx, 0x12345);
	assert_int_equal(entry_in("cpuid 0 all", 0x3a, ~0u)->regs.ecx, 0);
	assert_int_equal(entry_in("cpuid 0 all", 0x481, ~0u)->regs.ecx, 1);
	assert_int_equal(signature_written, CPUS);
}

static void test_hypervisor_leaves(void **)
{
	hypervisor = true;
	intel = false;
	hwcheck_dump();
	assert_int_equal(entry_in("cpuid 0 all", 0x40000001, 0)->regs.eax, 0x40000001);
	assert_int_equal(signature_written, 0);
}

/* APIC IDs, and of CPU 2 an MSR; CPU 3 has subleaves of its own, and is told whole. */
static void test_other_cpus(void **)
{
	odd_cpu = 3;
	hwcheck_dump();
	assert_int_equal(entries_in("cpuid 1 as 0 but"), 4);
	assert_int_equal(entry_in("cpuid 1 as 0 but", 1, 0)->regs.ebx, 1 << 24);
	assert_int_equal(entry_in("cpuid 1 as 0 but", 0xb, 1)->regs.edx, 1);
	assert_int_equal(entries_in("cpuid 2 as 0 but"), 5);
	assert_int_equal(entry_in("cpuid 2 as 0 but", 0x3a, ~0u)->regs.eax, 1);
	assert_int_equal(entries_in("cpuid 3 all"), entries_in("cpuid 0 all") + 2);
}

/* One more leaf at its end. */
static void test_longer_cpu(void **)
{
	long_cpu = 2;
	hwcheck_dump();
	assert_int_equal(entries_in("cpuid 2 all"), entries_in("cpuid 0 all") + 1);
	item_of("cpuid 1 as 0 but");
}

/*
 * It may still write when it wakes up: its record is not freed, and nobody else is asked into it.
 */
static void silent_cpu(unsigned *which)
{
	*which = 2;
	hwcheck_dump();
	item_of("cpuid 2 silent");
	item_of("end");
	item_of("cpuid 1 as 0 but");
	for (unsigned i = 0; i < nr_items; i++)
		assert_null(strstr(items[i].text, "cpuid 3"));
	assert_int_equal(pages_used, RECORD_PAGES);
	pages_used = 0;
	free(kept);
}

static void test_silent_cpu(void **)
{
	silent_cpu(&busy_cpu);
}

/* One that takes no work: what the record says is another's. */
static void test_refusing_cpu(void **)
{
	silent_cpu(&refusing_cpu);
}

static void test_node(void **)
{
	with_model = true;
	hwcheck_dump();
	assert_string_equal(items[0].text, "host 200000 10 2000000 1 0 1-g2");
	assert_string_equal(items[1].text, "image default -SCREEN");
	item_of("cpu 0 10 1");
	item_of("cpu 4 18 0");
	item_of("node 1 200000");
	item_of("piece 80000000 200000 1");
	assert_memory_equal(items[item_of("model k i")].data, "a b", 3);
	assert_int_equal(items[item_of("model k i")].size, 3);
	assert_memory_equal(items[item_of("from the kernel 5")].data, "ab", 2);
	assert_string_equal(items[nr_items - 1].text, "end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_cpu, setup, finish),
		cmocka_unit_test_setup_teardown(test_hypervisor_leaves, setup, finish),
		cmocka_unit_test_setup_teardown(test_other_cpus, setup, finish),
		cmocka_unit_test_setup_teardown(test_longer_cpu, setup, finish),
		cmocka_unit_test_setup_teardown(test_silent_cpu, setup, finish),
		cmocka_unit_test_setup_teardown(test_refusing_cpu, setup, finish),
		cmocka_unit_test_setup_teardown(test_node, setup, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
