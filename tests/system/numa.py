# SPDX-License-Identifier: GPL-2.0-only
"""NUMA machines in QEMU: the arguments for one, and its memory seen from outside, one file per
node; ACPI tables for machines that have none.
"""

import collections
import mmap
import os
import re
import struct
import tempfile

import margay_machines

Node = collections.namedtuple("Node", "cpus memory")  # "0-1" or None, "1G" or None
STAMP = struct.Struct("<8sII")  # tests/system/guest/stamp.c
MAGIC = b"MARGAYPG"


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


class Machine:
    """-smp and -numa arguments for these nodes; distances: {(from, to): N}. Use it in a with statement."""

    def __init__(self, smp, nodes, distances=(), shm="/dev/shm"):
        self.nodes = nodes
        self.directory = tempfile.TemporaryDirectory(prefix="margay-numa.", dir=shm if os.path.isdir(shm) else None)
        self.arguments = ["-smp", smp]
        for number, node in enumerate(nodes):
            text = "node,nodeid=%d" % number
            if node.memory:
                self.arguments += ["-object", "memory-backend-file,id=m%d,size=%s,share=on,mem-path=%s" % (
                    number, node.memory, self.path(number))]
                text += ",memdev=m%d" % number
            for cpus in (node.cpus or "").split("+"):
                text += ",cpus=" + cpus if cpus else ""
            self.arguments += ["-numa", text]
        for (src, dst), value in dict(distances).items():
            self.arguments += ["-numa", "dist,src=%d,dst=%d,val=%d" % (src, dst, value)]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.directory.cleanup()

    def path(self, number):
        return os.path.join(self.directory.name, "node%d" % number)

    @property
    def memory(self):
        return "%dM" % sum(margay_machines.mebibytes(node.memory) for node in self.nodes if node.memory)

    @property
    def cpus(self):
        return int(re.match(r"\d+", self.arguments[1])[0])

    def stamps(self):
        """Counter of (node, CPU that stamp.c says): how many writes its pages there have had."""
        found = collections.Counter()
        for number, node in enumerate(self.nodes):
            if not node.memory:
                continue
            with open(self.path(number), "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                at = memory.find(MAGIC)
                while at >= 0:
                    if at % 4096 == 0:
                        _, cpu, writes = STAMP.unpack_from(memory, at)
                        found[number, cpu] += writes
                    at = memory.find(MAGIC, at + len(MAGIC))
        return found
