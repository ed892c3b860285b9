# SPDX-License-Identifier: GPL-2.0-only
"""Fetches the pieces of a set: does what swarm.py says, with real servers and the real clock."""

import asyncio
import json
import random

from . import node_config, serve, swarm
from .alarm import Alarm
from .errors import ImageError, UnavailableError
from .fetch import BusyError, MissingError

ANSWER = 1 << 20  # bytes of a tracker's
STORE_TRIES = 2
NOBODY = object()


class Transfer:
    """
    name: of the set; paths: of its pieces, below a store's URL; sizes: the most bytes of each; accept(piece, data, url) keeps a
    piece, or raises ImageError for one that is no good; here: the pieces that need not come.
    """

    def __init__(self, node, name, paths, sizes, accept, here, tell=lambda source, size: None):
        self.node, self.name, self.paths, self.sizes, self.accept, self.tell = node, name, paths, sizes, accept, tell
        self.loop = asyncio.get_running_loop()
        self.swarm = swarm.Swarm(len(paths), here, random.Random(), self.loop.time(), bool(node.config.tracker))
        self.log = node.shared.begin(name, here, lambda peer: self.meet(peer, asks=True))
        self.tasks, self.alarm = set(), Alarm(self.loop, self.step)
        self.store_failures = 0
        self.over = self.loop.create_future()

    async def run(self):
        try:
            for peer in self.node.config.peers:
                self.meet(peer)
            self.step()
            await self.over
        finally:
            self.over.cancel()
            self.alarm.cancel()
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)
            self.node.shared.end(self.name)
        if self.swarm.tracked:
            await self.ask_tracker({**self.swarm.report, "stalled": [], "complete": True})

    def step(self, free=NOBODY):
        """After each change, and when time alone may have made one. free: who has just sent something, a peer or None for the
        store; returns the piece that it is asked for now, as a task for each piece would cost more than the piece."""
        if self.over.done():
            return None
        if self.swarm.done:
            self.over.set_result(None)
            return None
        following = None
        now = self.loop.time()
        for peer, piece in self.swarm.asks(now):
            if peer == free and following is None:
                following = piece
            else:
                self.start(self.fetch(peer, piece))
        question = self.swarm.question(now)
        if question:
            self.start(self.ask_tracker(question))
        self.alarm.by(self.swarm.wakes(now))
        return following

    def start(self, work):
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.ended)

    def ended(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() and not self.over.done():
            self.over.set_exception(task.exception())

    # Peers

    def meet(self, peer, asks=False):
        if self.swarm.meet(peer, asks):
            self.start(self.listen(peer, self.swarm.peers[peer]))

    def lose(self, peer, met, lies=False):
        """But not if it has been met again meanwhile."""
        if self.swarm.peers.get(peer) is met:
            self.swarm.lose(peer, lies)

    async def listen(self, peer, met):
        """What a peer has, from now on."""
        log = known = 0
        while self.swarm.peers.get(peer) is met and not self.over.done():
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
                self.step()
                return
            number, *pieces = serve.numbers(data) or [0]
            known = len(pieces) + (known if number == log else 0)
            log = number
            new = self.swarm.has(peer, pieces)
            self.step()
            if not new:
                # An honest one has waited for that long already. One that repeats itself would keep this node busy.
                await asyncio.sleep(swarm.TICK_S)

    async def fetch(self, peer, piece):
        """A piece, then others as long as the peer may be asked for one."""
        try:
            await self.fetched(peer, piece)
        finally:
            self.step()

    async def fetched(self, peer, piece):
        top = self.node.config.store if peer is None else "http://%s/" % peer
        met = self.swarm.peers.get(peer)

        def take(data):
            self.accept(piece, data, top + self.paths[piece])
            if self.swarm.got(peer, piece, self.loop.time()):
                self.log.add(piece)
                self.tell(peer, len(data))

        def more():
            nonlocal piece, met
            following = self.step(peer)
            if following is None:
                return None
            piece, met = following, self.swarm.peers.get(peer)
            return top + self.paths[piece], self.sizes[piece], take
        try:
            await self.node.web.get(top + self.paths[piece], self.sizes[piece], take=take, more=more)
        except ImageError as error:
            if peer is not None and isinstance(error, BusyError):
                self.swarm.busy(peer, self.loop.time())
                return
            if peer is not None:
                self.lose(peer, met, lies=not isinstance(error, (MissingError, UnavailableError)))
                return
            self.store_failures += 1
            if self.store_failures >= STORE_TRIES or isinstance(error, MissingError):
                raise
            self.swarm.store_failed(piece)

    # The tracker

    async def ask_tracker(self, question):
        text = {**question, "set": self.name, "pieces": len(self.paths), "port": self.node.server.port}
        try:
            data = await self.node.web.post(self.node.config.tracker + "ask", text, ANSWER)
            answer = json.loads(data)
            take, peers, wait = answer["take"], answer["peers"], answer["wait"]
            good = all(type(piece) is int for piece in take) and all(node_config.is_peer(peer) for peer in peers)
            # NaN, which Python reads, is no time: it would never come.
            if not good or not isinstance(wait, (int, float)) or not wait >= 0:
                raise ValueError
        except (ImageError, ValueError, TypeError, KeyError, RecursionError):
            self.swarm.tracker_failed(question, self.loop.time())
            return
        self.swarm.grant(take, self.loop.time(), min(max(wait, 0.05), 600))
        for peer in peers:
            self.meet(peer)
        self.step()
