# SPDX-License-Identifier: GPL-2.0-only
"""Modules of facts: what acpiexec knows of recorded machines, as the image takes it; what a Linux says; both joined.

The image takes the module of each, and nothing is wrong.
"""

import glob
import os
import struct
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
MACHINES = os.path.join(TOP, "tests", "machines")
sys.path.insert(0, MACHINES)

import acpica  # noqa: E402
import facts  # noqa: E402
import judge  # noqa: E402

READER = os.path.join(BUILD, "unit", "read_machine")
RECORDINGS = sorted(glob.glob(os.path.join(MACHINES, "recordings", "*.xz")))
ROUTED = ("route", "bridge", "turn", "beyond")


def parts(path):
    recording = judge.load(path)
    return (recording, [(signature, bytes.fromhex(data)) for signature, data in recording["tables"]],
            facts.of_acpiexec(recording["functions"], recording["facts"]))


def routed(recording, said):
    counts, wrong, unknown = judge.judge(recording["facts"], said)
    return ({k: v for k, v in counts.items() if k in ROUTED}, wrong, {u for u in unknown if judge.kind(u) in ROUTED})


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: os.path.basename(path)[:-3])
def test_acpiexec(path):
    """The image takes them, for they contradict nothing that it reads; and then each entry of a _PRT is known but those of links
    that are set at run time."""
    recording, tables, found = parts(path)
    counts, wrong, unknown = routed(recording, judge.read(READER, recording, facts.module(found, tables, "test")))
    before, _, unknown_before = routed(recording, judge.read(READER, recording))
    assert not wrong
    assert unknown <= unknown_before
    at_run_time = {line.split()[0] for _, line in recording["functions"] if not line.endswith(" 0")}
    for subject in unknown:
        assert judge.kind(subject) in ("turn", "beyond") or subject in at_run_time
    assert counts.get("beyond") == before.get("beyond")


def test_what_is_wrong_is_not_taken():
    """One machine's facts, the one with the smallest tables: with one of them changed, its end lost, or another machine's hash."""
    def refused(text):
        with pytest.raises(judge.Crash) as error:
            judge.read(READER, recording, text)
        return str(error.value)

    recording, tables, found = min(map(parts, RECORDINGS), key=lambda p: sum(len(data) for _, data in p[1]))
    text = facts.module(found, tables, "test")
    judge.read(READER, recording, text)
    assert "cut off: no end" in refused(text[:text.index("end = ")])
    assert "not of this machine" in refused(facts.module(found, [t for t in tables if t[0] != "DSDT"], "test"))
    read = judge.read(READER, recording)
    changed = dict(found)
    for above, line in recording["functions"]:
        label, segment, bus, devfn, _, _, pin, _ = line.split()
        if not above and judge.known(read.get(label, "unknown")) and label.startswith("route:"):
            subject = facts.place("%04x:%02x" % (int(segment, 16), int(bus, 16)), [], int(devfn, 16) >> 3, int(pin, 16) - 1)
            if subject_known := changed.get(("route", subject)):
                changed["route", subject] = str(int(subject_known) + 1)
                break
    assert changed != found
    assert "contradicts the firmware's tables" in refused(facts.module(changed, tables, "test"))


# ---- Linux --------------------------------------------------------------------------------

LOG = """[    0.01] SRAT: PXM 0 -> APIC 0x00 -> Node 0
[    0.01] SRAT: PXM 4 -> APIC 0x40 -> Node 1
[    0.01] ACPI: SRAT: Node 0 PXM 0 [mem 0x00000000-0x0009ffff]
[    1.00] ACPI: PCI: Interrupt link LNKA configured for IRQ 11
[    2.00] pcieport 0000:00:1c.0: PCI INT A -> GSI 16 (level, low) -> IRQ 24
[    2.00] nvme 0000:03:00.0: PCI INT A -> GSI 17 (level, low) -> IRQ 25
[    2.00] mgag200 0000:04:00.0: PCI INT A -> GSI 11 (level, low) -> IRQ 11
[    2.00] odd 0000:00:05.0: PCI INT B -> GSI 18 (level, high) -> IRQ 26
[    2.00] igb 0000:80:01.0: PCI INT C -> GSI 40 (level, low) -> IRQ 27
"""
FUNCTIONS = """/sys/devices/pci0000:00/0000:00:05.0 2 0
/sys/devices/pci0000:00/0000:00:1c.0 1 0
/sys/devices/pci0000:00/0000:00:1c.0/0000:03:00.0 1 0
/sys/devices/pci0000:00/0000:00:1d.0/0000:04:00.0 1 0
/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0 1 0
/sys/devices/pci0000:80/0000:80:01.0 3 1
/sys/devices/pci0000:80/0000:80:02.0 0 1
"""
IOMEM = """00001000-0009ffff : System RAM
80000000-8fffffff : PCI Bus 0000:00
  80000000-800fffff : PCI Bus 0000:03
c0000000-dfffffff : PCI Bus 0000:80
"""
IOPORTS = """0000-0cf7 : PCI Bus 0000:00
"""
ROOTS = "0000:00 \\_SB_.PCI0\n0000:80 \\_SB_.PC__.R\n"


