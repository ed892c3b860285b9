# SPDX-License-Identifier: GPL-2.0-only
"""Margay's Debian packages, as `make deb` builds them."""

import fcntl
import os
import shutil
import subprocess

import node


def make_deb():
    """{name: path} of the packages that there are now: copies, since `make deb` of another worker writes over what it has built."""
    folder = os.path.join(node.BUILD, "packages", os.environ.get("PYTEST_XDIST_WORKER", "alone"))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(node.BUILD, "packages", "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["make", "-C", node.TOP, "deb"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        made = [line.split(": ")[1] for line in done.stdout.split("\n") if line.startswith("packages: ")]
        copies = [shutil.copy(os.path.join(node.TOP, path), folder) for path in made]
    return {os.path.basename(path).split("_")[0]: path for path in copies}
