/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See hwcheck_dump.h. CPUID and MSRs of each CPU, of the others only what differs from the first's;
 * what the planner is given; and what the kernel has of the machine. docs/hardware.md has the list.
 * CPUID: SDM vol. 2; MSRs: SDM vol. 4, APM vol. 2.
 */
#include "vmm/report/hwcheck_dump.h"

#include <margay/host.h>
#include <margay/string.h>

#include "vmm/config/config.h"
#include "vmm/monitor.h"
#include "vmm/report/hwcheck_encode.h"

#define LEAVES_MAX 64u /* of one range */
#define SUBLEAVES 64u
#define ENTRIES 640
#define ANSWER_MS 1000

/* clang-format off */
static const u32 msrs[] = {
	MSR_PLATFORM_ID, MSR_FEATURE_CONTROL, MSR_BIOS_SIGN_ID, 0xce /* PLATFORM_INFO */,
	0xcf /* CORE_CAPABILITIES */,
	MSR_MTRRCAP, MSR_ARCH_CAPABILITIES, MSR_MCG_CAP, MSR_MISC_ENABLE, MSR_PAT,
	MSR_MTRR_DEF_TYPE,
	/* The capabilities of VT-x. */
	0x480, 0x481, 0x482, 0x483, 0x484, 0x485, 0x486, 0x487, 0x488, 0x489, 0x48a, 0x48b, 0x48c,
	0x48d, 0x48e, 0x48f, 0x490,
	0x491, 0x492, 0x493,
	MSR_EFER, MSR_AMD_SYSCFG, 0xc0010015 /* HWCR */, MSR_AMD_VM_CR,
};
/* clang-format on */

/*
 * CPUID's answer: a subleaf that has no entry is as the one before. Or an MSR: its value in EAX and
 * EBX; ECX 1: it is absent.
 */
struct entry {
	u32 leaf;
	u32 subleaf;
	struct cpuid_regs regs;
};

#define SUBLEAF_MSR 0xffffffffu

/* What one CPU says of itself. */
struct record {
	struct host_work work;
	unsigned count;
	struct entry entry[ENTRIES];
	bool done; /* atomic */
};

#define RECORD_PAGES (unsigned)(ALIGN_UP(2 * sizeof(struct record), PAGE_SIZE) / PAGE_SIZE)

static void put_line(const char *text)
{
	host_log("%s", text);
	host_console_drain();
}

static struct dump dump = { .line = put_line };

static __printf(3, 4) void item(const void *data, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	dump_item(&dump, data, size, fmt, ap);
	va_end(ap);
}

#define fact(...) item(NULL, 0, __VA_ARGS__)

/* ---- CPUs ------------------------------------------------------------------ */

/* The topology leaves give the subleaf back in ECX bits 7:0. */
static bool echoes(u32 leaf)
{
	return leaf == 0xb || leaf == 0x1f || leaf == 0x80000026;
}

static void read_leaf(struct record *r, u32 leaf)
{
	struct cpuid_regs last = { 0 };

	for (u32 sub = 0; sub < SUBLEAVES && r->count < ENTRIES; sub++) {
		struct entry *e = &r->entry[r->count];

		e->leaf = leaf;
		e->subleaf = sub;
		host_cpuid(leaf, sub, &e->regs);
		last.ecx += echoes(leaf);
		r->count += !sub || memcmp(&e->regs, &last, sizeof(last));
		last = e->regs;
	}
}

static void read_range(struct record *r, u32 first)
{
	struct cpuid_regs top;

	host_cpuid(first, 0, &top);
	for (u32 leaf = first; leaf <= top.eax && leaf < first + LEAVES_MAX; leaf++)
		read_leaf(r, leaf);
}

