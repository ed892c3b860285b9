# SPDX-License-Identifier: GPL-2.0-only
"""VT-d, which QEMU emulates: unmodified guests with memory anywhere, by checksums, and a function that writes where its VM has
no memory.

On QEMU's VT-d, behind SVM: nvme by `dma = iommu`, `identity` and `window`, with Debian's kernel as it is, and with
caching mode, by checksums; VMs that end under DMA; `edu` as a rogue whose writes and reads outside of its VM's memory
are blocked, named, and after eight silent: what is in memory then says QEMU, and that the same guest has written and
read it all without VT-d, or with `iommu=off`, is the control.

The registers' order, tables as a unit sees them, units that lie or stop, and what a firmware left on: `test_vtd.c`,
on a unit of its own making; which functions are whose, RMRRs, faults: `test_iommu.c`; VMs: `test_pci_root.c`.

`elastic`: a page leaves a VM that runs while `edu` writes to it and a CPU reads it; what arrives after that is
blocked, also in caching mode, and the same write lands where the unit is not told. By `dma = window`:
`test_shootdown.c`.

VT-d together with VT-x: nvme with MSI-X on `nested-vtx` (`test_nested.py`), full tier.
"""

import re
import struct

import edu_device
import iommu
import margay_run
import node
import numa
import passthrough
import pytest
import tiers
import tiny


@pytest.mark.parametrize("dma, unit", [
    ("iommu", "plain"), ("window", "caching"), tiers.full("auto", "caching"), tiers.full("identity", "plain")])
def test_disk(dma, unit):
    """What the guest reads and writes is what the file behind the disk has; Debian's kernel and driver as they are."""
    arguments, drivers, disk, _ = passthrough.DEVICES["nvme"]
    name = "iommu-%s-%s" % (dma, unit)
    file = passthrough.make_disk(name)
    before = passthrough.sha256(file)
    done = passthrough.run(
        name, iommu.UNIT[unit] + ["-drive", "if=none,id=data,format=raw,file=" + file] + arguments,
        {"pci": "00:06.0", "cpus": "2", "memory_map": None, "dma": dma},
        "margay.test=pci margay.drivers=%s margay.disk=%s margay.guest=yes" % (drivers, disk),
    )
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(iommu.ON)
    assert done.facts["sum"].split()[0] == before
    assert done.facts["read"].split()[0] == done.facts["wrote"].split()[0]
    assert passthrough.sha256(file, 4 << 20) == done.facts["wrote"].split()[0]
    assert done.lines("DMA blocked") == []
    # From 0 on, and not at the host's 0; or where the host has it.
    guest, host = re.search(r"^vm0: memory: .*: (\S+) is at (\S+)$", done.text, re.M).groups()
    assert guest == "0" and host != "0" if dma != "identity" else any(
        at == to for at, to in re.findall(r"^vm0: memory: .*: (\S+) is at (\S+)$", done.text, re.M))


@pytest.mark.parametrize("dma", ["iommu", "identity", tiers.full("window")])
def test_rogue(tmp_path, dma):
    """It neither writes nor reads there, and one line each says who it was."""
    landed, read, run = iommu.rogue("iommu-rogue-" + dma, tmp_path, dma, iommu.UNIT["caching"])
    assert not landed and read != iommu.SECRET
    assert run.has_line(iommu.ON)
    assert iommu.blocked(run) == ["margay: iommu: 00:09.0, of rogue: DMA blocked: writes to %#x, reason 5" % iommu.AT,
                                  "margay: iommu: 00:09.0, of rogue: DMA blocked: reads from %#x, reason 6" % iommu.READ]


@pytest.mark.parametrize("how", ["none", "off"])
def test_rogue_control(tmp_path, how):
    """Without an IOMMU, or with one that is not used, the same guest has written and read."""
    landed, read, run = iommu.rogue("iommu-rogue-" + how, tmp_path, "identity", iommu.UNIT["caching"] if how == "off" else [],
                                    words="iommu=off" if how == "off" else "")
    assert landed and read == iommu.SECRET
    assert iommu.blocked(run) == []
    assert run.has_line("margay: iommu: off by the command line: DMA is not contained") == (how == "off")


def test_rogue_storm(tmp_path):
    """Of many only the first are told."""
    _, _, run = iommu.rogue("iommu-rogue-storm", tmp_path, "iommu", iommu.UNIT["plain"], times=12)
    assert len(iommu.blocked(run)) == 8 and iommu.blocked(run)[-1].endswith("; more of it is not reported"), iommu.blocked(run)


