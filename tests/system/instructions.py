# SPDX-License-Identifier: GPL-2.0-only
"""The instructions that a node executes, the hypervisor's and others', counted from outside by QEMU's plugin (qemu_code.c)."""

import os
import re
import struct
import subprocess

import node

PLUGIN = os.path.join(node.BUILD, "qemu_code.so")
COUNTER = struct.Struct("<QQ")  # struct counters of qemu_code.c
LONG = 10**7  # instructions of a guest
CPUS = 4
SETTLE = 200  # looks


class Counted:
    """(the hypervisor's, others') instructions of each CPU of a running node."""

    def __init__(self, name, elf=os.path.join(node.BUILD, "margay.elf")):
        self._file = os.path.join(node.BUILD, name + ".counts")
        text = subprocess.run(["nm", elf], capture_output=True, text=True, check=True).stdout
        image = {n: int(a, 16) for a, n in re.findall(r"^(\w+) \w (image_start|image_end)$", text, re.MULTILINE)}
        self.arguments = ["-plugin", "%s,out=%s,code=%#x-%#x" % (PLUGIN, self._file, image["image_start"], image["image_end"])]

    def look(self):
        with open(self._file, "rb") as f:
            return list(COUNTER.iter_unpack(f.read(CPUS * COUNTER.size)))

    def meanwhile(self, running, guests):
        """What the hypervisor executes, by CPU, while each of these CPUs executes LONG instructions of its guest."""
        before = now = self.look()
        while any(now[cpu][1] < before[cpu][1] + LONG for cpu in guests):
            assert running.poll() is None
            now = self.look()
        return [b[0] - a[0] for a, b in zip(before, now)]

    def settled(self, running, guests):
        """Waits until no CPU has anything more to do in the hypervisor; then what they did for as long again."""
        for _ in range(SETTLE):
            done = self.meanwhile(running, guests)
            if not any(done):
                return self.meanwhile(running, guests)
        raise AssertionError("never quiet: %s" % done)
