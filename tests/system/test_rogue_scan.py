# SPDX-License-Identifier: GPL-2.0-only
"""A function that reads from and writes to all of the machine's memory, in steps of 2 MiB and where IOMMU and hypervisor have their
tables, by VT-d and AMD-Vi in the three DMA modes. In each step is a pattern that was put there from outside, in the file that is
QEMU's memory, or what the hypervisor has there. The control, without an IOMMU in use, finds and overwrites all of it.

On VT-d and AMD-Vi, in all DMA modes: in each 2 MiB of the machine's memory, which is a file, is a pattern that the
test has put there, or the hypervisor's own bytes where nothing is free; and the unit's tables and rings are found by
its registers. The tiny guest `scan` has an e1000e in loopback, whose DMA is immediate, read all of these addresses,
and write to all that are not its VM's: it gets its own memory and not a byte of others, and nothing has changed.
Without an IOMMU in use the same guest reads each and overwrites each pattern. Not written to there are tables and
code, which would be that node's end.
"""

import mmap
import random
import re
import struct

import amdvi
import iommu
import margay_run
import monitor_console
import node
import numa
import pytest
import qemu_monitor
import tiers
import tiny

RAM, STEP, CHUNK, SIZE = 256 << 20, 2 << 20, 64 << 10, 64
LOW = 1 << 20  # below is what only firmware has as plain memory
CARD = ["-device", "e1000e,addr=9"]
DEVFN = 0x48
# tests/guest/scan.c
TABLE, HEAD, SLOT = 0x1800000, struct.Struct("<QQ"), struct.Struct("<QQ64s")
WRITTEN = bytes.fromhex("21726f6761626160") * (SIZE // 8)
# What parses a frame takes these for what a longer one begins with: 0800, 86dd, 8100, 88a8 as its type.
NO_TYPES = (b"\x08\x00", b"\x86\xdd", b"\x81\x00", b"\x88\xa8")

# {mode: (its key, the hypervisor's words, the unit of the fast tier)}
MODES = {"iommu": ("iommu", "", "vtd"), "identity": ("identity", "", "amdvi"), "window": ("window", "", "vtd"),
         "none": ("identity", "iommu=off", "amdvi")}


def plain(data):
    """Whether it says so much that nobody else has the same, and goes through the card as it is."""
    return len(set(data)) >= 16 and data[12:14] not in NO_TYPES


class Memory:
    """The machine's, from outside, with a pattern or the hypervisor's own bytes in each step."""

    def __init__(self, path):
        # pylint: disable=consider-using-with
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), RAM)
        self.patterns, self.own = {}, {}

    def read(self, at, size=SIZE):
        return self.map[at:at + size]

    def word(self, at):
        return struct.unpack("<Q", self.read(at, 8))[0]

    def fill(self):
        """In the last 64 KiB of a step that are all zero, in the middle; where there are none, what is there."""
        dice = random.Random("scan")
        for step in range(0, RAM, STEP):
            chunks = [at for at in range(max(step, LOW), step + STEP, CHUNK) if not any(self.read(at, CHUNK))]
            if chunks:
                at = chunks[-1] + CHUNK // 2
                while not plain(data := dice.randbytes(SIZE)):
                    pass
                self.map[at:at + SIZE] = self.patterns[at] = data
            else:
                places = range(step + STEP - SIZE, max(step, LOW) - 1, -SIZE)
                # AMD-Vi's table of devices has 2 MiB, and the same in all entries but few.
                at = next((at for at in places if plain(self.read(at))), places[0])
                self.own[at] = self.read(at)

    def restore(self):
        for at in self.patterns:
            self.map[at:at + SIZE] = bytes(SIZE)

    def close(self):
        self.map.close()
        self.file.close()


def vtd_tables(memory, registers):
    """Root table, the function's context entry and page table; entries of interrupts (VT-d 4.0, 11.4.6, 11.4.37, 9.1, 9.3)."""
    root = registers(0xfed90020) & ~0xfff
    context = memory.word(root) & ~0xfff
    entry = context + DEVFN * 16
    return [root, entry, memory.word(entry) & ~0xfff, registers(0xfed900b8) & ~0xfff]


def amdvi_tables(memory, registers):
    """The function's entry of the device table, its page table; rings of commands and events (AMD 48882, 3.4.1, 2.2.2.1)."""
    base = 0xfed80000
    devices, commands, events = (registers(base + offset) & 0xffffffffff000 for offset in (0, 8, 16))
    entry = devices + DEVFN * 32
    return [entry, memory.word(entry) & 0xffffffffff000, commands, events]


UNITS = {"vtd": (iommu.UNIT["caching"], iommu.ON, vtd_tables), "amdvi": (amdvi.UNIT, amdvi.ON, amdvi_tables)}


class Registers:
    """The machine's, by QEMU's monitor."""

    def __init__(self, folder):
        self.monitor = qemu_monitor.Monitor(folder)

    def __call__(self, at):
        low, high = self.monitor.words(at, 2)
        return low | high << 32


def pieces(text, vm):
    """[(guest's address, host's, size)]"""
    return [(int(gpa, 16), int(hpa, 16), int(size) << 20) for size, gpa, hpa in re.findall(
        r"^%s: memory: (\d+)M on node \d+: (\S+) is at (\S+?)\r?$" % vm, text, re.M)]


