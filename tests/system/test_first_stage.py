# SPDX-License-Identifier: GPL-2.0-only
"""A firmware that has left VT-d or AMD-Vi on: translation that lets nothing through, interrupt remapping, a queue, a fault that
nobody took; and memory that it wants for a function (RMRR, IVMD). A program of ours (first_stage.c) does that and then enters
Margay.

On VT-d and AMD-Vi: `first_stage.c` is started by GRUB instead of Margay, leaves translation, remapping, a queue and a
fault on, adds an RMRR to the DMAR or an IVMD to the IVRS, and enters Margay. Its tables are gone then, its fault is
not told, the function with that memory reaches that page and nothing else, seen by the unit's own tables from
outside, and is no VM's. With `iommu=off`, in an image without `CONFIG_IOMMU` and in the tiny image all is off, and a line
says what was on; so does the hardware check.

The control is the stage itself: it goes on only once the unit has blocked its device.

QEMU's VT-d lets interrupts of the old format through though it remaps. Its AMD-Vi does not, and goes on remapping by the table
that it was left with when it is off: where nothing takes it over the stage leaves interrupts alone there, but under the tiny image,
whose console does without. So that those pass again when a unit is switched off is not shown. What QEMU's units do not have,
protected memory: `test_iommu_release.c`.
"""

import os
import re
import subprocess

import amdvi
import edu_device
import iommu
import margay_configs as configs
import node
import pytest
import qemu_monitor
import remapping
import tiny

KEPT = 0x9f000
IMAGE = os.path.join(node.BUILD, "margay.elf")
ADDRESS = 0xffffffffff000  # of a table's entry


def entry(monitor, table, n):
    return quadword(monitor, (table & ADDRESS) + n * 8)


def quadword(monitor, at):
    low, high = monitor.words(at, 2)
    return high << 32 | low


class Vtd:
    source, on, extra = "first_stage_vtd.c", iommu.ON, remapping.WIDE
    released = "margay: iommu: firmware left DMA translation, interrupt remapping on in the unit at 0xfed90000: off now"
    # QEMU lets messages of the old format through, which an image without CONFIG_IOMMU has.
    quiet = []
    RTADDR = 0xfed90020

    @staticmethod
    def left_on(monitor):
        """Whether it translates, whether it remaps interrupts, whether those of the old format pass."""
        status = monitor.words(remapping.STATUS, 1)[0]
        return [bool(status & bit) for bit in (remapping.TRANSLATES, remapping.REMAPS, remapping.OLD_FORMAT)]

    def reaches(self, monitor, devfn, at):
        """Where an address of a function's leads, by the unit's own tables; None: nowhere."""
        table = entry(monitor, entry(monitor, quadword(monitor, self.RTADDR), 0), devfn * 2)
        if not table & 1:
            return None
        for shift in 39, 30, 21, 12:
            table = entry(monitor, table, at >> shift & 511)
            if not table & 3:
                return None
            if table & 0x80 or shift == 12:
                return (table & ADDRESS & -(1 << shift)) | (at & (1 << shift) - 1)
        raise AssertionError

    @staticmethod
    def check_blocked(lines):
        """Only what its own guest has it do, none of the one that was there before."""
        assert lines == ["margay: iommu: 00:09.0, of rogue: DMA blocked: writes to %#x, reason 5" % iommu.AT,
                         "margay: iommu: 00:09.0, of rogue: DMA blocked: reads from %#x, reason 6" % iommu.READ]


class AmdVi:
    source, on = "first_stage_amdvi.c", amdvi.ON
    released = "margay: iommu: firmware left DMA translation, interrupt remapping on in the unit at 0xfed80000: off now"
    extra = amdvi.UNIT + ["-device", "edu,addr=b"]  # the one that leaves the fault
    # QEMU's unit goes on with interrupts by the table that it was left with when it has been switched off.
    quiet = ["-DINTERRUPTS=0"]

    @staticmethod
    def left_on(monitor):
        """As Vtd's. NMI, INIT and ExtINT pass as they are by bits of their own."""
        on = quadword(monitor, amdvi.GOOD + 0x18) & 1
        interrupts = entry(monitor, quadword(monitor, amdvi.GOOD), 0x48 * 4 + 2)
        return [bool(on), bool(on and interrupts & 1), bool(on and interrupts >> 56 & 7)]

    @staticmethod
    def reaches(monitor, devfn, at):
        table = entry(monitor, quadword(monitor, amdvi.GOOD), devfn * 4)
        assert table & 0xfff == 4 << 9 | 3, hex(table)  # nobody's are blocked by a table, too
        for shift in 39, 30, 21, 12:
            if table >> 61 & 3 != 3:
                return None
            table = entry(monitor, table, at >> shift & 511)
            if not table & 1:
                return None
            if not table >> 9 & 7:
                return (table & ADDRESS & -(1 << shift)) | (at & (1 << shift) - 1)
        raise AssertionError

    @staticmethod
    def check_blocked(lines):
        """QEMU notes one DMA as several events."""
        assert {line.split(";")[0] for line in lines} == {amdvi.BLOCKED}, lines


@pytest.fixture(scope="module", name="unit", params=[Vtd, AmdVi], ids=["vtd", "amdvi"])
def fixture_unit(request, tmp_path_factory):
    unit = request.param()
    unit.stage = build(unit, tmp_path_factory.mktemp("stage"))
    unit.stage_quiet = build(unit, tmp_path_factory.mktemp("stage"), *unit.quiet)
    return unit


