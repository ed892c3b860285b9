# SPDX-License-Identifier: GPL-2.0-only
"""NUMA machines in QEMU: the arguments for one, and its memory seen from outside, one file per
node; ACPI tables for machines that have none.
"""

import array
import collections
import mmap
import os
import re
import struct
import tempfile

import margay_machines
import node

Node = collections.namedtuple("Node", "cpus memory")  # "0-1" or None, "1G" or None
STAMP = struct.Struct("<8sII")  # tests/system/guest/stamp.c
MAGIC = b"MARGAYPG"
PAGE = 4096
COUNTED = (0x6D670000, 0x6D680000)  # the code that qemu_memory.c watches in guest programs: tools/guest-image

PLUGIN = os.path.join(node.BUILD, "qemu_memory.so")
HEAD = struct.Struct("<QQ")  # struct counters of qemu_memory.c
Accesses = collections.namedtuple("Accesses", "loads stores stored_bytes")
COUNTER = struct.Struct("<QQQ")
COUNTER_NODES = 8


def acpi_table(signature, revision, body):
    """A whole ACPI table (ACPI 5.2.6)."""
    head = struct.pack("<4sIBB6s8sI4sI", signature, 36 + len(body), revision, 0, b"TESTER", b"TESTTABL", 1, b"TEST", 1)
    return head[:9] + bytes([-sum(head + body) & 0xFF]) + head[10:] + body


def srat(cpus, memory):
    """cpus: [(APIC ID, domain)]; memory: [(base, size, domain)] (ACPI 5.2.16)."""
    body = struct.pack("<IQ", 1, 0)
    for apic, domain in cpus:
        body += struct.pack("<BBBBIB3sI", 0, 16, domain, apic, 1, 0, b"", 0)
    for base, size, domain in memory:
        body += struct.pack("<BBIHQQIIQ", 1, 40, domain, 0, base, size, 0, 1, 0)
    return acpi_table(b"SRAT", 3, body)


def slit(rows):
    """Distances, row by row (ACPI 5.2.17)."""
    return acpi_table(b"SLIT", 1, struct.pack("<Q", len(rows)) + bytes(d for row in rows for d in row))


# Bochs has no NUMA: GRUB adds the tables of a node per CPU, half of the memory (node.NODE_MEMORY) each.
BOCHS_NODES = (srat([(0, 0), (1, 1)], [(0, 512 << 20, 0), (512 << 20, 512 << 20, 1)]), slit([(10, 17), (17, 10)]))


def stamps_in(memory, number):
    """Of the memory of the node with this number: {(node, CPU that stamp.c says): how many writes its pages have had}."""
    found = collections.Counter()
    at = memory.find(MAGIC)
    while at >= 0:
        if at % PAGE == 0:
            _, cpu, writes = STAMP.unpack_from(memory, at)
            found[number, cpu] += writes
        at = memory.find(MAGIC, at + len(MAGIC))
    return found


