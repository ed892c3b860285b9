# SPDX-License-Identifier: GPL-2.0-only
"""Runs tiny guests (tests/guest): many VMs on one node, one after another.

What a guest's own header comment says decides how it is run and how it must
end; tests/guest/README.md explains the lines. Nothing a guest leaves unsaid is
taken for good: judge() wants its result line and its end, each exactly once.
"""

import functools
import glob
import os
import re

import margay_machines
import node

SOURCES = os.path.join(node.TOP, "tests", "guest")
BUILT = os.path.join(node.BUILD, "tests-guest")
MEMORY = "32M"
# How each guest runs with interrupts = direct: `name: yes`, `name: TEST: reason`, where TEST.py runs it so, `name: no: reason`.
DIRECT_TABLE = os.path.join(SOURCES, "direct-mode")
# Guests that a fault of Bochs' SVM costs: `name: how they end there: the fault`.
LOST_TABLE = os.path.join(SOURCES, "bochs-svm")
# The others run there in the full tier. These two show in seconds what no other machine has: lengths of instructions that SVM
# itself tells, and vCPUs that take turns by the instruction.
BOCHS_SVM_FAST = ("ipi", "window")
# Boot modules are limited: a VM file and a kernel for each guest.
MOST = 32


class Guest:
    """One tiny guest as it runs on one machine."""

    def __init__(self, name, machine):
        self.name, self.machine = name, machine
        # Whose quirks the guest meets: those of the emulator below, with KVM between.
        self.emulator = margay_machines.EMULATOR[machine]
        with open(os.path.join(SOURCES, name + ".c"), encoding="utf-8") as f:
            self._header = f.read().split("*/")[1]  # behind the SPDX line's comment
        expect = self._one("EXPECT " + machine) or self._one("EXPECT " + self.emulator) or self._one("EXPECT")
        assert expect, "tests/guest/%s.c: no EXPECT: line" % name
        assert re.fullmatch(r"exit=\d+|end=[a-z0-9-]+", expect), "tests/guest/%s.c: EXPECT: %s" % (name, expect)
        self.end = re.sub(r"^exit=(\d+)$", r"end=exit status=\1", expect)
        self.cpus = int(self._one("CPUS") or 1)
        self.full = self._one("FULL") is not None or machine == node.BOCHS_SVM and name not in BOCHS_SVM_FAST
        self.skipped = self._one("NOT ON " + machine) or self._one("NOT ON " + self.emulator)
        self.lost = lost_table().get(name) if machine == node.BOCHS_SVM else None
        self.ok = expect != "exit=1"
        self.direct, self.direct_reason = direct_table().get(name, ("missing", None))
        self.good = expect == "exit=0" or expect in ("end=poweroff", "end=reset-acpi", "end=reset-kbd", "end=reset-cf9")

    def _all(self, key):
        return re.findall(r"^ \* %s: *(.*?) *$" % re.escape(key), self._header, re.MULTILINE)

    def _one(self, key):
        found = self._all(key)
        assert len(found) <= 1, "tests/guest/%s.c: several %s: lines" % (self.name, key)
        return found[0] if found else None

    def cmdline(self):
        processor = " processor=kvm" if self.machine in node.NESTED else ""
        return ("machine=%s%s cpus=%d %s" % (self.emulator, processor, self.cpus, self._one("CMDLINE") or "")).strip()

    def vm(self, after=None, last=False, direct=False):
        """Its VM file."""
        lines = ["name = " + self.name, "kernel = " + self.name, "cmdline = " + self.cmdline() + " direct=1" * direct,
                 "memory = " + MEMORY, "cpus = %d" % self.cpus, "debug_exit = yes",
                 "interrupts = direct" if direct else "topology = flat"]
        lines += self._all("VM")
        lines += ["after = " + after] if after else []
        lines += ["on_end = poweroff_node"] if last else []
        return "\n".join(lines) + "\n"


def rows_of(path, pattern):
    """{guest: its row, as the pattern matches it}, of a table with a row for each guest that is in it."""
    table = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            found = re.fullmatch(pattern, line)
            assert found and found[1] not in table, "%s: %s" % (path, line)
            table[found[1]] = found
    return table