def build(unit, folder, *flags):
    path = str(folder / "first_stage.elf")
    sources = [os.path.join(os.path.dirname(__file__), name) for name in ("first_stage.c", unit.source)]
    subprocess.run(["gcc", "-m32", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-pie", "-no-pie",
                    "-fno-stack-protector", "-mno-sse", "-nostdlib", "-static",
                    "-Wl,-Ttext=0x8000000,--build-id=none,-z,norelro,-z,noexecstack", "-o", path, *flags, *sources], check=True)
    return path


def start(unit, name, folder, stage, image, dma, words="", more=()):
    """A node that is running this; edu is a VM's, whose guest has it write within its memory and beside it."""
    name += "-" + type(unit).__name__.lower()
    text = tiny.Guest("rogue", "qemu").vm(last=True).replace("pci = 1234:11e8", "pci = 00:09.0") + "dma = %s\n" % dma
    text = text.replace("cmdline = ", "cmdline = at=%d read=%d " % (iommu.AT, iommu.READ))
    other = tiny.Guest("hypercall", "qemu").vm().replace("name = hypercall", "name = other")
    other += "pci = 00:0a.0\ndma = %s\n" % dma
    # Tiny guests with the host's addresses want those from 4 MiB on, which a larger module would have.
    stripped = os.path.join(str(folder), "margay")
    subprocess.run(["strip", "-o", stripped, image], check=True)
    vms = {"other.conf": other, "rogue.conf": text} if dma == "iommu" else {"rogue.conf": text}
    iso = node.margay_iso(name, vms, {"rogue": tiny.elf("rogue"), "hypercall": tiny.elf("hypercall"), "margay": stripped}, words,
                          elf=stage, check=False)
    extra = unit.extra + edu_device.EDU + ["-device", "e1000e,addr=a"] + qemu_monitor.arguments(folder) + [*more]
    return node.start(name, "qemu", iso, memory="256M", timeout=60, extra=extra)


def boot(unit, name, folder, *rest):
    """What the guest found and said; what others looked at."""
    seen = {}
    with start(unit, name, folder, *rest) as running:
        running.expect(r"^rogue: wrote\r?$", 40)
        monitor = qemu_monitor.Monitor(folder)
        seen["on"] = unit.left_on(monitor)
        seen["landed"] = iommu.PATTERN in monitor.memory(iommu.AT, 4096)
        if seen["on"][0]:
            seen["kept"] = [unit.reaches(monitor, devfn, KEPT) for devfn in (0x50, 0x48, 0x08)]
            seen["beside"] = [unit.reaches(monitor, 0x50, at) for at in (0, KEPT - 0x1000, KEPT + 0x1000)]
        running.send("x")
        run = node.Run(running, running.wait())
    assert run.has_line("first stage: all is on")
    return seen, run


def test_taken_over(tmp_path, unit):
    """The tables are ours, nothing of the firmware's is told to us; the function that it wants memory for has that, and is no
    VM's."""
    seen, run = boot(unit, "first-stage", tmp_path, unit.stage, IMAGE, "iommu")
    assert run.has_line(unit.on)
    assert run.has_line("rogue: end=exit status=0"), run.text[-4000:]
    assert seen["on"] == [True, True, False] and not seen["landed"]
    unit.check_blocked(iommu.blocked(run))
    assert seen["kept"] == [KEPT, seen["kept"][1], None] and seen["kept"][1] != KEPT
    assert seen["beside"] == [None, None, None]
    assert run.has_line(r"other: other\.conf:\d+: pci: 00:0a\.0 cannot be passed through: the firmware uses it too, by memory "
                        r"reserved for it \(RMRR, IVMD\)"), run.text[-4000:]


@pytest.mark.parametrize("how", ["off", "without"])
def test_switched_off(tmp_path, unit, how):
    """The image uses no IOMMU, by the command line, or as it has no driver: the device reaches its VM's memory."""
    image, words = (IMAGE, "iommu=off") if how == "off" else (node.variant("no-iommu", "IOMMU=n"), "")
    seen, run = boot(unit, "first-stage-" + how, tmp_path, unit.stage_quiet, image, "identity", words)
    assert run.has_line("margay: iommu: off by the command line: DMA is not contained") == (how == "off")
    assert run.has_line(unit.released)
    assert run.has_line("rogue: end=exit status=0"), run.text[-4000:]
    assert seen["on"][:2] == [False, False] and seen["landed"]


def test_tiny_image(tmp_path, unit):
    """One that knows no PCI function switches all off, too. It has no lines but of errors: those of the VM are behind that, and the
    node ends soon; the machine stays. On AMD-Vi the console's interrupt does not come any more, and the line comes all the same."""
    elf = configs.build(configs.load("tiny"), os.path.join(configs.CONFIGS, "tiny"))
    hold = ("-action", "shutdown=pause")
    with start(unit, "first-stage-tiny", tmp_path, unit.stage, elf, "identity", more=hold) as running:
        if unit.quiet:
            running.expect(r"margay: console: interrupt 4 does not come: the line is polled; ")
        running.expect(r"rogue\.conf:\d+: ")
        assert unit.left_on(qemu_monitor.Monitor(tmp_path))[:2] == [False, False]


def test_check(tmp_path, unit):
    with start(unit, "first-stage-check", tmp_path, unit.stage_quiet, IMAGE, "identity", "check=1") as running:
        running.expect(r"check: ok +IOMMU: [\w-]+, 1 unit, left on by the firmware: DMA translation, interrupt remapping: "
                       r"off now\r?$")
