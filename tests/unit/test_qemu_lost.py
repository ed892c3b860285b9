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
    assert "No such file" in qemu_lost.state("/nonexistent")


SAID = """
   0x5566 <cpu_reset_interrupt>:\tpush   %rbp
   0x5567 <cpu_reset_interrupt+22>:\tand    %ebx,0xd0(%rbp)
   0x5568 <x86_cpu_pending_interrupt+52>:\tjne    0x80d240 <x86_cpu_pending_interrupt+240>
   0x5569 <x86_cpu_pending_interrupt+58>:\tmov    0x2c74(%rax),%ecx
   0x556a <x86_cpu_pending_interrupt+64>:\ttest   $0x1,%cl
   0x5570 <qemu_get_cpu>:\tmov    0x15b8269(%rip),%rax        # 0x55d0 <cpus_queue>
   0x5571 <qemu_get_cpu+16>:\tmov    0x230(%rax),%rax
   0x5572 <qemu_get_cpu+28>:\tcmp    %edi,0x2c0(%rax)
"""


def test_offsets():
    assert qemu_lost.offsets(SAID) == (0x55D0, 0x230, 0x2C0, 0xD0, 0x2C74)
    for gone in "cpus_queue", "+16", "cmp ", "and ", "test ":
        with pytest.raises(ValueError):
            qemu_lost.offsets(SAID.replace(gone, "x"))


def test_was_told_nothing():
    told_nothing = qemu_lost.was_told_nothing
    assert told_nothing(0, 0x1) and told_nothing(0, 0xB) and told_nothing(0x4, 0x1)
    # It was told; GIF is 0; in a guest with the host's interrupts off: that would be Margay.
    assert not told_nothing(0x2, 0x1) and not told_nothing(0x10, 0xB)
    assert not told_nothing(0, 0xA) and not told_nothing(0, 0x9)


@pytest.mark.parametrize("confirmed", [True, False, None])
def test_lost_interrupt_needs_both(monkeypatch, confirmed):
    """The monitor's word and the memory's; without the latter it is not known."""

    def words(pid, cpu):
        assert (pid, cpu) == (42, 1)
        if confirmed is None:
            raise ValueError
        return 0, 1 if confirmed else 0

    monkeypatch.setattr(qemu_lost, "words", words)
    monkeypatch.setattr(qemu_lost, "look", lambda path: ("QEMU has lost an interrupt: CPU 1 does not take vector 240", None))
    assert bool(qemu_lost.lost_interrupt("socket", 42)) == (confirmed is True)
    monkeypatch.setattr(qemu_lost, "look", lambda path: (None, None))
    assert not qemu_lost.lost_interrupt("socket", 42)


def test_known():
    access = "qemu-system-x86_64: ../../target/i386/tcg/access.c:59: access_prepare_mmu: Assertion `size2 == 0' failed.; SIGABRT"
    assert qemu_lost.known(access)
    assert not qemu_lost.known(access.replace(":59:", ":60:"))
    section = "qemu-system-x86_64: system/physmem.c:2678: iotlb_to_section: Assertion `%s' failed.; SIGABRT"
    assert qemu_lost.known(section % "section_index < d->map.sections_nb")
    assert not qemu_lost.known(section % "ret->mr->ops")
    assert not qemu_lost.known("no message from it; SIGSEGV")
    assert not qemu_lost.known("qemu-system-x86_64: ../../target/i386/tcg/svm_helper.c:1: Assertion `x' failed.; SIGABRT")
