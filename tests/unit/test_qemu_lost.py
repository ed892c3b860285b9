# SPDX-License-Identifier: GPL-2.0-only
"""tools/qemu_lost.py: what it makes of QEMU's words."""

import pytest
import qemu_lost

LAPIC = """dumping local APIC state for CPU 0

SPIV\t 0x000001ff APIC enabled, focus=off, spurious vec 255
ISR\t (none)
IRR\t %s

APR 0x00 TPR 0x00 DFR 0x0f LDR 0x00 PPR %s
"""


def test_waiting():
    assert qemu_lost.waiting(LAPIC % ("240 ", "0x00")) == 240
    assert qemu_lost.waiting(LAPIC % ("34 240 241 ", "0x00")) == 241
    assert qemu_lost.waiting(LAPIC % ("(none)", "0x00")) is None
    # One that the CPU need not take yet, and nothing that is known.
    assert qemu_lost.waiting(LAPIC % ("240 ", "0xf1")) is None
    assert qemu_lost.waiting((LAPIC % ("240 ", "0x00")).replace("APIC enabled", "APIC disabled")) is None
    for garbage in "", LAPIC % ("many", "0x00"), LAPIC % ("240 ", "none"):
        with pytest.raises(ValueError):
            qemu_lost.waiting(garbage)


def test_interrupts_on():
    assert qemu_lost.interrupts_on("RIP=ffffffffb9e59ac7 RFL=00000246 [---Z-P-] CPL=0")
    assert not qemu_lost.interrupts_on("RIP=ffffffff81a5a1a9 RFL=00000002 [-------] CPL=0")
    with pytest.raises(ValueError):
        qemu_lost.interrupts_on("")


def test_judge():
    assert qemu_lost.judge([(240, True), (240, False), (240, True)]) == 240
    # Interrupts off, but for moments: the hypervisor may hang.
    assert qemu_lost.judge([(240, False), (240, True), (240, False)]) is None
    # The CPU takes what comes, or nothing comes.
    assert qemu_lost.judge([(240, True), (None, True), (240, True)]) is None
    assert qemu_lost.judge([(240, True), (241, True), (240, True)]) is None
    assert qemu_lost.judge([(None, True)] * 3) is None


def test_nobody_answers():
    assert qemu_lost.lost_interrupt("/nonexistent") is None
