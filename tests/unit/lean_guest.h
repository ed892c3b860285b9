/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest of the short way's tests, the same for both backends: leaf 2 is plain and leaf 1 is
 * not, port 0x3f9 and the MSRs 0x800 and 0x801 have a device, MMIO is what lean_mmio() of each test
 * says.
 */
#ifndef TESTS_UNIT_LEAN_GUEST_H
#define TESTS_UNIT_LEAN_GUEST_H

#include "vmm/emulate/lean.h"

static struct vm_parts parts;
static struct vcpu vcpu;
static u64 *guest_rax; /* where the backend has it */
static unsigned ports, mmio_len;
static gpa_t accessed;
static bool mmio_write;
static u64 device_msr;

void emulate_port(struct vcpu *v, u16 port, unsigned size, bool in, u64 *rax)
{
	assert_ptr_equal(v, &vcpu);
	assert_ptr_equal(rax, guest_rax);
	assert_true(port == 0x3f9 && size == 1 && in);
	*rax = 0x60;
	ports++;
}

unsigned lean_mmio(struct vcpu *v, gpa_t addr, bool write)
{
	assert_ptr_equal(v, &vcpu);
	assert_int_equal(v->regs.gpr[GPR_RAX], *guest_rax);
	accessed = addr;
	mmio_write = write;
	if (mmio_len && !write)
		v->regs.gpr[GPR_RAX] = 0x14;
	return mmio_len;
}

static int msr_read(void *dev, struct vcpu *, u32 msr, u64 *value)
{
	assert_ptr_equal(dev, &device_msr);
	*value = device_msr;
	return msr == 0x800 ? 0 : -1;
}

static int msr_write(void *, struct vcpu *v, u32 msr, u64 value)
{
	if (msr != 0x800 && msr != 0x801)
		return -1;
	device_msr = value;
	v->look = value == 7; /* as an interrupt to itself */
	return 0;
}

static void lean_guest_reset(void *hvm, u64 *rax)
{
	static const struct msr_ops ops = { .read = msr_read, .write = msr_write };
	static const struct pio_ops pio;
	struct vm_ranges *r = &parts.ranges;

	memset(&vcpu, 0, sizeof(vcpu));
	memset(&parts, 0, sizeof(parts));
	memset(parts.cpuid.basic_index, CPUID_NONE, sizeof(parts.cpuid.basic_index));
	memset(parts.cpuid.ext_index, CPUID_NONE, sizeof(parts.cpuid.ext_index));
	memset(r->pio_from, PIO_NONE, sizeof(r->pio_from));
	parts.cpuid.basic_index[2] = 1;
	parts.cpuid.basic_index[1] = 0; /* it depends on the vCPU */
	parts.cpuid.entry[1] =
		(struct cpuid_entry){ .plain = true,
				      .regs = { 0xaaaaaaaa, 0xbbbbbbbb, 0xcccccccc, 0xdddddddd } };
	r->msr[0] = (struct msr_range){ 0x10, 0x10, &ops, &device_msr };
	r->msr[1] = (struct msr_range){ 0x800, 0x8ff, &ops, &device_msr };
	r->nr_msr = 2;
	r->x2apic = &r->msr[1];
	r->pio[0] = (struct pio_range){ 0x3f8, 8, &pio, NULL };
	r->nr_pio = 1;
	r->pio_from[3] = 0;
	vcpu.vm = &parts.vm;
	vcpu.hvm = hvm;
	vcpu.retries = 9;
	vcpu.stats.next = 1;
	for (unsigned i = 0; i < GPR_COUNT; i++)
		vcpu.regs.gpr[i] = 0x1111111100000000ull | i;
	guest_rax = rax;
	*rax = vcpu.regs.gpr[GPR_RAX];
	ports = mmio_len = 0;
	accessed = gpa(0);
	device_msr = 0;
}

#endif
