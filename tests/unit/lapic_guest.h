/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VM with a software local APIC, and what a guest does to it: for the tests that play the guest.
 */
#ifndef TESTS_LAPIC_GUEST_H
#define TESTS_LAPIC_GUEST_H

#include <cmocka.h>

#include "tests/unit/fake_vm.h"
#include "vmm/dev/apic/lapic.h"
#include "vmm/vm/intc.h"
#include "vmm/guest_platform.h"

static struct vm *vm;
static struct vcpu *vcpu;

static inline int setup(void **)
{
	fake_host_reset();
	vm = fake_vm_create(0);
	vcpu = vm->vcpus[0];
	return 0;
}

static inline int teardown(void **)
{
	fake_vm_destroy(vm);
	return 0;
}

static inline u32 rd(u32 offset)
{
	return (u32)guest_load(vm, 0xfee00000 + offset, 4);
}

static inline void wr(u32 offset, u32 value)
{
	guest_store(vm, 0xfee00000 + offset, 4, value);
}

/* What a kernel does first: software enable with spurious vector 0xff. */
static inline void enable(void)
{
	wr(0xf0, 0x1ff);
}

static inline void go_x2apic(void)
{
	assert_int_equal(guest_wrmsr(vm, MSR_APIC_BASE,
				     0xfee00000 | APIC_BASE_EN | APIC_BASE_EXTD | APIC_BASE_BSP),
			 0);
}

static inline int pending(void)
{
	return vm->intc->pending(vcpu);
}

#endif
