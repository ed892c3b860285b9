/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: tests/unit/fake_host.c vmm/vm/power_on.c */
/*
 * What a VT-x vCPU has in its VMCS, by the field numbers of SDM vol. 3,
 * appendix B: what runs in every guest and what exits, registers, segments,
 * power-on values. The files are included, over a CPU in memory.
 *
 * What is expected goes by the manual's numbers. What the CPU itself does only whole machines tell.
 */
#include "tests/unit/fake_vmcs.h"
#include "tests/unit/fake_host.h"

#include "vmm/vmx/vcpu.c"
#include "tests/unit/power_on_values.h"
#include "vmm/vm_parts.h"
#include "vmm/vmx/state.c"

struct vmx_controls vmx_controls;

static const struct hvm_ops ops = {
	.vcpu_reset = vmx_vcpu_reset,
	.get = vmx_get,
	.set = vmx_set,
	.get_segment = vmx_get_segment,
	.set_segment = vmx_set_segment,
	.get_desc_table = vmx_get_desc_table,
	.set_desc_table = vmx_set_desc_table,
};
const struct hvm_ops *hvm = &ops;

static struct vm_config config;
static struct vm_parts parts;
static struct vcpu vcpu;

u64 stage2_root(const struct stage2 *s)
{
	assert_ptr_equal(s, &parts.stage2);
	return 0x5000;
}

u64 desc_tss_base(void)
{
	return 0x100;
}

u64 desc_gdt_base(void)
{
	return 0x200;
}

u64 desc_idt_base(void)
{
	return 0x300;
}

void vmx_exit_clean(void) { }

void vmx_exit_entry(void) { }

static int setup(void **)
{
	fake_host_reset();
	fake_vmcs_reset();
	memset(&vcpu, 0, sizeof(vcpu));
	memset(&parts, 0, sizeof(parts));
	memset(&config, 0, sizeof(config));
	parts.vm.config = &config;
	parts.cpuid.cr4_allowed = 0x7ff;
	vcpu.vm = &parts.vm;
	vmx_controls = (struct vmx_controls){ .pin = 0x29,
					      .proc = 0xa0000000,
					      .proc2 = PROC2_VPID | PROC2_EPT,
					      .exit = 0x200,
					      .entry = 0x4,
					      .revision = 0x12,
					      .cr0_fixed0 = 0x80000021,
					      .cr4_fixed0 = 0x2000 };
	assert_int_equal(vmx_vcpu_create(&vcpu), 0);
	return 0;
}

static int teardown(void **)
{
	vmx_vcpu_destroy(&vcpu);
	return fake_host.pages_in_use != 0;
}

/* Its VMCS begins with the revision (25.2), and every port and MSR exits. */
static void test_create(void **)
{
	const struct vmx_vcpu *x = vmx_vcpu(&vcpu);

	assert_int_equal(*(u32 *)x->vmcs, 0x12);
	assert_int_equal(x->vmcs_pa, (uintptr_t)x->vmcs);
	for (unsigned i = 0; i < 0x2000; i++)
		assert_int_equal(x->io_bitmap[i], 0xff);
	for (unsigned i = 0; i < 0x1000; i++)
		assert_int_equal(x->msr_bitmap[i], 0xff);
	/* Without memory nothing stays, wherever it ends. */
	for (unsigned n = 1; n <= 4; n++) {
		struct vcpu other = { .vm = &parts.vm };
		unsigned before = fake_host.pages_in_use;

		fake_host.pages_until_fail = n;
		assert_int_equal(vmx_vcpu_create(&other), -ENOMEM);
		fake_host.pages_until_fail = 0;
		assert_int_equal(fake_host.pages_in_use, before);
		assert_null(other.hvm);
	}
}

/* Bit 30: not for one that is trusted. */
static void test_bus_lock(void **)
{
	vmx_controls.proc2 = 1u << 30 | 1u << 1;
	vmx_vcpu_load(&vcpu);
	assert_int_equal(vmcs[0x401e], 1u << 30 | 1u << 1);
	config.trusted = true;
	vmx_vcpu_load(&vcpu);
	assert_int_equal(vmcs[0x401e], 1u << 1);
}

