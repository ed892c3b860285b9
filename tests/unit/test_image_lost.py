# SPDX-License-Identifier: GPL-2.0-only
"""Images whose nodes have them no more (tools/margay_images/tracker.py): nodes that boot again, die or are wiped, two that have one
name, and clocks that jump. The daemon's own code on a virtual clock, and its rules one by one."""

import asyncio
import os
import random
import shutil
import struct
import sys
import time
import types

import pytest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "bench"))

import image_servers as servers  # noqa: E402
import image_stores as stores  # noqa: E402
import image_swarm_model as model  # noqa: E402
from margay_images import fetch, shared, swarm, tracker, tracker_server, transfer  # noqa: E402
from margay_images.errors import ImageError  # noqa: E402

PIECE, RATE = 65536, 1_250_000
PIECES = 256
ONE_S = PIECES * (PIECE + model.HEADERS_BYTES) * model.WIRE / RATE  # what one node needs
LATER_S = 100.0  # whoever began at 0 has the image
FIRST_STALL_S = 10 * swarm.STALL_S  # before anything has come


def swarm_of(count, begins=None, **options):
    return model.Model(count, PIECES * [PIECE], RATE, begins=begins or count * [0], **options)


def ended(run, seconds, images, limit=2000):
    """All nodes have it by then, and the store has sent it so often at most."""
    found = run.run(limit=LATER_S + limit).results()
    assert found["unfinished"] == 0 and found["seconds"] <= seconds and found["store_images"] <= images


# ---- whole swarms ---------------------------------------------------------------------------------


def test_the_only_one_boots_again():
    """It has the image again as fast as the first time."""
    run = swarm_of(1)
    run.at(50, run.boot_again, run.nodes[0], LATER_S)
    ended(run, LATER_S + 1.1 * ONE_S, 2.05)


def test_the_only_one_is_gone():
    """Another that comes then tries it, and takes all from the store."""
    ended(swarm_of(2, [0, LATER_S], deaths={0: 50}), LATER_S + model.GIVES_UP_S + tracker.IDLE_S + 1.1 * ONE_S, 2.05)


def test_the_only_one_is_wiped():
    """It answers, and has not what it had."""
    run = swarm_of(2, [0, LATER_S])
    run.at(50, run.wipe, run.nodes[0])
    ended(run, LATER_S + FIRST_STALL_S + tracker.IDLE_S + 1.1 * ONE_S, 2.05)


def test_wiped_while_another_pulls():
    run = swarm_of(2, [0, LATER_S])
    run.at(LATER_S + ONE_S / 2, run.wipe, run.nodes[0])
    ended(run, LATER_S + FIRST_STALL_S + 1.5 * ONE_S, 2.05)


def test_hours_later():
    """Nobody was heard of for long, and nobody is named: all from the store, at once."""
    later = 2 * tracker.GONE_S
    ended(swarm_of(2, [0, later]), later + 1.1 * ONE_S, 2.05, limit=later)


def test_all_are_gone():
    """One that comes tries some of them."""
    ended(swarm_of(17, 16 * [0] + [LATER_S], deaths={number: 60 for number in range(16)}),
          LATER_S + FIRST_STALL_S + tracker.IDLE_S + 1.2 * ONE_S, 2.1)


def test_all_boot_again():
    """But for two that stay away: the others share what the store sends, as the first time."""
    run = swarm_of(16, deaths={14: 60, 15: 60})
    for number in range(14):
        run.at(60, run.boot_again, run.nodes[number], LATER_S + number / 10)
    ended(run, LATER_S + FIRST_STALL_S + 1.6 * ONE_S, 2.1)


def test_one_after_the_other_boots_again():
    """Each takes all from the others."""
    run = swarm_of(8)
    for number in range(8):
        run.at(LATER_S * (number + 1), run.boot_again, run.nodes[number], LATER_S * (number + 1) + 10)
    ended(run, LATER_S * 8 + 10 + 1.1 * ONE_S, 1.1)


def test_some_boot_while_others_pull():
    run = swarm_of(16)
    for number in range(5):
        run.at(2 + number, run.boot_again, run.nodes[number], 7 + number)
    ended(run, 11 + 1.6 * ONE_S, 1.6)


def test_one_of_two_boots():
    """The other takes from it again what the store sends to it then."""
    run = swarm_of(2)
    run.at(5, run.boot_again, run.nodes[0], 8)
    ended(run, 8 + 1.6 * ONE_S, 1.6)


