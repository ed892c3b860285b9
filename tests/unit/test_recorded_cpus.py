# SPDX-License-Identifier: GPL-2.0-only
"""The CPUID policy on the recorded machines of cpuid_recorded.h, under ASan and UBSan, judged as dumped CPUs are; and the judge.

The CPUID policy and the backends' probes on recorded CPUs, under ASan and UBSan, beside the manuals' rules in Python,
and that these find what is wrong. `tools/recorded-cpus CLONE` does that with the dumps of 588 machines in
github.com/InstLatx64/InstLatx64 (half a minute; its numbers are in tests/machines/README.md).
"""

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


INTEL = (0x756e6547, 0x6c65746e, 0x49656e69)
AMD = (0x68747541, 0x444d4163, 0x69746e65)


def cpu(vendor, family, model, stepping, **leaves):
    """A CPU of that signature with AVX and RDRAND, and leaves by names as l7_0."""
    extended = 0xf if family >= 0xf else family
    eax = stepping | (model & 15) << 4 | extended << 8 | model >> 4 << 16 | family - extended << 20
    found = {(0, 0): (0x1a,) + vendor, (1, 0): (eax, 0, 5 << 28, 0), (0x80000000, 0): (0x80000021, 0, 0, 0)}
    for name, regs in leaves.items():
        found[tuple(int(n, 16) for n in name[1:].split("_"))] = regs
    return found


def swept(cpus, msrs):
    said = cpu_judge.read(READER, cpus, msrs)
    assert len(said.bugs) == len(cpus)
    wrong = ["%x: %s" % (c[1, 0][0], line) for n, c in enumerate(cpus)
             for line in cpu_judge.vuln_judge.judge(c, msrs, said.bugs[n])]
    assert not wrong, "\n".join(wrong)


# CPUID 7 and IA32_ARCH_CAPABILITIES: before all microcode; with what came first; with IBRS_ALL; with all that says "not this".
@pytest.mark.parametrize("edx, caps", ((0, 0), (0x9c000400, 0), (0xbc000600, 0x2000802), (0xbc000600, 0x1700016b),
                                       (0xbc000600, 1 << 62 | 0xd17e1eb)))
def test_mitigations_of_all_models(edx, caps):
    leaves = {"l7_0": (2, 1 << 18, 0, edx), "l7_2": (0, 0, 0, 0), "lb_0": (1, 2, 0, 0)}
    cpus = [cpu(INTEL, 6, model, 15, **leaves) for model in range(256)]
    cpus += [cpu(INTEL, 6, model, stepping, **leaves) for model in (0x55, 0x8e, 0x9e, 0xa6) for stepping in range(15)]
    cpus += [cpu(INTEL, 6, model, 2, **leaves, l1a_0=(0x20000001, 0, 0, 0)) for model in (0x97, 0x9a, 0xb7, 0xba, 0xbe, 0xbf)]
    cpus += [cpu(AMD, family, model, 1, **leaves) for family in range(0xf, 0x1c) for model in (0, 0x11, 0x2f, 0x44, 0xff)]
    cpus += [cpu(AMD, 0x17, model, 0, **leaves) for model in range(256)]
    swept(cpus, {0x10a: caps} if caps else {})


# CPUID 80000008 EBX, 80000021 EAX and ECX, 8000000A EDX: each bit that counts alone, and with IBPB.
@pytest.mark.parametrize("ibpb", (0, 1 << 12))
def test_mitigations_by_bits_of_amd(ibpb):
    one = [1 << n for n in range(32)]
    bits = [(bit, 0, 0, 0) for bit in one] + [(0, bit, 0, 0) for bit in one] + [(0, 0, bit, 0) for bit in one]
    bits += [(1 << 15, 0, 0, 1 << 20), (1 << 15, 0x10000104, 0, 0), (0, 0, 6, 0), (0, 0xd0000104, 0, 0), (0x40000000, 0x100, 6, 0)]
    swept([cpu(AMD, family, 0x31, 0, l80000008_0=(0, ebx | ibpb, 0, 0), l80000021_0=(eax, 0, ecx, 0), l8000000a_0=(0, 0, 0, edx),
               l8000001e_0=(0, 0x100, 0, 0)) for family in (0x15, 0x17, 0x19, 0x1a) for ebx, eax, ecx, edx in bits], {})


# What Intel's bits do, one by one, with IBRS and without.
def test_mitigations_by_bits_of_intel():
    for bit in range(64):
        cpus = [cpu(INTEL, 6, model, 7, l7_0=(2, 1 << 11, 0, edx | 1 << bit % 32), l7_2=(0, 0, 0, 1 << bit % 32))
                for model in (0x55, 0x7e, 0x97) for edx in (0x20000000, 0x24000400)]
        swept(cpus, {0x10a: 1 << bit | 2 | 1 << 17})
        swept(cpus, {0x10a: 1 << bit})


def test_mitigations_by_microcode():
    for table in (cpu_judge.vuln_judge.TSA_MICROCODE, cpu_judge.vuln_judge.ZENBLEED_MICROCODE):
        for (family, model, stepping), revision in table.items():
            for has in (revision - 1, revision, revision + 1):
                swept([cpu(AMD, family, model, stepping)], {0x8b: has})
