# SPDX-License-Identifier: GPL-2.0-only
"""Guests with several vCPUs: where each runs, and the interrupts it took, by its own report."""

import kernel_log
import margay_run


def per_cpu(run, name, cpus):
    """The counts of one line of /proc/interrupts."""
    line = run.lines(r"^margay-interrupts: +%s:" % name)
    assert len(line) == 1, line
    return [int(word) for word in line[0].split()[2:2 + cpus]]


def check_cpus(run, machine, node_cpus, where, ids):
    """where: host CPUs by vCPU; ids: APIC IDs of the host's CPUs."""
    count = len(where)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("margay-test: done")
    assert run.has_line(r"margay: CPUs: %d online of %d" % (node_cpus, node_cpus))
    assert run.facts["cpus"] == str(count)
    # Every pipe between neighbours carried all its lines.
    assert run.facts["lines"].split() == ["20000"]
    assert run.facts["workers"] == str(count)
    assert all(per_cpu(run, "LOC", count))
    assert all(per_cpu(run, "CAL", count)) and all(per_cpu(run, "RES", count))
    # The CPU that asks prints its own backtrace without an NMI.
    assert sum(1 for n in per_cpu(run, "NMI", count) if n == 1) == count - 1
    assert run.facts["backtraces"] == str(count)
    assert run.dmesg and not kernel_log.bad(run.dmesg, machine)
    # Where the hypervisor says it put them, and that each of them really ran.
    for vcpu, cpu in enumerate(where):
        assert run.has_line(r"vm0: vcpu%d: CPU %d, APIC ID %d.*" % (vcpu, cpu, ids[cpu]))
        assert run.has_line(r"vm0: vcpu%d: exits=[1-9]\d* .*" % vcpu)
