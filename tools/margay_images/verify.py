# SPDX-License-Identifier: GPL-2.0-only
"""Reads a store as a node does, and more: each manifest, signature, index and chunk, and each file's hash."""

import os

from . import chunks
from .errors import ImageError, reason


def check_file(store, file, where):
    """What is wrong with one file of a manifest."""
    try:
        parts = store.index(file)
    except (ImageError, OSError) as error:
        yield "%s: %s" % (where, error if isinstance(error, ImageError) else reason(error))
        return
    missing = [name for name, _ in parts if not os.path.exists(chunks.path(store.chunks, name))]
    if missing:
        yield "%s: %d of %d chunks are missing, the first is %s" % (where, len(missing), len(parts), missing[0])
        return
    try:
        if chunks.digest(store.chunks, parts) != file["sha256"]:
            yield "%s: its chunks are not the file of the manifest" % where
    except (ImageError, OSError) as error:
        yield "%s: %s" % (where, error if isinstance(error, ImageError) else reason(error))


def check_image(store, name, version, believed, known):
    """What is wrong with one version. known: the files that were read already, and what was wrong with them."""
    try:
        value, data, signature = store.manifest(name, version)
    except ImageError as error:
        yield str(error)
        return
    if believed:
        try:
            believed.require(data, signature, "%s:%s" % (name, version))
        except ImageError as error:
            yield str(error)
    for file_name, file in value["files"].items():
        key = (file["sha256"], file["index"]["sha256"])
        if key not in known:
            known[key] = list(check_file(store, file, "%s:%s: %s" % (name, version, file_name)))
            yield from known[key]


def verify(store, believed, wanted=None):
    """The lines of what is wrong. believed: whose signatures count, or None to ask only whether the store is whole."""
    known = {}
    for name, version in store.images():
        if wanted is None or (name == wanted[0] and wanted[1] in (None, version)):
            yield from check_image(store, name, version, believed, known)
    for name in store.names():
        try:
            listed = store.read(os.path.join("images", name, "versions"), 1 << 20).decode("ascii", "replace").split()
        except FileNotFoundError:
            listed = []
        for version in sorted(set(listed) - set(store.versions(name))):
            yield "%s: versions names %s, which is not there" % (name, version)
        for version in sorted(set(store.versions(name)) - set(listed)):
            yield "%s: versions lacks %s: gc writes it anew" % (name, version)
