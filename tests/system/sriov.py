# SPDX-License-Identifier: GPL-2.0-only
"""Nodes with QEMU's SR-IOV card igb: where the card is, the image, VM files that name it."""

import node


class Place:
    """Where the card is: QEMU's words for that, and its requester ID."""

    def __init__(self, words, number):
        self.card = ["-netdev", "hubport,id=net0,hubid=0", *words]
        self.number = number
        self.pf = self.name(number)

    @staticmethod
    def name(number):
        return "0000-%02x-%02x-%d" % (number >> 8, number >> 3 & 31, number & 7)

    def vf(self, number):
        """An igb's VFs are 0x80 behind it, and 2 from each other."""
        return self.name(self.number + 0x80 + 2 * number)

    def files(self, text):
        """As VM files name the card."""
        return text.replace("00:08.0", "%02x:%02x.%d" % (self.number >> 8, self.number >> 3 & 31, self.number & 7))


ROOT = Place(["-device", "igb,netdev=net0,addr=8"], 0x40)


def start(name, vms, extra=(), modules=(), cpus=None, memory="2G", cmdline="", place=ROOT, **options):
    vms = {file: place.files(text) for file, text in vms.items()}
    iso = node.margay_iso("sriov-" + name, vms, {"kernel": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd-drivers"),
                                                 **dict(modules)}, cmdline)
    return node.start("sriov-" + name, "qemu", iso, cpus=cpus or len(vms) + 1, memory=memory, extra=[*extra, *place.card],
                      **options)
