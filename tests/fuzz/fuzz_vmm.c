/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/fuzz/fuzz_vmm.sources */
/* FUZZ: -max_len=1500 vmm/exit/cpuid.c vmm/exit/cr.c vmm/emulate/emulate.c vmm/emulate/emulate_mem.c vmm/vm/event.c vmm/exit/exit.c vmm/memory/guest_mem.c vmm/memory/guest_walk.c vmm/emulate/io.c vmm/emulate/arithmetic.c vmm/emulate/exchange.c vmm/emulate/strings.c vmm/emulate/vector.c vmm/load/linux_entry.c vmm/emulate/mmio.c vmm/node/monitor.c vmm/exit/msr.c vmm/node/pause.c vmm/plan/place.c vmm/vm/ranges.c vmm/vm/startup.c vmm/report/telemetry.c vmm/node/vcpu.c vmm/vm/vm.c vmm/vm/vm_end.c vmm/dev/board/acpi_pm.c vmm/dev/board/debug_exit.c vmm/dev/board/legacy.c vmm/dev/cpu/poll_control.c vmm/dev/cpu/pvclock.c vmm/dev/board/pvpanic.c vmm/dev/board/rtc.c vmm/dev/board/watchdog.c */
/*
 * Fuzzes the whole monitor, from VM files to the end of the node, over a fake
 * host and a fake backend. The input's head makes a machine (CPUs, memory in
 * pieces, CPUID of a recorded CPU, capabilities, failures) and one or two VMs;
 * the rest is what their guests and the world do (vmm_guest.c). CPUs are
 * fibers, so the same input runs the same way. Checked, beside memory safety
 * with guest RAM between guard pages: each entry is legal (fake_hvm.c), no CPU
 * sleeps while its vCPU could go on, every VM ends, and all is given back.
 */
#include "arch/x86_64/stage2/stage2.h"
#include "tests/fuzz/fuzz_vmm.h"

#include <margay/bootparams.h>

#include "tests/fuzz/fiber.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/cpuid_recorded.h"
/* With its static state: each run starts anew. */
#include "vmm/node/monitor.c"
#include "vmm/slots/output_log.c"
#include "vmm/slots/running.c"
#include "vmm/node/pause.h"
#include "vmm/vm/service.h"
#include "vmm/slots/slot_own.h"
#include "vmm/vm/startup.h"

/* Makes the section of the services, whose ends the monitor asks the linker for. */
static void no_service(void) { }
MONITOR_SERVICE(no_service);

/* The scheduler is none of the CPUs: what it does to a VM kicks all of them. */
#define NO_CPU FAKE_CPUS

struct world world;

/* ---- CPUs as fibers ---- */

static struct fiber boot, cpu_fiber[FAKE_CPUS];
static u8 stack[FAKE_CPUS][FIBER_STACK] __aligned(64);
static bool waiting[FAKE_CPUS];

/* From a CPU back to the scheduler, and on when it is this CPU's turn. */
void world_yield(void)
{
	unsigned cpu = fake_host.this_cpu;

	fiber_switch(&cpu_fiber[cpu], &boot, false);
	CHECK(fake_host.this_cpu == cpu);
}

/* What kernel/work/work.c does on each CPU. */
static void cpu_main(void)
{
	unsigned cpu = fake_host.this_cpu;

	fiber_arrived(&cpu_fiber[cpu]);
	for (;;) {
		while ((fake_host.running[cpu] = fake_host.work[cpu])) {
			fake_host.work[cpu] = NULL;
			fake_host.running[cpu]->run(fake_host.running[cpu]);
		}
		world_yield();
	}
}

/* A CPU may only sleep when there is nothing that its vCPU could do. */
static void check_sleeper(unsigned cpu)
{
	struct vcpu *vcpu = fake_hvm.vcpu[cpu];

	if (!vcpu)
		return;
	CHECK(vcpu->vm->end == VM_RUNNING);
	if (vm_paused(vcpu->vm))
		return;
	CHECK(vcpu->startup == STARTUP_RUN || vcpu->startup == STARTUP_WAIT);
	if (vcpu->startup == STARTUP_RUN)
		CHECK(vcpu->halted && !vcpu_wakes(vcpu));
}

