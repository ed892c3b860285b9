# SPDX-License-Identifier: GPL-2.0-only
"""The process of a node that hands on what is in its cache, and pulls for those who ask at its socket: they find each other so.

A request is one line of JSON, {image, prefix, allow_downgrade, cache_only}; the answers are lines, {"progress": ...} any number of
times, then {"done": ...}, or {"error": "...", "status": 1 or 3}, as errors.py
has them. Who goes away ends his pull.
"""

import asyncio
import json
import os
import socket

from .errors import ImageError, UnavailableError, reason
from .pull import Pull, Request

LINE = 1 << 20


def line_of(value):
    return (json.dumps(value) + "\n").encode()


class Daemon:
    def __init__(self, node):
        self.node = node
        self.turn = asyncio.Lock()

    async def answer(self, reader, writer):
        pulling = None
        try:
            words = json.loads(await reader.readline())
            pulling = asyncio.ensure_future(self.pull(words, writer))
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({pulling, gone}, return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
        except (ValueError, ConnectionError):
            pass
        finally:
            if pulling:
                pulling.cancel()
                await asyncio.gather(pulling, return_exceptions=True)
            writer.close()

    async def pull(self, words, writer):
        try:
            async with self.turn:
                done = await Pull(self.node, Request(**words), lambda progress: writer.write(line_of({"progress": progress}))).run()
            answer = {"done": done}
        except (ImageError, TypeError) as error:
            answer = {"error": str(error), "status": getattr(error, "status", ImageError.status)}
        except OSError as error:
            answer = {"error": reason(error), "status": UnavailableError.status}
        writer.write(line_of(answer))
        await writer.drain()

    async def run(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.unlink(path)
        # Nobody but root, from the moment that it is there.
        mask = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self.answer, path, limit=LINE)
        finally:
            os.umask(mask)
        async with server:
            await server.serve_forever()


def ask(path, words, tell):
    """What the daemon has done; None: there is no daemon."""
    with socket.socket(socket.AF_UNIX) as channel:
        try:
            channel.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        channel.sendall(line_of(words))
        with channel.makefile("rb") as lines:
            for line in lines:
                said = json.loads(line)
                if "done" in said:
                    return said["done"]
                if "error" in said:
                    raise (UnavailableError if said["status"] == UnavailableError.status else ImageError)(said["error"])
                tell(said["progress"])
    raise UnavailableError("%s: the process that pulls has ended" % path)
