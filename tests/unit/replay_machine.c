/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/replay_machine.sources */
/*
 * No test of its own: replay_machine FILE is the hardware check on a machine
 * that `check=dump` recorded, for tools/margay-replay, by the image's own
 * files. FILE: of each item its text, a line with the number of its bytes, and
 * these. What only the machine itself can tell is said to be unknown. Status 2:
 * the recording lacks something, or makes no sense.
 */
#include <stdlib.h>

#include "vmm/report/hwcheck.c"
#include <margay/host_rdt.h>

#include "arch/x86_64/cpu/mitigations.h"
#include "kernel/acpi/acpi.h"
#include "kernel/acpi/s5.h"
#include "kernel/boot/cmdline.h"
#include "kernel/iommu/release.h"
#include "kernel/log/printk.h"
#include "kernel/memory/numa.h"
#include "kernel/pci/pci_core.h"
#include "kernel/pci/pci_route.h"
#include "tests/unit/replay.h"
#include "vmm/slots/slot.h"

#define MAX_ITEMS 16384
#define SUBLEAF_MSR 0xffffffffu

struct item {
	char *text;
	u8 *data;
	size_t size;
};

static struct item items[MAX_ITEMS];
static unsigned nr_items;

static void die(const char *fmt, ...) __attribute__((noreturn)) __printf(1, 2);
static void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("replay: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static void load_items(const char *path)
{
	FILE *f = fopen(path, "rb");
	char text[512];

	if (!f)
		die("%s cannot be read", path);
	while (fgets(text, sizeof(text), f)) {
		struct item *i = &items[nr_items];
		size_t size;

		if (nr_items == MAX_ITEMS)
			die("more than %u items", MAX_ITEMS);
		text[strcspn(text, "\n")] = 0;
		if (fscanf(f, "%zu%*1c", &size) != 1 || size > MIB(16))
			die("%s: no size", text);
		/* Of exactly its size, for the sanitizer. */
		*i = (struct item){ strdup(text), malloc(size ? size : 1), size };
		if (size && fread(i->data, size, 1, f) != 1)
			die("%s: cut", text);
		nr_items++;
	}
	fclose(f);
}

/* The i-th item that begins with these words; NULL past the last. *rest: what comes behind. */
static struct item *find(const char *words, unsigned i, const char **rest)
{
	size_t n = strlen(words);

	for (unsigned k = 0; k < nr_items; k++)
		if (!strncmp(items[k].text, words, n) && !i--) {
			*rest = items[k].text + n;
			return &items[k];
		}
	return NULL;
}

/* ---- the machine: what was recorded ---------------------------------------------------- */

static struct host_cpu_info cpus[REPLAY_CPUS];
static unsigned nr_cpus, nr_online;
static struct bootinfo bootinfo;
static struct cmdline cmdline;
static u64 own_held, own_used, khz;
static unsigned stable, x2apic;
static char version[128];

static void read_facts(void)
{
	unsigned id, apic, online, type, console;
	const char *rest;
	struct boot_range r;

	if (!find("host ", 0, &rest) ||
	    sscanf(rest, "%lx %lx %lu %u %u %127[^\n]", &own_held, &own_used, &khz, &stable,
		   &x2apic, version) != 6 ||
	    !khz)
		die("no item \"host\", or one that makes no sense");
	if (!find("console ", 0, &rest) ||
	    sscanf(rest, "%u %lx", &console, &cmdline.console_address) != 2)
		die("no item \"console\"");
	cmdline.console = (enum cmdline_console)console;
	for (; find("cpu ", nr_cpus, &rest); nr_cpus++) {
		if (nr_cpus == REPLAY_CPUS || sscanf(rest, "%u %x %u", &id, &apic, &online) != 3 ||
		    id != nr_cpus)
			die("cpu %s: makes no sense", rest);
		cpus[nr_cpus] = (struct host_cpu_info){ .apic_id = apic, .online = online };
		nr_online += online;
	}
	if (!nr_online)
		die("no CPU");
	for (; find("memory ", bootinfo.nr_ranges, &rest);
	     bootinfo.range[bootinfo.nr_ranges++] = r) {
		if (bootinfo.nr_ranges == BOOTINFO_RANGES ||
		    sscanf(rest, "%lx %lx %u", &r.start, &r.end, &type) != 3)
			die("memory %s: makes no sense", rest);
		r.type = (enum boot_memory)type;
	}
}

/* ---- CPUs ---- */

unsigned replay_cpu;

struct entry {
	u32 leaf;
	u32 subleaf;
	struct cpuid_regs regs;
};

static const struct entry *entries(const char *fmt, unsigned cpu, unsigned *count)
{
	char words[40];
	const char *rest;
	const struct item *i;

	snprintf(words, sizeof(words), fmt, cpu);
	i = find(words, 0, &rest);
	*count = i ? (unsigned)(i->size / sizeof(struct entry)) : 0;
	return i ? (const struct entry *)i->data : NULL;
}

/* The last of `list` for this leaf that is not behind the subleaf. */
static const struct entry *look_up(const struct entry *list, unsigned count, u32 leaf, u32 subleaf,
				   bool msr)
{
	const struct entry *best = NULL;

	for (unsigned i = 0; i < count; i++)
		if (list[i].leaf == leaf && (list[i].subleaf == SUBLEAF_MSR) == msr &&
		    (msr ||
		     (list[i].subleaf <= subleaf && (!best || list[i].subleaf >= best->subleaf))))
			best = &list[i];
	return best;
}

static const struct entry *entry_of(u32 leaf, u32 subleaf, bool msr)
{
	unsigned count, count0;
	const struct entry *all = entries("cpuid %u all", replay_cpu, &count), *but, *zero, *e, *e0;

	if (all)
		return look_up(all, count, leaf, subleaf, msr);
	but = entries("cpuid %u as 0 but", replay_cpu, &count);
	zero = entries("cpuid %u all", 0, &count0);
	if (!zero)
		die("no CPUID of CPU 0");
	e0 = look_up(zero, count0, leaf, subleaf, msr);
	e = but ? look_up(but, count, leaf, subleaf, msr) : NULL;
	/* Both have the same subleaves: that of this CPU stands only for the one that it names. */
	return e && e0 && e->subleaf == e0->subleaf ? e : e0;
}

void replay_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	const struct entry *e = entry_of(leaf, subleaf, false);

	*out = e ? e->regs : (struct cpuid_regs){ 0 };
	/* The topology leaves give the subleaf back. */
	if (e && (leaf == 0xb || leaf == 0x1f || leaf == 0x80000026))
		out->ecx += subleaf - e->subleaf;
}

