# SPDX-License-Identifier: GPL-2.0-only
"""The VM files of docs/first-boot.md boot as they stand there, on a node of QEMU's with an NVMe and a network card: by identity, by
an IOMMU, by windows.

What is added is the test that the guest runs; the file's root file system is not asked for. The disk is whole by its checksum, by
what the guest wrote, and both functions have their drivers.
"""

import margay_pages
import margay_run
import node
import passthrough
import pytest
import remapping

CARD = ["-netdev", "user,id=net0", "-device", "e1000e,netdev=net0,addr=7"]
WORDS = " panic=-1 loglevel=5 margay.test=pci margay.drivers=nvme,e1000e margay.disk=nvme0n1"
GUEST = "margay-guest.cpio"


def file_of(name):
    text, = (block.text for block in margay_pages.all_blocks()
             if (block.page, block.kind, block.name) == ("first-boot", "conf", name))
    return text


@pytest.mark.full
@pytest.mark.parametrize("dma, unit", [("identity", []), ("iommu", remapping.WIDE), ("window", [])])
def test_boots(dma, unit):
    text = file_of(dma + ".conf")
    assert "dma         = %s\n" % dma in text
    disk = passthrough.make_disk("first-boot-" + dma)
    before = passthrough.sha256(disk)
    modules = {"vmlinuz": node.guest_file(node.KERNEL), "initrd.img": node.guest_file("initrd-drivers")}
    if dma == "window":
        modules[GUEST] = node.guest_file(GUEST)
    iso = node.margay_iso("first-boot-" + dma, {"node.conf": text.replace(" ro\n", " ro" + WORDS + "\n")}, modules)
    extra = unit + ["-drive", "if=none,id=data,format=raw,file=" + disk] + passthrough.DEVICES["nvme"][0] + CARD
    with node.start("first-boot-" + dma, "qemu", iso, cpus=2, extra=extra) as running:
        done = node.finish(running)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["sum"].split()[0] == before
    assert passthrough.sha256(disk, 4 << 20) == done.facts["wrote"].split()[0] == done.facts["read"].split()[0]
    for driver in "nvme", "e1000e":
        assert done.lines("^margay-pci: .* driver=%s " % driver), done.lines("^margay-pci: ")
    assert done.has_line("node: end=poweroff") and not done.lines("DMA blocked")
