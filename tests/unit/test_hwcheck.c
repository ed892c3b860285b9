/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: vmm/report/hwcheck_proposal.c vmm/report/hwcheck_watch.c vmm/report/hwcheck_watchdogs.c @tests/unit/vm_files.sources lib/span.c */
/*
 * The hardware check on machines that lack this and that: each shows in its
 * own line, in the order of what matters, and in the result. The machine is
 * a few variables here; the check itself is included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "vmm/report/hwcheck.c"

#define CPUS 3

static struct {
	int find_error; /* of hvm_find_backend() */
	bool feature_missing; /* ... and with it, or alone: an optional one */
	int cpu_on_error[CPUS];
	bool silent_cpu; /* CPU 2 never runs what it is given */
	unsigned cpus;
	unsigned online;
	unsigned nodes;
	u64 memory;
	bool x2apic_mode;
	bool x2apic;
	bool x2apic_off;
	bool invariant;
	bool stable;
	bool below;
	struct host_platform platform;
	bool counts_smis;
	/* during the watch; TSC ticks of one gap in it */
	u64 smis;
	u64 gap;

	bool plan_fails;
	struct vm_config *model;
} machine;

/* all of it; the lines without times, which are copied or read by tools */
static char log_text[16384], bare[16384];
static bool times_off;
static unsigned seconds, this_cpu, drains, started_none, on;
static bool stay, dumped, json;
static u64 tsc, gap_at;
static jmp_buf off;

const struct hvm_ops *hvm;
struct hvm_caps hvm_caps;

static int cpu_on(void)
{
	on += !machine.cpu_on_error[this_cpu];
	return machine.cpu_on_error[this_cpu];
}

static void cpu_off(void)
{
	on--;
}

static const struct hvm_ops backend = { .name = "test", .cpu_on = cpu_on, .cpu_off = cpu_off };

int hvm_find_backend(void (*teller)(const struct hvm_feature *f))
{
	if (machine.find_error == -ENODEV)
		return -ENODEV;
	teller(&(struct hvm_feature){ "VT-x", "good to have", "MSR 0x2", !machine.feature_missing,
				      false });
	teller(&(struct hvm_feature){ "VT-x", "needed", "MSR 0x1", !machine.find_error, true });
	hvm = &backend;
	return machine.find_error;
}

void monitor_start_none(void)
{
	started_none++;
}

const struct vm_config *monitor_first_config(void)
{
	return machine.model;
}

int place_try(const struct vm_config *config, struct place_trial *out, struct config_error *err)
{
	*out = (struct place_trial){ 4, 2, MIB(1000) };
	return machine.plan_fails ? vm_config_error(err, config->file, 7, "memory: not enough") : 0;
}

unsigned cpuid_smt_shift(void (*host)(void *ctx, u32 leaf, u32 subleaf, struct cpuid_regs *out),
			 void *ctx)
{
	(void)host;
	(void)ctx;
	return 0;
}

const char *host_version(void)
{
	return "0.2-test";
}

const char *host_image(void)
{
	return "default +VIRTIO";
}

/* test_hwcheck_cpus.c has the real ones. */
static enum cpus_state mtrrs, rate;

enum cpus_state hwcheck_mtrrs(char *text, size_t size)
{
	snprintf(text, size, "of all");
	return mtrrs;
}

enum cpus_state hwcheck_rate(char *text, size_t size)
{
	snprintf(text, size, "1.9 GHz");
	return rate;
}

/* test_host_watchdogs.c and test_host_bmc.c have the real ones. */
static struct host_watchdog watchdogs[HOST_WATCHDOGS];
static unsigned nr_watchdogs;

unsigned host_watchdogs(struct host_watchdog out[HOST_WATCHDOGS])
{
	memcpy(out, watchdogs, sizeof(watchdogs));
	return nr_watchdogs;
}

/* test_pci_segments.c has the real one. */
static bool segments;

bool pci_segments(char text[PCI_SEGMENTS_TEXT])
{
	strcpy(text, segments ? "one is lost" : "");
	return !segments;
}

/* test_hwcheck_dump.c has the real one. */
void hwcheck_dump(void)
{
	host_log("the dump");
}

