# SPDX-License-Identifier: GPL-2.0-only
"""What a node has seen and never goes behind: the store's lists of keys, and the newest version of each image.

Below /var/lib/margay-images: keys/N as a store has them, seen.json. A damaged one is an error, not a node that has seen nothing.
"""

import os
import shutil

from . import canonical, durable, manifest, minisign, store, trust, version_order
from .errors import ImageError, UnavailableError, of_this_machine
from .fetch import MissingError

KIND = "margay-seen"
FILE = "seen.json"


class Seen:
    def __init__(self, top):
        self.top = os.path.abspath(top)
        durable.make_folder(self.top)

    # Lists of keys

    async def believed(self, folder, get):
        """Whom to believe after the newest list that this node has seen or get(path, limit) finds behind it."""
        with of_this_machine():
            believed = store.Store(self.top).trust(folder)
        while True:
            where = "keys/%d/%s" % (believed.serial + 1, trust.FILE)
            try:
                data = await get(where, canonical.LIMIT)
            except MissingError:
                return believed
            signature = await get(where + minisign.SUFFIX, minisign.LIMIT)
            believed = believed.follow(data, signature, where)
            self.keep_list(believed.serial, data, signature)

    def keep_list(self, serial, data, signature):
        top = os.path.join(self.top, "keys")
        durable.make_folder(top)
        new = os.path.join(self.top, "new-list")
        shutil.rmtree(new, ignore_errors=True)
        durable.new_folder(new)
        durable.write(os.path.join(new, trust.FILE), data)
        durable.write(os.path.join(new, trust.FILE + minisign.SUFFIX), signature)
        durable.sync_folder(new)
        os.rename(new, os.path.join(top, str(serial)))
        durable.sync_folder(top)

    # Versions

    def newest(self):
        """{image: the newest version that this node has had}"""
        path = os.path.join(self.top, FILE)
        try:
            with open(path, "rb") as f:
                value = canonical.read(f.read(canonical.LIMIT + 1), path)
        except FileNotFoundError:
            return {}
        good = value.keys() == {"kind", "format", "newest"} and value["kind"] == KIND and isinstance(value["newest"], dict)
        if not good or not all(manifest.is_name(name) and manifest.is_version(newest) for name, newest in value["newest"].items()):
            raise UnavailableError("%s: damaged: which versions this node has seen is not known" % path)
        return value["newest"]

    def check(self, name, version):
        """Refuses one that is older than what this node has had."""
        newest = self.newest().get(name)
        if newest and version_order.key(version) < version_order.key(newest):
            raise ImageError("%s:%s is older than %s, which this node has had: --allow-downgrade takes it" %
                             (name, version, newest))

    def note(self, name, version):
        newest = self.newest()
        if name not in newest or version_order.key(newest[name]) < version_order.key(version):
            newest[name] = version
            data = canonical.write({"kind": KIND, "format": 1, "newest": newest})
            durable.replace(os.path.join(self.top, FILE), data, self.top)
