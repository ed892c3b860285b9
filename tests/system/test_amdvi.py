# SPDX-License-Identifier: GPL-2.0-only
"""AMD-Vi, by QEMU 11.1 (tools/newer-qemu): what test_iommu.py and test_remapping.py have of VT-d.

On AMD-Vi, which QEMU has from 11.1 on (before, no interrupt passes it): `make newer-qemu` unpacks that of Debian 13's
backports with its libraries below `build`, on Debian 12 and 13, and any machine with `-device amd-iommu` is started
by it. The same disks, cards, rogue and ends of VMs as on VT-d; most rows are in the full tier.

QEMU writes neither address nor direction into an event (`amdvi_encode_event()` shifts by 64), marks all as
interrupts, and notes no blocked interrupt, so that these are told in `test_amdvi.c` only, on a unit of its own
making, with full logs.

A function sends messages that somebody outside has made NMI, INIT and ExtINT, and `edu` writes the last two by DMA:
by QEMU's trace its unit blocks them for want of the bits that would let them pass; with `iommu=off` each arrives, the
NMI as one of the platform that the log tells of. An NMI that is written by DMA is in `test_amdvi.c` only: QEMU takes
what `edu` writes for the I/O APIC's, whose NMIs pass; and so are SMIs, which its unit knows not at all. `edu` writes
into an ivshmem of its VM's, and not into another VM's; it does with `iommu=off`.

`test_lies`: GRUB puts an IVRS in front of QEMU's in which five units lie beside the one that is there, with a line
each; a function that two units have, one of a unit that does not work, and one of a range that ends before it begins
are no VM's, and what is right is. Two recorded machines (Threadrippers) have such an overlap, over bus ff, where no
function is. A table that cannot be read is none.
"""

import re
import struct

import amdvi
import edu_device
import iommu
import netdev
import node
import numa
import passthrough
import pytest
import remapping
import tiny


def disk(name, dma="iommu", interrupts="emulated", extra=(), cpus=2, vm_cpus="2"):
    """Debian's nvme with MSI-X, by checksums."""
    arguments, drivers, device, vectors = passthrough.DEVICES["nvme"]
    file = passthrough.make_disk(name)
    before = passthrough.sha256(file)
    done = node.run_guest(
        name, "qemu", "margay.test=pci margay.drivers=%s margay.disk=%s margay.guest=yes" % (drivers, device),
        initrd="initrd-drivers", memory="1G", cpus=cpus,
        vm={"pci": "00:06.0", "cpus": vm_cpus, "memory": passthrough.MEMORY, "dma": dma, "interrupts": interrupts},
        extra=amdvi.UNIT + ["-drive", "if=none,id=data,format=raw,file=" + file] + arguments + list(extra))
    remapping.check(done, amdvi.ON)
    assert done.has_line("vm0: interrupts: direct") == (interrupts == "direct")
    assert done.facts["sum"].split()[0] == before
    assert done.facts["read"].split()[0] == done.facts["wrote"].split()[0]
    assert passthrough.sha256(file, 4 << 20) == done.facts["wrote"].split()[0]
    counts = re.findall(r"^margay-interrupt: +\d+: +(\d+) .*%s" % vectors, done.text, re.M)
    assert sum(int(n) for n in counts) > 10, done.lines("^margay-interrupt: ")
    return done


@pytest.mark.parametrize("dma, interrupts", [
    ("iommu", "direct"), pytest.param("auto", "emulated", marks=pytest.mark.full),
    pytest.param("identity", "emulated", marks=pytest.mark.full), pytest.param("window", "direct", marks=pytest.mark.full)])
def test_disk(dma, interrupts):
    disk("amdvi-%s-%s" % (dma, interrupts), dma, interrupts)


@pytest.mark.full
def test_high_ids():
    """On a CPU that no message reaches otherwise."""
    extra = []
    for i in 254, 287:
        extra += ["-device", "max-x86_64-cpu,socket-id=%d,core-id=0,thread-id=0" % i]
    done = disk("amdvi-ids", extra=extra, cpus="1,maxcpus=288,sockets=288,cores=1", vm_cpus="2-2")
    assert done.has_line("vm0: vcpu0: CPU 2, APIC ID 287, .*")