bool replay_has_msr(u32 msr, u64 *value)
{
	const struct entry *e = entry_of(msr, 0, true);

	*value = e ? (u64)e->regs.ebx << 32 | e->regs.eax : 0;
	return e && !e->regs.ecx;
}

u64 replay_rdmsr(u32 msr)
{
	u64 value;

	if (!replay_has_msr(msr, &value))
		die("MSR %#x is read, which CPU %u has not, or which was not recorded: the node would panic",
		    msr, replay_cpu);
	return value;
}

void host_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	replay_cpuid(leaf, subleaf, out);
}

int host_rdmsr(u32 msr, u64 *value)
{
	return replay_has_msr(msr, value) ? 0 : -EFAULT;
}

int host_wrmsr(u32, u64) /* of svm_cpu_on(), which is not called here */
{
	__builtin_trap();
}

unsigned host_cpu_count(void)
{
	return nr_online;
}

unsigned host_cpu_this(void)
{
	return replay_cpu;
}

const struct host_cpu_info *host_cpu_info(unsigned cpu)
{
	return cpu < nr_cpus ? &cpus[cpu] : NULL;
}

struct slot monitor_slots[MONITOR_MAX_VMS];

int host_cpu_assign(unsigned cpu, struct host_work *work)
{
	replay_cpu = cpu;
	work->run(work);
	replay_cpu = 0;
	return 0;
}

bool host_x2apic_off(void)
{
	return false;
}

bool host_is_x2apic(void)
{
	return x2apic;
}

