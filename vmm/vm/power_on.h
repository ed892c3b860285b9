/* SPDX-License-Identifier: GPL-2.0-only */
/* A vCPU's registers as the CPU has them after power-on. */
#ifndef VMM_POWER_ON_H
#define VMM_POWER_ON_H

struct vcpu;

/*
 * Gives the vCPU all of guest_regs, the segments, tables and enum hvm_reg but TSC_AUX, which INIT
 * leaves alone, their power-on values, and lets the backend forget the rest. On its CPU, behind
 * hvm->vcpu_load().
 */
void vcpu_power_on(struct vcpu *vcpu);

#endif
