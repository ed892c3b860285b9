# SPDX-License-Identifier: GPL-2.0-only
"""Line interrupts of PCI functions, shared within a VM and never between two,
with Debian's own drivers. What goes over the network and what a disk holds is
compared with the files behind them.
"""

import itertools
import os
import re

import margay_run
import node
import test_passthrough as passthrough

SENT = 2 << 20
# e1000 (82540EM) has neither MSI nor MSI-X. On q35 the pins of devices 6 and 0xa are one line: GSI 22.
CARD = ["-device", "e1000,netdev=net0,addr=6"]
DISK = ["-device", "ich9-ahci,id=sata,addr=a", "-device", "ide-hd,drive=data,bus=sata.0"]


def network(name):
    """QEMU's arguments for a network with a file to fetch and one to be sent; the two files."""
    down, up = passthrough.make_disk(name + "-down"), os.path.join(node.BUILD, "disks", name + "-up")
    script = up + ".sh"
    with open(script, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nexec head -c %d > %s\n" % (SENT, up))
    os.chmod(script, 0o755)
    forward = "user,id=net0,restrict=on,guestfwd=tcp:10.0.2.100:80-cmd:cat %s,guestfwd=tcp:10.0.2.101:80-cmd:%s" % (down, script)
    return ["-netdev", forward], down, up


def lines_of(done, action):
    """{input of the guest's I/O APIC: interrupts} of the level-triggered ones that a driver has."""
    found = {}
    for line in done.lines("^margay-interrupt: "):
        counts = itertools.takewhile(str.isdigit, line.split(":", 2)[2].split())
        match = re.search(r"IO-APIC +(\d+)-fasteoi +(.*)", line)
        if match and re.search(action, match[2]):
            found[int(match[1])] = sum(int(n) for n in counts)
    return found


def test_shared_line():
    arguments, down, up = network("intx")
    image = passthrough.make_disk("intx")
    before = passthrough.sha256(image)
    done = passthrough.run(
        "intx", arguments + ["-drive", "if=none,id=data,format=raw,file=" + image] + CARD + DISK,
        {"pci": "00:06.0, 00:0a.0", "cpus": "2"},
        "pci=nomsi margay.test=pci margay.drivers=e1000,ahci,sd_mod margay.disk=sda margay.net=eth0",
    )
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["down"].split()[0] == passthrough.sha256(down)
    assert done.facts["up"].split()[0] == passthrough.sha256(up, SENT)
    assert done.facts["sum"].split()[0] == before
    assert passthrough.sha256(image, 4 << 20) == done.facts["wrote"].split()[0]
    card, disk = lines_of(done, "eth0"), lines_of(done, "ahci")
    assert card == disk and len(card) == 1, done.lines("^margay-interrupt: ")
    assert min(card.values()) > 100
    # Nothing was lost on the way, nor came unasked for.
    assert not done.lines("nobody cared|Unhandled interrupt|transmit queue .* timed out|qc timeout")


def test_refused():
    """A line is one VM's; a function with no other interrupt is of no use to the second."""
    lines = {"memory": "96M", "memory_map": "identity", "on_end": "stop", "cpus": "1"}
    vms = {name + ".conf": node.vm_text("qemu", "", **dict(lines, name=name, pci=address))
           for name, address in (("first", "00:06.0"), ("second", "00:0a.0"))}
    iso = node.margay_iso("intx-refused", vms, {"kernel": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd")})
    extra = CARD + ["-netdev", "user,id=net0", "-netdev", "user,id=net1", "-device", "e1000,netdev=net1,addr=a"]
    with node.start("intx-refused", "qemu", iso, memory="512M", cpus=2, extra=extra) as running:
        running.expect(r"second: pci: 00:0a\.0 is of no use without its line interrupt: it is another VM's or the host's own, too")
        running.expect(r"Linux version")
        assert not re.search(r"first: pci: .* without", running.text)