def test_one_of_two_dies_at_once():
    """What each may take of the store's is no less for one that does not ask any more."""
    ended(swarm_of(2, deaths={0: 0.3}), model.GIVES_UP_S + ONE_S, 1.1)


@pytest.mark.parametrize("others, seconds, images", [(0, 2.2 * ONE_S, 2.05), (8, 1.6 * ONE_S, 1.3)])
def test_two_of_one_name(others, seconds, images):
    """Alone they cannot have anything from each other. Others are not in their way, nor they in those'."""
    ended(swarm_of(2 + others, names={1: 0}), seconds, images)


def test_a_second_one_of_a_name_comes_late():
    ended(swarm_of(2, [0, LATER_S], names={1: 0}), LATER_S + 1.1 * ONE_S, 2.05)


def test_one_that_reaches_no_other():
    """It takes all from the store, and makes the others take little more."""
    run = swarm_of(8)

    def cut():
        for number in range(7):
            run.lost(run.nodes[7], number)
    for number in range(1, 40):
        run.at(number / 2, cut)
    ended(run, 2.5 * ONE_S, 2.1)


@pytest.mark.parametrize("who", ["tracker", "node"])
def test_a_clock_that_jumps(who):
    """By an hour: what ran it stood still."""
    run = swarm_of(8)
    run.at(3, run.jump, run.nodes[0] if who == "node" else None, 3600)
    ended(run, 1.6 * ONE_S, 1.1)


# ---- the tracker's rules -----------------------------------------------------------------------------


def ask(one, node, now, got=(), stalled=(), dead=(), **more):
    """Of a set of 4 pieces."""
    return one.ask("set", 4, node, {"got": list(got), "stalled": list(stalled), "dead": list(dead), **more}, now)


@pytest.fixture(name="one")
def fixture_one():
    """A tracker that has granted all to node a, which has got it."""
    one, got = tracker.Tracker(random.Random(1)), []
    for now in 0.0, 0.05, 0.1:
        got = ask(one, "a", now, got=got)["take"]
    return one


def test_nobody_takes_what_one_has(one):
    """The control of those below."""
    assert ask(one, "b", 1.0) == {"take": [], "peers": ["a"], "wait": tracker.IDLE_S}


def test_one_that_begins_has_nothing(one):
    ask(one, "a", 0.3, complete=True)
    answer = ask(one, "a", 1.0, begins=True)
    assert answer["take"] == [0, 1] and answer["wait"] < 1


def test_nor_what_it_was_granted(one):
    """It is granted at once to another."""
    ask(one, "b", 1.0, begins=True)
    ask(one, "a", 1.0, begins=True)
    ask(one, "a", 1.0, begins=True)
    assert ask(one, "b", 1.1)["take"]


def test_what_another_has_got():
    """It stays that one's, whoever was granted it before."""
    one = tracker.Tracker(random.Random(1))
    first = ask(one, "a", 0.0)["take"]
    assert ask(one, "b", 100.0)["take"] == first
    ask(one, "b", 100.1, got=first)
    assert not set(first) & set(ask(one, "a", 100.2, begins=True)["take"])


def test_what_was_on_its_way():
    """It keeps nobody from the store any more."""
    one, plain = tracker.Tracker(random.Random(1)), {"got": [], "stalled": [], "dead": []}
    taken = [one.ask("set", 100, node, plain, 0.0)["take"] for node in "abcd"]
    assert taken[3] == [] and one.ask("set", 100, "d", {**plain, "dead": ["a"]}, 0.1)["take"] == taken[0]


@pytest.mark.parametrize("question", [{"dead": ["a"]}, {"stalled": [3], "heard": ["a"]}])
def test_one_that_does_not_help_has_nothing(one, question):
    """It does not answer, or does, and has it not."""
    assert len(ask(one, "b", 9.0, **question)["take"]) == 2
    assert len(ask(one, "c", 9.1)["take"]) == 2


def test_what_came_just_now(one):
    """Its node has not told others yet."""
    ask(one, "a", 50.0, begins=True)
    ask(one, "a", 50.1, got=[0, 1])
    assert 0 not in ask(one, "b", 50.2, stalled=[0], heard=["a"])["take"]
    assert ask(one, "b", 59.0, stalled=[0], heard=["a"])["take"][0] == 0


