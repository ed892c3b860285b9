/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hardware check: with `check` on the command line the node starts no VM
 * but says, feature by feature, what it has and lacks. First what keeps guests
 * from running, then what costs them performance, then what there is to know;
 * last a VM file for the whole node. docs/operating.md explains each line.
 */
#include <margay/errno.h>
#include <margay/host.h>
#include <margay/mitigations.h>
#include <margay/string.h>

#include "vmm/config/config.h"
#include "vmm/cpuid/cpuid_policy.h"
#include "vmm/hvm.h"
#include "vmm/monitor.h"
#include "vmm/pci/pci_segments.h"
#include "vmm/plan/place.h"
#include "vmm/report/hwcheck_cpus.h"
#include "vmm/report/hwcheck_dump.h"
#include "vmm/report/hwcheck_proposal.h"
#include "vmm/report/hwcheck_watch.h"
#include "vmm/report/hwcheck_watchdogs.h"
#include "vmm/report/report.h"
#include "vmm/vm/service.h"

#define ANSWER_MS 1000 /* a CPU that has not turned virtualization on by then will not */

enum state { OK, MISSING, OFF, UNKNOWN, STATES };

static unsigned counts[STATES];

/* One line of the report; none is lost, however slow the line. */
static __printf(1, 2) void say(const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	host_log("check: %s", text);
	host_console_drain();
}

/* One feature: its state, what it is, and what there is to say and to do about it. */
static __printf(3, 4) void feature(enum state state, const char *name, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "MISSING", "off", "unknown" };
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	counts[state]++;
	if (state == MISSING)
		hwcheck_json_missing(name);
	if (text[0])
		say("%-8s %s: %s", words[state], name, text);
	else
		say("%-8s %s", words[state], name);
}

static bool cpuid_bit(u32 leaf, unsigned reg, unsigned bit)
{
	struct cpuid_regs r;

	host_cpuid(leaf & 0x80000000, 0, &r);
	if (r.eax < leaf)
		return false;
	host_cpuid(leaf, 0, &r);
	if (reg == 0)
		return r.eax & BIT(bit);
	return (reg == 2 ? r.ecx : r.edx) & BIT(bit);
}

/* ---- virtualization ------------------------------------------------------------ */

static bool wanted_required; /* which half of the features is told */

static void tell(const struct hvm_feature *f)
{
	char name[64];

	if (f->required != wanted_required)
		return;
	snprintf(name, sizeof(name), "%s, %s", f->backend, f->name);
	if (f->there)
		feature(OK, name, "%s", "");
	else
		feature(f->required ? MISSING : OFF, name, "%s", f->where);
}

/*
 * The CPUs that turn virtualization on, each tried by itself: firmware may have locked it on some
 * only.
 */
struct trial {
	struct host_work work;
	int err; /* valid when done */
	bool done; /* atomic */
};

static void try_cpu(struct host_work *work)
{
	struct trial *t = container_of(work, struct trial, work);

	t->err = hvm->cpu_on();
	if (!t->err)
		hvm->cpu_off();
	__atomic_store_n(&t->done, true, __ATOMIC_RELEASE);
}

static bool answered(const struct trial *t)
{
	u64 end = host_tsc() + ANSWER_MS * host_tsc_khz();

	while (!__atomic_load_n(&t->done, __ATOMIC_ACQUIRE) && host_tsc() < end)
		__builtin_ia32_pause();
	return __atomic_load_n(&t->done, __ATOMIC_ACQUIRE);
}

static bool check_each_cpu(void)
{
	unsigned cpus = host_cpu_count(), good = 0, late = 0;
	unsigned pages = (unsigned)(ALIGN_UP(cpus * sizeof(struct trial), PAGE_SIZE) / PAGE_SIZE);
	struct trial *t = host_pages_alloc(pages, -1);
	bool all;

	if (!t) {
		feature(UNKNOWN, "virtualization on each CPU",
			"no memory left for the hypervisor itself");
		return false;
	}
	for (unsigned i = 0; i < cpus; i++) {
		t[i].work = (struct host_work){ .name = "check", .run = try_cpu };
		if (i == host_cpu_this())
			try_cpu(&t[i].work);
		else if (host_cpu_assign(i, &t[i].work))
			continue;
		if (!answered(&t[i]))
			late++;
		else
			good += !t[i].err;
	}
	all = good == cpus;
	feature(all ? OK : MISSING, "virtualization on each CPU", "turned on and off on %u of %u%s",
		good, cpus,
		all ? ""
		    : ": firmware has locked it on some: update it, or leave these CPUs out of cpus =");
	/* A CPU that did not answer may still do so: its record stays. */
	if (!late)
		host_pages_free(t, pages);
	return good;
}

