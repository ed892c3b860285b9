# SPDX-License-Identifier: GPL-2.0-only
"""Who fetches what from a store just now: each piece is granted to one node, which hands it on, and each node hears of others.

Knows no network and no clock, as swarm.py. What it says is believed by nobody: pieces are known by their hashes, and a node that
gets no answer asks the store. A piece is granted again when its node has not said that it came, and when a node says that
none of its peers has it: at once if nobody is known to have it, else the node hears who has, and is granted it if that is no help.

Known to have something are nodes that were granted it, and those that have said that they have all. One that pulls anew, that
another cannot reach, or that has not what others should get from it, counts from then on as one that has nothing. If that was
wrong the store does not send much: a node that is granted what it has says so, and is known again to have it.
"""

import itertools

PEERS = 8  # named in an answer
AT_ONCE = 6  # pieces that are on their way from the store: enough for its link, and the sooner is the first one through
EACH = 2  # pieces that a node is granted at a time
SLOW_S = 2.0  # a piece that takes longer, and SLOW_TIMES longer than others, holds up no others
SLOW_TIMES = 4
LOST_S = 5.0  # and after that time, or LOST_TIMES longer, it may be granted again
LOST_TIMES = 10
LOST_GROWS = 2  # each further time three times as late, so many times: the store may have become slow
SEEDS = 64  # so many nodes share what the store sends, each about as much: who has it first is asked by all
IDLE_S = 3.0  # everything has come: nodes ask for peers only
WAIT_S = 0.1  # the others ask again after that time, in a large swarm as rarely as makes so many questions a second:
QUESTIONS = 200
QUIET_S = 10.0  # nodes that pull ask more often
GONE_S = 3600.0  # a node that was not heard of for that time is not named
SWARMS = 256  # kept, those heard of last
MEMBERS = 100_000  # of a swarm


class Grant:
    def __init__(self):
        self.times = 0
        self.node = None  # who was granted it
        self.when = None  # None: it has come
        self.came = 0.0
        self.not_before = None  # whoever finds it nowhere tries that node until then