class Scan:
    """One run: what of the machine's memory the function has read and written."""

    def __init__(self, name, folder, unit, dma, words):
        extra, _, tables = UNITS[unit]
        keeper = monitor_console.vm("keeper", "hang", cpus="1-1")
        text = tiny.Guest("scan", "qemu").vm().replace("cpus = 1\n", "cpus = 0-0\n")
        vms = {"scan.conf": text + "pci = 8086:10d3\ndma = %s\n" % dma, "keeper.conf": keeper}
        iso = node.margay_iso(name, vms, {n: tiny.elf(n) for n in ("scan", "behave")}, words)
        with numa.Machine("2", [numa.Node("0-1", "256M")]) as machine:
            extra = extra + CARD + qemu_monitor.arguments(str(folder)) + machine.arguments
            with node.start(name, "qemu", iso, memory=machine.memory, cpus=2, timeout=60, extra=extra) as running:
                # Whichever comes first; the other's lines may stand within this one's, anywhere.
                ready = r"(\r?\n\[?keeper[^\n]*\n)*".join("scan: ready")
                running.expect(r"(?s)(?=.*^\[keeper\] behave: hangs)(?=.*%s\r?$).*\n" % ready)
                self.memory = Memory(machine.path(0))
                self.scan, self.keeper = (pieces(running.text, vm) for vm in ("scan", "keeper"))
                self.step(running, dma, None if words else tables(self.memory, Registers(folder)))
                running.expect(r"^scan: end=.*\n")
                console = monitor_console.Console(running)
                console.call()
                self.run = node.Run(running, console.end())
            self.memory.close()
        assert self.run.outcome.status == margay_run.OK, self.run.outcome.text
        assert tiny.judge(tiny.Guest("scan", "qemu"), self.run.text) == [], self.run.text[-4000:]

    def step(self, running, dma, tables):
        """Both scans. tables: places of the IOMMU's, None where it is not in use."""
        memory = self.memory
        memory.fill()
        self.tables = {at: memory.read(at) for at in tables or ()}
        every = {**memory.patterns, **memory.own, **self.tables}
        self.mine = [at for at in every if any(hpa <= at < hpa + size for _, hpa, size in self.scan)]
        self.theirs = [at for at in every if any(hpa <= at < hpa + size for _, hpa, size in self.keeper)]
        # Its own memory, as its device is given it: by the guest's addresses, or the host's.
        named = {at: at + gpa - hpa if tables and dma != "window" else at
                 for at in self.mine for gpa, hpa, size in self.scan if hpa <= at < hpa + size}
        reads = [*every, *named.values()]
        # Without an IOMMU what is not a pattern would be the node's end.
        writes = [at for at in (every if tables else memory.patterns) if at not in self.mine]
        table = self.host(TABLE)
        memory.map[table:table + HEAD.size] = HEAD.pack(len(reads), len(writes))
        for n, at in enumerate(reads + writes):
            to = table + HEAD.size + n * SLOT.size
            memory.map[to:to + SLOT.size] = SLOT.pack(at, 0, bytes(64))

        def slots():
            raw = memory.read(table + HEAD.size, SLOT.size * len(reads + writes))
            return [data if arrived else None for _, arrived, data in SLOT.iter_unpack(raw)]

        running.send("x")
        running.expect(r"^scan: read\r?$")
        self.read = dict(zip(every, slots()))
        self.read_by_name = dict(zip(named, slots()[len(every):]))
        self.before = every
        running.send("x")
        running.expect(r"^scan: wrote\r?$")
        self.after = {at: memory.read(at) for at in every}
        self.wanted = writes
        memory.restore()
        running.send("x")

    def host(self, gpa):
        return next(gpa + to - at for at, to, size in self.scan if at <= gpa < at + size)


@pytest.mark.parametrize("unit, mode", [
    (unit, mode) if unit == fast else tiers.full(unit, mode) for unit in UNITS for mode, (_, _, fast) in MODES.items()])
def test_scan(tmp_path, unit, mode):
    """What is its VM's it reads; of all else not a byte, and it changes none."""
    dma, words, _ = MODES[mode]
    name = "scan-%s-%s" % (unit, mode)
    done = Scan(name, tmp_path, unit, dma, words)
    # Each step, and most of them are nobody's or the hypervisor's.
    assert {at // STEP for at in done.before} == set(range(RAM // STEP))
    assert len(done.mine) >= 15 and len(done.theirs) >= 15 and len(done.memory.patterns) >= 100
    assert {at: done.before[at] for at in done.mine} == done.read_by_name
    others = set(done.before) - set(done.mine)
    if words:
        assert done.run.has_line("margay: iommu: off by the command line: DMA is not contained")
        assert done.read == done.before
        assert {done.after[at] for at in done.wanted} == {WRITTEN}
        assert iommu.blocked(done.run) == []
        return
    assert done.run.has_line(UNITS[unit][1])
    foreign = {done.before[at] for at in others} - {bytes(SIZE)}
    assert not [hex(at) for at, data in done.read.items() if data in foreign]
    # Of the tables the hypervisor changes entries, and the unit adds to its log, as it blocks all this.
    assert [hex(at) for at in done.wanted if done.after[at] != done.before[at] and at not in done.tables] == []
    assert [hex(at) for at in done.wanted if WRITTEN[:8] in done.after[at]] == []
    assert set(done.wanted) == others and set(done.tables) <= others and len(done.tables) == 4
    lines = iommu.blocked(done.run)
    assert lines and not [line for line in lines if not line.startswith("margay: iommu: 00:09.0, of scan: DMA blocked: ")], lines
