# SPDX-License-Identifier: GPL-2.0-only
"""A file's new text, whole or not at all, also when the machine loses power if it is to last. Root writes where SlurmUser may, too:
no link there is followed."""

import contextlib
import os


@contextlib.contextmanager
def folder(path, flags=0):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | flags)
    try:
        yield fd
    finally:
        os.close(fd)


def write(at, name, text, lasts=True):
    """at: the folder's descriptor. lasts: on the disk when this returns."""
    # Two programs may write one at once: a name for each. One that was killed may have had the same number.
    new = "%s.%d.new" % (name, os.getpid())
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new, dir_fd=at)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(new, flags, 0o600, dir_fd=at), "w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fchmod(f.fileno(), 0o644)
        if lasts:
            os.fsync(f.fileno())
    os.rename(new, name, src_dir_fd=at, dst_dir_fd=at)
    if lasts:
        os.fsync(at)
