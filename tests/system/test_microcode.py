# SPDX-License-Identifier: GPL-2.0-only
"""Microcode from boot modules, made here with headers and checksums that are right: what each is worth, and that the node goes on.

No emulator takes an update: that the CPU still has its own revision afterwards is seen, and said. Loading itself is unproven.

What is found in files of microcode: test_microcode.c. What the CPUs' registers get: test_microcode_load.c.
"""

import os
import struct

import node
import pytest
import tiny

CPU = {"qemu": 0x663, "bochs": 0x306c3}  # CPUID 1 EAX


def intel(signature, revision, size=512):
    """An update for all platforms."""
    update = struct.pack("<12I", 1, revision, 0x11232026, signature, 0, 1, 0, size, size + 48, 0, 0, 0) + b"\x5a" * size
    total = sum(struct.unpack("<%dI" % (len(update) // 4), update)) & 0xffffffff
    return update[:16] + struct.pack("<I", -total & 0xffffffff) + update[20:]


def amd(signature, revision):
    """A container with a table of one CPU and its patch, which is not aligned."""
    patch = struct.pack("<6IH", 0x11232026, revision, 0, 0, 0, 0, 0x1234) + bytes(998)
    table = struct.pack("<3I2H", signature, 0, 0, 0x1234, 0) + bytes(16)
    return b"DMA\0" + b"".join(struct.pack("<2I", kind, len(part)) + part for kind, part in enumerate((table, patch)))


@pytest.mark.parametrize("machine", ("qemu", "bochs"))
def test_modules(machine):
    mine, other = (amd, intel) if machine == "qemu" else (intel, amd)
    good = mine(CPU[machine], 0x7fffff00)
    files = {"good": good, "less": mine(CPU[machine], 0x7ffffe00), "cut": good[:-1], "other": other(CPU[machine], 5),
             "stranger": mine(0x12345, 5), "text": b"name = vm0\n"}
    if machine == "qemu":
        files["old"] = mine(CPU[machine], 1)
    guest = tiny.Guest("hypercall", machine)
    name = "microcode-" + machine
    modules = {guest.name: tiny.elf(guest.name)}
    os.makedirs(os.path.join(node.BUILD, "iso", name), exist_ok=True)
    for file, content in files.items():
        path = modules["microcode:" + file] = os.path.join(node.BUILD, "iso", name, file + ".bin")
        with open(path, "wb") as f:
            f.write(content)
    iso = node.margay_iso(name, {"hypercall.conf": guest.vm(last=True)}, modules, check=False)
    with node.start(name, machine, iso, cpus=2, memory="256M") as running:
        done = node.Run(running, running.wait())
    assert tiny.judge(guest, done.text) == []
    said = dict(line.split(": ", 2)[1:] for line in done.lines("^margay: microcode:"))
    assert set(said) == {"microcode:" + file for file in files if file != "less"}
    assert said["microcode:cut"] == "it ends too early: ignored"
    assert said["microcode:other"] == "it is for %s's CPUs: ignored" % ("Intel" if machine == "qemu" else "AMD")
    assert said["microcode:stranger"] == "nothing for this CPU (CPUID 1 EAX %#x): ignored" % CPU[machine]
    assert said["microcode:text"] == "neither Intel's updates nor AMD's container: ignored"
    has = "0x1000065" if machine == "qemu" else "0"
    assert said["microcode:good"] == "the CPU does not take revision 0x7fffff00, it has " + has
    if machine == "qemu":
        assert said["microcode:old"] == "revision 0x1, the CPU has %s: ignored" % has
    assert not done.lines("the boot CPU's is")