/* What a dump of before there was the item says is not known. */
bool iommu_released(char text[IOMMU_LEFT_TEXT])
{
	const char *rest = "";
	unsigned stuck = 0;
	int n = 0;

	if (find("left-on ", 0, &rest) &&
	    (sscanf(rest, "%u %n", &stuck, &n) != 1 || strlen(rest + n) >= IOMMU_LEFT_TEXT))
		die("left-on %s: makes no sense", rest);
	strcpy(text, rest + n);
	return !stuck;
}

/* ---- memory ---- */

static struct acpi_sdt left_out;

const void *replay_memory(u64 pa, u64 size)
{
	static const u8 bios_area[MIB(1)];

	for (unsigned i = 0; i < nr_items; i++) {
		char signature[5];
		u64 at;

		if (sscanf(items[i].text, "acpi %4c %lx", signature, &at) != 2 &&
		    sscanf(items[i].text, "iommu %lx", &at) != 1)
			continue;
		if (at != pa || !memcmp(items[i].text, "acpi RSDP", 9))
			continue;
		if (items[i].size)
			return size <= items[i].size ? items[i].data : NULL;
		/* A licence key: the table's header must do. */
		memcpy(left_out.signature, signature, 4);
		left_out.length = sizeof(left_out);
		left_out.checksum = 0;
		for (unsigned k = 0; k < sizeof(left_out); k++)
			left_out.checksum =
				(u8)(left_out.checksum - (k == offsetof(struct acpi_sdt, checksum)
								  ? 0
								  : ((const u8 *)&left_out)[k]));
		return &left_out;
	}
	/* Where a root pointer is looked for when the boot loader has given none. */
	return size && pa + size <= sizeof(bios_area) ? bios_area + pa : NULL;
}

bool host_mem_piece(unsigned i, struct host_extent *out)
{
	const char *rest;

	if (!find("piece ", i, &rest))
		return false;
	if (sscanf(rest, "%lx %lx", &out->base.v, &out->size) != 2)
		die("piece %s: makes no sense", rest);
	out->node = (int)numa_node_of_address(out->base.v);
	return true;
}

u64 host_mem_free(int node, u64 *largest)
{
	struct host_extent e;
	u64 sum = 0, most = 0;

	for (unsigned i = 0; host_mem_piece(i, &e); i++)
		if (node < 0 || e.node == node) {
			sum += e.size;
			most = MAX(most, e.size);
		}
	if (largest)
		*largest = most;
	return sum;
}

u64 host_node_memory(unsigned node)
{
	const char *rest;
	unsigned n;
	u64 bytes = 0;

	for (unsigned i = 0; find("node ", i, &rest); i++)
		if (sscanf(rest, "%u %lx", &n, &bytes) == 2 && n == node)
			return bytes;
	return 0;
}

u64 host_machine_checks(u64 *lost)
{
	return *lost = 0;
}

bool host_rdt_take(const void *, const struct host_rdt_wish *, const u16 *, unsigned, char *)
{
	return true;
}

void host_rdt_free(const void *) { }

u64 host_own_bytes(u64 *used)
{
	*used = own_used;
	return own_held;
}

unsigned host_node_count(void)
{
	return numa_node_count();
}

u8 host_node_distance(unsigned from, unsigned to)
{
	return numa_distance(from, to);
}

void *host_pages_alloc(unsigned count, int)
{
	return calloc(count, PAGE_SIZE);
}

void host_pages_free(void *pages, unsigned)
{
	free(pages);
}

/* ---- PCI functions ---- */

struct function {
	struct pci_address a;
	size_t size;
	u64 bar_size[PCI_BARS];
	u8 config[PCI_EXTENDED_END];
};

static struct function functions[HOST_PCI_FUNCTIONS];
static unsigned nr_functions;

static void read_functions(void)
{
	const char *rest;
	const struct item *i;

	for (; (i = find("pci ", nr_functions, &rest)); nr_functions++) {
		struct function *f = &functions[nr_functions];
		unsigned segment, bus, device, fn;

		if (nr_functions == HOST_PCI_FUNCTIONS ||
		    sscanf(rest, "%x:%x:%x.%u", &segment, &bus, &device, &fn) != 4 ||
		    i->size < sizeof(f->bar_size) + PCI_STANDARD_END ||
		    i->size > sizeof(f->bar_size) + sizeof(f->config))
			die("pci %s: makes no sense", rest);
		f->a = (struct pci_address){ (u16)segment, (u8)bus, PCI_DEVFN(device, fn) };
		f->size = i->size - sizeof(f->bar_size);
		memcpy(f->bar_size, i->data, sizeof(f->bar_size));
		memcpy(f->config, i->data + sizeof(f->bar_size), f->size);
	}
}

