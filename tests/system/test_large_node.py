# SPDX-License-Identifier: GPL-2.0-only
"""The paper's machine: two nodes of six cores, a guest of 16 GiB over both. Needs as much free memory here. And nodes of more CPUs
than a word has bits.

All in the full tier: 64 CPUs take at most a tenth longer to start than 8, in instructions; 72 vCPUs with Linux on two sockets,
the paper's machine; `test_tiny.py` has one of 160 with a tiny guest. Locks are served in order: `test_spinlock.c`.
"""

import os
import re

import margay_run
import node
import numa
import pytest
import smp
import tiny

SMP = "12,sockets=2,cores=6,threads=1"


def free_gib():
    with open("/proc/meminfo", encoding="ascii") as f:
        return int(re.search(r"MemAvailable: +(\d+) kB", f.read())[1]) >> 20


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(free_gib() < 18, reason="fewer than 18 GiB of memory are free")
def test_two_nodes_of_six_cores_and_16_gib():
    """All of it in 1 GiB pages, sparse APIC IDs, what the guest sees as its machine's arguments say."""
    with numa.Machine(SMP, [numa.Node("0-5", "11G"), numa.Node("6-11", "9G")], {(0, 1): 21}) as machine:
        run = node.run_guest("large", "qemu", "margay.test=smp", vm={"cpus": "all", "memory": "16G"}, memory=machine.memory,
                             cpus=machine.cpus, extra=machine.arguments, timeout=1800)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.facts["cpus"] == "12"
    parts = re.findall(r"^vm0: memory: (\d+)M on node (\d): (?:0x)?([0-9a-f]+) is at", run.text, re.MULTILINE)
    sizes = {on: sum(int(size) for size, where, _ in parts if where == on) for on in "01"}
    assert sizes == {"0": 8192, "1": 8192}
    assert run.has_line(r"vm0: NPT: 16 1G, 0 2M, 0 4K leaves, \d+ tables")
    for cpu in range(12):
        assert run.has_line(r"vm0: vcpu%d: CPU %d, APIC ID %d, node %d" % (cpu, cpu, cpu if cpu < 6 else cpu + 2, cpu // 6))
    for number, (cpus, distances) in enumerate((("0-5", "10 21"), ("6-11", "21 10"))):
        line = run.lines(r"^margay-test: nodes: %d: cpus %s distance %s \d+ MiB" % (number, cpus, distances))
        assert len(line) == 1 and 7800 < int(line[0].split()[-2]) <= 8192


@pytest.mark.full
@pytest.mark.slow
def test_72_vcpus():
    """Linux, on two sockets: each runs, is interrupted, and has a say in a backtrace of all."""
    run = node.run_guest("smp-72", "qemu", "margay.test=smp", vm={"cpus": "all", "memory": "2G"}, memory="3G",
                         cpus="72,sockets=2,cores=36,threads=1", timeout=3000)
    # By 36 cores in a socket the second one's IDs begin at 64.
    smp.check_cpus(run, "qemu", 72, list(range(72)), [*range(36), *range(64, 100)])


def start_ms(cpus):
    """From the boot CPU's local APIC to the last CPU's answer, by a clock that counts instructions: a million are a millisecond."""
    run = tiny.run("start-%d" % cpus, "qemu", [tiny.Guest("ports", "qemu")], cpus, extra=["-icount", "shift=0,sleep=off"])
    assert run.outcome.status == margay_run.OK, run.outcome.text
    with open(os.path.join(node.LOGS, "start-%d-qemu.log" % cpus), encoding="utf-8", errors="replace") as f:
        text = f.read()
    first, last = (re.search(r"\[ *(\d+)\.(\d{3})\] margay: " + line, text) for line in
                   ("CPU 0: APIC ID 0", "CPUs: %d online of %d" % (cpus, cpus)))
    return int(last[1] + last[2]) - int(first[1] + first[2])


@pytest.mark.full
@pytest.mark.slow
def test_all_cpus_start_at_once():
    """What the hypervisor waits for, it waits for of all: 64 CPUs take at most a tenth longer than 8. The log's times are whole
    milliseconds, so their difference may be one more."""
    few, many = start_ms(8), start_ms(64)
    assert 10 <= few and many <= few * 1.1 + 1, (few, many)
