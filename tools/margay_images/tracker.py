# SPDX-License-Identifier: GPL-2.0-only
"""Who fetches what from a store just now: each piece is granted to one node, which hands it on, and each node hears of others.

Knows no network and no clock, as swarm.py. What it says is believed by nobody: pieces are known by their hashes, and a node that
hears nothing of use asks the store. A piece is granted again when its node has not said that it came, or when a node says that
nobody has it: the second time soon, each further time three times as late.
"""

PEERS = 8  # named in an answer
AT_ONCE = 6  # pieces that are on their way from the store: enough for its link, and the sooner is the first one through
EACH = 2  # pieces that a node is granted at a time
SLOW_S = 2.0  # a piece that takes longer, and SLOW_TIMES longer than others, holds up no others
SLOW_TIMES = 4
LOST_S = 5.0  # and after that time, or LOST_TIMES longer, it may be granted again
LOST_TIMES = 10
SEEDS = 64  # so many nodes share what the store sends, each about as much: who has it first is asked by all
IDLE_S = 3.0  # everything has come: nodes ask for peers only
WAIT_S = 0.1  # the others ask again after that time, in a large swarm as rarely as makes so many questions a second:
QUESTIONS = 200
GONE_S = 3600.0  # a node that was not heard of for that time is not named
SWARMS = 256  # kept, those heard of last
MEMBERS = 100_000  # of a swarm


class Grant:
    def __init__(self):
        self.times = 0
        self.when = None  # None: it has come
        self.not_before = 0.0  # may be granted to who finds it nowhere


class Swarm:
    def __init__(self, pieces):
        self.pieces, self.next = pieces, 0
        self.grants = {}
        self.open = {}  # piece: its grant, which has not come yet
        self.members, self.names, self.reports = {}, [], {}
        self.given = {}  # {node: pieces that it was granted}
        self.usual_s = None  # that a piece takes from the store

    def hears_of(self, node, now):
        if node not in self.members:
            if len(self.members) >= MEMBERS:
                return
            self.names.append(node)
        self.members[node] = now

    def forget(self, node):
        if self.members.pop(node, None) is not None:
            self.names.remove(node)
        self.reports.pop(node, None)

    def dead(self, node, by):
        """One may be mistaken, or lie; two are believed."""
        if node in self.members:
            self.reports.setdefault(node, set()).add(by)
            if len(self.reports[node]) >= 2:
                self.forget(node)

    def came(self, piece, now):
        grant = self.open.pop(piece, None)
        if grant:
            took = now - grant.when
            self.usual_s = took if self.usual_s is None else 0.8 * self.usual_s + 0.2 * took
            grant.when = None

    def late(self, least, times):
        """Before the first one has come nobody knows how slow the store's link is."""
        return 10 * least if self.usual_s is None else max(least, times * self.usual_s)

    def wait(self):
        """There may be something for a node after about half the time of a piece; when all have come, only if one gets lost."""
        if self.next >= self.pieces and not self.open:
            return IDLE_S
        return max(WAIT_S, (self.usual_s or 0) / 2)

    def may_have_more(self, node):
        share = sum(self.given.values()) / max(min(len(self.names), SEEDS), 1)
        return self.given.get(node, 0) <= share + EACH

    def give(self, piece, node, now):
        self.given[node] = self.given.get(node, 0) + 1
        grant = self.grants.setdefault(piece, Grant())
        grant.times, grant.when = grant.times + 1, now
        self.open[piece] = grant

    def overdue(self, now):
        lost = self.late(LOST_S, LOST_TIMES)
        return [piece for piece, grant in self.open.items() if now - grant.when > lost * 3 ** (grant.times - 1)]

    def choose(self, node, stalled, now):
        """Pieces for a node that has room for some, the most wanted first."""
        slow = self.late(SLOW_S, SLOW_TIMES)
        on_the_way = sum(now - grant.when <= slow for grant in self.open.values())
        room = min(EACH, AT_ONCE - on_the_way)
        chosen = []
        for piece in stalled:
            grant = self.grants.get(piece)
            if grant is None or grant.when is None and self.may_again(grant, now):
                chosen.append(piece)
        chosen += [piece for piece in self.overdue(now) if piece not in chosen]
        while len(chosen) < room and self.may_have_more(node) and self.next < self.pieces:
            if self.next not in self.grants and self.next not in chosen:
                chosen.append(self.next)
            self.next += 1
        return chosen[:max(room, 0)]

    def may_again(self, grant, now):
        """Of one that came, and that somebody finds nowhere: its node has died, or is far off."""
        if now < grant.not_before:
            return False
        grant.not_before = now + self.late(LOST_S, LOST_TIMES) * 3 ** grant.times
        return True


class Tracker:
    def __init__(self, random):
        self.random, self.swarms = random, {}

    def swarm(self, name, pieces):
        found = self.swarms.pop(name, None)
        if found is None or found.pieces != pieces:
            found = Swarm(pieces)
        self.swarms[name] = found
        if len(self.swarms) > SWARMS:
            del self.swarms[next(iter(self.swarms))]
        return found

    def ask(self, name, pieces, node, question, now):
        """{take, peers, wait} for a node's question {got, dead, stalled}, and "complete", when it wants nothing more."""
        swarm = self.swarm(name, pieces)
        swarm.hears_of(node, now)
        for piece in question["got"]:
            swarm.came(piece, now)
        for other in question["dead"]:
            swarm.dead(other, node)
        if question.get("complete"):
            return {"take": [], "peers": [], "wait": GONE_S / 2}
        take = swarm.choose(node, question["stalled"], now)
        for piece in take:
            swarm.give(piece, node, now)
        return {"take": take, "peers": self.peers(swarm, node, now), "wait": max(swarm.wait(), len(swarm.names) / QUESTIONS)}

    def peers(self, swarm, node, now):
        found = []
        for other in self.random.sample(swarm.names, min(len(swarm.names), PEERS + 1)):
            if now - swarm.members[other] > GONE_S:
                swarm.forget(other)
            elif other != node and len(found) < PEERS:
                found.append(other)
        return found
