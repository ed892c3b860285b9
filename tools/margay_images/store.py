# SPDX-License-Identifier: GPL-2.0-only
"""A store: a directory that any web server serves. Where everything lies in it, who may write, and how it is read.

    store.json                                   what this is
    images/NAME/versions                         the versions, a line each, oldest first: a hint, not signed
    images/NAME/VERSION/manifest.json[.minisig]
    index/SHA256.caibx                           by the hash that manifests name them by
    chunks/abcd/abcd....cacnk                    casync's store
    keys/N/keys.json[.minisig]                   the lists of keys (trust.py)
    incoming/                                    what is not there yet, of those who write just now
    lock                                         who has it changes names; who reads needs it not

What it promises, whenever a writer ends: what a manifest in images/ names is there, whole. So a push brings chunks, then indexes,
then the manifest, and gc takes them away the other way round, each step on the disk before the next.
"""

import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager

from . import canonical, chunks, durable, faults, index, manifest, minisign, trust, version_order
from .errors import ImageError

KIND = "margay-store"
FORMAT = 1


class Store:
    def __init__(self, top):
        self.top = os.path.abspath(top)

    def path(self, *parts):
        return os.path.join(self.top, *parts)

    @property
    def chunks(self):
        return self.top + "/chunks"

    def index_path(self, digest):
        return self.path("index", digest + ".caibx")

    # Opening

    def open(self):
        """Refuses what is no store."""
        try:
            data = self.read("store.json", canonical.LIMIT)
        except FileNotFoundError as error:
            raise ImageError("%s: no image store: the first push makes one, in a directory that is empty" % self.top) from error
        value = canonical.read(data, self.path("store.json"))
        if value != {"kind": KIND, "format": FORMAT}:
            raise ImageError("%s: a store of another format than this Margay's, which is %d" % (self.top, FORMAT))
        return self

    def create(self):
        """A store, if nothing or an empty directory is there; else it must be one. A cut first push leaves the start of one."""
        # One look: another first push may be at it.
        there = set(self.entries())
        if "store.json" not in there and there - {"incoming", "lock"}:
            raise ImageError("%s: neither empty nor an image store" % self.top)
        durable.make_folder(self.top)
        if not os.path.exists(self.path("store.json")):
            with self.writing() as folder:
                durable.replace(self.path("store.json"), canonical.write({"kind": KIND, "format": FORMAT}), folder)
        return self.open()

    # Writing

    def lock(self):
        return durable.locked(self.path("lock"))

    @contextmanager
    def writing(self):
        """A folder of one's own in incoming/, on the store's disk. As long as its owner lives gc leaves it alone."""
        incoming = self.path("incoming")
        with self.lock():
            durable.make_folder(incoming)
            folder = tempfile.mkdtemp(prefix="", dir=incoming)
            owner = ExitStack()
            owner.enter_context(durable.locked(os.path.join(folder, "lock")))
        with owner:
            faults.reach("began")
            try:
                yield folder
            finally:
                with self.lock():
                    shutil.rmtree(folder)
            faults.reach("cleared")

    def write_versions(self, name, versions, folder):
        text = "".join(version + "\n" for version in sorted(versions, key=version_order.key))
        durable.replace(self.path("images", name, "versions"), text.encode("ascii"), folder)

    # Reading

    def read(self, path, limit):
        """A file of the store, which may not be longer."""
        with open(self.path(path), "rb") as f:
            data = f.read(limit + 1)
        if len(data) > limit:
            raise ImageError("%s: longer than %d bytes" % (self.path(path), limit))
        return data

    def read_signed(self, folder, name):
        """(bytes, signature or None)"""
        data = self.read(os.path.join(folder, name), canonical.LIMIT)
        try:
            return data, self.read(os.path.join(folder, name + minisign.SUFFIX), minisign.LIMIT)
        except FileNotFoundError:
            return data, None

    def names(self):
        return sorted(entry for entry in self.entries("images") if manifest.is_name(entry))

    def versions(self, name):
        """That are there, oldest first."""
        found = [entry for entry in self.entries("images", name)
                 if manifest.is_version(entry) and os.path.isdir(self.path("images", name, entry))]
        return sorted(found, key=version_order.key)

    def entries(self, *parts):
        try:
            return os.listdir(self.path(*parts))
        except FileNotFoundError:
            return []

    def images(self):
        return [(name, version) for name in self.names() for version in self.versions(name)]

    def manifest(self, name, version):
        """(object, bytes, signature or None); its own name is the one that it lies under."""
        folder = os.path.join("images", name, version)
        what = self.path(folder, manifest.NAME)
        try:
            data, signature = self.read_signed(folder, manifest.NAME)
        except FileNotFoundError as error:
            raise ImageError("%s: there is no %s:%s" % (self.top, name, version)) from error
        value = manifest.parse(data, what, indexed=True)
        if (value["name"], value["version"]) != (name, version):
            raise ImageError("%s: is of %s:%s" % (what, value["name"], value["version"]))
        return value, data, signature

    def index(self, file):
        """[(chunk, bytes)] of a manifest's file. The index is the one that the manifest names, or this refuses it."""
        wanted = file["index"]
        what = self.index_path(wanted["sha256"])
        if wanted["size"] > index.limit(file["size"]):
            raise ImageError("%s: %d bytes are too many for a file of %d" % (what, wanted["size"], file["size"]))
        try:
            found = manifest.measure(what)
        except FileNotFoundError as error:
            raise ImageError("%s: is missing" % what) from error
        if found != wanted:
            raise ImageError("%s: damaged: %d bytes, sha256 %s" % (what, found["size"], found["sha256"]))
        return index.parse(self.read(what, wanted["size"]), what, file["size"])

    def trust(self, folder):
        """Whom to believe by the keys of this machine and all lists of the store."""
        believed = trust.of_folder(folder)
        while os.path.isdir(self.path("keys", str(believed.serial + 1))):
            where = os.path.join("keys", str(believed.serial + 1))
            data, signature = self.read_signed(where, trust.FILE)
            what = self.path(where, trust.FILE)
            if signature is None:
                raise ImageError("%s: not signed" % what)
            believed = believed.follow(data, signature, what)
        return believed

    def chunk_files(self):
        """(id, path) of each chunk that lies there, needed or not."""
        for folder in sorted(self.entries("chunks")):
            for file in sorted(self.entries("chunks", folder)):
                name = chunks.name_of(file)
                if name and name[:4] == folder:
                    yield name, self.path("chunks", folder, file)


def parse_image(text, version_needed=False):
    """NAME or NAME:VERSION, as it is typed."""
    name, colon, version = text.partition(":")
    if not manifest.is_name(name) or (colon and not manifest.is_version(version)) or (version_needed and not colon):
        raise ImageError("'%s' is not NAME%s: see docs/images.md for what they may be" %
                         (text, ":VERSION" if version_needed else "[:VERSION]"))
    return name, version or None
