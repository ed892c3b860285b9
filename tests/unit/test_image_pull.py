# SPDX-License-Identifier: GPL-2.0-only
"""`margay image pull` from real HTTP servers into a node that is none: what is fetched, from whom, what is kept, and resumed.

What is refused: test_image_pull_refuses.py.
"""

import contextlib
import hashlib
import http.client
import json
import os
import pty
import shutil
import socket
import subprocess
import sys
import threading
import types

import jsonschema
import pytest

import image_servers as servers
import image_stores as stores
from client_node import DATA, TOP, ImageMemory, starter  # noqa: F401  (starter is a fixture)
from margay_images import cache, chunks, node_config, serve, store, swarm
from margay_images.errors import ImageError

PULL = os.path.join(TOP, "tools", "margay-image-pull")


@pytest.fixture(name="made", scope="module")
def fixture_made(tmp_path_factory):
    """A server of a store with two signed versions, 1 and 2."""
    top = tmp_path_factory.mktemp("images")
    with stores.folder_in_memory(top) as memory:
        made = {"key": stores.Key(top / "keys", "one"), "store": os.path.join(memory, "store")}
        for version, changed in ("1", 0), ("2", 100_000):
            made[version] = stores.make_image(top / version, version=version, changed=changed)
            stores.pushed(made["store"], made[version], made["key"].secret)
        yield made


@pytest.fixture(name="server")
def fixture_server(made):
    server = servers.Server(made["store"])
    yield server
    server.end()


@pytest.fixture(name="config")
def fixture_config(made, server, tmp_path):
    return servers.config_of(tmp_path / "node", server.url, made["key"].folder)


def chunks_of(made, version):
    opened = store.Store(made["store"]).open()
    files = opened.manifest("mpi", version)[0]["files"].values()
    return {chunk for file in files for chunk, _ in opened.index(file)}


def fetched(server):
    return {os.path.basename(path)[:-len(chunks.SUFFIX)] for path in server.got("/chunks/")}


# ---- into the node ----------------------------------------------------------------------------


def test_as_it_is_typed(made, server, tmp_path, start, monkeypatch):
    """By `margay`, whose node gets the three files as they were pushed; the same again sends and fetches nothing."""
    memory = ImageMemory()
    node = start(memory)
    programs = tmp_path / "bin"
    programs.mkdir()
    config = servers.configure(tmp_path / "node", server.url, made["key"].folder, port=servers.free_port())
    (programs / "margay-image-pull").write_text('#!/bin/sh\nexec /usr/bin/python3 %s --config %s "$@"\n' % (PULL, config))
    (programs / "margay-image-pull").chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (programs, os.environ["PATH"]))

    def run(*words):
        with node.popen(*words) as child:
            said, error = child.communicate(timeout=300)
        return child.returncode, said, error
    status, said, error = run("--json", "image", "pull", "mpi")
    assert (status, error) == (0, "")
    done = json.loads(said)
    with open(os.path.join(TOP, "tools", "client", "margay.schema.json"), encoding="ascii") as f:
        schema = json.load(f)
    jsonschema.Draft7Validator({**schema, "anyOf": [{"$ref": "#/definitions/image pull"}]}).validate(done)
    assert (done["image"], done["sent"], done["from_peers"]) == ("mpi:2", 3, 0) and done["from_store"] > 700_000
    assert done["names"] == ["mpi/2/initrd", "mpi/2/kernel", "mpi/2/root.squashfs"] and set(memory.names) == set(done["names"])
    for file in "initrd", "kernel", "root.squashfs":
        with open(os.path.join(made["2"], file), "rb") as f:
            assert memory.contents[memory.names["mpi/2/" + file]] == f.read()
    assert fetched(server) == chunks_of(made, "2") and len(server.got("/chunks/")) == done["chunks"]
    asked, sent = len(server.got("/chunks/")), len(node.asked)
    status, said, error = run("image", "pull", "--prefix", "new", "mpi:2")
    assert (status, error) == (0, "") and said.splitlines() == [
        "mpi:2: 0.7 MB in %d chunks; fetched: 0.0 MB from the store, 0.0 MB from other nodes; into the node: 0 files" %
        done["chunks"],
        "  new/initrd", "  new/kernel", "  new/root.squashfs"]
    assert len(server.got("/chunks/")) == asked and len(node.asked) == sent + 3
    status, said, error = run("image", "pull", "mpi:7")
    assert (status, said, error) == (1, "", "margay-image-pull: %s: there is no mpi:7\n" % server.url)
    status, said, error = run("image", "pull", "mpi:7", "--json")
    assert (status, error) == (1, "")
    assert json.loads(said)["error"] == {"status": 1, "message": "%s: there is no mpi:7" % server.url}


