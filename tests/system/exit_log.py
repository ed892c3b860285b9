# SPDX-License-Identifier: GPL-2.0-only
"""Who had its CPUs' own local APICs (interrupts = direct): what the node says, and that no interrupt was an exit, by telemetry and
by the emulator's log of all exits."""

import collections
import re

# What a guest with its CPUs' own local APICs has no exit for, and what is never injected into it.
INTERRUPT_EXIT = re.compile(r" (?:extint|hlt|irq-window)=| injected=[1-9]")

# What the emulator says of each exit, by code: on SVM (APM vol. 2, appendix C) physical and virtual interrupts and HLT, on VT-x
# (SDM vol. 3, appendix C) external interrupts, interrupt windows and HLT.
EXITS = ".exits"
EMULATORS_EXIT = {"qemu": re.compile(r"vmexit\(([0-9a-f]+), "), "bochs": re.compile(r"VMEXIT reason = (\d+) ")}
BY_INTERRUPT = {"qemu": {"%08x" % code for code in (0x60, 0x64, 0x78)}, "bochs": {"1", "7", "12"}}


def arguments(machine, path):
    """Node's extra, by which an emulator tells of each exit: QEMU in this file, Bochs in its own log, on CPU 0."""
    return ["debug: action=ignore, cpu0=report"] if machine == "bochs" else ["-d", "in_asm", "-dfilter", "0x0..0x0", "-D", path]


def exit_codes(machine, path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return collections.Counter(code for line in f for code in EMULATORS_EXIT[machine].findall(line))


def check_exits(run, machine, codes):
    """By the emulator's log no exit is an interrupt's, and there are as many as by telemetry, if that is told. All VMs have their
    CPUs' local APICs."""
    told = sum(map(int, re.findall(r"^\w+: vcpu\d+: exits=(\d+)", run.text, re.MULTILINE)))
    assert codes and sum(codes.values()) == (told or sum(codes.values())), (told, codes)
    assert not BY_INTERRUPT[machine] & codes.keys(), codes


def check_direct(run):
    """Who said that it has its CPUs' own local APICs made no exit by an interrupt, by telemetry; who started again without may."""
    without = set(re.findall(r"^(\w+): interrupts: emulated: ", run.text, re.MULTILINE))
    for vm in set(re.findall(r"^(\w+): interrupts: direct$", run.text, re.MULTILINE)) - without:
        wrong = [line for line in run.lines(r"^%s: vcpu\d+: exits=" % vm) if INTERRUPT_EXIT.search(line)]
        assert not wrong, wrong


def modes(run):
    """{what the node said of a VM's interrupts}: direct, or emulated: why."""
    return set(re.findall(r"^\w+: interrupts: (direct|emulated: .*)$", run.text, re.MULTILINE))


def check_modes(run, expected):
    """direct: all VMs were; emulated: none was, and the node says why; asked: none was, by its file, and nothing is said of it."""
    said = modes(run)
    if expected == "direct":
        assert said == {"direct"}, "expected direct, the node said: %s" % (said or "nothing")
    elif expected == "emulated":
        assert said and "direct" not in said, "expected emulated, and why, the node said: %s" % (said or "nothing")
    else:
        assert expected == "asked" and not said, (expected, said)
