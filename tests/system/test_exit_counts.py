# SPDX-License-Identifier: GPL-2.0-only
"""What the hypervisor says of a guest's exits, beside what the guest did and what the emulator counted.

5,000 CPUIDs more are 5,000 exits more, on both emulators, and QEMU executes as many VMRUNs as there are exits. That
ticks are counted once: test_telemetry.c.
"""

import os
import re
import subprocess

import exit_counts
import instructions
import margay_run
import node
import pytest
import tiny


def two_guests(name, machine, key="", **options):
    """One after the other: the one makes MORE exits than the other. key: a line for both VM files."""
    run = tiny.run("exit-counts-" + name, machine, None, 1, exit_counts.vms_of(machine, key), **options)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    return run, exit_counts.counts_of(run, "few"), exit_counts.counts_of(run, "many")


@pytest.mark.parametrize("machine", node.MACHINES)
def test_each_cpuid_is_one_exit(machine):
    _, few, many = two_guests("cpuid", machine)
    assert many["cpuid"] - few["cpuid"] == exit_counts.MORE
    assert exit_counts.by_guest(many) - exit_counts.by_guest(few) == exit_counts.MORE


@pytest.mark.parametrize("trusted", (False, True))
def test_as_many_as_the_emulator_counts(trusted):
    """QEMU's plugin (qemu_code.c) counts executed VMRUNs: each ends by one exit, and nothing else does. Those who are trusted
    have one of their own, behind which nothing is cleaned (test_clean_exit.py)."""
    code = subprocess.run(["objdump", "-d", os.path.join(node.BUILD, "margay.elf")], capture_output=True, text=True, check=True)
    vmruns = dict(re.findall(r"^[0-9a-f]+ <(svm_enter\w*)[.>][^<]*^([0-9a-f]+):.*\tvmrun\b", code.stdout, re.MULTILINE))
    assert len(vmruns) == 2
    at = int(vmruns["svm_enter" if trusted else "svm_enter_clean"], 16)
    name = "vmrun-trusted" if trusted else "vmrun"
    file = os.path.join(node.BUILD, "exit-counts-%s.counts" % name)
    plugin = "%s,out=%s,code=%#x-%#x" % (instructions.PLUGIN, file, at, at + 1)
    _, few, many = two_guests(name, "qemu", "trusted = yes\n" if trusted else "", extra=["-plugin", plugin])
    with open(file, "rb") as f:
        executed = instructions.COUNTER.unpack(f.read(instructions.COUNTER.size))[0]
    assert executed == few["exits"] + many["exits"]
