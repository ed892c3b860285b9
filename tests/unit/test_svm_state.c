/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/fake_host.c vmm/vm/power_on.c */
/*
 * What an SVM vCPU has in its VMCB, by the offsets of APM vol. 2, appendix B:
 * what runs in every guest and what exits, registers, segments, power-on
 * values. The files are included, over a CPU in memory.
 *
 * What is expected goes by the manual's numbers. What the CPU itself does only whole machines tell.
 */
#include "tests/unit/fake_insn.h"
#include "tests/unit/fake_host.h"

#include "vmm/svm/vcpu.c"
#include "tests/unit/power_on_values.h"
#include "vmm/svm/state.c"
#include "vmm/vm_parts.h"

struct svm_features svm_features = { .nr_asids = 8, .nrips = true };
struct cpu_features cpu_features;

static const struct hvm_ops ops = {
	.vcpu_reset = svm_vcpu_reset,
	.get = svm_get,
	.set = svm_set,
	.get_segment = svm_get_segment,
	.set_segment = svm_set_segment,
	.get_desc_table = svm_get_desc_table,
	.set_desc_table = svm_set_desc_table,
};
const struct hvm_ops *hvm = &ops;

static struct vm_config config;
static struct vm_parts parts;
static struct vcpu vcpu;
static u8 *bytes; /* the VMCB */
static unsigned asids;

u64 stage2_root(const struct stage2 *s)
{
	assert_ptr_equal(s, &parts.stage2);
	return 0x5000;
}

u64 svm_host_vmcb(void)
{
	return 0x7000;
}

void svm_new_asid(struct vmcb *vmcb)
{
	vmcb->asid = 1 + asids++;
}

static u64 field_of(unsigned offset, unsigned size)
{
	u64 v = 0;

	memcpy(&v, bytes + offset, size);
	return v;
}

static int setup(void **)
{
	fake_host_reset();
	memset(&fake_cpu, 0, sizeof(fake_cpu));
	memset(&vcpu, 0, sizeof(vcpu));
	asids = 0;
	parts.vm.config = &config;
	vcpu.vm = &parts.vm;
	assert_int_equal(svm_vcpu_create(&vcpu), 0);
	bytes = (u8 *)svm_vcpu(&vcpu)->vmcb;
	svm_vcpu_load(&vcpu);
	return 0;
}

static int teardown(void **)
{
	svm_vcpu_destroy(&vcpu);
	return fake_host.pages_in_use != 0;
}

static void test_controls(void **)
{
	/* Writes of CR0, CR4 and CR8; #DB, #AC and #MC. */
	assert_int_equal(field_of(0x002, 2), 1 << 0 | 1 << 4 | 1 << 8);
	assert_int_equal(field_of(0x008, 4), 1 << 1 | 1 << 17 | 1 << 18);
	/* INTR, NMI, INIT, RDPMC, CPUID, INVD, HLT, INVLPGA, IOIO_PROT, MSR_PROT, shutdown. */
	assert_int_equal(field_of(0x00c, 4), 1u << 0 | 1u << 1 | 1u << 3 | 1u << 15 | 1u << 18 |
						     1u << 22 | 1u << 24 | 1u << 26 | 1u << 27 |
						     1u << 28 | 1u << 31);
	/* VMRUN to SKINIT, WBINVD, MONITOR, MWAIT, XSETBV, RDPRU. */
	assert_int_equal(field_of(0x010, 4), 0x7f | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 1 << 14);
	/* V_INTR_MASKING: IF of the guest does not hold the host's interrupts off. */
	assert_int_equal(field_of(0x060, 8), 1 << 24);
	/* Nested paging on, by the VM's tables; an address space of its own. */
	assert_int_equal(field_of(0x090, 8), 1);
	assert_int_equal(field_of(0x0b0, 8), 0x5000);
	assert_int_equal(field_of(0x058, 4), 1);
	assert_int_equal(svm_vcpu(&vcpu)->host_vmcb_pa, 0x7000);
}

/*
 * interrupts = direct: INTR, HLT and CR8 are the guest's, and IF means the CPU's own interrupts;
 * all else as ever.
 */
static void test_direct(void **)
{
	u64 misc1 = field_of(0x00c, 4), misc2 = field_of(0x010, 4);

	parts.vm.mwait = true;
	svm_vcpu_load(&vcpu);
	assert_int_equal(field_of(0x010, 4), misc2);
	parts.vm.direct = true;
	svm_vcpu_load(&vcpu);
	assert_int_equal(field_of(0x010, 4), misc2 & ~(u64)(1u << 10 | 1u << 11));
	parts.vm.mwait = false;
	svm_vcpu_load(&vcpu);
	assert_int_equal(field_of(0x010, 4), misc2);
	parts.vm.direct = false;
	assert_int_equal(field_of(0x00c, 4), misc1 & ~(u64)(1u << 0 | 1u << 24));
	assert_int_equal(field_of(0x002, 2), 1 << 0 | 1 << 4);
	assert_int_equal(field_of(0x060, 8), 0);
	svm_set(&vcpu, HVM_CR0, CR0_PE);
	svm_set(&vcpu, HVM_CR4, CR4_MCE);
	assert_int_equal(field_of(0x000, 2), 0);
	svm_set(&vcpu, HVM_CR0, CR0_PE | CR0_CD);
	assert_int_equal(field_of(0x000, 2), 1);
}

