# SPDX-License-Identifier: GPL-2.0-only
"""Five PCI functions in one stock guest, with Debian's own drivers on QEMU's devices, by both kernel lines on one and two
NUMA nodes, without an IOMMU and behind each kind of one in all DMA modes: file systems on two disks, TCP over two network
cards, resets by the guest in between, vectors that wander all the time; and a BAR of 16 GiB, mapped with write-combining.
What came through is compared with files that QEMU has; what lspci shows of all five, with what it shows without Margay.

Guests with nvme, ahci, e1000e, igb and an ivshmem, by 6.1 and 6.12 on one and two NUMA nodes; four boots without an
IOMMU, by identity, and four behind VT-d and behind AMD-Vi each, in which all modes are, `iommu` with both kernels.

Both disks are read, ext4 is written, the NVMe controller reset, and all read again, by the guest and by the host's
e2fsck and debugfs; the cards, reset before, carry TCP both ways; all by checksums, while vectors wander between the
CPUs.

The ivshmem's BAR of 16 GiB is a file: the guest writes all over it, with write-combining by `pat_memtype_list`.
`lspci -vvv` and `-xxxx` of the five equal the bare machine's but for the table in `lspci.py`; a changed byte or line
is found. The ROM that the guest reads from its card is QEMU's file.
"""

import collections
import os
import re
import struct
import subprocess

import amdvi
import iommu
import lspci
import margay_machines
import margay_run
import node
import numa
import passthrough
import pytest

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("pci-data")]

