# SPDX-License-Identifier: GPL-2.0-only
"""Interrupts behind QEMU's VT-d: messages and lines of devices by its table, the console's, APIC IDs above 254; and messages that
are not a function's own. The control is the same unit without interrupt remapping.

Nvme, e1000e and igb by MSI-X, a card by its line, an xHCI with 16 messages, the guest's own vectors (`interrupts =
direct`), a CPU with APIC ID 287.

In the tiny guest `forged` one `edu` sends the message of another, which is put into its registers from outside by the
machine's debugger port, and writes one by DMA: blocked and named, and where the unit does not remap both arrive. The
guest goes on at keys, which the console's UART tells of by its entry.

What a unit checks of each entry, and what stands where while one changes: `test_vtd.c`; who gets which entry, and
when none: `test_iommu.c`, `test_pci_msi.c`; I/O APICs: `test_ioapic_remap.c`.
"""

import re

import iommu
import netdev
import node
import passthrough
import pytest
import remapping
import tiers
import tiny

NARROW = ["-device", "intel-iommu,intremap=on,eim=off,caching-mode=on"]
NONE = ["-device", "intel-iommu,intremap=off"]


@pytest.mark.parametrize("unit, interrupts, ids", [
    (NARROW, "emulated", None), (remapping.WIDE, "direct", [0, 254, 287]), tiers.full(remapping.WIDE, "emulated", None),
    tiers.full(remapping.WIDE, "direct", None), tiers.full(remapping.WIDE, "emulated", [0, 254, 287])])
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
        memory="1G", vm={"pci": "00:06.0", "cpus": "2-2" if ids else "2", "memory": passthrough.MEMORY,
                                            "interrupts": interrupts},
        cpus="1,maxcpus=288,sockets=288,cores=1" if ids else 2, extra=extra)
    remapping.check(done)
    assert done.has_line("vm0: interrupts: direct") == (interrupts == "direct")
    # The alarm's NMIs, too, come by an entry for the I/O APIC's input, or it would not be in use.
    assert done.has_line(r"margay: HPET: timer \d+, NMI by input \d+")
    assert done.facts["sum"].split()[0] == before
    assert passthrough.sha256(file, 4 << 20) == done.facts["wrote"].split()[0]
    counts = re.findall(r"^margay-interrupt: +\d+: +(\d+) .*%s" % vectors, done.text, re.M)
    assert sum(int(n) for n in counts) > 10, done.lines("^margay-interrupt: ")
    if ids:
        assert done.has_line("vm0: vcpu0: CPU 2, APIC ID 287, .*")


@pytest.mark.parametrize("card", ["e1000", tiers.full("e1000e"), tiers.full("igb")])
def test_network(card):
    """By a line (e1000) through the machine's I/O APIC, and by MSI-X."""
    arguments, down, up = netdev.network("remapping-" + card)
    done = node.run_guest(
        "remapping-" + card, "qemu", "margay.test=pci margay.drivers=%s margay.net=eth0" % card, initrd="initrd-drivers",
        vm={"pci": "00:06.0", "cpus": "2", "memory": passthrough.MEMORY}, memory="1G", cpus=2,
        extra=(NARROW if card == "e1000" else remapping.WIDE) + arguments + ["-device", card + ",netdev=net0,addr=6"])
    remapping.check(done)
    assert done.facts["down"].split()[0] == passthrough.sha256(down)
    assert done.facts["up"].split()[0] == passthrough.sha256(up, netdev.SENT)
    if card == "e1000":
        assert min(passthrough.lines_of(done, "eth0").values()) > 100, done.lines("^margay-interrupt: ")
    else:
        assert sum(passthrough.interrupts(done, "eth0")) > 100, done.lines("^margay-interrupt: ")


def test_several_messages():
    """Entries in a row, by what the device adds to its message."""
    guest = tiny.Guest("msi_several", "qemu")
    run = tiny.run("remapping-several", "qemu", None, 1, {"msi_several.conf": guest.vm(last=True)},
                   extra=remapping.WIDE + ["-device", "nec-usb-xhci,msi=on,msix=off,addr=9"])
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    remapping.check(run)


def test_forged(tmp_path):
    """Another function's message does not pass, nor one for an entry that is nobody's; each is one line. And messages of the old
    format are never let pass: QEMU does that all the same, so that it is read back."""
    counts, message, status, run = remapping.forge(tmp_path, "remapping-forged", remapping.WIDE, (0xfee00010 | 200 << 5, 0))
    assert run.has_line(iommu.ON)
    assert status & (remapping.TRANSLATES | remapping.REMAPS | remapping.OLD_FORMAT) == remapping.TRANSLATES | remapping.REMAPS
    assert message[0] & 0xfff0001f == 0xfee00010 and message[1:] == [0, 0]
    assert counts == [(1, 1)] * 3
    # What edu writes by DMA has no requester ID in QEMU, which says ffff.
    assert run.lines("interrupt blocked") == [
        "margay: iommu: 00:0a.0, of forged: interrupt blocked: entry %#x, reason 38" % (message[0] >> 5 & 0x7fff),
        "margay: iommu: ff:1f.7, nobody's: interrupt blocked: entry 0xc8, reason 34"]


def test_forged_control(tmp_path):
    counts, message, status, run = remapping.forge(tmp_path, "remapping-control", NONE, None)
    assert run.has_line("margay: iommu: VT-d, 1 of 1 units in use: DMA contained, interrupts not: "
                        "the firmware's tables do not want it")
    assert status & (remapping.TRANSLATES | remapping.REMAPS) == remapping.TRANSLATES
    assert message[0] & 0xfff00fff == 0xfee00000 and message[2]
    assert counts == [(1, 1), (2, 1), (3, 1)]
    assert run.lines("blocked") == []
