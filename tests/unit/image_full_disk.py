# SPDX-License-Identifier: GPL-2.0-only
"""Runs in a mount namespace of its own, for test_image_faults.py: pushes on disks that are too small, until one is large enough.

    image_full_disk.py FIRST SECOND SECRET KEYS    prints how many pushes failed and how many did not
"""

import errno
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.dirname(os.path.abspath(__file__))]

import image_stores as stores  # noqa: E402
from margay_images.errors import ImageError  # noqa: E402


def attempt(disk, kib, images, secret):
    """Is the second image in the store, on a disk of that size?"""
    subprocess.run(["mount", "-o", "remount,size=%dk" % kib, disk], check=True)
    try:
        stores.pushed(os.path.join(disk, "store"), images[1], secret)
    except ImageError as error:
        assert "casync cannot cut" in str(error) or "No space left" in str(error), error
        return False
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
        return False
    return True


def main(first, second, secret, keys):
    failed = passed = 0
    with tempfile.TemporaryDirectory() as disk:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], check=True)
        top = os.path.join(disk, "store")
        stores.pushed(top, first, secret)
        used = os.statvfs(disk)
        used = (used.f_blocks - used.f_bfree) * used.f_frsize // 1024
        for room in range(0, 2000, 90):
            good = attempt(disk, used + room, (first, second), secret)
            assert stores.problems(top, keys) == [], room
            assert os.listdir(os.path.join(top, "incoming")) == [], room
            failed, passed = failed + (not good), passed + good
            if good:
                break
        collect_when_full(disk, top, keys)
        subprocess.run(["umount", disk], check=True)
    print(failed, passed)


def collect_when_full(disk, top, keys):
    """gc needs no room for what nothing names, and makes the room that it needs for the rest."""
    rest = os.path.join(top, "chunks", "abab", "ab" * 32 + ".cacnk")
    os.makedirs(os.path.dirname(rest))
    with open(rest, "wb") as f:
        f.write(bytes(20_000))
    try:
        with open(os.path.join(disk, "filler"), "wb") as f:
            while True:
                f.write(bytes(4096))
                f.flush()
    except OSError as error:
        assert error.errno == errno.ENOSPC
    assert os.statvfs(disk).f_bfree == 0
    stores.collected(top, remove=[("mpi", "1")])
    assert not os.path.exists(rest) and stores.problems(top, keys) == [] and stores.rests(top) == set()


if __name__ == "__main__":
    main(*sys.argv[1:])
