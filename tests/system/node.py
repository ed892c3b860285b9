# SPDX-License-Identifier: GPL-2.0-only
"""What the whole-machine tests share: an ISO per test by tools/margay-image,
a run of it by tools/margay_run.py, and what the guest reported.

Logs are kept under build/logs, one per test and machine.
"""

import collections
import copy
import fcntl
import os
import re
import subprocess
import sys

import margay_run

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
LOGS = os.path.join(BUILD, "logs")
GUEST = os.path.join(BUILD, "guest")

MACHINES = ("qemu", "bochs")
NESTED = ("nested-svm", "nested-vtx")  # KVM as the processor, on each of them
NODE_MEMORY = "1G"
GUEST_MEMORY = {"qemu": "512M", "bochs": "256M", "nested-svm": "256M", "nested-vtx": "256M"}
# Bochs takes minutes to decompress a kernel; vmlinux is the same, uncompressed.
KERNEL = {"qemu": "vmlinuz", "bochs": "vmlinux", "nested-svm": "vmlinuz", "nested-vtx": "vmlinux"}
# Wall-clock seconds for a boot to userspace and a script there, on a busy machine.
TIMEOUT = {"qemu": 400, "bochs": 1200, "nested-svm": 900, "nested-vtx": 3600}
ENDING = 120  # from the script's last line to the end of the node
logs = []  # those that start() gave; tests/conftest.py asks whose they are
made_of = {}  # by ISO: the VM files in it, the hypervisor's command line, another image than build/margay.elf
isos = []  # what image() has written in this process; tests/conftest.py removes those of tests that pass


def guest_file(name):
    return os.path.join(GUEST, name)


def vm_text(machine, cmdline, **keys):
    """A VM file of Debian's kernel; keys replace or add lines, None leaves one out."""
    lines = {
        "kernel": "kernel", "initrd": "initrd", "cmdline": "console=ttyS0 panic=-1 " + cmdline,
        "memory": GUEST_MEMORY[machine], "on_end": "poweroff_node",
    }
    lines.update(keys)
    return "".join("%s = %s\n" % item for item in lines.items() if item[1] is not None)


