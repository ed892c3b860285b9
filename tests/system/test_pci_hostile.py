# SPDX-License-Identifier: GPL-2.0-only
"""Guests that do with PCI functions what no driver does, and VMs that end while a device writes to their memory:
tiny guests on QEMU's devices, edu among them, which does DMA at a word and takes 100 ms for it.
"""

import os
import re

import margay_run
import node
import pytest
import test_passthrough as passthrough
import tiny

BUS_MASTER, NO_INTX = 1 << 2, 1 << 10  # of the command register
EDU = ["-device", "edu,addr=9,dma_mask=0xffffffff"]
# Each instruction is 4 ns: edu's 100 ms are so many in every run, and more than the node takes from one VM to the next.
ICOUNT = ["-icount", "shift=2,sleep=off"]


def kill_under_dma(name, pairs, words=""):
    """So often: a VM ends, by itself or by a triple fault, while edu writes to its memory; the next VM has that memory.
    words: more for the one that looks at it."""
    vms, before = {}, None
    guest = tiny.Guest("dma_flight", "qemu")
    for n in range(pairs):
        for role, more in ("victim", "triple=%d" % (n & 1)), ("checker", words):
            text = guest.vm(before, last=(n, role) == (pairs - 1, "checker"))
            before = "%s%d" % (role, n)
            vms[before + ".conf"] = text.replace("name = dma_flight", "name = " + before).replace(
                "cmdline = ", "cmdline = %s=1 %s " % (role, more))
    run = tiny.run(name, "qemu", None, 1, vms, extra=EDU + ICOUNT)
    # What was begun in one VM was due in the next.
    assert len(run.lines("^checker: under way at first: 1, after [0-9]+ looks: 0$")) == pairs, run.text[-4000:]
    return run


def check_killed(name, pairs):
    run = kill_under_dma(name, pairs)
    assert run.has_line("margay: node: end=poweroff vms=%d failed=%d" % (2 * pairs, pairs // 2)), run.text[-4000:]
    assert len(run.lines("^tiny: dma_flight: ok ")) == 2 * pairs, run.text[-4000:]


def test_killed_under_dma():
    check_killed("pci-kill", 10)


def test_killed_under_dma_control():
    """The next VM lets the device go on, and finds what it writes: at that address, in its memory."""
    run = kill_under_dma("pci-kill-control", 1, "master=1")
    assert len(run.lines("^tiny: dma_flight: ok ")) == 1, run.text[-4000:]
    assert run.has_line(r"tiny: failed: \d+ foreign writes .*") and run.has_line("checker0: end=exit status=1"), run.text[-4000:]


@pytest.mark.full
@pytest.mark.parametrize("part", range(14))
def test_killed_under_dma_often(part):
    check_killed("pci-kill-%d" % part, 15)


def test_random_configuration_space():
    """A guest that writes anything to every register, and moves BARs onto everything."""
    arguments = passthrough.DEVICES["nvme"][0]
    drive = ["-drive", "if=none,id=data,format=raw,file=" + passthrough.make_disk("pci-random")]
    guest = tiny.Guest("pci_random", "qemu")
    run = tiny.run("pci-random", "qemu", None, 1, {"pci_random.conf": guest.vm(last=True)}, extra=EDU + drive + arguments)
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    assert run.outcome.status == margay_run.OK, run.outcome.text


def test_nobodys_functions_are_quiet():
    """SeaBIOS leaves the controller of the disk that it has booted from a bus master; the hypervisor ends that, for good."""
    trace = os.path.join(node.LOGS, "pci-quiet.trace")
    guest = tiny.Guest("hypercall", "qemu")
    run = tiny.run("pci-quiet", "qemu", [guest], 1, extra=["-trace", "pci_cfg_write,file=" + trace])
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    with open(trace, encoding="ascii") as f:
        commands = [int(value, 16) for value in re.findall(r"pci_cfg_write \S+ 00:1f\.2 @0x4 <- (0x[0-9a-f]+)", f.read())]
    # Firmware never disables INTx: the first write that does is the hypervisor's last word.
    quiet = next(n for n, value in enumerate(commands) if value & NO_INTX)
    assert [value for value in commands[:quiet] if value & BUS_MASTER], commands
    assert not [value for value in commands[quiet:] if value & BUS_MASTER or not value & NO_INTX], commands
