# SPDX-License-Identifier: GPL-2.0-only
"""Devices of guests whose memory lies elsewhere than they think (dma = window): Debian's own drivers on
QEMU's devices, with the module margay-guest. What a disk holds is compared with the file behind it; which
addresses a function was let use, QEMU's own trace of configuration space says.

Nvme and ahci again, in memory that lies elsewhere than the guest thinks, on one and two NUMA nodes; the windows by
the module and by the hypervisor's map; Bus Master Enable by QEMU's own trace of configuration space.

Without the module no function ever is bus master. The controls, in the full tier: a module whose windows are a
gigabyte beside the memory finds no disk, nor does one that translates nothing, as if the memory were where the guest
thinks.

The hypercalls and garbage in them on both emulators; DMA itself on SVM, and igb's on VT-x by KVM (`test_nested.py`).

Full tier: an initramfs that knows nothing, with all DMA by way of swiotlb, on 6.1 and 6.12; unbinding, reloading,
binding again; network cards, and with wrong windows; kernels with margay-guest, ahci and nvme built in (`make
guest-kernels` builds those of 6.1 and 6.12).
"""

import os
import re

import bochs_devices
import dma_windows
import margay_run
import netdev
import node
import numa
import passthrough
import pytest
import tiers
import tiny

# In node 1 a guest's memory lies a gigabyte above where it thinks.
APART = [numa.Node("0", "1G"), numa.Node("1", "1G")]


@pytest.mark.parametrize("kind, nodes", [
    ("ahci", 2), *(pytest.param(kind, nodes, marks=pytest.mark.full) for kind, nodes in (("nvme", 1), ("nvme", 2), ("ahci", 1)))])
def test_disk(kind, nodes):
    keys = {"cpus": "0,1", "memory": "node0:256M,node1:256M"} if nodes == 2 else {}
    done, image, before = dma_windows.run("%s-%d" % (kind, nodes), kind, "yes", dma_windows.NUMA if nodes == 2 else None, **keys)
    dma_windows.check_disk(done, before, image)
    dma_windows.check_windows(done)
    if nodes == 2:
        assert len({hpa - gpa for gpa, hpa, _ in dma_windows.regions(done)[1:]}) == 2
    assert done.lines("^margay-sys: functions ") == ["margay-sys: functions 0000:00:06.0"]
    assert done.has_line("margay-sys: dma window") and done.has_line("margay-sys: vm vm0")
    assert re.fullmatch("0+1+0+", dma_windows.masters(done)) and not done.lines(dma_windows.SILENT)


def check_network(name, card, nodes=None, **keys):
    """TCP both ways."""
    arguments, down, up = netdev.network("dma-" + name)
    done = dma_windows.boot("net-" + name, arguments + ["-device", card + ",netdev=net0,addr=6"],
                            "margay.test=pci margay.drivers=%s margay.net=eth0 margay.guest=yes" % card, nodes, **keys)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    dma_windows.check_windows(done)
    assert done.facts["carrier"] == "1"
    assert done.facts["down"].split()[0] == passthrough.sha256(down)
    assert done.facts["up"].split()[0] == passthrough.sha256(up, netdev.SENT)


@pytest.mark.full
@pytest.mark.parametrize("card", ["e1000", "e1000e", "igb"])
def test_network(card):
    """On two nodes. The e1000 reaches 4 GiB only, and half of the memory is above: Linux copies."""
    check_network(card, card, dma_windows.NUMA, cpus="0,1", memory="node0:256M,node1:256M")


@pytest.mark.full
@pytest.mark.parametrize("card", ["e1000e", "igb"])
def test_network_on_one_node(card):
    check_network(card + "-1", card)


def built_in(version):
    """A kernel with margay-guest, ahci and nvme built in: tools/guest-kernel."""
    path = node.guest_file("vmlinuz-built-in-" + version)
    return pytest.param(os.path.basename(path), marks=pytest.mark.skipif(not os.path.exists(path), reason="make guest-kernels"))