/* test_hwcheck_json.c has the real ones. */
static char told_missing[500];

void hwcheck_json_missing(const char *name)
{
	size_t n = strlen(told_missing);

	snprintf(told_missing + n, sizeof(told_missing) - n, "%s, ", name);
}

void hwcheck_json(bool able)
{
	host_log("the block: able %d, missing %s", able, told_missing);
}

void report_node(report_say out)
{
	out("cpu 0");
}

void report_pci(report_say out)
{
	out("0000:00:00.0");
}

void host_log(const char *fmt, ...)
{
	size_t n = strlen(log_text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(log_text + n, sizeof(log_text) - n - 1, fmt, ap);
	va_end(ap);
	strcat(log_text, "\n");
	if (times_off)
		strcat(bare, log_text + n);
}

void host_console_drain(void)
{
	drains++;
}

void *host_pages_alloc(unsigned count, int)
{
	return calloc(count, PAGE_SIZE);
}

void host_pages_free(void *pages, unsigned)
{
	free(pages);
}

unsigned host_cpu_count(void)
{
	return machine.online;
}

unsigned host_cpu_this(void)
{
	return 0;
}

const struct host_cpu_info *host_cpu_info(unsigned cpu)
{
	static const struct host_cpu_info info;

	return cpu < machine.cpus ? &info : NULL;
}

static struct host_work *forgotten;

int host_cpu_assign(unsigned cpu, struct host_work *work)
{
	if (cpu == 2 && machine.silent_cpu) {
		forgotten = work;
		return 0;
	}
	this_cpu = cpu;
	work->run(work);
	this_cpu = 0;
	return 0;
}

unsigned host_node_count(void)
{
	return machine.nodes;
}

u64 host_mem_free(int node, u64 *)
{
	assert_int_equal(node, -1);
	return machine.memory;
}

void host_cpuid(u32 leaf, u32, struct cpuid_regs *out)
{
	*out = (struct cpuid_regs){ 0 };
	if (leaf == 0)
		out->eax = 1;
	else if (leaf == 0x80000000)
		out->eax = 0x80000007;
	else if (leaf == 1)
		out->ecx = (machine.x2apic ? 1u << 21 : 0) | (machine.below ? 1u << 31 : 0);
	else if (leaf == 0x80000007)
		out->edx = machine.invariant ? 1u << 8 : 0;
}

/* 5 us a call at 1 GHz; the gap comes twice, in the middle of the watch. */
u64 host_tsc(void)
{
	tsc += 5000;
	if (machine.gap && tsc >= gap_at) {
		tsc += machine.gap;
		gap_at = gap_at == 500000000 ? 600000000 : ~0ull;
	}
	return tsc;
}

u64 host_tsc_khz(void)
{
	return 1000000;
}

bool host_tsc_stable(void)
{
	return machine.stable;
}

int host_rdmsr(u32 msr, u64 *value)
{
	assert_int_equal(msr, 0x34);
	*value = 0xfffffffe + (tsc > 500000000 ? machine.smis : 0);
	return machine.counts_smis ? 0 : -EFAULT;
}

void host_platform(struct host_platform *out)
{
	*out = machine.platform;
}

bool host_x2apic_off(void)
{
	return machine.x2apic_off;
}

bool host_is_x2apic(void)
{
	return machine.x2apic_mode;
}

void host_mitigations_report(void (*to)(const char *fmt, ...))
{
	to("%s", "mds: Not affected");
}

unsigned host_check_wanted(bool *stays, bool *dumps, bool *jsons)
{
	*dumps = dumped;
	*jsons = json;
	*stays = stay;
	return seconds;
}

void host_log_times(bool wanted)
{
	times_off = !wanted;
}

void host_node_poweroff(const char *vms)
{
	assert_string_equal(vms, "vms=0 failed=0");
	longjmp(off, 1);
}

/* A node that has everything. */
static int reset(void **)
{
	memset(&machine, 0, sizeof(machine));
	machine.cpus = machine.online = CPUS;
	machine.nodes = 2;
	machine.memory = GIB(1);
	machine.x2apic_mode = machine.x2apic = machine.invariant = machine.stable =
		machine.counts_smis = true;
	machine.platform =
		(struct host_platform){ true, true, true, "VT-d", 2, true, true, "", false };
	mtrrs = rate = CPUS_GOOD;
	watchdogs[0] = (struct host_watchdog){ .name = "TCO" };
	nr_watchdogs = 1;
	segments = false;
	seconds = 1;
	stay = dumped = json = false;
	told_missing[0] = 0;
	return 0;
}

/* Runs the check; true when the node was powered off. */
static bool check(void)
{
	log_text[0] = bare[0] = 0;
	drains = started_none = this_cpu = 0;
	tsc = 0;
	gap_at = 500000000;
	memset(counts, 0, sizeof(counts));
	hvm = NULL;
	if (setjmp(off))
		return true;
	hwcheck_start();
	return false;
}

static void expect(const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "check: %s", line);
	if (!strstr(log_text, whole))
		fail_msg("no line \"%s\" in:\n%s", whole, log_text);
}

