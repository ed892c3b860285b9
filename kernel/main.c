/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order in which the node comes up, from entry.asm's jump into C to the boot CPU's work loop.
 */
#include <margay/host.h>
#include <margay/string.h>
#include "arch/x86_64/cpu/apic.h"
#include "arch/x86_64/cpu/errata.h"
#include "arch/x86_64/cpu/features.h"
#include "arch/x86_64/cpu/paging.h"
#include "arch/x86_64/cpu/trap.h"
#include "kernel/acpi/acpi.h"
#include "kernel/work/alarm_input.h"
#include "kernel/boot/boot.h"
#include "kernel/console/console.h"
#include "kernel/console/gdb_port.h"
#include "kernel/console/log_parts.h"
#include "kernel/console/serial.h"
#include "kernel/console/screen.h"
#include "kernel/console/console_find.h"
#include "kernel/work/console_interrupt.h"
#include "kernel/iommu/iommu.h"
#include "kernel/iommu/release.h"
#include "kernel/cpu/irq.h"
#include "kernel/errors/mce.h"
#include "kernel/log/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/memory/pmem.h"
#include "kernel/cpu/microcode.h"
#include "kernel/cpu/mitigations.h"
#include "kernel/memory/modules.h"
#include "kernel/cpu/nmi.h"
#include "kernel/work/nmi_try.h"
#include "kernel/own_memory.h"
#include "kernel/errors/panic.h"
#include "kernel/pci/pci_core.h"
#include "kernel/pci/pci_route.h"
#include "kernel/pci/pci_masters.h"
#include "kernel/percpu.h"
#include "kernel/cpu/power.h"
#include "kernel/poweroff.h"
#include "kernel/work/screen_idle.h"
#include "kernel/smp.h"
#include "kernel/time/clock.h"
#include "kernel/time/timer.h"
#include "kernel/upcall.h"
#include "kernel/work/work.h"

/*
 * Called by entry.asm on the boot stack, with the boot tables: the first 4 GiB are in the direct
 * map.
 */
void kernel_start(u64 mbi_phys, u64 load_base, u64 stack, u64 stack_top) __attribute__((noreturn));

static void report_cmdline(const char *line)
{
	printk_error("command line: %s", line);
}

static void read_boot_info(u64 mbi_phys)
{
	const char *error =
		bootinfo_parse(phys_to_virt(mbi_phys), BOOT_MAP_SIZE - mbi_phys, &boot_info);

	cmdline_parse(error ? "" : boot_info.cmdline, &boot_cmdline, report_cmdline);
	printk_set_level(boot_cmdline.loglevel);
	panic_set_reboot(boot_cmdline.panic, reboot);
	/*
	 * A port works at once; registers in memory need the final page tables, and firmware's
	 * tables may name another than the port of habit. Where there is none the log stays in
	 * memory.
	 */
	if (!cmdline_console_mmio(&boot_cmdline))
		(void)(boot_cmdline.console_named ? console_init : console_start)(&boot_cmdline);
	if (error)
		panic("boot information: %s", error);
}

static void print_memory_map(void)
{
	for (unsigned i = 0; i < boot_info.nr_ranges; i++) {
		const struct boot_range *r = &boot_info.range[i];

		printk("memory %012lx-%012lx %s", r->start, r->end - 1, boot_memory_name(r->type));
	}
	if (boot_info.left_out)
		printk_error("memory: the firmware's map has %u pieces too many: not used",
			     boot_info.left_out);
	printk("memory: %lu MiB usable", bootinfo_usable(&boot_info) >> 20);
}

/*
 * The final page tables, and with them the end of everything that entry.asm set up but its stack.
 */
static void init_memory(u64 load_base)
{
	extern const u8 image_start[], image_end[];
	static struct phys_range ram[BOOTINFO_RANGES];
	struct extent keep = { 0 };
	unsigned count = 0;

	for (unsigned i = 0; i < boot_info.nr_ranges; i++) {
		const struct boot_range *r = &boot_info.range[i];

		if (r->type == BOOT_MEMORY_USABLE)
			ram[count++] = (struct phys_range){ r->start, r->end - r->start };
	}
	if (errata_hle_hangs()) {
		keep = (struct extent){ .start = ERRATUM_HLE_START, .end = ERRATUM_HLE_END };
		printk("memory: %#lx-%#lx is left out: an elided lock there may hang this CPU",
		       keep.start, keep.end - 1);
	}
	if (pmem_init(&boot_info, load_base, load_base + (u64)(image_end - image_start), keep))
		panic("no usable memory map");
	paging_init(ram, count);
	if (cmdline_console_mmio(&boot_cmdline))
		(void)console_init(&boot_cmdline);
	screen_init(&boot_info, &boot_cmdline);
}

