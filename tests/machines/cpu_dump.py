# SPDX-License-Identifier: GPL-2.0-only
"""Reads CPUID and MSR dumps, the text that AIDA64, EVEREST and their like write of each logical CPU.

    CPUID 00000007: 00000002-F3BFBFFF-FB417FEE-FFDD4432 [SL 00]
    MSR 0000010A: 0000-0000-0C28-FDEB

Older ones leave out the colon, write spaces for the dashes, or name no subleaf:
those are counted then. A logical CPU begins at its leaf 0, whatever heads it.
"""

import re

CPUID = re.compile(r"\s*CPUID\s+([0-9A-Fa-f]{8})\s*:?\s*" + r"[- ]".join([r"([0-9A-Fa-f]{8})"] * 4) + r"\b(.*)")
MSR = re.compile(r"\s*MSR\s+([0-9A-Fa-f]{8}):\s*" + "-".join(["([0-9A-Fa-f]{4})"] * 4) + r"\b")
SUBLEAF = re.compile(r"\[SL ([0-9A-Fa-f]+)\]")
AVX = (0x100, 0x240)  # size and offset of XSAVE component 2, the same on all CPUs


def parse(text):
    """([{(leaf, subleaf): (EAX, EBX, ECX, EDX)} of each logical CPU], {MSR: value, as its first CPU has it})."""
    cpus, msrs = [], {}
    for line in text.splitlines():
        leaf, msr = CPUID.match(line), MSR.match(line)
        if msr:
            msrs.setdefault(int(msr[1], 16), int(msr[2] + msr[3] + msr[4] + msr[5], 16))
        if not leaf:
            continue
        number, named = int(leaf[1], 16), SUBLEAF.search(leaf[6])
        if number == 0:
            cpus.append({})
        if not cpus:
            continue
        regs = tuple(int(leaf[i], 16) for i in range(2, 6))
        subleaf = int(named[1], 16) if named else sum(key[0] == number for key in cpus[-1])
        if not named and number == 0xd and subleaf:
            # Leaf 0xD has gaps, and some leave out its first subleaf: only what shows its own number is taken.
            if regs[:2] != AVX and subleaf > 1:
                continue
            subleaf = 2 if regs[:2] == AVX else 1
        cpus[-1].setdefault((number, subleaf), regs)
    return cpus, msrs
