# SPDX-License-Identifier: GPL-2.0-only
"""A guest with dma = window and its device: the run with QEMU's trace of configuration space, and which addresses each side says
that the device may use."""

import os
import re

import margay_run
import node
import numa
import passthrough

SILENT = r"vm0: pci: 00:06\.0 stays silent: with dma = window its guest must load margay-guest before the driver .*"
# Node 1 lies above 5 GiB: the guest's 4 GiB.
NUMA = [numa.Node("0", "3G"), numa.Node("1", "1G")]


def boot(name, devices, words, nodes=None, kernel=node.KERNEL, modules=(), **keys):
    """Boots Debian's kernel with what QEMU has at 00:06.0. modules: further boot modules."""
    lines = {"memory": "512M", "cpus": "2", "initrd": "initrd", "pci": "00:06.0", "dma": "window"}
    lines.update(keys)
    iso = node.margay_iso(
        "dma-" + name, {"vm0.conf": node.vm_text("qemu", words, **lines)},
        {"kernel": node.guest_file(kernel), "initrd": node.drivers_for(kernel), **dict(modules)})
    trace = os.path.join(node.LOGS, "dma-%s.trace" % name)
    extra = devices + ["-trace", "pci_cfg_write,file=" + trace]
    with numa.Machine("2,sockets=2,cores=1,threads=1", nodes or [numa.Node("0-1", "2G")]) as machine:
        with node.start("dma-" + name, "qemu", iso, memory=machine.memory, cpus=2, exits=False,
                        extra=extra + machine.arguments) as running:
            done = node.finish(running)
    with open(trace, encoding="ascii") as f:
        done.trace = f.read()
    return done


def run(name, kind, guest, nodes=None, test="pci", words="", unit=(), **options):
    """A guest with a disk; guest: which module its script loads; unit: the IOMMU before the disk. Returns what it said,
    the disk's file, and what that held."""
    arguments, drivers, disk, _ = passthrough.DEVICES[kind]
    image = passthrough.make_disk("dma-" + name)
    before = passthrough.sha256(image)
    words = "margay.test=%s margay.drivers=%s margay.disk=%s margay.guest=%s %s" % (test, drivers, disk, guest, words)
    devices = [*unit, "-drive", "if=none,id=data,format=raw,file=" + image, *arguments]
    return boot(name, devices, words, nodes, **options), image, before


def regions(done):
    """[(GPA, HPA, bytes)] by the hypervisor's own account."""
    return [(int(m[2], 16), int(m[3], 16), int(m[1]) << 20) for m in re.finditer(
        r"^vm\d: memory: (\d+)M on node \d+: (?:0x)?([0-9a-f]+) is at (?:0x)?([0-9a-f]+)$", done.text, re.MULTILINE)]


def windows(done):
    """The same by the guest's module."""
    return [tuple(int(word, 16) for word in line.split()[2:]) for line in done.lines("^margay-sys: windows ")]


def masters(done):
    """Bus Master Enable in each write to the command register of 00:06.0, by QEMU's trace: "0011...". From the
    hypervisor's first on, which is the first with INTx disabled; before, the firmware used the function."""
    writes = [int(v, 16) for v in re.findall(r"pci_cfg_write \S+ 00:06\.0 @0x4 <- (0x[0-9a-f]+)", done.trace)]
    first = next(i for i, value in enumerate(writes) if value & 0x400)
    return "".join("1" if value & 4 else "0" for value in writes[first:])


def check_disk(done, before, image):
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["sum"].split()[0] == before
    by_cpu = [line.split()[1:3] for line in done.lines("^margay-sum: ")]
    assert by_cpu == [["0", before], ["1", before]]
    assert done.facts["read"].split()[0] == done.facts["wrote"].split()[0]
    assert passthrough.sha256(image, 4 << 20) == done.facts["wrote"].split()[0]


def check_windows(done):
    """What the module knows is what the hypervisor has mapped, and the map is no identity."""
    ram = regions(done)
    assert len(ram) > 1 and all(gpa != hpa for gpa, hpa, _ in ram[1:])
    for gpa, hpa, size in ram:
        assert any(w[0] <= gpa and gpa + size <= w[0] + w[2] and hpa - gpa == w[1] - w[0] for w in windows(done))
    assert done.has_line("margay-sys: version " + re.search(r"margay: Margay (\S+), image ", done.text)[1])
