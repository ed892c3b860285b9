# SPDX-License-Identifier: GPL-2.0-only
"""The CPUID policy on the recorded machines of cpuid_recorded.h, under ASan and UBSan, judged as dumped CPUs are; and the judge."""

import os
import re
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
sys.path.insert(0, os.path.join(TOP, "tests", "machines"))

import cpu_dump  # noqa: E402
import cpu_judge  # noqa: E402

READER = os.path.join(BUILD, "unit", "read_cpus")
# IA32_VMX_BASIC with the TRUE MSRs, and all that the backend asks of VT-x but XSAVES (bit 20 of the secondary controls).
VMX = {0x480: 1 << 55 | 0x12, 0x486: 0x80000021, 0x487: 0xffffffff, 0x488: 0x2000, 0x489: 0x3767ff, 0x48b: 0xffefffff << 32,
       0x48c: 0xf0106334141, **dict.fromkeys((0x48d, 0x48e, 0x48f, 0x490), 0xffffffff << 32)}


def machines():
    found = {}
    with open(os.path.join(TOP, "tests", "unit", "cpuid_recorded.h"), encoding="utf-8") as f:
        for line in f:
            start = re.match(r"static const struct recorded_leaf (\w+)\[\]", line)
            leaf = re.match(r"\s*\{ (\w+), (\w+), \{ (\w+), (\w+), (\w+), (\w+) \} \}", line)
            if start:
                cpu = found.setdefault(start[1], {})
            elif leaf:
                cpu[int(leaf[1], 0), int(leaf[2], 0)] = tuple(int(leaf[i], 0) for i in range(3, 7))
    return found


MACHINES = machines()


def judge(cpus, msrs, said):
    return cpu_judge.Judge(cpus, msrs, said, cpu_judge.documented(), cpu_judge.msr_policy()).run()


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("msrs", ({}, VMX), ids=("", "vmx"))
def test_machine(name, msrs):
    cpus = [MACHINES[name]]
    said = cpu_judge.read(READER, cpus, msrs)
    judged = judge(cpus, msrs, said)
    assert judged.wrong == []
    assert judged.values > 250
    intel = cpus[0][1, 0][2] >> 5 & 1
    assert said.probes == ({"vmx": 0} if msrs and intel else {"vmx": -19, "svm": -19 if intel else 0})
    if msrs and intel:
        assert said.guest[0].get((0xd, 1), (0,))[0] & 8 == 0


def lose(table, key):
    del table[key]