static struct function *function_at(struct pci_address a)
{
	for (unsigned i = 0; i < nr_functions; i++)
		if (pci_same_address(&functions[i].a, &a))
			return &functions[i];
	return NULL;
}

u32 replay_config_read(struct pci_address a, u16 offset, unsigned size)
{
	const struct function *f = function_at(a);
	u32 value = size == 4 ? 0xffffffff : BIT(8 * size) - 1;

	if (f && offset + size <= f->size) {
		value = 0;
		memcpy(&value, f->config + offset, size);
	}
	return value;
}

/* What stays of all ones in a BAR's register, by the size that was found. */
static u32 ones_in_bar(const struct function *f, unsigned i)
{
	u32 reg, below;

	memcpy(&reg, f->config + PCI_REG_BAR + 4 * i, 4);
	if (f->bar_size[i])
		return (u32)-f->bar_size[i] | (reg & (reg & PCI_BAR_IO ? 3 : 15));
	memcpy(&below, f->config + PCI_REG_BAR + 4 * (i ? i - 1 : 0), 4);
	return i && f->bar_size[i - 1] && (below & (PCI_BAR_IO | PCI_BAR_TYPE)) == PCI_BAR_64
		       ? (u32)(-f->bar_size[i - 1] >> 32)
		       : 0;
}

void replay_config_write(struct pci_address a, u16 offset, unsigned size, u32 value)
{
	struct function *f = function_at(a);
	unsigned type, rom;
	bool bar;

	if (!f || offset + size > f->size)
		return;
	/* The status beside the command: ones clear. */
	if (offset == PCI_REG_COMMAND)
		size = MIN(size, 2u);
	type = PCI_HEADER_TYPE((u32)f->config[PCI_REG_HEADER + 2] << 16);
	bar = offset >= PCI_REG_BAR && offset < PCI_REG_BAR + (type ? 8 : 24);
	rom = type ? PCI_REG_BRIDGE_ROM : PCI_REG_ROM;
	if (size == 4 && bar && value == 0xffffffff)
		value = ones_in_bar(f, (offset - PCI_REG_BAR) / 4u);
	else if (size == 4 && offset == rom && value == (u32)~PCI_ROM_FLAGS)
		value = (u32)-f->bar_size[PCI_ROM_BAR];
	memcpy(f->config + offset, &value, size);
}

/* ---- the log, the clock, and what the check is told ---------------------------------------- */

static __printf(2, 0) void log_line(const char *source, const char *fmt, va_list ap)
{
	char text[HOST_LOG_LINE + 1];
	bool measured;
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", source);

	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	measured = strstr(text, "check: ok       undisturbed CPU") == text;
	if (measured) {
		counts[OK]--;
		counts[UNKNOWN]++;
	}
	if (measured || strstr(text, "check: unknown  SMIs") == text)
		printf("check: unknown  %s: not measured: this is a replay\n",
		       measured ? "undisturbed CPU" : "SMIs");
	else if (strstr(text, "check: watching CPU") != text)
		puts(text);
}

void host_log(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line("", fmt, args);
	va_end(args);
}

/* A VM's, and no VM starts. */
void host_log_limited(struct log_limit *, const char *, const char *, ...)
{
	abort();
}

void printk_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line("margay: ", fmt, args);
	va_end(args);
}

void printk(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line("margay: ", fmt, args);
	va_end(args);
}

void printk_debug(const char *, ...) { }

int host_no_memory(const char *who)
{
	die("%s: no memory", who);
}

void host_panic(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line("margay: panic: ", fmt, args);
	va_end(args);
	exit(2);
}

void host_console_drain(void) { }

/* Time goes on by being looked at: the check looks for a second. */
u64 host_tsc(void)
{
	static u64 now;

	return now += khz / 1000;
}

u64 host_tsc_khz(void)
{
	return khz;
}