/* A bus lock exits where the CPU can, and nobody trusts the VM. */
static void test_bus_lock(void **)
{
	assert_int_equal(field_of(0x014, 4), 0);
	svm_features.bus_lock = true;
	config.trusted = true;
	svm_vcpu_load(&vcpu);
	assert_int_equal(field_of(0x014, 4), 0);
	config.trusted = false;
	svm_vcpu_load(&vcpu);
	assert_int_equal(field_of(0x014, 4), 1 << 5);
	assert_int_equal(field_of(0x120, 2), 0);
	svm_features.bus_lock = false;
}

/* A bit for each port; two for each MSR of three ranges, reads first (15.10, 15.11). */
static void test_permissions(void **)
{
	const u8 *io, *msr;

	io = (const u8 *)field_of(0x040, 8);
	msr = (const u8 *)field_of(0x048, 8);
	for (unsigned i = 0; i < 0x3000; i++)
		assert_int_equal(io[i], 0xff);
	for (unsigned i = 0; i < 0x2000; i++)
		assert_int_equal(msr[i], 0xff);
	svm_intercept_io(&vcpu, 0x3fe, 3, false);
	assert_true(io[0x7f] == 0x3f && io[0x80] == 0xfe);
	svm_intercept_io(&vcpu, 0x3ff, 1, true);
	assert_true(io[0x7f] == 0xbf && io[0x80] == 0xfe);
	svm_intercept_io(&vcpu, 0xffff, 2, false);
	assert_true(io[0x1fff] == 0x7f && io[0x2000] == 0xff);
	svm_intercept_msr(&vcpu, 0x11, false, true);
	assert_int_equal(msr[0x4], 0xfb);
	svm_intercept_msr(&vcpu, 0xc0000102, false, false);
	assert_int_equal(msr[0x840], 0xcf);
	svm_intercept_msr(&vcpu, 0xc0010117, true, false);
	assert_int_equal(msr[0x1045], 0x7f);
	svm_intercept_msr(&vcpu, 0x2000, false, false);
	assert_int_equal(msr[0x800], 0xff);
}

static void test_counters(void **)
{
	svm_vcpu(&vcpu)->vmcb->intercept_misc1 = ~0u;
	svm_set_counters(&vcpu, 0);
	assert_int_equal(svm_vcpu(&vcpu)->vmcb->intercept_misc1, ~BIT(15) & ~0u);
}