@functools.cache
def direct_table():
    """{guest: (yes, no or the test that runs it so, reason)}. test_direct_table() wants one for each."""
    rows = rows_of(DIRECT_TABLE, r"(\w+): (?:(yes)|(no|test_\w+): (\S.*\S))\n")
    return {name: (row[2] or row[3], row[4]) for name, row in rows.items()}


@functools.cache
def lost_table():
    """{guest: how it ends on bochs-svm, by how_lost()}."""
    return {name: row[2] for name, row in rows_of(LOST_TABLE, r"(\w+): ([a-z-]+): \S.*\S\n").items()}


def names():
    return sorted(os.path.basename(p)[:-2] for p in glob.glob(os.path.join(SOURCES, "*.c")))


def stale(name):
    """What is wrong with a guest that was changed and not made again; None: nothing."""
    built = os.path.join(BUILT, name + ".elf")
    sources = glob.glob(os.path.join(SOURCES, name + ".c")) + glob.glob(os.path.join(SOURCES, name + ".asm"))
    if os.path.exists(built) and all(os.path.getmtime(source) <= os.path.getmtime(built) for source in sources):
        return None
    return "%s is not there or older than its source: make %s" % ((os.path.relpath(built, node.TOP),) * 2)


def elf(name):
    assert not stale(name), stale(name)
    return os.path.join(BUILT, name + ".elf")


def run(name, machine, guests, cpus, vms=None, image=None, cmdline="", direct=False, **options):
    """Boots a node with these guests, each after the one before. vms: VM files of one's own instead; image: another
    image than build/margay.elf; cmdline: the hypervisor's. Returns a node.Run;
    codes: of exits by QEMU's log, where all are direct ones."""
    if vms is None:
        vms = {}
        for number, guest in enumerate(guests):
            last = number == len(guests) - 1
            vms[guest.name + ".conf"] = guest.vm(guests[number - 1].name if number else None, last, direct)
    assert len(vms) <= MOST
    modules = {n: elf(n) for n in names() if any(re.search(r"^(kernel|module) = %s\b" % n, v, re.M) for v in vms.values())}
    iso = node.margay_iso("%s-%s" % (name, machine), vms, modules, cmdline, elf=image)
    with node.start(name, machine, iso, cpus=cpus, memory="256M", **options) as running:
        done = node.Run(running, running.wait())
    done.codes = node.exit_codes(machine, running.exits) if running.exits else None
    return done


def judge(guest, text):
    """What is wrong with this guest's run, as a list of lines; empty: nothing."""
    wrong = re.findall(r"^tiny: failed: .*$", text, re.MULTILINE) if guest.ok else []
    ends = re.findall(r"^%s: (end=.*)$" % guest.name, text, re.MULTILINE)
    results = re.findall(r"^tiny: %s: (ok|FAILED) .*$" % guest.name, text, re.MULTILINE)
    if results != (["ok"] if guest.ok else ["FAILED"]):
        wrong.append("result lines: %s" % results)
    if ends != [guest.end]:
        wrong.append("ended %s, expected %s" % (ends, guest.end))
    return wrong


def how_lost(guest, text):
    """What a guest came to that ran last: passes; checks, of which some failed; its VM's other end; node: that ended with it."""
    ends = re.findall(r"^%s: end=(\S+)" % guest.name, text, re.MULTILINE)
    if not ends:
        return "node"
    if not judge(guest, text):
        return "passes"
    return "checks" if ends == ["exit"] else ends[0]


def judge_mode(guest, text, direct):
    """What is wrong with whose APICs it had, by its line and by its exits."""
    lines = re.findall(r"^%s: interrupts: (\w+)" % guest.name, text, re.MULTILINE)
    wrong = [] if lines == ["direct" if direct else "emulated"] else ["interrupts: %s" % lines]
    counts = re.findall(r"^%s: vcpu\d+: (exits=.*)$" % guest.name, text, re.MULTILINE)
    wrong += [] if len(counts) == guest.cpus else ["telemetry of %d vCPUs" % len(counts)]
    return wrong + [line for line in counts if direct and node.INTERRUPT_EXIT.search(line)]


def part(guest, text):
    """The guest's own part of the console's text, when it ran alone."""
    match = re.search(r"^%s: .*?^%s: end=.*?$" % (guest.name, guest.name), text, re.MULTILINE | re.DOTALL)
    return match[0] if match else ""
