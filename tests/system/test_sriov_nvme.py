# SPDX-License-Identifier: GPL-2.0-only
"""SR-IOV: QEMU's nvme in one VM, its virtual functions, which are controllers of the same disk, in others."""

import re

import iommu
import monitor_console
import node
import passthrough
import pytest
import sriov


@pytest.mark.full
def test_disk():
    """The VM with virtual function 1 reads and writes the disk, by the checksum of the file behind it. Its controller is online
    before its driver comes: the card's VM does that."""
    file = passthrough.make_disk("sriov-nvme")
    before = passthrough.sha256(file)
    common = {"initrd": "initrd", "memory": "256M", "dma": "iommu"}
    vms = {
        "a.conf": node.vm_text("qemu", "margay.test=nvme-pf margay.vfs=2", **common, name="a", pci="00:06.0", vfs="2", cpus="1-1"),
        "b.conf": node.vm_text("qemu", "margay.test=pci margay.drivers=nvme margay.disk=nvme0n1", **common, name="b",
                               pci="vf:00:06.0:1", cpus="2-2", on_end="stop"),
    }
    device = ["-device", "nvme-subsys,id=both", "-device",
              "nvme,id=nvme,serial=margay,subsys=both,addr=6,max_ioqpairs=8,msix_qsize=9,sriov_max_vfs=2,sriov_vq_flexible=4,"
              "sriov_vi_flexible=4", "-drive", "if=none,id=data,format=raw,file=" + file,
              "-device", "nvme-ns,drive=data,bus=nvme,nsid=1,shared=on"]
    with sriov.start("nvme", vms, [*iommu.UNIT["caching"], *device]) as running:
        monitor_console.whole_lines(running)
        running.expect(r"b: end=")
        done = node.Run(running, monitor_console.Console(running).end())
    a, b = done.of("a"), done.of("b")
    assert a.lines(r"^margay-virt-mgmt: controller [12]: 0 0 0$"), a.lines("margay-virt-mgmt")
    assert b.lines(r"^margay-pci: 0000:00:06\.2 0x1b36 0x0010 driver=nvme "), b.lines("^margay-pci")
    assert b.facts["sum"].split()[0] == before
    assert b.facts["read"].split()[0] == b.facts["wrote"].split()[0]
    assert passthrough.sha256(file, 4 << 20) == b.facts["wrote"].split()[0]
    counts = re.findall(r"^margay-interrupt: +\d+: +(\d+) .*nvme0q", b.text, re.M)
    assert sum(int(n) for n in counts) > 10, b.lines("^margay-interrupt: ")
    assert iommu.blocked(done) == []
