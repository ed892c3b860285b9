# SPDX-License-Identifier: GPL-2.0-only
"""PCI functions of the node in a stock guest: QEMU's disks, Debian's drivers for them, the guest's run, and the interrupts that
its kernel counted."""

import hashlib
import itertools
import os
import random
import re

import node

DISK = 16 << 20
MEMORY = "512M"

# QEMU's arguments for a device at 00:06.0 with a disk; Debian's drivers; the disk; the vectors that the kernel shows.
DEVICES = {
    "nvme": (["-device", "nvme,drive=data,serial=margay,addr=6"], "nvme", "nvme0n1", "nvme0q"),
    "ahci": (["-device", "ich9-ahci,id=sata,addr=6", "-device", "ide-hd,drive=data,bus=sata.0"], "ahci,sd_mod", "sda", "ahci"),
}


def make_disk(name, size=DISK):
    """A file of random contents, the same each time."""
    os.makedirs(os.path.join(node.BUILD, "disks"), exist_ok=True)
    path = os.path.join(node.BUILD, "disks", name + ".img")
    with open(path, "wb") as f:
        f.write(random.Random(name).randbytes(size))
    return path


def sha256(path, size=-1):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read(size)).hexdigest()


def run(name, arguments, keys, cmdline, machine="qemu", elf=None):
    lines = {"memory": MEMORY, "memory_map": "identity", "initrd": "initrd"}
    lines.update(keys)
    iso = node.margay_iso(
        name, {"vm0.conf": node.vm_text(machine, cmdline, **lines)},
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")}, elf=elf,
    )
    with node.start(name, machine, iso, memory="1G", cpus=int(lines.get("cpus", 1)), extra=arguments) as running:
        return node.finish(running)


def interrupts(done, action):
    """How many the guest's kernel counted on vectors whose name begins so, by CPU."""
    counts = [[int(n) for n in line.split(":", 2)[2].split()[:2]] for line in done.lines("^margay-interrupt: ")
              if re.search(r"-edge +" + action, line)]
    return [sum(column) for column in zip(*counts)]


def lines_of(done, action):
    """{input of the guest's I/O APIC: interrupts} of the level-triggered ones that a driver has."""
    found = {}
    for line in done.lines("^margay-interrupt: "):
        counts = itertools.takewhile(str.isdigit, line.split(":", 2)[2].split())
        match = re.search(r"IO-APIC +(\d+)-fasteoi +(.*)", line)
        if match and re.search(action, match[2]):
            found[int(match[1])] = sum(int(n) for n in counts)
    return found