WRONG = {
    "a bit shown that the CPU has not": lambda s: s.guest[0].update({(7, 0): tuple(r | 1 << 22 for r in s.guest[0][7, 0])}),
    "a bit that no document hides": lambda s: lose(s.guest[0], (7, 0)),
    "an XSAVE size": lambda s: s.xsave.update({7: (s.xsave[7][0] + 8, s.xsave[7][1])}),
    "a compacted XSAVE size": lambda s: s.xsave.update({7: (s.xsave[7][0], 576)}),
    "an XCR0 that is legal": lambda s: lose(s.xsave, 3),
    "an XCR0 that is not": lambda s: s.xsave.update({5: s.xsave[7]}),
    "an APIC ID": lambda s: s.guest[0].update({(0xb, 1): s.guest[0][0xb, 1][:3] + (7,)}),
    "a cache": lambda s: s.guest[0].update({(4, 2): (0, 0, 0, 0)}),
    "a leaf above the highest": lambda s: s.guest[0].update({(0x2f, 0): (1, 2, 3, 4)}),
    "a width of the flat topology": lambda s: s.flat[6].update({(0xb, 1): (2, 6, 0x201, 5)}),
    "a cache of the flat topology": lambda s: s.flat[6].update({(4, 3): s.guest[0][4, 3]}),
    "a control bit": lambda s: setattr(s, "cr4", s.cr4 & ~(1 << 20)),
    "EFER of no use": lambda s: setattr(s, "efer", s.efer | 1 << 13),
    "an XCR0 bit": lambda s: setattr(s, "xcr0", s.xcr0 & ~4),
    "a bug": lambda s: s.bugs[0][0].discard("mds"),
    "a bug without microcode": lambda s: s.bugs[0][1].symmetric_difference_update({"mds"}),
    "something that is done": lambda s: s.bugs.update({0: s.bugs[0][:2] + (s.bugs[0][2] ^ 1 << 7, s.bugs[0][3])}),
    "IA32_SPEC_CTRL": lambda s: s.bugs.update({0: s.bugs[0][:3] + (2,)}),
    "a table that overflows": lambda s: setattr(s, "full", True),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_found(wrong):
    cpus = [MACHINES["skylake_sp"]]
    said = cpu_judge.read(READER, cpus, VMX)
    WRONG[wrong](said)
    assert judge(cpus, VMX, said).wrong


def test_an_msr_out_of_reach_is_found():
    cpus = [dict(MACHINES["skylake_sp"])]
    cpus[0][7, 0] = cpus[0][7, 0][:3] + (1 << 26,)
    said = cpu_judge.read(READER, cpus, {})
    for policy, wrong in ((cpu_judge.msr_policy(), 0), (cpu_judge.msr_policy() - {0x49}, 1)):
        assert len(cpu_judge.Judge(cpus, {}, said, cpu_judge.documented(), policy).run().wrong) == wrong


def test_a_bit_without_a_row_is_found():
    cpus = [dict(MACHINES["skylake_sp"])]
    cpus[0][7, 2], cpus[0][7, 0] = (0, 0, 0, 1 << 31), (2,) + cpus[0][7, 0][1:]
    cpus[0][5, 0] = cpus[0][8, 0] = cpus[0][0xe, 0] = (1, 0, 0, 0)
    judged = judge(cpus, {}, cpu_judge.read(READER, cpus, {}))
    assert len(judged.wrong) == 2
    assert judged.wrong[0].startswith("0x7.2 EDX bit 31: ") and judged.wrong[1].startswith("leaf 0xe is hidden")
    assert judged.nameless == {"leaf 0x8"}


def test_refused():
    said = cpu_judge.read(READER, [MACHINES["skylake_sp"]], VMX | {0x48b: 0})
    assert said.probes["vmx"] == -1
    assert any(line.startswith("VT-x, unrestricted guest: ") for line in said.lacks)


# One logical CPU in each form of the collection, and what all of them say.
FORMS = """\
------[ CPUID Registers / Logical CPU #0 ]------
allcpu: Package 0 / Core 0 / Thread 0: Valid

CPUID 00000000: 0000000D-756E6547-6C65746E-49656E69 [GenuineIntel]
CPUID 00000004: 1C004121-01C0003F-0000003F-00000000 [SL 00] [L1D: 32 KB]
CPUID 00000004: 1C004122-01C0003F-0000003F-00000000 [SL 01] [L1I: 32 KB]
CPUID 0000000D: 00000007-00000340-00000340-00000000 [SL 00] [x87]
CPUID 0000000D: 00000100-00000240-00000000-00000000 [SL 02] [AVX]
CPU#001 AffMask: 0x0000000000000002
CPUID 00000000 0000000D-756E6547-6C65746E-49656E69
CPUID 00000004 1C004121-01C0003F-0000003F-00000000
CPUID 00000004 1C004122-01C0003F-0000003F-00000000
CPUID 0000000D 00000007-00000340-00000340-00000000
CPUID 0000000D 00000100-00000240-00000000-00000000
CPUID Registers (CPU #3 Virtual):
CPUID 00000000 :0000000d-756e6547-6c65746e-49656e69
CPUID 00000004 :1c004121-01c0003f-0000003f-00000000
CPUID 00000004 :1c004122-01c0003f-0000003f-00000000
CPUID 0000000D :00000007-00000340-00000340-00000000
CPUID 0000000D :00000100-00000240-00000000-00000000
CPUID 0000000D :00000040-000003c0-00000000-00000000
CPUID 00000000  \t0000000D 756E6547 6C65746E 49656E69
CPUID 00000004  \t1C004121 01C0003F 0000003F 00000000 [L1D: 32 KB]
CPUID 00000004  \t1C004122 01C0003F 0000003F 00000000
CPUID 0000000D  \t00000007 00000340 00000340 00000000
CPUID 0000000D  \t00000100 00000240 00000000 00000000
MSR 0000010A: 0000-0000-0C28-FDEB [S200]
MSR 0000010A: 0000-0000-0000-0001
MSR 0000010B: < FAILED >
"""


def test_forms_of_dumps():
    cpus, msrs = cpu_dump.parse(FORMS)
    assert cpus == [{(0, 0): (0xd, 0x756e6547, 0x6c65746e, 0x49656e69), (4, 0): (0x1c004121, 0x1c0003f, 0x3f, 0),
                     (4, 1): (0x1c004122, 0x1c0003f, 0x3f, 0), (0xd, 0): (7, 0x340, 0x340, 0), (0xd, 2): (0x100, 0x240, 0, 0)}] * 4
    assert msrs == {0x10a: 0xc28fdeb}
