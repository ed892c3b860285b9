# SPDX-License-Identifier: GPL-2.0-only
"""Which piece of a set a node asks whom for, and when it asks the tracker. Knows no network and no clock: whoever runs it tells it
both, tools/margay_images/transfer.py of real ones and tests/bench/image_swarm_model.py of made-up ones.

A set has pieces numbered from 0. A node takes from the store what the tracker grants it, anything else from peers: from each at
most one at a time, what few of its peers have before what many have. Who has something new is asked by all at once: it serves few,
who hand it on, and tells the others that it is busy. A peer that does not answer in a time that others need is passed over:
the piece is asked of another, too.
"""

PEERS = 16  # a node listens to so many
AT_ONCE = 4  # pieces asked of peers
STORE_AT_ONCE = 2
UPLOADS = 3  # a node sends so many pieces at once; who asks for another hears that it is busy
BUSY_S = 0.002
BUSY_LOST_S = 30.0  # who is busy for that time, and SLOW_TIMES longer than a piece takes, without sending one, is no help
TICK_S = 0.25
TRIES = 3  # of so many pieces that a peer has, drawn at random, the rarest is asked for
LOOK_S = 1.0  # without a tracker: for so long peers may say what they have before the store is asked
SLOW_S = 0.5  # nobody is slow before that time
SLOW_TIMES = 4  # nor before so many times what a piece took of late; nor, for stalls are long, before one has come
TRACKER_TRIES = 3
MEETS = 3  # a peer that was lost is met again if it asks for something, so often in all
NOWHERE = 8  # pieces that the tracker hears are with no peer
LOOKS = 1000  # of so many that are missing
STALL_S = 2.0  # nothing has come for that time: the tracker is asked again


class Peer:
    def __init__(self):
        self.has, self.answers = 0, False
        self.asked = None  # (piece, when): has not come yet
        self.not_before = 0.0  # it had enough to do
        self.busy_since = None  # and has sent nothing since


