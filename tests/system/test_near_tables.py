# SPDX-License-Identifier: GPL-2.0-only
"""What CPUs and devices walk lies on the NUMA node of the VM's CPUs: VMCBs with their bitmaps, second-level tables, and those of
VT-d for the VM's function. Looked up in QEMU's memory, one file per node.

Two VMs run, each with a CPU of another node. A page is a VMCB by what the manual has at its offsets (APM vol. 2, appendix B), and
names its bitmaps and tables; the unit's registers lead to the function's. The VM of node 1 is the one that shows it: what is taken
from anywhere comes from node 0. VMCS and EPT: `test_vmx_state.c`, `test_vm_memory.c`, as Bochs has no second node.
"""

import mmap
import struct

import edu_device
import iommu
import margay_run
import monitor_console
import node
import numa
import pytest
import qemu_monitor
import remapping
import tiny

ADDRESS, LARGE = 0xffffffffff000, 1 << 7
RTADDR = 0xfed90020  # VT-d 4.0, 11.4.5
EDU = 9  # its device on bus 0
SVME, PROTECTED = 1 << 12, 1


def node_of(machine, address):
    for start, end, number, _ in machine.ranges():
        if start <= address < end:
            return number
    return None


def vmcbs(machine):
    """{where: (pages of its I/O and MSR bitmaps, the root of its tables)} of each VMCB with nested paging."""
    found = {}
    for start, end, number, offset in machine.ranges():
        with open(machine.path(number), "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as memory:
            for at in range(offset, offset + end - start, numa.PAGE):
                ports, msrs, asid, nested, root = (struct.unpack_from(form, memory, at + field)[0] for form, field in (
                    ("<Q", 0x40), ("<Q", 0x48), ("<I", 0x58), ("<Q", 0x90), ("<Q", 0xb0)))
                efer, cr0 = (struct.unpack_from("<Q", memory, at + field)[0] for field in (0x4d0, 0x558))
                pages = [ports, msrs, root]
                if (nested & 1 and 0 < asid < 1 << 16 and efer & SVME and cr0 & PROTECTED
                        and all(page and page % numa.PAGE == 0 and node_of(machine, page) is not None for page in pages)):
                    found[start + at - offset] = (pages[:2], root)
    return found


def tables(machine, root, level=3):
    """All tables of a tree of four levels, NPT's or VT-d's."""
    found = [root]
    if level:
        for entry in struct.unpack("<512Q", machine.read(root, numa.PAGE)):
            if entry & 3 and not (level < 3 and entry & LARGE):
                found += tables(machine, entry & ADDRESS, level - 1)
    return found


def second_level(machine, folder):
    """The root of edu's tables: by the unit's root table and the context table of bus 0."""
    low, high = qemu_monitor.Monitor(folder).words(RTADDR, 2)
    bus, = struct.unpack("<Q", machine.read((high << 32 | low) & ADDRESS, 8))
    context = machine.read((bus & ADDRESS) + (EDU << 3) * 16, 16)
    assert bus & 1 and context[0] & 1
    return struct.unpack_from("<Q", context)[0] & ADDRESS


@pytest.mark.full
def test_near(tmp_path):
    vms = {"a.conf": monitor_console.vm("a", "tick", cpus="0-0"),
           "b.conf": monitor_console.vm("b", "tick", cpus="1-1", pci="1234:11e8", dma="iommu")}
    iso = node.margay_iso("near-tables", vms, {"behave": tiny.elf("behave")}, check=False)
    with numa.Machine("2,sockets=2,cores=1,threads=1", [numa.Node("0", "512M"), numa.Node("1", "512M")]) as machine:
        extra = machine.arguments + remapping.WIDE + edu_device.EDU + qemu_monitor.arguments(tmp_path)
        with node.start("near-tables", "qemu", iso, cpus=2, memory=machine.memory, extra=extra, timeout=300) as running:
            # Both have run: a says so on the line, and b in the background.
            running.expect("^behave: ticks=50")
            running.expect(r"^\[b\] behave: ticks=\d+\r")
            assert iommu.ON in running.text
            found = vmcbs(machine)
            trees = {node_of(machine, at): tables(machine, root) for at, (_, root) in found.items()}
            dma = tables(machine, second_level(machine, tmp_path))
            console = monitor_console.Console(running)
            console.call()
            outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    # One VMCB on each node, and what it names with it.
    assert len(found) == 2 and sorted(trees) == [0, 1], found
    for at, (bitmaps, _) in found.items():
        here = node_of(machine, at)
        assert {node_of(machine, page) for page in bitmaps + trees[here]} == {here}, (hex(at), here)
        assert len(trees[here]) >= 3
    assert {node_of(machine, page) for page in dma} == {1} and len(dma) >= 3
