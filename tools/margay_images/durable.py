# SPDX-License-Identifier: GPL-2.0-only
"""Writes that survive a cut of the power whole or not at all: first the bytes are on the disk, then the name is there."""

import fcntl
import os
import subprocess
from contextlib import contextmanager

from . import faults
from .errors import ImageError


def sync_folder(path):
    """The names in a folder are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_all(path):
    """All that was written to the file system of this path: one flush for thousands of chunks, by syncfs(2), which Python lacks."""
    done = subprocess.run(["sync", "--file-system", path], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ImageError("%s: cannot be flushed to its disk: %s" % (path, done.stderr.strip()))


def new_folder(path):
    """That a web server may read, whatever umask the operator has."""
    os.mkdir(path)
    os.chmod(path, 0o755)


def make_folder(path):
    """With the folders above it; each is on the disk before the next one is made."""
    if os.path.isdir(path):
        return
    make_folder(os.path.dirname(path))
    try:
        new_folder(path)
    except FileExistsError:
        return
    sync_folder(os.path.dirname(path))
    faults.reach("made-folder")


def write(path, data):
    """A new file, on the disk; its name is not yet."""
    with open(path, "wb") as f:
        os.fchmod(f.fileno(), 0o644)
        f.write(data)
        f.flush()
        os.fsync(f.fileno())


def replace(path, data, folder):
    """A small file: whoever reads it sees the old one or the new one. folder: where it is written first, on the same disk."""
    temporary = os.path.join(folder, "temporary")
    write(temporary, data)
    faults.reach("wrote-temporary")
    os.replace(temporary, path)
    sync_folder(os.path.dirname(path))
    faults.reach("replaced")


@contextmanager
def locked(path, wait=True):
    """Holds a lock that ends with its process, however that ends. Yields False where another has it and wait is off."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(fd)
