# SPDX-License-Identifier: GPL-2.0-only
"""Guests with interrupts = direct: a tiny guest's VM file, and the telemetry that shows no exit by an interrupt."""

import re

import tiny


def counts_of(run, vm_name, vcpus):
    """By vCPU: {reason: how many}."""
    lines = dict(re.findall(r"^%s: vcpu(\d+): (exits=.*)$" % vm_name, run.text, re.MULTILINE))
    # Whoever ends first is first in the log.
    assert sorted(map(int, lines)) == list(range(vcpus)), run.text[-4000:]
    return [{reason: int(n) for reason, n in re.findall(r"([a-z0-9-]+)=(\d+)", lines[str(vcpu)])} for vcpu in range(vcpus)]


def check_no_interrupt_exits(run, vm_name, vcpus):
    for counts in counts_of(run, vm_name, vcpus):
        assert counts["exits"] > 5 and not {"extint", "hlt", "irq-window"} & counts.keys(), counts
        assert counts["injected"] == 0, counts


def guest_vm(guest, name, after=None, direct=True, **keys):
    lines = {"name": name, "kernel": guest.name, "cmdline": guest.cmdline() + " direct=%d" % direct, "memory": tiny.MEMORY,
             "cpus": guest.cpus, "debug_exit": "yes", "interrupts": "direct" if direct else "emulated"}
    lines.update({} if direct else {"topology": "flat"}, **keys)
    lines.update({"after": after} if after else {})
    return "".join("%s = %s\n" % item for item in lines.items())