static bool check_virtualization(void)
{
	int err;

	wanted_required = true;
	err = hvm_find_backend(tell);
	if (err == -ENODEV)
		feature(MISSING, "virtualization",
			"%s: enable VT-x, SVM or \"virtualization\" in the setup; no VM can run",
			HVM_NO_BACKEND);
	return !err && check_each_cpu();
}

static void check_cpus_and_memory(void)
{
	unsigned cpus = 0, online = host_cpu_count();

	while (host_cpu_info(cpus))
		cpus++;
	feature(online == cpus ? OK : MISSING, "CPUs", "%u of %u run%s", online, cpus,
		online == cpus ? "" : ": the log above tells which did not start");
	feature(host_mem_free(-1, NULL) >= VM_MEMORY_MIN ? OK : MISSING, "memory for guests",
		"%luM", (host_mem_free(-1, NULL) >> 20));
}

/* ---- performance ----------------------------------------------------------------- */

static void check_clock(void)
{
	bool invariant = cpuid_bit(0x80000007, 3, 8), stable = host_tsc_stable();
	u64 khz = host_tsc_khz();

	if (stable)
		feature(OK, "invariant TSC", "%s, the same on all CPUs",
			invariant ? "CPUID 0x80000007 EDX bit 8" : "constant under QEMU's TCG");
	else if (!invariant)
		feature(MISSING, "invariant TSC",
			"CPUID 0x80000007 EDX bit 8: guests use a slower clock; a newer CPU has it");
	else
		feature(MISSING, "invariant TSC",
			"the CPUs' TSCs differ: guests use a slower clock; update the firmware");
	feature(OK, "TSC rate", "%lu.%03lu MHz", (khz / 1000), (khz % 1000));
	feature(cpuid_bit(1, 2, 24) ? OK : OFF, "TSC deadline timer", "%s",
		cpuid_bit(1, 2, 24) ? "" : "CPUID 1 ECX bit 24: timers are set less exactly");
}

static void check_x2apic(void)
{
	if (host_is_x2apic())
		feature(OK, "x2APIC", "in use");
	else if (host_x2apic_off())
		feature(OFF, "x2APIC",
			"not used, as the firmware wishes it, or by x2apic=off: no VM has interrupts = direct");
	else if (cpuid_bit(1, 2, 21))
		feature(OFF, "x2APIC",
			"the CPU has it; not used, as the firmware left it off and this is QEMU's TCG");
	else
		feature(MISSING, "x2APIC",
			"CPUID 1 ECX bit 21: interrupts cost more, and APIC IDs from 255 on are out of reach; "
			"enable x2APIC in the setup");
}

static void check_silence(unsigned seconds)
{
	struct hwcheck_watch w;

	say("watching CPU %u for %u s", host_cpu_this(), seconds);
	w = hwcheck_watch(seconds);
	if (!w.counts_smis)
		feature(UNKNOWN, "SMIs",
			"this CPU does not count them by MSR 0x34: see the next line");
	else if (!w.smis)
		feature(OK, "SMIs", "none in %u s", seconds);
	else
		feature(MISSING, "SMIs",
			"%u in %u s stop every CPU: in the setup switch off legacy USB, power capping, reports of "
			"memory errors",
			w.smis, seconds);
	feature(w.gaps ? MISSING : OK, "undisturbed CPU",
		"%u times for more than %u us, %lu us in all, %lu us at most%s", w.gaps,
		HWCHECK_GAP_NS / 1000, w.lost_us, w.longest_us,
		w.gaps ? ": by firmware, or by a hypervisor below" : "");
}

