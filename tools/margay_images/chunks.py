# SPDX-License-Identifier: GPL-2.0-only
"""Chunks: cut by casync, each a file of zstd named by the SHA-256 of its bytes; read back and judged here."""

import hashlib
import os
import subprocess

import zstandard

from . import index
from .errors import ImageError

SUFFIX = ".cacnk"


def path(top, name):
    """Where casync has it: a folder for the first four digits."""
    return "%s/%s/%s%s" % (top, name[:4], name, SUFFIX)


def name_of(file):
    """The id of a chunk's file, or None for another file."""
    name, suffix = os.path.splitext(file)
    return name if suffix == SUFFIX and len(name) == 64 and not set(name) - set("0123456789abcdef") else None


def cut(file, top, index_path):
    """Cuts a file into chunks below top, and writes its index."""
    os.makedirs(top, exist_ok=True)
    command = ["casync", "make", "--what=blob-index", "--digest=sha256", "--compression=zstd",
               "--chunk-size=%d:%d:%d" % (index.SMALLEST, index.AVERAGE, index.LARGEST), "--store=" + top, index_path, file]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False)
    except FileNotFoundError as error:
        raise ImageError("casync is missing: install Debian's package casync") from error
    if done.returncode:
        raise ImageError("casync cannot cut %s: %s" % (file, (done.stderr.strip().split("\n") or [""])[-1]))


# zstd adds a few bytes to what cannot be packed. Never more in memory than an honest chunk has.
LIMIT = 2 * index.LARGEST
UNKNOWN = -1


def read_packed(top, name):
    """A chunk's file, (bytes, path)."""
    where = path(top, name)
    fd = os.open(where, os.O_RDONLY)
    try:
        return os.read(fd, LIMIT + 1), where
    finally:
        os.close(fd)


def unpack(packed, size, where):
    """The bytes in a chunk's file; where: how to call it."""
    try:
        # Where it says how much it has, that much memory would be taken.
        if zstandard.frame_content_size(packed) in (UNKNOWN, size):
            data = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompress(packed, max_output_size=size)
            if len(data) == size:
                return data
    except zstandard.ZstdError as error:
        raise ImageError("%s: damaged: %s" % (where, error)) from error
    raise ImageError("%s: not %d bytes" % (where, size))


def judge(packed, name, size, where):
    """The same; they are what the chunk is named by."""
    data = unpack(packed, size, where)
    if hashlib.sha256(data).hexdigest() != name:
        raise ImageError("%s: damaged: its hash is not its name" % where)
    return data


def read(top, name, size):
    """The bytes of a chunk, which are what it is named by."""
    packed, where = read_packed(top, name)
    return judge(packed, name, size, where)


def digest(top, parts):
    """The SHA-256 of the file that these chunks, [(id, bytes)], are put together to; each is what it is named by."""
    whole = hashlib.sha256()
    for name, size in parts:
        whole.update(read(top, name, size))
    return whole.hexdigest()
