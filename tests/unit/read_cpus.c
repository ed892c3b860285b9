/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/read_cpus_svm.c tests/unit/fake_host.c arch/x86_64/cpu/mitigations.c arch/x86_64/cpu/mitigation_words.c lib/span.c @tests/unit/cpuid.sources */
/*
 * No test of its own: what the image makes of the CPUs of recorded machines
 * (tests/machines/cpu_judge.py), in numbers without 0x. On stdin: "machine", then "msr NUMBER
 * VALUE", and for each logical CPU "cpu APIC-ID" and its "leaf LEAF SUBLEAF EAX EBX ECX EDX"; "end"
 * after each machine. Prints what the backends' probes say of it, what the policy allows, what the
 * CPUs are open to and what is done ("bugs CPU FLAGS SPEC_CTRL", then the affected, those without
 * microcode with "!"), and a guest's CPUID on each CPU; leaves of zeros are left out.
 */
#include "tests/unit/fake_vmcs.h"
#include "tests/unit/fake_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "arch/x86_64/cpu/mitigations.h"
#include "tests/unit/read_cpus.h"
#include "vmm/cpuid/cpuid_policy.h"

#include "vmm/vmx/cpu.c"

#define MAX_CPUS 1024
#define MAX_LEAVES 192

static struct {
	u32 apic_id;
	unsigned count;
	struct {
		u32 leaf;
		u32 subleaf;
		struct cpuid_regs regs;
	} leaf[MAX_LEAVES];
} machine[MAX_CPUS];
static unsigned nr_cpus, now; /* the CPU that the code runs on */
static struct cpuid_table table;

/* How many are asked for. */
static unsigned subleaves(u32 leaf)
{
	static const u32 several[] = { 4,    7,    0xb,        0xf,        0x10,      0x12, 0x14,
				       0x17, 0x18, 0x1b,       0x1d,       0x1e,      0x1f, 0x20,
				       0x23, 0x24, 0x8000001d, 0x80000020, 0x80000026 };

	for (unsigned i = 0; i < ARRAY_SIZE(several); i++)
		if (several[i] == leaf)
			return 12;
	return leaf == 0xd ? 64 : 1;
}

static struct cpuid_regs native(u32 leaf, u32 subleaf)
{
	subleaf = subleaves(leaf) > 1 ? subleaf : 0;
	for (unsigned i = 0; i < machine[now].count; i++)
		if (machine[now].leaf[i].leaf == leaf && machine[now].leaf[i].subleaf == subleaf)
			return machine[now].leaf[i].regs;
	return (struct cpuid_regs){ 0 };
}

static void read_native(void *, u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	*out = native(leaf, subleaf);
}

static void note(const struct hvm_feature *f)
{
	if (!f->there)
		printf("%s %s, %s: %s\n", f->required ? "lacks" : "without", f->backend, f->name,
		       f->where);
}

/* A CPU whose capability MSRs are not known gives a guest all that the policy lets it have. */
static struct hvm_caps probe(void)
{
	struct hvm_caps all = {
		.phys_bits = 48, .insn_len = true, .rdtscp = true, .invpcid = true,
		.xsaves = true, .waitpkg = true, .pcid = true,
		.cr4_allowed = ~0ull,
	}, caps;
	int vmx = -ENODEV, svm;

	fake_host_reset();
	fake_host.quiet = false;
	fake_cpu.cpuid = native;
	if (*fake_msr(MSR_VMX_BASIC))
		vmx = vmx_probe(&caps, note);
	if (vmxon_page)
		host_pages_free(vmxon_page, 1);
	vmxon_page = NULL;
	printf("vmx %d\n%s", vmx, vmx ? "" : fake_host.log);
	if (!vmx)
		return caps;
	svm = read_svm(native, &caps, note);
	printf("svm %d\n", svm);
	return svm ? all : caps;
}

static void show(const char *kind, unsigned number, const struct cpuid_dynamic *dyn, u32 leaf,
		 u32 subleaf)
{
	struct cpuid_regs r;

	cpuid_get(&table, dyn, leaf, subleaf, &r);
	if (r.eax | r.ebx | r.ecx | r.edx)
		printf("%s %x %x %x %x %x %x %x\n", kind, number, leaf, subleaf, r.eax, r.ebx,
		       r.ecx, r.edx);
}

static void show_all(const char *kind, unsigned number, const struct cpuid_dynamic *dyn)
{
	static const u32 begin[] = { 0,          0x40000000, 0x40000100, 0x80000000,
				     0x80860000, 0xc0000000, 0xfffffff0 };

	for (unsigned i = 0; i < ARRAY_SIZE(begin); i++)
		for (u32 leaf = begin[i]; leaf - begin[i] < 0x30 && leaf >= begin[i]; leaf++)
			for (u32 subleaf = 0; subleaf < subleaves(leaf); subleaf++)
				show(kind, number, dyn, leaf, subleaf);
}