static void init_numa(void)
{
	const char *error = numa_init(acpi.srat, acpi.slit);

	if (error)
		printk("NUMA: %s: taken as %u node(s)", error, numa_node_count());
	pmem_start();
	upcall_use_page_pool();
	for (unsigned node = 0; node < numa_node_count(); node++)
		printk("node %u: %lu MiB free", node, host_mem_free((int)node, NULL) >> 20);
}

static u32 highest_apic_id(void)
{
	const struct madt_info *madt = acpi.madt;
	u32 highest = 0;

	if (madt)
		for (unsigned i = 0; i < madt->nr_cpus; i++)
			highest = MAX(highest, madt->cpu[i].apic_id);
	return highest;
}

/* Those above, if there are any, give the CPUs their work. */
static void start_work(void)
{
	extern void (*const __start_host_starts[])(void), (*const __stop_host_starts[])(void);

	for (void (*const *start)(void) = __start_host_starts; start < __stop_host_starts; start++)
		(*start)();
}

/* The rest of the way, on the boot CPU's guarded stack. */
static __attribute__((noreturn, used)) void boot_cpu_main(void)
{
	trap_use_ist();
	mce_init_cpu();
	log_keep();
	if (clock_init())
		panic("no TSC rate: no HPET, no ACPI PM timer, incomplete CPUID 15h");
	log_time_tell();
	apic_timer_init(host_tsc_khz());
	timer_init();
	printk("CPU 0: APIC ID %u, %s, timer %s", this_cpu()->apic_id,
	       host_is_x2apic() ? "x2APIC" : "xAPIC", apic_timer_mode());
	smp_start();
	microcode_tell();
	mitigations_tell();
	power_tell();
	own_memory_note_cpus();
	irq_init();
	pci_init(acpi.mcfg, &boot_info);
	/* Before anything interrupts, and goes by it. */
	iommu_init();
	console_interrupt_init(&boot_cmdline);
	gdb_port_init(&boot_cmdline, nmi_comes);
	poweroff_init();
	modules_init(&boot_info);
	smbios_init(&boot_info);
	if (IS_ENABLED(CONFIG_PCI_FACTS))
		pci_route_facts(host_module);
	alarm_init();
	ghes_init();
	mce_tell_when(boot_cmdline.corrected_in_time);
	clock_refine();
	own_memory_tell();
	screen_show();
	start_work();
	screen_idle_start();
	work_loop();
}

void kernel_start(u64 mbi_phys, u64 load_base, u64 stack, u64 stack_top)
{
	upcall_start();
	panic_boot_stack(stack, stack_top);
	paging_set_load_base(load_base);
	cpu_init_boot();
	read_boot_info(mbi_phys);
	printk("Margay %s, image %s, loaded at %#lx by %s, firmware %s", host_version(),
	       host_image(), load_base,
	       boot_info.loader[0] ? boot_info.loader : "an unnamed loader",
	       boot_info.efi ? "UEFI" : "BIOS");
	print_memory_map();
	pci_masters_off();

	/* What the CPU can do may be another with it. */
	microcode_init(&boot_info);
	if (features_init())
		panic("this CPU cannot run Margay");
	features_setup_cpu();
	errata_init();
	errata_init_cpu();
	mitigations_init_cpu();
	power_init_cpu();
	printk("CPU: %s, family %#x model %#x stepping %u",
	       cpu_features.brand[0] ? cpu_features.brand : "no name", cpu_features.family,
	       cpu_features.model, cpu_features.stepping);
	init_memory(load_base);
	acpi_init(&boot_info);
	console_find(&boot_cmdline);
	iommu_release();
	init_numa();
	if (apic_init(highest_apic_id(), x2apic_wanted()))
		panic("no local APIC");
	x2apic_tell();
	if (cpu_init_all())
		panic("no memory for the data of CPU %u", cpu_count());
	cpu_report_srat();
	if (cpu_alloc_stacks(this_cpu()))
		panic("no memory for stacks");

	/* From the boot stack to the guarded one; a zero frame pointer ends backtraces. */
	asm volatile("mov %0, %%rsp\n\t"
		     "xor %%ebp, %%ebp\n\t"
		     "call boot_cpu_main" : : "r"(this_cpu()->stack[0].top) : "memory");
	__builtin_unreachable();
}