class BochsMachine:
    """A Bochs that runs with BOCHS_NODES. It gives the machine memory in blocks as they are used, and has a table of them."""

    nodes = [Node("0", "512M"), Node("1", "512M")]
    cpus = 2
    BLOCK = 128 << 10

    def __init__(self, running):
        self._pid = running.process.pid

    def _read(self, start, size):
        with open("/proc/%d/mem" % self._pid, "rb", buffering=0) as memory:
            memory.seek(start)
            return memory.read(size)

    def _blocks(self):
        """Where each block is in the process, 0 for one that was never used."""
        size = margay_machines.mebibytes(node.NODE_MEMORY) << 20
        with open("/proc/%d/maps" % self._pid, encoding="ascii") as f:
            pieces = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"^(\w+)-(\w+) rw-p", f.read(), re.MULTILINE)]
        [(low, high)] = [(a, b) for a, b in pieces if b - a >= size]
        tables = []
        for start, end in pieces:
            if start == low:
                continue
            table = []
            for word in array.array("Q", self._read(start, end - start)):
                if low <= word < high and (not table or (word - table[0]) % self.BLOCK == 0) or table and word == 0:
                    table.append(word)
                    continue
                if len(table) >= size // self.BLOCK:
                    tables.append(table[:size // self.BLOCK])
                table = [word] if low <= word < high else []
        [found] = tables
        return found

    def stamps(self):
        """As Machine.stamps()."""
        found = collections.Counter()
        blocks = self._blocks()
        for number, start in enumerate(blocks):
            if start:
                found += stamps_in(self._read(start, self.BLOCK), number * len(self.nodes) // len(blocks))
        return found


class Machine:
    """-smp and -numa arguments for these nodes; distances: {(from, to): N}. Use it in a with statement."""

    def __init__(self, smp, nodes, distances=(), shm="/dev/shm"):
        self.nodes = nodes
        self.directory = tempfile.TemporaryDirectory(prefix="margay-numa.", dir=shm if os.path.isdir(shm) else None)
        self.arguments = ["-smp", smp]
        for number, part in enumerate(nodes):
            text = "node,nodeid=%d" % number
            if part.memory:
                self.arguments += ["-object", "memory-backend-file,id=m%d,size=%s,share=on,mem-path=%s" % (
                    number, part.memory, self.path(number))]
                text += ",memdev=m%d" % number
            for cpus in (part.cpus or "").split("+"):
                text += ",cpus=" + cpus if cpus else ""
            self.arguments += ["-numa", text]
        for (src, dst), value in dict(distances).items():
            self.arguments += ["-numa", "dist,src=%d,dst=%d,val=%d" % (src, dst, value)]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.directory.cleanup()

    def path(self, number):
        return os.path.join(self.directory.name, "node%s" % number)

    @property
    def memory(self):
        return "%dM" % sum(margay_machines.mebibytes(node.memory) for node in self.nodes if node.memory)

    @property
    def cpus(self):
        return int(re.match(r"\d+", self.arguments[1])[0])

    def ranges(self):
        """Where each node's memory is, [(start, end, node, offset in its file)]: q35 has a hole of 2 GiB or less below 4."""
        sizes = [margay_machines.mebibytes(part.memory) << 20 if part.memory else 0 for part in self.nodes]
        low = min(sum(sizes), 2 << 30 if sum(sizes) >= 0xB0000000 else 0xB0000000)
        found, at = [], 0
        for number, size in enumerate(sizes):
            below = max(0, min(size, low - at))
            if below:
                found.append((at, at + below, number, 0))
            if size > below:
                start = (4 << 30) + at + below - low
                found.append((start, start + size - below, number, below))
            at += size
        return found

    def count(self, *codes):
        """Arguments that let qemu_memory.c count what the code at each [code[0], code[1]) accesses."""
        code = "".join(",code=%#x-%#x" % part for part in codes)
        ram = "".join(",ram=%#x-%#x-%d" % part[:3] for part in self.ranges())
        return ["-plugin", "%s,out=%s%s%s" % (PLUGIN, self.path("-counters"), code, ram)]

    def counted(self):
        """What count() has counted by now: {(CPU, node): Accesses}, and how often the CPUs took turns."""
        with open(self.path("-counters"), "rb") as f:
            data = f.read()
        elsewhere, turns = HEAD.unpack_from(data)
        assert elsewhere == 0
        cells = enumerate(COUNTER.iter_unpack(data[HEAD.size:]))
        return {divmod(i, COUNTER_NODES): Accesses(*cell) for i, cell in cells if any(cell)}, turns

    def read(self, start, size):
        """What is at this physical address of the machine."""
        for first, end, number, offset in self.ranges():
            if first <= start and start + size <= end:
                with open(self.path(number), "rb") as f:
                    f.seek(offset + start - first)
                    return f.read(size)
        raise AssertionError("no memory of one node at %#x, %d bytes" % (start, size))

    def stamps(self):
        """What stamps_in() finds in all of its nodes."""
        found = collections.Counter()
        for number, part in enumerate(self.nodes):
            if part.memory:
                with open(self.path(number), "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                    found += stamps_in(memory, number)
        return found