def test_while_the_server_starts(made, server, tmp_path):
    """The process of --serve has its port before its socket: who asks in between waits for it, and does not fail."""
    with socket.create_server(("", 0)) as taken, socket.socket(socket.AF_UNIX) as asked:
        config = servers.configure(tmp_path / "node", server.url, made["key"].folder, port=taken.getsockname()[1])
        path = node_config.Config(config).socket
        with subprocess.Popen([sys.executable, PULL, "--config", config, "--json", "mpi:1"], stdout=subprocess.PIPE) as child:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(3)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            asked.bind(path)
            asked.listen()
            channel, _ = asked.accept()
            with channel, channel.makefile("rwb") as lines:
                assert json.loads(lines.readline())["image"] == "mpi:1"
                lines.write(b'{"done": {"names": []}}\n')
            assert json.loads(child.stdout.read()) == {"names": []} and child.wait() == 0


def test_a_port_that_another_has(made, server, tmp_path):
    """One line, of the port; nothing of a library about what is left open."""
    with socket.create_server(("", 0)) as taken:
        config = servers.configure(tmp_path / "node", server.url, made["key"].folder, port=taken.getsockname()[1])
        done = subprocess.run([sys.executable, PULL, "--config", config, "--serve"], capture_output=True, text=True, check=False)
        assert done.returncode == 3 and done.stderr.count("\n") == 1 and "address already in use" in done.stderr, done.stderr


