# SPDX-License-Identifier: GPL-2.0-only
"""What the hypervisor says of a guest's exits, beside what the guest did and what the emulator counted."""

import os
import re
import subprocess

import margay_run
import node
import pytest
import test_idle
import tiny

# Of one guest, and what another does more.
FEW, MORE = 100, 5000


def counts_of(run, vm):
    """{reason: how many} of the line that the VM's one vCPU leaves."""
    line = re.findall(r"^%s: vcpu0: (exits=.*)$" % vm, run.text, re.MULTILINE)
    assert len(line) == 1, run.text[-4000:]
    return {reason: int(n) for reason, n in re.findall(r"([a-z0-9-]+)=(\d+)", line[0])}


def by_guest(counts):
    """Exits that the guest itself makes: not the machine's timer, nor kicks."""
    return counts["exits"] - sum(counts.get(reason, 0) for reason in ("extint", "nmi"))


def vms_of(machine, key="", after=None):
    """Two VM files, behind the VM `after`."""
    base = "kernel = cpuid_all\nmemory = 32M\ntopology = flat\ndebug_exit = yes\n" + key
    few = "after = %s\n" % after if after else ""
    return {
        "few.conf": "name = few\n%scmdline = machine=%s cpus=1 cpuids=%d\n%s" % (base, machine, FEW, few),
        "many.conf": "name = many\n%scmdline = machine=%s cpus=1 cpuids=%d\nafter = few\non_end = poweroff_node\n"
                     % (base, machine, FEW + MORE),
    }


def two_guests(name, machine, key="", **options):
    """One after the other: the one makes MORE exits than the other. key: a line for both VM files."""
    run = tiny.run("exit-counts-" + name, machine, None, 1, vms_of(machine, key), **options)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    return run, counts_of(run, "few"), counts_of(run, "many")


@pytest.mark.parametrize("machine", node.MACHINES)
def test_each_cpuid_is_one_exit(machine):
    _, few, many = two_guests("cpuid", machine)
    assert many["cpuid"] - few["cpuid"] == MORE
    assert by_guest(many) - by_guest(few) == MORE


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
    plugin = "%s,out=%s,code=%#x-%#x" % (test_idle.PLUGIN, file, at, at + 1)
    _, few, many = two_guests(name, "qemu", "trusted = yes\n" if trusted else "", extra=["-plugin", plugin])
    with open(file, "rb") as f:
        executed = test_idle.COUNTER.unpack(f.read(test_idle.COUNTER.size))[0]
    assert executed == few["exits"] + many["exits"]