def linux(tmp_path, **changed):
    texts = {"dmesg": LOG, "functions": FUNCTIONS, "iomem": IOMEM, "ioports": IOPORTS, "roots": ROOTS}
    (tmp_path / "tables").mkdir(exist_ok=True)
    for name, text in dict(texts, **changed).items():
        (tmp_path / name).write_text(text, encoding="ascii")
    return facts.Linux(str(tmp_path))


def test_linux(tmp_path):
    """Routes by the path of bridges; not what a link or the wrong polarity says; nodes as the SRAT's domains."""
    node = linux(tmp_path)
    assert node.facts() == {
        ("route", "0000:00/1c A"): "16", ("route", "0000:00/1c.0/0 A"): "17", ("route", "0000:80/1 C"): "40",
        ("proximity", "0000:00"): "0", ("proximity", "0000:80"): "4"}
    assert node.told() == {"\\_SB.PCI0": (0, 0), "\\_SB.PC.R": (0, 0x80)}
    assert node.root_windows() == {("0000:00", "mem"): [(0x80000000, 0x8fffffff)], ("0000:80", "mem"): [(0xc0000000, 0xdfffffff)],
                                   ("0000:00", "io"): [(0, 0xcf7)]}
    assert not linux(tmp_path, dmesg=LOG + "PCI: Ignoring host bridge windows from ACPI\n").root_windows()
    with pytest.raises(ValueError):
        linux(tmp_path, iomem="00000000-00000000 : PCI Bus 0000:00\n")


def test_join(tmp_path):
    acpi = {("route", "0000:00/1c A"): "16", ("route", "0000:00/1 B"): "20", ("proximity", "0000:80"): "4",
            ("window", "0000:00 mem 0x80000000-0x87ffffff"): "", ("window", "0000:00 mem 0x88000000-0x8fffffff"): "",
            ("window", "0000:00 io 0x0-0xcf7"): ""}
    found, by, wrong = facts.join(acpi, linux(tmp_path))
    assert not wrong
    # What Linux coalesced stays as firmware has it; of the other root only Linux knows a window.
    assert found == {**acpi, **linux(tmp_path).facts(), ("window", "0000:80 mem 0xc0000000-0xdfffffff"): ""}
    assert [by["route", s] for s in ("0000:00/1c A", "0000:00/1 B", "0000:80/1 C")] == ["both", "acpiexec", "Linux"]
    assert by["window", "0000:80 mem 0xc0000000-0xdfffffff"] == "Linux"
    assert by["window", "0000:00 mem 0x88000000-0x8fffffff"] == by["proximity", "0000:80"] == "both"
    assert facts.unknown_lines(found, linux(tmp_path)) == ["0000:00:05.0", "0000:04:00.0"]
    for key, value in ((("route", "0000:00/1c A"), "17"), (("proximity", "0000:80"), "1")):
        assert len(facts.join({**acpi, key: value}, linux(tmp_path))[2]) == 1
    del acpi["window", "0000:00 mem 0x88000000-0x8fffffff"]
    assert facts.join(acpi, linux(tmp_path))[2] == ["window = 0000:00 mem 0x80000000-0x8fffffff by Linux: in none of acpiexec's"]


def test_a_module_has_its_limit():
    with pytest.raises(ValueError):
        facts.module({("proximity", "%04x:00" % i): "1" for i in range(facts.LIMIT + 1)}, [], "test")


@pytest.mark.parametrize("breaks", [0, 1, acpica.BREAKS])
def test_a_break_point_is_gone_over(breaks, tmp_path):
    """Real firmware has left some; acpiexec waits at each, and asked for the next value it says nothing."""
    method = b"MAIN\0" + b"\xcc" * breaks + b"\xa4\x0a\x05"
    code = bytes([0x14, len(method) + 1]) + method + b"\x08LAST\x0a\x07"
    table = bytearray(struct.pack("<4sIBB6s8sI4sI", b"DSDT", 36 + len(code), 2, 0, b"MARGAY", b"TEST", 1, b"TEST", 1) + code)
    table[9] = -sum(table) & 0xff
    path = tmp_path / "dsdt.aml"
    path.write_bytes(table)
    said = acpica.run([str(path)], acpica.FILLS[0], ["evaluate \\MAIN", "evaluate \\LAST"])
    assert [acpica.Evaluation(text).value for text in said[:2]] == [5, 7]
