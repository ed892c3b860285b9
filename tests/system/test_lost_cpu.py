# SPDX-License-Identifier: GPL-2.0-only
"""CPUs that answer no kick, by a defect on purpose (CONFIG_DEBUG_FAULT): in images with LOST_CPUS they cost their VM, and
the node nothing else.

On an image with `CONFIG_DEBUG_FAULT`, by which a CPU stays in an exit and answers no kick, after 2 s instead of 20:
one that others wait for, and the only one of a VM, which answers later. The VM ends, its neighbours go on; its CPU,
memory and function are given to nobody. One of a guest that sends by itself (`ipi = direct`): its other CPUs are
nobody's either.
"""

import re

import monitor_console
import node
import tiny

EDU = ["-device", "edu,addr=9"]


def image():
    return node.variant("fault", "DEBUG_FAULT=y")


def start(name, deaf, cpus, **keys):
    """A node of five CPUs: behave on the last but one, the deaf guest on CPUs from 1 on, and what is left is nobody's."""
    keys.update(kernel="deaf", cpus=cpus, cmdline="cpus=%d seconds=%d" % (1 + int(cpus[2]) - int(cpus[0]), deaf))
    vms = {"a.conf": monitor_console.vm("a", "", **keys), "b.conf": monitor_console.vm("b", "tick", cpus="3-3")}
    vms["c.conf"] = monitor_console.vm("c", "tick", cpus="1,4", after="a")
    vms["d.conf"] = monitor_console.vm("d", "tick", cpus="0-0", pci="00:09.0\ndma = identity", after="a")
    iso = node.margay_iso("lost-%s-qemu" % name, vms, {k: tiny.elf(k) for k in ("behave", "deaf")},
                          elf=image())
    return node.start("lost-" + name, "qemu", iso, cpus=5, memory="512M", extra=EDU, timeout=300)


def cpus(console):
    """{CPU: (online, whose)}"""
    found = re.findall(r"^cpu (\d+) +APIC ID \d+ +node 0 +(\w+) +(\w+)", "\n".join(console.answer("node")), re.MULTILINE)
    return {int(cpu): (state, who) for cpu, state, who in found}


def test_unanswered_flush():
    """All of a VM's CPUs must flush, and one does not: the VM crashes. Its other CPU is given back; that one, the memory and the
    function are not, and a VM that starts again does without."""
    with start("flush", 100000, "1-2", pci="00:09.0\ndma = identity", on_crash="restart") as running:
        running.expect(r"^a: vcpu1 on CPU 2 did not answer a kick for 2 s\r?$")
        running.expect(r"^a: vcpu1: CPU 2 does not answer: it and what the VM had are not used until the node restarts\r?$")
        running.expect(r"^a: end=crash\r?$")
        running.expect(r"^a: a.conf:\d+: cpus: CPU 2 is a's and did not answer a kick\r?$")
        running.expect(r"^c: vcpu1: CPU 4, ")
        running.expect(r"^d: d.conf:\d+: pci: 00:09.0 is a's\r?$")
        # Then its CPU is nobody's again.
        running.expect(r"^d: not started\r?$")
        assert "the guest goes on" not in running.text
        console = monitor_console.Console(running)
        console.call()
        assert cpus(console) == {0: ("online", "free"), 1: ("online", "c"), 2: ("OFFLINE", "a"), 3: ("online", "b"),
                                 4: ("online", "c")}
        assert console.end().status == 1


def test_unanswered_stop():
    """The only CPU of a VM is deaf: who stops it once more gives the CPU up. When it answers at last, nobody takes it."""
    with start("stop", 12, "1-1") as running:
        running.expect(r"^a: deaf for 12 s\r?$")
        console = monitor_console.Console(running)
        console.call()
        assert console.answer("vm stop a") == ["a: stops"]
        assert console.state("a") == "changing"
        console.answer("vm stop a")
        running.expect(r"^a: vcpu0: CPU 1 does not answer: it and what the VM had are not used until the node restarts\r?$")
        running.expect(r"^a: end=stopped\r?$")
        running.expect(r"^a: vcpu0: CPU 1 answers, too late\r?$")
        running.send("vm start a\r")
        running.expect(r"^a: a.conf:\d+: cpus: CPU 1 is a's and did not answer a kick\r?$")
        assert cpus(console)[1] == ("OFFLINE", "a")
        assert console.state("b") == "running"
        assert console.end().status == 1


def test_unanswered_by_one_that_sends():
    """A guest with all CPUs of the node, that sends interrupts by itself: as long as one CPU is deaf it might go on with that. All
    others stay with their interrupts off and are nobody's; the node, its console and what follows the VM's end go on."""
    keys = {"kernel": "deaf", "cpus": "all", "cmdline": "machine=qemu cpus=3 direct=1 seconds=15 icr=1", "topology": "node",
            "interrupts": "direct", "ipi": "direct"}
    vms = {"a.conf": monitor_console.vm("a", "", **keys), "b.conf": monitor_console.vm("b", "tick", cpus="0-0", after="a")}
    iso = node.margay_iso("lost-sends-qemu", vms, {k: tiny.elf(k) for k in ("behave", "deaf")}, elf=image())
    with node.start("lost-sends", "qemu", iso, cpus=3, memory="256M", timeout=300) as running:
        running.expect(r"^a: deaf for 15 s\r?$")
        running.expect("^deaf: the guest goes on")
        console = monitor_console.Console(running)
        console.call()
        assert console.answer("vm stop a") == ["a: stops"]
        running.expect(r"^a: 1 CPUs do not answer and could still send interrupts: none of the VM's takes any more, or is used, "
                       r"until the node restarts\r?$")
        running.expect(r"^a: vcpu2: CPU 2 does not answer: it and what the VM had are not used until the node restarts\r?$")
        running.expect(r"^a: end=stopped\r?$")
        running.expect(r"^b: b.conf:\d+: cpus: CPU 0 is a's\r?$")
        assert cpus(console) == {0: ("online", "a"), 1: ("online", "a"), 2: ("OFFLINE", "a")}
        running.expect(r"^a: vcpu2: CPU 2 answers, too late\r?$")
        running.send("vm start a\r")
        running.expect(r"^a: no CPU is free to start it\r?$")
        assert console.end().status == 1
