# SPDX-License-Identifier: GPL-2.0-only
"""A VM's memory is zeroed before the VM gets it and after its end, by the CPUs of the memory's node together: seen in
the emulator's memory, which is full of something else before the machine starts, by a guest that looks, and by counting
what each CPU stores by the hypervisor's REP STOSQ.

The machine's memory is full of a pattern before it starts. Two VMs, one after the other, find theirs zero and fill it
(the tiny guest `ram`); at the end all that they had is zero, and what they had not is still the pattern; the plugin
counts that the CPUs of a node, both of them in turns, stored over 99 % of the zeros there, three times its size (the
second VM finds its memory zero still); also where the VMs have one CPU or none and nobody else has them. The control:
another VM has them.
"""

import os
import re
import subprocess

import margay_run
import node
import numa
import pytest
import tiny
from monitor_console import Console, vm as vm_on_a_console

SMP = "4,sockets=2,cores=2,threads=1"
NODES = [numa.Node("0-1", "512M"), numa.Node("2-3", "512M")]
BEFORE, FILLED = b"\xa5", b"\x5a"
MIB = 1 << 20


def filling_instructions():
    """Where the image has those that fill memory, by a word at a time: [start, end) of each."""
    text = subprocess.run(["objdump", "-d", "-M", "intel", os.path.join(node.BUILD, "margay.elf")], capture_output=True, text=True,
                          check=True).stdout
    found = [int(at, 16) for at in re.findall(r"^\s*(\w+):\s+f3 48 ab\s+rep stos ", text, re.MULTILINE)]
    return [(at, at + 3) for at in found]


def vm(name, cpus, leaf, after=None):
    text = "name = %s\nkernel = ram\ncpus = %s\nmemory = node0:256M, node1:256M\nleaf = %s\ndebug_exit = yes\n" % (name, cpus, leaf)
    return text + ("after = %s\non_end = poweroff_node\n" % after if after else "")


# Owns the CPUs of node 1 and never ends.
OTHER = {"other.conf": vm_on_a_console("other", "hang", cpus="2-3", memory="node1:32M")}


def run(name, cpus, leaf="1G", others=None):
    """Two VMs, one after the other, in the same memory: (Run, machine's counts, what its memory holds at the end by node).
    others: VM files; what runs all the time is stopped in the end."""
    with numa.Machine(SMP, NODES) as machine:
        for number, part in enumerate(NODES):
            with open(machine.path(number), "wb") as f:
                for _ in range(int(part.memory[:-1])):
                    f.write(BEFORE * MIB)
        files = dict(others or {}, **{"one.conf": vm("one", cpus, leaf), "two.conf": vm("two", cpus, leaf, "one")})
        iso = node.margay_iso(name, files, {n: tiny.elf(n) for n in ("ram", "behave")[:1 + bool(others)]})
        with node.start(name, "qemu", iso, memory=machine.memory, cpus=machine.cpus,
                        extra=machine.arguments + machine.count(*filling_instructions())) as running:
            if others:
                running.expect("^two: end=")
                console = Console(running)
                console.call()
                # Its end is the node's, which waits for no further command.
                running.send("vm stop other\r")
            done = node.Run(running, running.wait())
        assert done.outcome.status == margay_run.OK, done.outcome.text
        counted, turns = machine.counted()
        return done, counted, turns, check_memory(done, machine)


def check_memory(done, machine):
    """Each VM's memory is zero at the end, all of it. Returns how many MiB of each node nobody has written to."""
    for name in ("one", "two"):
        pieces = re.findall(r"^%s: memory: (\d+)M on node (\d): \S+ is at (?:0x)?([0-9a-f]+)$" % name, done.text, re.MULTILINE)
        assert sum(int(size) for size, _, _ in pieces) == 512 and {on for _, on, _ in pieces} == {"0", "1"}
        for size, _, base in pieces:
            for at in range(int(base, 16), int(base, 16) + int(size) * MIB, MIB):
                assert machine.read(at, MIB) == bytes(MIB), hex(at)
    left = []
    for number in range(len(NODES)):
        with open(machine.path(number), "rb") as f:
            left.append(sum(1 for piece in iter(lambda f=f: f.read(MIB), b"") if piece == BEFORE * MIB))
    return left


@pytest.mark.parametrize("cpus", ["all", "0-1", "0-0"])
def test_zeroed_by_the_cpus_of_its_node(cpus):
    """They are the VM's own, and on all its memory's nodes those that are nobody's; what the first VM has left zero is not stored
    again for the second."""
    done, counted, turns, left = run("zeroing-" + cpus, cpus)
    # Both found their memory zero, and filled it.
    assert re.findall(r"^tiny: ram: (ok|FAILED)", done.text, re.MULTILINE) == ["ok", "ok"]
    assert len(done.lines(r"^ram: filled up to 0x20000000")) == 2
    # The control: what no VM had is as it was.
    assert min(left) > 100
    for where, own in enumerate(((0, 1), (2, 3))):
        stored = {cpu: counted[cpu, where].stored_bytes if (cpu, where) in counted else 0 for cpu in range(4)}
        # Two VMs, before the first and after both; and little else, on whatever CPU.
        assert 3 * 256 * MIB <= sum(stored.values()) < 3 * 256 * MIB + 32 * MIB
        # Over 99 % of the zeros.
        here = sum(stored[cpu] for cpu in own)
        assert here >= 0.99 * 3 * 256 * MIB and sum(stored.values()) - here < 16 * MIB
        assert all(stored[cpu] >= 0.1 * sum(stored.values()) for cpu in own)
    # One after the other they would begin a page in turn once for each of 64 steps. On one CPU of the build host, which they
    # may have got between them, it is as often as its scheduler changes from one to the other.
    assert turns > 300


def test_control_without_a_cpu_there():
    """A VM without a CPU on one of its nodes, where another VM has them: the same counters see it zeroed from afar."""
    done, counted, _, left = run("zeroing-control", "0-1", leaf="4K", others=OTHER)
    assert done.has_line(r"one: NPT: 0 1G, 0 2M, %d 4K leaves, \d+ tables" % (512 * MIB // 4096))
    assert re.findall(r"^(?:\[one\] |\[two\] )?tiny: ram: (ok|FAILED)", done.text, re.MULTILINE) == ["ok", "ok"]
    assert min(left) > 100
    afar = sum(counted[cpu, 1].stored_bytes for cpu in (0, 1))
    assert afar >= 0.99 * 3 * 256 * MIB
