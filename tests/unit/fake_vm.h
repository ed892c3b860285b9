/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A virtual machine without a backend, for device and loader tests: RAM, one
 * vCPU unless told otherwise, and the devices that are linked in; the test plays the guest. Stands
 * in for vmm/vm/vm.c and vmm/node/vcpu.c (do not link both).
 */
#ifndef TESTS_FAKE_VM_H
#define TESTS_FAKE_VM_H

#include "tests/unit/fake_host.h"
#include "vmm/vm.h"

/*
 * Of the next VM, set before it is made: the vCPUs' APIC IDs, one vCPU each (0: one of ID 0);
 * vm->direct.
 */
extern unsigned fake_vm_vcpus;
extern u32 fake_vm_apic_id[FAKE_CPUS];
extern struct vm_config fake_vm_config;
extern bool fake_vm_direct, fake_vm_ipi_direct, fake_vm_counters;

/*
 * A VM of `memory` bytes at GPA 0 (0: none) with all linked devices created and started. Fails the
 * test if one does.
 */
struct vm *fake_vm_create(u64 memory);
/*
 * Stops and destroys the devices and frees everything; a timer still armed, or with the last VM a
 * page kept, fails the test.
 */
void fake_vm_destroy(struct vm *vm);

/* The last INIT (STARTUP_INIT) or SIPI (STARTUP_SIPI | vector) that a local APIC took. */
extern u32 fake_startup;

/*
 * Guest accesses by vCPU 0, through the registered ranges; a port or address of nobody's reads
 * ones.
 */
u32 guest_in(struct vm *vm, u16 port, unsigned size);
void guest_out(struct vm *vm, u16 port, unsigned size, u32 value);
u64 guest_load(struct vm *vm, u64 addr, unsigned size);
void guest_store(struct vm *vm, u64 addr, unsigned size, u64 value);
/* 0, or -EFAULT for #GP, also when no device has that MSR. */
int guest_rdmsr(struct vm *vm, u32 msr, u64 *value);
int guest_wrmsr(struct vm *vm, u32 msr, u64 value);

#endif
