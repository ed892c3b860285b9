# SPDX-License-Identifier: GPL-2.0-only
"""A Linux guest on Bochs with a network card and a disk on USB, both passed through."""

import hashlib
import os
import random

import margay_run
import netdev
import node
import passthrough


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
        with netdev.Server(data) as down, netdev.Server() as up:
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
            assert sum(passthrough.lines_of(self.done, action).values()) > 100, self.done.lines("^margay-interrupt: ")
        assert facts["sum"].split()[0] == self.before
        assert passthrough.sha256(self.image, 4 << 20) == facts["wrote"].split()[0]
