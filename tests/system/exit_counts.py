# SPDX-License-Identifier: GPL-2.0-only
"""Two guests of which one makes so many exits more, and their counts by telemetry."""

import re

# Of one guest, and what another does more.
FEW, MORE = 100, 5000


def counts_of(run, vm):
    """{reason: how many} of the line that the VM's one vCPU leaves."""
    line = re.findall(r"^%s: vcpu0: (exits=.*)$" % vm, run.text, re.MULTILINE)
    assert len(line) == 1, run.text[-4000:]
    return {reason: int(n) for reason, n in re.findall(r"([a-z0-9-]+)=(\d+)", line[0])}


def by_guest(counts):
    """Exits that the guest itself makes: not the machine's timer, nor kicks."""
    return counts["exits"] - sum(counts.get(reason, 0) for reason in ("extint", "nmi"))


def vms_of(machine, key="", after=None):
    """Two VM files, behind the VM `after`."""
    base = "kernel = cpuid_all\nmemory = 32M\ntopology = flat\ndebug_exit = yes\n" + key
    few = "after = %s\n" % after if after else ""
    return {
        "few.conf": "name = few\n%scmdline = machine=%s cpus=1 cpuids=%d\n%s" % (base, machine, FEW, few),
        "many.conf": "name = many\n%scmdline = machine=%s cpus=1 cpuids=%d\nafter = few\non_end = poweroff_node\n"
                     % (base, machine, FEW + MORE),
    }
