# SPDX-License-Identifier: GPL-2.0-only
"""Virtio drivers that break every rule (tests/guest/virtio_hostile.c: disks and a console; virtio_net_hostile.c: networks), each
beside one that keeps them and must not notice: what it reads is right, what it sends arrives, and it makes the exits that it counts
itself, none more. And a module that four VMs read stands once in memory.

A tiny guest (`virtio_hostile`) that breaks each rule by hand, and with a second CPU while the device reads, beside
one (`virtio_witness`) that keeps them: what that reads is right and its exits are those that it counts itself; with
either kind of local APIC on QEMU; on Bochs, without the second CPU, in the full tier.

The same of networks (`virtio_net_hostile`, `virtio_net_witness`, on one segment): requests that loop or are nowhere,
frames of another shape than their headers say, buffers that are too small, end with RAM or lie over the rings,
commands that are none, queues that there are not, the witness' addresses as its own, anything; with a second CPU what
changes while it is read. Each frame of the witness' arrives as it was sent, the hostile one finds nothing of them in
its memory, and counts what the hypervisor says was `dropped` and `bad`.

In the full tier, on QEMU: a module that four VMs have read stands once in the machine's memory, and five times where
each has copied it.
"""

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
NET_LEAST = {"qemu": 200, "bochs": 100}


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
    return text + "allow_smt_sharing = yes\n" * (machine == "bochs") + "on_end = poweroff_node\n" * name.endswith("witness")


def device_exits(run, vm_name):
    return int(re.search(r"^%s: vcpu0: exits=.* stage2=(\d+)" % vm_name, run.text, re.MULTILINE)[1])


def run_beside(name, witness, machine, direct, at_work, modules):
    """The hostile guest of that name beside the witness, until it has ended; what each said, the witness' exits, and its own
    count of them. at_work: a line of the witness'."""
    # On Bochs with one CPU, without races.
    hostile_cpus = {"qemu": 2, "bochs": 1}[machine]
    vms = {"a.conf": vm(witness, machine, direct, "%d-%d" % (hostile_cpus, hostile_cpus)),
           "b.conf": vm(name, machine, direct, "0-%d" % (hostile_cpus - 1)).replace(" cpus=1 ", " cpus=%d " % hostile_cpus)}
    log = name.replace("_", "-") + "-direct" * direct
    iso = node.margay_iso("%s-%s" % (log, machine), vms, {**{guest: tiny.elf(guest) for guest in (witness, name)}, **modules},
                          "escape=none")
    with node.start(log, machine, iso, cpus=hostile_cpus + 1, memory="512M", timeout=TIMEOUT[machine]) as running:
        # The log of the other VM's start may cut a line. Two that end at once would do so, too.
        running.expect(at_work)
        running.expect("^%s: end=" % name)
        running.send("q")
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.text[-4000:]
    of = {name: run.of(name), witness: run.of_foreground(name)}
    for one, said in of.items():
        guest = tiny.Guest(one, machine)
        guest.cpus = hostile_cpus if one == name else 1
        assert tiny.judge(guest, said.text) + tiny.judge_mode(guest, said.text, direct) == [], said.text[-4000:]
    # However long it runs, none more than it counts but for some at its start.
    counted = int(re.search(r"^witness: rounds=.* accesses=(\d+)$", run.text, re.MULTILINE)[1])
    assert 0 <= device_exits(run, witness) - counted < 10, counted
    assert not run.lines("^%s: virtio device " % witness)
    return run, of[name]


def check_log(run, vm_name):
    """A guest that breaks its queues again and again does not flood the log: sixteen lines, then one in ten seconds."""
    told = run.lines(r"^%s: virtio device \d: its driver broke a queue" % vm_name)
    seconds = float(re.search(r"^margay: clock: ([\d.]+) s since boot", run.text, re.MULTILINE)[1])
    assert 16 <= len(told) <= 16 + seconds / 10
    # The rest is counted: most rounds of it break none.
    assert run.unsaid(vm_name) > 20


@pytest.mark.parametrize("machine, direct", [
    ("qemu", False), ("qemu", True), pytest.param("bochs", False, marks=[pytest.mark.full, pytest.mark.slow])],
    ids=["qemu-emulated", "qemu-direct", "bochs-emulated"])
def test_beside_a_witness(machine, direct):
    run, hostile = run_beside("virtio_hostile", "virtio_witness", machine, direct, r"^hvc of the witness \d+\r?$",
                              {"pattern": pattern()})
    # It was at work all the time, and says so; where another has cut its line it is not counted here.
    rounds = int(re.search(r"^witness: rounds=(\d+) ", run.text, re.MULTILINE)[1])
    said = [int(n) for n in re.findall(r"^hvc of the witness (\d+)$", run.text, re.MULTILINE)]
    least = LEAST[machine]
    assert rounds > least and len(said) > rounds - least and said == sorted(set(said)) and said[-1] < rounds
    check_log(hostile, "virtio_hostile")


def counters(run, vm_name):
    """Of each interface: frames sent, received, dropped, and those that were none."""
    found = re.findall(r"^%s: net\d: sent=(\d+) .* received=(\d+) .* dropped=(\d+) bad=(\d+)$" % vm_name, run.text, re.MULTILINE)
    return [tuple(map(int, numbers)) for numbers in found]


@pytest.mark.parametrize("machine, direct", [
    ("qemu", False), pytest.param("qemu", True, marks=pytest.mark.full),
    pytest.param("bochs", False, marks=[pytest.mark.full, pytest.mark.slow])],
    ids=["qemu-emulated", "qemu-direct", "bochs-emulated"])
def test_frames_beside_a_witness(machine, direct):
    """On one segment."""
    run, hostile = run_beside("virtio_net_hostile", "virtio_net_witness", machine, direct, r"^(\[\w+\] )?witness: at work\r?$", {})
    rounds, lost, others = map(int, re.search(r"^witness: rounds=(\d+) lost=(\d+) others=(\d+) ", run.text, re.MULTILINE).groups())
    # Whatever the hostile one did, the witness' frames went over, but where that one had filled its buffers.
    assert rounds > NET_LEAST[machine] and others > 100
    (sent, got, dropped, bad), (sent_back, got_back, *_) = counters(run, "virtio_net_witness")
    assert sent == sent_back == rounds and not bad and got + got_back == 2 * rounds - lost + others
    # It was counted what is no frame, and what did not fit: as often as the hostile one has done it by hand.
    bad, lost = map(int, re.search(r"^hostile: bad=(\d+) dropped=(\d+)$", hostile.text, re.MULTILINE).groups())
    by_hand = counters(run, "virtio_net_hostile")[0]
    assert bad > 300 and lost >= 30 and by_hand[2:] == (lost, bad), (by_hand, bad, lost)
    check_log(hostile, "virtio_net_hostile")


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
    iso = node.margay_iso(name + "-qemu", vms, {"virtio_witness": tiny.elf("virtio_witness"), "pattern": path})
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