static void test_load(void **)
{
	const struct vmx_vcpu *x = vmx_vcpu(&vcpu);

	fake_cpu.cr[0] = 0x80010033;
	fake_cpu.cr[3] = 0x7000;
	fake_cpu.cr[4] = 0x20e0;
	*fake_msr(0xc0000080) = 0xd01;
	*fake_msr(0x277) = 0x0007010600070106ull;
	*fake_msr(0xc0000101) = 0xffffffff80300000ull;
	vmx_vcpu_load(&vcpu);
	assert_int_equal(vmcs[0x4000], 0x29);
	assert_int_equal(vmcs[0x4002], 0xa0000000);
	assert_int_equal(vmcs[0x401e], PROC2_VPID | PROC2_EPT);
	assert_int_equal(vmcs[0x400c], 0x200);
	assert_int_equal(vmcs[0x4012], 4);
	assert_int_equal(vmcs[0x4004], 1 << 1 | 1 << 17 | 1 << 18); /* #DB, #AC, #MC */
	assert_int_equal(vmcs[0x0000], 1);
	/* EPTP: four levels, write-back (25.6.11) */
	assert_int_equal(vmcs[0x201a], 0x5000 | 3 << 3 | 6);
	assert_int_equal(vmcs[0x2000], (uintptr_t)x->io_bitmap);
	assert_int_equal(vmcs[0x2002], (uintptr_t)x->io_bitmap + 0x1000);
	assert_int_equal(vmcs[0x2004], (uintptr_t)x->msr_bitmap);
	assert_int_equal(vmcs[0x2800], ~0ull);
	/*
	 * The guest has MP, EM, TS, ET, PE, WP, AM and PG of CR0 to itself, and of CR4 what it may
	 * have but MCE.
	 */
	assert_int_equal(vmcs[0x6000], ~0x8005001full);
	assert_int_equal(vmcs[0x6002], ~0x7bfull);
	/* The host's state: where an exit leads to. */
	assert_int_equal(vmcs[0x6c00], 0x80010033);
	assert_int_equal(vmcs[0x6c02], 0x7000);
	assert_int_equal(vmcs[0x6c04], 0x20e0);
	assert_int_equal(vmcs[0x2c02], 0xd01);
	assert_int_equal(vmcs[0x2c00], 0x0007010600070106ull);
	assert_int_equal(vmcs[0x6c08], 0xffffffff80300000ull);
	assert_int_equal(vmcs[0x6c0a], 0x100);
	assert_int_equal(vmcs[0x6c0c], 0x200);
	assert_int_equal(vmcs[0x6c0e], 0x300);
	assert_int_equal(vmcs[0x6c16], (uintptr_t)vmx_exit_entry);
	vcpu.mitigations = MIT_RSB;
	vmx_vcpu_load(&vcpu);
	assert_int_equal(vmcs[0x6c16], (uintptr_t)vmx_exit_clean);
	vcpu.mitigations = 0;
}

/* interrupts = direct: external interrupts, HLT and CR8 are the guest's; all else as ever. */
static void test_direct(void **)
{
	vmx_controls.pin = 0x29;
	vmx_controls.proc = 1 << 7 | 1 << 10 | 1 << 19 | 1 << 20 | 0xa0000000;
	vmx_vcpu_load(&vcpu);
	assert_int_equal(vmcs[0x4000], 0x29);
	assert_int_equal(vmcs[0x4002], vmx_controls.proc);
	parts.vm.direct = true;
	vmx_vcpu_load(&vcpu);
	assert_int_equal(vmcs[0x4000], 0x28);
	assert_int_equal(vmcs[0x4002], 1 << 10 | 0xa0000000);
	assert_int_equal(vmx_vcpu(&vcpu)->proc_controls, 1 << 10 | 0xa0000000);
	/* MWAIT and MONITOR, where they are shown; without direct they never are. */
	parts.vm.mwait = true;
	vmx_vcpu_load(&vcpu);
	assert_int_equal(vmcs[0x4002], 0x80000000);
	assert_int_equal(vmx_vcpu(&vcpu)->proc_controls, 0x80000000);
	parts.vm.direct = false;
	vmx_vcpu_load(&vcpu);
	assert_int_equal(vmcs[0x4002], vmx_controls.proc);
}

/*
 * A bit for each port; for MSRs reads of the low and of the high ones, then writes (25.6.4,
 * 25.6.9).
 */
static void test_permissions(void **)
{
	const u8 *io = vmx_vcpu(&vcpu)->io_bitmap, *msr = vmx_vcpu(&vcpu)->msr_bitmap;

	vmx_intercept_io(&vcpu, 0x3fe, 3, false);
	assert_true(io[0x7f] == 0x3f && io[0x80] == 0xfe);
	vmx_intercept_io(&vcpu, 0x3ff, 1, true);
	assert_true(io[0x7f] == 0xbf && io[0x80] == 0xfe);
	vmx_intercept_io(&vcpu, 0xffff, 2, false);
	assert_int_equal(io[0x1fff], 0x7f);
	vmx_intercept_msr(&vcpu, 0x11, false, true);
	assert_true(msr[0x2] == 0xfd && msr[0x802] == 0xff);
	vmx_intercept_msr(&vcpu, 0xc0000102, true, false);
	assert_true(msr[0x420] == 0xff && msr[0xc20] == 0xfb);
	vmx_intercept_msr(&vcpu, 0xc0010117, false, false);
	assert_true(msr[0x22] == 0xff && msr[0x822] == 0xff && msr[0x422] == 0xff &&
		    msr[0xc22] == 0xff);
}

