# SPDX-License-Identifier: GPL-2.0-only
"""Devices of guests whose memory lies elsewhere than they think (dma = window): Debian's own drivers on
QEMU's devices, with the module margay-guest. What a disk holds is compared with the file behind it; which
addresses a function was let use, QEMU's own trace of configuration space says.
"""

import os
import re

import margay_run
import node
import numa
import pytest
import test_intx as intx
import test_passthrough as passthrough
import tiny

SILENT = r"vm0: pci: 00:06\.0 stays silent: with dma = window its guest must load margay-guest before the driver .*"
# Node 1 lies above 5 GiB: the guest's 4 GiB.
NUMA = [numa.Node("0", "3G"), numa.Node("1", "1G")]
# In node 1 a guest's memory lies a gigabyte above where it thinks.
APART = [numa.Node("0", "1G"), numa.Node("1", "1G")]


def boot(name, devices, words, nodes=None, kernel="vmlinuz", modules=(), **keys):
    """Boots Debian's kernel with what QEMU has at 00:06.0. modules: further boot modules."""
    lines = {"memory": "512M", "cpus": "2", "initrd": "initrd", "pci": "00:06.0", "dma": "window"}
    lines.update(keys)
    iso = node.margay_iso(
        "dma-" + name, {"vm0.conf": node.vm_text("qemu", words, **lines)},
        {"kernel": node.guest_file(kernel), "initrd": node.guest_file("initrd-drivers"), **dict(modules)})
    trace = os.path.join(node.LOGS, "dma-%s.trace" % name)
    extra = devices + ["-trace", "pci_cfg_write,file=" + trace]
    with numa.Machine("2,sockets=2,cores=1,threads=1", nodes or [numa.Node("0-1", "2G")]) as machine:
        with node.start("dma-" + name, "qemu", iso, memory=machine.memory, cpus=2,
                        extra=extra + machine.arguments) as running:
            done = node.finish(running)
    with open(trace, encoding="ascii") as f:
        done.trace = f.read()
    return done


def run(name, kind, guest, nodes=None, test="pci", words="", **options):
    """A guest with a disk; guest: which module its script loads. Returns what it said, the disk's file, and what that
    held."""
    arguments, drivers, disk, _ = passthrough.DEVICES[kind]
    image = passthrough.make_disk("dma-" + name)
    before = passthrough.sha256(image)
    words = "margay.test=%s margay.drivers=%s margay.disk=%s margay.guest=%s %s" % (test, drivers, disk, guest, words)
    return boot(name, ["-drive", "if=none,id=data,format=raw,file=" + image, *arguments], words, nodes, **options), image, before


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
    assert done.has_line("margay-sys: version " + re.search(r"margay: Margay (\S+), loaded at", done.text)[1])


@pytest.mark.parametrize("kind, nodes", [
    ("ahci", 2), *(pytest.param(kind, nodes, marks=pytest.mark.full) for kind, nodes in (("nvme", 1), ("nvme", 2), ("ahci", 1)))])
def test_disk(kind, nodes):
    keys = {"cpus": "0,1", "memory": "node0:256M,node1:256M"} if nodes == 2 else {}
    done, image, before = run("%s-%d" % (kind, nodes), kind, "yes", NUMA if nodes == 2 else None, **keys)
    check_disk(done, before, image)
    check_windows(done)
    if nodes == 2:
        assert len({hpa - gpa for gpa, hpa, _ in regions(done)[1:]}) == 2
    assert done.lines("^margay-sys: functions ") == ["margay-sys: functions 0000:00:06.0"]
    assert done.has_line("margay-sys: dma window") and done.has_line("margay-sys: vm vm0")
    assert re.fullmatch("0+1+0+", masters(done)) and not done.lines(SILENT)


def check_network(name, card, nodes=None, **keys):
    """TCP both ways."""
    arguments, down, up = intx.network("dma-" + name)
    done = boot("net-" + name, arguments + ["-device", card + ",netdev=net0,addr=6"],
                "margay.test=pci margay.drivers=%s margay.net=eth0 margay.guest=yes" % card, nodes, **keys)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    check_windows(done)
    assert done.facts["carrier"] == "1"
    assert done.facts["down"].split()[0] == passthrough.sha256(down)
    assert done.facts["up"].split()[0] == passthrough.sha256(up, intx.SENT)


@pytest.mark.full
@pytest.mark.parametrize("card", ["e1000", "e1000e", "igb"])
def test_network(card):
    """On two nodes. The e1000 reaches 4 GiB only, and half of the memory is above: Linux copies."""
    check_network(card, card, NUMA, cpus="0,1", memory="node0:256M,node1:256M")


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
    done, image, before = run("%s-%s" % (kernel, kind), kind, "no", NUMA, kernel=kernel, cpus="0,1",
                              memory="node0:256M,node1:256M")
    check_disk(done, before, image)
    check_windows(done)
    assert done.lines("^margay-sys: functions ") == ["margay-sys: functions 0000:00:06.0"] and not done.lines(SILENT)


@pytest.mark.full
@pytest.mark.parametrize("kernel", BUILT_IN)
def test_built_in_control(kernel):
    assert "1" in masters(refuse(kernel + "-wrong", "no", kernel=kernel + "-wrong"))


ARCHIVE = "margay-guest.cpio"