@pytest.mark.full
@pytest.mark.parametrize("card", ["e1000", "e1000e", "igb"])
def test_network(card):
    """By a line (e1000) through the machine's I/O APIC, and by MSI-X."""
    arguments, down, up = netdev.network("amdvi-" + card)
    done = node.run_guest(
        "amdvi-" + card, "qemu", "margay.test=pci margay.drivers=%s margay.net=eth0" % card, initrd="initrd-drivers",
        vm={"pci": "00:06.0", "cpus": "2", "memory": passthrough.MEMORY}, memory="1G", cpus=2,
        extra=amdvi.UNIT + arguments + ["-device", card + ",netdev=net0,addr=6"])
    remapping.check(done, amdvi.ON)
    assert done.facts["down"].split()[0] == passthrough.sha256(down)
    assert done.facts["up"].split()[0] == passthrough.sha256(up, netdev.SENT)
    if card == "e1000":
        assert min(passthrough.lines_of(done, "eth0").values()) > 100, done.lines("^margay-interrupt: ")
    else:
        assert sum(passthrough.interrupts(done, "eth0")) > 100, done.lines("^margay-interrupt: ")


def test_several_messages():
    """Entries in a row, by what the device adds to its message."""
    guest = tiny.Guest("msi_several", "qemu")
    run = tiny.run("amdvi-several", "qemu", None, 1, {"msi_several.conf": guest.vm(last=True)},
                   extra=amdvi.UNIT + ["-device", "nec-usb-xhci,msi=on,msix=off,addr=9"])
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    remapping.check(run, amdvi.ON)


@pytest.mark.full
def test_forged(tmp_path):
    """Another function's message is one's own, for each has a table; the control is test_remapping.py's. What edu writes by DMA
    is, for QEMU, the I/O APIC's, which has no such entry; QEMU notes none of that."""
    counts, message, _, run = remapping.forge(tmp_path, "amdvi-forged", amdvi.UNIT, (0xfee00000, 0x1f0))
    assert run.has_line(amdvi.ON)
    assert message == [0xfee00000, 0, 0]
    assert counts == [(1, 1), (1, 2), (1, 2)]


NMI, INIT, EXTINT = 4, 5, 7  # delivery modes
AFTER_INIT = 0x60000010  # CR0
SECOND, IOAPIC = 0x50, 0xa0  # requester IDs; what edu writes by DMA is, for QEMU, the I/O APIC's
OTHER_CPU = 0xfee01000


OWN_PAGE = 0x1900000  # of the guest's memory
PLATFORM_NMI = r"margay: NMI of the platform on CPU 1: no device's, .*"


def forge_mode(folder, mode, words="", dma="iommu"):
    """A function's message is made one of this delivery mode from outside, for CPU 1, and it writes the same by DMA, but for NMI:
    that is the I/O APIC's to QEMU, whose NMIs pass, for the hypervisor has some. ExtINT is a vector for QEMU's local APICs: the
    first function's. What had arrived, what QEMU's unit said of each such message, by requester ID, the CR0 of CPU 1 in the end,
    the run."""
    folder, cr0, sent = str(folder), [], []
    trace, events = folder + "/trace", folder + "/events"
    with open(events, "w", encoding="ascii") as f:
        f.write("amdvi_ir_remap_msi_req\namdvi_ir_remap_msi\namdvi_ir_err\n")

    def changed(address, vector):
        sent.extend([address if mode == EXTINT else OTHER_CPU, mode << 8 | (vector & 0xff if mode == EXTINT else 0)])
        return sent

    def look(monitor):
        cr0.extend(int(word, 16) for word in re.findall(r"\bCR0=(\w+)", monitor.ask("info registers -a")))
        # A node that has lost a CPU does not end as others do.
        return cr0[1] == AFTER_INIT

    counts, _, _, run = remapping.forge(
        folder, "amdvi-mode-%d-%s" % (mode, dma), amdvi.UNIT + ["-trace", "events=%s,file=%s" % (events, trace)],
        (OWN_PAGE, 0) if mode == NMI else None, changed, dma, words, look, 2)
    with open(trace, encoding="ascii", errors="replace") as f:
        text = f.read()
    said = re.findall(r"remap_msi_req .*?addr 0x%x data 0x%x devid 0x(\w+)\n(.*)$" % tuple(sent), text, re.M)
    return counts, [(int(sid, 16), line) for sid, line in said], cr0[1], run


MODES = pytest.mark.parametrize("mode, senders", [(NMI, [SECOND]), (INIT, [SECOND, IOAPIC]), (EXTINT, [SECOND, IOAPIC])],
                                ids=["nmi", "init", "extint"])