bool host_tsc_stable(void)
{
	return stable;
}

static void mitigations_cpuid(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	replay_cpuid(leaf, subleaf, out);
}

/* CPU 0's: no CPU's MSRs have been seen to differ. */
void host_mitigations_report(void (*say)(const char *fmt, ...))
{
	struct mitigation_input in = { .read_cpuid = mitigations_cpuid };
	struct cpuid_regs l0, l7;
	struct mitigations m;
	u64 signature;
	char line[96];

	replay_cpu = 0;
	replay_cpuid(0, 0, &l0);
	replay_cpuid(7, 0, &l7);
	if (l0.eax >= 7 && l7.edx & BIT(29))
		(void)host_rdmsr(MSR_ARCH_CAPABILITIES, &in.arch_capabilities);
	(void)host_rdmsr(MSR_BIOS_SIGN_ID, &signature);
	in.microcode = (u32)(l0.ebx == 0x756e6547 ? signature >> 32 : signature);
	mitigations_decide(&in, &m);
	for (unsigned i = 0; i < CPU_BUGS; i++) {
		mitigation_line(&m, i, false, line, sizeof(line));
		say("%s", line);
	}
}

unsigned host_check_wanted(bool *stay, bool *dump, bool *json)
{
	*stay = true;
	*dump = *json = false;
	return 1;
}

enum cpus_state hwcheck_mtrrs(char *text, size_t size)
{
	snprintf(text, size, "not recorded");
	return CPUS_UNKNOWN;
}

enum cpus_state hwcheck_rate(char *text, size_t size)
{
	snprintf(text, size, "not recorded");
	return CPUS_UNKNOWN;
}

unsigned host_watchdogs(struct host_watchdog out[HOST_WATCHDOGS])
{
	out[0] = (struct host_watchdog){ "any", HOST_WATCHDOG_UNKNOWN, false, 0, "not recorded" };
	return 1;
}

void hwcheck_dump(void) { }

void hwcheck_json_missing(const char *) { }

void hwcheck_json(bool) { }

bool monitor_booted;

void host_log_times(bool) { }

void host_node_poweroff(const char *)
{
	exit(0);
}

const char *host_version(void)
{
	return version;
}

const char *host_image(void)
{
	const char *rest;

	/* Dumps of versions before 0.2 do not say it. */
	return find("image ", 0, &rest) ? rest : "unknown";
}

const struct cmdline *cmdline_of_boot(void)
{
	return &cmdline;
}

/* ---- the monitor ---------------------------------------------------------------------- */

int vmx_probe(struct hvm_caps *caps, void (*teller)(const struct hvm_feature *f));
int svm_probe(struct hvm_caps *caps, void (*teller)(const struct hvm_feature *f));

const struct hvm_ops *hvm;
struct hvm_caps hvm_caps;

/* IA32_FEATURE_CONTROL locked without VMXON; SVM is not locked by CPU. */
static int vmx_on(void)
{
	u64 control = replay_rdmsr(MSR_FEATURE_CONTROL);

	return control & 1 && !(control & 4) ? -EPERM : 0;
}

static int svm_on(void)
{
	return 0;
}

static void nothing_off(void) { }

static const struct hvm_ops backends[] = {
	{ .name = "VT-x/EPT", .probe = vmx_probe, .cpu_on = vmx_on, .cpu_off = nothing_off },
	{ .name = "SVM/NPT", .probe = svm_probe, .cpu_on = svm_on, .cpu_off = nothing_off },
};

int hvm_find_backend(void (*teller)(const struct hvm_feature *f))
{
	int result = -ENODEV;

	for (unsigned i = 0; i < ARRAY_SIZE(backends); i++) {
		int err = backends[i].probe(&hvm_caps, teller);

		if (!err) {
			hvm = &backends[i];
			return 0;
		}
		if (err != -ENODEV)
			result = err;
	}
	return result;
}

void monitor_start_none(void) { }

const struct vm_config *monitor_first_config(void)
{
	static struct vm_config model;
	const char *rest;
	const struct item *i = find("model ", 0, &rest);

	if (!i)
		return NULL;
	if (sscanf(rest, "%63s %63s", model.kernel, model.initrd) < 1 ||
	    i->size >= sizeof(model.cmdline))
		die("model %s: makes no sense", rest);
	memcpy(model.cmdline, i->data, i->size);
	return &model;
}

