# SPDX-License-Identifier: GPL-2.0-only
"""What a node hands on, by HTTP: the files of its cache under the paths that a store has, and which pieces it has of a set.

    /chunks/abcd/abcd....cacnk, /index/SHA256.caibx, /images/NAME/VERSION/manifest.json[.minisig]
    /have/SET?log=L&from=N[&port=P]    the number of a log, then those of its pieces, but for the first N if that is log L; 4 bytes
                                       each, little-endian; waits for one. P: where the asker serves, who is a peer, too
"""

import os
import socket
import struct

from aiohttp import web

from . import chunks, manifest, swarm

WAIT_S = 5  # then an empty answer: the connection lives
AT_ONCE = 100_000  # numbers in an answer
SEND_BUFFER = 16 << 10  # bytes in the kernel's hands: more, and a piece would be sent before it has gone
STALLS_S = 20  # who takes nothing for that time has died, or would keep others from being served; Linux would wait 15 minutes
# The patterns are of whole names: no ".." is one.
PATHS = (r"/{path:chunks/[0-9a-f]{4}/[0-9a-f]{64}" + chunks.SUFFIX.replace(".", r"\.") + "}", r"/{path:index/[0-9a-f]{64}\.caibx}",
         "/{path:images/%s/%s/%s}" % (manifest.NAMES.pattern, manifest.VERSIONS.pattern, r"manifest\.json(?:\.minisig)?"))


class Upload(web.FileResponse):
    """A file, counted while it is sent: prepare() sends all of it."""

    def __init__(self, path, server):
        super().__init__(path)
        self.server = server

    async def prepare(self, request):
        self.server.uploads += 1
        try:
            return await super().prepare(request)
        except TimeoutError as error:
            # An end of the connection as any other, and not an error of ours.
            raise ConnectionResetError from error
        finally:
            self.server.uploads -= 1


async def listen(runner, port):
    """At each address of this machine; returns the port. 0 is any that is free, at one address: IPv4 and IPv6 would get two."""
    await runner.setup()
    await web.TCPSite(runner, host=None if port else "127.0.0.1", port=port).start()
    return runner.addresses[0][1]


class Server:
    def __init__(self, cache, shared):
        self.cache, self.shared = cache, shared
        self.runner = None
        self.port = None
        self.sent = 0  # bytes of files
        self.uploads = 0  # under way

    async def start(self, port):
        app = web.Application()
        for path in PATHS:
            app.router.add_get(path, self.file)
        app.router.add_get("/have/{set:[ic][0-9a-f]{64}}", self.have)
        self.runner = web.AppRunner(app, access_log=None)
        self.port = await listen(self.runner, port)
        return self

    async def stop(self):
        await self.runner.cleanup()

    async def file(self, request):
        if self.uploads >= swarm.UPLOADS:
            raise web.HTTPServiceUnavailable()
        path = self.cache.path(request.match_info["path"])
        try:
            size = os.stat(path).st_size
        except FileNotFoundError as error:
            raise web.HTTPNotFound() from error
        self.sent += size
        channel = request.transport.get_extra_info("socket")
        # Else all of a piece is in the kernel's hands at once, and nobody is ever busy.
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * STALLS_S)
        return Upload(path, self)

    async def have(self, request):
        name = request.match_info["set"]
        log = self.shared.log(name)
        if log is None:
            raise web.HTTPNotFound()
        try:
            known, start, port = (int(request.query.get(word, "0")) for word in ("log", "from", "port"))
        except ValueError as error:
            raise web.HTTPBadRequest() from error
        if 0 < port < 65536 and name in self.shared.meet:
            self.shared.meet[name](address(request.remote, port))
        pieces = (await log.after(max(start, 0) if known == log.number else 0, WAIT_S))[:AT_ONCE]
        body = struct.pack("<%dI" % (1 + len(pieces)), log.number, *pieces)
        return web.Response(body=body, content_type="application/octet-stream")


def address(host, port):
    """As a URL has it."""
    return "%s:%d" % ("[%s]" % host if ":" in host else host, port)


def numbers(data):
    """Of an answer of /have: the log's, then the pieces'."""
    return [piece for piece, in struct.iter_unpack("<I", data[:len(data) // 4 * 4])]
