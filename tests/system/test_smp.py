# SPDX-License-Identifier: GPL-2.0-only
"""Guests with several vCPUs: all come up by INIT and SIPI, take timer
interrupts, IPIs and NMIs, and run on the CPUs that the VM file names.
"""

import os
import re
import subprocess

import margay_run
import node
import numa
import pytest
import smp

SHAPES = [
    # machine, CPUs of the node, `cpus =` of the VM file, host CPUs expected by vCPU
    pytest.param("qemu", 4, "4", [0, 1, 2, 3]),
    pytest.param("qemu", 4, "2-3,1", [2, 3, 1]),
    pytest.param("qemu", 12, "12", list(range(12)), marks=pytest.mark.full),
    pytest.param("bochs", 2, "2", [0, 1], marks=pytest.mark.slow),
    *(pytest.param(machine, 2, "2", [0, 1], marks=[pytest.mark.slow, pytest.mark.full]) for machine in node.NESTED),
]


def check_two_nodes(run):
    """The guest has both nodes, its memory in equal parts on them, by what it is told and by what it takes it for."""
    share = int(node.GUEST_MEMORY["bochs"][:-1]) // 2
    parts = re.findall(r"^vm0: memory: (\d+)M on node (\d): \S+ is at (0x[0-9a-f]+)$", run.text, re.MULTILINE)
    assert [(int(size), int(on)) for size, on, _ in parts] == [(share, 0), (share, 1)]
    assert [int(hpa, 16) >= 512 << 20 for _, _, hpa in parts] == [False, True]
    for cpu, distances in enumerate(("10 17", "17 10")):
        assert run.has_line(r"vm0: vcpu%d: CPU %d, APIC ID %d, node %d" % (cpu, cpu, cpu, cpu))
        line = run.lines(r"^margay-test: nodes: %d: cpus %d distance %s \d+ MiB" % (cpu, cpu, distances))
        assert len(line) == 1 and share * 0.5 < int(line[0].split()[-2]) <= share


def image_kib():
    """What the image takes in memory, by its symbols, in whole pages."""
    text = subprocess.run(["nm", os.path.join(node.BUILD, "margay.elf")], capture_output=True, text=True, check=True).stdout
    start, end = (int(re.search(r"^(\w+) \w image_%s$" % which, text, re.MULTILINE)[1], 16) for which in ("start", "end"))
    return (end - start + 4095) // 4096 * 4


def check_budget(run, machine, node_cpus, vcpus):
    """What the hypervisor keeps: at most 4 MiB with 4 CPUs, 48 KiB and 36 KiB per vCPU for a VM; the boot modules apart."""
    own = re.search(r"^margay: own memory: image (\d+) KiB, page tables (\d+) KiB, (\d+) CPUs (\d+) KiB, other (\d+) KiB; "
                    r"held in all (\d+) KiB; boot modules (\d+) KiB apart$", run.text, re.MULTILINE)
    image, tables, cpus, per_cpu_kib, other, held, modules = (int(n) for n in own.groups())
    files = sum(os.path.getsize(node.guest_file(name)) for name in (node.KERNEL, "initrd"))
    assert image == image_kib() and files <= modules << 10 < files + (2 << 20)
    assert cpus == node_cpus and image + tables + per_cpu_kib + other < held
    if node_cpus == 4:
        assert held <= 4096
    vm = re.search(r"^vm0: own memory: (\d+) KiB, and (\d+) KiB of tables$", run.text, re.MULTILINE)
    assert 0 < int(vm[1]) <= 48 + 36 * vcpus and int(vm[2]) >= 12


def check(run, machine, node_cpus, where, ids):
    smp.check_cpus(run, machine, node_cpus, where, ids)
    check_budget(run, machine, node_cpus, len(where))
    if machine == "bochs":
        check_two_nodes(run)


# By the wall's clock Linux once found its CPUs locked up on a busy build host. Not for guests that wait for one another's CPU in
# loops, as tiny ones do: a time slice of the host's is ten times as many instructions then.
BY_INSTRUCTIONS = {"nested-svm": {"host": ["-icount", "shift=0,sleep=off"]}}


@pytest.mark.parametrize("machine, node_cpus, cpus, where", SHAPES)
def test_vcpus(machine, node_cpus, cpus, where):
    run = node.run_guest("smp-" + cpus.replace(",", "_"), machine, "margay.test=smp", vm={"cpus": cpus}, cpus=node_cpus,
                         acpi=numa.BOCHS_NODES if machine == "bochs" else (), **BY_INSTRUCTIONS.get(machine, {}))
    check(run, machine, node_cpus, where, range(node_cpus))


@pytest.mark.full
@pytest.mark.slow
def test_second_judge_of_svm():
    """To userspace and back on Bochs' SVM. More of it failed there (docs/testing.md)."""
    run = node.run_guest("smp-boot", node.BOCHS_SVM, "margay.test=end margay.end=poweroff", vm={"cpus": "2"}, cpus=2)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    for cpu in range(2):
        assert run.has_line(r"vm0: vcpu%d: CPU %d, APIC ID %d.*" % (cpu, cpu, cpu))
        assert run.has_line(r"vm0: vcpu%d: exits=[1-9]\d* .*" % cpu)


def test_sparse_and_wide_apic_ids():
    """IDs with holes, and beyond what xAPIC mode and MADT type 0 can name."""
    ids = [0, 5, 254, 256, 287]
    extra = [word for i in ids[1:] for word in ("-device", "max-x86_64-cpu,socket-id=%d,core-id=0,thread-id=0" % i)]
    run = node.run_guest("smp-wide", "qemu", "margay.test=smp", vm={"cpus": "4-4,1-3"},
                         cpus="1,maxcpus=288,sockets=288,cores=1", extra=extra)
    assert run.has_line(r"margay: CPU 0: APIC ID 0, x2APIC, .*")
    check(run, "qemu", len(ids), [4, 1, 2, 3], ids)