@MODES
def test_forged_mode(tmp_path, mode, senders):
    """What no entry translates passes by bits of its sender's own, and those are 0."""
    counts, said, cr0, run = forge_mode(tmp_path, mode)
    assert run.has_line(amdvi.ON)
    assert said == [(sender, "amdvi_ir_err passthrough is not enabled") for sender in senders]
    assert counts == [(1, 1)] * 3 and cr0 != AFTER_INIT
    assert not run.has_line(PLATFORM_NMI)


@MODES
def test_forged_mode_control(tmp_path, mode, senders):
    """Where the unit is not used each of them arrives."""
    counts, said, cr0, run = forge_mode(tmp_path, mode, "iommu=off", "identity")
    assert [sender for sender, _ in said] == senders, said
    assert all(line.startswith("amdvi_ir_remap_msi (") for _, line in said), said
    assert counts == ([(1, 1), (2, 1), (3, 1)] if mode == EXTINT else [(1, 1)] * 3)
    assert (cr0 == AFTER_INIT) == (mode == INIT)
    assert run.has_line(PLATFORM_NMI) == (mode == NMI)


@pytest.mark.parametrize("dma", ["iommu", *(pytest.param(dma, marks=pytest.mark.full) for dma in ("identity", "window"))])
def test_rogue(tmp_path, dma):
    """It neither writes nor reads where its VM has no memory, and the first of many lines say who it was."""
    landed, read, run = iommu.rogue("amdvi-rogue-" + dma, tmp_path, dma, amdvi.UNIT)
    assert not landed and read != iommu.SECRET
    assert run.has_line(amdvi.ON)
    lines = iommu.blocked(run)
    assert len(lines) == 8 and set(lines[:-1]) == {amdvi.BLOCKED}, lines
    assert lines[-1] == amdvi.BLOCKED + "; more of it is not reported", lines


def test_rogue_control(tmp_path):
    """With a unit that is not used the same guest has written and read."""
    landed, read, run = iommu.rogue("amdvi-rogue-off", tmp_path, "identity", amdvi.UNIT, words="iommu=off")
    assert landed and read == iommu.SECRET
    assert iommu.blocked(run) == []
    assert run.has_line("margay: iommu: off by the command line: DMA is not contained")


def test_elastic():
    """A page leaves a running VM while edu writes to it: what comes after that is blocked. In the control it lands."""
    run = iommu.elastic("amdvi-elastic", "iommu", amdvi.UNIT, "times=2 ")
    assert run.has_line(amdvi.ON)
    lines = iommu.blocked(run)
    assert lines and all("of elastic: DMA blocked" in line for line in lines), lines
    run = iommu.elastic("amdvi-elastic-control", "iommu", amdvi.UNIT, "control=1 ")
    assert run.has_line(amdvi.ON) and iommu.blocked(run) == []


@pytest.mark.parametrize("dma", ["iommu", pytest.param("identity", marks=pytest.mark.full)])
def test_taken_over(dma):
    """VMs end, by themselves and by a triple fault, while the device writes to their memory; the next VM has both."""
    run = edu_device.kill_under_dma("amdvi-kill-" + dma, 3, extra=amdvi.UNIT,
                                    change=("memory_map = identity", "dma = " + dma))
    edu_device.check_killed(run, 3)
    assert iommu.blocked(run) == []


@pytest.mark.parametrize("own", [True, False], ids=["own", "others"])
def test_registers_of_others(tmp_path, own):
    """A function writes to the registers of another of its VM's; and not to those of another VM's."""
    name = "amdvi-p2p-" + ("own" if own else "others")
    _, landed, run = iommu.registers_of_others(name, tmp_path, "iommu", own, 64, amdvi.UNIT)
    assert run.has_line(amdvi.ON) and landed == own
    lines = {line.split(";")[0] for line in iommu.blocked(run)}
    assert lines == (set() if own else {amdvi.BLOCKED.replace("rogue", "p2p")})


def test_registers_of_others_control(tmp_path):
    """With a unit that is not used the same write lands at another VM's."""
    _, landed, run = iommu.registers_of_others("amdvi-p2p-off", tmp_path, "window", False, 64, amdvi.UNIT, "iommu=off")
    assert landed and iommu.blocked(run) == []


WHOLE, RANGE, RANGE_END = 2, 3, 4


def entry(kind, devfn):
    return struct.pack("<BHB", kind, devfn, 0)