/* How many lines begin so. */
static unsigned lines_with(const char *start)
{
	unsigned n = 0;

	for (const char *p = log_text; *p; p = strchr(p, '\n') + 1)
		n += !strncmp(p, start, strlen(start));
	return n;
}

static unsigned missing(void)
{
	return lines_with("check: MISSING ");
}

static void test_all_there(void **)
{
	static const char first[] = "# VM file by Margay's hardware check\n",
			  last[] = "\n# end of the VM file\n";
	/* clang-format off */
	const char *order[] = { "VT-x, needed",
		"virtualization on each CPU: turned on and off on 3 of 3", "CPUs: 3 of 3",
				"what costs performance", "VT-x, good to have", "x2APIC: in use",
				"IOMMU: VT-d, 2 units\n",
				"SMIs: none in 1 s", "open to by speculation",
				"check: mds: Not affected", "the node:", "check: cpu 0",
				"check: 0000:00:00.0",
				"ok       a VM for the whole node: 4 CPUs, 1000M on 2 nodes",
				"\n# VM file", "\nname = node\n",
				"\n# end of the VM file\n", "check: result: able=yes " };
	/* clang-format on */

	char result[128];
	const char *at;

	assert_true(check());
	at = log_text;
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		at = strstr(at, order[i]);
		if (!at)
			fail_msg("\"%s\" is missing or too early in:\n%s", order[i], log_text);
	}
	assert_int_equal(missing(), 0);
	assert_int_equal(started_none, 1);
	assert_int_equal(on, 0);
	/* Only the VM file is without times. */
	assert_memory_equal(bare, first, strlen(first));
	assert_string_equal(bare + strlen(bare) - strlen(last), last);
	assert_null(strstr(bare, "check: "));
	assert_false(times_off);
	/* Each line waits for the serial line. */
	/* the two around the VM file are followed by others */
	assert_int_equal(drains + 2, lines_with(""));
	snprintf(result, sizeof(result), "result: able=yes ok=%u missing=0 off=%u unknown=0\n",
		 lines_with("check: ok "), lines_with("check: off "));
	expect(result);
}

/* Behind all else, so that a cut one leaves the report whole; the node goes off after it. */
static void test_dump(void **)
{
	assert_true(check());
	assert_null(strstr(log_text, "the dump"));
	dumped = true;
	assert_true(check());
	assert_string_equal(strstr(log_text, "unknown=0\n"), "unknown=0\nthe dump\n");
	assert_non_null(strstr(bare, "# end of the VM file\nthe dump\n"));
	assert_false(times_off);
}

/*
 * What is missing is told to the block, by the name in the report, and nothing else is; the dump
 * comes behind it.
 */
static void test_json(void **)
{
	assert_true(check());
	assert_null(strstr(log_text, "the block"));
	json = dumped = true;
	machine.x2apic_mode = machine.x2apic = false;
	machine.feature_missing = true;
	told_missing[0] = 0;
	assert_true(check());
	assert_string_equal(strstr(log_text, "unknown=0\n"),
			    "unknown=0\nthe block: able 1, missing x2APIC, \nthe dump\n");
	assert_non_null(strstr(
		bare, "# end of the VM file\nthe block: able 1, missing x2APIC, \nthe dump\n"));
	machine.find_error = -EIO;
	told_missing[0] = 0;
	assert_true(check());
	assert_non_null(strstr(log_text, "the block: able 0, missing VT-x, needed, x2APIC, \n"));
}