class Swarm:
    def __init__(self, pieces):
        self.pieces, self.next = pieces, 0
        self.grants = {}
        self.open = {}  # piece: its grant, which has not come yet
        self.members, self.names, self.reports = {}, [], {}  # members: {node: when it was heard of}, the last one at the end
        self.given = {}  # {node: how many pieces it was granted}
        self.holds = {}  # {node: which of them are still its own}
        self.complete = set()  # nodes that have all
        self.unreached = {}  # {node that pulls: others that do not answer it}
        self.orphans = {}  # pieces whose node has them no more: keys, in order
        self.usual_s = None  # that a piece takes from the store

    def hears_of(self, node, now):
        if node not in self.members:
            if len(self.members) >= MEMBERS:
                return
            self.names.append(node)
        self.members.pop(node, None)
        self.members[node] = now
        self.reports.pop(node, None)

    def forget(self, node):
        if self.members.pop(node, None) is not None:
            self.names.remove(node)
        self.reports.pop(node, None)
        self.unreached.pop(node, None)
        self.has_nothing(node)

    def forget_gone(self, now):
        gone = itertools.takewhile(lambda node: now - self.members[node] > GONE_S, self.members)
        for node in list(gone):
            self.forget(node)

    def begins(self, node):
        self.unreached.pop(node, None)
        self.has_nothing(node)

    def ends(self, node):
        self.unreached.pop(node, None)
        self.complete.add(node)

    def has_nothing(self, node):
        self.complete.discard(node)
        self.given.pop(node, None)
        for piece in self.holds.pop(node, ()):
            del self.grants[piece]
            self.open.pop(piece, None)
            self.orphans[piece] = None

    def dead(self, node, by):
        """One may be mistaken, or lie: others may still try that node. Two are believed."""
        if node in self.members:
            self.has_nothing(node)
            self.unreached.setdefault(by, set()).add(node)
            self.reports.setdefault(node, set()).add(by)
            if len(self.reports[node]) >= 2:
                self.forget(node)

    def contradicts(self, node, nowhere, heard, now):
        """A node finds these pieces nowhere: not here, nor with those that it hears, who have had the time to say so."""
        late = self.late(SLOW_S, SLOW_TIMES)
        for piece in nowhere:
            grant = self.grants.get(piece)
            if grant and grant.when is None and (grant.node == node or grant.node in heard and now - grant.came > late):
                self.has_nothing(grant.node)
        if nowhere:
            self.complete.difference_update(heard)

    def came(self, piece, node, now):
        grant = self.open.pop(piece, None)
        if grant:
            self.learn(now - grant.when)
        elif piece in self.orphans:
            grant = self.grants[piece] = Grant()
        if grant:
            self.owns(node, piece, grant)
            grant.when, grant.came = None, now

    def owns(self, node, piece, grant):
        self.holds.get(grant.node, set()).discard(piece)
        self.holds.setdefault(node, set()).add(piece)
        self.orphans.pop(piece, None)
        grant.node = node

    def learn(self, took):
        """Not of clocks that jump, nor of a node that had it already."""
        took = min(max(took, 0), self.late(LOST_S, LOST_TIMES))
        if self.usual_s is None:
            self.usual_s = took
        elif took > self.usual_s / LOST_TIMES:
            self.usual_s = 0.8 * self.usual_s + 0.2 * took

    def late(self, least, times):
        """Before the first one has come nobody knows how slow the store's link is."""
        return 10 * least if self.usual_s is None else max(least, times * self.usual_s)

    def wait(self):
        """There may be something for a node after about half the time of a piece; when all have come, only if one gets lost."""
        if self.next >= self.pieces and not self.open:
            return IDLE_S
        return max(WAIT_S, (self.usual_s or 0) / 2)

    def quiet(self, node, now):
        """It has died: it pulls, and would ask."""
        return now - self.members.get(node, now) > max(QUIET_S, 2 * self.wait(), 2 * len(self.names) / QUESTIONS)

    def may_have_more(self, node, now):
        """Those share that pull."""
        last = itertools.takewhile(lambda other: not self.quiet(other, now), reversed(self.members))
        pulling = sum(1 for _ in itertools.islice((other for other in last if other not in self.complete), SEEDS))
        return self.given.get(node, 0) <= sum(self.given.values()) / max(pulling, 1) + EACH

    def give(self, piece, node, now):
        self.given[node] = self.given.get(node, 0) + 1
        grant = self.grants.setdefault(piece, Grant())
        self.owns(node, piece, grant)
        grant.times, grant.when, grant.not_before = grant.times + 1, now, None
        self.open[piece] = grant

    def patience(self, grant):
        return self.late(LOST_S, LOST_TIMES) * 3 ** min(grant.times - 1, LOST_GROWS)

    def overdue(self, now):
        lost = self.late(LOST_S, LOST_TIMES)
        return [piece for piece, grant in self.open.items()
                if now - grant.when > (lost if self.quiet(grant.node, now) else self.patience(grant))]

    def choose(self, node, stalled, now):
        """Pieces for a node that has room for some, the most wanted first. What has come already those that have all send it."""
        slow = self.late(SLOW_S, SLOW_TIMES)
        on_the_way = sum(now - grant.when <= slow for grant in self.open.values())
        room = min(EACH, AT_ONCE - on_the_way)
        chosen = [piece for piece in stalled if self.may_again(self.grants.get(piece), node, now)]
        chosen += [piece for piece in self.overdue(now) if piece not in chosen]
        if self.orphans and (stalled or not self.complete):
            free = (piece for piece in self.orphans if piece not in chosen)
            chosen += itertools.islice(free, max(room - len(chosen), 0))
        while len(chosen) < room and self.may_have_more(node, now) and self.next < self.pieces:
            if self.next not in self.grants and self.next not in chosen:
                chosen.append(self.next)
            self.next += 1
        return chosen[:max(room, 0)]

    def may_again(self, grant, node, now):
        """Of a piece that a node finds nowhere: if another has it, after a time in which that could be reached."""
        if grant is None:
            return True
        if grant.when is not None:
            return False
        if grant.node in self.unreached.get(node, ()):
            return True
        if grant.not_before is None:
            grant.not_before = now + self.patience(grant)
        return now >= grant.not_before


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
        """
        {take, peers, wait} for a node's question {got, dead, stalled}; with "begins" in the first one of a pull, "heard", peers
        that answer it, where something is stalled, and "complete" when it wants nothing more.
        """
        swarm = self.swarm(name, pieces)
        swarm.forget_gone(now)
        swarm.hears_of(node, now)
        if question.get("begins"):
            swarm.begins(node)
        for piece in question["got"]:
            swarm.came(piece, node, now)
        for other in question["dead"]:
            swarm.dead(other, node)
        if question.get("complete"):
            swarm.ends(node)
            return {"take": [], "peers": [], "wait": GONE_S / 2}
        swarm.complete.discard(node)
        stalled = question["stalled"]
        swarm.contradicts(node, stalled, question.get("heard", ()), now)
        take = swarm.choose(node, stalled, now)
        for piece in take:
            swarm.give(piece, node, now)
        return {"take": take, "peers": self.peers(swarm, node, stalled), "wait": max(swarm.wait(), len(swarm.names) / QUESTIONS)}

    def peers(self, swarm, node, stalled):
        """Those first that have what this one finds nowhere."""
        names = [swarm.grants[piece].node for piece in stalled if piece in swarm.grants]
        names += self.random.sample(swarm.names, min(len(swarm.names), PEERS + 1))
        return [other for other in dict.fromkeys(names) if other != node][:PEERS]
