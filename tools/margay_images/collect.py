# SPDX-License-Identifier: GPL-2.0-only
"""gc: takes versions away that are no more wanted, then whatever nothing names. Never what a manifest names.

Under the store's lock. A manifest or index that cannot be read names nobody knows what: then nothing at all is removed. What
nothing names goes first, which needs no room: a full disk has some then.
"""

import os
import shutil

from . import durable, faults
from .errors import ImageError


def unwanted(store, keep, remove):
    """The versions to go: those named, and of each name all but the newest `keep`."""
    gone = set(remove)
    for name, version in remove:
        if version not in store.versions(name):
            raise ImageError("%s: there is no %s:%s" % (store.top, name, version))
    if keep is not None:
        for name in store.names():
            gone |= {(name, version) for version in store.versions(name)[:-keep]}
    return sorted(gone)


def named(store, gone):
    """(indexes, chunks) that the versions name which stay."""
    indexes, names = set(), set()
    for name, version in store.images():
        if (name, version) in gone:
            continue
        for file in store.manifest(name, version)[0]["files"].values():
            if file["index"]["sha256"] not in indexes:
                indexes.add(file["index"]["sha256"])
                names |= {chunk for chunk, _ in store.index(file)}
    return indexes, names


def withdraw(store, gone, folder):
    for number, (name, version) in enumerate(gone):
        top = store.path("images", name)
        store.write_versions(name, [other for other in store.versions(name) if (name, other) not in gone], folder)
        faults.reach("delisted")
        os.rename(os.path.join(top, version), os.path.join(folder, "gone-%d" % number))
        durable.sync_folder(top)
        faults.reach("withdrew")


def remove_names(store):
    """Folders of images without a version."""
    for name in store.names():
        if not store.versions(name) and set(store.entries("images", name)) <= {"versions"}:
            shutil.rmtree(store.path("images", name))
            faults.reach("removed-name")


def remove_unnamed(store, indexes, names):
    """(chunks, bytes) that went."""
    for file in sorted(store.entries("index")):
        if file.endswith(".caibx") and file[:-len(".caibx")] not in indexes:
            os.unlink(store.path("index", file))
            faults.reach("removed-index")
    count = size = 0
    for name, path in store.chunk_files():
        if name not in names:
            size += os.stat(path).st_size
            os.unlink(path)
            count += 1
            faults.reach("removed-chunk")
    return count, size


def remove_rests(store):
    """What those have left in incoming/ whose process is no more."""
    for entry in sorted(store.entries("incoming")):
        path = store.path("incoming", entry)
        with durable.locked(os.path.join(path, "lock"), wait=False) as free:
            if not free:
                continue
            shutil.rmtree(path)
        faults.reach("removed-rest")


def collect(store, keep=None, remove=(), dry_run=False):
    """([(name, version)] that went, chunks, bytes)"""
    store.open()
    with store.lock():
        gone = unwanted(store, keep, remove)
        # First everything is read: it may refuse.
        names = named(store, set(gone))[1]
        if dry_run:
            sizes = [os.stat(path).st_size for name, path in store.chunk_files() if name not in names]
            return gone, len(sizes), sum(sizes)
        remove_rests(store)
        rest, rest_size = remove_unnamed(store, *named(store, ()))
    with store.writing() as folder, store.lock():
        # Others may have been here meanwhile.
        gone = unwanted(store, keep, remove)
        indexes, names = named(store, set(gone))
        withdraw(store, gone, folder)
        remove_names(store)
        count, size = remove_unnamed(store, indexes, names)
        for name in store.names():
            listed(store, name, folder)
    return gone, rest + count, rest_size + size


def listed(store, name, folder):
    """A push that was cut may have left its version off the list."""
    try:
        lines = store.read(os.path.join("images", name, "versions"), 1 << 20).decode("ascii", "replace").split()
    except FileNotFoundError:
        lines = None
    if lines != store.versions(name):
        store.write_versions(name, store.versions(name), folder)
