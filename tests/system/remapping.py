# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's VT-d with interrupt remapping, and messages forged behind a device's back: its tables and its message are changed from
outside."""

import os
import re
import socket

import iommu
import margay_run
import node
import qemu_monitor
import tiny

WIDE = ["-device", "intel-iommu,intremap=on,eim=on"]

STATUS = 0xfed9001c
TRANSLATES, REMAPS, OLD_FORMAT = 1 << 31, 1 << 25, 1 << 23


def check(done, on=iommu.ON):
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(on)
    assert done.lines("blocked") == []


class Memory:
    """Writes to physical memory and registers by the machine's debugger port, which stops the machine while it is there."""

    def __init__(self, folder):
        self.path = os.path.join(str(folder), "gdb")
        self.arguments = ["-gdb", "unix:%s,server=on,wait=off" % self.path]

    def write(self, words):
        """{address: 32 bits}"""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(300)
            line.connect(self.path)
            for packet in ["Qqemu.PhyMemMode:1"] + ["M%x,4:%s" % (at, value.to_bytes(4, "little").hex())
                                                    for at, value in words.items()] + ["D"]:
                line.sendall(b"$%s#%02x" % (packet.encode(), sum(packet.encode()) & 0xff))
                answer = b""
                while not re.search(rb"\$OK#..$", answer):
                    part = line.recv(4096)
                    assert part and b"$E" not in answer, (packet, answer)
                    answer += part
                line.sendall(b"+")


def forge(folder, name, unit, written, changed=lambda address, data: (address, data), dma="iommu", words="", look=None, cpus=1):
    """A guest with two functions. The second sends the first's message, as `changed` makes it, then writes `written`, or that
    message, by DMA; look(monitor) is called then; true: it ends there. What had arrived of both after each step, the first's
    message, the status of the unit, the run."""
    memory, guest = Memory(folder), tiny.Guest("forged", "qemu")
    iso = node.margay_iso(name, {"forged.conf": guest.vm(last=True) + "dma = %s\n" % dma}, {"forged": tiny.elf("forged")}, words)
    extra = unit + memory.arguments + qemu_monitor.arguments(folder)
    for addr in "9", "a":
        extra += ["-device", "edu,dma_mask=0xffffffff,addr=" + addr]
    counts = []

    def step(running, what):
        counts.append(tuple(int(n) for n in running.expect(r"^forged: %s: (\d+) and (\d+)\r?$" % what).groups()))

    with node.start(name, "qemu", iso, memory="256M", cpus=cpus, extra=extra) as running:
        cap = int(running.expect(r"^forged: capability at (\w+)\r?$")[1], 16)
        step(running, "sent")
        monitor = qemu_monitor.Monitor(folder)
        message = monitor.words(0xb0048000 + cap + 4, 3)
        status = (monitor.words(STATUS, 1) or [None])[0]  # of VT-d only
        ram = re.search(r"forged: memory: .*: 0 is at (\w+)", running.text) if dma == "iommu" else None
        sent = changed(message[0], message[2])
        address, data = written or sent
        mailbox = (int(ram[1], 16) if ram else 0) + 0x1800000
        memory.write({0xb0050000 + cap + 4: sent[0], 0xb0050000 + cap + 12: sent[1], mailbox: address, mailbox + 4: 0,
                      mailbox + 8: data})
        for what in "forged", "written":
            running.send("x")
            step(running, what)
        if look and look(monitor):
            monitor.socket.sendall(b"quit\n")
            return counts, message, status, node.Run(running, running.wait())
        running.send("x")
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    return counts, message, status, run
