# SPDX-License-Identifier: GPL-2.0-only
"""Nodes that hand an image on, on a virtual clock: tools/margay_images/swarm.py and tracker.py unchanged, with links that are none.

A link sends one piece after the other at its rate, in each direction: what a node sends waits for its own link, then for that of
whoever receives it, then comes after a delay. So it is with equal shares, too, on average. What a node has others hear one `news`
later, as by the daemon's answers. Dead nodes answer no more; slow ones have a slower link. One that has booted again has nothing,
and pulls again; one that was wiped has nothing, and says so. Clocks may jump. Of two nodes with one name others reach the first.
"""

import heapq
import itertools
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

from margay_images import serve, swarm, tracker  # noqa: E402

STORE = -1
GIVES_UP_S = 10.0  # a request to a node that is dead fails after that: its address answers nobody
REQUEST_BYTES = 300
HEADERS_BYTES = 400  # of an answer
WIRE = 1.045  # TCP's, IP's and Ethernet's headers, and acknowledgements of the other direction


class Link:
    def __init__(self, rate):
        self.rate, self.free, self.sent = rate, 0.0, 0
        self.uploads = 0

    def take(self, now, size):
        """When the last byte is through."""
        self.free = max(self.free, now) + size / self.rate
        self.sent += size
        return self.free


class Node:
    def __init__(self, number, rate):
        self.number, self.rate, self.ahead = number, rate, 0.0
        self.up, self.down = Link(rate), Link(rate)
        self.swarm, self.dead, self.ended = None, False, None
        self.listeners, self.hops, self.order = {}, {}, []
        self.stepping = False