class Swarm:
    """pieces: how many there are; have: those that are here already; tracked: may the store be asked only for what is granted?"""

    def __init__(self, pieces, have, random, now, tracked):
        self.pieces, self.random, self.tracked = pieces, random, tracked
        self.missing = (1 << pieces) - 1
        for piece in have:
            self.missing &= ~(1 << piece)
        self.peers, self.lost, self.seen = {}, {}, [0] * pieces  # lost: {peer: times}
        self.elsewhere = 0  # asked of a peer that is not slow, or of the store
        self.grants, self.store_asked = [], {}
        self.usual_s = None
        self.began = self.last = self.fed = now  # fed: a peer has sent something
        self.begins = True  # as far as the tracker knows
        self.report = {"got": [], "dead": []}
        self.ask_again, self.asked_at, self.asking, self.failures = now, now, False, 0

    @property
    def done(self):
        return not self.missing

    # What it is told

    def meet(self, name, asks=False):
        """A peer that there may be. True: it is new, and wanted. asks: it has asked for something just now, so it is there."""
        if name in self.peers or len(self.peers) >= PEERS or self.lost.get(name, 0) >= (MEETS if asks else 1):
            return False
        self.peers[name] = Peer()
        return True

    def has(self, name, pieces):
        """A peer has these, too; how many of them it had not said before."""
        peer = self.peers.get(name)
        if peer is None:
            return 0
        peer.answers = True
        new = 0
        for piece in pieces:
            if 0 <= piece < self.pieces and not peer.has >> piece & 1:
                peer.has |= 1 << piece
                self.seen[piece] += 1
                new += 1
        return new

    def lose(self, name, lies=False, dead=True):
        """A peer that does not answer, or lies. It is not met again, unless it boots, and asks. dead: the tracker hears of it."""
        peer = self.peers.pop(name, None)
        if peer is None:
            return
        self.lost[name] = MEETS if lies else self.lost.get(name, 0) + 1
        if dead:
            self.report["dead"].append(name)
        if peer.asked:
            self.elsewhere &= ~(1 << peer.asked[0])
        for piece in range(self.pieces):
            self.seen[piece] -= peer.has >> piece & 1

    def grant(self, pieces, now, wait):
        """What the tracker has said: these may be taken from the store; ask again after that time."""
        self.asking, self.failures, self.begins = False, 0, False
        self.ask_again = now + wait
        for piece in pieces:
            if not 0 <= piece < self.pieces:
                continue
            if self.missing >> piece & 1:
                if piece not in self.grants:
                    self.grants.append(piece)
            else:
                self.report["got"].append(piece)

    def got(self, name, piece, now):
        """A piece has come, and is good. name: of a peer; None: the store. True: it is new here."""
        if name is None:
            self.learn(now - self.store_asked.pop(piece, now))
            self.report["got"].append(piece)
            self.elsewhere &= ~(1 << piece)
        else:
            self.fed = now
            if name in self.peers:
                self.answered(self.peers[name], now)
        new = bool(self.missing >> piece & 1)
        self.missing &= ~(1 << piece)
        if piece in self.grants:
            # From a peer, meanwhile.
            self.grants.remove(piece)
            self.report["got"].append(piece)
        if new:
            self.last = now
        return new

    def answered(self, peer, now):
        if peer.asked:
            self.learn(now - peer.asked[1])
            self.elsewhere &= ~(1 << peer.asked[0])
            peer.asked = peer.busy_since = None

    def busy(self, name, now):
        """A peer has enough to do: it is asked again after about the time of half a piece, whatever it has that others have not."""
        peer = self.peers.get(name)
        if peer and peer.asked:
            self.elsewhere &= ~(1 << peer.asked[0])
            peer.asked = None
            usual = BUSY_S if self.usual_s is None else max(BUSY_S, self.usual_s / 2)
            peer.not_before = now + usual * self.random.uniform(0.5, 1.5)
            if peer.busy_since is None:
                peer.busy_since = now
            if now - peer.busy_since > max(BUSY_LOST_S, SLOW_TIMES * (self.usual_s or 0)):
                # As long as it counts as one that has its pieces the store is not asked for them.
                self.lose(name, dead=False)

    def wakes(self, now):
        """When it may want something though nothing happens."""
        return min([peer.not_before for peer in self.peers.values() if peer.not_before > now] + [now + TICK_S])

    def learn(self, took):
        """Not of clocks that jump."""
        took = min(took, self.late(STALL_S))
        self.usual_s = took if self.usual_s is None else 0.8 * self.usual_s + 0.2 * took

    def late(self, least):
        """After what time something is late that others do sooner."""
        return 10 * least if self.usual_s is None else max(least, SLOW_TIMES * self.usual_s)

    def store_failed(self, piece):
        """It may be asked again."""
        self.store_asked.pop(piece, None)
        self.elsewhere &= ~(1 << piece)
        if self.missing >> piece & 1 and piece not in self.grants:
            self.grants.append(piece)

    # What it wants

    def asks(self, now):
        """[(peer or None for the store, piece)] to be asked for now."""
        asks = [(None, piece) for piece in self.store_pieces(now)]
        for piece in (piece for _, piece in asks):
            self.store_asked[piece] = now
            self.elsewhere |= 1 << piece
        busy = self.pass_over_slow(now)
        names = [name for name, peer in self.peers.items() if not peer.asked and peer.not_before <= now and peer.has & self.missing]
        self.random.shuffle(names)
        for name in names:
            if busy >= AT_ONCE:
                break
            piece = self.rarest(self.peers[name].has & self.missing & ~self.elsewhere)
            if piece is not None:
                self.peers[name].asked = (piece, now)
                self.elsewhere |= 1 << piece
                asks.append((name, piece))
                busy += 1
        return asks

    def pass_over_slow(self, now):
        """How many peers are asked and not slow. What slow ones owe may be asked of others."""
        slow = self.late(SLOW_S)
        busy = 0
        for peer in self.peers.values():
            if peer.asked and now - peer.asked[1] > slow:
                self.elsewhere &= ~(1 << peer.asked[0])
            elif peer.asked:
                busy += 1
        return busy

    def store_pieces(self, now):
        room = STORE_AT_ONCE - len(self.store_asked)
        if self.tracked:
            chosen = [piece for piece in self.grants if not self.elsewhere >> piece & 1][:max(room, 0)]
            self.grants = [piece for piece in self.grants if piece not in chosen]
            return chosen
        if now - self.began < LOOK_S and any(not peer.has for peer in self.peers.values()):
            return []
        chosen, left = [], self.missing & ~self.elsewhere
        while left and len(chosen) < room:
            piece = (left & -left).bit_length() - 1
            left &= left - 1
            if not self.seen[piece]:
                chosen.append(piece)
        return chosen

    def rarest(self, mask):
        """Of some pieces of the mask, at random, the one that fewest peers have."""
        best = None
        for _ in range(TRIES if mask else 0):
            start = self.random.randrange(self.pieces)
            above = mask >> start << start or mask
            piece = (above & -above).bit_length() - 1
            if best is None or self.seen[piece] < self.seen[best]:
                best = piece
        return best

    def question(self, now):
        """What the tracker is to be asked now, as tracker.py has it; None: nothing."""
        seeding = self.report["got"] and len(self.grants) + len(self.store_asked) < STORE_AT_ONCE
        stalled = now - max(self.last, self.asked_at) > self.late(STALL_S)
        if not self.tracked or self.asking or not (now >= self.ask_again or seeding or stalled):
            return None
        self.asking, self.asked_at = True, now
        question, self.report = self.report, {"got": [], "dead": []}
        question["stalled"] = self.nowhere() if now - self.fed > self.late(STALL_S) else []
        if question["stalled"]:
            question["heard"] = [name for name, peer in self.peers.items() if peer.answers]
        if self.begins:
            question["begins"] = True
        return question

    def tracker_failed(self, question, now):
        """It has not answered. When it never does, and no peer helps, the store is asked without it."""
        self.asking = False
        self.ask_again = now + 1
        self.failures += 1
        for key in self.report:
            self.report[key] = question[key] + self.report[key]
        if self.failures >= TRACKER_TRIES and now - self.last > self.late(STALL_S):
            self.tracked = False
            self.began = now

    def nowhere(self):
        """Some pieces that no peer has."""
        found, left = [], self.missing & ~self.elsewhere
        for _ in range(LOOKS):
            if not left or len(found) == NOWHERE:
                break
            piece = (left & -left).bit_length() - 1
            left &= left - 1
            if not self.seen[piece]:
                found.append(piece)
        return found
