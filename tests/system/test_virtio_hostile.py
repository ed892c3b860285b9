# SPDX-License-Identifier: GPL-2.0-only
"""A virtio driver that breaks every rule (tests/guest/virtio_hostile.c), beside one that keeps them and must not notice: what it
reads is right, and it makes the exits that it counts itself, none more. And a module that four VMs read stands once in memory."""

import os
import re
import struct

import margay_run
import monitor_console
import node
import pytest
import qemu_monitor
import tiny

pytestmark = pytest.mark.xdist_group("virtio-hostile")

WORDS = (1 << 20) // 8
TIMEOUT = {"qemu": 100, "bochs": 500}
# Rounds of the witness's while the other one is at work, which without races, on Bochs, is over sooner.
LEAST = {"qemu": 20, "bochs": 10}


def pattern():
    """The module that both have as a disk: tests/guest/include/virtio.h has the same."""
    path = os.path.join(node.BUILD, "virtio", "pattern")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(struct.pack("<%dQ" % WORDS, *(((n + 1) * 0x9e3779b97f4a7c15 % 2**64) ^ n >> 3 for n in range(WORDS))))
    return path


def vm(name, machine, direct, cpus):
    """On these CPUs: the tiny guests' way to start others wants APIC IDs from 0 on."""
    guest = tiny.Guest(name, machine)
    text = guest.vm(direct=direct).replace("cpus = %d\n" % guest.cpus, "cpus = %s\n" % cpus)
    return text + "allow_smt_sharing = yes\n" * (machine == "bochs") + "on_end = poweroff_node\n" * (name == "virtio_witness")


def device_exits(run, vm_name):
    return int(re.search(r"^%s: vcpu0: exits=.* stage2=(\d+)" % vm_name, run.text, re.MULTILINE)[1])


@pytest.mark.parametrize("machine, direct", [
    ("qemu", False), ("qemu", True), pytest.param("bochs", False, marks=[pytest.mark.full, pytest.mark.slow])],
    ids=["qemu-emulated", "qemu-direct", "bochs-emulated"])
def test_beside_a_witness(machine, direct):
    name = "virtio-hostile" + "-direct" * direct
    # On Bochs with one CPU, without races.
    hostile_cpus = {"qemu": 2, "bochs": 1}[machine]
    vms = {"a.conf": vm("virtio_witness", machine, direct, "%d-%d" % (hostile_cpus, hostile_cpus)),
           "b.conf": vm("virtio_hostile", machine, direct, "0-%d" % (hostile_cpus - 1)).replace(
               " cpus=1 ", " cpus=%d " % hostile_cpus)}
    modules = {guest: tiny.elf(guest) for guest in ("virtio_witness", "virtio_hostile")}
    iso = node.margay_iso("%s-%s" % (name, machine), vms, {**modules, "pattern": pattern()}, "escape=none",
                          elf=node.variant("virtio", "VIRTIO=y"))
    with node.start(name, machine, iso, cpus=hostile_cpus + 1, memory="512M", timeout=TIMEOUT[machine]) as running:
        # Any one of its lines: the log of the other VM's start may cut the first. Two that end at once would do so, too.
        running.expect(r"^hvc of the witness \d+\r?$")
        running.expect("^virtio_hostile: end=")
        running.send("q")
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.text[-4000:]
    hostile, witness = run.of("virtio_hostile"), run.of_foreground("virtio_hostile")
    for name, of in ("virtio_hostile", hostile), ("virtio_witness", witness):
        guest = tiny.Guest(name, machine)
        guest.cpus = hostile_cpus if name == "virtio_hostile" else 1
        assert tiny.judge(guest, of.text) + tiny.judge_mode(guest, of.text, direct) == [], of.text[-4000:]
    # It was at work all the time, and says so; where another has cut its line it is not counted here.
    rounds, accesses = map(int, re.search(r"^witness: rounds=(\d+) accesses=(\d+)$", run.text, re.MULTILINE).groups())
    said = [int(n) for n in re.findall(r"^hvc of the witness (\d+)$", run.text, re.MULTILINE)]
    least = LEAST[machine]
    assert rounds > least and len(said) > rounds - least and said == sorted(set(said)) and said[-1] < rounds
    # However long it runs, none more but for some at its start.
    assert 0 <= device_exits(run, "virtio_witness") - accesses < 10, accesses
    # The log is not flooded: it is said once of each device.
    assert 1 <= len(run.lines(r"^virtio_hostile: virtio device \d: its driver broke a queue")) <= 3
    assert not run.lines("^virtio_witness: virtio device ")


def copies(ram, module):
    """Where all of it stands in one piece."""
    found, at = [], ram.find(module[:64])
    while at >= 0:
        if ram[at:at + len(module)] == module:
            found.append(at)
        at = ram.find(module[:64], at + 1)
    return found


@pytest.mark.full
@pytest.mark.parametrize("copy", [0, 1], ids=["shared", "control"])
def test_stands_once(tmp_path, copy):
    """Four VMs have read all of a disk; the machine's memory, by QEMU's monitor, has it once. The control: each has copied it to
    a scratch disk of its own."""
    path = pattern()
    with open(path, "rb") as f:
        module = f.read()
    total = 0
    for word in struct.unpack("<%dQ" % WORDS, module):
        total = (total * 31 + word) % 2**64
    name, vms = "virtio-once-%d" % copy, {}
    for n in range(4):
        text = vm("virtio_witness", "qemu", False, "%d-%d" % (n, n)).replace("cmdline = ", "cmdline = hold=1 copy=%d " % copy)
        vms["vm%d.conf" % n] = text.replace("name = virtio_witness", "name = vm%d" % n)
    iso = node.margay_iso(name + "-qemu", vms, {"virtio_witness": tiny.elf("virtio_witness"), "pattern": path},
                          elf=node.variant("virtio", "VIRTIO=y"))
    with node.start(name, "qemu", iso, cpus=4, memory="512M", timeout=TIMEOUT["qemu"],
                    extra=qemu_monitor.arguments(tmp_path)) as running:
        monitor_console.whole_lines(running)
        # In whatever order.
        for _ in range(4):
            running.expect(r"^\[vm\d\] witness: holds %x\r?$" % total)
        assert len(set(re.findall(r"^\[(vm\d)\] witness: holds ", running.text, re.MULTILINE))) == 4
        ram = qemu_monitor.Monitor(tmp_path).memory(0, 512 << 20)
    assert "tiny: failed" not in running.text
    assert len(copies(ram, module)) == 1 + 4 * copy
