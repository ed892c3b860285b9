# SPDX-License-Identifier: GPL-2.0-only
"""SR-IOV: QEMU's igb with its stock driver in one VM, its virtual functions in others: data between all of them by the card."""

import os
import random
import re
import struct

import amdvi
import iommu
import monitor_console
import node
import passthrough
import pytest
import qemu_monitor
import remapping
import sriov
import tiny


# All of its VFs have numbers above 7 on the port's one device.
PORT = sriov.Place(["-device", "pcie-root-port,id=above,chassis=1,addr=8", "-device", "igb,netdev=net0,bus=above,addr=0"], 0x100)


def files(has, vfs, words="", first=None, others=None):
    """VM files: VM a has the card at 00:08.0, b, c, ... each a VF, by its number. Those that wait are before it."""
    common = {"initrd": "initrd", "memory": "384M", "dma": "identity", "trusted": "yes", "on_end": "stop"}
    test = "margay.test=sriov margay.all=%d %s margay.me=" % (1 + len(has), words)
    vms = {}
    for i in reversed(range(len(has))):
        name = "bcdefgh"[i]
        keys = {**common, "name": name, "pci": "vf:00:08.0:%d" % has[i], "cpus": "%d-%d" % (i + 2, i + 2), **(others or {})}
        vms[name + ".conf"] = node.vm_text("qemu", "%s%d margay.vfs=0" % (test, i + 2), **keys)
    keys = {**common, "name": "a", "pci": "00:08.0", "vfs": str(vfs), "cpus": "1-1", **(first or {})}
    vms["a.conf"] = node.vm_text("qemu", "%s1 margay.vfs=%d" % (test, vfs), **keys)
    return vms


def run(name, has=(1,), vfs=2, words="", extra=(), memory="2G", place=sriov.ROOT, **keys):
    """The finished run, and each VM's part, a first."""
    vms = files(has, vfs, words, **keys)
    with sriov.start(name, vms, extra, memory=memory, place=place) as running:
        monitor_console.whole_lines(running)
        done = node.Run(running, running.wait())
    # Any may be the last: the node stays.
    assert done.has_line(r".*margay: node: end=idle vms=%d failed=0" % len(vms)), done.outcome.text
    return done, [done.of(file[0]) for file in sorted(vms)]


def check_data(vms):
    """Each two had each other's file; no two files are the same."""
    for i, one in enumerate(vms):
        for k, other in enumerate(vms):
            assert i == k or one.facts["got-%d" % (k + 1)] == other.facts["sent"], (i, k)
    assert len({vm.facts["sent"] for vm in vms}) == len(vms)


def check_vms(vms, has, vfs, place=sriov.ROOT):
    """The first has shadows that no driver takes; each other has its VF with the stock driver, and its interrupts."""
    assert vms[0].facts[place.pf] == "0x8086 0x10c9 igb" and vms[0].facts["total"] == vms[0].facts["on"] == str(vfs)
    for i in range(vfs):
        assert vms[0].facts["virtfn%d" % i] == "%s 0xffff " % place.vf(i).replace("-", ":", 2).replace("-", ".")
    for i, vm in zip(has, vms[1:]):
        assert vm.facts[place.vf(i)] == "0x8086 0x10ca igbvf" and place.pf not in vm.facts
        assert [key for key, value in vm.facts.items() if value.endswith("igbvf")] == [place.vf(i)]
        assert vm.lines("^margay-interrupt: +[0-9]+: +[1-9][0-9]* .*eth0-rx")


def test_two_vms():
    """VF 1 is the other VM's, which waited for it, and goes when it is off."""
    done, (a, b) = run("off", words="margay.then=off")
    check_vms((a, b), (1,), 2)
    check_data((a, b))
    assert done.has_line(r".*b: pci: 00:18\.2 is gone: .*")
    assert a.facts["off"] == "0"
    # Its guest knows within a second.
    assert (b.facts["before"], b.facts["after"]) == ("10ca8086", "removed")
    assert int(b.facts["hundredths"]) < 100, b.facts["hundredths"]


IOMMU = {"first": {"dma": "iommu", "trusted": None}, "others": {"dma": "iommu", "trusted": None}}


@pytest.mark.full
@pytest.mark.parametrize("unit, on, dma", [
    (iommu.UNIT["caching"], iommu.ON, "iommu"), (iommu.UNIT["caching"], iommu.ON, "identity"), (amdvi.UNIT, amdvi.ON, "iommu")],
    ids=["vtd-iommu", "vtd-identity", "amdvi-iommu"])