BUILT_IN = [built_in(version) for version in ("6.1", "6.12")]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["ahci", "nvme"])
@pytest.mark.parametrize("kernel", BUILT_IN)
def test_built_in(kernel, kind):
    """Drivers that are there before any module could be."""
    done, image, before = dma_windows.run("%s-%s" % (kernel, kind), kind, "no", dma_windows.NUMA, kernel=kernel, cpus="0,1",
                                          memory="node0:256M,node1:256M")
    dma_windows.check_disk(done, before, image)
    dma_windows.check_windows(done)
    assert done.lines("^margay-sys: functions ") == ["margay-sys: functions 0000:00:06.0"] and not done.lines(dma_windows.SILENT)


@pytest.mark.full
@pytest.mark.parametrize("kernel", BUILT_IN)
def test_built_in_control(kernel):
    assert "1" in dma_windows.masters(refuse(kernel + "-wrong", "no", kernel=kernel + "-wrong"))


ARCHIVE = "margay-guest.cpio"


@pytest.mark.full
@pytest.mark.parametrize("kernel, kind", [("vmlinuz", "nvme"), ("vmlinuz-backports", "ahci")])
def test_archive_before_the_initrd(kernel, kind):
    """An initrd whose programs load no module: an archive before it does, of either kernel line. All DMA goes by way
    of low memory (swiotlb), as that of a device does which reaches no further."""
    done, image, before = dma_windows.run(
        "archive-" + kernel, kind, "no", dma_windows.NUMA, kernel=kernel, words="swiotlb=force", cpus="0,1",
        memory="node0:256M,node1:256M",
        module=ARCHIVE + " rdinit=/margay/init", modules={ARCHIVE: node.guest_file(ARCHIVE)})
    dma_windows.check_disk(done, before, image)
    dma_windows.check_windows(done)
    assert [line for line in done.dmesg if "bounce" in line or "software IO TLB" in line]


@pytest.mark.full
def test_bind_again():
    """The module stays while a function is confirmed; unbound, the function is silent again; a driver that was there
    before the module begins anew."""
    done, _, before = dma_windows.run("rebind", "ahci", "no", test="rebind")
    assert done.outcome.status == margay_run.OK, done.outcome.text
    steps = re.findall(r"^margay-step: (.*)$", done.text, re.MULTILINE)
    assert steps == ["late " + before, "remove busy", "functions 0000:00:06.0", "unbound", "removed", "again " + before]
    # Driver, module, unbind, module and driver: silent in between, by QEMU's word.
    assert re.fullmatch("0+1+0+1+0+", dma_windows.masters(done)), dma_windows.masters(done)
    assert len(done.lines(dma_windows.SILENT)) == 1


@pytest.mark.parametrize("machine, interrupts", [
    ("qemu", "direct"), ("bochs", "emulated"), tiers.full("qemu", "emulated"), tiers.full("bochs", "direct")])
def test_hypercalls(machine, interrupts):
    """Of a guest without functions: the table by the rules, and garbage."""
    guest, direct = tiny.Guest("dma", machine), interrupts == "direct"
    done = tiny.run("dma" + "-direct" * direct, machine, None, 1, {"dma.conf": guest.vm(last=True, direct=direct)})
    assert tiny.judge(guest, done.text) + tiny.judge_mode(guest, done.text, direct) == [], done.text[-4000:] or done.outcome.text
    assert done.outcome.status == margay_run.OK, done.outcome.text


def test_confirmed_by_whom():
    """A VM that asks for bus mastering in every way, by what the device then does; it ends as a bus master and starts again."""
    guest = tiny.Guest("dma_confirm", "qemu")
    iso = node.margay_iso("dma-confirm", {"dma_confirm.conf": guest.vm()}, {"dma_confirm": tiny.elf("dma_confirm")})
    edu = ["-device", "edu,addr=9,dma_mask=0xffffffff"]
    with node.start("dma-confirm", "qemu", iso, cpus=2, memory="256M", extra=edu) as running:
        for _ in range(2):
            running.expect(r"^dma_confirm: pci: 00:09\.0 stays silent: ")
            assert running.expect(r"^tiny: (failed|dma_confirm): .*")[0].startswith("tiny: dma_confirm: ok "), running.tail()


def refuse(name, guest, kind="nvme", cpus="1", patience=20, **options):
    done, image, before = dma_windows.run(name, kind, guest, words="nvme_core.admin_timeout=5 margay.patience=%d" % patience,
                                          cpus=cpus, **options)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    # No disk, or one whose contents are wrong.
    assert done.facts.get("sum", "none").split()[0] != before
    assert passthrough.sha256(image) == before
    return done