def image(name, *arguments):
    """Runs tools/margay-image; returns the ISO's path."""
    directory = os.path.join(BUILD, "iso")
    os.makedirs(directory, exist_ok=True)
    iso = os.path.join(directory, name + ".iso")
    done = subprocess.run(
        [sys.executable, os.path.join(TOP, "tools", "margay-image"), *arguments, "-o", iso],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    isos.append(iso)
    return iso


def variant(name, *options):
    """The path of a second image, built with these lines of configuration added to the defaults."""
    directory = os.path.join(BUILD, name)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = os.path.join(directory, ".config")
        text = "".join("CONFIG_%s\n" % option for option in options)
        kept = os.path.join(directory, "wanted")
        if not os.path.exists(kept) or open(kept, encoding="ascii").read() != text:
            for file in (path, kept):
                with open(file, "w", encoding="ascii") as f:
                    f.write(text)
        elf = os.path.join(directory, "margay.elf")
        done = subprocess.run(
            ["make", "-C", TOP, "B=" + os.path.relpath(directory, TOP), os.path.relpath(elf, TOP)],
            capture_output=True, text=True, check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return elf


def margay_iso(name, vms, modules, cmdline="", check=True, elf=None, acpi=(), grub=()):
    """vms: {file name: text}; modules: {name: path}; elf: another image than build/margay.elf; acpi: tables, as
    bytes, that GRUB adds to the firmware's; grub: its commands before the boot."""
    directory = os.path.join(BUILD, "iso", name)
    os.makedirs(directory, exist_ok=True)
    arguments = ["--cmdline", cmdline] if cmdline else []
    arguments += [] if check else ["--no-check"]
    arguments += ["--elf", elf] if elf else []
    for command in grub:
        arguments += ["--grub", command]
    for file, text in vms.items():
        path = os.path.join(directory, file)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        arguments += ["--vm", path]
    for module, path in modules.items():
        arguments += ["--module", "%s=%s" % (module, path)]
    iso = image(name, *arguments, *acpi_arguments(name, acpi))
    made_of[iso] = (list(vms.values()), cmdline, elf)
    return iso


def acpi_arguments(name, tables):
    """Of tools/margay-image: these tables, as bytes, which GRUB adds to the firmware's."""
    arguments = []
    directory = os.path.join(BUILD, "iso", name)
    os.makedirs(directory, exist_ok=True)
    for number, table in enumerate(tables):
        path = os.path.join(directory, "acpi%d" % number)
        with open(path, "wb") as f:
            f.write(table)
        arguments += ["--acpi", path]
    return arguments


def start(name, machine, iso, **options):
    """A running Node, to be used in a with statement."""
    options.setdefault("memory", NODE_MEMORY)
    options.setdefault("timeout", TIMEOUT[machine])
    log = os.path.join(LOGS, "%s-%s.log" % (name, machine))
    logs.append(log)
    vms, words, elf = made_of.get(iso, ((), "", None))
    words = " ".join([words, *options.get("extra", ())])
    # Where all VMs may have their CPUs' own local APICs; a test that looks at QEMU's log or trace itself has asked for one.
    exits = log + EXITS if machine == "qemu" and not re.search(" -(d|trace) ", words) and may_be_direct(vms, words) else None
    if exits:
        options["extra"] = [*options.get("extra", ()), *exit_log(machine, exits)]
    node = margay_run.Node(iso, machine, log=log, **options)
    node.made_of = (vms, words, elf, machine in NESTED)
    node.exits = exits
    return node


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


# What makes interrupts = auto emulated in the VM file, or in what the machine is started with; vmm/config/config_direct.c has all.
EMULATED_BY = ("topology = flat", "clock = freeze", "allow_smt_sharing = yes", "counters = yes", "nox2apic", "hpet=off", "-x2apic")
# What a guest with its CPUs' own local APICs has no exit for, and what is never injected into it.
INTERRUPT_EXIT = re.compile(r" (?:extint|hlt|irq-window)=| injected=[1-9]")


def may_be_direct(vms, words):
    text = "".join(vms)
    alone = len(vms) == 1 and "interrupts = emulated" not in text and not any(word in text + words for word in EMULATED_BY)
    return alone or (vms and all("interrupts = direct" in vm for vm in vms))


# What the emulator says of each exit, by code: on SVM (APM vol. 2, appendix C) physical and virtual interrupts and HLT, on VT-x
# (SDM vol. 3, appendix C) external interrupts, interrupt windows and HLT.
EXITS = ".exits"
EMULATORS_EXIT = {"qemu": re.compile(r"vmexit\(([0-9a-f]+), "), "bochs": re.compile(r"VMEXIT reason = (\d+) ")}
BY_INTERRUPT = {"qemu": {"%08x" % code for code in (0x60, 0x64, 0x78)}, "bochs": {"1", "7", "12"}}


def exit_log(machine, path):
    """Arguments, Node's extra, by which an emulator tells of each exit: QEMU in this file, Bochs in its own log, on CPU 0."""
    return ["debug: action=ignore, cpu0=report"] if machine == "bochs" else ["-d", "in_asm", "-dfilter", "0x0..0x0", "-D", path]


def exit_codes(machine, path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return collections.Counter(code for line in f for code in EMULATORS_EXIT[machine].findall(line))


def check_exits(run, machine, codes):
    """By the emulator's log no exit is an interrupt's, and there are as many as by telemetry, if that is told. All VMs have their
    CPUs' local APICs."""
    told = sum(map(int, re.findall(r"^\w+: vcpu\d+: exits=(\d+)", run.text, re.MULTILINE)))
    assert codes and sum(codes.values()) == (told or sum(codes.values())), (told, codes)
    assert not BY_INTERRUPT[machine] & codes.keys(), codes


def check_modes(run, vms=(), words="", image=None, nested=False):
    """Who said that it has its CPUs' own local APICs made no exit by an interrupt. vms: the VM files; the only one has them, unless
    it forbids that, or what the machine was started with (words), or the image has other options, or the emulated host of a nested
    machine was too busy for the HPET's NMIs."""
    for vm in set(re.findall(r"^(\w+): interrupts: direct$", run.text, re.MULTILINE)):
        wrong = [line for line in run.lines(r"^%s: vcpu\d+: exits=" % vm) if INTERRUPT_EXIT.search(line)]
        assert not wrong, wrong
    said = set(re.findall(r"^\w+: interrupts: (direct|emulated: .*)$", run.text, re.MULTILINE))
    if len(vms) != 1 or (image and not said):
        return
    text = "".join(vms)
    if "interrupts = emulated" in text:
        assert not said
    else:
        emulated = [word for word in EMULATED_BY if word in text + words]
        emulated += ["no HPET"] if nested and not run.lines("^margay: HPET: timer") else []
        assert len(said) == 1 and (said == {"direct"}) == (not emulated), (emulated, said)


def finish(node, said=""):
    """Waits for the guest's script, then not long for the end: a guest that cannot end fails soon. said: what is before a line of
    the guest's, where it has not the foreground."""
    node.expect("^" + re.escape(said) + r"margay-test: done\r?$")
    node.hurry(ENDING)
    run = Run(node, node.wait())
    check_modes(run, *node.made_of)
    # An image that cannot be direct says nothing.
    if node.exits and run.lines(r"^\w+: interrupts: direct$") and not run.lines(r"^\w+: interrupts: emulated"):
        check_exits(run, "qemu", exit_codes("qemu", node.exits))
    return run


def run_guest(name, machine, cmdline, kernel=None, vm=None, elf=None, acpi=(), initrd="initrd", **options):
    """Boots one VM of Debian's kernel with this command line, to the end of the node. vm: keys of the VM file."""
    iso = margay_iso(
        "%s-%s" % (name, machine), {"vm0.conf": vm_text(machine, cmdline, **(vm or {}))},
        {"kernel": guest_file(kernel or KERNEL[machine]), "initrd": guest_file(initrd)}, elf=elf, acpi=acpi,
    )
    with start(name, machine, iso, **options) as node:
        return finish(node)
