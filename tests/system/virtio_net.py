# SPDX-License-Identifier: GPL-2.0-only
"""What the hypervisor counted of a VM's virtual network interfaces, and what its guest complains of."""

import re


def counts(run, vm):
    """By interface, from the lines at the VM's end."""
    found = re.findall(r"^%s: net\d: sent=(\d+) large=(\d+) bytes=(\d+) received=(\d+) large=(\d+) bytes=(\d+) dropped=(\d+) "
                       r"bad=(\d+)$" % vm, run.text, re.MULTILINE)
    names = ("sent", "sent_large", "sent_bytes", "received", "received_large", "received_bytes", "dropped", "bad")
    return [dict(zip(names, map(int, line))) for line in found]


def complaints(run):
    """What the guests' kernels and scripts complain of, but for a clock or a timer that the emulator gave no time."""
    lines = run.lines("margay-err: |margay-test: failed: ")
    return [line for line in lines if not re.search("clocksource: Long readout interval|hrtimer: interrupt took", line)]