def ivhd(base, function, entries=b""):
    """A unit of an IVRS, which is this function of bus 0 (IOMMU Specification 3.07, 5.2.2)."""
    return struct.pack("<BBHHHQHHI", 0x10, 0, 24 + len(entries), function, 0x40, base, 0, 0, 0) + entries


def lies(name, blocks):
    """GRUB puts this IVRS in front of the firmware's. Four VMs with a function each: 00:09.0, 00:0a.0, 00:0b.0, 00:0c.0."""
    table = numa.acpi_table(b"IVRS", 2, struct.pack("<IQ", 0, 0) + blocks)
    guest = tiny.Guest("hypercall", "qemu")
    vms, extra = {}, []
    for devfn in "9abc":
        vms["vm%s.conf" % devfn] = guest.vm().replace("name = hypercall", "name = vm" + devfn) + (
            "pci = 00:0%s.0\ndma = iommu\n" % devfn)
        extra += ["-device", "edu,addr=" + devfn]
    vms["hypercall.conf"] = guest.vm("vmc", True)
    iso = node.margay_iso(name, vms, {"hypercall": tiny.elf("hypercall")}, acpi=[table])
    with node.start(name, "qemu", iso, memory="256M", timeout=60, extra=amdvi.UNIT + extra) as running:
        return node.Run(running, running.wait())


def refused(run):
    """{VM: why its function is not given to it}"""
    return dict(re.findall(r"^(vm.): vm.\.conf:\d+: pci: (.*?)\r?$", run.text, re.M))


def test_lies():
    """
    Units that are not there, a line each, beside the one that is. A function that two units have, one that a range has which ends
    before it begins, and one of a unit that does not work are no VM's; what is right is.
    """
    run = lies("amdvi-lies", b"".join([
        ivhd(amdvi.GOOD, 0x10, entry(WHOLE, 0x48) + entry(WHOLE, 0x60) + entry(RANGE, 0x5f) + entry(RANGE_END, 0x58)),
        ivhd(0x1000000, 0x11, entry(WHOLE, 0x48) + entry(WHOLE, 0x50)), ivhd(0xfed91000, 0x12),
        ivhd(0xfed92000, 0x13, entry(WHOLE, 0x70)), ivhd(amdvi.GOOD, 0x14, entry(WHOLE, 0x71)),
        ivhd(0x7fffffffffff000, 0x15, entry(WHOLE, 0x72))]))
    assert run.lines("iommu: the unit at ") == [
        "margay: iommu: the unit at %#x %s: its functions are given to no VM" % unit for unit in (
            (0x1000000, "has its registers in memory"), (0xfed91000, "has no function by the firmware's table"),
            (0xfed92000, "does not answer"), (amdvi.GOOD, "is named twice"),
            (0x7fffffffffff000, "has registers where none can be"))]
    assert run.has_line("margay: iommu: AMD-Vi, 1 of 6 units in use: DMA contained, interrupts not: "
                        "no unit remaps those of I/O APIC 0")
    assert refused(run) == {
        "vm9": "00:09.0 cannot be passed through: the firmware names two IOMMUs for it",
        "vma": "00:0a.0 cannot be passed through: its IOMMU does not work",
        "vmb": "00:0b.0 cannot be passed through: the firmware names no IOMMU for it"}
    assert run.has_line("vmc: end=exit status=0") and run.has_line("margay: node: end=poweroff vms=5 failed=3"), run.text[-4000:]


@pytest.mark.parametrize("blocks, says", [
    (ivhd(amdvi.GOOD + 1, 0x10, entry(WHOLE, 0x60)), "an IOMMU's base address is impossible"),
    (ivhd(amdvi.GOOD, 0x10, entry(WHOLE, 0x60) + b"\x42\0"), "a device entry is cut"),
    (ivhd(amdvi.GOOD, 0x10, entry(WHOLE, 0x60))[:-1], "a block's length is wrong"),
], ids=["base", "entry", "length"])
def test_lies_as_a_whole(request, blocks, says):
    """A table that cannot be read is none: nothing that wants an IOMMU is given, and the node goes on."""
    run = lies("amdvi-lies-" + request.node.callspec.id, blocks)
    assert run.has_line("margay: acpi: table IVRS: %s: ignored" % says), run.text[-4000:]
    found = refused(run)
    assert list(found) == ["vm9", "vma", "vmb", "vmc"] and all(why.startswith("the node has no IOMMU") for why in found.values())
    assert not run.has_line("margay: iommu: AMD-Vi.*") and run.has_line("margay: node: end=poweroff vms=5 failed=4")
