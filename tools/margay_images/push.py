# SPDX-License-Identifier: GPL-2.0-only
"""Brings an image directory into a store. Whatever ends it, the store has the version whole, or not at all.

The long part, reading, cutting and flushing, is done in the push's own folder, and holds up nobody. Then, under the store's lock,
files are only moved: what gc sees is either before or after. A chunk counts as there only under this lock, so gc cannot take it
from a push that relies on it.
"""

import errno
import os

from . import canonical, chunks, durable, faults, index, manifest, minisign
from .errors import ImageError


def cut(directory, value, folder):
    """The manifest with its indexes; chunks and indexes are in the folder."""
    files = {}
    for name in manifest.FILES:
        target = os.path.join(folder, name + ".caibx")
        chunks.cut(os.path.join(directory, name), os.path.join(folder, "chunks"), target)
        with open(target, "rb") as f:
            data = f.read()
        os.chmod(target, 0o644)
        # Of a file that changed meanwhile the store would have what the manifest does not mean.
        parts = index.parse(data, target, value["files"][name]["size"])
        files[name] = {**value["files"][name], "index": manifest.measure(target)}
        faults.reach("cut")
        check_cut(os.path.join(folder, "chunks"), parts, value["files"][name], name)
    return {**value, "files": files}


def check_cut(top, parts, wanted, name):
    """What casync has written is the file. It is read once more: a store hands on what it has for years."""
    if chunks.digest(top, parts) != wanted["sha256"]:
        raise ImageError("%s changed while it was cut" % name)


def move_chunks(store, folder):
    """How many chunks are new, and their bytes."""
    count = size = 0
    touched = set()
    top = os.path.join(folder, "chunks")
    for prefix in sorted(os.listdir(top)):
        for file in sorted(os.listdir(os.path.join(top, prefix))):
            name = chunks.name_of(file)
            target = chunks.path(store.chunks, name) if name else None
            if target is None or os.path.exists(target):
                continue
            durable.make_folder(os.path.dirname(target))
            source = os.path.join(top, prefix, file)
            size += os.stat(source).st_size
            os.chmod(source, 0o444)
            os.rename(source, target)
            touched.add(os.path.dirname(target))
            count += 1
            faults.reach("moved-chunk")
    for path in sorted(touched):
        durable.sync_folder(path)
    return count, size


def move_indexes(store, value, folder):
    durable.make_folder(store.path("index"))
    for name, file in value["files"].items():
        target = store.index_path(file["index"]["sha256"])
        if not os.path.exists(target):
            os.rename(os.path.join(folder, name + ".caibx"), target)
            durable.sync_folder(store.path("index"))
            faults.reach("moved-index")


def there_already(store, value, data):
    """Is just this version in the store? Another one of the same name is an error: versions do not change."""
    if not os.path.isdir(store.path("images", value["name"], value["version"])):
        return False
    if store.manifest(value["name"], value["version"])[1] != data:
        raise ImageError("%s:%s is in the store already, with other contents: versions do not change, give this one another" %
                         (value["name"], value["version"]))
    return True


def publish(store, value, folder):
    """The version gets its name: with it, it is there."""
    top = store.path("images", value["name"])
    durable.make_folder(top)
    try:
        os.rename(os.path.join(folder, "image"), os.path.join(top, value["version"]))
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            raise ImageError("%s:%s: something else lies there" % (value["name"], value["version"])) from error
        raise
    durable.sync_folder(top)
    faults.reach("published")


def add_signature(store, value, folder):
    """Of a version that was pushed without one. One that is there stays: `sign` makes another."""
    name = manifest.NAME + minisign.SUFFIX
    path = store.path("images", value["name"], value["version"], name)
    if not os.path.exists(path):
        with open(os.path.join(folder, "image", name), "rb") as f:
            durable.replace(path, f.read(), folder)


def comment(value, seconds):
    """What stands in the signature, signed itself."""
    return "margay image %s %s signed %d" % (value["name"], value["version"], seconds)


def prepare(directory, value, folder, key, seconds):
    """All that the store gets, in the push's folder and on the disk; its manifest and the bytes of that."""
    value = cut(directory, value, folder)
    data = canonical.write(manifest.check(value, "manifest", indexed=True))
    image = os.path.join(folder, "image")
    durable.new_folder(image)
    durable.write(os.path.join(image, manifest.NAME), data)
    if key:
        durable.write(os.path.join(image, manifest.NAME + minisign.SUFFIX), minisign.sign(data, key, comment(value, seconds)))
    durable.sync_all(folder)
    faults.reach("synced")
    return value, data


def push(store, directory, key, seconds):
    """(manifest, whether it was there already, new chunks, their bytes)"""
    value = manifest.of_directory(directory)
    store.create()
    with store.writing() as folder:
        value, data = prepare(directory, value, folder, key, seconds)
        with store.lock():
            there = there_already(store, value, data)
            # Of a version that is there, too: so a store that has lost a file is mended.
            count, size = move_chunks(store, folder)
            move_indexes(store, value, folder)
            if not there:
                publish(store, value, folder)
            elif key:
                add_signature(store, value, folder)
            store.write_versions(value["name"], store.versions(value["name"]), folder)
            faults.reach("listed")
    return value, there, count, size