DISK_MEGABYTES = 56  # each, of which the guest fills so much with a file:
DATA_MEGABYTES = 40
NET_MEGABYTES = 4
DISKS = {"nvme": "nvme0n1", "ahci": "sda"}
# By the third byte of QEMU's network, 10.0.n.0/24; e1000e is function 3 of a device whose function 0 stays behind.
CARDS = {2: ("e1000e", "00:07.3"), 3: ("igb", "00:08.0")}
LARGE = "00:09.0"  # its BAR 2 is a file of QEMU's
LARGE_SIZE = 16 << 30
OFFSETS = [0, 0x123456788, LARGE_SIZE // 2, LARGE_SIZE - 8]
FUNCTIONS = ("00:04.0", "00:05.0", "00:07.3", "00:08.0", LARGE)
DRIVERS = "margay.drivers=nvme,ahci,sd_mod,ext4,crc32c_generic,e1000e,igb margay.disk=nvme0n1,sda"
# QEMU's for AMD-Vi has its own; else Debian 12's ipxe-qemu, Debian 13's.
NEWER_SHARE = os.path.join(os.path.dirname(margay_machines.NEWER_QEMU), "root", "usr", "share", "qemu")
SHARE = "/usr/lib/ipxe/qemu" if os.path.exists("/usr/lib/ipxe") else "/usr/share/qemu"
NODES = {1: [numa.Node("0-1", "1G")], 2: [numa.Node("0", "768M"), numa.Node("1", "768M")]}
UNITS = {None: ([], None), "vtd": (iommu.UNIT["caching"], iommu.ON), "amdvi": (amdvi.UNIT, amdvi.ON)}
Case = collections.namedtuple("Case", "nodes kernel unit dma")
# Of the four without an IOMMU every second one would do for a quick look; behind one each mode has a boot, and `iommu` two.
MATRIX = [Case(nodes, kernel, None, "identity") for nodes, kernel in (
    (1, "vmlinuz"), (2, "vmlinuz-backports"), (1, "vmlinuz-backports"), (2, "vmlinuz"))]
MATRIX += [Case(*case) for unit in ("vtd", "amdvi") for case in (
    (1, "vmlinuz", unit, "iommu"), (2, "vmlinuz-backports", unit, "iommu"),
    (2, "vmlinuz", unit, "identity"), (2, "vmlinuz-backports", unit, "window"))]
MEMORY = {1: "512M", 2: "node0:320M,node1:320M"}

CHANGES = ((r"(margay-bytes: %s .*\nmargay-bytes: 00: )..", r"\g<1>5a"), (r"(margay-lspci: %s .*\n)", r"\1margay-lspci: \tX\n"))


class Files:
    """The files behind the devices, and QEMU's arguments."""

    def __init__(self):
        self.images = {kind: passthrough.make_disk("pci-data-" + kind, DISK_MEGABYTES << 20) for kind in DISKS}
        self.before = {kind: passthrough.sha256(image) for kind, image in self.images.items()}
        self.down = {n: passthrough.make_disk("pci-data-down-%d" % n, NET_MEGABYTES << 20) for n in CARDS}
        self.up = {n: os.path.join(node.BUILD, "disks", "pci-data-up-%d" % n) for n in CARDS}
        self.large = os.path.join(node.BUILD, "disks", "pci-data-large")
        with open(self.large, "wb") as f:
            f.truncate(LARGE_SIZE)
        self.arguments = [
            "-drive", "if=none,id=nvme,format=raw,file=" + self.images["nvme"], "-device", "nvme,drive=nvme,serial=margay,addr=4",
            "-drive", "if=none,id=ahci,format=raw,file=" + self.images["ahci"], "-device", "ich9-ahci,id=sata,addr=5",
            "-device", "ide-hd,drive=ahci,bus=sata.0", "-device", "pci-testdev,addr=7.0,multifunction=on",
            "-object", "memory-backend-file,id=large,share=on,size=%d,mem-path=%s" % (LARGE_SIZE, self.large),
            "-device", "ivshmem-plain,memdev=large,addr=9"]
        for n, (card, address) in CARDS.items():
            script = self.up[n] + ".sh"
            with open(script, "w", encoding="ascii") as f:
                f.write("#!/bin/sh\nexec head -c %d > %s\n" % (NET_MEGABYTES << 20, self.up[n]))
            os.chmod(script, 0o755)
            self.arguments += [
                "-netdev", "user,id=net%d,net=10.0.%d.0/24,restrict=on,guestfwd=tcp:10.0.%d.100:80-cmd:cat %s,"
                "guestfwd=tcp:10.0.%d.101:80-cmd:%s" % (n, n, n, self.down[n], n, script),
                "-device", "%s,netdev=net%d,addr=%s,mac=52:54:00:00:00:0%d" % (card, n, address[3:], n)]


def run(name, iso, files, nodes, unit=(), **options):
    with numa.Machine("2,sockets=%d,cores=%d" % (nodes, 2 // nodes), NODES[nodes]) as machine:
        with node.start(name, "qemu", iso, memory=machine.memory, cpus=2,
                        extra=[*unit, *files.arguments, *machine.arguments], **options) as running:
            return node.finish(running)


def native(files, nodes):
    iso = node.image("native-pci-data", "--linux", node.guest_file("vmlinuz"), "--initrd", node.guest_file("initrd-drivers"),
                     "--cmdline", "console=ttyS0 panic=-1 margay.test=pci-data " + DRIVERS)
    return run("native-pci-data", iso, files, nodes, native=True)


def case_id(case):
    return "-".join(str(part) for part in (case if case.unit else case[:2]))


class Guest:
    def __init__(self, case):
        # The full tier is both kernel lines, or it fails.
        nodes, kernel, unit, dma = case
        file = node.guest_file(kernel.replace("vmlinuz", node.KERNEL))
        assert os.path.exists(file), file + " is missing: apt knows no kernel of backports"
        self.nodes, self.kernel, self.files, self.case = nodes, kernel, Files(), case
        words = "margay.test=pci-data %s margay.guest=%s margay.net=%s margay.megabytes=%d:%d margay.bar=%s:2:%s" % (
            DRIVERS, "yes" if dma == "window" else "no", ",".join(address for _, address in CARDS.values()),
            DATA_MEGABYTES, NET_MEGABYTES, LARGE, ":".join("%#x" % offset if offset else "0x0" for offset in OFFSETS))
        text = node.vm_text("qemu", words, memory=MEMORY[nodes], memory_map="identity" if dma == "identity" else None,
                            cpus="0,1", pci="class:0108, 00:05.0, 8086:10d3, 00:08.0, 1af4:1110", dma=dma)
        name = "pci-data-" + case_id(case)
        iso = node.margay_iso(name, {"vm0.conf": text},
                              {"kernel": file, "initrd": node.drivers_for(kernel)})
        self.done = run(name, iso, self.files, nodes, UNITS[unit][0])
        assert self.done.outcome.status == margay_run.OK, self.done.outcome.text


@pytest.fixture(scope="module", name="guest")
def fixture_guest(request):
    return Guest(request.param)


each = pytest.mark.parametrize("guest", MATRIX, indirect=True, ids=case_id)


@each
def test_machine(guest):
    """It is the kernel and the node that it should be."""
    version = " ".join(guest.done.lines("margay-dmesg: .*Linux version"))
    assert ("6.1." in version) == (guest.kernel == "vmlinuz"), version
    assert len(guest.done.lines("^margay-node: ")) == guest.nodes


@each
def test_mode(guest):
    """Its memory is where the mode has it, the IOMMU is in use, and has blocked nothing of all this."""
    on, done = UNITS[guest.case.unit][1], guest.done
    places = re.findall(r"^vm0: memory: .*: (\S+) is at (\S+)$", done.text, re.MULTILINE)
    assert places and any(at == to for at, to in places) == (guest.case.dma == "identity"), places
    assert done.has_line(on) if on else not done.lines("^margay: iommu: ")
    assert done.lines("blocked") == []


def check_file_system(image, fact):
    """QEMU's file, not the guest, says what was written: by the host's own tools."""
    assert subprocess.run(["/sbin/e2fsck", "-f", "-n", image], capture_output=True, check=False).returncode == 0
    copy = image + ".data"
    subprocess.run(["/sbin/debugfs", "-R", "dump /data " + copy, image], capture_output=True, check=True)
    assert os.path.getsize(copy) == DATA_MEGABYTES << 20
    assert passthrough.sha256(copy) == fact.split()[0]


@each
def test_disks(guest):
    """In the four guests, 8 disks of 56 MiB are read, and 8 files of 40 MiB written and read again: 1.06 GiB by checksums."""
    done, files = guest.done, guest.files
    for kind, disk in DISKS.items():
        assert done.facts["sum-" + disk].split()[0] == files.before[kind]
        assert done.facts["read-" + disk].split()[0] == done.facts["wrote-" + disk].split()[0]
        check_file_system(files.images[kind], done.facts["wrote-" + disk])
    # Between the writing and the reading.
    assert done.facts["reset-nvme0n1"] == "done"
    assert sum(passthrough.interrupts(done, "nvme0q")) > 10, done.lines("^margay-interrupt: ")
    # The one vector wandered while it was under load.
    assert min(passthrough.interrupts(done, r"ahci\[0000:00:05\.0\]")) > 10, done.lines("^margay-interrupt: ")


@each
def test_network(guest):
    done, files = guest.done, guest.files
    for n in CARDS:
        assert done.facts["reset-%d" % n] == "done"
        assert done.facts["down-%d" % n].split()[0] == passthrough.sha256(files.down[n])
        assert done.facts["up-%d" % n].split()[0] == passthrough.sha256(files.up[n])
        assert os.path.getsize(files.up[n]) == NET_MEGABYTES << 20
        # They wandered while it was under load.
        counts = passthrough.interrupts(done, done.facts["net-%d" % n] + "-")
        assert len(counts) == 2 and min(counts) > 20, done.lines("^margay-interrupt: ")
    # igb has a queue for each CPU.
    for queue in ("0", "1"):
        assert sum(passthrough.interrupts(done, r"%s-(TxRx|rx)-%s" % (done.facts["net-3"], queue))) > 0


@each
def test_large_bar(guest):
    """What the guest writes all over a BAR of 16 GiB is in the file behind it; and the guest's own kernel has it mapped with
    write-combining, which the hypervisor's mapping leaves in force (tests/unit/test_stage2.c)."""
    done = guest.done
    region = re.search(r"^margay-lspci: %s .*\n(?:margay-lspci: \t.*\n)*?"
                       r"margay-lspci: \tRegion 2: Memory at ([0-9a-f]+) \(64-bit, prefetchable\) \[size=16G\]" % re.escape(LARGE),
                       done.text, re.MULTILINE)
    assert region, done.lines("Region 2")
    base = int(region[1], 16)
    with open(guest.files.large, "rb") as f:
        for offset in OFFSETS:
            value = ~offset & (1 << 64) - 1
            assert done.has_line("margay-bar: %#x %#x" % (offset, value)), done.lines("^margay-bar")
            f.seek(offset)
            assert struct.unpack("<Q", f.read(8))[0] == value
            page = base + offset & ~0xfff
            assert done.lines(r"^margay-memtype: PAT: \[mem 0x0*%x-0x0*%x\] write-combining" % (page, page + 0x1000)), \
                done.lines("^margay-memtype")
    assert not [line for line in done.dmesg if "PAT disabled" in line or "PAT not supported" in line]


@each
def test_rom(guest):
    """The ROM that the guest reads from its card is QEMU's file; without the device's enable bit it would read ones."""
    found = [line.split() for line in guest.done.lines(r"^margay-rom: 07\.3 ")]
    assert len(found) == 1, guest.done.lines("^margay-rom: ")
    size = int(found[0][2])
    rom = os.path.join(NEWER_SHARE if guest.case.unit == "amdvi" else SHARE, "efi-e1000e.rom")
    assert size > 1 << 16 and found[0][3] == passthrough.sha256(rom, size)


@pytest.mark.parametrize("guest", MATRIX[:1], indirect=True, ids=case_id)
def test_lspci(guest):
    """Each function is as it is without Margay, but for what lspci.py says."""
    bare = native(guest.files, guest.nodes)
    assert bare.outcome.status == margay_run.OK, bare.outcome.text
    for function in FUNCTIONS:
        differences = lspci.compare(bare.text, guest.done.text, function)
        assert not differences, "\n".join([function] + differences)
        # The controls: a byte, and a line, that differ.
        for pattern, wrong in CHANGES:
            changed, times = re.subn("(?m)^" + pattern % function, wrong, guest.done.text)
            assert times == 1 and lspci.compare(bare.text, changed, function), wrong
    # What stands before function 3 is none of the guest's: a vendor, and no device that a driver takes.
    assert re.search(r"^margay-lspci: 00:07\.0 .*\[1b36:ffff\]", guest.done.text, re.MULTILINE)
