# SPDX-License-Identifier: GPL-2.0-only
"""What has no test of its own elsewhere on the machines whose processor is KVM: what Margay sees there, and a network card.
Most of what these machines run are cases of the other files' tests.
"""

import dma_windows
import iommu
import margay_run
import netdev
import node
import passthrough
import pytest
import tiny

SLOW = [pytest.mark.slow, pytest.mark.full]
# The other end is programs of the node's host: what is on its disk comes, what goes out is written there.
NETWORK = "user,id=net0,restrict=on,guestfwd=tcp:10.0.2.100:80-cmd:/bin/fetch,guestfwd=tcp:10.0.2.101:80-cmd:/bin/store"
# Interrupts are remapped where the node's QEMU has the I/O APIC, not KVM.
SPLIT = ["-machine", "kernel-irqchip=split"]


@pytest.mark.full
def test_node_that_does_not_start():
    """The host ends well, and all the same the run has not: the verdict is the word of the node's QEMU."""
    iso = node.margay_iso("nested-none", {"hypercall.conf": tiny.Guest("hypercall", "nested-svm").vm(last=True)},
                          {"hypercall": tiny.elf("hypercall")})
    with node.start("nested-none", "nested-svm", iso, memory="256M", extra=["-device", "nonsense"]) as running:
        outcome = running.wait()
    assert outcome.status == margay_run.DIED and "QEMU ended with status 1" in outcome.text, outcome


@pytest.mark.parametrize("machine", [pytest.param(machine, marks=SLOW) for machine in node.NESTED])
def test_card(machine):
    """igb with MSI-X, by its windows: TCP both ways, compared with the file behind the host's disk."""
    disk = passthrough.make_disk("nested-card-" + machine)
    before = passthrough.sha256(disk)
    keys = {"memory": "512M", "cpus": "2", "initrd": "initrd", "pci": "00:06.0", "dma": "window"}
    iso = node.margay_iso(
        "nested-card-" + machine,
        {"vm0.conf": node.vm_text(machine, "margay.test=pci margay.drivers=igb margay.net=eth0 margay.guest=yes", **keys)},
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")})
    extra = ["-drive", "if=none,id=data,format=raw,file=" + disk, "-netdev", NETWORK, "-device", "igb,netdev=net0,addr=6"]
    with node.start("nested-card", machine, iso, memory="1G", cpus=2, extra=extra) as running:
        done = node.finish(running)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    dma_windows.check_windows(done)
    assert done.facts["carrier"] == "1"
    assert done.facts["down"].split()[0] == before
    assert done.facts["up"].split()[0] == passthrough.sha256(disk, netdev.SENT)
    assert sum(passthrough.interrupts(done, "eth0")) > 10, done.lines("^margay-interrupt: ")


@pytest.mark.parametrize("machine", [pytest.param(machine, marks=SLOW) for machine in node.NESTED])
def test_disk_behind_vtd(machine):
    """Two vCPUs, nvme with MSI-X, and the VT-d that QEMU has for any CPU: an unmodified guest with memory anywhere."""
    arguments, drivers, disk, vectors = passthrough.DEVICES["nvme"]
    file = passthrough.make_disk("nested-vtd-" + machine)
    before = passthrough.sha256(file)
    done = passthrough.run(
        "nested-vtd", SPLIT + iommu.UNIT["plain"] + ["-drive", "if=none,id=data,format=raw,file=" + file] + arguments,
        {"pci": "00:06.0", "cpus": "2", "memory_map": None, "dma": "iommu"},
        "margay.test=pci margay.drivers=%s margay.disk=%s" % (drivers, disk), machine)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(iommu.ON)
    assert done.facts["sum"].split()[0] == before
    assert done.facts["read"].split()[0] == done.facts["wrote"].split()[0]
    assert passthrough.sha256(file, 4 << 20) == done.facts["wrote"].split()[0]
    assert sum(passthrough.interrupts(done, vectors)) > 10, done.lines("^margay-interrupt: ")
    assert done.lines("DMA blocked") == []