def test_iommu(unit, on, dma):
    """Nobody is trusted: all data arrives, and nothing was blocked. Each VF has a domain of its own, its VM's."""
    keys = {vms: {**IOMMU[vms], "dma": dma} for vms in IOMMU}
    done, vms = run("%s-%s" % ("amdvi" if unit == amdvi.UNIT else "iommu", dma), extra=unit, **keys)
    assert done.lines(on), done.lines("iommu")
    check_vms(vms, (1,), 2)
    check_data(vms)
    assert iommu.blocked(done) == [] and done.lines("interrupt blocked") == []


@pytest.mark.full
def test_port():
    """The card is below a root port, and its functions on that one's bus, with numbers that the port passes on by ARI."""
    done, vms = run("port", extra=iommu.UNIT["caching"], place=PORT, **IOMMU)
    check_vms(vms, (1,), 2, PORT)
    check_data(vms)
    assert done.has_line(r".*b: pci: 01:10\.2 8086:10ca .*"), done.lines("b: pci")
    assert iommu.blocked(done) == [] and done.lines("interrupt blocked") == []


@pytest.mark.full
def test_window():
    """margay-guest confirms the card's DMA and the virtual function's, each in its own VM, as any function's; no IOMMU."""
    _, vms = run("window", words="margay.guest=yes", first={"dma": "window"}, others={"dma": "window"})
    check_vms(vms, (1,), 2)
    check_data(vms)


