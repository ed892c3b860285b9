# SPDX-License-Identifier: GPL-2.0-only
"""A node of a whole-machine test: an image booted by tools/margay_run.py, to the end, and what the guest reported.

Tests take what they need for one from here: images (boot_image.py), VM files (vm_file.py), what is said of exits (exit_log.py).
Logs are kept under build/logs, one per test and machine (written.py).
"""

import copy
import os
import re

import exit_log
import margay_run
import vm_file
import written
from boot_image import Image, acpi_arguments, image, margay_iso, variant
from exit_log import INTERRUPT_EXIT, check_direct, check_exits, exit_codes
from places import BUILD, GUEST, LOGS, TOP, drivers_for, guest_file
from vm_file import GUEST_MEMORY, vm_text

__all__ = [
    "BUILD", "GUEST", "LOGS", "TOP", "drivers_for", "guest_file", "Image", "acpi_arguments", "image", "margay_iso", "variant",
    "GUEST_MEMORY", "vm_text", "INTERRUPT_EXIT", "check_direct", "check_exits", "exit_codes", "MACHINES", "BOCHS_SVM", "NESTED",
    "ALL", "NODE_MEMORY", "KERNEL", "TIMEOUT", "Node", "Run", "log_of", "start", "finish", "run_guest",
]

MACHINES = ("qemu", "bochs")
BOCHS_SVM = "bochs-svm"  # a second judge for SVM, with its own faults: tests/guest/bochs-svm
NESTED = ("nested-svm", "nested-vtx")  # KVM as the processor, on each of the first two
ALL = (*MACHINES, BOCHS_SVM, *NESTED)
NODE_MEMORY = "1G"
# vmlinuz, uncompressed (tools/guest-image): QEMU takes longer to decompress a kernel than to start it, and Bochs minutes.
KERNEL = "vmlinux-short"
# Wall-clock seconds for a boot to userspace and a script there, on a busy machine.
TIMEOUT = {"qemu": 400, "bochs": 1200, BOCHS_SVM: 1200, "nested-svm": 900, "nested-vtx": 3600}
ENDING = 120  # from the script's last line to the end of the node


class Node(margay_run.Node):
    """A run, and what finish() judges it by."""

    def __init__(self, booted, machine, log, interrupts="auto", exits=None, **options):
        self.image = booted
        self.interrupts = interrupts
        self.must_log_exits = bool(exits)
        of_keys = vm_file.interrupts_of_all(booted.vms) if interrupts == "auto" else interrupts
        if exits is None:
            exits = machine == "qemu" and of_keys == "direct"
        self.exits = None
        extra = list(options.pop("extra", ()))
        if exits:
            assert machine in MACHINES, "%s keeps no log of exits" % machine
            assert not {"-d", "-D", "-trace"} & set(extra), "QEMU keeps one log, and this test wants it: exits=False"
            self.exits = log + (exit_log.EXITS if machine == "qemu" else ".bochs.log")
            written.now().exits.append(self.exits)
            extra += exit_log.arguments(machine, self.exits)
        super().__init__(booted.path, machine, log=log, extra=extra, **options)

    def expected(self, run):
        """What its VMs must have had: as the test says, or by their files' keys; None if that depends on more."""
        if self.interrupts != "auto":
            return self.interrupts
        # An image that cannot be direct says nothing.
        if self.image.elf and not exit_log.modes(run):
            return None
        by_keys = vm_file.interrupts_of_all(self.image.vms)
        # No model of Bochs with SVM has an x2APIC. The emulated host of a nested machine may be too busy for the HPET's NMIs.
        cannot = self.machine == BOCHS_SVM or self.machine in NESTED and not run.lines("^margay: HPET: timer")
        return "emulated" if by_keys == "direct" and cannot else by_keys


def log_of(name, machine):
    """The path of a log, which is this test's alone."""
    log = os.path.join(LOGS, "%s-%s.log" % (name, machine))
    written.now().logs.append(log)
    return log


def start(name, machine, booted, **options):
    """
    A running Node, to be used in a with statement. booted: an Image, or a path. interrupts: what all VMs must have had when
    finish() looks, direct or emulated; auto: what their files say. exits: whether the emulator logs each exit, for finish() to
    find no interrupt's among them; unless it is said, QEMU does where all VMs may be direct.
    """
    options.setdefault("memory", NODE_MEMORY)
    options.setdefault("timeout", TIMEOUT[machine])
    booted = booted if isinstance(booted, Image) else Image(booted)
    return Node(booted, machine, log_of(name, machine), **options)


class Run:
    """A finished run: outcome, the whole text, and the guest's "margay-test: key: value" lines."""

    def __init__(self, node, outcome):
        self.outcome = outcome
        self.exited = node.process.returncode is not None and node.process.returncode >= 0
        # Firmware and GRUB clear the screen in front of the first line, whoever says it.
        self.read(re.sub(r"\x1b\[[0-9;]*[HJ]", "", node.text.replace("\r", "")))

    def read(self, text):
        self.text = text
        self.facts = dict(re.findall(r"^margay-test: ([a-z0-9-]+): (.*)$", self.text, re.MULTILINE))
        self.dmesg = re.findall(r"^margay-dmesg: (.*)$", self.text, re.MULTILINE)

    def of(self, vm):
        """What a VM said that had not the foreground, and what the hypervisor said of it and of itself."""
        console, one = "[%s] " % vm, copy.copy(self)
        one.read("\n".join(line.removeprefix(console) for line in self.text.split("\n")
                           if line.startswith((console, vm + ":", "margay:"))))
        return one

    def of_foreground(self, other):
        """What all but this one said: others may have cut a line of the VM's that had the foreground."""
        one = copy.copy(self)
        one.read("\n".join(line for line in self.text.split("\n") if not line.startswith(("[%s] " % other, other + ":"))))
        return one

    def has_line(self, pattern):
        return re.search("^" + pattern + "$", self.text, re.MULTILINE) is not None

    def lines(self, pattern):
        return [line for line in self.text.split("\n") if re.search(pattern, line)]

    def unsaid(self, vm):
        """How many lines that this VM's guest has caused are not in the log, by the log (docs/operating.md)."""
        counts = re.findall(r"^%s: (?:.*, (\d+) more since the last line|(\d+) more lines that its guest .*)$" % vm,
                            self.text, re.MULTILINE)
        return sum(int(later or ended) for later, ended in counts)


def finish(node, said=""):
    """Waits for the guest's script, then not long for the end: a guest that cannot end fails soon. said: what is before a line of
    the guest's, where it has not the foreground."""
    node.expect("^" + re.escape(said) + r"margay-test: done\r?$")
    node.hurry(ENDING)
    run = Run(node, node.wait())
    check_direct(run)
    expected = node.expected(run)
    if expected:
        exit_log.check_modes(run, expected)
    if node.exits and (node.must_log_exits or exit_log.modes(run) == {"direct"}):
        check_exits(run, node.machine, exit_codes(node.machine, node.exits))
    return run


def run_guest(name, machine, cmdline, kernel=None, vm=None, elf=None, acpi=(), initrd="initrd", **options):
    """Boots one VM of Debian's kernel with this command line, to the end of the node. vm: keys of the VM file."""
    iso = margay_iso(
        "%s-%s" % (name, machine), {"vm0.conf": vm_text(machine, cmdline, **(vm or {}))},
        {"kernel": guest_file(kernel or KERNEL), "initrd": guest_file(initrd)}, elf=elf, acpi=acpi,
    )
    with start(name, machine, iso, **options) as node:
        return finish(node)
