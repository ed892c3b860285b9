# SPDX-License-Identifier: GPL-2.0-only
"""The order of orders. slurmctld starts a suspend and, a second later, may start a resume of the same node; which of them comes
to the node first nobody knows. So each order has the time at which slurmctld started its program, in the head's ticks since its
boot, which no clock's jump moves, and a node takes none that is older than the last. After a boot of the head none is left."""

import os
import time


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        return f.read().strip().replace("-", "")[:12]


def now():
    """Of an order that nobody started a program for: one that has waited for jobs must not be older than what came meanwhile."""
    return "%s.%d" % (boot_id(), int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")))


def own():
    """BOOT.TICKS of this process."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    # proc(5): the 22nd of all, and ")" ends the second.
    return "%s.%d" % (boot_id(), int(fields[22 - 3]))


def parse(text):
    boot, dot, ticks = text.partition(".")
    if not dot or not boot.isalnum() or not ticks.isdigit():
        raise ValueError("%.60s: is no generation" % text)
    return boot, int(ticks)


def is_late(order, last):
    """Whether an order is older than the last that was carried out."""
    if last is None:
        return False
    boot, ticks = parse(order)
    last_boot, last_ticks = parse(last)
    return boot == last_boot and ticks < last_ticks
