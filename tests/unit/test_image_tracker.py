# SPDX-License-Identifier: GPL-2.0-only
"""The tracker by HTTP, and nodes that pull at once by it: real servers, in this process."""

import asyncio
import json
import os
import threading
import types

import aiohttp
import pytest

import image_servers as servers
import image_stores as stores
from margay_images import fetch, pull, serve, shared, store, swarm, tracker_server, transfer

GOOD = {"set": "c" + 64 * "0", "pieces": 4, "port": 7380, "got": [], "dead": [], "stalled": []}


@pytest.fixture(name="tracker")
def fixture_tracker():
    loop = servers.Loop()
    server = loop.run(tracker_server.Server().start(0))
    yield server
    loop.run(server.stop())
    loop.end()


def ask(tracker, question):
    """question: bytes as they are, or what becomes JSON."""
    async def post():
        data = question if isinstance(question, bytes) else json.dumps(question)
        async with aiohttp.ClientSession() as session:
            async with session.post("http://127.0.0.1:%d/ask" % tracker.port, data=data) as answer:
                return answer.status, await answer.json() if answer.status == 200 else await answer.text()
    return asyncio.run(post())


def test_an_answer(tracker):
    """A node is known by the address that it asks from."""
    status, answer = ask(tracker, GOOD)
    assert status == 200 and len(answer["take"]) == 2 and answer["peers"] == []
    status, answer = ask(tracker, {**GOOD, "port": 7381, "begins": True, "heard": ["127.0.0.1:7382"]})
    assert answer["peers"] == ["127.0.0.1:7380"]
    # As many as a node ever names.
    many = {"stalled": swarm.NOWHERE * [0], "heard": swarm.PEERS * ["127.0.0.1:1"]}
    assert ask(tracker, {**GOOD, **many})[0] == 200


@pytest.mark.parametrize("change", [
    {"set": "x"}, {"set": 1}, {"pieces": -1}, {"pieces": 1 << 40}, {"port": 0}, {"port": True}, {"got": [4]}, {"got": [-1]},
    {"got": 0}, {"stalled": ["0"]}, {"dead": ["x"]}, {"dead": [1]}, {"complete": 1}, {"begins": 1},
    {"heard": ["x"]}, {"more": 1}, {"stalled": 101 * [0]}, {"heard": 101 * ["127.0.0.1:1"]}])
def test_what_is_no_question(tracker, change):
    assert ask(tracker, {**GOOD, **change})[0] == 400
    assert not tracker.tracker.swarms


@pytest.mark.parametrize("text", [b"", b"x", b"[]", b"1", b"\xff", 100_000 * b"["],
                         ids=lambda text: repr(text[:9]))
def test_what_is_no_object(tracker, text):
    assert ask(tracker, text)[0] == 400 and not tracker.tracker.swarms


@pytest.mark.parametrize("text", [
    "", "x", "[]", "1", "{}", 100_000 * "[", '{"take": [], "peers": []}', '{"take": 1, "peers": [], "wait": 1}',
    '{"take": ["0"], "peers": [], "wait": 1}', '{"take": [true], "peers": [], "wait": 1}', '{"take": [], "peers": 1, "wait": 1}',
    '{"take": [], "peers": [1], "wait": 1}', '{"take": [], "peers": ["x"], "wait": 1}', '{"take": [], "peers": [], "wait": "1"}',
    '{"take": [], "peers": [], "wait": NaN}', '{"take": [], "peers": [], "wait": -1}'],
    ids=lambda text: text[:60])
def test_what_is_no_answer(text):
    """A node goes on without it, as if none had come."""
    async def post(url, value, limit):
        return text.encode()

    async def work():
        node = types.SimpleNamespace(config=types.SimpleNamespace(store="", tracker="http://x/"), shared=shared.Shared(None),
                                     web=types.SimpleNamespace(post=post), server=types.SimpleNamespace(port=1))
        one = transfer.Transfer(node, "c", ["piece"], [1], None, [])
        await one.ask_tracker(one.swarm.question(one.loop.time()))
        assert one.swarm.failures == 1 and not one.swarm.asking and not one.tasks
    asyncio.run(work())


def test_the_order_may_change(tmp_path):
    """Who has heard of the beginning of one log hears all of another: of the same pull after it, as the cache has it."""
    key = stores.Key(tmp_path / "keys", "one")
    stores.pushed(str(tmp_path / "store"), stores.make_image(tmp_path / "1"), key.secret)
    server = servers.Server(tmp_path / "store")
    with servers.serving(servers.config_of(tmp_path / "node", server.url, key.folder)) as (node, run):
        run(servers.pulled_by(node, "mpi:1", cache_only=True))
        value, data, _ = node.cache.manifest("mpi", "1")
        name = shared.set_names(data)[1]

        def have(log, start):
            found = run(node.web.get("http://127.0.0.1:%d/have/%s?log=%d&from=%d" % (node.server.port, name, log, start), 1000))
            return serve.numbers(found)
        number, *pieces = have(0, 0)
        assert pieces == list(range(len(shared.chunk_pieces(value, node.cache.index))))
        assert have(number, 3) == [number, *pieces[3:]]

        async def begin():
            return node.shared.begin(name, [2, 0], None)
        live = run(begin())
        assert have(number, 1) == [live.number, 2, 0] and have(live.number, 1) == [live.number, 0]
    server.end()


def test_three_at_once(tracker, tmp_path):
    """The store sends each piece once; each node has all of it."""
    key = stores.Key(tmp_path / "keys", "one")
    with stores.folder_in_memory(tmp_path) as memory:
        top = os.path.join(memory, "store")
        stores.pushed(top, stores.make_image(tmp_path / "1"), key.secret)
        server = servers.Server(top)
        done = []

        def one(number):
            config = servers.config_of(os.path.join(memory, "node%d" % number), server.url, key.folder,
                                       tracker="http://127.0.0.1:%d" % tracker.port)

            async def work():
                async with pull.Node(config) as node:
                    done.append(await servers.pulled_by(node, "mpi:1", cache_only=True))
                    while len(done) < 3 and not ended.is_set():
                        await asyncio.sleep(0.05)
            asyncio.run(work())
        ended = threading.Event()
        threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        ended.set()
        opened = store.Store(top).open()
        pieces = {chunk for file in opened.manifest("mpi", "1")[0]["files"].values() for chunk, _ in opened.index(file)}
        asked = server.got("/chunks/")
        assert len(done) == 3 and len(set(asked)) == len(pieces) and len(asked) <= len(pieces) + 2
        assert len(server.got("/index/")) <= 4 and sum(result["from_peers"] for result in done) > 1_200_000
        server.end()


async def answered(future):
    return await future


def test_a_cancelled_request_ends():
    """Also when its answer comes at that moment: else who listens to a peer would never end."""
    async def work():
        web, answer = fetch.Web(10), asyncio.get_running_loop().create_future()
        waiting = asyncio.ensure_future(web.guarded("url", answered(answer), 10))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        answer.set_result(b"")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    asyncio.run(work())