def test_who_has_it_is_asked_first(one):
    """Whoever finds it nowhere hears of that node, and gets it from the store if that did not help."""
    for number in range(30):
        ask(one, number, 0.5, complete=True)
    answer = ask(one, "b", 1.0, stalled=[2, 3])
    assert answer["take"] == [] and answer["peers"][0] == "a"
    assert ask(one, "b", 0.9 + tracker.LOST_S, stalled=[2, 3])["take"] == []
    assert ask(one, "b", 1.1 + tracker.LOST_S, stalled=[2, 3])["take"] == [2, 3]
    ask(one, "b", 1.2 + tracker.LOST_S, got=[2, 3])
    assert ask(one, "c", 1.3 + tracker.LOST_S, stalled=[2])["take"] == []


def test_not_who_does_not_answer_it(one):
    """Also when that node has said since that it has something."""
    assert ask(one, "b", 1.0, dead=["a"])["take"] == [0, 1]
    ask(one, "a", 1.1, got=[2, 3])
    assert ask(one, "c", 1.2, stalled=[2])["take"] == [] and ask(one, "b", 1.3, stalled=[2])["take"] == [2]
    assert 3 not in ask(one, "b", 1.4, begins=True, stalled=[3])["take"]


def test_who_asks_lives(one):
    """Whatever was said of it before."""
    ask(one, "b", 1.0, dead=["a"])
    ask(one, "a", 1.1)
    assert "a" in ask(one, "c", 1.2, dead=["a"])["peers"]


def test_one_that_has_what_it_is_granted(one):
    """It says so, and is known again as one that has it."""
    ask(one, "b", 1.0, dead=["a"])
    ask(one, "b", 1.0, got=[0, 1], complete=True)
    take = ask(one, "a", 1.1, stalled=[2])["take"]
    assert take == [2, 3]
    ask(one, "a", 1.2, got=take)
    assert ask(one, "c", 1.3)["take"] == []


def test_that_is_not_the_stores_time():
    """Else the store would seem fast, and what it sends to others late."""
    one, plain, got, now = tracker.Tracker(random.Random(1)), {"stalled": [], "dead": []}, [], 0.0
    for took in [4.0] * 10 + [0.01] * 10:
        got = one.ask("set", 100, "a", {"got": got, **plain}, now)["take"]
        now += took
    assert one.swarms["set"].usual_s > 3


def test_from_others_that_have_all(one):
    """What a node had that begins anew comes from those; if nothing does, from the store."""
    for node in "bc":
        ask(one, node, 0.5, complete=True)
    assert ask(one, "a", 1.0, begins=True)["take"] == []
    assert ask(one, "a", 2.0, stalled=[0])["take"] == [0, 1]


def test_who_said_that_it_has_all_and_has_not(one):
    ask(one, "b", 0.5, complete=True)
    assert ask(one, "a", 9.0, begins=True)["take"] == []
    ask(one, "c", 9.1, stalled=[0], heard=["b"])
    assert ask(one, "a", 9.2)["take"]


def test_one_that_wants_something_has_not_all(one):
    """Also when it does not say that it begins: another of its name has said that it has all."""
    ask(one, "b", 0.5, complete=True)
    assert ask(one, "a", 9.0, begins=True)["take"] == []
    ask(one, "b", 9.1)
    assert ask(one, "a", 9.2)["take"]


def test_a_grant_of_a_silent_node():
    """It is granted again, however often its nodes have died, and does not wait the longer."""
    one, now = tracker.Tracker(random.Random(1)), 0.0
    ask(one, "a", now, got=ask(one, "a", now)["take"])
    for number in range(6):
        now += tracker.QUIET_S + 1
        assert set(ask(one, number, now)["take"]) == {2, 3}


def test_a_grant_of_one_that_asks():
    """The store may be slow: more rarely, but there is an end to that."""
    one, times = tracker.Tracker(random.Random(1)), []
    ask(one, "a", 0.0, got=ask(one, "a", 0.0)["take"])
    for second in range(400):
        times += [second for _ in ask(one, "a", float(second))["take"][:1]]
    gaps = [after - before for before, after in zip(times, times[1:])]
    most = tracker.LOST_S * 3 ** tracker.LOST_GROWS
    assert times[0] <= tracker.LOST_S + 1 and gaps[0] > 2 * tracker.LOST_S and most <= gaps[-1] <= most + 1


