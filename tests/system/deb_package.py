# SPDX-License-Identifier: GPL-2.0-only
"""Margay's Debian packages, as `make deb` builds them."""

import os
import subprocess

import node


def make_deb():
    """{name: path} of the packages that there are now."""
    done = subprocess.run(["make", "-C", node.TOP, "deb"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    paths = [line.split(": ")[1] for line in done.stdout.split("\n") if line.startswith("packages: ")]
    return {os.path.basename(path).split("_")[0]: os.path.join(node.TOP, path) for path in paths}
