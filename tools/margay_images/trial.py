# SPDX-License-Identifier: GPL-2.0-only
"""Tries an image that was made: boots it as the VM of a Margay node that QEMU emulates, where self_test.sh says how it has come up
and what the image's own test says. One that does not end well is no image.
"""

import os
import re
import subprocess
import sys
import tempfile

from .errors import ImageError

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Of the tree, and of the package margay.
HYPERVISORS = (os.path.join(os.path.dirname(TOOLS), "build", "margay.elf"), "/boot/margay/margay.elf")
# self_test.sh says more at once than a program may; a kernel that panics is to end; on a busy build host a device may take minutes.
WORDS = ("margay.self-test printk.devkmsg=on panic=-1 systemd.default_timeout_start_sec=900 "
         "systemd.default_device_timeout_sec=900")
SAID = re.compile(r"margay-image: (.*?)\r?$", re.MULTILINE)
WHY = re.compile(r"(initrd: .*?|Kernel panic - .*?|image: .*?|image\.conf:.*?)\r?$", re.MULTILINE)
MEMORY_MIB = 512  # of the VM, if it needs no more
NODE_MIB = 256  # of the node, beside its VM and twice the image: once as boot modules, once in the emulated CD's memory
VM = """name = image
kernel = kernel
initrd = initrd
disk = root.squashfs
memory = {memory}M
cmdline = {cmdline}
on_end = poweroff_node
"""


def hypervisor(path):
    """The image of Margay that is asked for, or that is here."""
    for found in (path,) if path else HYPERVISORS:
        if os.path.isfile(found):
            return found
    raise ImageError("--test: %s: no hypervisor to try it with: make, or install the package margay" % (path or HYPERVISORS[-1]))


def tool(*words):
    """A tool beside this one: (status, what it said)."""
    path = os.path.join(TOOLS, words[0])
    if not os.path.exists(path):
        raise ImageError("--test: %s is missing" % path)
    done = subprocess.run([sys.executable, path, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", check=False)
    return done.returncode, done.stdout


def boot(directory, value, elf, log, patience, scratch):
    """The run's last line, if it did not end well."""
    vm, iso = os.path.join(scratch, "image.conf"), os.path.join(scratch, "node.iso")
    memory = max(value["needs"]["memory_mib"], MEMORY_MIB)
    with open(vm, "w", encoding="ascii") as f:
        f.write(VM.format(memory=memory, cmdline="%s %s" % (value["cmdline"], WORDS)))
    modules = [word for name in value["files"] for word in ("--module", "%s=%s" % (name, os.path.join(directory, name)))]
    status, said = tool("margay-image", "--elf", elf, "--vm", vm, *modules, "--no-check", "-o", iso)
    if status:
        raise ImageError("--test: %s" % (said.strip().split("\n")[-1]))
    size = sum(file["size"] for file in value["files"].values()) >> 20
    status, said = tool("margay-run", "--machine", "qemu", "--memory", "%dM" % (memory + 2 * size + NODE_MIB),
                        "--timeout", str(patience), "--log", log, iso)
    return said.strip().split("\n")[-1].removeprefix("margay-run: ") if status else None


def read(text):
    """([lines that self_test.sh has said], why it did not end well or None)"""
    said = SAID.findall(text)
    if "end: good" in said:
        return said, None
    bad = [line.removeprefix("end: bad: ") for line in said if line.startswith("end: bad: ")]
    why = WHY.findall(text)
    return said, bad[0] if bad else why[-1] if why else "it has not come up"


def run(directory, value, options, say):
    """options: hypervisor, patience, log."""
    elf = hypervisor(options.hypervisor)
    with tempfile.TemporaryDirectory(prefix="margay-build-test-") as scratch:
        ended = boot(directory, value, elf, options.log, options.patience, scratch)
    try:
        with open(options.log, encoding="utf-8", errors="replace") as f:
            said, why = read(f.read())
    except FileNotFoundError:
        said, why = [], ended
    for line in said:
        say("test: " + line)
    if why or ended:
        raise ImageError("--test: %s: %s (%s has its console)" % (value["name"], why or ended, options.log))
