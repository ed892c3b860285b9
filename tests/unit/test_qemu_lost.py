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
    assert qemu_lost.waiting(LAPIC % ("33(level) 240 ", "0x00")) == 240
    assert qemu_lost.waiting(LAPIC % ("(none)", "0x00")) is None
    # One that the CPU need not take yet, and nothing that is known.
    assert qemu_lost.waiting(LAPIC % ("240 ", "0xf1")) is None
    assert qemu_lost.waiting((LAPIC % ("240 ", "0x00")).replace("APIC enabled", "APIC disabled")) is None
    for garbage in "", LAPIC % ("many", "0x00"), LAPIC % ("240 ", "none"):
        with pytest.raises(ValueError):
            qemu_lost.waiting(garbage)


def test_rip_and_interrupts():
    assert qemu_lost.rip_and_interrupts("RIP=ffffffffb9e59ac7 RFL=00000246 [---Z-P-] CPL=0") == (0xFFFFFFFFB9E59AC7, True)
    assert qemu_lost.rip_and_interrupts("EIP=0000fff0 EFL=00000002 [-------] CPL=0") == (0xFFF0, False)
    with pytest.raises(ValueError):
        qemu_lost.rip_and_interrupts("")


def test_judge():
    assert qemu_lost.judge([(240, 1, True), (240, 1, False), (240, 1, True)]) == 240
    # Interrupts off, but for moments: the hypervisor may hang.
    assert qemu_lost.judge([(240, 1, False), (240, 1, True), (240, 1, False)]) is None
    # The CPU takes what comes, or nothing comes.
    assert qemu_lost.judge([(240, 1, True), (None, 1, True), (240, 1, True)]) is None
    assert qemu_lost.judge([(240, 1, True), (241, 1, True), (240, 1, True)]) is None
    assert qemu_lost.judge([(None, 1, True)] * 3) is None


def test_spin():
    assert qemu_lost.spin([(None, 0x1A7, False), (None, 0x1AB, False)]) == 0x1A7
    # It gets on, or an interrupt may end it.
    assert qemu_lost.spin([(None, 0x1A7, False), (None, 0x1C7, False)]) is None
    assert qemu_lost.spin([(None, 0x1A7, False), (None, 0x1A7, True)]) is None


def test_nobody_answers():
    assert qemu_lost.look("/nonexistent") == (None, None)