static void cpu_wait(void)
{
	unsigned cpu = fake_host.this_cpu;

	check_sleeper(cpu);
	waiting[cpu] = true;
	world_yield();
	waiting[cpu] = false;
	(void)host_cpu_kicked();
	fake_host_window();
}

/*
 * A vCPU that owns its APIC waits by windows until the others are prepared; and in images with
 * LOST_CPUS the first to leave, which is no vCPU any more, until they have left, too: they are let
 * run.
 */
static void cpu_window(void)
{
	unsigned cpu = fake_host.this_cpu;
	const struct vcpu *vcpu = fake_hvm.vcpu[cpu];
	bool waits = world.scheduling && fake_host.running[cpu];

	if (vcpu)
		waits = vcpu->vm->end == VM_RUNNING && vcpu->vm->ready < vcpu->vm->nr_vcpus;
	if (waits)
		world_yield();
}

static bool runnable(unsigned cpu)
{
	if (!fake_host.work[cpu] && !fake_host.running[cpu])
		return false;
	return !waiting[cpu] || fake_host.kick_word[cpu] || fake_host_timer_due(cpu);
}

/* ---- the end ---- */

void world_finish(void)
{
	world.finished = true;
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		if (monitor_slots[i].config)
			memset(monitor_slots[i].config->then, 0,
			       sizeof(monitor_slots[i].config->then));
		if (monitor_slots[i].vm)
			vm_end(monitor_slots[i].vm, VM_END_POWEROFF);
	}
}

/* The reasons that are asked for when a VM has not started; nobody reads them here. */
bool host_log_last(unsigned, unsigned, void (*)(const char *))
{
	return false;
}

/* host_node_poweroff(): the scheduler takes over for good. */
static void poweroff(void)
{
	world.off = true;
	if (!world.scheduling)
		longjmp(world.boot, 1);
	for (;;)
		world_yield();
}

/* Everybody sleeps: until the next timer; if there is none, for ever. */
static void all_asleep(void)
{
	u64 next = ~0ull;

	for (unsigned i = 0; i < fake_host.nr_cpus; i++)
		if (waiting[i])
			check_sleeper(i);
	for (const struct host_timer *t = fake_host.timers; t; t = t->next)
		next = MIN(next, t->deadline);
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		if (monitor_slots[i].vm && vm_paused(monitor_slots[i].vm))
			vm_resume(monitor_slots[i].vm);
	if (next != ~0ull && world.naps++ < 64)
		fake_host.tsc = MAX(fake_host.tsc, next);
	else
		world_finish();
}

static bool busy(void)
{
	for (unsigned i = 0; i < fake_host.nr_cpus; i++)
		if (fake_host.work[i] || fake_host.running[i])
			return true;
	return false;
}

/* Making a VM is most of a run's time: twice anew is enough to see that it works. */
static void limit_restarts(void)
{
	for (unsigned i = 0; i < monitor_nr_slots; i++)
		if (monitor_slots[i].config && monitor_slots[i].starts > 2)
			memset(monitor_slots[i].config->then, 0,
			       sizeof(monitor_slots[i].config->then));
}

/* Round robin over CPUs that can run; the input switches by world_yield(). */
static void schedule(void)
{
	unsigned cpu = 0;

	world.scheduling = true;
	fake_host.this_cpu = NO_CPU;
	while (busy() && !world.off) {
		unsigned tried = 0;

		limit_restarts();
		while (tried < fake_host.nr_cpus && !runnable(cpu)) {
			cpu = (cpu + 1) % fake_host.nr_cpus;
			tried++;
		}
		if (tried == fake_host.nr_cpus) {
			all_asleep();
			continue;
		}
		fake_host.this_cpu = cpu;
		fiber_switch(&boot, &cpu_fiber[cpu], false);
		fake_host.this_cpu = NO_CPU;
		cpu = (cpu + 1) % fake_host.nr_cpus;
	}
	world.scheduling = false;
}

