# SPDX-License-Identifier: GPL-2.0-only
"""Functions that do what the IOMMU blocks again and again: what it costs the VM next to them, and what of them is left. How often
they do it is counted by QEMU's own trace.

On QEMU's VT-d: a million reads of descriptors that are blocked (e1000e; by QEMU's trace) and a million blocked
interrupts (`edu`) from one VM; the guest on the boot CPU has fewer than 100 NMIs by them, console included. The first
is in the full tier.

A unit of QEMU's notes nothing of a function while a fault of it is there to be seen: the guest leaves time between
the first rings.

On AMD-Vi a million tries of the same card: QEMU's unit notes all of them, for it does not know the bit by which it
should not, and sends a message for each; it is held and looked at once a second, and the NMIs are as few. That a unit
knows that bit, and a storm of interrupts, of which QEMU's AMD-Vi notes none: `test_amdvi.c` only. `on_fault` on both.
What is left of a full log after one look, and what was blocked before anybody listened: `test_iommu.c`.
"""

import os
import re

import amdvi
import edu_device
import iommu
import margay_run
import monitor_console
import node
import pytest
import qemu_monitor
import remapping
import tiny

TIMES = 1000000
AT = 0xa000000  # where no VM has memory
CARD = ["-device", "e1000e,addr=9"]
NOT_THERE = 0xfee00010 | 200 << 5  # the message of an entry that nobody has
# Of the witness, on the boot CPU, where units' NMIs arrive: the storm's, and those of the console's commands.
NMIS = 100
LOG = 8 + 256  # what a function may have in a unit's log before it is told to note no more of it


class Lines:
    """How many lines of these events QEMU writes; the file is as large as that and is removed."""

    def __init__(self, folder, *events):
        self.path = os.path.join(str(folder), "trace")
        events_file = os.path.join(str(folder), "events")
        with open(events_file, "w", encoding="ascii") as f:
            f.write("".join(event + "\n" for event in events))
        self.arguments = ["-trace", "events=%s,file=%s" % (events_file, self.path)]

    def count(self):
        with open(self.path, "rb") as f:
            found = sum(1 for line in f)
        os.remove(self.path)
        return found


def storm(folder, name, pci, extra, forge=False, words="", on=iommu.ON):
    """The flood on CPU 1, a guest that computes on CPU 0. What `pci` says of the flood's function, the witness' exits by the storm,
    the function's command register in the end, the run."""
    memory = remapping.Memory(folder)
    flood = tiny.Guest("flood", "qemu").vm() + "pci = %s\ndma = iommu\n" % pci
    flood = flood.replace("cpus = 1\n", "cpus = 1-1\n").replace("cmdline = ", "cmdline = at=%d times=%d " % (AT, TIMES))
    # The first has the serial line: whole lines of the other's then.
    vms = {"witness.conf": monitor_console.vm("witness", "hang", cpus="0-0"), "flood.conf": flood}
    iso = node.margay_iso(name, vms, {"flood": tiny.elf("flood"), "behave": tiny.elf("behave")}, words)
    with node.start(name, "qemu", iso, cpus=2, memory="512M", timeout=200,
                    extra=extra + memory.arguments + qemu_monitor.arguments(folder)) as running:
        cap = int(running.expect(r"^\[flood\] flood: capability at (\w+)\r?$")[1], 16)
        running.expect(r"^\[flood\] flood: ready\r?$")
        if forge:
            memory.write({0xb0048000 + cap + 4: NOT_THERE, 0xb0048000 + cap + 12: 0})
        console = monitor_console.Console(running)
        console.call()
        before = console.exits("witness")

        def step(key, what):
            running.send("vm console flood\r")
            running.expect(r"^Console of flood")
            running.send(key)
            running.expect(what, 150)
            console.call()

        step("x", r"done\r?$")  # lines of the log may stand within it
        after = console.exits("witness")
        step("x", r"again\r?$")
        told = "\n".join(console.answer("pci"))
        command = qemu_monitor.Monitor(folder).words(0xb0048004, 1)[0] & 0xffff
        step("x", r"^flood: end=exit status=0\r?\n")
        run = node.Run(running, console.end())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line(on)
    return told, {reason: after[reason] - before.get(reason, 0) for reason in after}, command, run


def function(told):
    return re.search(r"^0000:00:09\.0 .*\n(?: .*\n)*?    IOMMU: (.*)$", told, re.M)[1]


