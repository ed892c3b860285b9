# SPDX-License-Identifier: GPL-2.0-only
"""A root file system for a guest to mount by NFS."""

import os
import shutil
import subprocess

import node
import passthrough


def make_root(directory):
    """busybox, /sbin/init, and a file of random contents."""
    shutil.rmtree(directory, ignore_errors=True)
    for name in ("bin", "sbin", "etc", "dev", "proc", "sys", "tmp"):
        os.makedirs(os.path.join(directory, name))
    shutil.copy("/bin/busybox", os.path.join(directory, "bin"))
    for applet in subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if applet != "busybox":
            os.symlink("busybox", os.path.join(directory, "bin", applet))
    for name, target in (("nfs-init.sh", "sbin/init"), ("profile.sh", "etc/profile")):
        shutil.copy(os.path.join(node.TOP, "tests", "system", "guest", name), os.path.join(directory, target))
        os.chmod(os.path.join(directory, target), 0o755)
    shutil.copy(passthrough.make_disk("nfs-root", 8 << 20), os.path.join(directory, "data"))
