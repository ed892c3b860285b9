# SPDX-License-Identifier: GPL-2.0-only
"""Guests whose addresses are the host's (memory_map = identity) and guests at
0, of two kernel lines, on one and two nodes; several VMs beside each other.

Both maps with Debian's 6.1 (bookworm) and 6.12 (bookworm-backports), on one and two nodes; 6.1 by identity on Bochs'
two nodes, too (full tier, 4 minutes each).

Tried once by hand: kernel.org's 6.12.30 as built for micro-VMs, in the crate supermachine-kernel-x86-64 0.7.70, boots
unchanged with both maps on two nodes.
"""

import os
import re

import margay_run
import node
import numa
import pytest
import tiny

GOOD_END = "margay.test=end margay.end=poweroff"
# What runs above 4 GiB only: a vmlinux loads where it was linked.
OTHER = "vmlinuz-backports"
needs_other = pytest.mark.skipif(not os.path.exists(node.guest_file(OTHER)), reason="backports have no kernel")

# Node 1 lies above 4 GiB, all of it.
SMP = "4,sockets=2,cores=1,threads=2"
NODES = [numa.Node("0-1", "2G"), numa.Node("2-3", "1G")]


def run(name, vms):
    """vms: {name: keys}"""
    files = {vm + ".conf": node.vm_text("qemu", GOOD_END, name=vm, **keys) for vm, keys in vms.items()}
    modules = {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")}
    if any(keys.get("kernel") == "other" for keys in vms.values()):
        modules["other"] = node.guest_file(OTHER)
    iso = node.margay_iso(name, files, modules, check=False)
    with numa.Machine(SMP, NODES) as machine:
        with node.start(name, "qemu", iso, memory=machine.memory, cpus=machine.cpus, extra=machine.arguments) as running:
            return node.Run(running, running.wait())


def memory_of(done, vm):
    """[(MiB, node, GPA, HPA)]"""
    return [(int(m[1]), int(m[2]), int(m[3], 16), int(m[4], 16)) for m in re.finditer(
        r"^%s: memory: (\d+)M on node (\d+): (?:0x)?([0-9a-f]+) is at (?:0x)?([0-9a-f]+)$" % vm, done.text, re.MULTILINE)]


@needs_other
def test_two_vms_with_host_addresses():
    """Each on its own node, one of each kernel; and one that wants a thread of the first one's core."""
    done = run("identity", {
        "low": {"cpus": "0-0", "memory": "768M", "memory_map": "identity"},
        "sibling": {"cpus": "1-1", "memory": "256M"},
        "taken": {"cpus": "0-0", "memory": "256M"},
        "remote": {"cpus": "2-2", "memory": "1536M"},
        "high": {"cpus": "2", "memory": "512M", "memory_map": "identity", "kernel": "other"},
    })
    assert done.has_line("low: end=poweroff") and done.has_line("high: end=poweroff")
    for vm, where in (("low", 0), ("high", 1)):
        parts = memory_of(done, vm)
        assert parts[0][2] == 0 and len(parts) == 2
        assert all(gpa == hpa and on == where and (hpa >= 4 << 30) == (where == 1) for _, on, gpa, hpa in parts[1:])
    assert done.has_line(r"sibling: sibling\.conf:\d+: cpus: CPU 1 is a thread of CPU 0's core, which is low's: "
                         r"both need allow_smt_sharing = yes")
    assert done.has_line(r"taken: taken\.conf:\d+: cpus: CPU 0 is low's")
    # Both nodes together have it, the CPU's own has not: what is free where.
    assert done.has_line(r"remote: remote\.conf:\d+: memory: not enough: node0 1\d\d\dM free.*; node1 1536M of \d+M free.*")
    assert done.has_line("margay: node: end=poweroff vms=5 failed=3")
    assert done.outcome.status == margay_run.VM_FAILED


def test_remote_memory_where_allowed():
    """What a CPU's node has not comes from the other one, and is memory like any other; without `allow` it is refused."""
    keys = "kernel = ram\ncpus = 1-1\nmemory = 384M\ndebug_exit = yes\n"
    iso = node.margay_iso("remote", {"no.conf": keys + "name = no\n", "yes.conf": keys + (
        "name = yes\nremote_memory = allow\non_end = poweroff_node\n")}, {"ram": tiny.elf("ram")}, check=False)
    with numa.Machine("2,sockets=2,cores=1,threads=1", [numa.Node("0", "512M"), numa.Node("1", "256M")]) as machine:
        with node.start("remote", "qemu", iso, memory=machine.memory, cpus=2, extra=machine.arguments) as running:
            done = node.Run(running, running.wait())
    assert done.has_line(r"no: no\.conf:3: memory: not enough: node0 \d+M free.*; node1 384M of 2\d\dM free.*")
    assert done.has_line("tiny: ram: ok checks=2") and done.has_line("yes: end=exit status=0")
    got = {on: sum(size for size, where, _, _ in memory_of(done, "yes") if where == on) for on in (0, 1)}
    assert sum(got.values()) == 384 and 200 < got[1] < 256


@pytest.mark.full
@pytest.mark.parametrize("map_", ["offset", "identity"])
@pytest.mark.parametrize("kernel", ["kernel", pytest.param("other", marks=needs_other)])
@pytest.mark.parametrize("cpus, memory", [("2", "768M"), ("all", "1280M")])
def test_kernels_and_maps(map_, kernel, cpus, memory):
    done = run("map-%s-%s-%s" % (map_, kernel, cpus), {
        "vm0": {"cpus": cpus, "memory": memory, "memory_map": map_, "kernel": kernel}})
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert {on for _, on, _, _ in memory_of(done, "vm0")} == ({0, 1} if cpus == "all" else {0})
    _, _, gpa, hpa = memory_of(done, "vm0")[-1]
    assert (gpa == hpa) == (map_ == "identity")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("cpus", ["1", "2"])
def test_host_addresses_on_vt_x(cpus):
    """On one node and on two: all but the first MiB is where the host has it, which EPT entries cannot get wrong unseen."""
    run_ = node.run_guest("identity-" + cpus, "bochs", "margay.test=smp", cpus=2, acpi=numa.BOCHS_NODES,
                          vm={"cpus": cpus, "memory": "256M", "memory_map": "identity"})
    assert run_.outcome.status == margay_run.OK, run_.outcome.text
    assert run_.facts["cpus"] == cpus
    parts = memory_of(run_, "vm0")
    assert parts[0][2] == 0 and sum(size for size, _, _, _ in parts[1:]) == 256
    assert all(gpa == hpa and on == (hpa >= 512 << 20) for _, on, gpa, hpa in parts[1:])
    assert {on for _, on, _, _ in parts[1:]} == ({0, 1} if cpus == "2" else {0})
    # The kernel says the same of its RAM.
    assert all(any("[mem %#018x-" % gpa in line for line in run_.dmesg) for _, _, gpa, _ in parts[1:])


@pytest.mark.full
def test_threads_shared_where_both_say_so():
    done = run("smt-sharing", {
        "one": {"cpus": "0-0", "memory": "256M", "allow_smt_sharing": "yes"},
        "two": {"cpus": "1-1", "memory": "256M", "allow_smt_sharing": "yes"},
    })
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line("one: end=poweroff") and done.has_line("two: end=poweroff")
