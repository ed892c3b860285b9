# SPDX-License-Identifier: GPL-2.0-only
"""Modules of facts (docs/passthrough.md) at boot: on a machine with two NUMA nodes, whose firmware does not say on which its root
buses are, one module after the other is refused by a line until one fits. The hash of the machine's tables is that of what
QEMU's monitor shows of its memory, by the tool's own words.

Eight modules at one boot: of other tables, cut off, wrong in a line, contradicting, right, and one too many.
"""

import os
import re
import sys

import acpi_memory
import hwcheck_report
import monitor_console
import node
import numa
import qemu_monitor

sys.path.insert(0, os.path.join(node.TOP, "tests", "machines"))

import facts  # noqa: E402

# A card whose line the firmware's tables say, and one behind a root bus of its own.
DEVICES = ["-netdev", "user,id=net0,restrict=on", "-device", "e1000,netdev=net0,addr=6",
           "-netdev", "user,id=net1,restrict=on", "-device", "pxb-pcie,id=far,bus=pcie.0,bus_nr=128",
           "-device", "pcie-root-port,id=below,bus=far,slot=1", "-device", "e1000e,netdev=net1,bus=below"]
NEAR, FAR = "0000:00:06.0", "0000:81:00.0"
GSI = 22  # of NEAR
NODE = re.compile(r"^check: (\S+)  [0-9a-f]{4}:(?:.*\n)+?check: +NUMA node (\S+); group", re.MULTILINE)


def boot(name, machine, modules, words, extra=()):
    """A node at the hardware check; modules: {name: text}, in this order."""
    directory = os.path.join(node.BUILD, "iso", name)
    os.makedirs(directory, exist_ok=True)
    paths = {"facts:" + module: os.path.join(directory, module) for module in modules}
    for path, text in zip(paths.values(), modules.values()):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
    vm = node.vm_text("qemu", "quiet", cpus="1", memory="64M")
    iso = node.margay_iso(name, {"vm0.conf": vm}, paths, words + " loglevel=debug", check=False)
    return node.start(name, "qemu", iso, extra=[*machine.arguments, *DEVICES, *extra], cpus=machine.cpus, memory=machine.memory,
                      timeout=300)


def lines(text, what):
    return re.findall(r"^margay: (%s.*)$" % what, text.replace("\r", ""), re.MULTILINE)


def first_boot(machine, folder):
    """Tables for which the hash is 0: what the image says of them, and the tables that QEMU's memory has."""
    with boot("facts-hash", machine, {"none": "tables = 0\nend = 0\n"}, "check=1,stay", qemu_monitor.arguments(folder)) as running:
        running.expect(r"^margay: node: end=idle vms=1 failed=0 unstarted=1\r")
        tables = acpi_memory.tables_of(qemu_monitor.Monitor(folder))
        console = monitor_console.Console(running)
        console.call()
        console.end()
    return running.text, [(signature, data) for signature, all_ in tables.items() for data in all_]


def test_modules(tmp_path):
    with numa.Machine("2,sockets=2,cores=1", [numa.Node("0", "256M"), numa.Node("1", "256M")]) as machine:
        text, tables = first_boot(machine, tmp_path)
        number = facts.table_hash(data[36:] for signature, data in tables if signature in ("DSDT", "SSDT"))
        not_ours = "facts:%%s:1: not of this machine: the hash of its tables: 0 here, %#x expected: ignored" % number
        assert lines(text, "facts:") == [not_ours % "none"]
        nodes = dict(NODE.findall(text.replace("\r", "")))
        assert nodes[NEAR] == nodes[FAR] == "unknown"

        # As the tool writes them: where the roots are, and a line that the firmware's tables say, too.
        known = {("proximity", "0000:00"): "1", ("proximity", "0000:80"): "0", ("route", "0000:00/6 A"): "%d" % GSI}
        good = facts.module(known, tables, "a test")
        head, *rest, end = good.splitlines(keepends=True)[1:]
        given = {
            "none": "tables = 0\nend = 0\n",
            "cut": "".join([head, *rest]),
            "short": "".join([head, *rest[1:], end]),
            "spelt": good.replace("proximity = 0000:80 0", "proximity = 0000:80 node0"),
            # What such a module says beside it is not kept: the good one says otherwise.
            "line": facts.module({("proximity", "0000:80"): "1", ("route", "0000:00/6 A"): "17"}, tables, "wrong"),
            "window": facts.module({("proximity", "0000:00"): "0", ("window", "0000:00 mem 0x1000-0x1fff"): ""}, tables, "wrong"),
            "good": good,
            "again": good,
        }
        with boot("facts-modules", machine, given, "check=1") as running:
            report = hwcheck_report.Report(running)
    said = lines(report.text, "facts:")
    assert said[:5] == [
        not_ours % "none",
        "facts:cut:4: cut off: no end: ignored",
        "facts:short:4: cut off: number of facts: 0x3 here, 0x2 expected: ignored",
        "facts:spelt:4: proximity = 0000:80 1: ignored",
        "facts:line:4: contradicts the firmware's tables: 0x11 here, %#x expected: ignored" % GSI]
    # Beside it is a window of its kind.
    expected = re.fullmatch(r"facts:window:4: contradicts the firmware's tables: 0x1000 here, (0x[0-9a-f]+) expected: ignored",
                            said[5])[1]
    assert lines(report.text, "pci: root 0000:00: memory %s-" % expected)
    assert said[6:] == ["facts:good: 3 facts of this machine", "facts:again: not looked at: one was taken before it"]
    nodes = dict(NODE.findall(report.text))
    assert (nodes[NEAR], nodes[FAR]) == ("1", "0")
    assert "INTA (GSI %d)" % GSI in report.pci[NEAR]
    # What the reader knows is told once, however many modules it has refused.
    roots = lines(report.text, "pci: root ")
    assert len(roots) == len(set(roots)) >= 4