@pytest.mark.parametrize("dma", ["iommu", tiers.full("identity")])
def test_taken_over(dma):
    """VMs end, by themselves and by a triple fault, while the device writes to their memory; the next VM has both."""
    run = edu_device.kill_under_dma("iommu-kill-" + dma, 3, extra=iommu.UNIT["caching"],
                                    change=("memory_map = identity", "dma = " + dma))
    edu_device.check_killed(run, 3)
    assert iommu.blocked(run) == []


@pytest.mark.parametrize("dma, own, gib", [
    ("iommu", True, 64), ("identity", True, 64), ("window", True, 64), ("iommu", False, 64), ("window", False, 64),
    ("iommu", True, 256)])
def test_registers_of_others(tmp_path, dma, own, gib):
    """A function writes to the registers of another of its VM's, 64 or 256 GiB of them; and not to those of another VM's."""
    name = "iommu-p2p-%s-%s-%d" % (dma, "own" if own else "others", gib)
    at, landed, run = iommu.registers_of_others(name, tmp_path, dma, own, gib, iommu.UNIT["caching"])
    assert run.has_line(iommu.ON) and landed == own
    assert iommu.blocked(run) == ([] if own else ["margay: iommu: 00:09.0, of p2p: DMA blocked: writes to %#x, reason 5" % at])


# Where the page was, in turn.
PLACES = (0xd0000000, 0xd0201000)


@pytest.mark.parametrize("dma, unit", [("iommu", "plain"), tiers.full("iommu", "caching"), ("identity", "caching")])
def test_elastic(dma, unit):
    """What arrives after the page was taken is blocked, and one line each says so; what is given is reached."""
    run = iommu.elastic("iommu-elastic-%s-%s" % (dma, unit), dma, iommu.UNIT[unit], "times=4 ")
    assert run.has_line(iommu.ON)
    assert iommu.blocked(run) == [
        "margay: iommu: 00:09.0, of elastic: DMA blocked: writes to %#x, reason 5" % at for at in PLACES * 2]


def test_elastic_control():
    """Where the unit is not told it goes on with what it knew: the same write lands in the page that was taken."""
    run = iommu.elastic("iommu-elastic-control", "iommu", iommu.UNIT["plain"], "control=1 ")
    assert run.has_line(iommu.ON) and iommu.blocked(run) == []


def drhd(base, flags, scopes=b""):
    """A remapping unit of a DMAR (VT-d 4.0, 8.3)."""
    return struct.pack("<HHBBHQ", 0, 16 + len(scopes), flags, 0, 0, base) + scopes


def test_lies():
    """A DMAR whose units are not there: a line each, nothing of the node is given to anyone, and the rest of the node works."""
    edu = struct.pack("<BBHBBBB", 1, 8, 0, 0, 0, 9, 0)
    units = drhd(0xfed90000, 0, edu) + drhd(0x1000000, 0, edu) + drhd(0xfed91000, 0) + drhd(0x7fffffffffff000, 1)
    table = numa.acpi_table(b"DMAR", 1, struct.pack("<BB10x", 38, 0) + units)
    guest = tiny.Guest("hypercall", "qemu")
    rogue = tiny.Guest("rogue", "qemu").vm() + "dma = iommu\n"
    iso = node.margay_iso("iommu-lies", {"rogue.conf": rogue, "hypercall.conf": guest.vm(last=True)},
                          {name: tiny.elf(name) for name in ("rogue", "hypercall")}, acpi=[table])
    with node.start("iommu-lies", "qemu", iso, memory="256M", timeout=60, extra=edu_device.EDU) as running:
        run = node.Run(running, running.wait())
    assert run.lines("iommu: the unit at ") == [
        "margay: iommu: the unit at %#x %s: its functions are given to no VM" % unit for unit in (
            (0xfed90000, "does not answer"), (0x1000000, "has its registers in memory"),
            (0xfed91000, "has no function by the firmware's table"), (0x7fffffffffff000, "has registers where none can be"))]
    assert run.has_line(r"rogue: rogue\.conf:\d+: pci: 00:09\.0 cannot be passed through: its IOMMU does not work"), run.text
    assert tiny.judge(guest, run.text) == [] and run.has_line("margay: node: end=poweroff vms=2 failed=1"), run.text[-4000:]


def test_none():
    """Where there is none and the operator has not chosen what needs none: one line, with file and line."""
    text = tiny.Guest("rogue", "qemu").vm(last=True)
    run = tiny.run("iommu-none", "qemu", None, 1, {"rogue.conf": text}, extra=edu_device.EDU)
    assert run.has_line(r"rogue: rogue\.conf:\d+: pci: the node has no IOMMU, none that Margay knows, or it is off "
                        r"\(iommu=off\): dma = identity or window needs none"), run.text[-2000:]
