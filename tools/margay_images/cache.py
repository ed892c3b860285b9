# SPDX-License-Identifier: GPL-2.0-only
"""What a node keeps of images: laid out as a store, so that others fetch from it, but what a manifest names may be missing.

Whole versions go when room is needed, those first that were asked for longest ago; none that is pinned. What has come of a version
stays when its pull is cut: its manifest is here first, and names it.
"""

import os
import shutil
from contextlib import contextmanager

from . import chunks, collect, durable, manifest, minisign, store
from .errors import ImageError, UnavailableError


def bytes_in(folder):
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries)


class Cache(store.Store):
    def __init__(self, top):
        super().__init__(top)
        self.temporary = self.path("piece.new")

    def index(self, file):
        """[(chunk, bytes)]; nothing of an index that is not here, or is no good: that one goes."""
        try:
            return super().index(file)
        except ImageError:
            path = self.index_path(file["index"]["sha256"])
            if os.path.exists(path):
                os.unlink(path)
            return []

    # What comes

    def add_manifest(self, value, data, signature):
        """Its version is in use now."""
        top = self.path("images", value["name"], value["version"])
        durable.make_folder(top)
        with self.writing() as folder:
            durable.replace(os.path.join(top, manifest.NAME + minisign.SUFFIX), signature, folder)
            durable.replace(os.path.join(top, manifest.NAME), data, folder)

    def add(self, path, data):
        """A file that is named by its hash: not flushed, for it is judged again before it is used."""
        with open(self.temporary, "wb", buffering=0) as f:
            os.fchmod(f.fileno(), 0o644)
            written = f.write(data)
            while written < len(data):
                written += f.write(data[written:])
        folder = path[:path.rindex("/")]
        if not os.access(folder, os.F_OK):
            self.make_folder(folder)
        os.rename(self.temporary, path)

    @staticmethod
    def make_folder(path):
        """Of chunks with the same four digits; what is above it is there but for the first."""
        try:
            os.mkdir(path)
        except FileNotFoundError:
            os.makedirs(path)

    @contextmanager
    def pulling(self):
        """One pull at a time; yields False where there is another, whose manifest may be about to come. Else versions whose
        manifest the disk has damaged, or had no room for, are no more here."""
        with durable.locked(self.path("pulling"), wait=False) as free:
            if free:
                self.drop_damaged()
            yield free

    def drop_damaged(self):
        for name, version in self.images():
            try:
                self.manifest(name, version)
            except ImageError:
                shutil.rmtree(self.path("images", name, version))

    def judged(self, name, size):
        """Is this chunk here, and good? A bad one goes."""
        if not os.access(chunks.path(self.chunks, name), os.F_OK):
            return False
        try:
            chunks.read(self.chunks, name, size)
            return True
        except ImageError:
            os.unlink(chunks.path(self.chunks, name))
            return False

    # What stays

    def pin_path(self, name, version):
        return self.path("pins", "%s:%s" % (name, version))

    def pinned(self, name, version):
        return os.path.exists(self.pin_path(name, version))

    def pin(self, name, version, wanted):
        if (name, version) not in self.images():
            raise ImageError("%s:%s is not in the cache" % (name, version))
        durable.make_folder(self.path("pins"))
        if wanted:
            durable.write(self.pin_path(name, version), b"")
        elif self.pinned(name, version):
            os.unlink(self.pin_path(name, version))

    def used(self):
        """Bytes of chunks and indexes."""
        folders = [self.path("index"), *(self.path("chunks", entry) for entry in self.entries("chunks"))]
        return sum(bytes_in(folder) for folder in folders if os.path.isdir(folder))

    def oldest(self, kept):
        """The version to go first, or None; kept: one that does not."""
        free = [image for image in self.images() if image != kept and not self.pinned(*image)]
        return min(free, key=lambda image: os.stat(self.path("images", *image, manifest.NAME)).st_mtime_ns, default=None)

    def make_room(self, needed, limit, kept):
        """The versions that went so that so many bytes fit."""
        if needed == 0:
            return []
        if self.used() + needed > limit:
            collect.collect(self)
        gone = []
        while self.used() + needed > limit:
            image = self.oldest(kept)
            if image is None:
                raise UnavailableError("%s:%s: %.1f MB do not fit into the cache: its limit is %.1f MB, and %.1f MB stay" % (
                    *kept, needed / 1e6, limit / 1e6, self.used() / 1e6))
            collect.collect(self, remove=[image])
            gone.append(image)
        return gone
