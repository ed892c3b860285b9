#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# What the walks of page tables are counted of: random updates of 64 MiB, then hpcc; with huge pages as margay.huge= says (Linux
# takes none from its command line where there is so little memory).
sed -n 's/.*margay\.huge=\([a-z]*\).*/\1/p' /proc/cmdline > /sys/kernel/mm/transparent_hugepage/enabled || poweroff -f
loops memory || poweroff -f
. /tests/hpcc