static void test_not_wanted(void **)
{
	seconds = 0;
	assert_false(check());
	assert_string_equal(log_text, "");
	assert_int_equal(started_none, 0);
}

static void test_stay(void **)
{
	stay = true;
	assert_false(check());
	expect("result: able=yes");
	assert_int_equal(started_none, 1);
}

/* Each lack by itself: its line, and no other one missing. */
static void lack(const char *line)
{
	assert_true(check());
	expect(line);
	assert_int_equal(missing(), 1);
	reset(NULL);
}

static void test_lacks(void **)
{
	machine.x2apic_mode = false;
	assert_true(check());
	expect("off      x2APIC: the CPU has it; not used, as the firmware left it off and this is QEMU's TCG");
	machine.x2apic_off = true;
	assert_true(check());
	expect("off      x2APIC: not used, as the firmware wishes it, or by x2apic=off: no VM has interrupts = direct");
	reset(NULL);
	machine.x2apic_mode = machine.x2apic = false;
	lack("MISSING  x2APIC: CPUID 1 ECX bit 21");
	machine.stable = machine.invariant = false;
	lack("MISSING  invariant TSC: CPUID 0x80000007 EDX bit 8");
	machine.stable = false;
	lack("MISSING  invariant TSC: the CPUs' TSCs differ");
	machine.online = 2;
	lack("MISSING  CPUs: 2 of 3 run");
	machine.memory = MIB(16);
	lack("MISSING  memory for guests: 16M");
	machine.platform.srat = false;
	lack("MISSING  NUMA layout: no SRAT table");
	machine.platform.slit = false;
	lack("MISSING  NUMA distances: no SLIT table");
	machine.platform.iommu = NULL;
	lack("MISSING  IOMMU: no DMAR and no IVRS table");
	strcpy(machine.platform.iommu_left, "interrupt remapping");
	machine.platform.iommu_stuck = true;
	lack("MISSING  IOMMU: VT-d, 2 units, left on by the firmware: interrupt remapping: it does not go off");
	machine.platform.remaps_interrupts = machine.platform.remaps_x2apic = false;
	lack("MISSING  interrupt remapping");
	machine.platform.ecam = false;
	lack("MISSING  PCI configuration by ECAM");
	segments = true;
	lack("MISSING  PCI segments: one is lost");
	machine.below = true;
	lack("MISSING  bare metal");
	machine.smis = 7; /* the 32-bit counter wraps */
	lack("MISSING  SMIs: 7 in 1 s");
	mtrrs = CPUS_BAD;
	lack("MISSING  MTRRs: of all");
	rate = CPUS_BAD;
	lack("MISSING  clock rate: 1.9 GHz");
	machine.gap = 30000;
	lack("MISSING  undisturbed CPU: 2 times for more than 10 us, 70 us in all, 35 us at most");
	machine.cpu_on_error[1] = -EPERM;
	lack("MISSING  virtualization on each CPU: turned on and off on 2 of 3");
	machine.plan_fails = true;
	lack("MISSING  a VM for the whole node: proposal:7: memory: not enough");
	machine.silent_cpu = true;
	lack("MISSING  virtualization on each CPU: turned on and off on 2 of 3");
	/* It wakes up late: the record of its trial is still there. */
	forgotten->run(forgotten);
	assert_true(container_of(forgotten, struct trial, work)->done);
	free(container_of(forgotten, struct trial, work) - 2);
}

/* Not needed, or not known: neither counts as missing. */
static void test_off_and_unknown(void **)
{
	machine.counts_smis = false;
	machine.feature_missing = true;
	machine.platform.remaps_x2apic = false;
	strcpy(machine.platform.iommu_left, "DMA translation");
	machine.nodes = 1;
	machine.platform.slit = false;
	assert_true(check());
	expect("unknown  SMIs: this CPU does not count them");
	expect("off      VT-x, good to have: MSR 0x2");
	expect("off      interrupt remapping: to APIC IDs below 255 only");
	expect("ok       IOMMU: VT-d, 2 units, left on by the firmware: DMA translation: off now\n");
	expect("ok       NUMA layout: 1 node\n");
	assert_null(strstr(log_text, "NUMA distances"));
	assert_int_equal(missing(), 0);
}

