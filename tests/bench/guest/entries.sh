#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Where this kernel is entered for interrupts, of devices, spurious ones, and one entry for each of its own; and for page
# faults; and where it reads the registers of a local APIC that is in x2APIC mode; and
# for messages from one CPU to another, and for devices alone.
messages='sysvec_reschedule_ipi\|sysvec_call_function\(_single\)*'
names='common_interrupt\|spurious_interrupt\|sysvec_[a-z_0-9]*'
sed -n "s/^\([0-9a-f]*\) [tT] asm_\($names\)$/margay-test: entry: interrupt \1/p" /proc/kallsyms
sed -n "s/^\([0-9a-f]*\) [tT] asm_\($messages\)$/margay-test: entry: message \1/p" /proc/kallsyms
sed -n "s/^\([0-9a-f]*\) [tT] asm_common_interrupt$/margay-test: entry: device \1/p" /proc/kallsyms
sed -n "s/^\([0-9a-f]*\) [tT] asm_exc_page_fault$/margay-test: entry: page-fault \1/p" /proc/kallsyms
sed -n "s/^\([0-9a-f]*\) [tT] native_\(apic_msr_read\|read_msr\)$/margay-test: entry: x2apic-read \1/p" /proc/kallsyms
echo "margay-test: done"
poweroff -f