def test_without_the_program(start, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = "margay: margay-image-pull: it is not here: install the package margay-image-node\n"
    assert start().run("image", "pull", "mpi") == (3, "", said)


def test_a_prefix_moves(config, start, monkeypatch):
    """What is pulled under a name of the operator's takes the name from the version before."""
    memory = ImageMemory()
    monkeypatch.setenv("MARGAY_PORT", start(memory).path)
    servers.pulled(config, "mpi:1", prefix="job")
    before = dict(memory.names)
    assert servers.pulled(config, "mpi:2", prefix="job")["sent"] == 2
    assert before["job/kernel"] == memory.names["job/kernel"] and before["job/root.squashfs"] != memory.names["job/root.squashfs"]


def test_hashed_once(made, config, start, monkeypatch):
    """Each chunk, whether it comes from the store or is in the cache, and whether the node has it."""
    node = start(ImageMemory())
    monkeypatch.setenv("MARGAY_PORT", node.path)
    opened, hashed = store.Store(made["store"]).open(), []
    parts = {part for file in opened.manifest("mpi", "1")[0]["files"].values() for part in opened.index(file)}

    def sha256(data=b""):
        hashed.append(len(data))
        return hashlib.sha256(data)
    monkeypatch.setattr(chunks, "hashlib", types.SimpleNamespace(sha256=sha256))
    for prefix in None, None, "job":
        servers.pulled(config, "mpi:1", prefix=prefix)
        assert sorted(hashed) == sorted(size for _, size in parts)
        hashed.clear()
    # And each byte goes to the node once.
    assert sum(len(text) for what, text in node.asked if what == DATA) == stores.ROOT_BYTES + 90_000 + 50_000


def test_names_that_the_node_does_not_take(config):
    with pytest.raises(ImageError, match="longer than 63 letters: give a shorter one by --prefix"):
        servers.pulled(config, "mpi:1", prefix=50 * "x")
    with pytest.raises(ImageError, match="printable"):
        servers.pulled(config, "mpi:1", prefix="a b")


def test_node_refuses(config, start, monkeypatch):
    monkeypatch.setenv("MARGAY_PORT", start(lambda what, text: (28, b"there is no room")).path)
    with pytest.raises(ImageError, match="^mpi/1/kernel: the node does not take it: there is no room$"):
        servers.pulled(config, "mpi:1")


# ---- what is fetched -------------------------------------------------------------------------------


def test_only_what_is_missing(made, server, config):
    """Of the second version, what the first has not."""
    servers.pulled(config, "mpi:1", cache_only=True)
    server.asked.clear()
    done = servers.pulled(config, "mpi:2", cache_only=True)
    assert fetched(server) == chunks_of(made, "2") - chunks_of(made, "1") and len(server.got("/chunks/")) == len(fetched(server))
    assert done["from_store"] < 300_000 and done["names"] == [] and done["sent"] == 0


def test_goes_on_after_a_cut(made, server, config):
    """What had come is not fetched again, nor is it lost when another version is pulled in between."""
    whole = chunks_of(made, "1")
    last = sorted(whole)[-1]
    # However often it is asked: more than twice, as it is no failure when a connection that was idle turns out to have ended.
    server.lies[last] = servers.fails(1000)
    with pytest.raises(ImageError):
        servers.pulled(config, "mpi:1", cache_only=True)
    del server.lies[last]
    kept = cache.Cache(config.cache).create()
    first = {name for name, _ in kept.chunk_files()}
    assert first and last not in first
    server.asked.clear()
    servers.pulled(config, "mpi:1", cache_only=True)
    assert fetched(server) == whole - first


def test_a_connection_that_breaks_once(made, server, config):
    server.lies["/chunks/"] = servers.fails(1)
    assert servers.pulled(config, "mpi:1", cache_only=True)["chunks"] == len(chunks_of(made, "1"))


def test_damage_in_the_cache(made, server, config):
    """Is found, of chunks, indexes and manifests, and fetched again."""
    servers.pulled(config, "mpi:1", cache_only=True)
    kept = cache.Cache(config.cache)
    chunk, path = next(iter(kept.chunk_files()))
    shutil.copy(path, path + ".copy")
    os.truncate(path, 1000)
    index = kept.path("index", os.listdir(kept.path("index"))[0])
    with open(index, "r+b") as f:
        f.write(b"x")
    with open(kept.path("images/mpi/1/manifest.json"), "w", encoding="ascii") as f:
        f.write("{")
    server.asked.clear()
    servers.pulled(config, "mpi:1", cache_only=True)
    assert fetched(server) == {chunk} and [os.path.basename(path) for path in server.got("caibx")] == [os.path.basename(index)]
    with open(path, "rb") as good, open(path + ".copy", "rb") as copy:
        assert good.read() == copy.read()


def test_progress(made, server, tmp_path):
    """On a terminal, and nothing is left of it there."""
    config = servers.configure(tmp_path / "node", server.url, made["key"].folder, port=servers.free_port())
    master, slave = pty.openpty()
    done = subprocess.run(["/usr/bin/python3", PULL, "--config", config, "--cache-only", "mpi"], stdout=subprocess.PIPE,
                          stderr=slave, check=True)
    os.close(slave)
    said = os.read(master, 100000)
    os.close(master)
    assert said.startswith(b"\rmpi: ") and b"% of 0." in said and said.endswith(b"\r\033[K") and done.stdout.startswith(b"mpi:2: ")


# ---- peers ------------------------------------------------------------------------------------------


def test_from_peers_first(made, server, config, tmp_path):
    """The store sends the manifest only. What the peer has not the store has."""
    other = servers.config_of(tmp_path / "other", server.url, made["key"].folder)
    with servers.serving(other) as (node, run):
        run(servers.pulled_by(node, "mpi:1", cache_only=True))
        server.asked.clear()
        config.peers = ["127.0.0.1:%d" % node.server.port]
        done = servers.pulled(config, "mpi:1", cache_only=True)
        assert not server.got("/chunks/") and not server.got("/index/") and done["from_store"] == 0 and done["from_peers"] > 700_000
        done = servers.pulled(config, "mpi:2", cache_only=True)
        assert fetched(server) == chunks_of(made, "2") - chunks_of(made, "1")
    assert not os.path.exists(os.path.join(other.cache, "images", "mpi", "2"))


def test_from_one_that_is_at_it(made, server, config, tmp_path):
    """It hands on what has come while the rest comes."""
    other = servers.config_of(tmp_path / "other", server.url, made["key"].folder)
    last = sorted(chunks_of(made, "1"))[-1]
    go = threading.Event()
    server.lies[last] = lambda handler: go.wait(60)
    with servers.serving(other) as (node, run), servers.serving(config) as (second, run_second):
        first = threading.Thread(target=lambda: run(servers.pulled_by(node, "mpi:1", cache_only=True)))
        first.start()
        config.peers = ["127.0.0.1:%d" % node.server.port]
        came = []

        def tell(progress):
            came.append(progress["have"])
            if progress["size"] - progress["have"] < 300_000:
                go.set()
        done = run_second(servers.pulled_by(second, "mpi:1", tell, cache_only=True))
        first.join(60)
        assert go.is_set() and done["from_peers"] > 0 and not first.is_alive()


@pytest.mark.parametrize("lie", [servers.flipped(1000), servers.flipped(-1), servers.says_terabytes, servers.says_more])
def test_peer_that_lies(made, server, config, tmp_path, lie):
    """It is asked no more, and the store helps. Its files are those of a store; what it has it says itself."""
    bad = servers.Server(made["store"])
    servers.claims_all(bad, len(chunks_of(made, "1")))
    bad.lies["/chunks/"] = lie
    config.peers = ["127.0.0.1:%d" % bad.server_port]
    done = servers.pulled(config, "mpi:1", cache_only=True)
    assert len(bad.got("/chunks/")) == 1 and done["from_store"] > 700_000
    bad.end()


def test_peer_that_stalls(made, server, config):
    bad = servers.Server(made["store"])
    servers.claims_all(bad, len(chunks_of(made, "1")))
    bad.lies["/chunks/"] = servers.stalls(10)
    config.peers = ["127.0.0.1:%d" % bad.server_port]
    assert servers.pulled(config, "mpi:1", cache_only=True)["from_store"] > 700_000
    bad.end()


def test_peer_that_is_always_busy(made, server, config, monkeypatch):
    """It has all, it says, and sends none of it: the store does, in the end."""
    monkeypatch.setattr(swarm, "BUSY_LOST_S", 1.0)
    bad = servers.Server(made["store"])
    servers.claims_all(bad, len(chunks_of(made, "1")))
    bad.lies["/chunks/"] = servers.is_busy
    config.peers = ["127.0.0.1:%d" % bad.server_port]
    assert servers.pulled(config, "mpi:1", cache_only=True)["from_store"] > 700_000
    bad.end()


def test_what_a_node_serves(made, server, config):
    """The files of its cache, and nothing beside."""
    with servers.serving(config) as (node, run):
        run(servers.pulled_by(node, "mpi:1", cache_only=True))
        top = "http://127.0.0.1:%d" % node.server.port
        with open(os.path.join(config.cache, "secret"), "w", encoding="ascii") as f:
            f.write("x")

        def status(path):
            done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--path-as-is", top + path],
                                  capture_output=True, text=True, check=True)
            return done.stdout
        assert status("/images/mpi/1/manifest.json") == "200"
        for path in ("/", "/secret", "/store.json", "/lock", "/chunks/", "/chunks/../secret", "/images/mpi/../../secret",
                     "/images/mpi/1/..%2f..%2f..%2fsecret", "/images/..%2fsecret/1/manifest.json", "/have/x", "/have/c" + 64 * "0"):
            assert status(path) == "404", path


