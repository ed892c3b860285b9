# SPDX-License-Identifier: GPL-2.0-only
"""The operator at the monitor console: nodes with VMs of the tiny guest behave, commands and their answers."""

import re

import margay_machines
import node
import tiny

ESCAPE = "\x14"  # ^T
PROMPT = "margay> "
# Prompt and echo, guests in the background; log lines of VMs.
OTHERS = re.compile(PROMPT + r"|\[\w+\] ")
ANSWER = 120  # seconds for one, on a busy machine
LOG = re.compile(r"margay: |\w+: (vcpu\d+: (CPU|exits)|end=|restart \d|interrupts: |memory:|own memory:|NPT:|EPT:)")


def vm(name, mode, machine="qemu", **keys):
    """The VM file of a tiny guest that behaves as mode says; keys replace or add lines."""
    cmdline = "machine=%s mode=%s" % (margay_machines.EMULATOR[machine], mode)
    lines = {"name": name, "kernel": "behave", "cmdline": cmdline, "memory": "32M",
             "topology": "flat", "debug_exit": "yes"}
    if machine == "bochs":
        # Bochs 3.0 gives a core of one thread two APIC IDs, as if it had two.
        lines["allow_smt_sharing"] = "yes"
    lines.update(keys)
    return "".join("%s = %s\n" % item for item in lines.items())


def start(name, machine, vms, cpus, cmdline="", **options):
    """A node with these VM files, {file: text}; to be used in a with statement."""
    iso = node.margay_iso("%s-%s" % (name, machine), vms, {"behave": tiny.elf("behave")}, cmdline, check=False,
                          elf=options.pop("elf", None), grub=options.pop("grub", ()))
    options.setdefault("timeout", 300)
    return node.start(name, machine, iso, cpus=cpus, memory="512M", **options)


def whole_lines(running):
    """No VM has the foreground: what each prints are whole lines, with its name before them."""
    running.expect("calls the monitor console\r?$")
    Console(running).call()


def without_echo(lines, typed):
    """What was typed comes back in as many pieces as lines of others have cut it into, in its order."""
    kept, at = [], 0
    for line in lines:
        found = typed.find(line, at)
        if found >= 0:
            at = found + len(line)
        else:
            kept.append(line)
    return kept


class Console:
    """The monitor console of a running node."""

    def __init__(self, running):
        self.node = running
        self._marks = 0

    def call(self):
        """The escape key, from a guest's console."""
        self.node.send(ESCAPE)
        self.node.expect("^Monitor console: ", ANSWER)
        # A line of another VM may stand between.
        self.node.expect("^" + PROMPT, ANSWER, prompt=True)

    def answer(self, command, log=False, until=None):
        """
        Types a command; its answer as a list of lines, without what others said
        meanwhile (log: with log lines). until: how an answer ends that comes late.
        """
        self._marks += 1
        begin, end = ("unknown command '=%s%d'" % (which, self._marks) for which in "be")
        # What is unknown is said so, in a line that nobody else prints.
        self.node.send("=b%d\r%s\r" % (self._marks, command))
        first = self.node.expect("^%s.*\n" % begin, ANSWER)
        if until:
            self.node.expect(until, ANSWER)
            self.node.expect("^(?=%s)" % PROMPT, ANSWER, prompt=True)
        self.node.send("=e%d\r" % self._marks)
        last = self.node.expect("^" + end, ANSWER)
        text = self.node.text[first.end():last.start()].replace("\r", "")
        lines = [line for line in text.split("\n") if line and not OTHERS.match(line) and PROMPT.strip() not in line]
        lines = without_echo(without_echo(lines, command), "=e%d" % self._marks)
        return [line for line in lines if log or not LOG.match(line)]

    def end(self):
        """Stops what runs, and the node; the outcome."""
        # Lines of the log that come meanwhile are no VMs.
        for name, state in re.findall(r"^(\S+) +(\S+) +vCPUs ", "\n".join(self.answer("vm")), re.MULTILINE):
            if state in ("running", "paused"):
                self.answer("vm stop " + name)
            self.settle(name)
        self.node.send("poweroff\r")
        # Not to be taken for an idle node, which it was after the last VM's end.
        self.node.expect("^margay: node: end=poweroff ", ANSWER)
        return self.node.wait()

    def state(self, name):
        """The VM's state, as vm list shows it."""
        found = [line.split()[1] for line in self.answer("vm list") if line.split()[0] == name]
        assert len(found) == 1, found
        return found[0]

    def settle(self, name):
        """Its end has been logged: waits until it has been taken down, too."""
        while self.state(name) == "changing":
            pass

    def exits(self, name):
        """{reason: count} of a VM."""
        found = re.findall(r"^([a-z0-9-]+) +(\d+) +\d+\.\d%", "\n".join(self.answer("stats " + name)), re.MULTILINE)
        assert found
        return {reason: int(count) for reason, count in found}