/* Which XCR0 XSETBV takes, and the sizes then: by number of the value, its bits those of `bits`. */
static void show_xsave(void)
{
	static const u8 bits[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9, 17, 18 };

	for (unsigned n = 0; n < 1u << ARRAY_SIZE(bits); n++) {
		struct cpuid_dynamic dyn = { .cr4 = CR4_OSXSAVE };
		struct cpuid_regs r[2];

		for (unsigned i = 0; i < ARRAY_SIZE(bits); i++)
			dyn.xcr0 |= n >> i & 1 ? BIT(bits[i]) : 0;
		if (!cpuid_policy_xcr0_valid(&table, dyn.xcr0))
			continue;
		cpuid_get(&table, &dyn, 0xd, 0, &r[0]);
		cpuid_get(&table, &dyn, 0xd, 1, &r[1]);
		printf("xsave %llx %x %x\n", (unsigned long long)dyn.xcr0, r[0].ebx, r[1].ebx);
	}
}

static void build(const struct hvm_caps *caps, unsigned flat)
{
	struct cpuid_input in = {
		.host = read_native,
		.caps = caps,
		.nr_vcpus = flat ? flat : nr_cpus,
		.flat = flat,
		.tsc_khz = 2000000,
		.tsc_stable = true,
		.pvclock = true,
		.arch_capabilities_ok = true,
	};

	now = 0;
	if (cpuid_policy_build(&in, &table))
		puts("full");
}

static void native_of(u32 leaf, u32 subleaf, struct cpuid_regs *out)
{
	*out = native(leaf, subleaf);
}

static void show_mitigations(void)
{
	struct cpuid_regs l0 = native(0, 0), l7 = native(7, 0);
	struct mitigation_input in = { .read_cpuid = native_of };
	struct mitigations m;
	u64 signature = 0;

	if (l0.eax >= 7 && l7.edx & BIT(29))
		in.arch_capabilities = *fake_msr(MSR_ARCH_CAPABILITIES);
	signature = *fake_msr(MSR_BIOS_SIGN_ID);
	in.microcode = (u32)(l0.ebx == 0x756e6547 ? signature >> 32 : signature);
	mitigations_decide(&in, &m);
	printf("bugs %x %x %x", now, m.flags, m.spec_ctrl);
	for (unsigned i = 0; i < CPU_BUGS; i++) {
		char line[96];

		mitigation_line(&m, i, false, line, sizeof(line));
		if (!strstr(line, ": Not affected"))
			printf(" %.*s%s", (int)strcspn(line, ":"), line,
			       strstr(line, ": no microcode") ? "!" : "");
	}
	puts("");
}

static void show_machine(void)
{
	static const unsigned flat[] = { 1, 2, 6, 64, 200 };
	struct hvm_caps caps;

	now = 0;
	caps = probe();
	build(&caps, 0);
	printf("table %u %llx %llx %llx %llx %u\n", table.count,
	       (unsigned long long)table.cr4_allowed, (unsigned long long)table.efer_allowed,
	       (unsigned long long)table.xcr0_allowed, (unsigned long long)table.xss_allowed,
	       table.phys_bits);
	for (now = 0; now < nr_cpus; now++) {
		struct cpuid_dynamic dyn = { .apic_id = machine[now].apic_id,
					     .xcr0 = XCR0_X87,
					     .apic_enabled = true };

		show_mitigations();
		show_all("guest", now, &dyn);
	}
	now = 0;
	show_all("on", 0,
		 &(struct cpuid_dynamic){ .apic_id = machine[0].apic_id,
					  .cr4 = CR4_OSXSAVE | CR4_PKE,
					  .xcr0 = XCR0_X87 });
	show_xsave();
	for (unsigned i = 0; i < ARRAY_SIZE(flat); i++) {
		struct cpuid_dynamic dyn = { .apic_id = flat[i] - 1,
					     .xcr0 = XCR0_X87,
					     .apic_enabled = true };

		build(&caps, flat[i]);
		show_all("flat", flat[i], &dyn);
	}
	puts("end");
}

static void die(const char *line)
{
	fprintf(stderr, "read_cpus: %s\n", line);
	exit(2);
}

static void read_line(const char *line)
{
	u32 v[6];
	unsigned long long value;

	if (!strcmp(line, "machine\n")) {
		fake_vmcs_reset();
		nr_cpus = 0;
	} else if (sscanf(line, "msr %x %llx", &v[0], &value) == 2 && v[0] < 0x2000) {
		*fake_msr(v[0]) = value;
	} else if (sscanf(line, "cpu %x", &v[0]) == 1 && nr_cpus < MAX_CPUS) {
		machine[nr_cpus].apic_id = v[0];
		machine[nr_cpus++].count = 0;
	} else if (sscanf(line, "leaf %x %x %x %x %x %x", &v[0], &v[1], &v[2], &v[3], &v[4],
			  &v[5]) == 6 &&
		   nr_cpus && machine[nr_cpus - 1].count < MAX_LEAVES) {
		unsigned n = machine[nr_cpus - 1].count++;

		machine[nr_cpus - 1].leaf[n].leaf = v[0];
		machine[nr_cpus - 1].leaf[n].subleaf = v[1];
		machine[nr_cpus - 1].leaf[n].regs = (struct cpuid_regs){ v[2], v[3], v[4], v[5] };
	} else if (!strcmp(line, "end\n") && nr_cpus) {
		show_machine();
	} else {
		die(line);
	}
}

int main(void)
{
	char line[128];

	while (fgets(line, sizeof(line), stdin))
		read_line(line);
	return 0;
}