def test_peers_that_take_nothing(made, server, config, monkeypatch, caplog):
    """A node that has died in the middle of a piece, or pretends to have, keeps nobody else from being served for long."""
    monkeypatch.setattr(serve, "STALLS_S", 1)
    with servers.serving(config) as (node, run), contextlib.ExitStack() as dead:
        run(servers.pulled_by(node, "mpi:1", cache_only=True))
        _, path = max((os.stat(path).st_size, path) for _, path in node.cache.chunk_files())
        url = "/" + os.path.relpath(path, node.cache.top)
        for _ in range(swarm.UPLOADS):
            channel = dead.enter_context(socket.socket())
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            channel.connect(("127.0.0.1", node.server.port))
            channel.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % url.encode())
        servers.wait_for(lambda: node.server.uploads == swarm.UPLOADS)

        def status():
            channel = http.client.HTTPConnection("127.0.0.1", node.server.port)
            with contextlib.closing(channel):
                channel.request("GET", url)
                return channel.getresponse().status
        assert status() == 503
        servers.wait_for(lambda: node.server.uploads == 0)
        assert status() == 200 and not [record for record in caplog.records if record.name.startswith("aiohttp")]


# ---- the cache --------------------------------------------------------------------------------------


def test_the_oldest_goes(made, server, config):
    """When there is no room; not what is pinned, and not what both have."""
    servers.pulled(config, "mpi:1", cache_only=True)
    kept = cache.Cache(config.cache).create()
    config.limit = kept.used() + 50_000
    servers.pulled(config, "mpi:2", cache_only=True)
    assert kept.images() == [("mpi", "2")] and {name for name, _ in kept.chunk_files()} == chunks_of(made, "2")
    kept.pin("mpi", "2", True)
    with pytest.raises(ImageError, match="^mpi:1: .* do not fit into the cache: its limit is"):
        servers.pulled(config, "mpi:1", cache_only=True, allow_downgrade=True)
    assert ("mpi", "2") in kept.images() and chunks_of(made, "2") <= {name for name, _ in kept.chunk_files()}
    kept.pin("mpi", "2", False)
    servers.pulled(config, "mpi:1", cache_only=True, allow_downgrade=True)
    assert kept.images() == [("mpi", "1")]
    with pytest.raises(ImageError, match="mpi:2 is not in the cache"):
        kept.pin("mpi", "2", True)


