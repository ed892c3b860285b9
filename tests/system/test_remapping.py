# SPDX-License-Identifier: GPL-2.0-only
"""Interrupts behind QEMU's VT-d: messages and lines of devices by its table, the console's, APIC IDs above 254; and messages that
are not a function's own. The control is the same unit without interrupt remapping."""

import os
import re
import socket

import margay_run
import node
import pytest
import qemu_monitor
import test_intx as intx
import test_iommu as iommu
import test_passthrough as passthrough
import tiny

WIDE = ["-device", "intel-iommu,intremap=on,eim=on"]
NARROW = ["-device", "intel-iommu,intremap=on,eim=off,caching-mode=on"]
NONE = ["-device", "intel-iommu,intremap=off"]
STATUS = 0xfed9001c
TRANSLATES, REMAPS, OLD_FORMAT = 1 << 31, 1 << 25, 1 << 23


def check(done, on=iommu.ON):
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(on)
    assert done.lines("blocked") == []


@pytest.mark.parametrize("unit, interrupts, ids", [
    (WIDE, "emulated", None), (NARROW, "emulated", None), (WIDE, "direct", None), (WIDE, "emulated", [0, 254, 287]),
    (WIDE, "direct", [0, 254, 287])])
def test_disk(unit, interrupts, ids):
    """Debian's nvme with MSI-X, a vector for each CPU; on a CPU that no message reaches otherwise."""
    arguments, drivers, disk, vectors = passthrough.DEVICES["nvme"]
    name = "remapping-%s-%s" % (interrupts, "ids" if ids else "narrow" if unit is NARROW else "wide")
    file = passthrough.make_disk(name)
    before = passthrough.sha256(file)
    extra = unit + ["-drive", "if=none,id=data,format=raw,file=" + file] + arguments
    for i in (ids or [0])[1:]:
        extra += ["-device", "max-x86_64-cpu,socket-id=%d,core-id=0,thread-id=0" % i]
    done = node.run_guest(
        name, "qemu", "margay.test=pci margay.drivers=%s margay.disk=%s" % (drivers, disk), initrd="initrd-drivers",
        elf=iommu.image(), memory="1G", vm={"pci": "00:06.0", "cpus": "2-2" if ids else "2", "memory": passthrough.MEMORY,
                                            "interrupts": interrupts},
        cpus="1,maxcpus=288,sockets=288,cores=1" if ids else 2, extra=extra)
    check(done)
    assert done.has_line("vm0: interrupts: direct") == (interrupts == "direct")
    # The alarm's NMIs, too, come by an entry for the I/O APIC's input, or it would not be in use.
    assert done.has_line(r"margay: HPET: timer \d+, NMI by input \d+")
    assert done.facts["sum"].split()[0] == before
    assert passthrough.sha256(file, 4 << 20) == done.facts["wrote"].split()[0]
    counts = re.findall(r"^margay-interrupt: +\d+: +(\d+) .*%s" % vectors, done.text, re.M)
    assert sum(int(n) for n in counts) > 10, done.lines("^margay-interrupt: ")
    if ids:
        assert done.has_line("vm0: vcpu0: CPU 2, APIC ID 287, .*")


@pytest.mark.parametrize("card", ["e1000", "e1000e", "igb"])
def test_network(card):
    """By a line (e1000) through the machine's I/O APIC, and by MSI-X."""
    arguments, down, up = intx.network("remapping-" + card)
    done = node.run_guest(
        "remapping-" + card, "qemu", "margay.test=pci margay.drivers=%s margay.net=eth0" % card, initrd="initrd-drivers",
        elf=iommu.image(), vm={"pci": "00:06.0", "cpus": "2", "memory": passthrough.MEMORY}, memory="1G", cpus=2,
        extra=(NARROW if card == "e1000" else WIDE) + arguments + ["-device", card + ",netdev=net0,addr=6"])
    check(done)
    assert done.facts["down"].split()[0] == passthrough.sha256(down)
    assert done.facts["up"].split()[0] == passthrough.sha256(up, intx.SENT)
    if card == "e1000":
        assert min(intx.lines_of(done, "eth0").values()) > 100, done.lines("^margay-interrupt: ")
    else:
        assert sum(passthrough.interrupts(done, "eth0")) > 100, done.lines("^margay-interrupt: ")


def test_several_messages():
    """Entries in a row, by what the device adds to its message."""
    guest = tiny.Guest("msi_several", "qemu")
    run = tiny.run("remapping-several", "qemu", None, 1, {"msi_several.conf": guest.vm(last=True)}, image=iommu.image(),
                   extra=WIDE + ["-device", "nec-usb-xhci,msi=on,msix=off,addr=9"])
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    check(run)


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
    iso = node.margay_iso(name, {"forged.conf": guest.vm(last=True) + "dma = %s\n" % dma}, {"forged": tiny.elf("forged")}, words,
                          elf=iommu.image())
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


def test_forged(tmp_path):
    """Another function's message does not pass, nor one for an entry that is nobody's; each is one line. And messages of the old
    format are never let pass: QEMU does that all the same, so that it is read back."""
    counts, message, status, run = forge(tmp_path, "remapping-forged", WIDE, (0xfee00010 | 200 << 5, 0))
    assert run.has_line(iommu.ON)
    assert status & (TRANSLATES | REMAPS | OLD_FORMAT) == TRANSLATES | REMAPS
    assert message[0] & 0xfff0001f == 0xfee00010 and message[1:] == [0, 0]
    assert counts == [(1, 1)] * 3
    # What edu writes by DMA has no requester ID in QEMU, which says ffff.
    assert run.lines("interrupt blocked") == [
        "margay: iommu: 00:0a.0, of forged: interrupt blocked: entry %#x, reason 38" % (message[0] >> 5 & 0x7fff),
        "margay: iommu: ff:1f.7, nobody's: interrupt blocked: entry 0xc8, reason 34"]


def test_forged_control(tmp_path):
    counts, message, status, run = forge(tmp_path, "remapping-control", NONE, None)
    assert run.has_line("margay: iommu: VT-d, 1 of 1 units in use: DMA contained, interrupts not: "
                        "the firmware's tables do not want it")
    assert status & (TRANSLATES | REMAPS) == TRANSLATES
    assert message[0] & 0xfff00fff == 0xfee00000 and message[2]
    assert counts == [(1, 1), (2, 1), (3, 1)]
    assert run.lines("blocked") == []
