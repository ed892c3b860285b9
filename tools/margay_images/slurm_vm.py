# SPDX-License-Identifier: GPL-2.0-only
"""What an image needs to be the VM of a Slurm job: Slurm and munge are the root's own; here is what joins them to the metadata by
which a VM is told who it is (slurm/margay-slurm-vm). Neither name, network nor key is in an image."""

import os

from .errors import ImageError
from .root import Entry, of_bytes

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slurm")
UNITS = "usr/lib/systemd/system/"
# Where one of them may be, and the package that Debian has it in.
NEEDED = (
    (("usr/sbin/slurmd",), "slurmd"),
    (("usr/sbin/munged",), "munge"),
    (("usr/bin/ip", "usr/sbin/ip", "bin/ip", "sbin/ip"), "iproute2"),
    (("usr/bin/tar", "bin/tar"), "tar"),
    (("usr/lib/systemd/systemd", "lib/systemd/systemd"), "systemd"),
)
FILES = {"usr/lib/margay/margay-slurm-vm": 0o755, "usr/lib/margay/margay-slurm-health": 0o755,
         UNITS + "margay-slurm-vm.service": 0o644, UNITS + "margay-slurmd.service": 0o644}
# The unit begins with the machine; munged waits for its key; the distribution's slurmd would be a second one.
LINKS = {UNITS + "multi-user.target.wants/margay-slurmd.service": "../margay-slurmd.service",
         "etc/systemd/system/slurmd.service": "/dev/null"}
MUNGE = UNITS + "munge.service.d/margay.conf"
DROP_IN = b"[Unit]\nRequires=margay-slurm-vm.service\nAfter=margay-slurm-vm.service\n"


def check(root):
    """The root has what these files start."""
    missing = [package for paths, package in NEEDED if not any(root.file(path) for path in paths)]
    if missing:
        raise ImageError("%s: --slurm: it has no %s (Debian: install %s there)" % (
            root.what, ", ".join(missing), " ".join(missing)))
    passwd = root.file("etc/passwd")
    if not passwd or not any(line.startswith(b"munge:") for line in passwd.read("etc/passwd").split(b"\n")):
        raise ImageError("%s: --slurm: it has no user munge" % root.what)


def put_in(root):
    """As old as the newest file of the root: what the image says of its age stays true."""
    check(root)
    newest = root.newest()
    for path, mode in FILES.items():
        with open(os.path.join(HERE, os.path.basename(path)), "rb") as f:
            root.add(path, of_bytes(f.read(), mode, newest))
    root.add(MUNGE, of_bytes(DROP_IN, 0o644, newest))
    for path, target in LINKS.items():
        root.add(path, Entry("symlink", mode=0o777, mtime=newest, target=target))
    root.complete()
