/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses that may fault on some CPUs, made safe by the exception table
 * (arch/x86_64/cpu/safe.c): a fault becomes a return value.
 */
#ifndef ARCH_CPU_SAFE_H
#define ARCH_CPU_SAFE_H

#include <margay/types.h>

/* Reads an MSR. Returns 0, or -EFAULT (and *value = 0) when the CPU raises #GP. */
int rdmsr_safe(u32 msr, u64 *value);

/* Writes an MSR. Returns 0, or -EFAULT when the CPU raises #GP. */
int wrmsr_safe(u32 msr, u64 value);

/* Writes an extended control register. Returns 0, or -EFAULT when the CPU raises #GP or #UD. */
int xsetbv_safe(u32 xcr, u64 value);

/*
 * Aligned accesses of 1, 2, 4 or 8 bytes to device registers, for addresses that others have a say in. Where nothing is
 * mapped upcall_device_fault() is told, and a load returns ones.
 */
u64 mmio_read_safe(const volatile void *reg, unsigned size);
void mmio_write_safe(volatile void *reg, unsigned size, u64 value);

#endif
