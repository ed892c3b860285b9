# SPDX-License-Identifier: GPL-2.0-only
"""Fetches the pieces of a set: does what swarm.py says, with real servers and the real clock."""

import asyncio
import json
import random
import time

from . import node_config, serve, swarm
from .errors import ImageError, UnavailableError
from .fetch import BusyError, MissingError

ANSWER = 1 << 20  # bytes of a tracker's
STORE_TRIES = 2


class Transfer:
    """
    name: of the set; paths: of its pieces, below a store's URL; sizes: the most bytes of each; accept(piece, data, url) keeps a
    piece, or raises ImageError for one that is no good; here: the pieces that need not come.
    """

    def __init__(self, node, name, paths, sizes, accept, here, tell=lambda source, size: None):
        self.node, self.name, self.paths, self.sizes, self.accept, self.tell = node, name, paths, sizes, accept, tell
        self.swarm = swarm.Swarm(len(paths), here, random.Random(), time.monotonic(), bool(node.config.tracker))
        self.log = node.shared.begin(name, here, lambda peer: self.meet(peer, asks=True))
        self.changed = asyncio.Event()
        self.tasks, self.failed = set(), None
        self.store_failures = 0
        self.over = False

    async def run(self):
        try:
            for peer in self.node.config.peers:
                self.meet(peer)
            while not self.swarm.done:
                self.changed.clear()
                self.step()
                if self.failed:
                    raise self.failed
                now = time.monotonic()
                try:
                    await asyncio.wait_for(self.changed.wait(), self.swarm.wakes(now) - now)
                except asyncio.TimeoutError:
                    pass
        finally:
            self.over = True
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)
            self.node.shared.end(self.name)
        if self.swarm.tracked:
            await self.ask_tracker({**self.swarm.report, "stalled": [], "complete": True})

    def step(self):
        now = time.monotonic()
        for peer, piece in self.swarm.asks(now):
            self.start(self.fetch(peer, piece))
        question = self.swarm.question(now)
        if question:
            self.start(self.ask_tracker(question))

    def start(self, work):
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.ended)

    def ended(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and task.exception():
            self.failed = task.exception()
            self.changed.set()

    # Peers

    def meet(self, peer, asks=False):
        if self.swarm.meet(peer, asks):
            self.start(self.listen(peer, self.swarm.peers[peer]))

    def lose(self, peer, met, lies=False):
        """But not if it has been met again meanwhile."""
        if self.swarm.peers.get(peer) is met:
            self.swarm.lose(peer, lies)
        self.changed.set()

    async def listen(self, peer, met):
        """What a peer has, from now on."""
        log = known = 0
        while self.swarm.peers.get(peer) is met and not self.over:
            url = "http://%s/have/%s?log=%d&from=%d&port=%d" % (peer, self.name, log, known, self.node.server.port)
            try:
                data = await self.node.web.get(url, 4 * len(self.paths) + 4, serve.WAIT_S)
            except MissingError:
                # It does not know of this image yet.
                self.swarm.has(peer, [])
                await asyncio.sleep(swarm.TICK_S)
                continue
            except ImageError:
                self.lose(peer, met)
                return
            number, *pieces = serve.numbers(data) or [0]
            known = len(pieces) + (known if number == log else 0)
            log = number
            self.swarm.has(peer, pieces)
            self.changed.set()
            if not pieces:
                # An honest one has waited for that long already.
                await asyncio.sleep(swarm.TICK_S)

    async def fetch(self, peer, piece):
        url = (self.node.config.store if peer is None else "http://%s/" % peer) + self.paths[piece]
        met = self.swarm.peers.get(peer)
        try:
            data = await self.node.web.get(url, self.sizes[piece])
            self.accept(piece, data, url)
        except ImageError as error:
            self.changed.set()
            if peer is not None and isinstance(error, BusyError):
                self.swarm.busy(peer, time.monotonic())
                return
            if peer is not None:
                self.lose(peer, met, lies=not isinstance(error, (MissingError, UnavailableError)))
                return
            self.store_failures += 1
            if self.store_failures >= STORE_TRIES or isinstance(error, MissingError):
                raise
            self.swarm.store_failed(piece)
            return
        self.changed.set()
        if self.swarm.got(peer, piece, time.monotonic()):
            self.log.add(piece)
            self.tell(peer, len(data))

    # The tracker

    async def ask_tracker(self, question):
        text = {**question, "set": self.name, "pieces": len(self.paths), "port": self.node.server.port}
        try:
            data = await self.node.web.post(self.node.config.tracker + "ask", text, ANSWER)
            answer = json.loads(data)
            take, peers, wait = answer["take"], answer["peers"], answer["wait"]
            good = all(type(piece) is int for piece in take) and all(node_config.is_peer(peer) for peer in peers)
            if not good or not isinstance(wait, (int, float)):
                raise ValueError
        except (ImageError, ValueError, TypeError, KeyError):
            self.swarm.tracker_failed(question, time.monotonic())
            return
        self.swarm.grant(take, time.monotonic(), min(max(wait, 0.05), 600))
        for peer in peers:
            self.meet(peer)
        self.changed.set()