/* What all CPUs must have alike, and how fast they run. */
static void check_all_cpus(void)
{
	static const enum state states[] = {
		[CPUS_GOOD] = OK, [CPUS_BAD] = MISSING, [CPUS_UNKNOWN] = UNKNOWN
	};
	char text[200];
	enum cpus_state is = hwcheck_mtrrs(text, sizeof(text));

	feature(states[is], "MTRRs", "%s", text);
	is = hwcheck_rate(text, sizeof(text));
	feature(states[is], "clock rate", "%s", text);
}

/* One that firmware has left running restarts the node in the middle of a job. */
static void check_watchdogs(void)
{
	static const enum state states[] = { [HOST_WATCHDOG_OFF] = OK,
					     [HOST_WATCHDOG_HARMLESS] = OK,
					     [HOST_WATCHDOG_RUNS] = MISSING,
					     [HOST_WATCHDOG_UNKNOWN] = UNKNOWN };
	struct host_watchdog w[HOST_WATCHDOGS];
	unsigned n = host_watchdogs(w);
	char name[32], text[240];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "watchdog, %s", w[i].name);
		hwcheck_watchdog(&w[i], text, sizeof(text));
		feature(states[w[i].state], name, "%s", text);
	}
	if (!n)
		feature(UNKNOWN, "watchdog",
			"no table WDAT, no chipset or BMC whose watchdog the check can read");
}

static void check_iommu(const struct host_platform *p)
{
	const char *now = "";

	if (!IS_ENABLED(CONFIG_IOMMU_TABLES)) {
		feature(UNKNOWN, "IOMMU", "this image does not look for one (CONFIG_IOMMU_TABLES)");
		return;
	}
	if (!p->iommu) {
		feature(MISSING, "IOMMU",
			"no DMAR and no IVRS table: devices reach all memory, so they are for trusted guests; "
			"enable VT-d, AMD-Vi or IOMMU in the setup");
		return;
	}
	if (p->iommu_stuck)
		now = ": it does not go off, and devices may be silent; switch it off in the setup";
	else if (p->iommu_left[0])
		now = ": off now";
	feature(p->iommu_stuck ? MISSING : OK, "IOMMU", "%s, %u unit%s%s%s%s", p->iommu, p->iommus,
		p->iommus == 1 ? "" : "s", p->iommu_left[0] ? ", left on by the firmware: " : "",
		p->iommu_left, now);
	if (!p->remaps_interrupts)
		feature(MISSING, "interrupt remapping",
			"a device can send any interrupt; enable it in the setup, on Intel often "
			"with x2APIC");
	else
		feature(p->remaps_x2apic ? OK : OFF, "interrupt remapping", "%s",
			p->remaps_x2apic ? "to all APIC IDs" : "to APIC IDs below 255 only");
}

static void check_numa(const struct host_platform *p)
{
	if (!IS_ENABLED(CONFIG_NUMA))
		feature(OFF, "NUMA layout", "this image was built without NUMA");
	else if (!p->srat)
		feature(MISSING, "NUMA layout",
			"no SRAT table: taken as one node; right for one socket, else switch node "
			"interleaving off in the setup");
	else
		feature(OK, "NUMA layout", "%u node%s", host_node_count(),
			host_node_count() == 1 ? "" : "s");
	if (host_node_count() > 1)
		feature(p->slit ? OK : MISSING, "NUMA distances", "%s",
			p->slit ? "" : "no SLIT table: 10 and 20 are assumed");
}

static void check_pci(bool ecam)
{
	char segments[PCI_SEGMENTS_TEXT];

	if (!IS_ENABLED(CONFIG_PCI))
		feature(UNKNOWN, "PCI", "this image does not look for functions (CONFIG_PCI)");
	else
		feature(ecam ? OK : MISSING, "PCI configuration by ECAM", "%s",
			ecam ? ""
			     : "no MCFG table, or no function in its reach: extended capabilities are out of reach");
	if (!pci_segments(segments))
		feature(MISSING, "PCI segments", "%s", segments);
	feature(IS_ENABLED(CONFIG_PASSTHROUGH) ? OK : OFF, "PCI functions for VMs", "%s",
		IS_ENABLED(CONFIG_PASSTHROUGH) ? "by the key pci; what is fit says the list below"
					       : "this image was built without PASSTHROUGH");
}

