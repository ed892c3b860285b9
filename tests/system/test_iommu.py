# SPDX-License-Identifier: GPL-2.0-only
"""VT-d, which QEMU emulates: unmodified guests with memory anywhere, by checksums, and a function that writes where its VM has
no memory."""

import re

import margay_run
import node
import pytest
import qemu_monitor
import test_passthrough as passthrough
import test_pci_hostile as pci_hostile
import tiny

# It comes before the devices that it stands in front of. With caching mode also what was not there must be invalidated.
UNIT = {"plain": ["-device", "intel-iommu"], "caching": ["-device", "intel-iommu,caching-mode=on"]}
ON = "margay: iommu: VT-d, 1 of 1 units in use: DMA contained, interrupts not"


def image():
    return node.variant("iommu", "IOMMU=y")


@pytest.mark.parametrize("dma, unit", [("iommu", "plain"), ("iommu", "caching"), ("identity", "plain")])
def test_disk(dma, unit):
    """What the guest reads and writes is what the file behind the disk has; Debian's kernel and driver as they are."""
    arguments, drivers, disk, _ = passthrough.DEVICES["nvme"]
    name = "iommu-%s-%s" % (dma, unit)
    file = passthrough.make_disk(name)
    before = passthrough.sha256(file)
    done = passthrough.run(
        name, UNIT[unit] + ["-drive", "if=none,id=data,format=raw,file=" + file] + arguments,
        {"pci": "00:06.0", "cpus": "2", "memory_map": None, "dma": dma},
        "margay.test=pci margay.drivers=%s margay.disk=%s" % (drivers, disk), elf=image(),
    )
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(ON)
    assert done.facts["sum"].split()[0] == before
    assert done.facts["read"].split()[0] == done.facts["wrote"].split()[0]
    assert passthrough.sha256(file, 4 << 20) == done.facts["wrote"].split()[0]
    assert done.lines("DMA blocked") == []
    # From 0 on, and not at the host's 0; or where the host has it.
    guest, host = re.search(r"^vm0: memory: .*: (\S+) is at (\S+)$", done.text, re.M).groups()
    assert guest == "0" and host != "0" if dma == "iommu" else any(
        at == to for at, to in re.findall(r"^vm0: memory: .*: (\S+) is at (\S+)$", done.text, re.M))


# Where no VM has memory; multiples of a page.
AT, READ = 0xa000000, 0xa400000
PATTERN = bytes.fromhex("21726f6761626160")
SECRET = 0x1122334455667788


def rogue(name, folder, dma, extra, times=1, words=""):
    """edu writes to AT and reads READ for a guest that has neither. Whether QEMU finds it at AT, what was read, the run."""
    text = tiny.Guest("rogue", "qemu").vm(last=True) + "dma = %s\n" % dma
    text = text.replace("cmdline = ", "cmdline = at=%d read=%d times=%d " % (AT, READ, times))
    iso = node.margay_iso(name, {"rogue.conf": text}, {"rogue": tiny.elf("rogue")}, words, elf=image())
    extra = extra + pci_hostile.EDU + qemu_monitor.arguments(folder)
    extra += ["-device", "loader,addr=%#x,data=%#x,data-len=8" % (READ, SECRET)]
    with node.start(name, "qemu", iso, memory="256M", extra=extra) as running:
        running.expect(r"^rogue: wrote\r?$")
        found = qemu_monitor.Monitor(folder).memory(AT, 4096)
        assert found == PATTERN * 512 or PATTERN not in found
        running.send("x")
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("rogue: end=exit status=0") and run.has_line(r"tiny: rogue: ok checks=\d+"), run.text[-4000:]
    return PATTERN in found, int(re.search(r"^rogue: read (\w+)$", run.text, re.M)[1], 16), run


def blocked(run):
    return run.lines("DMA blocked")


@pytest.mark.parametrize("dma", ["iommu", "identity"])
def test_rogue(tmp_path, dma):
    """It neither writes nor reads there, and one line each says who it was."""
    landed, read, run = rogue("iommu-rogue-" + dma, tmp_path, dma, UNIT["caching"])
    assert not landed and read != SECRET
    assert run.has_line(ON)
    assert blocked(run) == ["margay: iommu: 00:09.0, of rogue: DMA blocked: writes to %#x, reason 5" % AT,
                            "margay: iommu: 00:09.0, of rogue: DMA blocked: reads from %#x, reason 6" % READ]


@pytest.mark.parametrize("how", ["none", "off"])
def test_rogue_control(tmp_path, how):
    """Without an IOMMU, or with one that is not used, the same guest has written and read."""
    landed, read, run = rogue("iommu-rogue-" + how, tmp_path, "identity", UNIT["caching"] if how == "off" else [],
                              words="iommu=off" if how == "off" else "")
    assert landed and read == SECRET
    assert blocked(run) == []
    assert run.has_line("margay: iommu: off by the command line: DMA is not contained") == (how == "off")


def test_rogue_storm(tmp_path):
    """Of many only the first are told."""
    _, _, run = rogue("iommu-rogue-storm", tmp_path, "iommu", UNIT["plain"], times=12)
    assert len(blocked(run)) == 8 and blocked(run)[-1].endswith("; more of it is not reported"), blocked(run)


def test_none():
    """dma = iommu where there is none: one line, with file and line."""
    text = tiny.Guest("rogue", "qemu").vm(last=True) + "dma = iommu\n"
    run = tiny.run("iommu-none", "qemu", None, 1, {"rogue.conf": text}, image=image(), extra=pci_hostile.EDU)
    assert run.has_line(r"rogue: rogue\.conf:\d+: pci: dma = iommu: the node has no IOMMU, none that Margay knows, or it is off "
                        r"\(iommu=off\)"), run.text[-2000:]