@pytest.mark.parametrize("kind, module", [tiers.full("nvme", "wrong"), tiers.full("nvme", "none"),
                                          pytest.param("ahci", "wrong", marks=pytest.mark.full)])
def test_wrong_windows(kind, module):
    """The controls: with windows a gigabyte beside the guest's memory the same test fails, and with memory elsewhere than
    the guest thinks and no translation. What the device then writes falls into memory that nobody has: not into the guest's
    own, which would end as it likes."""
    far = {"nodes": APART, "cpus": "1-1", "memory": "node1:512M"} if module == "none" else {}
    done = refuse("spoilt-%s-%s" % (kind, module), module, kind, **far)
    assert "1" in dma_windows.masters(done)
    ram = dma_windows.regions(done)[1:]
    assert ram and all(hpa - gpa >= 512 << 20 if far else hpa != gpa for gpa, hpa, _ in ram)


@pytest.mark.full
@pytest.mark.parametrize("card", ["e1000", "e1000e", "igb"])
def test_wrong_card(card):
    """As with disks: nothing comes or goes."""
    arguments, down, up = netdev.network("dma-wrong-" + card)
    if os.path.exists(up):
        os.remove(up)
    done = dma_windows.boot("wrong-" + card, arguments + ["-device", card + ",netdev=net0,addr=6"],
                            "margay.test=pci margay.drivers=%s margay.net=eth0 margay.guest=wrong margay.patience=20" % card)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.lines("^margay-sys: functions ") == ["margay-sys: functions 0000:00:06.0"] and "1" in dma_windows.masters(done)
    assert done.facts["carrier"] == "1" and done.facts["down"].split()[0] != passthrough.sha256(down) and not os.path.exists(up)


VTX_SILENT = dma_windows.SILENT.replace(r"00:06\.0", r"00:0[23]\.0")


@pytest.mark.full
def test_vtx():
    """The card and the USB disk of Bochs, each by its windows. That nothing happens without the module cannot be shown there: its
    devices do DMA whatever Bus Master Enable says (iodev/network/e1000.cc)."""
    vtx = bochs_devices.Bochs("dma", "margay.guest=yes", dma="window")
    vtx.check()
    dma_windows.check_windows(vtx.done)
    assert len(vtx.done.lines("^margay-sys: functions ")) == 2 and not vtx.done.lines(VTX_SILENT)


@pytest.mark.full
def test_vtx_wrong_card():
    """The control: with windows a gigabyte beside nothing comes through the card."""
    vtx = bochs_devices.Bochs("dma-wrong", "margay.patience=20 margay.guest=wrong", pci="8086:100e", dma="window")
    assert vtx.done.outcome.status == margay_run.OK, vtx.done.outcome.text
    assert vtx.done.facts["carrier"] == "1" and vtx.done.facts["down"].split()[0] != vtx.down and not vtx.got
    assert len(vtx.done.lines("^margay-sys: functions ")) == 1


@pytest.mark.full
def test_vtx_wrong_disk():
    """Bochs does not survive what its xHCI finds there: a command of ones, beyond the machine's memory, as its log says."""
    with pytest.raises(margay_run.NodeError):
        bochs_devices.Bochs("dma-wrong-disk", "margay.patience=20 margay.guest=wrong", pci="class:0c03", dma="window")
    with open(os.path.join(node.LOGS, "dma-wrong-disk-bochs.log.bochs.log"), encoding="utf-8", errors="replace") as f:
        found = re.findall(r"\[XHCI *\] 0x([0-9a-f]+): Command Ring: Unknown TRB found", f.read())
    assert found and int(found[0], 16) >= 1 << 30


def test_no_module():
    """Without the module no function ever becomes bus master, by QEMU's word, and the operator reads why."""
    # With it the disk is there within two seconds (test_disk).
    done = refuse("none", "no", patience=8)
    assert re.fullmatch("0+", dma_windows.masters(done)), dma_windows.masters(done)
    assert len(done.lines(dma_windows.SILENT)) == 1
    assert not done.lines("^margay-sys: ")
