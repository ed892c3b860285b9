# SPDX-License-Identifier: GPL-2.0-only
"""PCI functions that no VM may have: one clear line for each, and the node goes on.

Or that no VM may have that way: a line with file and line number for each.
"""

import re

import node
import passthrough


def test_refused():
    """One VM file for each thing that cannot be had, and one that gets what it asks for twice."""
    vms = {
        "offset": {"pci": "00:06.0", "memory_map": "offset"},
        "bridge": {"pci": "00:1f.0"},
        "absent": {"pci": "00:1e.0"},
        "class": {"pci": "class:0c04"},
        "system": {"pci": "class:0805"},
        "twice": {"pci": "00:06.0, 1b36:0010, 00:06.0"},
        "route": {"pci": "00:06.0", "pci_irq": "00:06.0 10, 00:07.0 11"},
        "place": {"pci": "00:06.0", "pci_node": "00:07.0 0"},
        "nowhere": {"pci": "00:06.0", "pci_node": "00:06.0 1"},
    }
    files = {vm + ".conf": node.vm_text("qemu", "", **dict({"name": vm, "memory_map": "identity", "memory": "64M"}, **keys))
             for vm, keys in vms.items()}
    iso = node.margay_iso("pass-refused", files, {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")},
                          check=False)
    image = passthrough.make_disk("pass-refused")
    extra = ["-drive", "if=none,id=data,format=raw,file=" + image, *passthrough.DEVICES["nvme"][0], "-device", "sdhci-pci,addr=9"]
    with node.start("pass-refused", "qemu", iso, memory="512M", extra=extra) as running:
        running.expect(r"^margay: node: end=")
        text = running.text.replace("\r", "")
    for vm, reason in {
        "offset": "pci: the node has no IOMMU, none that Margay knows, or it is off (iommu=off): dma = identity or window needs "
                  "none",
        "bridge": "pci: 00:1f.0 cannot be passed through: a bridge stays the node's",
        "absent": "pci: the machine has no function 00:1e.0",
        "class": "pci: the machine has no function of class 0c04",
        "system": "pci: 00:09.0 cannot be passed through: a system device stays the node's",
        "twice": "pci: 00:06.0 is twice's already: named twice",
        "route": "pci: pci_irq is for 00:07.0, which is not passed through",
        "place": "pci: pci_node is for 00:07.0, which is not passed through",
        "nowhere": "pci: pci_node: the machine has no node 1",
    }.items():
        assert re.search(r"%s\.conf:\d+: %s\n" % (vm, re.escape(reason)), text), vm
    assert "vms=%d failed=%d" % (len(vms), len(vms)) in text
