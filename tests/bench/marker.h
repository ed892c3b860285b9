/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A marker in a program that is measured: a NOP with a displacement by which qemu_count.c knows it.
 */
#ifndef BENCH_MARKER_H
#define BENCH_MARKER_H

/* number: 0..255, a constant */
#define MARKER(number) asm volatile("nopl 0x59474d00 + %c0(%%rax)" : : "i"(number) : "memory")

/*
 * A marker without a number for Bochs, whose debugger can stop at it (bochs.py); any CPU exchanges
 * a register with itself.
 */
#define STOP() asm volatile("xchgw %%bx, %%bx" : : : "memory")

#endif