def outside(folder):
    """QEMU's arguments for a network at the card's other end, which has a file, and keeps what it is given in the folder."""
    down, up, script = (os.path.join(folder, name) for name in ("down", "up", "keep"))
    with open(down, "wb") as f:
        f.write(random.Random(DOWN).randbytes(DOWN))
    os.mkdir(up)
    with open(script, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nexec head -c %d >%s/$$\n" % (FILE, up))
    os.chmod(script, 0o755)
    return ["-netdev", "user,id=out,restrict=on,net=10.0.9.0/24,host=10.0.9.200,dns=10.0.9.203,dhcpstart=10.0.9.210,"
            "guestfwd=tcp:10.0.9.201:80-cmd:cat %s,guestfwd=tcp:10.0.9.202:80-cmd:%s" % (down, script),
            "-netdev", "hubport,id=net1,hubid=0,netdev=out"]


# What is outside, and what each VM has, in bytes (sriov.sh).
DOWN, FILE = 3 << 20, 2 << 20


# Which are whose, and how many are on.
@pytest.mark.full
@pytest.mark.parametrize("has, vfs", [((0,), 1), ((0, 1), 2), ((0, 2, 4, 6), 7)])
def test_several(tmp_path, has, vfs):
    """A card with one function; with two, of two VMs; with seven, of which four VMs have one each. All reach each other, and a
    network at the card's other end, as the card's VM does."""
    done, vms = run("several-%d" % vfs, has, vfs, "margay.outside=yes", [*iommu.UNIT["caching"], *outside(tmp_path)], "3G", **IOMMU)
    check_vms(vms, has, vfs)
    check_data(vms)
    assert {vm.facts["outside"] for vm in vms} == {passthrough.sha256(tmp_path / "down") + "  -"}
    up = [os.path.join(tmp_path, "up", name) for name in os.listdir(tmp_path / "up")]
    assert sorted(passthrough.sha256(file) + "  -" for file in up) == sorted(vm.facts["sent"] for vm in vms)
    assert iommu.blocked(done) == []


@pytest.mark.full
def test_two_in_one():
    """A VM has two of three virtual functions, with a driver and interrupts each, and both go when they are off."""
    keys = {"first": {**IOMMU["first"]}, "others": {**IOMMU["others"], "pci": "vf:00:08.0:0, vf:00:08.0:2"}}
    done, (a, b) = run("two-in-one", (0,), 3, "margay.then=off", iommu.UNIT["caching"], **keys)
    check_data((a, b))
    for n in 0, 2:
        assert b.facts[sriov.ROOT.vf(n)] == "0x8086 0x10ca igbvf"
        assert done.has_line(r".*b: pci: 00:18\.%d is gone: .*" % (2 * n))
    assert len([key for key, value in b.facts.items() if value.endswith("igbvf")]) == 2
    assert b.facts["after"] == "removed" and iommu.blocked(done) == []


@pytest.mark.full
@pytest.mark.parametrize("mode", ["direct", "emulated"])
def test_interrupts(mode):
    """A stream of 32 MiB, by telemetry at both its ends: direct, its packets make no exits; emulated, an interrupt is one."""
    keys = {vms: {**IOMMU[vms], "interrupts": mode} for vms in IOMMU}
    vms = files((1,), 2, "margay.then=stream", **keys)
    with sriov.start("interrupts-" + mode, vms, iommu.UNIT["caching"]) as running:
        monitor_console.whole_lines(running)
        console = monitor_console.Console(running)
        running.expect(r"^\[b\] margay-test: still: ")
        before = console.exits("b")
        assert "margay-test: streaming: " not in running.text
        running.expect(r"^\[b\] margay-test: streamed: ")
        after = console.exits("b")
        assert "margay-test: bytes: " not in running.text
        done = node.Run(running, running.wait())
    vms = [done.of(name) for name in "ab"]
    check_vms(vms, (1,), 2)
    check_data(vms)
    b = vms[1].facts
    packets = int(b["streamed"]) - int(b["streaming"])
    assert int(b["bytes"]) == 32 << 20 and packets > 20000
    more = {reason: after[reason] - before.get(reason, 0) for reason in after}
    # Each character of its three lines is one; and Linux executes CPUID some four times a second, however long this takes.
    others = sum(more.values()) - more.get("io", 0) - more.get("cpuid", 0)
    assert (others < packets / 200 and "extint" not in after) if mode == "direct" else more["extint"] > 500, (packets, more)


VLAN = 5
# Of the card's registers (82576 data sheet, 8.14.5, 8.14.17): what a function may not lie about when it sends, and what tag its
# frames get.
DTXSWC, VMVIR = 0x3500, 0x3700


@pytest.mark.full
def test_mac_and_vlan(tmp_path):
    """By `ip link set eth0 vf N` in the card's VM: functions 0 and 1 have the MAC addresses that it says, and one VLAN, by which
    they reach each other, but not the card's VM, as function 2 does; function 1's frames are not checked, by the register."""
    vms = files((0, 1, 2), 3, "margay.then=hold margay.vlan=%d" % VLAN, IOMMU["first"], IOMMU["others"])
    for name, who in ("b", "margay.first=2 margay.all=3"), ("c", "margay.first=2 margay.all=3"), ("d", "margay.first=4"):
        vms[name + ".conf"] = vms[name + ".conf"].replace("margay.then=hold margay.vlan=%d" % VLAN, "margay.then=reach").replace(
            "margay.all=4", who)
    with sriov.start("vlan", vms, [*iommu.UNIT["caching"], *qemu_monitor.arguments(tmp_path)], memory="3G") as running:
        monitor_console.whole_lines(running)
        for name in "bcd":
            if not re.search(r"^\S* ?%s: end=" % name, running.text, re.M):
                running.expect(r"%s: end=" % name)
        monitor = qemu_monitor.Monitor(tmp_path)
        card = monitor.ask("info pci").split("device   8, function 0:")[1]
        bar = int(re.search(r"BAR0: 32 bit memory at 0x(\w+) ", card)[1], 16)
        spoof, tags = monitor.words(bar + DTXSWC, 1)[0], monitor.words(bar + VMVIR, 3)
        done = node.Run(running, monitor_console.Console(running).end())
    a, b, c, d = (done.of(name) for name in "abcd")
    assert len(a.lines(r"^margay-link: +vf [01] .*02:00:00:00:09:0[01].* vlan %d, " % VLAN)) == 2, a.lines("^margay-link")
    assert (b.facts["mac"], c.facts["mac"]) == ("02:00:00:00:09:00", "02:00:00:00:09:01") and d.facts["mac"] not in (
        b.facts["mac"], c.facts["mac"])
    assert b.facts["got-3"] == c.facts["sent"] and c.facts["got-2"] == b.facts["sent"]
    assert [vm.facts["first-answers"] for vm in (b, c, d)] == ["no", "no", "yes"]
    # No tag of their own, but that one; both kinds of checks, for function 0 alone of the two.
    assert tags == [1 << 30 | VLAN, 1 << 30 | VLAN, 0], tags
    assert spoof & 0x303 == 0x101, hex(spoof)


# Where no VM has memory, and where VM a has it, as the log must say.
FREE, READ, OF_A = 0x60000000, 0x60400000, 0x10000000
LANDED = 0x51  # tests/guest/vf.c
# A descriptor whose end the device writes down behind it; its frame is wherever the VM has memory.
DESCRIPTOR = struct.pack("<QLL", 0x1810000, 0x2b300040, 64 << 14)


def message_table(monitor, slot, function):
    """Where a function of an igb has its MSI-X table."""
    card = re.split("device +%d, function %d:" % (slot, function), monitor.ask("info pci"))[1]
    return int(re.search(r"BAR3: \S+ bit (?:prefetchable )?memory at 0x(\w+) ", card)[1], 16)


def forge(monitor, memory):
    """VF 1's first message is the card's own: the entry of that."""
    address = monitor.words(message_table(monitor, 8, 0), 1)[0]
    assert address & 0xfff0001f == 0xfee00010, hex(address)
    memory.write({message_table(monitor, 24, 2): address})
    return address >> 5 & 0x7fff


def rogue(name, folder, mode, extra, words, forged=None, **keys):
    """Debian's igb in VM a has two functions on, VF 1 is a tiny guest's, which has it write and read where its VM has no memory.
    The run, and what QEMU finds at FREE, OF_A, and behind the descriptor at READ. forged: a list for the entry of VM a's that its
    message is made one for."""
    memory = remapping.Memory(folder)
    vms = files((), 2, "margay.then=hold", first=keys)
    guest = tiny.Guest("vf", "qemu")
    vms["r.conf"] = guest.vm().replace("name = vf", "name = r").replace("cmdline = ", "cmdline = role=rogue %s " % words).replace(
        "cpus = 1\n", "cpus = 2-2\n") + "pci = vf:00:08.0:1\ndma = %s\n" % mode + (
            "trusted = yes\n" if "trusted" not in keys else "")
    extra = [*extra, *qemu_monitor.arguments(folder), *memory.arguments]
    for i in 0, 8:
        extra += ["-device", "loader,addr=%#x,data=%d,data-len=8" % (READ + i, struct.unpack_from("<Q", DESCRIPTOR, i)[0])]
    with sriov.start("rogue-" + name, vms, extra, {"vf": tiny.elf("vf")}) as running:
        monitor_console.whole_lines(running)
        monitor = qemu_monitor.Monitor(folder)
        if forged is not None:
            running.expect(r"^\[r\] vf: message arrives")
            forged.append(forge(monitor, memory))
        running.expect(r"r: end=")
        found = [monitor.words(at, 1)[0] for at in (FREE, OF_A, READ + 12)]
        done = node.Run(running, monitor_console.Console(running).end())
    assert any(int(at, 16) <= OF_A < int(at, 16) + (int(mib) << 20)
               for mib, at in re.findall(r"a: memory: (\d+)M on node 0: \S+ is at 0x(\w+)$", done.text, re.M))
    assert done.has_line(r".*r: end=exit status=0") and done.lines(r"tiny: vf: ok checks=\d+"), done.text[-4000:]
    return done, found


@pytest.mark.full
@pytest.mark.parametrize("dma", ["iommu", "window"])
def test_rogue(tmp_path, dma):
    """It reaches nothing of other VMs', nor nobody's memory, and does not send the card's interrupts: each is blocked, and told by
    its own requester ID."""
    entry = []
    done, found = rogue(dma, tmp_path, dma, iommu.UNIT["caching"], "at0=%d at1=%d read=%d message=1" % (FREE, OF_A, READ), entry,
                        dma="iommu", trusted=None)
    assert found[0] == 0 and found[1] != LANDED and found[2] == 64 << 14, found
    who = "iommu: 00:18.2, of r: "
    said = [line[line.index(who) + len(who):] for line in done.lines(re.escape(who))]
    assert said == ["DMA blocked: writes to %#x, reason 5" % FREE, "DMA blocked: writes to %#x, reason 5" % OF_A,
                    "DMA blocked: reads from %#x, reason 6" % READ,
                    "interrupt blocked: entry %#x, reason 38" % entry[0]], said
    # Of nobody else's.
    assert len(done.lines(" blocked: ")) == len(said)


@pytest.mark.full
def test_rogue_control(tmp_path):
    """Without an IOMMU the same guest, which has to be trusted, writes and reads."""
    done, found = rogue("control", tmp_path, "window", [], "at0=%d read=%d" % (FREE, READ))
    assert found[0] == LANDED and found[2] == 64 << 14 | 1, found
    assert done.lines(" blocked: ") == []