/* ---- the machine and its VMs ---- */

static const struct {
	const struct recorded_leaf *leaf;
	unsigned count;
} machines[] = {
	{ qemu_tcg_max, ARRAY_SIZE(qemu_tcg_max) },
	{ bochs_haswell, ARRAY_SIZE(bochs_haswell) },
	{ skylake_sp, ARRAY_SIZE(skylake_sp) },
	{ sapphire_rapids, ARRAY_SIZE(sapphire_rapids) },
	{ zen4, ARRAY_SIZE(zen4) },
};

static void cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	const struct recorded_leaf *l = machines[world.machine].leaf;

	for (unsigned i = 0; i < machines[world.machine].count; i++)
		if (l[i].leaf == leaf && l[i].subleaf == subleaf)
			*out = l[i].regs;
}

/*
 * A function with an MSI-X table and pending bits in a BAR of 16 KiB, and a BAR below a page that
 * ends with it.
 */
static void make_function(void)
{
	static u8 registers[FAKE_REGISTERS];
	static const struct host_pci_function function = {
		.address = { 0, 0, 4 << 3 },
		.id = { 0x1b36, 0x10, 0x010802 },
		.extended = true,
		.node = -1,
		.bar = { { WORLD_BAR, WORLD_BAR_SIZE, 0 },
			 { WORLD_SMALL_BAR, WORLD_SMALL_BAR_SIZE, 0 } },
	};

	fake_host.nr_pci = 1;
	fake_host.pci[0] = function;
	fake_host.pci_route[0].err = -ENXIO;
	fake_host.pci_cap[0][0] = (struct pci_cap){ .id = 0x11, .offset = 0x70 };
	fake_host.nr_pci_caps[0] = 1;
	host_pci_write(0, 0, 4, 0x00101b36);
	host_pci_write(0, 4, 4, 0x00100003);
	host_pci_write(0, 8, 4, 0x01080200);
	host_pci_write(0, 0x34, 1, 0x70);
	host_pci_write(0, 0x70, 4, 64u << 16 | 0x11);
	host_pci_write(0, 0x74, 4, 0x2000);
	host_pci_write(0, 0x78, 4, 0x3000);
	memset(registers, 0, sizeof(registers));
	fake_host.registers = registers;
}

static void make_host(struct fuzz_in *in)
{
	static const u32 msrs[] = { MSR_ARCH_CAPABILITIES, MSR_PLATFORM_ID, MSR_XSS,
				    MSR_SPEC_CTRL,         MSR_PRED_CMD,    MSR_XFD,
				    MSR_X2APIC_FIRST + 0xf };
	u8 shape = fuzz_u8(in), memory = fuzz_u8(in);

	fake_host_reset();
	fake_host.quiet = true;
	fake_host.wait = cpu_wait;
	fake_host.window = cpu_window;
	fake_host.poweroff = poweroff;
	fake_host.tsc = BIT(40);
	fake_host.tsc_step = 1 << 16;
	fake_host.tsc_stable = !(shape & 8);
	fake_host.wall_ns = 1700000000000000000ull;
	fake_host.nr_cpus = 1 + (shape & 3);
	fake_host.nr_nodes = shape & 4 ? 2 : 1;
	for (unsigned i = 0; i < fake_host.nr_cpus; i++) {
		fake_host.cpus[i].apic_id = shape & 0x10 ? i * 300 : i;
		fake_host.cpus[i].node = (int)(i % fake_host.nr_nodes);
	}
	/* RAM in up to three pieces of 32 MiB and more. */
	fake_host.nr_ram = 1 + memory % 3;
	for (unsigned i = 0; i < fake_host.nr_ram; i++)
		fake_host.ram[i] = (struct host_extent){
			.base = hpa(FAKE_RAM_BASE + i * GIB(2)),
			.size = MIB(16) << (memory >> (2 + 2 * i) & 3),
			.node = (int)(i % fake_host.nr_nodes),
		};
	world.machine = (shape >> 5) % ARRAY_SIZE(machines);
	fake_host.cpuid = cpuid;
	for (unsigned i = 0; i < ARRAY_SIZE(msrs); i++)
		fake_host.msrs[fake_host.nr_msrs++].msr = msrs[i];
	make_function();
}

