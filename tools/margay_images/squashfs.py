# SPDX-License-Identifier: GPL-2.0-only
"""Writes root.squashfs, by sqfstar of Debian's squashfs-tools: from a stream of tar, so nothing is unpacked and nobody is root."""

import os
import subprocess
import tempfile

from .errors import ImageError

# One block of 128 KiB is what casync's chunks find again in the next version; docs/images.md has what was measured.
OPTIONS = ("-b", "128K", "-root-mode", "755", "-root-uid", "0", "-root-gid", "0",
           "-reproducible", "-no-progress", "-quiet")
MAGIC = b"hsqs"


def feed(root, process):
    try:
        root.write_tar(process.stdin)
    except BrokenPipeError:
        pass  # it has ended, and says why
    except BaseException:
        process.kill()
        raise
    finally:
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass


def make(root, path, epoch, compressor):
    """No time in it is later than epoch."""
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(["sqfstar", "-comp", compressor, *OPTIONS, path], stdin=subprocess.PIPE, stdout=said,
                                       stderr=said,
                                       env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "TZ": "UTC", "LC_ALL": "C"})
        except FileNotFoundError as error:
            raise ImageError("sqfstar is missing: install Debian's package squashfs-tools") from error
        with process:
            feed(root, process)
        said.seek(0)
        lines = [line for line in said.read().decode("utf-8", "replace").split("\n") if line and "hdrcharset" not in line]
    with open(path, "rb") if os.path.exists(path) else tempfile.TemporaryFile() as f:
        whole = f.read(4) == MAGIC
    if process.returncode or not whole:
        raise ImageError("sqfstar cannot write %s: %s" % (path, (lines or ["status %d" % process.returncode])[-1]))
