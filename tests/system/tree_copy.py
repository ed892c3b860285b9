# SPDX-License-Identifier: GPL-2.0-only
"""A copy of this tree in which somebody has built before: for what a reader types, which may change it."""

import os
import shutil
import subprocess

import node

# Of build/: what make would only make again, and where the guest is.
KEPT = (".config", "auto.conf", "config", "config.h", "obj", "tests-guest", "unit/config.h", "margay", "margay-check", "font.S",
        "font.o", "version", "objects.list", "margay.pass1.elf", "symtab.S", "symtab.o", "margay.elf", "image-options",
        "image-options.o")


def copy(source, target):
    """Files and folders as they are, with their times, by which make goes."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True)
    elif os.path.exists(source):
        shutil.copy2(source, target)


def make(top):
    """What git has of this tree, and what was built, in the folder top."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=node.TOP,
                            capture_output=True, text=True, check=True).stdout
    for path in filter(None, listed.split("\0")):
        copy(os.path.join(node.TOP, path), os.path.join(top, path))
    for path in KEPT:
        copy(os.path.join(node.BUILD, path), os.path.join(top, "build", path))
    os.symlink(node.GUEST, os.path.join(top, "build", "guest"))
    return top


def environment():
    """As a person's shell has it, whatever make it is that runs this test."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MARGAY_", "KCONFIG", "MFLAGS"))}
    # git knows nothing of the copy: with another version the image would be linked again.
    with open(os.path.join(node.BUILD, "version"), encoding="ascii") as f:
        kept["VERSION"] = f.read().strip()
    return kept
