# SPDX-License-Identifier: GPL-2.0-only
"""The way out of a node's virtual network: a VM with a card of the machine's bridges, by Linux' own tools, between that and the
segment. Of two others, whose only network is virtual, one has its root on an NFS server out there, and one asks out there for an
address (DHCP) and fetches an image (TFTP). And so for each way by which the card reaches the memory of its VM.

A VM with an e1000e of QEMU's bridges between that and a segment, with `dma = identity`, `window` and `iommu`; of two
VMs that have a virtual interface alone one has its root by NFSv4 from a server on the build machine, reads and writes
8 MiB there, and one gets an address by DHCP and fetches a file by TFTP from QEMU's network. What came is compared
with the files outside; the bridge has heard the two on the segment and the others on the card.
"""

import os
import re

import iommu
import monitor_console
import nfs_root
import nfs_server
import node
import passthrough
import pytest
import virtio_net

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("nfs")]

IMAGE = 2 << 20
TIMEOUT = 280
MACS = {"gate": "02:00:00:00:09:01", "diskless": "02:00:00:00:09:02", "fetch": "02:00:00:00:09:03"}
CARD = "52:54:00:12:34:56"


def vm(name, words, initrd="initrd", **keys):
    net = "lan0 mac=" + MACS[name] + (" bridge" if name == "gate" else "")
    return node.vm_text("qemu", words, name=name, memory="384M", net=net, initrd=initrd, **keys)


def bridge(run):
    """{MAC: the interface by which the bridge has heard it}, by the gate's Linux; its own ones are not among them."""
    ports = {run.facts["port-" + eth].split()[0]: eth for eth in ("eth0", "eth1")}
    ports = {str(int(number, 16)): eth for number, eth in ports.items()}
    found = re.findall(r"^margay-bridge: (\w\w \w\w \w\w \w\w \w\w \w\w) (\w\w) 00 ", run.text, re.MULTILINE)
    return {mac.replace(" ", ":"): ports[str(int(number, 16))] for mac, number in found}


MEMORY = 0x200  # of a BAR's flags (include/linux/ioport.h)


def overlaps(run):
    """Which of a VM's memory BARs and pieces of RAM lie over each other, and of how many."""
    found = [(int(start, 16), int(end, 16), name) for name, start, end, flags in re.findall(
        r"^margay-bar: (\S+) (0x[0-9a-f]+) (0x[0-9a-f]+) (0x[0-9a-f]+)$", run.text, re.MULTILINE) if int(flags, 16) & MEMORY]
    found += [(int(start, 16), int(end, 16), "RAM") for start, end in re.findall(
        r"^margay-ram: (0x[0-9a-f]+) (0x[0-9a-f]+)$", run.text, re.MULTILINE)]
    found.sort()
    return [(one, other) for one, other in zip(found, found[1:]) if other[0] <= one[1]], {name for _, _, name in found}


@pytest.mark.skipif(os.geteuid() != 0, reason="the NFS server opens files by handles, as root only may")
@pytest.mark.parametrize("dma", ["identity", "window", "iommu"])
def test_bridge(tmp_path, dma):
    root = os.path.join(node.BUILD, "nfs-way-out-" + dma)
    nfs_root.make_root(root)
    image = passthrough.make_disk("way-out", IMAGE)
    os.symlink(image, tmp_path / "image")
    unit = iommu.UNIT["caching"] if dma == "iommu" else []
    with nfs_server.Server(root) as server:
        vms = {
            "gate.conf": vm("gate", "margay.test=way-out margay.role=gate margay.drivers=e1000e margay.guests=2 margay.guest=" + (
                "yes" if dma == "window" else "no"), pci="00:06.0", dma=dma,
                memory_map="identity" if dma == "identity" else None),
            "diskless.conf": vm("diskless", "rdinit=/tests/nfs-root margay.drivers=virtio_pci,virtio_net margay.address=10.0.2.40 "
                                "margay.gate=10.0.2.30 margay.root=10.0.2.2:%d:/root" % server.port),
            "fetch.conf": vm("fetch", "margay.test=way-out margay.role=guest"),
        }
        name = "way-out-" + dma
        modules = {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")}
        iso = node.margay_iso(name, vms, modules)
        network = ["-netdev", "user,id=net0,tftp=%s" % tmp_path, "-device", "e1000e,netdev=net0,addr=6,mac=" + CARD]
        with node.start(name, "qemu", iso, cpus=3, memory="2G", extra=[*unit, *network], timeout=TIMEOUT) as running:
            monitor_console.whole_lines(running)
            run = node.Run(running, running.wait())
    assert run.has_line("margay: node: end=poweroff vms=3 failed=0"), run.text[-4000:]
    node.check_direct(run)
    assert run.has_line(iommu.ON) == (dma == "iommu") and run.lines("DMA blocked") == []
    gate, diskless, fetch = (run.of(one) for one in MACS)
    # By the server's own files, and by the file that QEMU hands out.
    assert diskless.facts["root"] == "10.0.2.2:/root nfs4"
    assert diskless.facts["data"].split()[0] == passthrough.sha256(os.path.join(root, "data"))
    assert diskless.facts["up"].split()[0] == passthrough.sha256(os.path.join(root, "up"))
    assert os.path.getsize(os.path.join(root, "up")) == 8 << 20
    assert fetch.facts["interfaces"] == "eth0 lo " and fetch.facts["address"].endswith(" by 10.0.2.2")
    assert fetch.facts["image"].split()[0] == passthrough.sha256(image)
    # The bridge has heard the two on the segment, and somebody else, QEMU's network, on the card.
    inside, outside = gate.facts["virtio-net"].split(",")[0], gate.facts["e1000e"].split(",")[0]
    heard = bridge(gate)
    assert heard.pop(MACS["diskless"]) == heard.pop(MACS["fetch"]) == inside
    assert set(heard.values()) == {outside}
    # The virtual function's addresses are neither the real one's nor RAM.
    over, names = overlaps(gate)
    assert not over and names >= {"RAM", "0000:00:06.0", gate.facts["virtio-net"].split()[1]}, (over, names)
    counts = {one: virtio_net.counts(run, one)[0] for one in MACS}
    assert counts["diskless"]["received_bytes"] > 8 << 20 and counts["diskless"]["sent_bytes"] > 8 << 20
    assert counts["fetch"]["received_bytes"] > IMAGE
    assert counts["gate"]["sent_bytes"] > (8 << 20) + IMAGE and not any(one["bad"] for one in counts.values())
    assert not run.lines("margay-test: failed") and not run.lines("margay-err: .*(?:virtio|e1000e|eth|br0)")
