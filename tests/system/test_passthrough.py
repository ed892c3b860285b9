# SPDX-License-Identifier: GPL-2.0-only
"""PCI functions of the node in a stock guest: Debian's own drivers on real
(QEMU's) devices. What a disk holds is compared with the file behind it, in
both directions; by how many interrupts it came the guest's kernel counts.
"""

import hashlib
import os
import random
import re

import margay_run
import node
import pytest

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
        {"kernel": node.guest_file(node.KERNEL[machine]), "initrd": node.guest_file("initrd-drivers")}, elf=elf,
    )
    with node.start(name, machine, iso, memory="1G", cpus=int(lines.get("cpus", 1)), extra=arguments) as running:
        return node.finish(running)


def interrupts(done, action):
    """How many the guest's kernel counted on vectors whose name begins so, by CPU."""
    counts = [[int(n) for n in line.split(":", 2)[2].split()[:2]] for line in done.lines("^margay-interrupt: ")
              if re.search(r"-edge +" + action, line)]
    return [sum(column) for column in zip(*counts)]


@pytest.mark.parametrize("machine, kind", [
    *(("qemu", kind) for kind in DEVICES),
    *(pytest.param(machine, "nvme", marks=[pytest.mark.slow, pytest.mark.full]) for machine in node.NESTED)])
def test_disk(machine, kind):
    arguments, drivers, disk, vectors = DEVICES[kind]
    image = make_disk("pass-" + kind)
    before = sha256(image)
    done = run(
        "pass-" + kind, ["-drive", "if=none,id=data,format=raw,file=" + image] + arguments, {"pci": "00:06.0", "cpus": "2"},
        "margay.test=pci margay.drivers=%s margay.disk=%s" % (drivers, disk), machine,
    )
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["sum"].split()[0] == before
    assert done.facts["read"].split()[0] == done.facts["wrote"].split()[0]
    # QEMU's file, not the guest, says what was written.
    assert sha256(image, 4 << 20) == done.facts["wrote"].split()[0]
    assert sum(interrupts(done, vectors)) > 10, done.lines("^margay-interrupt: ")
