/* SPDX-License-Identifier: GPL-2.0-only */
/* The vCPU's own side of INIT and SIPI. */
#ifndef VMM_STARTUP_H
#define VMM_STARTUP_H

#include "vmm/vm.h"

/*
 * One step of a vCPU whose startup is not STARTUP_RUN: carries out an INIT or a
 * SIPI, or sleeps until something new comes. On its own CPU, interrupts off.
 */
void startup_step(struct vcpu *vcpu);

#endif
