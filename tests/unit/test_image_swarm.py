# SPDX-License-Identifier: GPL-2.0-only
"""How nodes hand an image on (tools/margay_images/swarm.py, tracker.py): the daemon's own code on a virtual clock, and its
rules one by one."""

import os
import random
import sys

import pytest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "bench"))

import image_swarm_model as model  # noqa: E402
from margay_images import swarm, tracker  # noqa: E402

PIECE, RATE = 65536, 125_000_000  # of 1 Gbit/s
PIECES = 256


def one_node():
    return model.Model(1, PIECES * [PIECE], RATE / 100, begins=[0]).run().results()["seconds"]


def together(count, **options):
    """A hundredth of the rate, since an image of 256 pieces is over too soon for what is counted in seconds."""
    return model.Model(count, PIECES * [PIECE], RATE / 100, begins=count * [0], **options).run()


# ---- whole swarms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 8, 32])
def test_many_take_hardly_longer_than_one(count):
    """All in at most 1.6 times the time of one; the store sends the image once."""
    found = together(count).results()
    assert found["unfinished"] == 0 and found["seconds"] <= 1.6 * one_node() and found["store_images"] <= 1.1


def test_control_without_handing_on():
    """The model's links are links: eight that take all from the store need eight times as long."""
    alone = model.Model(8, 32 * [PIECE], RATE / 100, begins=8 * [0])
    alone.tracker.ask = lambda name, pieces, node, question, now: {"take": list(range(pieces)), "peers": [], "wait": 1}
    one = model.Model(1, 32 * [PIECE], RATE / 100, begins=[0]).run().results()["seconds"]
    found = alone.run().results()
    assert 7.5 * one < found["seconds"] < 8.5 * one and 7.9 < found["store_images"] < 8.2


def test_dying_nodes():
    """All others end, no piece is lost with who had it alone, and the store sends no second image for it."""
    found = together(16, deaths={number: 2.0 + number for number in range(5)}).results()
    assert found["unfinished"] == 0 and found["store_images"] <= 2
    assert found["seconds"] <= 1.6 * one_node() + model.GIVES_UP_S + 3 * tracker.LOST_S


def test_slow_nodes():
    """The others do not wait for them."""
    run = together(16, slow={3: 20, 7: 20})
    ended = [node.ended for node in run.nodes if node.number not in (3, 7)]
    assert max(ended) <= 2 * one_node() and run.results()["unfinished"] == 0 and run.results()["store_images"] <= 2


def test_one_that_comes_late():
    """It takes all from the others."""
    run = model.Model(9, PIECES * [PIECE], RATE / 100, begins=8 * [0] + [60]).run()
    assert run.nodes[8].ended is not None and run.results()["store_images"] <= 1.1


# ---- a node's rules -------------------------------------------------------------------------------


def begun(pieces=8, have=(), tracked=True):
    return swarm.Swarm(pieces, have, random.Random(1), 0.0, tracked)


def test_rarest_first():
    one = begun(3)
    for name, pieces in ("a", (0, 1, 2)), ("b", (0, 1)), ("c", (0, 1)):
        one.meet(name)
        one.has(name, pieces)
    asked = dict(one.asks(0.0))
    assert len(set(asked.values())) == 3 and set(asked) == {"a", "b", "c"}


def test_one_piece_of_each_peer_and_some_at_once():
    one = begun(64)
    for number in range(10):
        one.meet(str(number))
        one.has(str(number), range(64))
    asked = one.asks(0.0)
    assert len(asked) == swarm.AT_ONCE and len({piece for _, piece in asked}) == swarm.AT_ONCE and one.asks(0.0) == []
    assert one.got(*asked[0], 0.1) is True and len(one.asks(0.1)) == 1


def test_a_slow_peer_is_passed_over():
    """What it owes is asked of another; what comes in the end is not new."""
    one = begun(2)
    one.meet("slow")
    one.has("slow", (0, 1))
    ((_, piece),) = one.asks(0.0)
    one.meet("other")
    one.has("other", (0, 1))
    ((_, second),) = one.asks(0.1)
    one.got("other", second, 0.2)
    assert second != piece and one.asks(0.3) == []
    assert one.asks(0.0 + swarm.SLOW_S + 0.1) == [("other", piece)]
    assert one.got("other", piece, 1.0) is True and one.done and one.got("slow", piece, 1.1) is False


def test_a_busy_peer_is_asked_again_later():
    one = begun(1)
    one.meet("a")
    one.has("a", (0,))
    assert one.asks(0.0) == [("a", 0)]
    one.busy("a", 0.0)
    assert one.asks(0.0) == [] and 0 < one.wakes(0.0) <= 0.01 and one.asks(one.wakes(0.0)) == [("a", 0)]
    # Of slow ones that is a long time: whether the tracker is to be asked is looked at as often as ever.
    one.usual_s = 10.0
    one.busy("a", 0.1)
    assert one.peers["a"].not_before > 2 and one.wakes(0.1) == 0.1 + swarm.TICK_S


def test_a_peer_that_is_always_busy():
    """It may have what it says, but is no help: the store is asked. It has only to send something in between. It is not dead."""
    one = begun(2, tracked=False)
    one.meet("a")
    one.has("a", (0, 1))
    for now in 0.0, 20.0:
        assert [peer for peer, _ in one.asks(now)] == ["a"]
        one.busy("a", now)
    ((_, piece),) = one.asks(29.0)
    one.got("a", piece, 29.1)
    for now in 30.0, 59.0, 61.0:
        assert one.asks(now) == [("a", 1 - piece)]
        one.busy("a", now)
    assert one.asks(61.1) == [(None, 1 - piece)] and one.report["dead"] == [] and not one.meet("a") and one.meet("a", asks=True)
    # Where pieces take long, that is no long time.
    one.usual_s = 10.0
    one.has("a", (piece,))
    for now in 100.0, 139.0, 141.0:
        assert "a" in one.peers
        one.peers["a"].asked = (piece, now)
        one.busy("a", now)
    assert "a" not in one.peers


