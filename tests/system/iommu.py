# SPDX-License-Identifier: GPL-2.0-only
"""Machines with QEMU's VT-d; guests whose device reaches where their VM has no memory."""

import re

import edu_device
import margay_run
import node
import qemu_monitor
import tiny

# It comes before the devices that it stands in front of. With caching mode also what was not there must be invalidated;
# without snoop control a bit of leaves is reserved, by which DMA would fail.
UNIT = {"plain": ["-device", "intel-iommu"], "caching": ["-device", "intel-iommu,caching-mode=on,snoop-control=on"]}
ON = "margay: iommu: VT-d, 1 of 1 units in use: DMA and interrupts contained"

FAR = 0xe000000000  # where SeaBIOS puts a BAR of 64 GiB


# Where no VM has memory; multiples of a page.
AT, READ = 0xa000000, 0xa400000
PATTERN = bytes.fromhex("21726f6761626160")
SECRET = 0x1122334455667788


def rogue(name, folder, dma, extra, times=1, words=""):
    """edu writes to AT and reads READ for a guest that has neither. Whether QEMU finds it at AT, what was read, the run."""
    text = tiny.Guest("rogue", "qemu").vm(last=True) + "dma = %s\n" % dma
    text = text.replace("cmdline = ", "cmdline = at=%d read=%d times=%d " % (AT, READ, times))
    iso = node.margay_iso(name, {"rogue.conf": text}, {"rogue": tiny.elf("rogue")}, words)
    extra = extra + edu_device.EDU + qemu_monitor.arguments(folder)
    extra += ["-device", "loader,addr=%#x,data=%#x,data-len=8" % (READ, SECRET)]
    with node.start(name, "qemu", iso, memory="256M", extra=extra) as running:
        running.expect(r"^rogue: wrote\r?$")
        found = qemu_monitor.Monitor(folder).memory(AT, 4096)
        assert found == PATTERN * 512 or PATTERN not in found
        running.send("x")
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("rogue: end=exit status=0") and run.has_line(r"tiny: rogue: ok checks=\d+"), run.text[-4000:]
    return PATTERN in found, int(re.search(r"^rogue: read (\w+)$", run.text, re.M)[1], 16), run


def blocked(run):
    return run.lines("DMA blocked")


def registers_of_others(name, folder, dma, own, gib, unit, words=""):
    """edu writes to the memory of ivshmem, which is its VM's or another's. Where to, whether it came there, the run."""
    file = str(folder / "memory")
    with open(file, "wb") as f:
        f.truncate(gib << 30)
    extra = unit + ["-device", "edu,addr=9,dma_mask=0xffffffffffffffff", "-device", "ivshmem-plain,memdev=far,addr=a",
                    "-object", "memory-backend-file,id=far,size=%dG,share=on,mem-path=%s" % (gib, file)]
    guest = tiny.Guest("p2p", "qemu")
    text = guest.vm(last=own) + "dma = %s\n" % dma
    vms = {"p2p.conf": text.replace("pci = 1234:11e8\n", "pci = 1234:11e8, 1af4:1110\n")}
    if not own:
        # By identity there would be no place for both.
        keeper = tiny.Guest("hypercall", "qemu").vm().replace("name = hypercall", "name = keeper").replace(
            "cpus = 1\n", "cpus = 1-1\n") + "pci = 1af4:1110\ndma = %s\n" % ("window" if words else "iommu")
        text = text.replace("cmdline = ", "cmdline = to=%d " % FAR) + "on_end = poweroff_node\n"
        vms = {"keeper.conf": keeper, "p2p.conf": text}
    run = tiny.run(name, "qemu", None, 2, vms, cmdline=words, extra=extra)
    # Its lines have its name in front where it is not the first that has the serial line.
    assert tiny.judge(guest, re.sub(r"^\[p2p\] ", "", run.text, flags=re.MULTILINE)) == [], run.text[-4000:]
    at = int(re.search(r"p2p: wrote to (\w+)", run.text)[1], 16)
    assert at == FAR if gib == 64 else at >= 1 << 32 and at % (gib << 30) == 0
    with open(file, "rb") as f:
        found = f.read(4096)
    assert found in (PATTERN * 512, bytes(4096))
    assert run.has_line("p2p: pci: DMA between 00:09.0 and 00:0a.0 passes the root complex, if that lets it") == own
    return at, found == PATTERN * 512, run


def elastic(name, dma, extra, words=""):
    """A page leaves a running VM and comes back elsewhere while edu writes to it and a CPU reads it."""
    guest = tiny.Guest("elastic", "qemu")
    text = guest.vm(last=True) + "dma = %s\n" % dma
    run = tiny.run(name, "qemu", None, 2, {"elastic.conf": text.replace("cmdline = ", "cmdline = " + words)},
                   extra=extra + ["-device", "edu,addr=9,dma_mask=0xffffffffffffffff"])
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    return run
