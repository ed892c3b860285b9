#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Where this kernel is entered for interrupts, of devices, spurious ones, and one entry for each of its own; and for page
# faults.
names='common_interrupt\|spurious_interrupt\|sysvec_[a-z_0-9]*'
sed -n "s/^\([0-9a-f]*\) [tT] asm_\($names\)$/margay-test: entry: interrupt \1/p" /proc/kallsyms
sed -n "s/^\([0-9a-f]*\) [tT] asm_exc_page_fault$/margay-test: entry: page-fault \1/p" /proc/kallsyms
echo "margay-test: done"
poweroff -f
