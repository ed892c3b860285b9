# SPDX-License-Identifier: GPL-2.0-only
"""A firmware that has left VT-d on: translation that lets nothing through, interrupt remapping, a queue, a fault that nobody took;
and memory that it wants for a function (RMRR). A program of ours (first_stage.c) does that and then enters Margay."""

import os
import re
import subprocess

import node
import pytest
import qemu_monitor
import test_iommu as iommu
import test_pci_hostile as pci_hostile
import test_remapping as remapping
import tiny

RTADDR, IRTA, KEPT = 0xfed90020, 0xfed900b8, 0x9f000


@pytest.fixture(scope="module", name="stage")
def fixture_stage(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("stage") / "first_stage.elf")
    source = os.path.join(os.path.dirname(__file__), "first_stage.c")
    subprocess.run(["gcc", "-m32", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-pie", "-no-pie",
                    "-fno-stack-protector", "-mno-sse", "-nostdlib", "-static",
                    "-Wl,-Ttext=0x8000000,--build-id=none,-z,norelro,-z,noexecstack", "-o", path, source], check=True)
    return path


def entry(monitor, table, n):
    low, high = monitor.words((table & ~0xfff) + n * 8, 2)
    return high << 32 | low


def reaches(monitor, devfn, at):
    """Where an address of a function's leads, by the unit's own tables; None: nowhere."""
    table = entry(monitor, entry(monitor, entry_register(monitor, RTADDR), 0), devfn * 2)
    if not table & 1:
        return None
    for shift in 39, 30, 21, 12:
        table = entry(monitor, table, at >> shift & 511)
        if not table & 3:
            return None
        if table & 0x80 or shift == 12:
            return (table & ~0xfff & (1 << 48) - (1 << shift)) | (at & (1 << shift) - 1)
    raise AssertionError


def entry_register(monitor, at):
    low, high = monitor.words(at, 2)
    return high << 32 | low


def boot(name, folder, stage, image, dma, words=""):
    """edu is a VM's, whose guest has it write within its memory and beside it. What it found and said; what others looked at."""
    text = tiny.Guest("rogue", "qemu").vm(last=True) + "dma = %s\n" % dma
    text = text.replace("cmdline = ", "cmdline = at=%d read=%d " % (iommu.AT, iommu.READ))
    other = tiny.Guest("hypercall", "qemu").vm().replace("name = hypercall", "name = other")
    other += "pci = 00:0a.0\ndma = %s\n" % dma
    # Tiny guests with the host's addresses want those from 4 MiB on, which a larger module would have.
    stripped = os.path.join(str(folder), "margay")
    subprocess.run(["strip", "-o", stripped, image], check=True)
    vms = {"other.conf": other, "rogue.conf": text} if dma == "iommu" else {"rogue.conf": text}
    iso = node.margay_iso(name, vms, {"rogue": tiny.elf("rogue"), "hypercall": tiny.elf("hypercall"), "margay": stripped}, words,
                          elf=stage, check=False)
    extra = remapping.WIDE + pci_hostile.EDU + ["-device", "e1000e,addr=a"] + qemu_monitor.arguments(folder)
    seen = {}
    with node.start(name, "qemu", iso, memory="256M", timeout=60, extra=extra) as running:
        running.expect(r"^rogue: wrote\r?$", 40)
        monitor = qemu_monitor.Monitor(folder)
        seen["status"] = monitor.words(remapping.STATUS, 1)[0]
        seen["irta"] = entry_register(monitor, IRTA)
        seen["landed"] = iommu.PATTERN in monitor.memory(iommu.AT, 4096)
        if seen["status"] & remapping.TRANSLATES:
            seen["kept"] = [reaches(monitor, devfn, KEPT) for devfn in (0x50, 0x48, 0x08)]
            seen["beside"] = [reaches(monitor, 0x50, at) for at in (0, KEPT - 0x1000, KEPT + 0x1000)]
        running.send("x")
        run = node.Run(running, running.wait())
    assert run.has_line("first stage: all is on")
    return seen, run


def test_taken_over(tmp_path, stage):
    """The tables are ours, nothing of the firmware's is told to us; the function that it wants memory for has that, and is no
    VM's."""
    seen, run = boot("first-stage", tmp_path, stage, iommu.image(), "iommu")
    assert run.has_line(iommu.ON)
    assert run.has_line("rogue: end=exit status=0"), run.text[-4000:]
    assert seen["status"] & (remapping.TRANSLATES | remapping.REMAPS | remapping.OLD_FORMAT) == (
        remapping.TRANSLATES | remapping.REMAPS)
    assert not seen["landed"]
    # Only what its own guest has it do, none of the one that was there before.
    assert iommu.blocked(run) == ["margay: iommu: 00:09.0, of rogue: DMA blocked: writes to %#x, reason 5" % iommu.AT,
                                  "margay: iommu: 00:09.0, of rogue: DMA blocked: reads from %#x, reason 6" % iommu.READ]
    assert seen["kept"] == [KEPT, seen["kept"][1], None] and seen["kept"][1] != KEPT
    assert seen["beside"] == [None, None, None]
    assert run.has_line(r"other: other\.conf:\d+: pci: 00:0a\.0 cannot be passed through: the firmware uses it too, by memory "
                        r"reserved for it \(RMRR, IVMD\)"), run.text[-4000:]


def test_switched_off(tmp_path, stage):
    seen, run = boot("first-stage-off", tmp_path, stage, iommu.image(), "identity", "iommu=off")
    assert run.has_line("margay: iommu: off by the command line: DMA is not contained")
    assert run.has_line("rogue: end=exit status=0"), run.text[-4000:]
    assert not seen["status"] & (remapping.TRANSLATES | remapping.REMAPS)
    assert seen["landed"]


def test_control(tmp_path, stage):
    """An image that knows nothing of IOMMUs leaves all on: no device reaches its VM's memory."""
    seen, run = boot("first-stage-control", tmp_path, stage, os.path.join(node.BUILD, "margay.elf"), "identity")
    assert seen["status"] & (remapping.TRANSLATES | remapping.REMAPS) == remapping.TRANSLATES | remapping.REMAPS
    assert run.has_line("tiny: failed: .*the device does not write.*"), run.text[-4000:]
    assert run.has_line("rogue: end=exit status=1")
    assert not re.search("DMA blocked", run.text) and not seen["landed"]
