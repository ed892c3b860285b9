# SPDX-License-Identifier: GPL-2.0-only
"""PCI functions of the node in a stock guest: Debian's own drivers on real
(QEMU's) devices. What a disk holds is compared with the file behind it, in
both directions; by how many interrupts it came the guest's kernel counts.

Debian's nvme (MSI-X) and ahci (MSI) drivers on QEMU's devices: all of a disk by its checksum, what the guest wrote by
QEMU's own file, interrupts as the guest counts them;
"""


import margay_run
import node
import passthrough
import pytest


@pytest.mark.parametrize("machine, kind", [
    *(("qemu", kind) for kind in passthrough.DEVICES),
    *(pytest.param(machine, "nvme", marks=[pytest.mark.slow, pytest.mark.full]) for machine in node.NESTED)])
def test_disk(machine, kind):
    arguments, drivers, disk, vectors = passthrough.DEVICES[kind]
    image = passthrough.make_disk("pass-" + kind)
    before = passthrough.sha256(image)
    done = passthrough.run(
        "pass-" + kind, ["-drive", "if=none,id=data,format=raw,file=" + image] + arguments, {"pci": "00:06.0", "cpus": "2"},
        "margay.test=pci margay.drivers=%s margay.disk=%s" % (drivers, disk), machine,
    )
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["sum"].split()[0] == before
    assert done.facts["read"].split()[0] == done.facts["wrote"].split()[0]
    # QEMU's file, not the guest, says what was written.
    assert passthrough.sha256(image, 4 << 20) == done.facts["wrote"].split()[0]
    assert sum(passthrough.interrupts(done, vectors)) > 10, done.lines("^margay-interrupt: ")
