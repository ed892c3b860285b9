# SPDX-License-Identifier: GPL-2.0-only
"""What the log says of speculation, `mitigate=` and `trusted`: tiny guests on both machines.

`mitigate=` and `trusted` with tiny guests, and what the log says of speculation. All that `mitigate=` can force at
once, on Bochs' model `tigerlake`, which has the registers: guests see what is right, exits are counted alike; in the
full tier each by itself with the hostile guests, on QEMU where it needs no register.

What is decided: `test_mitigations.c` on recorded CPUs; on all models and by each bit against an oracle of Linux'
rules, `test_recorded_cpus.py`, and `tools/recorded-cpus` on dumped CPUs (machines); what registers get:
`test_mitigations_cpu.c`.
"""

import re

import exit_counts
import mitigations
import node
import pytest
import tiny

HOSTILE = ("msr", "control_regs", "virt_insns", "ring3", "faults", "step", "shadow", "nmi", "self_modify", "modes", "v86",
           "watch", "idt_wild", "syscalls", "timer", "mmio")
LINE = r"^margay: %s: (Mitigation|Vulnerable): \S"


def run(name, machine, cmdline, trusted=()):
    """A node of two tiny guests, one after the other; those in `trusted` are."""
    first, last = guests = [tiny.Guest("hypercall", machine), tiny.Guest("syscalls", machine)]
    vms = {"hypercall.conf": first.vm(), "syscalls.conf": last.vm(after=first.name, last=True)}
    for guest in trusted:
        vms[guest + ".conf"] += "trusted = yes\n"
    name = "mitigations-%s-%s" % (name, machine)
    iso = node.margay_iso(name, vms, {g.name: tiny.elf(g.name) for g in guests}, cmdline, check=False)
    with node.start(name, machine, iso, memory="256M") as running:
        return guests, node.Run(running, running.wait())


@pytest.mark.parametrize("machine", ("qemu", "bochs"))
def test_forced(machine):
    """VERW at each entry, which each CPU can do, and two words that are left out: what the CPU has not, and an unknown one."""
    guests, done = run("forced", machine, "mitigate=verw,ibpb_exit mitigate=spectre")
    for guest in guests:
        assert tiny.judge(guest, done.text) == []
    assert done.has_line("margay: command line: mitigate=: a CPU cannot do ibpb_exit: left out there")
    assert len(done.lines(r"command line: 'mitigate=spectre': expected auto, off, or what to force on: spec_ctrl, .*, split")) == 1
    assert len(done.lines(LINE % "spectre_v2")) == 1
    # A Haswell without microcode, as Bochs has it; QEMU's is an AMD of before all that.
    assert len(done.lines(r"^margay: l1tf: Vulnerable: no microcode")) == (machine == "bochs")
    assert not done.lines("Not affected")


def force(machine, name, words, guests):
    """The guests, and the two of test_exit_counts.py, with this forced: what they see is right, and exits are counted alike."""
    guests = [guest for guest in (tiny.Guest(n, machine) for n in guests) if not guest.skipped]
    vms, last = {}, None
    for guest in guests:
        vms[guest.name + ".conf"] = guest.vm(after=last)
        last = guest.name
    vms.update(exit_counts.vms_of(machine, after=last))
    cpus = max(guest.cpus for guest in guests)
    options = {"extra": [mitigations.MODEL % cpus]} if machine == "bochs" else {}
    done = tiny.run("forced-" + name, machine, None, cpus, vms, cmdline="mitigate=" + words, **options)
    assert not done.lines("left out")
    for guest in guests:
        text = tiny.part(guest, done.text)
        assert tiny.judge(guest, text) == [], text[-4000:] or done.outcome.text
    few, many = (exit_counts.by_guest(exit_counts.counts_of(done, vm)) for vm in ("few", "many"))
    assert many - few == exit_counts.MORE
    if machine == "bochs" and "msr" in (guest.name for guest in guests):
        assert done.has_line("tiny: msr: IA32_SPEC_CTRL")
    # Its guest touches no device: these are fetches from large leaves. Where the CPU needs it, they are split with each word.
    split = "split" in words.split(",") or bool(done.lines("^margay: itlb_multihit: Mitigation: Split"))
    assert split == ("stage2" in exit_counts.counts_of(done, "few"))
    failed = sum(not guest.good for guest in guests)
    assert done.has_line("margay: node: end=poweroff vms=%d failed=%d" % (len(vms), failed))


def test_all_forced():
    force("bochs", "all", ",".join(word for machine, word in mitigations.WORDS if machine == "bochs"),
          ("msr", "nmi", "kicks", "step", "timer"))


@pytest.mark.full
@pytest.mark.parametrize("machine, word", mitigations.WORDS)
def test_each_forced(machine, word):
    force(machine, word, word, HOSTILE)


def test_trusted_beside_another():
    guests, done = run("beside", "qemu", "mitigate=off", trusted=("hypercall",))
    assert done.has_line("margay: hypercall.conf:%d: trusted = yes: not beside syscalls.conf, which is not trusted: it could "
                         "read that one's memory" % len(guests[0].vm().splitlines() + [""]))
    assert not re.search("^hypercall: ", done.text, re.MULTILINE)
    assert tiny.judge(guests[1], done.text) == []
    assert done.has_line("margay: spectre_v2: Vulnerable: mitigate=off")
    assert done.lines(r"^margay: node: end=poweroff vms=2 failed=1")


def test_all_trusted():
    guests, done = run("trusted", "qemu", "", trusted=("hypercall", "syscalls"))
    for guest in guests:
        assert tiny.judge(guest, done.text) == []
    assert not done.lines("trusted")
