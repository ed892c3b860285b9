# SPDX-License-Identifier: GPL-2.0-only
"""VT-d, which QEMU emulates: unmodified guests with memory anywhere, by checksums, and a function that writes where its VM has
no memory."""

import re
import struct

import margay_run
import node
import numa
import pytest
import qemu_monitor
import test_passthrough as passthrough
import test_pci_hostile as pci_hostile
import tiny

# It comes before the devices that it stands in front of. With caching mode also what was not there must be invalidated.
UNIT = {"plain": ["-device", "intel-iommu"], "caching": ["-device", "intel-iommu,caching-mode=on"]}
ON = "margay: iommu: VT-d, 1 of 1 units in use: DMA and interrupts contained"


FAR = 0xe000000000  # where SeaBIOS puts a BAR of 64 GiB


def image():
    return node.variant("iommu", "IOMMU=y")


@pytest.mark.parametrize("dma, unit", [("iommu", "plain"), ("auto", "caching"), ("identity", "plain"), ("window", "caching")])
def test_disk(dma, unit):
    """What the guest reads and writes is what the file behind the disk has; Debian's kernel and driver as they are."""
    arguments, drivers, disk, _ = passthrough.DEVICES["nvme"]
    name = "iommu-%s-%s" % (dma, unit)
    file = passthrough.make_disk(name)
    before = passthrough.sha256(file)
    done = passthrough.run(
        name, UNIT[unit] + ["-drive", "if=none,id=data,format=raw,file=" + file] + arguments,
        {"pci": "00:06.0", "cpus": "2", "memory_map": None, "dma": dma},
        "margay.test=pci margay.drivers=%s margay.disk=%s margay.guest=yes" % (drivers, disk), elf=image(),
    )
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(ON)
    assert done.facts["sum"].split()[0] == before
    assert done.facts["read"].split()[0] == done.facts["wrote"].split()[0]
    assert passthrough.sha256(file, 4 << 20) == done.facts["wrote"].split()[0]
    assert done.lines("DMA blocked") == []
    # From 0 on, and not at the host's 0; or where the host has it.
    guest, host = re.search(r"^vm0: memory: .*: (\S+) is at (\S+)$", done.text, re.M).groups()
    assert guest == "0" and host != "0" if dma != "identity" else any(
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


@pytest.mark.parametrize("dma", ["iommu", "identity", "window"])
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


@pytest.mark.parametrize("dma", ["iommu", "identity"])
def test_taken_over(dma):
    """VMs end, by themselves and by a triple fault, while the device writes to their memory; the next VM has both."""
    run = pci_hostile.kill_under_dma("iommu-kill-" + dma, 3, extra=UNIT["caching"], elf=image(),
                                     change=("memory_map = identity", "dma = " + dma))
    pci_hostile.check_killed(run, 3)
    assert blocked(run) == []


def registers_of_others(name, folder, dma, own, gib, unit, words=""):
    """edu writes to the memory of ivshmem, which is its VM's or another's. Where to, whether it came there, the run."""
    file = str(folder / "memory")
    with open(file, "wb") as f:
        f.truncate(gib << 30)
    extra = unit + ["-device", "edu,addr=9,dma_mask=0xffffffffffffffff", "-device", "ivshmem-plain,memdev=far,addr=a",
                    "-object", "memory-backend-file,id=far,size=%dG,share=on,mem-path=%s" % (gib, file)]
    guest = tiny.Guest("p2p", "qemu")
    text = guest.vm(last=own) + "dma = %s\n" % dma
    vms = {"p2p.conf": text.replace("pci = 1234:11e8\n", "pci = 1234:11e8, 1af4:1110\n")}
    if not own:
        # By identity there would be no place for both.
        keeper = tiny.Guest("hypercall", "qemu").vm().replace("name = hypercall", "name = keeper").replace(
            "cpus = 1\n", "cpus = 1-1\n") + "pci = 1af4:1110\ndma = %s\n" % ("window" if words else "iommu")
        text = text.replace("cmdline = ", "cmdline = to=%d " % FAR) + "on_end = poweroff_node\n"
        vms = {"keeper.conf": keeper, "p2p.conf": text}
    run = tiny.run(name, "qemu", None, 2, vms, image=image(), cmdline=words, extra=extra)
    # Its lines have its name in front where it is not the first that has the serial line.
    assert tiny.judge(guest, re.sub(r"^\[p2p\] ", "", run.text, flags=re.MULTILINE)) == [], run.text[-4000:]
    at = int(re.search(r"p2p: wrote to (\w+)", run.text)[1], 16)
    assert at == FAR if gib == 64 else at >= 1 << 32 and at % (gib << 30) == 0
    with open(file, "rb") as f:
        found = f.read(4096)
    assert found in (PATTERN * 512, bytes(4096))
    assert run.has_line("p2p: pci: DMA between 00:09.0 and 00:0a.0 passes the root complex, if that lets it") == own
    return at, found == PATTERN * 512, run


@pytest.mark.parametrize("dma, own, gib", [
    ("iommu", True, 64), ("identity", True, 64), ("window", True, 64), ("iommu", False, 64), ("window", False, 64),
    ("iommu", True, 256)])
def test_registers_of_others(tmp_path, dma, own, gib):
    """A function writes to the registers of another of its VM's, 64 or 256 GiB of them; and not to those of another VM's."""
    at, landed, run = registers_of_others("iommu-p2p-%s-%s-%d" % (dma, "own" if own else "others", gib), tmp_path, dma, own, gib,
                                          UNIT["caching"])
    assert run.has_line(ON) and landed == own
    assert blocked(run) == ([] if own else ["margay: iommu: 00:09.0, of p2p: DMA blocked: writes to %#x, reason 5" % at])


def elastic(name, dma, extra, words=""):
    """A page leaves a running VM and comes back elsewhere while edu writes to it and a CPU reads it."""
    guest = tiny.Guest("elastic", "qemu")
    text = guest.vm(last=True) + "dma = %s\n" % dma
    run = tiny.run(name, "qemu", None, 2, {"elastic.conf": text.replace("cmdline = ", "cmdline = " + words)}, image=image(),
                   extra=extra + ["-device", "edu,addr=9,dma_mask=0xffffffffffffffff"])
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    return run


# Where the page was, in turn.
PLACES = (0xd0000000, 0xd0201000)


@pytest.mark.parametrize("dma, unit", [("iommu", "plain"), ("iommu", "caching"), ("identity", "caching")])
def test_elastic(dma, unit):
    """What arrives after the page was taken is blocked, and one line each says so; what is given is reached."""
    run = elastic("iommu-elastic-%s-%s" % (dma, unit), dma, UNIT[unit], "times=4 ")
    assert run.has_line(ON)
    assert blocked(run) == ["margay: iommu: 00:09.0, of elastic: DMA blocked: writes to %#x, reason 5" % at for at in PLACES * 2]


def test_elastic_control():
    """Where the unit is not told it goes on with what it knew: the same write lands in the page that was taken."""
    run = elastic("iommu-elastic-control", "iommu", UNIT["plain"], "control=1 ")
    assert run.has_line(ON) and blocked(run) == []


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
                          {name: tiny.elf(name) for name in ("rogue", "hypercall")}, elf=image(), acpi=[table])
    with node.start("iommu-lies", "qemu", iso, memory="256M", timeout=60, extra=pci_hostile.EDU) as running:
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
    run = tiny.run("iommu-none", "qemu", None, 1, {"rogue.conf": text}, image=image(), extra=pci_hostile.EDU)
    assert run.has_line(r"rogue: rogue\.conf:\d+: pci: the node has no IOMMU, none that Margay knows, or it is off "
                        r"\(iommu=off\): dma = identity or window needs none"), run.text[-2000:]