/*
 * Loaded at entries and, as 0, at exits, from now on: also when the guest changes its mode. RDPMC
 * does not exit.
 */
static void test_counters(void **)
{
	vmx_controls.proc |= 1u << 11;
	vmx_vcpu_load(&vcpu);
	assert_true(!(vmcs[0x400c] & BIT(12)) && !(vmcs[0x4012] & BIT(13)) &&
		    vmcs[0x4002] & BIT(11));
	vmcs[0x2c04] = 5;
	vmx_set_counters(&vcpu, 0x700000003);
	assert_int_equal(vmcs[0x400c], 0x200 | BIT(12));
	assert_int_equal(vmcs[0x4012], 4 | BIT(13));
	assert_true(vmcs[0x2808] == 0x700000003 && vmcs[0x2c04] == 0 && !(vmcs[0x4002] & BIT(11)));
	vmx_set(&vcpu, HVM_EFER, 0xd01);
	assert_int_equal(vmcs[0x4012], 0x204 | BIT(13));
	vmx_set(&vcpu, HVM_EFER, 0x901);
	assert_int_equal(vmcs[0x4012], 4 | BIT(13));
	/*
	 * The guest has switched to IA-32e mode by itself (CR0.PG does not exit): an exit stores
	 * that as bit 9 (28.2, A.6).
	 */
	vmcs[0x4012] |= BIT(9);
	vmx_set_counters(&vcpu, 1);
	assert_int_equal(vmcs[0x4012], 0x204 | BIT(13));
	assert_int_equal(vmcs[0x400c], 0x200 | BIT(12));
}