def test_those_share_that_ask():
    """Each may have as much as others, but for those that have all, or ask no more."""
    one, got = tracker.Tracker(random.Random(1)), []
    for node in "bc":
        one.ask("set", 100, node, {"got": [], "stalled": [], "dead": []}, 0.0)
    one.ask("set", 100, "b", {"got": [], "stalled": [], "dead": [], "complete": True}, 0.0)
    for turn in range(200):
        now = 0.1 * turn
        got = one.ask("set", 100, "a", {"got": got, "stalled": [], "dead": []}, now)["take"]
        if now == pytest.approx(tracker.QUIET_S - 1):
            assert one.swarms["set"].given["a"] < 20
    found = one.swarms["set"]
    assert found.given["a"] > 90
    one.ask("set", 100, "c", {"got": [], "stalled": [], "dead": []}, now)
    assert not found.may_have_more("a", now)
    one.ask("set", 100, "c", {"got": [], "stalled": [], "dead": [], "complete": True}, now)
    assert found.may_have_more("a", now)


def test_many_that_were_not_heard_of():
    """Nothing of them is kept."""
    one = tracker.Tracker(random.Random(1))
    for number in range(1000):
        ask(one, number, number / 1000, dead=[number - 1])
    ask(one, 0, 1800.0)
    assert ask(one, "a", tracker.GONE_S + 0.5)["peers"] and len(one.swarms["set"].names) == 502
    ask(one, "a", 2 * tracker.GONE_S, begins=True)
    found = one.swarms["set"]
    assert found.names == ["a"] and not found.unreached and not found.reports and set(found.given) <= {"a"}


def test_a_jump_is_not_the_stores_time(one):
    """Else nodes would be told to ask again after minutes."""
    ask(one, "a", 1.0, begins=True)
    ask(one, "a", 3601.0, got=[0, 1])
    assert one.swarms["set"].wait() < 2


# ---- a node's rules -------------------------------------------------------------------------------


def begun(pieces=8):
    return swarm.Swarm(pieces, (), random.Random(1), 0.0, True)


def test_it_says_that_it_begins():
    """Until the tracker has answered."""
    one = begun()
    question = one.question(0.0)
    one.tracker_failed(question, 0.1)
    assert question["begins"] and one.question(2.0)["begins"]
    one.grant([], 2.1, 0.1)
    assert "begins" not in one.question(3.0)


def test_what_it_finds_nowhere():
    """While nothing comes from peers, and whatever the store sends; with those that answer."""
    one, now = begun(64), 0.0
    for name in "abc":
        one.meet(name)
    one.has("a", [])
    one.has("b", [1, 4])
    one.grant([0, 2], now, 0.1)
    assert (None, 0) in one.asks(now)
    while now < FIRST_STALL_S + 1:
        now += 1.0
        if now == 1.0:
            one.got(None, 0, now)
        question = one.question(now) or question
        one.grant([], now, 0.1)
    assert question["stalled"] == [3, *range(5, 4 + swarm.NOWHERE)] and question["heard"] == ["a", "b"]
    one.has("c", [5])
    one.got("c", 5, now + 1)
    question = one.question(now + 2)
    assert question["stalled"] == [] and "heard" not in question


def test_one_that_boots_is_met_again():
    """When it asks for something, a few times; one that lies is not."""
    one = begun()
    for _ in range(swarm.MEETS):
        assert one.meet("a", True)
        one.lose("a")
        assert not one.meet("a")
    assert not one.meet("a", True)
    one.meet("b")
    one.lose("b", lies=True)
    assert not one.meet("b", True)


def test_a_jump_makes_nobody_fast():
    """Whoever is slow after an hour's jump is passed over soon."""
    one = begun()
    one.meet("a")
    one.has("a", (0, 1))
    ((_, piece),) = one.asks(0.0)
    one.got("a", piece, 3600.0)
    one.asks(3600.0)
    one.meet("b")
    one.has("b", (1 - piece,))
    assert ("b", 1 - piece) in one.asks(3600.0 + 100)