bool pci_iommu_text(unsigned, char *, size_t)
{
	return false;
}

bool vm_pci_owner(unsigned, char *)
{
	return false;
}

/* Of place.c, which only tries here. */
int host_extent_alloc(const struct host_extent_request *, struct host_extent *)
{
	abort();
}

void host_extent_free(const struct host_extent *)
{
	abort();
}

void host_extents_zero(const struct host_extent *, unsigned, const u16 *, unsigned,
		       bool (*)(unsigned))
{
	abort();
}

struct vm;
void vm_log(const struct vm *vm, const char *fmt, ...);
void vm_log(const struct vm *, const char *, ...)
{
	abort();
}

hpa_t host_virt_to_hpa(const void *)
{
	abort();
}

/* ---- the way of the boot, as far as a recording goes ---------------------------------------- */

static void start_memory(void)
{
	const char *rest, *error;
	const struct item *i = find("acpi RSDP", 0, &rest);

	if (i && i->size >= ACPI_RSDP_V1_SIZE) {
		bootinfo.has_rsdp = true;
		memcpy(&bootinfo.rsdp, i->data, MIN(i->size, sizeof(bootinfo.rsdp)));
	}
	acpi_init(&bootinfo);
	error = numa_init(acpi.srat, acpi.slit);
	if (error)
		printk("NUMA: %s: taken as %u node(s)", error, numa_node_count());
	for (unsigned k = 0; k < nr_cpus; k++)
		cpus[k].node = (int)numa_node_of_apic_id(cpus[k].apic_id);
}

static void compare_cpus(void)
{
	const struct madt_info *madt = acpi.madt;

	for (unsigned i = 0; madt && i < madt->nr_cpus; i++) {
		unsigned k = 0;

		while (k < nr_cpus && cpus[k].apic_id != madt->cpu[i].apic_id)
			k++;
		if (k == nr_cpus)
			printf("replay: the MADT names a CPU with APIC ID %u, the machine had none\n",
			       madt->cpu[i].apic_id);
	}
	for (unsigned k = 0; madt && k < nr_cpus; k++) {
		unsigned i = 0;

		while (i < madt->nr_cpus && cpus[k].apic_id != madt->cpu[i].apic_id)
			i++;
		if (i == madt->nr_cpus)
			printf("replay: the machine had a CPU with APIC ID %u, the MADT names none\n",
			       cpus[k].apic_id);
	}
}

static void show_s5(void)
{
	const struct acpi_sdt *t = acpi_table("DSDT", 0);
	struct s5_info s5;

	if (t && s5_find(t + 1, t->length - sizeof(*t), &s5))
		printf("replay: power-off: \\_S5 is %u, %u\n", s5.slp_typa, s5.slp_typb);
	else
		printf("replay: power-off: no \\_S5 in the DSDT\n");
}

static void show_cpuid(void)
{
	static struct cpuid_table t;
	u64 ignored;
	const struct cpuid_input in = {
		.host = host_cpuid_for,
		.caps = &hvm_caps,
		.nr_vcpus = nr_online,
		.tsc_khz = khz,
		.tsc_stable = stable,
		.pvclock = true,
		.arch_capabilities_ok = replay_has_msr(MSR_ARCH_CAPABILITIES, &ignored),
	};
	int err = cpuid_policy_build(&in, &t);

	if (err)
		printf("replay: CPUID for guests: the table is too small: a bug of Margay's\n");
	else
		printf("replay: CPUID for guests: %u entries, leaves up to %#x and %#x, %u address bits, XCR0 %#lx, CR4 %#lx\n",
		       t.count, t.max_basic, t.max_ext, t.phys_bits, t.xcr0_allowed, t.cr4_allowed);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		die("FILE");
	load_items(argv[1]);
	read_facts();
	read_functions();
	start_memory();
	compare_cpus();
	pci_init(acpi.mcfg, &bootinfo);
	hwcheck_start();
	show_s5();
	if (hvm)
		show_cpuid();
	return 0;
}
