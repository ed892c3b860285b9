# SPDX-License-Identifier: GPL-2.0-only
"""An image's initrd: init.sh, self_test.sh, busybox, and the modules that it loads, in an archive that is not compressed.

Linux copies it instead of unpacking it, and a store, which compresses chunks itself, has what two versions share once.
"""

import os
import stat
import subprocess

from . import cpio
from .errors import ImageError

HERE = os.path.dirname(os.path.abspath(__file__))
INIT = os.path.join(HERE, "init.sh")
SELF_TEST = os.path.join(HERE, "self_test.sh")
BUSYBOX = "/bin/busybox"
# What init.sh calls, by name.
APPLETS = ("cat", "chroot", "cp", "cttyhack", "head", "insmod", "ln", "mkdir", "mke2fs", "mount", "reboot", "setsid", "sh",
           "switch_root", "tar", "tr", "umount", "usleep", "wc")
FOLDERS = ("dev", "lower", "proc", "root", "sys", "upper")


def busybox():
    """This machine's, which is linked with nothing else."""
    try:
        with open(BUSYBOX, "rb") as f:
            data = f.read()
        listed = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=False).stdout.split()
    except OSError as error:
        raise ImageError("%s is missing: install Debian's package busybox-static" % BUSYBOX) from error
    missing = [applet for applet in APPLETS if applet not in listed]
    # Programs that need a linker name it, as text, in their first page.
    if missing or b"/ld-linux" in data[:4096]:
        raise ImageError("%s is not Debian's busybox-static%s" % (BUSYBOX, ": no " + ", ".join(missing) if missing else ""))
    return data


def make(modules):
    """The archive; modules: [(name, bytes)] in the order in which they are loaded."""
    files = {"bin/busybox": (stat.S_IFREG | 0o755, busybox())}
    for name, path in (("init", INIT), ("self-test", SELF_TEST)):
        with open(path, "rb") as f:
            files[name] = (stat.S_IFREG | 0o755, f.read())
    files.update({"bin/" + applet: (stat.S_IFLNK | 0o777, b"busybox") for applet in APPLETS})
    files.update({folder: (stat.S_IFDIR | 0o755, b"") for folder in FOLDERS})
    files.update({"modules/%s.ko" % name: (stat.S_IFREG | 0o644, data) for name, data in modules})
    files["modules/order"] = (stat.S_IFREG | 0o644, "".join(name + "\n" for name, _ in modules).encode())
    # The kernel opens it before the first program, which would be silent without.
    files["dev/console"] = (stat.S_IFCHR | 0o600, b"")
    return cpio.pack(files, devices={"dev/console": (5, 1)})