static void make_backend(struct fuzz_in *in)
{
	u8 shape = fuzz_u8(in), odd = fuzz_u8(in);

	fake_hvm = (struct fake_hvm){
		.caps = {
			.stage2_1g = shape & 1, .insn_len = shape & 2,
			.rdtscp = shape & 4, .invpcid = shape & 8,
			.xsaves = shape & 0x10, .waitpkg = shape & 0x20, .pcid = shape & 0x40,
			.phys_bits = 46,
			.cr4_allowed = 0x3f77ffull | (shape & 0x40 ? CR4_PCIDE : 0),
		},
		.format = shape & 0x80 ? &ept_format : &npt_format,
		.guest = vmm_guest,
	};
	/* Seldom, what goes wrong. */
	if (odd == 0xff)
		fake_hvm.probe_error = fuzz_u8(in) & 1 ? -ENODEV : -EPERM;
	else if (odd == 0xfe)
		fake_hvm.cpu_on_fails = true;
	else if (odd >= 0xf0)
		fake_host.pages_until_fail = 1 + fuzz_u8(in);
}

/* A kernel of one segment: code that does nothing, at 16 MiB. */
static const struct {
	u8 ident[16];
	u16 type;
	u16 machine;
	u32 version;
	u64 entry;
	u64 phoff;
	u64 shoff;
	u32 flags;
	u16 ehsize;
	u16 phentsize;
	u16 phnum;
	u16 shentsize;
	u16 shnum;
	u16 shstrndx;
	u32 ph_type;
	u32 ph_flags;
	u64 offset;
	u64 vaddr;
	u64 paddr;
	u64 filesz;
	u64 memsz;
	u64 align;
} __packed kernel = {
	.ident = "\177ELF\2\1\1",
	.type = 2,
	.machine = 62,
	.version = 1,
	.entry = 0x1000000,
	.phoff = 64,
	.ehsize = 64,
	.phentsize = 56,
	.phnum = 1,
	.ph_type = 1,
	.ph_flags = 5,
	.vaddr = 0x1000000,
	.paddr = 0x1000000,
	.filesz = sizeof(kernel),
	.memsz = 8192,
	.align = 4096,
};

/* The least of a bzImage: a setup header, and zeros to run. */
static const u8 *bzimage(void)
{
	static struct {
		u8 sector[LINUX_SETUP_HEADER_OFFSET];
		struct linux_setup_header hdr;
		u8 rest[4096];
	} __packed image = { .hdr = {
				     .setup_sects = 1,
				     .syssize = 128,
				     .boot_flag = LINUX_BOOT_FLAG,
				     .jump_offset = 0x6a,
				     .header = LINUX_HEADER_MAGIC,
				     .version = 0x20f,
				     .loadflags = LINUX_LOADED_HIGH,
				     .relocatable_kernel = 1,
				     .cmdline_size = 2047,
				     .xloadflags = LINUX_XLF_KERNEL_64,
				     .kernel_alignment = 0x200000,
				     .pref_address = 0x1000000,
				     .init_size = 0x100000,
				     .initrd_addr_max = 0x7fffffff,
			     } };

	return (const u8 *)&image;
}

/* A multiboot kernel by its header's own addresses, at 1 MiB. */
static const u32 multiboot[64] = { 0x1badb002, 0x10003,  -(0x1badb002u + 0x10003u),
				   0x100000,   0x100000, 0,
				   0x102000,   0x100020 };

