# SPDX-License-Identifier: GPL-2.0-only
"""The tracker (tracker.py) by HTTP: POST /ask with a question in JSON,

    {"set": name, "pieces": how many it has, "port": where the asker serves, "got": [...], "dead": [...], "stalled": [...]}

and "begins", "heard": [...] and "complete" where tracker.py has them. Whoever asks is known by the address that he asks from:
nobody names others' as his own.
"""

import random
import re
import time

from aiohttp import web

from . import canonical, node_config, serve, tracker
from .errors import ImageError

SET = re.compile(r"[ic][0-9a-f]{64}")
PIECES = 1 << 22  # of 64 KiB they are an image of 256 GiB
MOST = 100  # each of these is looked up among the others; a node names few (swarm.NOWHERE, swarm.PEERS)


def is_peers(value):
    return isinstance(value, list) and all(isinstance(peer, str) and node_config.is_peer(peer) for peer in value)


def is_numbers(value):
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)


QUESTION = {
    "set": lambda value: isinstance(value, str) and SET.fullmatch(value) is not None,
    "pieces": lambda value: type(value) is int and 0 <= value <= PIECES,
    "port": lambda value: type(value) is int and 0 < value < 65536,
    "got": is_numbers,
    "stalled": lambda value: is_numbers(value) and len(value) <= MOST,
    "dead": is_peers,
    "heard": lambda value: is_peers(value) and len(value) <= MOST,
    "begins": bool,
    "complete": bool,
}


class Server:
    def __init__(self):
        self.tracker = tracker.Tracker(random.Random())
        self.runner = None
        self.port = None

    async def start(self, port):
        app = web.Application(client_max_size=canonical.LIMIT)
        app.router.add_post("/ask", self.ask)
        self.runner = web.AppRunner(app, access_log=None)
        self.port = await serve.listen(self.runner, port)
        return self

    async def stop(self):
        await self.runner.cleanup()

    async def ask(self, request):
        try:
            question = await request.json()
            canonical.expect(question, QUESTION, "question", optional=("begins", "heard", "complete"))
        except (ValueError, RecursionError, ImageError) as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        pieces = question["pieces"]
        if any(piece >= pieces for piece in question["got"] + question["stalled"]):
            raise web.HTTPBadRequest(text="a piece that there is not")
        node = serve.address(request.remote, question["port"])
        return web.json_response(self.tracker.ask(question["set"], pieces, node, question, time.monotonic()))