def test_a_manifest_that_did_not_come(made, server, config):
    """As the disk was full: its folder hinders no pull of the same process, which has to look which version is the oldest."""
    with servers.serving(config) as (node, run):
        run(servers.pulled_by(node, "mpi:1", cache_only=True))
        os.mkdir(node.cache.path("images/mpi/3"))
        config.limit = node.cache.used() + 50_000
        run(servers.pulled_by(node, "mpi:2", cache_only=True))
        assert node.cache.images() == [("mpi", "2")]


def test_who_looks_at_the_cache_during_a_pull(config):
    """A version whose manifest is to come in a moment stays, and is not listed. The next pull takes one away that never came."""
    kept = cache.Cache(config.cache).create()
    with kept.pulling():
        os.makedirs(kept.path("images/mpi/1"))
        listed = [sys.executable, PULL, "--config", os.path.join(os.path.dirname(config.cache), "images.conf"), "--list"]
        done = subprocess.run(listed, stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout.startswith("0.0 MB of ") and kept.images() == [("mpi", "1")]
    with kept.pulling():
        assert kept.images() == []


def test_two_at_once(config):
    with cache.Cache(config.cache).create().pulling():
        with pytest.raises(ImageError, match="^another pull is under way on this node$"):
            servers.pulled(config, "mpi:1", cache_only=True)


# ---- the daemon -------------------------------------------------------------------------------------


def test_daemon(made, server, tmp_path):
    """It pulls for who asks at its socket, goes on serving, and says why not."""
    config = servers.configure(tmp_path / "node", server.url, made["key"].folder, port=servers.free_port())
    pull = ["/usr/bin/python3", PULL, "--config", config]
    with subprocess.Popen([*pull, "--serve"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline().startswith("serves ")
        servers.wait_for(lambda: os.path.exists(str(tmp_path / "node" / "socket")))
        assert os.stat(tmp_path / "node" / "socket").st_mode & 0o777 == 0o600
        done = subprocess.run([*pull, "--json", "--cache-only", "mpi:1"], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["image"] == "mpi:1"
        done = subprocess.run([*pull, "mpi:9"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "margay-image-pull: %s: there is no mpi:9\n" % server.url
        done = subprocess.run([*pull, "--list"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("mpi:1  ")
        child.terminate()


# ---- images.conf ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, words", [
    ("", "store: there is none"), ("store = ftp://x", "no URL"), ("store = http://x\nlimit = 1X", "is no size"),
    ("store = http://x\nport = 0", "no number"), ("store = http://x\npeers = x", "not HOST:PORT"),
    ("store = http://x\nother = 1", "other: there is no such key"), ("store", "not lines of"),
    ("[x]\nstore = http://x", "no such key|not lines"), ("store = http://x\nstore = http://y", "not lines")])
def test_wrong_configuration(tmp_path, text, words):
    (tmp_path / "conf").write_text(text)
    with pytest.raises(ImageError, match=words) as raised:
        node_config.Config(str(tmp_path / "conf"))
    assert "\n" not in str(raised.value)


def test_configuration(tmp_path):
    (tmp_path / "conf").write_text("# ours\nstore = http://x/y\nlimit = 2M # small\npeers = a:1 [::1]:2\n")
    config = node_config.Config(str(tmp_path / "conf"))
    assert (config.store, config.limit, config.peers, config.port) == ("http://x/y/", 2 << 20, ["a:1", "[::1]:2"], 7380)
    with pytest.raises(ImageError, match="is missing: it says where images come from"):
        node_config.Config(str(tmp_path / "none"))
