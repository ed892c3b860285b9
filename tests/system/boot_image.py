# SPDX-License-Identifier: GPL-2.0-only
"""Images that a node boots from: an ISO per test by tools/margay-image, and hypervisors of other configurations."""

import fcntl
import os
import subprocess
import sys

import written
from places import BUILD, TOP


class Image:
    """A file, or a directory for a network boot, by its path; and what is in it, as far as a run is judged by that."""

    def __init__(self, path, vms=(), elf=None):
        self.path = path
        self.vms = tuple(vms)  # the VM files' texts
        self.elf = elf  # another hypervisor than build/margay.elf

    def __fspath__(self):
        return self.path


def image(name, *arguments):
    """Runs tools/margay-image; an Image without VM files, as a bare kernel's is."""
    directory = os.path.join(BUILD, "iso")
    os.makedirs(directory, exist_ok=True)
    iso = os.path.join(directory, name + ".iso")
    done = subprocess.run(
        [sys.executable, os.path.join(TOP, "tools", "margay-image"), *arguments, "-o", iso],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written.now().isos.append(iso)
    return Image(iso)


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
    """An Image. vms: {file name: text}; modules: {name: path}; elf: another image than build/margay.elf; acpi: tables, as
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
    return Image(image(name, *arguments, *acpi_arguments(name, acpi)).path, vms.values(), elf)


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