static void test_registers(void **)
{
	static const struct {
		enum hvm_reg reg;
		unsigned offset;
	} fields[] = {
		{ HVM_CR3, 0x550 },          { HVM_DR7, 0x560 },
		{ HVM_DR6, 0x568 },          { HVM_STAR, 0x600 },
		{ HVM_LSTAR, 0x608 },        { HVM_CSTAR, 0x610 },
		{ HVM_SFMASK, 0x618 },       { HVM_KERNEL_GS_BASE, 0x620 },
		{ HVM_SYSENTER_CS, 0x628 },  { HVM_SYSENTER_ESP, 0x630 },
		{ HVM_SYSENTER_EIP, 0x638 }, { HVM_CR2, 0x640 },
		{ HVM_PAT, 0x668 },          { HVM_FS_BASE, 0x448 },
		{ HVM_GS_BASE, 0x458 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
		svm_set(&vcpu, fields[i].reg, 0x123456789abc0000ull + i);
		assert_int_equal(field_of(fields[i].offset, 8), 0x123456789abc0000ull + i);
		assert_int_equal(svm_get(&vcpu, fields[i].reg), 0x123456789abc0000ull + i);
	}
	/* The guest's while it runs, in the CPU. */
	svm_set(&vcpu, HVM_TSC_AUX, 0x89);
	assert_int_equal(*fake_msr(0xc0000103), 0x89);
	assert_int_equal(svm_get(&vcpu, HVM_TSC_AUX), 0x89);
	svm_set(&vcpu, HVM_DR2, 0xffffffff81234567ull);
	assert_int_equal(fake_cpu.dr[2], 0xffffffff81234567ull);
	assert_int_equal(svm_get(&vcpu, HVM_DR2), 0xffffffff81234567ull);
	svm_set(&vcpu, HVM_NMI_BLOCKED, 1);
	assert_int_equal(svm_get(&vcpu, HVM_NMI_BLOCKED), 1);
}

/*
 * The guest reads what it wrote; the CPU runs with SVM and machine checks on, and with its caches.
 */
static void test_shadowed(void **)
{
	unsigned before = asids;

	svm_set(&vcpu, HVM_EFER, 0xd01);
	assert_int_equal(field_of(0x4d0, 8), 0x1d01);
	assert_int_equal(svm_get(&vcpu, HVM_EFER), 0xd01);
	svm_set(&vcpu, HVM_CR0, 0xe0000011);
	assert_int_equal(field_of(0x558, 8), 0x80000011);
	assert_int_equal(svm_get(&vcpu, HVM_CR0), 0xe0000011);
	svm_set(&vcpu, HVM_CR4, 0x20);
	assert_int_equal(field_of(0x548, 8), 0x60);
	assert_int_equal(svm_get(&vcpu, HVM_CR4), 0x20);
	assert_int_equal(field_of(0x000, 2), 1 << 0 | 1 << 4 | 1 << 8);
	/* What is not hidden any more is read without an exit. */
	svm_set(&vcpu, HVM_CR4, 0x60);
	svm_set(&vcpu, HVM_CR0, 0x80000011);
	assert_int_equal(field_of(0x000, 2), 1 << 8);
	assert_int_equal(svm_get(&vcpu, HVM_CR4), 0x60);
	/* Each flushed what the instruction would have flushed. */
	assert_int_equal(asids - before, 5);
}

/* Selector, attributes (VMX' bits 15:12 as 11:8), limit, base; SS has the privilege level. */
static void test_segments(void **)
{
	static const unsigned offset[SEG_COUNT] = { 0x400, 0x410, 0x420, 0x430,
						    0x440, 0x450, 0x470, 0x490 };
	struct segment s;

	for (enum seg seg = SEG_ES; seg < SEG_COUNT; seg++) {
		const struct segment in = { .selector = (u16)(0x10 + 8 * seg),
					    .attr = 0xa0f3,
					    .limit = 0xfffff000u + seg,
					    .base = 0xffff888000000000ull + seg };

		svm_set_segment(&vcpu, seg, &in);
		assert_int_equal(field_of(offset[seg], 2), in.selector);
		assert_int_equal(field_of(offset[seg] + 2, 2), 0xaf3);
		assert_int_equal(field_of(offset[seg] + 4, 4), in.limit);
		assert_int_equal(field_of(offset[seg] + 8, 8), in.base);
		svm_get_segment(&vcpu, seg, &s);
		assert_true(s.selector == in.selector && s.attr == in.attr && s.limit == in.limit &&
			    s.base == in.base);
	}
	assert_int_equal(field_of(0x4cb, 1), 3);
	s.attr = 0x10000; /* unusable */
	svm_set_segment(&vcpu, SEG_FS, &s);
	assert_int_equal(field_of(0x442, 2), 0);
	svm_get_segment(&vcpu, SEG_FS, &s);
	assert_int_equal(s.attr, 0x10000);
	svm_set_desc_table(&vcpu, false, &(struct desc_table){ 0xfffffe0000001000ull, 0x7f });
	svm_set_desc_table(&vcpu, true, &(struct desc_table){ 0xfffffe0000000000ull, 0xfff });
	assert_true(field_of(0x464, 4) == 0x7f && field_of(0x468, 8) == 0xfffffe0000001000ull);
	assert_true(field_of(0x484, 4) == 0xfff && field_of(0x488, 8) == 0xfffffe0000000000ull);
}

static void test_power_on(void **)
{
	svm_vcpu(&vcpu)->vmcb->event_inj = 1;
	bytes[0x6e0] = 1; /* SPEC_CTRL */
	svm_vcpu(&vcpu)->stepping = true;
	assert_power_on(&vcpu);
	assert_int_equal(field_of(0x6e0, 8), 0);
	assert_true(!svm_vcpu(&vcpu)->vmcb->event_inj && !svm_vcpu(&vcpu)->stepping);
}

/* What a CPU reads and writes at each exit is on its own NUMA node. */
static void test_near(void **)
{
	unsigned before = fake_host.pages_in_use;
	struct vcpu other = { .vm = &parts.vm, .cpu = 1 };

	fake_host.nr_cpus = 2;
	fake_host.cpus[1].node = 3;
	assert_int_equal(svm_vcpu_create(&other), 0);
	assert_int_equal(fake_host.pages_on[3], fake_host.pages_in_use - before);
	svm_vcpu_destroy(&other);
	assert_int_equal(fake_host.pages_in_use, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_near, setup, teardown),
		cmocka_unit_test_setup_teardown(test_controls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_direct, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bus_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_permissions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shadowed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_segments, setup, teardown),
		cmocka_unit_test_setup_teardown(test_power_on, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