static void read_cpu(struct host_work *work)
{
	struct record *r = container_of(work, struct record, work);
	struct cpuid_regs one, vendor;

	/* SDM vol. 3, 10.11.7.1: Intel's revision is there after CPUID. */
	host_cpuid(0, 0, &vendor);
	if (!memcmp(&vendor.ebx, "Genu", 4))
		host_wrmsr(MSR_BIOS_SIGN_ID, 0);
	host_cpuid(1, 0, &one);
	for (r->count = 0; r->count < ARRAY_SIZE(msrs); r->count++) {
		u32 msr = msrs[r->count];
		u64 value;
		bool absent = host_rdmsr(msr, &value);

		r->entry[r->count] = (struct entry){
			msr, SUBLEAF_MSR, { (u32)value, (u32)(value >> 32), absent, 0 }
		};
	}
	read_range(r, 0);
	if (one.ecx & BIT(31))
		read_range(r, 0x40000000);
	read_range(r, 0x80000000);
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
}

static bool read_on(unsigned cpu, struct record *r)
{
	u64 end = host_tsc() + ANSWER_MS * host_tsc_khz();

	r->work = (struct host_work){ .name = "check", .run = read_cpu };
	r->done = false;
	if (cpu == host_cpu_this())
		read_cpu(&r->work);
	else if (host_cpu_assign(cpu, &r->work))
		return false;
	while (!__atomic_load_n(&r->done, __ATOMIC_ACQUIRE) && host_tsc() < end)
		__builtin_ia32_pause();
	return __atomic_load_n(&r->done, __ATOMIC_ACQUIRE);
}

/* Leaves out of `r` what `first` has as well, when both have the same subleaves. */
static bool reduce(struct record *r, const struct record *first)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < MAX(r->count, first->count); i++)
		if (memcmp(&r->entry[i], &first->entry[i], offsetof(struct entry, regs)))
			return false;
	for (unsigned i = 0; i < r->count; i++)
		if (memcmp(&r->entry[i], &first->entry[i], sizeof(r->entry[i])))
			r->entry[kept++] = r->entry[i];
	r->count = kept;
	return true;
}

static void put_cpu(unsigned cpu, struct record *r, const struct record *first)
{
	bool reduced = r != first && reduce(r, first);

	item(r->entry, r->count * sizeof(r->entry[0]), "cpuid %u %s", cpu,
	     reduced ? "as 0 but" : "all");
}

static void put_cpus(void)
{
	struct record *first = host_pages_alloc(RECORD_PAGES, -1), *other = first + 1;
	bool answered = first;

	if (first && read_on(0, first))
		put_cpu(0, first, first);
	for (unsigned i = 1; answered && i < host_cpu_count(); i++) {
		answered = read_on(i, other);
		if (answered)
			put_cpu(i, other, first);
		else
			fact("cpuid %u silent", i);
	}
	/* A CPU that did not answer may still write to its record. */
	if (answered)
		host_pages_free(first, RECORD_PAGES);
}

/* ---- what the planner is given --------------------------------------------------- */

static void put_node(void)
{
	const struct vm_config *model = monitor_first_config();
	const struct host_cpu_info *cpu;
	struct host_extent piece;
	u64 used, own = host_own_bytes(&used);

	fact("host %lx %lx %lu %u %u %s", own, used, host_tsc_khz(), host_tsc_stable(),
	     host_is_x2apic(), host_version());
	fact("image %s", host_image());
	for (unsigned i = 0; (cpu = host_cpu_info(i)); i++)
		fact("cpu %u %x %u", i, cpu->apic_id, cpu->online);
	for (unsigned i = 0; i < host_node_count(); i++)
		fact("node %u %lx", i, host_node_memory(i));
	for (unsigned i = 0; host_mem_piece(i, &piece); i++)
		fact("piece %lx %lx %d", piece.base.v, piece.size, piece.node);
	if (model)
		item(model->cmdline, strlen(model->cmdline), "model %s %s", model->kernel,
		     model->initrd);
}

void hwcheck_dump(void)
{
	dump.items = 0;
	put_node();
	put_cpus();
	host_dump(item);
	fact("end");
}