static void test_watchdogs(void **)
{
	assert_true(check());
	expect("ok       watchdog, TCO: off\n");
	watchdogs[0] = (struct host_watchdog){ "TCO", HOST_WATCHDOG_RUNS, true, 12,
					       "the machine restarts" };
	watchdogs[1] = (struct host_watchdog){ "BMC", HOST_WATCHDOG_HARMLESS, false, 0,
					       "it does nothing when it runs out" };
	nr_watchdogs = 2;
	assert_true(check());
	expect("MISSING  watchdog, TCO: it runs, 12 s left, then the machine restarts: neither Margay nor a VM feeds "
	       "it; switch it off in the setup (watchdog, TCO)\n");
	expect("ok       watchdog, BMC: it runs, but it does nothing when it runs out\n");
	assert_int_equal(missing(), 1);
	watchdogs[0] = (struct host_watchdog){ .name = "FCH",
					       .state = HOST_WATCHDOG_UNKNOWN,
					       .what = "its registers do not answer" };
	watchdogs[1] = (struct host_watchdog){ "BMC", HOST_WATCHDOG_RUNS, true, ~0u,
					       "the machine goes off and on again" };
	assert_true(check());
	expect("unknown  watchdog, FCH: its registers do not answer: look into the setup, should the node restart by itself\n");
	/* The longest of all, whole. */
	expect("MISSING  watchdog, BMC: it runs, 4294967295 s left, then the machine goes off and on again: neither Margay nor "
	       "a VM feeds it; switch it off in the setup (OS watchdog, FRB-2), or from elsewhere: ipmitool -H BMC mc watchdog off\n");
	nr_watchdogs = 0;
	assert_true(check());
	expect("unknown  watchdog: no table WDAT, no chipset or BMC whose watchdog the check can read\n");
}

static void test_unable(void **)
{
	machine.find_error = -ENODEV;
	assert_true(check());
	expect("MISSING  virtualization: CPUID shows neither");
	expect("result: able=no ");
	assert_null(strstr(log_text, "VM file"));
	reset(NULL);
	machine.find_error = -EPERM;
	assert_true(check());
	expect("MISSING  VT-x, needed: MSR 0x1");
	expect("result: able=no ");
	assert_null(strstr(log_text, "virtualization on each CPU"));
}

/* A line that the log would cut is not proposed as if it were whole. */
static void test_long_line_is_not_cut(void **)
{
	static struct vm_config model = { .kernel = "k" };
	const char *line;

	memset(model.cmdline, 'x', VM_CMDLINE_MAX);
	machine.model = &model;
	assert_true(check());
	line = strstr(log_text,
		      "\n# too long for this report, copy it from your VM file: cmdline = xxxxx");
	assert_non_null(line);
	assert_true(strchr(line + 1, '\n') - line <= HOST_LOG_LINE);
	assert_null(strstr(log_text, "\ncmdline"));
	model.cmdline[HOST_LOG_LINE - strlen("cmdline = ")] = 0;
	assert_true(check());
	line = strstr(log_text, "\ncmdline = xxxxx");
	assert_non_null(line);
	assert_int_equal(strchr(line + 1, '\n') - (line + 1), HOST_LOG_LINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_there, reset),
		cmocka_unit_test_setup(test_dump, reset),
		cmocka_unit_test_setup(test_json, reset),
		cmocka_unit_test_setup(test_not_wanted, reset),
		cmocka_unit_test_setup(test_stay, reset),
		cmocka_unit_test_setup(test_lacks, reset),
		cmocka_unit_test_setup(test_off_and_unknown, reset),
		cmocka_unit_test_setup(test_watchdogs, reset),
		cmocka_unit_test_setup(test_unable, reset),
		cmocka_unit_test_setup(test_long_line_is_not_cut, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