@pytest.mark.full
@pytest.mark.parametrize("kernel, kind", [("vmlinuz", "nvme"), ("vmlinuz-backports", "ahci")])
def test_archive_before_the_initrd(kernel, kind):
    """An initrd whose programs load no module: an archive before it does, of either kernel line. All DMA goes by way
    of low memory (swiotlb), as that of a device does which reaches no further."""
    done, image, before = run(
        "archive-" + kernel, kind, "no", NUMA, kernel=kernel, words="swiotlb=force", cpus="0,1", memory="node0:256M,node1:256M",
        module=ARCHIVE + " rdinit=/margay/init", modules={ARCHIVE: node.guest_file(ARCHIVE)})
    check_disk(done, before, image)
    check_windows(done)
    assert [line for line in done.dmesg if "bounce" in line or "software IO TLB" in line]


@pytest.mark.full
def test_bind_again():
    """The module stays while a function is confirmed; unbound, the function is silent again; a driver that was there
    before the module begins anew."""
    done, _, before = run("rebind", "ahci", "no", test="rebind")
    assert done.outcome.status == margay_run.OK, done.outcome.text
    steps = re.findall(r"^margay-step: (.*)$", done.text, re.MULTILINE)
    assert steps == ["late " + before, "remove busy", "functions 0000:00:06.0", "unbound", "removed", "again " + before]
    # Driver, module, unbind, module and driver: silent in between, by QEMU's word.
    assert re.fullmatch("0+1+0+1+0+", masters(done)), masters(done)
    assert len(done.lines(SILENT)) == 1


@pytest.mark.parametrize("direct", [False, True], ids=["emulated", "direct"])
@pytest.mark.parametrize("machine", node.MACHINES)
def test_hypercalls(machine, direct):
    """Of a guest without functions: the table by the rules, and garbage."""
    guest = tiny.Guest("dma", machine)
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


def refuse(name, guest, kind="nvme", cpus="1", **options):
    done, image, before = run(name, kind, guest, words="nvme_core.admin_timeout=5 margay.patience=20", cpus=cpus, **options)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    # No disk, or one whose contents are wrong.
    assert done.facts.get("sum", "none").split()[0] != before
    assert passthrough.sha256(image) == before
    return done


@pytest.mark.parametrize("kind, module", [("nvme", "wrong"), ("nvme", "none"),
                                          pytest.param("ahci", "wrong", marks=pytest.mark.full)])
def test_wrong_windows(kind, module):
    """The controls: with windows a gigabyte beside the guest's memory the same test fails, and with memory elsewhere than
    the guest thinks and no translation. What the device then writes falls into memory that nobody has: not into the guest's
    own, which would end as it likes."""
    far = {"nodes": APART, "cpus": "1-1", "memory": "node1:512M"} if module == "none" else {}
    done = refuse("spoilt-%s-%s" % (kind, module), module, kind, **far)
    assert "1" in masters(done)
    ram = regions(done)[1:]
    assert ram and all(hpa - gpa >= 512 << 20 if far else hpa != gpa for gpa, hpa, _ in ram)


@pytest.mark.full
@pytest.mark.parametrize("card", ["e1000", "e1000e", "igb"])
def test_wrong_card(card):
    """As with disks: nothing comes or goes."""
    arguments, down, up = intx.network("dma-wrong-" + card)
    if os.path.exists(up):
        os.remove(up)
    done = boot("wrong-" + card, arguments + ["-device", card + ",netdev=net0,addr=6"],
                "margay.test=pci margay.drivers=%s margay.net=eth0 margay.guest=wrong margay.patience=20" % card)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.lines("^margay-sys: functions ") == ["margay-sys: functions 0000:00:06.0"] and "1" in masters(done)
    assert done.facts["carrier"] == "1" and done.facts["down"].split()[0] != passthrough.sha256(down) and not os.path.exists(up)


VTX_SILENT = SILENT.replace(r"00:06\.0", r"00:0[23]\.0")


@pytest.mark.full
def test_vtx():
    """The card and the USB disk of Bochs, each by its windows. That nothing happens without the module cannot be shown there: its
    devices do DMA whatever Bus Master Enable says (iodev/network/e1000.cc)."""
    vtx = intx.Bochs("dma", "margay.guest=yes", dma="window")
    vtx.check()
    check_windows(vtx.done)
    assert len(vtx.done.lines("^margay-sys: functions ")) == 2 and not vtx.done.lines(VTX_SILENT)


@pytest.mark.full
def test_vtx_wrong_card():
    """The control: with windows a gigabyte beside nothing comes through the card."""
    vtx = intx.Bochs("dma-wrong", "margay.patience=20 margay.guest=wrong", pci="8086:100e", dma="window")
    assert vtx.done.outcome.status == margay_run.OK, vtx.done.outcome.text
    assert vtx.done.facts["carrier"] == "1" and vtx.done.facts["down"].split()[0] != vtx.down and not vtx.got
    assert len(vtx.done.lines("^margay-sys: functions ")) == 1


@pytest.mark.full
def test_vtx_wrong_disk():
    """Bochs does not survive what its xHCI finds there: a command of ones, beyond the machine's memory, as its log says."""
    with pytest.raises(margay_run.NodeError):
        intx.Bochs("dma-wrong-disk", "margay.patience=20 margay.guest=wrong", pci="class:0c03", dma="window")
    with open(os.path.join(node.LOGS, "dma-wrong-disk-bochs.log.bochs.log"), encoding="utf-8", errors="replace") as f:
        found = re.findall(r"\[XHCI *\] 0x([0-9a-f]+): Command Ring: Unknown TRB found", f.read())
    assert found and int(found[0], 16) >= 1 << 30


def test_no_module():
    """Without the module no function ever becomes bus master, by QEMU's word, and the operator reads why."""
    done = refuse("none", "no")
    assert re.fullmatch("0+", masters(done)), masters(done)
    assert len(done.lines(SILENT)) == 1
    assert not done.lines("^margay-sys: ")
