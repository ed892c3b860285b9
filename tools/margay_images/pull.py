# SPDX-License-Identifier: GPL-2.0-only
"""From a store, and from nodes that have it, into this node's cache and its image memory. What each step relies on was verified by
the one before: keys, the manifest's signature, the indexes by the manifest, the chunks by the indexes, the files by the node.
"""

import asyncio

from . import chunks, index, manifest, minisign, put, serve, shared, store, version_order
from .cache import Cache
from .errors import ImageError, UnavailableError, of_this_machine
from .fetch import MissingError, Web
from .seen import Seen
from .transfer import Transfer


class Node:
    """What a pull needs, and what is served: one process of a node has one of it."""

    def __init__(self, config):
        self.config = config
        with of_this_machine():
            self.cache = Cache(config.cache).create()
        self.seen = Seen(config.state)
        self.shared = shared.Shared(self.cache)
        self.server = serve.Server(self.cache, self.shared)
        self.web = Web(config.timeout)

    async def __aenter__(self):
        await self.web.__aenter__()
        try:
            await self.server.start(self.config.port)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *error):
        await self.server.stop()
        await self.web.__aexit__(*error)

    async def get(self, path, limit):
        return await self.web.get(self.config.store + path, limit)


class Pull:
    """tell: called with {"have", "size"} in bytes, as it goes on."""

    def __init__(self, node, request, tell=lambda progress: None):
        self.node, self.request, self.tell = node, request, tell
        self.came = {"peers": 0, "store": 0}
        self.new = 0
        self.progress = {"have": 0, "size": 0}
        self.parts = {}  # of each index

    def parts_of(self, file):
        return self.parts[file["index"]["sha256"]]

    async def run(self):
        """What has been done, for whoever asked for it."""
        with self.node.cache.pulling() as free:
            if not free:
                raise UnavailableError("another pull is under way on this node")
            return await self.pull()

    async def pull(self):
        value, data, signature = await self.signed()
        names = self.request.node_names(value["version"])
        self.node.cache.add_manifest(value, data, signature)
        sets = shared.set_names(data)
        await self.fetch_indexes(sets[0], value)
        count = await self.fetch_chunks(sets[1], value)
        sent = 0 if self.request.cache_only else await self.put(value, names)
        self.node.seen.note(value["name"], value["version"])
        return {"image": "%s:%s" % (value["name"], value["version"]), "size": sum(file["size"] for file in value["files"].values()),
                "chunks": count, "new": self.new, "from_peers": self.came["peers"], "from_store": self.came["store"], "sent": sent,
                "cmdline": value["cmdline"], "names": [] if self.request.cache_only else sorted(names.values())}

    # The manifest

    async def signed(self):
        """(manifest, its bytes, its signature): by a key that counts, and not older than what was here."""
        believed = await self.node.seen.believed(self.node.config.keys, self.node.get)
        name = self.request.name
        version = self.request.version or await self.newest()
        what = "%s:%s" % (name, version)
        folder = "images/%s/%s/" % (name, version)
        try:
            data = await self.node.get(folder + manifest.NAME, 1 << 20)
        except MissingError as error:
            raise ImageError("%s: there is no %s" % (self.node.config.store, what)) from error
        try:
            signature = await self.node.get(folder + manifest.NAME + minisign.SUFFIX, minisign.LIMIT)
        except MissingError:
            signature = None
        believed.require(data, signature, what)
        value = manifest.parse(data, what, indexed=True)
        if (value["name"], value["version"]) != (name, version):
            raise ImageError("%s: the store has %s:%s in its place" % (what, value["name"], value["version"]))
        if not self.request.allow_downgrade:
            self.node.seen.check(name, version)
        for file_name, file in value["files"].items():
            if file["index"]["size"] > index.limit(file["size"]):
                raise ImageError("%s: %s: an index of %d bytes is too long for it" % (what, file_name, file["index"]["size"]))
        return value, data, signature

    async def newest(self):
        """By a list that nobody has signed: what it leaves out is not found, and what it adds has no signature."""
        path = "images/%s/versions" % self.request.name
        try:
            lines = (await self.node.get(path, 1 << 20)).decode("ascii", "replace").split()
        except MissingError as error:
            raise ImageError("%s: there is no %s" % (self.node.config.store, self.request.name)) from error
        if not lines or not all(manifest.is_version(line) for line in lines):
            raise ImageError("%s%s: no list of versions" % (self.node.config.store, path))
        return max(lines, key=version_order.key)

    # What it names

    async def fetch_indexes(self, name, value):
        cache = self.node.cache
        pieces = shared.index_pieces(value)
        files = {file["index"]["sha256"]: file for file in value["files"].values()}
        for digest, file in files.items():
            self.parts[digest] = cache.index(file)
        here = [piece for piece, (digest, _) in enumerate(pieces) if self.parts[digest]]

        def accept(piece, data, url):
            digest, size = pieces[piece]
            if manifest.digest(data) != digest or len(data) != size:
                raise ImageError("%s: damaged: it is not the index that the manifest names" % url)
            self.parts[digest] = index.parse(data, url, files[digest]["size"])
            cache.add(cache.index_path(digest), data)

        await Transfer(self.node, name, ["index/%s.caibx" % digest for digest, _ in pieces], [size for _, size in pieces], accept,
                       here, self.count).run()

    async def fetch_chunks(self, name, value):
        """How many chunks it has."""
        cache = self.node.cache
        pieces = shared.chunk_pieces(value, self.parts_of)
        here = await asyncio.to_thread(lambda: [piece for piece, chunk in enumerate(pieces) if cache.judged(*chunk)])
        bytes_here = sum(pieces[piece][1] for piece in here)
        self.progress = {"have": bytes_here, "size": sum(size for _, size in pieces)}
        step = self.progress["size"] // 100 + 1  # of what is told
        kept = value["name"], value["version"]
        await asyncio.to_thread(cache.make_room, self.progress["size"] - bytes_here, self.node.config.limit, kept)

        def accept(piece, data, url):
            chunk, size = pieces[piece]
            chunks.judge(data, chunk, size, url)
            cache.add(chunks.path(cache.chunks, chunk), data)
            before = self.progress["have"]
            self.progress["have"] += size
            if before // step != self.progress["have"] // step:
                self.tell(self.progress)

        paths = ["chunks/%s/%s%s" % (chunk[:4], chunk, chunks.SUFFIX) for chunk, _ in pieces]
        await Transfer(self.node, name, paths, [chunks.LIMIT for _ in pieces], accept, here, self.count).run()
        return len(pieces)

    def count(self, peer, size):
        self.came["store" if peer is None else "peers"] += size
        self.new += 1

    # Into the node

    async def put(self, value, names):
        """How many files the node had not."""
        sent = 0
        for file_name in manifest.FILES:
            file = value["files"][file_name]
            sent += await asyncio.to_thread(put.put, self.node.config.margay, names[file_name], file, self.parts_of(file),
                                            self.node.cache.chunks, self.request.prefix is not None)
        return sent
