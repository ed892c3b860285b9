# SPDX-License-Identifier: GPL-2.0-only
"""SR-IOV: QEMU's igb with its stock driver in one VM, its virtual functions in another: data between the two by the card."""

import monitor_console
import node

PF, VF = "0000-00-08-0", "0000-00-18-2"  # an igb's VFs are 0x80 behind it, and 2 from each other


def elf():
    return node.variant("sriov", "SRIOV=y", "IOMMU=y")


def run(name, words="", pf=None, vf=None, extra=()):
    """VM a has the card at 00:08.0, VM b its VF 1."""
    common = {"initrd": "initrd", "memory": "384M", "dma": "identity", "trusted": "yes", "on_end": "stop"}
    keys = {"a": {**common, "name": "a", "pci": "00:08.0", "vfs": "2", "cpus": "1-1", **(pf or {})},
            "b": {**common, "name": "b", "pci": "vf:00:08.0:1", "cpus": "2-2", **(vf or {})}}
    # b's file is the first: it waits all the same.
    vms = {"%s.conf" % vm: node.vm_text("qemu", "margay.test=sriov margay.vfs=%d %s" % (2 if vm == "a" else 0, words), **keys[vm])
           for vm in "ba"}
    iso = node.margay_iso("sriov-" + name, vms, {"kernel": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd-drivers")},
                          elf=elf())
    devices = ["-netdev", "hubport,id=net0,hubid=0", "-device", "igb,netdev=net0,addr=8", *extra]
    with node.start("sriov-" + name, "qemu", iso, cpus=3, memory="2G", extra=devices) as running:
        monitor_console.whole_lines(running)
        return node.Run(running, running.wait())


def check_data(a, b):
    assert a.facts["got"] == b.facts["sent"] and b.facts["got"] == a.facts["sent"]
    assert a.facts["sent"] != b.facts["sent"]


def test_two_vms():
    """The PF's VM has two shadows that no driver takes; VF 1 is the other VM's, which waited for it, and goes when it is off."""
    done = run("off", "margay.then=off")
    # Either may be the last: the node stays.
    assert done.has_line(r".*margay: node: end=idle vms=2 failed=0"), done.outcome.text
    a, b = done.of("a"), done.of("b")
    assert a.facts[PF] == "0x8086 0x10c9 igb" and a.facts["total"] == a.facts["on"] == "2"
    assert a.facts["virtfn0"] == "0000:00:18.0 0xffff " and a.facts["virtfn1"] == "0000:00:18.2 0xffff "
    assert b.facts[VF] == "0x8086 0x10ca igbvf" and PF not in b.facts
    check_data(a, b)
    assert b.lines("^margay-interrupt: +[0-9]+: +[1-9][0-9]* .*eth0-rx")
    assert done.has_line(r".*b: pci: 00:18\.2 is gone: .*")
    assert a.facts["off"] == "0"
    assert (b.facts["before"], b.facts["after"]) == ("10ca8086", "ffffffff")
