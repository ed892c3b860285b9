# SPDX-License-Identifier: GPL-2.0-only
"""A VM with 64 PCI functions, the most that it can have: named by parts that meet, all there for Debian's drivers, and the last of
them, a disk, read and written by checksum. Two more are refused in a line. More line interrupts than the guest has pins: no machine
of ours has them; test_ioapic.c."""

import margay_run
import node
import passthrough
import pytest

# Of eight devices, which are full but for one: virtio's, which keep to themselves until a driver takes them.
OTHERS = [(0x10 + n // 8, n % 8) for n in range(63)]
ID, CLASS = "1af4:1044", "class:00ff"


def arguments(image):
    words = ["-drive", "if=none,id=data,format=raw,file=" + image, "-device", "nvme,drive=data,serial=margay,addr=6"]
    for device, function in OTHERS:
        words += ["-device", "virtio-rng-pci,disable-legacy=on,addr=%#x.%u,multifunction=on" % (device, function)]
    return words


@pytest.mark.full
def test_64_functions():
    image = passthrough.make_disk("pass-many")
    before = passthrough.sha256(image)
    run = passthrough.run("pass-many", arguments(image), {"pci": "%s, 00:10.3, %s, 00:06.0" % (ID, CLASS), "cpus": "2"},
                          "margay.test=pci margay.drivers=virtio_pci,nvme margay.disk=nvme0n1")
    assert run.outcome.status == margay_run.OK, run.outcome.text
    found = {line.split()[1]: line.split()[4] for line in run.lines("^margay-pci: ")}
    assert {at for at, driver in found.items() if driver == "driver=virtio-pci"} == {"0000:00:%02x.%u" % at for at in OTHERS}
    assert found["0000:00:06.0"] == "driver=nvme"
    assert run.facts["sum"].split()[0] == before
    assert run.facts["read"].split()[0] == run.facts["wrote"].split()[0]
    assert passthrough.sha256(image, 4 << 20) == run.facts["wrote"].split()[0]


def test_65_functions():
    vm = node.vm_text("qemu", "", pci="00:06.0, " + CLASS, memory_map="identity", memory=passthrough.MEMORY)
    iso = node.margay_iso("pass-too-many", {"vm0.conf": vm},
                          {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")})
    more = ["-device", "virtio-rng-pci,disable-legacy=on,addr=0x1d"]
    with node.start("pass-too-many", "qemu", iso, extra=arguments(passthrough.make_disk("pass-too-many")) + more) as running:
        running.expect(r"^vm0: vm0\.conf:\d+: pci: expected at most 64 functions\r?$")
        running.expect(r"^margay: node: end=idle vms=1 failed=1\r?$")
