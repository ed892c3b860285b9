# SPDX-License-Identifier: GPL-2.0-only
"""What every boot medium holds: the image, VM files and named modules, checked
before anything is written. tools/margay-image puts them on an ISO,
tools/margay-netboot into a directory for TFTP and HTTP.
"""

import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))

# GRUB speaks on a serial port, too, and hands a framebuffer over.
GRUB_CONSOLE = """\
serial --unit=0 --speed=115200
terminal_output console serial
insmod all_video
"""
# With a menu it listens there as well, where there is such a port: a BMC's console may be all that the operator has.
GRUB_MENU_CONSOLE = """\
if serial %s; then
	terminal_output console serial
	terminal_input console serial
fi
insmod all_video
"""

# UEFI firmware of servers was seen to leave 350 MiB below 4 GiB.
LARGE_MODULES = 300 << 20


class BootError(Exception):
    """The medium cannot be made; the text says what is wrong and what to do."""


def grub_serial(cmdline):
    """GRUB's words for the port where Margay's console will be, by the last console= of its command line; else for the first."""
    port, speed = "--unit=0", "115200"
    for name, its_speed in re.findall(r"(?:^| )console=(com[12]|0x[0-9a-fA-F]{1,4})(?:,(\d+))?(?=[, ]|$)", cmdline):
        port = "--unit=%d" % (int(name[3]) - 1) if name.startswith("com") else "--port=" + name
        speed = its_speed or "115200"
    return "%s --speed=%s" % (port, speed)


def grub_menu_console(cmdline):
    """GRUB's commands for a console there."""
    return GRUB_MENU_CONSOLE % grub_serial(cmdline)


def add_arguments(parser):
    """The options that say what goes onto the medium."""
    parser.add_argument("--elf", default=os.path.join(BUILD, "margay.elf"), help="the hypervisor (%(default)s)")
    parser.add_argument("--cmdline", default="", help="the hypervisor's command line")
    parser.add_argument("--vm", action="append", default=[], metavar="FILE", help="a VM file; may be repeated")
    parser.add_argument("--module", action="append", default=[], metavar="NAME=PATH", help="a named boot module")
    parser.add_argument("--no-check", action="store_true", help="do not check VM files, kernels and command line")


def split_module(item):
    """(name, path) of a NAME=PATH; the hypervisor's own modules have a word before the name."""
    name, equals, path = item.partition("=")
    if not equals or not re.fullmatch(r"((facts|microcode):)?[A-Za-z0-9._-]+", name) or len(name) > 63:
        raise BootError("--module %s: expected NAME=PATH, the name of letters, digits, '.', '_' and '-', "
                        "or facts: or microcode: and such a name" % item)
    return name, path


def modules_of(args):
    """[(name, path)] of the VM files and modules; names as the hypervisor sees them."""
    modules = [("vm:" + os.path.basename(path), path) for path in args.vm] + [split_module(m) for m in args.module]
    seen = set()
    for name, path in modules:
        if name in seen:
            raise BootError("two modules are named %s" % name)
        if not os.path.isfile(path):
            raise BootError("%s: no such file" % path)
        seen.add(name)
    return modules


def say(tool, made, modules):
    """What was made, and how much room a boot loader has to find for it; a warning where firmware may leave less."""
    sizes = {name: os.path.getsize(path) for name, path in modules}
    print("%s: %s%s" % (tool, made, "; %d modules, %.1f MB" % (len(sizes), sum(sizes.values()) / 1e6) if sizes else ""))
    if sum(sizes.values()) > LARGE_MODULES:
        largest = max(sizes, key=sizes.get)
        print("%s: warning: some firmware has less than %d MiB for modules, which must lie below 4 GiB; the largest is %s, "
              "%.1f MB: docs/booting.md, Large images" % (tool, LARGE_MODULES >> 20, largest, sizes[largest] / 1e6),
              file=sys.stderr)


def check_vm_files(args):
    """By the hypervisor's own judges of VM files, kernels and the command line, which print all that is wrong."""
    if args.no_check:
        return
    checker = os.path.join(BUILD, "margay-check")
    if not os.access(checker, os.X_OK):
        raise BootError("%s is missing: make" % os.path.relpath(checker))
    cmd = [checker, "--quiet", "--no-others", "--image", args.elf, "--cmdline", args.cmdline]
    for item in args.module:
        cmd += ["--module", item]
    if subprocess.run(cmd + args.vm, check=False).returncode != 0:
        raise BootError("not written: correct this first (--no-check overrides)")


def install_image(args, target):
    """The image without its debug sections, which GRUB would load into memory as well."""
    if not os.path.isfile(args.elf):
        raise BootError("%s: no such file: make" % args.elf)
    if subprocess.run(["strip", "-s", "-o", target, args.elf], check=False).returncode != 0:
        raise BootError("%s: strip failed" % args.elf)


def word(text):
    """One word of a line that GRUB reads."""
    return "'" + text.replace("'", "'\\''") + "'"