static void test_registers(void **)
{
	static const struct {
		enum hvm_reg reg;
		unsigned field;
	} fields[] = {
		{ HVM_CR3, 0x6802 },          { HVM_PAT, 0x2804 },
		{ HVM_DR7, 0x681a },          { HVM_SYSENTER_CS, 0x482a },
		{ HVM_SYSENTER_ESP, 0x6824 }, { HVM_SYSENTER_EIP, 0x6826 },
		{ HVM_FS_BASE, 0x680e },      { HVM_GS_BASE, 0x6810 },
	};
	static const struct {
		enum hvm_reg reg;
		u32 msr;
	} msrs[] = {
		{ HVM_STAR, 0xc0000081 },           { HVM_LSTAR, 0xc0000082 },
		{ HVM_CSTAR, 0xc0000083 },          { HVM_SFMASK, 0xc0000084 },
		{ HVM_KERNEL_GS_BASE, 0xc0000102 }, { HVM_TSC_AUX, 0xc0000103 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
		vmx_set(&vcpu, fields[i].reg, 0x123456789abc0000ull + i);
		assert_int_equal(vmcs[fields[i].field], 0x123456789abc0000ull + i);
		assert_int_equal(vmx_get(&vcpu, fields[i].reg), 0x123456789abc0000ull + i);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(msrs); i++) {
		vmx_set(&vcpu, msrs[i].reg, 0xffffffff81000000ull + i);
		assert_int_equal(*fake_msr(msrs[i].msr), 0xffffffff81000000ull + i);
		assert_int_equal(vmx_get(&vcpu, msrs[i].reg), 0xffffffff81000000ull + i);
	}
	vmx_set(&vcpu, HVM_CR2, 0xffffffff81234567ull);
	assert_int_equal(fake_cpu.cr[2], 0xffffffff81234567ull);
	vmx_set(&vcpu, HVM_DR2, 0xffffffff81234567ull);
	assert_int_equal(fake_cpu.dr[2], 0xffffffff81234567ull);
	vmx_set(&vcpu, HVM_NMI_BLOCKED, 1);
	assert_int_equal(vmcs[0x4824], 8);
	assert_int_equal(vmx_get(&vcpu, HVM_NMI_BLOCKED), 1);
	vmx_set(&vcpu, HVM_NMI_BLOCKED, 0);
	assert_int_equal(vmcs[0x4824], 0);
	vmx_vcpu_load(&vcpu);
	/* Long mode is active: the entry control "IA-32e mode guest" goes with it. */
	vmx_set(&vcpu, HVM_EFER, 0xd01);
	assert_int_equal(vmcs[0x2806], 0xd01);
	assert_int_equal(vmcs[0x4012], 0x204);
	vmx_set(&vcpu, HVM_EFER, 0x901);
	assert_int_equal(vmcs[0x4012], 4);
}

/* The guest reads what it wrote; the CPU runs with NE, VMXE and MCE on, and with its caches. */
static void test_shadowed(void **)
{
	vmx_vcpu_load(&vcpu);
	vmx_set(&vcpu, HVM_CR0, 0xe0000011);
	assert_int_equal(vmcs[0x6800], 0x80000031);
	assert_int_equal(vmx_get(&vcpu, HVM_CR0), 0xe0000011);
	vmx_set(&vcpu, HVM_CR4, 0x80);
	assert_int_equal(vmcs[0x6804], 0x20c0);
	assert_int_equal(vmx_get(&vcpu, HVM_CR4), 0x80);
}

/*
 * PAE paging: the directory pointers as they were checked (27.3.1.6); no write of a register reads
 * others from memory.
 */
static void test_directory_pointers(void **)
{
	vmx_vcpu_load(&vcpu);
	vmx_set_pdptes(&vcpu, (const u64[]){ 0x8001, 0x9001, 0, 0xb001 });
	vmx_set(&vcpu, HVM_CR3, 0x8000);
	vmx_set(&vcpu, HVM_CR4, 0x20);
	vmx_set(&vcpu, HVM_CR0, 0x80000011);
	vmx_set(&vcpu, HVM_CR4, 0xa0);
	assert_true(vmcs[0x280a] == 0x8001 && vmcs[0x280c] == 0x9001 && vmcs[0x280e] == 0 &&
		    vmcs[0x2810] == 0xb001);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(vmcs_writes[0x280a + 2 * i], 1);
}

static void test_segments(void **)
{
	struct segment s;

	for (enum seg seg = SEG_ES; seg < SEG_COUNT; seg++) {
		const struct segment in = { .selector = (u16)(0x10 + 8 * seg),
					    .attr = 0xa0f3,
					    .limit = 0xfffff000u + seg,
					    .base = 0xffff888000000000ull + seg };

		vmx_set_segment(&vcpu, seg, &in);
		/* ES, CS, SS, DS, FS, GS, LDTR, TR, two apart. */
		assert_int_equal(vmcs[0x0800 + 2 * seg], in.selector);
		assert_int_equal(vmcs[0x4814 + 2 * seg], in.attr);
		assert_int_equal(vmcs[0x4800 + 2 * seg], in.limit);
		assert_int_equal(vmcs[0x6806 + 2 * seg], in.base);
		vmx_get_segment(&vcpu, seg, &s);
		assert_true(s.selector == in.selector && s.attr == in.attr && s.limit == in.limit &&
			    s.base == in.base);
	}
	vmx_set_desc_table(&vcpu, false, &(struct desc_table){ 0xfffffe0000001000ull, 0x7f });
	vmx_set_desc_table(&vcpu, true, &(struct desc_table){ 0xfffffe0000000000ull, 0xfff });
	assert_true(vmcs[0x4810] == 0x7f && vmcs[0x6816] == 0xfffffe0000001000ull);
	assert_true(vmcs[0x4812] == 0xfff && vmcs[0x6818] == 0xfffffe0000000000ull);
}

/*
 * Interruptibility, activity state, pending debug exceptions and IA32_DEBUGCTL are none of the
 * registers.
 */
static void test_power_on(void **)
{
	static const unsigned other[] = { 0x4824, 0x4826, 0x6822, 0x2802 };

	for (unsigned i = 0; i < ARRAY_SIZE(other); i++)
		vmcs[other[i]] = 1;
	vmx_set_interruptibility(vmx_vcpu(&vcpu), 1);
	write_controls(&vcpu, vmx_vcpu(&vcpu)); /* the masks of CR0 and CR4 */
	assert_power_on(&vcpu);
	for (unsigned i = 0; i < ARRAY_SIZE(other); i++)
		assert_int_equal(vmcs[other[i]], 0);
	assert_true(vmx_vcpu(&vcpu)->rsp != vcpu.regs.gpr[GPR_RSP] &&
		    vmx_vcpu(&vcpu)->rflags != vcpu.regs.rflags);
}

/* What a CPU reads and writes at each exit is on its own NUMA node. */
static void test_near(void **)
{
	unsigned before = fake_host.pages_in_use;
	struct vcpu other = { .vm = &parts.vm, .cpu = 1 };

	fake_host.nr_cpus = 2;
	fake_host.cpus[1].node = 3;
	assert_int_equal(vmx_vcpu_create(&other), 0);
	assert_int_equal(fake_host.pages_on[3], fake_host.pages_in_use - before);
	vmx_vcpu_destroy(&other);
	assert_int_equal(fake_host.pages_in_use, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_near, setup, teardown),
		cmocka_unit_test_setup_teardown(test_create, setup, teardown),
		cmocka_unit_test_setup_teardown(test_load, setup, teardown),
		cmocka_unit_test_setup_teardown(test_direct, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bus_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_permissions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shadowed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directory_pointers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_segments, setup, teardown),
		cmocka_unit_test_setup_teardown(test_power_on, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
