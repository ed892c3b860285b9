# SPDX-License-Identifier: GPL-2.0-only
"""The process of a node that hands on what is in its cache, and pulls for those who ask at its socket (request.py)."""

import asyncio
import json
import os

from .errors import ImageError, UnavailableError, reason
from .pull import Pull
from .request import LINE, Request, line_of


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
