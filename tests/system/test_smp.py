# SPDX-License-Identifier: GPL-2.0-only
"""Guests with several vCPUs: all come up by INIT and SIPI, take timer
interrupts, IPIs and NMIs, and run on the CPUs that the VM file names.
"""

import re

import margay_run
import node
import pytest

SHAPES = [
    # machine, CPUs of the node, `cpus =` of the VM file, host CPUs expected by vCPU
    pytest.param("qemu", 4, "4", [0, 1, 2, 3]),
    pytest.param("qemu", 4, "2-3,1", [2, 3, 1]),
    pytest.param("qemu", 12, "12", list(range(12)), marks=pytest.mark.full),
    pytest.param("bochs", 2, "2", [0, 1], marks=pytest.mark.slow),
]


def per_cpu(run, name, cpus):
    """The counts of one line of /proc/interrupts."""
    line = run.lines(r"^margay-interrupts: +%s:" % name)
    assert len(line) == 1, line
    return [int(word) for word in line[0].split()[2:2 + cpus]]


@pytest.mark.parametrize("machine, node_cpus, cpus, where", SHAPES)
def test_vcpus(machine, node_cpus, cpus, where):
    count = len(where)
    run = node.run_guest("smp-" + cpus.replace(",", "_"), machine, "margay.test=smp", vm={"cpus": cpus}, cpus=node_cpus)
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
    assert not [line for line in run.dmesg if re.search(r"soft lockup|rcu.*stall|do_boot_cpu failed|WARNING|BUG:", line)]
    # Where the hypervisor says it put them, and that each of them really ran.
    for vcpu, cpu in enumerate(where):
        assert run.has_line(r"vm0: vcpu%d: CPU %d, APIC ID %d.*" % (vcpu, cpu, cpu))
        assert run.has_line(r"vm0: vcpu%d: exits=[1-9]\d* .*" % vcpu)


def test_more_vcpus_than_cpus():
    iso = node.margay_iso(
        "smp-refused", {"vm0.conf": node.vm_text("qemu", "margay.test=end", cpus="2")},
        {"kernel": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd")},
    )
    with node.start("smp-refused", "qemu", iso) as running:
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.VM_FAILED, run.outcome.text
    assert run.has_line(r"vm0: vm0\.conf:\d+: cpus: the machine has 1, found 2")
    assert run.has_line("margay: node: end=idle vms=1 failed=1")