def test_a_peer_by_http():
    """One that was lost is met again when it asks; what is late from before does not lose it. One that sends damage is not met."""
    async def get(url, limit, patience=0, take=bytes, more=None):
        if "/have/" in url:
            await asyncio.sleep(60)
        raise fetch.MissingError(url)

    async def get_damage(url, limit, patience=0, take=bytes, more=None):
        return take(b"")

    def refuse(piece, data, url):
        raise ImageError(url)

    async def work():
        node = types.SimpleNamespace(config=types.SimpleNamespace(store="", tracker=None), shared=shared.Shared(None),
                                     web=types.SimpleNamespace(get=get), server=types.SimpleNamespace(port=1))
        one = transfer.Transfer(node, "c", ["piece"], [1], refuse, [])
        one.meet("a:1")
        first = one.swarm.peers["a:1"]
        await one.fetch("a:1", 0)
        one.meet("a:1")
        assert not one.swarm.peers
        node.shared.meet["c"]("a:1")
        one.lose("a:1", first)
        assert "a:1" in one.swarm.peers and one.swarm.lost == {"a:1": 1}
        node.web.get = get_damage
        await one.fetch("a:1", 0)
        node.shared.meet["c"]("a:1")
        assert not one.swarm.peers
        for task in one.tasks:
            task.cancel()
    asyncio.run(work())


@pytest.mark.parametrize("says", [lambda asked: [7], lambda asked: [7, 0], lambda asked: [asked, 0], lambda asked: [7, 5]])
def test_a_peer_that_says_nothing_new(monkeypatch, says):
    """Is not asked again at once, whatever it calls its log."""
    monkeypatch.setattr(swarm, "TICK_S", 60)
    asked = []

    async def get(url, limit, patience=0, take=bytes, more=None):
        if "/have/" not in url:
            await asyncio.sleep(60)
        await asyncio.sleep(0)
        asked.append(url)
        numbers = says(len(asked))
        return struct.pack("<%dI" % len(numbers), *numbers)

    async def work():
        node = types.SimpleNamespace(config=types.SimpleNamespace(store="", tracker=None), shared=shared.Shared(None),
                                     web=types.SimpleNamespace(get=get), server=types.SimpleNamespace(port=1))
        one = transfer.Transfer(node, "c", ["piece"], [1], None, [])
        one.meet("a:1")
        for _ in range(100):
            await asyncio.sleep(0)
        assert 0 < len(asked) <= 2
        for task in one.tasks:
            task.cancel()
    asyncio.run(work())


# ---- real servers -----------------------------------------------------------------------------------


@pytest.fixture(name="site")
def fixture_site(tmp_path):
    """(server of a store, config(name) of a node with a tracker)."""
    key = stores.Key(tmp_path / "keys", "one")
    with stores.folder_in_memory(tmp_path) as memory:
        stores.pushed(os.path.join(memory, "store"), stores.make_image(tmp_path / "1"), key.secret)
        server, loop = servers.Server(os.path.join(memory, "store")), servers.Loop()
        of_site = loop.run(tracker_server.Server().start(0))

        def config(name):
            return servers.config_of(os.path.join(memory, name), server.url, key.folder,
                                     tracker="http://127.0.0.1:%d" % of_site.port)
        yield server, config
        loop.run(of_site.stop())
        loop.end()
        server.end()


def test_a_node_pulls_again(site):
    """All from the store, without a wait."""
    server, config = site
    node = config("node")
    with servers.serving(node) as (first, run):
        node.port = first.server.port
        run(servers.pulled_by(first, "mpi:1", cache_only=True))
    once = len(server.got("/chunks/"))
    shutil.rmtree(node.cache)
    began = time.monotonic()
    assert servers.pulled(node, "mpi:1", cache_only=True)["from_peers"] == 0
    assert len(server.got("/chunks/")) == 2 * once and time.monotonic() - began < FIRST_STALL_S / 2


def test_a_node_is_wiped(site, monkeypatch):
    """It goes on serving: another hears that it has nothing, and takes all from the store."""
    server, config = site
    with servers.serving(config("wiped")) as (first, run):
        run(servers.pulled_by(first, "mpi:1", cache_only=True))
        once = len(server.got("/chunks/"))
        for folder in "images", "index", "chunks":
            shutil.rmtree(first.cache.path(folder))
        monkeypatch.setattr(swarm, "STALL_S", 0.2)
        monkeypatch.setattr(tracker, "SLOW_S", 0.1)
        monkeypatch.setattr(tracker, "LOST_S", 30.0)
        began = time.monotonic()
        assert servers.pulled(config("node"), "mpi:1", cache_only=True)["from_peers"] == 0
        assert len(server.got("/chunks/")) == 2 * once and time.monotonic() - began < tracker.LOST_S
