/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs of the machine: one struct cpu each, their stacks, who is online. */
#include <margay/errno.h>
#include <margay/host.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/acpi/acpi.h"
#include "kernel/log/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/memory/pmem.h"
#include "kernel/percpu.h"

static struct cpu boot_cpu;
static struct cpu *cpus[MADT_MAX_CPUS]; /* by index; the others' pages are on their own nodes */
static unsigned nr_cpus = 1;
static PERCPU struct cpu_desc desc;

static_assert(sizeof(struct cpu) <= PAGE_SIZE, "one page each");

void cpu_load(struct cpu *cpu)
{
	desc_load(&cpu_own(cpu, desc), (u64)cpu);
	trap_load();
}

void cpu_init_boot(void)
{
	boot_cpu.self = &boot_cpu;
	cpus[0] = &boot_cpu;
	boot_cpu.online = true;
	trap_init();
	cpu_load(&boot_cpu);
}

static int add_cpu(u32 apic)
{
	int node = (int)numa_node_of_apic_id(apic);
	struct cpu *cpu = pmem_pages_alloc(1, node);

	if (!cpu)
		return -ENOMEM;
	cpu->self = cpu;
	cpu->id = nr_cpus;
	cpu->apic_id = apic;
	cpu->node = node;
	cpus[nr_cpus++] = cpu;
	return 0;
}

int cpu_init_all(void)
{
	const struct madt_info *madt = acpi.madt;
	bool listed = false;

	boot_cpu.apic_id = apic_id();
	boot_cpu.node = (int)numa_node_of_apic_id(boot_cpu.apic_id);
	if (!madt || !madt->nr_cpus)
		return 0;
	for (unsigned i = 0; i < madt->nr_cpus; i++) {
		if (madt->cpu[i].apic_id == boot_cpu.apic_id)
			listed = true;
		else if (nr_cpus < MADT_MAX_CPUS && add_cpu(madt->cpu[i].apic_id))
			return -ENOMEM;
	}
	if (!listed)
		printk_error("the MADT does not list the boot CPU (APIC ID %u)", boot_cpu.apic_id);
	return 0;
}

static bool in_srat(u32 apic)
{
	u32 id;

	for (unsigned i = 0; numa_apic_id(i, &id); i++)
		if (id == apic)
			return true;
	return false;
}

static bool in_madt(u32 apic)
{
	for (unsigned i = 0; i < nr_cpus; i++)
		if (cpus[i]->apic_id == apic)
			return true;
	return false;
}

void cpu_report_srat(void)
{
	unsigned absent = 0;
	u32 id;

	for (unsigned i = 0; numa_apic_id(i, &id); i++)
		absent += !in_madt(id);
	if (absent)
		printk("NUMA: SRAT names %u processors that the MADT does not: ignored", absent);
	for (unsigned i = 0; i < nr_cpus && numa_apic_id(0, &id); i++)
		if (!in_srat(cpus[i]->apic_id))
			printk("NUMA: SRAT does not name the CPU with APIC ID %u: taken as on node 0",
			       cpus[i]->apic_id);
}

int cpu_alloc_stacks(struct cpu *cpu)
{
	for (unsigned i = 0; i < CPU_STACKS; i++) {
		u64 size = i ? CPU_IST_SIZE : CPU_STACK_SIZE;
		void *pages = pmem_pages_alloc((unsigned)(size / PAGE_SIZE), cpu->node);

		if (!pages)
			return -ENOMEM;
		cpu->stack[i].top = (u64)stack_map(virt_to_phys(pages), size);
		cpu->stack[i].bottom = cpu->stack[i].top - size;
		if (i)
			desc_set_ist(&cpu_own(cpu, desc), (enum ist)(i - 1), cpu->stack[i].top);
	}
	return 0;
}

unsigned cpu_count(void)
{
	return nr_cpus;
}

unsigned host_cpu_count(void)
{
	unsigned count = 0;

	/* One in between may be lost. */
	for (unsigned i = 0; i < nr_cpus; i++)
		count = __atomic_load_n(&cpu_get(i)->online, __ATOMIC_ACQUIRE) ? i + 1 : count;
	return count;
}

struct cpu *cpu_get(unsigned id)
{
	if (id >= nr_cpus)
		return NULL;
	return cpus[id];
}

const struct host_cpu_info *host_cpu_info(unsigned id)
{
	static struct host_cpu_info info[MADT_MAX_CPUS];
	const struct cpu *cpu = cpu_get(id);

	if (!cpu)
		return NULL;
	info[id] = (struct host_cpu_info){ .apic_id = cpu->apic_id,
					   .node = cpu->node,
					   .online = cpu->online };
	return &info[id];
}

void cpu_put_last(unsigned id)
{
	struct cpu *cpu = cpus[id];

	for (; id < nr_cpus - 1; id++) {
		cpus[id] = cpus[id + 1];
		cpus[id]->id = id;
	}
	cpus[id] = cpu;
	cpu->id = id;
}
