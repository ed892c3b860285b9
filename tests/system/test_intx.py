# SPDX-License-Identifier: GPL-2.0-only
"""Line interrupts of PCI functions, shared within a VM and never between two,
with Debian's own drivers; and what the firmware's AML says of functions. What
goes over the network and what a disk holds is compared with the files behind
them.
"""

import hashlib
import itertools
import os
import random
import re
import socketserver
import threading

import lspci
import margay_run
import node
import numa
import pytest
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
    assert not done.lines("nobody cared|Disabling IRQ|transmit queue .* timed out|qc timeout")


def test_refused():
    """A line is one VM's; a function with no other interrupt is of no use to the second."""
    lines = {"memory": "96M", "memory_map": "identity", "on_end": "stop", "cpus": "1"}
    vms = {name + ".conf": node.vm_text("qemu", "", **dict(lines, name=name, pci=address))
           for name, address in (("first", "00:06.0"), ("second", "00:0a.0"))}
    iso = node.margay_iso("intx-refused", vms, {"kernel": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd")})
    extra = CARD + ["-netdev", "user,id=net0", "-netdev", "user,id=net1", "-device", "e1000,netdev=net1,addr=a"]
    with node.start("intx-refused", "qemu", iso, memory="512M", cpus=2, extra=extra) as running:
        running.expect(r"second: second\.conf:\d+: pci: 00:0a\.0 is of no use without its line interrupt: it is another VM's or "
                       "the host's own, too")
        running.expect(r"Linux version")
        assert not re.search(r"first: .*pci: .* without", running.text)


def test_node_of_root():
    """Three root buses: the guest's nodes of their functions are the machine's, or what pci_node says of one without any; and
    firmware's windows are known."""
    roots = ["-device", "pxb-pcie,id=far,bus=pcie.0,bus_nr=128,numa_node=1", "-device", "pcie-root-port,id=below,bus=far,slot=1",
             "-drive", "if=none,id=data,format=raw,file=" + passthrough.make_disk("intx-node"),
             "-device", "nvme,drive=data,serial=margay,bus=below", "-device", "pci-testdev,bus=pcie.0,addr=7",
             "-device", "pxb-pcie,id=near,bus=pcie.0,bus_nr=144", "-device", "pcie-root-port,id=under,bus=near,slot=2",
             "-device", "pci-testdev,bus=under"]
    with numa.Machine("2,sockets=2,cores=1", [numa.Node("0", "768M"), numa.Node("1", "768M")]) as machine:
        iso = node.margay_iso(
            "intx-node", {"vm0.conf": node.vm_text("qemu", "margay.test=pci margay.drivers=nvme margay.disk=nvme0n1",
                                                   memory="640M", memory_map="identity", cpus="2",
                                                   pci="class:0108, 1b36:0005", pci_node="91:00.0 1")},
            {"kernel": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd-drivers")}, cmdline="loglevel=debug",
        )
        extra = machine.arguments + roots
        with node.start("intx-node", "qemu", iso, memory=machine.memory, cpus=machine.cpus, extra=extra) as running:
            done = node.finish(running)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(r"margay-pci: 0000:[0-9a-f]+:00\.0 0x1b36 0x0010 driver=nvme node=1"), done.lines("^margay-pci: ")
    assert done.has_line(r"margay-pci: 0000:00:07\.0 0x1b36 0x0005 driver= node=-1"), done.lines("^margay-pci: ")
    assert done.has_line(r"margay-pci: 0000:91:00\.0 0x1b36 0x0005 driver= node=1"), done.lines("^margay-pci: ")
    for root, home, buses in (("00", -1, "0-0x7f"), ("80", 1, "0x80-0x81"), ("90", -1, "0x90-0x91")):
        for what in ("node %d$" % home, "buses %s$" % buses, "memory 0x", "ports 0x" if root == "00" else ""):
            assert done.lines("^margay: pci: root 0000:%s: %s" % (root, what)), done.lines("pci: root")


@pytest.mark.full
def test_lspci():
    """The devices that Bochs has, by QEMU's models of them, since natively Bochs boots no kernel in time: as they are without
    Margay, but for what lspci.py says."""
    extra = ["-netdev", "user,id=net0,restrict=on", *CARD, "-device", "qemu-xhci,addr=9"]
    words = "margay.test=pci-data margay.drivers=e1000,xhci_pci"
    iso = node.image("native-lspci", "--linux", node.guest_file("vmlinuz"), "--initrd", node.guest_file("initrd-drivers"),
                     "--cmdline", "console=ttyS0 panic=-1 " + words)
    with node.start("native-lspci", "qemu", iso, extra=extra, native=True) as running:
        bare = node.finish(running)
    done = node.run_guest("lspci", "qemu", words, initrd="initrd-drivers", extra=extra,
                          vm={"pci": "8086:100e, class:0c03", "memory_map": "identity"})
    assert bare.outcome.status == done.outcome.status == margay_run.OK, done.outcome.text
    for function in ("00:06.0", "00:09.0"):
        assert "Kernel driver in use: " in lspci.block(done.text, "margay-lspci", function)
        differences = lspci.compare(bare.text, done.text, function)
        assert not differences, "\n".join([function] + differences)


class Server(socketserver.ThreadingTCPServer):
    """The other end of a network that reaches this machine: sends a file, or keeps what it gets."""

    def __init__(self, data=None):
        self.data, self.got = data, b""
        super().__init__(("127.0.0.1", 0), None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *exc):
        self.shutdown()
        super().__exit__(*exc)

    @property
    def port(self):
        return self.server_address[1]

    def finish_request(self, request, client_address):
        if self.data is not None:
            request.sendall(self.data)
            return
        part = request.recv(1 << 16)
        while part and len(self.got) < SENT:
            self.got += part
            part = len(self.got) < SENT and request.recv(1 << 16)


class Bochs:
    """VT-x: a card and a disk on USB, both by line interrupts, with DMA; the routing is the registers' of a PIIX. What came
    of it (done), and the files' sums beside it. pci: which of the two the VM has."""

    def __init__(self, name, words, pci="8086:100e, class:0c03", **vm):
        self.image = passthrough.make_disk(name + "-bochs")
        # What a Bochs that was killed has left behind.
        if os.path.exists(self.image + ".lock"):
            os.remove(self.image + ".lock")
        self.before = passthrough.sha256(self.image)
        data = random.Random("intx-bochs").randbytes(1 << 20)
        self.down = hashlib.sha256(data).hexdigest()
        with Server(data) as down, Server() as up:
            devices = [
                "pci: enabled=1, chipset=i440fx, slot1=e1000, slot2=usb_xhci",
                "e1000: enabled=1, mac=52:54:00:12:34:56, ethmod=slirp",
                'usb_xhci: enabled=1, port3=disk, options3="speed:high, path:%s"' % self.image,
            ]
            self.done = node.run_guest(
                name, "bochs", "margay.test=pci margay.drivers=e1000,sd_mod,usb_storage,xhci_pci margay.peer=10.0.2.2:%d:%d " % (
                    down.port, up.port) + ("margay.net=eth0 " if "8086:100e" in pci else "")
                + ("margay.disk=sda " if "class:0c03" in pci else "") + words,
                initrd="initrd-drivers", extra=devices, vm={"pci": pci, **vm})
            self.got = up.got

    def check(self):
        facts = self.done.facts
        assert self.done.outcome.status == margay_run.OK, self.done.outcome.text
        assert facts["down"].split()[0] == self.down
        assert facts["up"].split()[0] == hashlib.sha256(self.got).hexdigest()
        for action in ("eth0", "xhci"):
            assert sum(lines_of(self.done, action).values()) > 100, self.done.lines("^margay-interrupt: ")
        assert facts["sum"].split()[0] == self.before
        assert passthrough.sha256(self.image, 4 << 20) == facts["wrote"].split()[0]


@pytest.mark.full
def test_bochs():
    Bochs("intx", "", memory_map="identity").check()