static void check_performance(unsigned seconds)
{
	struct host_platform p;
	unsigned shift = cpuid_smt_shift(host_cpuid_for, NULL);

	host_platform(&p);
	wanted_required = false;
	hvm_find_backend(tell);
	check_x2apic();
	check_clock();
	check_all_cpus();
	check_numa(&p);
	check_iommu(&p);
	check_pci(p.ecam);
	feature(OK, "threads of a core", "%s", shift ? "several: a core goes to one VM" : "one");
	if (cpuid_bit(1, 2, 31))
		feature(MISSING, "bare metal", "CPUID 1 ECX bit 31: this node is itself a VM");
	else
		feature(OK, "bare metal", "%s", "");
	check_watchdogs();
	check_silence(seconds);
}

/* ---- the proposal ------------------------------------------------------------------ */

/* Not in front of what is copied, or read by tools. */
static void times(bool on)
{
	host_log_times(on);
}

/* Its lines are printed bare, to be copied as they are: none that the log would cut. */
static void print_file(char *text)
{
	for (char *end; (end = strchr(text, '\n')); text = end + 1) {
		*end = 0;
		if (end - text > HOST_LOG_LINE)
			host_log("# too long for this report, copy it from your VM file: %.40s...",
				 text);
		else
			host_log("%s", text);
		host_console_drain();
	}
}

static void propose(char *text, struct vm_config *config)
{
	size_t n = proposal_write(text, monitor_first_config(), host_node_count());
	struct place_trial got = { 0 };
	struct config_error err;

	if (vm_config_parse("proposal", text, n, config, &err, NULL) ||
	    place_try(config, &got, &err)) {
		feature(MISSING, "a VM for the whole node", "%s", err.text);
		return;
	}
	feature(OK, "a VM for the whole node", "%u CPUs, %luM on %u node%s; its VM file:", got.cpus,
		(got.memory >> 20), got.nodes, got.nodes == 1 ? "" : "s");
	times(false);
	host_log("# VM file by Margay's hardware check");
	print_file(text);
	host_log("# end of the VM file");
	times(true);
}

static void propose_vm_file(void)
{
	unsigned pages = (unsigned)(ALIGN_UP(PROPOSAL_MAX + sizeof(struct vm_config), PAGE_SIZE) /
				    PAGE_SIZE);
	u8 *memory = host_pages_alloc(pages, -1);

	if (!memory) {
		feature(UNKNOWN, "a VM for the whole node",
			"no memory left for the hypervisor itself");
		return;
	}
	static_assert(PROPOSAL_MAX % _Alignof(struct vm_config) == 0, "aligned behind the text");
	propose((char *)memory, (struct vm_config *)(memory + PROPOSAL_MAX));
	host_pages_free(memory, pages);
}

static void hwcheck_start(void)
{
	bool stay, dump, json, able;
	unsigned seconds = host_check_wanted(&stay, &dump, &json);

	if (!seconds)
		return;
	say("hardware check: no VM starts; ok, MISSING, off (not needed) or unknown, and what to do");
	say("Margay %s, image %s", host_version(), host_image());
	able = check_virtualization();
	check_cpus_and_memory();
	say("what costs performance or containment:");
	check_performance(seconds);
	if (IS_ENABLED(CONFIG_MITIGATIONS)) {
		say("what its CPUs are open to by speculation, for guests that are not trusted:");
		host_mitigations_report(say);
	}
	say("the node:");
	report_node(say);
	say("its PCI functions:");
	report_pci(say);
	if (able)
		propose_vm_file();
	say("result: able=%s ok=%u missing=%u off=%u unknown=%u", able ? "yes" : "no", counts[OK],
	    counts[MISSING], counts[OFF], counts[UNKNOWN]);
	times(false);
	if (json)
		hwcheck_json(able);
	if (dump)
		hwcheck_dump();
	times(true);
	monitor_start_none();
	if (!stay)
		host_node_poweroff("vms=0 failed=0");
}
MONITOR_SERVICE(hwcheck_start);
