# SPDX-License-Identifier: GPL-2.0-only
"""Virtual disks and consoles by Debian's own virtio drivers: a boot module that VMs read by checksum, memory that one writes, the
console hvc0 in both directions, and how many exits that takes."""

import hashlib
import re

import margay_run
import node
import pytest
import test_passthrough as passthrough

SIZE = (8 << 20) + 700  # the last sector is not whole
SCRATCH = 32 << 20


def elf():
    return node.variant("virtio", "VIRTIO=y")


def module():
    path = passthrough.make_disk("virtio", SIZE)
    with open(path, "rb") as f:
        return path, hashlib.sha256(f.read() + bytes(-SIZE % 512)).hexdigest()


def vm_text(machine, words, **keys):
    lines = {"on_end": None, "on_poweroff": "stop", "disk": "root"}
    lines.update(keys)
    return node.vm_text(machine, "margay.test=virtio " + words, **lines)


def image(name, machine, vms):
    path, _ = module()
    return node.margay_iso(
        "%s-%s" % (name, machine), vms,
        {"kernel": node.guest_file(node.KERNEL[machine]), "initrd": node.guest_file("initrd-drivers"), "root": path}, elf=elf())


def check_disk(facts, disk="vda"):
    _, total = module()
    assert facts[disk] == "%d sectors, ro 1, root, write through" % -(-SIZE // 512)
    assert facts[disk + "-sum"].split()[0] == facts[disk + "-again"].split()[0] == total
    assert disk + "-written" not in facts


def check_scratch(facts, disk="vdb"):
    assert facts[disk].startswith("%d sectors, ro 0, scratch, write back" % (SCRATCH // 512))
    assert facts[disk + "-sum"].split()[0] == hashlib.sha256(bytes(SCRATCH)).hexdigest()
    assert facts[disk + "-wrote"] == facts[disk + "-read"]


@pytest.mark.parametrize("interrupts", ["direct", "emulated"])
def test_one(interrupts):
    text = vm_text("qemu", "margay.disks=2 margay.hvc=3000", interrupts=interrupts, console="virtio", memory="256M")
    iso = image("virtio-" + interrupts, "qemu", {"vm0.conf": text + "disk = scratch:32M\n"})
    with node.start("virtio-" + interrupts, "qemu", iso) as running:
        running.expect("^margay-test: listens\r?$")
        running.send("typed to hvc0\r")
        run = node.finish(running)
    print(run.text[-6000:])
    assert run.outcome.status == margay_run.OK, run.outcome.text
    check_disk(run.facts)
    check_scratch(run.facts)
    assert re.findall(r"^hvc-line (\d+)$", run.text, re.MULTILINE) == ["%04d" % n for n in range(1, 3001)]
    assert run.facts["typed"] == "typed to hvc0"