class Model:
    """
    sizes: of the pieces; begins: when each node begins; slow: {node: times}; deaths: {node: when}; names: {node: whose it has}.
    """

    def __init__(self, nodes, sizes, rate, delay=0.0002, news=0.005, slow=(), deaths=(), seed=1, begins=None, names=()):
        self.sizes, self.delay, self.news = sizes, delay, news
        self.random = random.Random(seed)
        self.tracker, self.tracker_ahead = tracker.Tracker(random.Random(seed + 1)), 0.0
        self.store = Link(rate)
        self.store_pieces = 0
        slow, self.names = dict(slow), dict(names)
        self.nodes = [Node(number, rate / slow.get(number, 1)) for number in range(nodes)]
        self.now, self.events, self.count = 0.0, [], itertools.count()
        for node in self.nodes:
            self.at(begins[node.number] if begins else self.random.uniform(0, 0.1), self.begin, node)
        for number, when in dict(deaths).items():
            self.at(when, self.die, self.nodes[number])

    def at(self, when, what, *arguments):
        heapq.heappush(self.events, (when, next(self.count), what, arguments))

    def run(self, limit=1e6):
        while self.events and self.now < limit:
            self.now, _, what, arguments = heapq.heappop(self.events)
            what(*arguments)
        return self

    def time(self, node):
        return self.now + node.ahead

    # What a node does

    def begin(self, node):
        node.swarm = swarm.Swarm(len(self.sizes), (), self.random, self.time(node), True)
        self.tick(node)

    def tick(self, node):
        if node.dead or node.ended is not None:
            return
        self.step(node)
        self.at(self.now + swarm.TICK_S, self.tick, node)

    def step(self, node):
        node.stepping = False
        if node.dead or node.ended is not None:
            return
        for peer, piece in node.swarm.asks(self.time(node)):
            self.request(node, peer, piece)
        question = node.swarm.question(self.time(node))
        if question:
            self.at(self.now + self.delay, self.asked, node, question)
        wakes = node.swarm.wakes(self.time(node)) - node.ahead
        if wakes < self.now + swarm.TICK_S:
            self.at(wakes, self.soon, node)

    def soon(self, node):
        """Once, after all that happens at this time."""
        if not node.stepping:
            node.stepping = True
            self.at(self.now, self.step, node)

    def request(self, node, peer, piece):
        arrives = node.up.take(self.now, REQUEST_BYTES * WIRE) + self.delay
        self.at(arrives, self.send, node, STORE if peer is None else peer, piece)

    def send(self, node, peer, piece):
        size = (self.sizes[piece] + HEADERS_BYTES) * WIRE
        if peer == STORE:
            self.store_pieces += 1
            through = self.store.take(self.now, size)
        elif self.nodes[peer].dead:
            self.at(self.now + GIVES_UP_S, self.lost, node, peer)
            return
        elif piece not in self.nodes[peer].hops:
            self.at(self.now + self.delay, self.lost, node, peer)
            return
        elif self.nodes[peer].up.uploads >= swarm.UPLOADS:
            through = self.nodes[peer].up.take(self.now, REQUEST_BYTES * WIRE)
            self.at(through + self.delay, self.refused, node, peer)
            return
        else:
            self.nodes[peer].up.uploads += 1
            through = self.nodes[peer].up.take(self.now, size)
            self.at(through, self.uploaded, self.nodes[peer])
        # The receiver's link is busy with its last part only once the sender's is through.
        rate = min(node.rate, self.nodes[peer].rate if peer != STORE else self.store.rate)
        through = max(through, node.down.take(through - size / rate, size))
        self.at(through + self.delay, self.arrived, node, peer, piece)

    def uploaded(self, node):
        node.up.uploads -= 1

    def refused(self, node, peer):
        if not node.dead and node.ended is None:
            node.swarm.busy(peer, self.time(node))
            self.soon(node)

    def arrived(self, node, peer, piece):
        if peer != STORE and self.nodes[peer].dead:
            self.at(self.now + GIVES_UP_S, self.lost, node, peer)
            return
        if node.dead:
            return
        if node.swarm.got(None if peer == STORE else peer, piece, self.time(node)):
            node.hops[piece] = 1 if peer == STORE else self.nodes[peer].hops.get(piece, 0) + 1
            node.order.append(piece)
            self.at(self.now + self.news, self.tell, node, piece)
        self.soon(node)
        if node.swarm.done and node.ended is None:
            node.ended = self.now
            self.asked(node, {**node.swarm.report, "stalled": [], "complete": True})

    def tell(self, node, piece):
        for listener in list(node.listeners.values()):
            if listener.ended is None and not listener.dead:
                listener.swarm.has(node.number, [piece])
                self.soon(listener)

    def lost(self, node, peer, met=None):
        """met: not if it has been met again since."""
        if not node.dead and node.ended is None and met in (None, node.swarm.peers.get(peer)):
            node.swarm.lose(peer)
            self.soon(node)
            self.at(self.now + serve.WAIT_S, self.asked_for_more, node, peer)

    def asked_for_more(self, node, peer):
        """By one that it has lost, and that listens to it."""
        other = self.nodes[peer]
        listens = other.swarm and other.ended is None and node.number in other.swarm.peers
        if listens and not other.dead and not node.dead and node.ended is None:
            self.meet(node, other, True)

    def meet(self, node, peer, asks=False):
        """It listens to the peer, who hears so of it."""
        if not node.swarm.meet(peer.number, asks):
            return
        if peer.dead:
            self.at(self.now + GIVES_UP_S, self.lost, node, peer.number)
            return
        peer.listeners[node.number] = node
        node.swarm.has(peer.number, peer.order)
        self.soon(node)
        if peer.swarm and peer.ended is None:
            self.meet(peer, self.nodes[self.name(node)], True)

    def name(self, node):
        return self.names.get(node.number, node.number)

    def asked(self, node, question):
        answer = self.tracker.ask("set", len(self.sizes), self.name(node), question, self.now + self.tracker_ahead)
        self.at(self.now + self.delay, self.answered, node, answer)

    def answered(self, node, answer):
        if node.dead or node.ended is not None:
            return
        node.swarm.grant(answer["take"], self.time(node), max(answer["wait"], 0.05))
        for peer in answer["peers"]:
            self.meet(node, self.nodes[peer])
        self.soon(node)

    def die(self, node):
        node.dead = True
        # Whoever listens notices when its connection has stalled.
        for listener in node.listeners.values():
            self.at(self.now + GIVES_UP_S, self.lost, listener, node.number, listener.swarm.peers.get(node.number))

    def boot_again(self, node, when):
        """It has nothing then, and has forgotten all."""
        if not node.dead:
            self.die(node)
        born = self.nodes[node.number] = Node(node.number, node.rate)
        born.dead = True
        self.at(when, self.booted, born)

    def booted(self, node):
        node.dead = False
        self.begin(node)

    def wipe(self, node):
        """It serves, but knows of no image any more."""
        node.hops, node.order = {}, []

    def jump(self, node, seconds):
        """A clock, the tracker's for None."""
        if node is None:
            self.tracker_ahead += seconds
        else:
            node.ahead += seconds

    # What came of it

    def results(self):
        alive = [node for node in self.nodes if not node.dead]
        whole = sum(self.sizes)
        return {
            "nodes": len(self.nodes), "unfinished": sum(node.ended is None for node in alive),
            "seconds": max((node.ended or 0.0) for node in alive),
            "store_images": self.store.sent / (whole * WIRE),
            "hops": max((max(node.hops.values(), default=0) for node in alive), default=0),
            "most_sent": max(node.up.sent for node in self.nodes) / (whole * WIRE),
        }


def main():
    count, pieces, size, rate = (int(word) for word in sys.argv[1:5])
    single = Model(1, [size] * pieces, rate).run().results()["seconds"]
    found = Model(count, [size] * pieces, rate).run().results()
    print("one node %.3f s; %s; times %.2f" % (single, found, found["seconds"] / single))


if __name__ == "__main__":
    main()