def test_a_lost_peer_is_not_met_again():
    one = begun(2)
    one.meet("a")
    one.has("a", (0, 1))
    one.asks(0.0)
    one.lose("a")
    assert one.meet("a") is False and one.asks(0.0) == [] and one.question(0.0)["dead"] == ["a"]
    one.meet("b")
    one.has("b", (0,))
    assert one.asks(0.0) == [("b", 0)]


def test_the_store_is_asked_for_grants_only():
    one = begun(4)
    assert one.asks(0.0) == [] and one.question(0.0) is not None and one.question(0.1) is None
    one.grant([2, 3, 1], 0.2, 1.0)
    assert one.asks(0.2) == [(None, 2), (None, 3)] and one.asks(0.2) == []
    one.got(None, 2, 0.3)
    assert one.asks(0.3) == [(None, 1)] and one.question(0.3) is None
    one.got(None, 3, 0.4)
    assert one.question(0.4)["got"] == [2, 3]


def test_without_a_tracker_the_store_has_what_no_peer_has():
    one = begun(3, tracked=False)
    one.meet("a")
    assert one.asks(0.0) == []
    one.has("a", (1,))
    assert set(one.asks(0.1)) == {("a", 1), (None, 0), (None, 2)} and one.question(99.0) is None


def test_without_peers_the_store_at_once():
    assert begun(2, tracked=False).asks(0.0) == [(None, 0), (None, 1)]


def test_a_tracker_that_never_answers():
    """After some tries, and when nothing comes, the store is asked without it."""
    one, now = begun(2), 0.0
    while one.tracked:
        question = one.question(now)
        if question:
            one.tracker_failed(question, now)
        now += 0.5
        assert now < 60
    assert one.asks(now) == [(None, 0), (None, 1)]


def test_pieces_that_there_are_not():
    """Peers and trackers may say anything."""
    one = begun(2)
    one.meet("a")
    one.has("a", (-1, 2, 10**9))
    one.grant([-1, 2, 10**9], 0.0, 1.0)
    assert one.asks(0.0) == []


# ---- the tracker's rules -----------------------------------------------------------------------------


def ask(one, node, now, got=(), stalled=(), dead=(), pieces=8):
    return one.ask("set", pieces, node, {"got": list(got), "stalled": list(stalled), "dead": list(dead)}, now)


def test_each_piece_is_granted_once():
    one, taken = tracker.Tracker(random.Random(1)), []
    now = 0.0
    for turn in range(100):
        node = "n%d" % (turn % 4)
        take = ask(one, node, now, got=[piece for owner, piece in taken if owner == node], pieces=32)["take"]
        taken += [(node, piece) for piece in take]
        now += 0.01
    assert sorted(piece for _, piece in taken) == list(range(32)) and len({node for node, _ in taken}) == 4


def test_not_too_many_are_on_their_way():
    one = tracker.Tracker(random.Random(1))
    assert sum(len(ask(one, "n%d" % number, 0.0, pieces=100)["take"]) for number in range(50)) == tracker.AT_ONCE


def test_what_a_dead_node_was_granted_is_granted_again():
    """To one, and later than it would have come."""
    one = tracker.Tracker(random.Random(1))
    first = ask(one, "dead", 0.0)["take"]
    second = ask(one, "a", 0.0)["take"]
    ask(one, "a", 0.1, got=second)
    assert not set(first) & set(ask(one, "a", 1.0)["take"])
    again = ask(one, "b", 1.0 + tracker.LOST_S)["take"]
    assert set(again) <= set(first) and again and not set(again) & set(ask(one, "c", 1.1 + tracker.LOST_S)["take"])


def test_what_nobody_has_is_granted_again():
    """Once, then ever more rarely, however many say so."""
    one = tracker.Tracker(random.Random(1))
    take = ask(one, "a", 0.0, pieces=1)["take"]
    ask(one, "a", 0.1, got=take, pieces=1)
    times = sum(len(ask(one, "n%d" % (turn % 9), turn / 10, stalled=[0], pieces=1)["take"]) for turn in range(2, 1000))
    assert 1 <= times <= 4


def test_peers_are_others():
    one = tracker.Tracker(random.Random(1))
    for number in range(30):
        ask(one, "n%d" % number, 0.0)
    named = ask(one, "n0", 0.0)["peers"]
    assert len(named) == len(set(named)) == tracker.PEERS and "n0" not in named


def test_two_must_say_that_a_node_is_dead():
    one = tracker.Tracker(random.Random(1))
    for node in "abc":
        ask(one, node, 0.0)
    ask(one, "a", 0.0, dead=["c"])
    assert "c" in ask(one, "a", 0.0)["peers"]
    ask(one, "b", 0.0, dead=["c"])
    assert ask(one, "a", 0.0)["peers"] == ["b"]


def test_many_ask_more_rarely():
    one = tracker.Tracker(random.Random(1))
    for number in range(10_000):
        wait = ask(one, number, 0.0)["wait"]
    assert wait == 10_000 / tracker.QUESTIONS
