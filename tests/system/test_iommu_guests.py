# SPDX-License-Identifier: GPL-2.0-only
"""Linux guests behind an IOMMU: one that reboots and is restarted with a disk of its own, by checksums; one whose program drives a
device by the physical addresses of its own memory.

A Linux guest with an nvme by `dma = iommu` reboots twice and is restarted while it reads (full tier); a program
drives `edu` by sysfs and by the physical addresses of its own memory, as UIO drivers do: right, and silent with `dma
= window`.
"""

import re

import amdvi
import edu_device
import iommu
import margay_run
import monitor_console
import node
import passthrough
import pytest

UNITS = {"vtd": (iommu.UNIT["caching"], iommu.ON), "amdvi": (amdvi.UNIT, amdvi.ON)}
ALL = ["vtd", pytest.param("amdvi", marks=pytest.mark.full)]


@pytest.mark.full
@pytest.mark.parametrize("unit", UNITS)
def test_restarts(unit):
    """It reboots by itself, twice, and is restarted by the operator as it reads; each time it finds what was written before."""
    arguments, drivers, disk, vectors = passthrough.DEVICES["nvme"]
    name, extra, on = "iommu-restarts-" + unit, *UNITS[unit]
    file = passthrough.make_disk(name)
    text = node.vm_text("qemu", "margay.test=pci margay.end=reboot margay.drivers=%s margay.disk=%s" % (drivers, disk),
                        memory=passthrough.MEMORY, cpus="2", pci="00:06.0", dma="iommu", on_end=None, on_reboot="restart")
    iso = node.margay_iso(name, {"vm0.conf": text}, {"kernel": node.guest_file(node.KERNEL),
                                                     "initrd": node.guest_file("initrd-drivers")})
    extra = extra + ["-drive", "if=none,id=data,format=raw,file=" + file] + arguments
    with node.start(name, "qemu", iso, memory="1G", cpus=2, extra=extra) as running:
        found = []

        def sum_of():
            return running.expect(r"^margay-test: sum: (\w+)")[1]

        for _ in range(2):
            before = passthrough.sha256(file)
            found.append((sum_of(), before))
            wrote = running.expect(r"^margay-test: wrote: (\w+)")[1]
            found.append((passthrough.sha256(file, 4 << 20), wrote))
            running.expect(r"^vm0: restart \d+")
        found.append((sum_of(), passthrough.sha256(file)))
        console = monitor_console.Console(running)
        console.call()
        running.send("vm restart vm0\r")
        running.expect(r"^vm0: end=stopped")
        before = passthrough.sha256(file)
        running.expect("^vm0: memory: ")
        running.send("vm console vm0\r")
        running.expect("^Console of vm0")
        found.append((sum_of(), before))
        running.expect(r"^margay-interrupt: .*" + vectors)
        console.call()
        run = node.Run(running, console.end())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line(on)
    assert found == [(b, b) for _, b in found] and len({b for _, b in found}) >= 4, found
    assert run.lines("blocked") == []


def user_dma(name, unit, dma, **keys):
    return node.run_guest(
        name, "qemu", "margay.test=user-dma margay.function=0000:00:09.0", memory="1G",
        vm={"pci": "1234:11e8", "cpus": "1", "memory": "256M", "dma": dma, **keys}, extra=UNITS[unit][0] + edu_device.EDU)


@pytest.mark.parametrize("unit", ALL)
def test_driver_in_user_space(unit):
    """The device reads and writes where the program says, by the guest's own physical addresses; they are not the host's."""
    done = user_dma("user-dma-" + unit, unit, "iommu")
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(UNITS[unit][1])
    assert done.facts["user-dma"] == "right"
    assert all(at != to for at, to in re.findall(r"^vm0: memory: .*: (\S+) is at (\S+)$", done.text, re.M))
    assert done.lines("blocked") == []


def test_driver_in_user_space_control():
    """With `dma = window` nobody has confirmed anything: nothing arrives."""
    done = user_dma("user-dma-window", "vtd", "window")
    assert done.facts["user-dma"] == "wrong, 0"
    assert done.has_line(r"vm0: pci: 00:09\.0 stays silent: .*")