@pytest.mark.full
def test_dma(tmp_path):
    """
    Its unit notes no more of the function after eight; the function itself goes on, and fails for ever. QEMU's has one record, and
    puts what one function does until that has been read into one fault: flood.c leaves time between.
    """
    trace = Lines(tmp_path, "vtd_dmar_fault", "vtd_fault_disabled")
    told, exits, _, run = storm(tmp_path, "storm-dma", "00:09.0", iommu.UNIT["plain"] + CARD + trace.arguments)
    assert trace.count() >= TIMES
    assert exits["nmi"] <= NMIS, exits
    assert function(told) == "domain 1, dma = iommu; blocked: DMA 8, interrupts 0"
    assert len(iommu.blocked(run)) == 8 and iommu.blocked(run)[-1].endswith("; more of it is not reported"), iommu.blocked(run)
    assert run.has_line("flood: pci: 00:09.0: blocked-dma=8 blocked-interrupts=0")


def test_dma_amdvi(tmp_path):
    """
    QEMU's unit notes all of a function, though its entry says not to: each with a message, until its log of 255 is full. It is held
    then and looked at once a second. How many tries that second has is QEMU's speed.
    """
    trace = Lines(tmp_path, "amdvi_page_fault")
    told, exits, _, run = storm(tmp_path, "storm-amdvi", "00:09.0", amdvi.UNIT + CARD + trace.arguments, on=amdvi.ON)
    assert exits["nmi"] <= NMIS, exits
    found = re.fullmatch(r"domain 1, dma = iommu; blocked: DMA (\d+), interrupts 0", function(told))
    assert LOG < int(found[1]) <= trace.count(), told
    assert len(iommu.blocked(run)) == 8 and iommu.blocked(run)[-1].endswith("; more of it is not reported"), iommu.blocked(run)
    assert len(run.lines("tells of too much: it is looked at once a second")) == 1
    assert not run.lines("goes on with what is blocked")
    assert run.has_line("flood: pci: 00:09.0: blocked-dma=%s blocked-interrupts=0" % found[1])


def test_interrupts(tmp_path):
    """A unit would tell of each: the function is no bus master any more, whatever its guest writes."""
    told, exits, command, run = storm(tmp_path, "storm-irq", "00:09.0", remapping.WIDE + edu_device.EDU, True)
    assert exits["nmi"] <= NMIS, exits
    assert not command & edu_device.BUS_MASTER, command
    found = re.fullmatch(r"domain 1, dma = iommu; blocked: DMA 0, interrupts (\d+)", function(told))
    assert 8 <= int(found[1]) <= NMIS, told
    assert len(run.lines("interrupt blocked")) == 8, run.lines("blocked")
    assert len(run.lines("flood: pci: 00:09.0 goes on with what is blocked: it is silent until the VM starts")) == 1
    assert run.has_line("flood: pci: 00:09.0: blocked-dma=0 blocked-interrupts=%s" % found[1])


@pytest.mark.parametrize("follows, unit, on", [
    ("stop", iommu.UNIT["plain"], iommu.ON), ("restart", iommu.UNIT["plain"], iommu.ON), ("stop", amdvi.UNIT, amdvi.ON),
    ("restart", amdvi.UNIT, amdvi.ON)], ids=["stop", "restart", "stop-amdvi", "restart-amdvi"])
def test_on_fault(follows, unit, on):
    """The first access that is blocked ends the VM; the next one runs."""
    text = tiny.Guest("rogue", "qemu").vm() + "dma = iommu\non_fault = %s\nrestart_limit = 2 in 1h\n" % follows
    text = text.replace("cmdline = ", "cmdline = at=%d " % AT)
    guest = tiny.Guest("hypercall", "qemu")
    run = tiny.run("on-fault-%s-%s" % (follows, "amdvi" if unit == amdvi.UNIT else "vtd"), "qemu", None, 1,
                   {"rogue.conf": text, "hypercall.conf": guest.vm("rogue", last=True)}, extra=unit + edu_device.EDU)
    assert run.has_line(on)
    starts = 1 if follows == "stop" else 3
    assert len(run.lines("^rogue: end=blocked")) == starts, run.text[-4000:]
    assert len(run.lines("^rogue: restart ")) == starts - 1
    # QEMU's AMD-Vi notes one DMA as several events.
    most = starts if on == iommu.ON else 8 * starts
    assert starts <= len(iommu.blocked(run)) <= most, iommu.blocked(run)
    assert tiny.judge(guest, run.text) == [] and run.has_line("margay: node: end=poweroff vms=2 failed=1")
