# SPDX-License-Identifier: GPL-2.0-only
"""What the log says of speculation, `mitigate=` and `trusted`: tiny guests on both machines."""

import re

import node
import pytest
import tiny

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
