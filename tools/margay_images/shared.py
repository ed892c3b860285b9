# SPDX-License-Identifier: GPL-2.0-only
"""Which pieces of which sets a node has for others. A set is what is fetched in one go: the indexes of an image, then its chunks.

A set is named "i" or "c" and the SHA-256 of the image's manifest; its pieces are numbered as the manifest and the indexes have
them.
"""

import asyncio
import hashlib
import os
import random
import zlib

from . import chunks
from .errors import ImageError


def set_names(manifest_bytes):
    digest = hashlib.sha256(manifest_bytes).hexdigest()
    return "i" + digest, "c" + digest


def index_pieces(value):
    """[(SHA-256, bytes)] of an image's indexes, each once."""
    files = sorted(value["files"].items())
    return list(dict.fromkeys((file["index"]["sha256"], file["index"]["size"]) for _, file in files))


def chunk_pieces(value, index_of):
    """[(id, bytes)] of an image's chunks, each once; index_of(file) is [(id, bytes)]."""
    return list(dict.fromkeys(part for _, file in sorted(value["files"].items()) for part in index_of(file)))


class Log:
    """The pieces of one set that are here, in the order in which they came; who reads it waits for more. Another pull, or a look at
    the cache, has another order: so each log has a number, without which "all but the first N" says nothing."""

    def __init__(self, pieces, number):
        self.pieces, self.number = list(pieces), number
        self.grown = asyncio.Event()

    def add(self, piece):
        self.pieces.append(piece)
        grown, self.grown = self.grown, asyncio.Event()
        grown.set()

    async def after(self, start, patience):
        """Those behind the first `start`, when there are some, or after that time."""
        if start >= len(self.pieces):
            try:
                await asyncio.wait_for(self.grown.wait(), patience)
            except asyncio.TimeoutError:
                pass
        return self.pieces[start:]


class Shared:
    def __init__(self, cache):
        self.cache = cache
        self.logs = {}  # of pulls under way
        self.meet = {}  # set: called with each peer that asks for it

    def begin(self, name, pieces, meet):
        self.logs[name], self.meet[name] = Log(pieces, random.getrandbits(32)), meet
        return self.logs[name]

    def end(self, name):
        self.meet.pop(name, None)
        self.logs.pop(name).grown.set()

    def log(self, name):
        """Of a set; of an image in the cache what is here now. None: nothing of it is."""
        if name in self.logs:
            return self.logs[name]
        for image in self.cache.images():
            try:
                value, data, _ = self.cache.manifest(*image)
            except (ImageError, OSError):
                continue
            if name in set_names(data):
                pieces = self.there(name, value)
                return Log(pieces, zlib.crc32(b"".join(piece.to_bytes(4, "little") for piece in pieces)))
        return None

    def there(self, name, value):
        if name[0] == "i":
            paths = [self.cache.index_path(digest) for digest, _ in index_pieces(value)]
        else:
            paths = [chunks.path(self.cache.chunks, chunk) for chunk, _ in chunk_pieces(value, self.cache.index)]
        return [piece for piece, path in enumerate(paths) if os.path.exists(path)]