/* VM files from a list of lines, two bytes each; the kernel is one of three. */
static void make_modules(struct fuzz_in *in)
{
	static const char *const kernels[] = { "kernel", "bz", "mb", "kern" };
	static const char *const cpus[] = {
		"",           "cpus = 2\n",   "cpus = 3\n",   "cpus = 1\n",
		"cpus = 0\n", "cpus = 1-2\n", "cpus = all\n", "cpus = 4\n"
	};
	static const char *const memory[] = { "32M", "34M", "64M", "node0:34M,node1:32M" };
	static const char *const end[] = { "stop", "restart", "poweroff_node",
					   "stop\ninitrd = initrd" };
	/* clang-format off */
	static const char *const more[] = {
		"", "topology = flat\n", "leaf = 2M\n", "leaf = 4K\n", "remote_memory = allow\n",
		"allow_smt_sharing = yes\n",
		"cmdline = console=ttyS0\n", "name = vm0\n", "clock = freeze\n",
		"debug_exit = yes\n", "memory_map = identity\n",
		"memory_map = offset\n", "after = vm1\ninterrupts = direct\n",
		"module = initrd with words\ninterrupts = direct\n",
		"debug_exit = yes\nclock = freeze\n",
		"topology = flat\nclock = freeze\n",
	};
	/* clang-format on */

	static const char *const pci[] = {
		"",
		"pci = 00:04.0\ndma = identity\n",
		"",
		"pci = class:0108\ndma = window\n",
	};
	static char text[2][256];
	u8 vms = fuzz_u8(in);

	fake_host.modules[0] = (struct host_module){ "kernel", "", &kernel, sizeof(kernel) };
	fake_host.modules[1] = (struct host_module){ "initrd", "", "some bytes", 10 };
	fake_host.modules[2] = (struct host_module){ "bz", "", bzimage(), 4096 };
	fake_host.modules[3] = (struct host_module){ "mb", "", multiboot, sizeof(multiboot) };
	fake_host.nr_modules = 4;
	for (unsigned i = 0; i < 1 + (vms & 1u); i++) {
		u8 a = fuzz_u8(in), b = fuzz_u8(in);

		snprintf(text[i], sizeof(text[i]), "kernel = %s\n%smemory = %s\non_end = %s\n%s%s",
			 kernels[b >> 6], cpus[a & 7], memory[a >> 3 & 3], end[a >> 5 & 3],
			 pci[b >> 4 & 3], more[b & 15]);
		fake_host.modules[4 + i] = (struct host_module){ i ? "vm:b.conf" : "vm:a.conf", "",
								 text[i], strlen(text[i]) };
		fake_host.nr_modules++;
	}
}

static void check_end(void)
{
	unsigned configs = 0;

	CHECK(!fake_host.timers && !fake_host.console && !fake_host.nr_extents &&
	      !fake_hvm.cpus_on);
	for (unsigned i = 0; i < monitor_nr_slots; i++) {
		CHECK(!monitor_slots[i].vm);
		/*
		 * One that waits to restart holds off the node's end, and nothing here is idle for
		 * ten seconds.
		 */
		nr_running -= restart_pace_forget(&monitor_slots[i]);
		configs += monitor_slots[i].config != NULL;
		if (monitor_slots[i].config)
			host_pages_free(monitor_slots[i].config, SLOT_CONFIG_PAGES);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(output_rings); i++)
		if (output_rings[i].data)
			host_pages_free(output_rings[i].data,
					(unsigned)(output_rings[i].size / PAGE_SIZE));
	memset(output_rings, 0, sizeof(output_rings));
	/* The monitor keeps its VM files, and what their guests wrote, and nothing else. */
	CHECK(!fake_host.pages_in_use);
	CHECK(!nr_running && monitor_lock.next == monitor_lock.owner);
	(void)configs;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	memset(&world, 0, sizeof(world));
	world.in = (struct fuzz_in){ data, size };
	memset(monitor_slots, 0, sizeof(monitor_slots));
	for (unsigned i = 0; i < MONITOR_MAX_VMS; i++)
		slot_own_clear(i);
	monitor_nr_slots = nr_running = 0;
	make_host(&world.in);
	make_backend(&world.in);
	make_modules(&world.in);
	boot = (struct fiber){ 0 };
	memset(waiting, 0, sizeof(waiting));
	for (unsigned i = 0; i < fake_host.nr_cpus; i++)
		fiber_make(&cpu_fiber[i], stack[i], cpu_main);
	if (!setjmp(world.boot))
		monitor_start();
	schedule();
	check_end();
	return 0;
}
