# SPDX-License-Identifier: GPL-2.0-only
"""`margay image pull` of what must not be believed: each is refused with one line, and nothing of it reaches the node's memory.

From real HTTP servers, honest and hostile ones; the node is one of client_node.py, the client that sends to it the real one.
"""

import errno
import hashlib
import os
import resource
import shutil
import time

import pytest
import zstandard

import image_servers as servers
import image_stores as stores
from client_node import IMAGE, IMAGE_END, ImageMemory, starter  # noqa: F401  (starter is a fixture)
from margay_images import chunks, fetch, store
from margay_images.errors import ImageError


@pytest.fixture(name="made", scope="module")
def fixture_made(tmp_path_factory):
    """A store in memory with two signed versions, 1 and 2."""
    top = tmp_path_factory.mktemp("images")
    with stores.folder_in_memory(top) as memory:
        made = {"key": stores.Key(top / "keys", "one"), "store": os.path.join(memory, "store"), "top": top}
        for version, changed in ("1", 0), ("2", 100_000):
            made[version] = stores.make_image(top / version, version=version, changed=changed)
            stores.pushed(made["store"], made[version], made["key"].secret)
        yield made


class Case:
    """A server of a copy of the store, and a node that nothing may reach."""

    def __init__(self, made, tmp_path, node):
        self.store = str(tmp_path / "store")
        shutil.copytree(made["store"], self.store)
        self.server, self.node, self.key = servers.Server(self.store), node, made["key"]
        self.config = servers.config_of(tmp_path / "node", self.server.url, self.key.folder)
        self.opened = store.Store(self.store).open()

    def first_chunk(self, version="1", file="root.squashfs"):
        return self.opened.index(self.opened.manifest("mpi", version)[0]["files"][file])[0]

    def refused(self, words, image="mpi:1", reached=0, status=1, **options):
        """One line with these words, and no file was begun to be sent. status: 3 where the image is not at fault."""
        with pytest.raises(ImageError, match=words) as raised:
            servers.pulled(self.config, image, **options)
        assert "\n" not in str(raised.value) and raised.value.status == status
        assert sum(what == IMAGE for what, _ in self.node.asked) == reached, self.node.asked
        return str(raised.value)

    def path(self, *parts):
        return os.path.join(self.store, *parts)


@pytest.fixture(name="case")
def fixture_case(made, tmp_path, start, monkeypatch):
    node = start(ImageMemory())
    monkeypatch.setenv("MARGAY_PORT", node.path)
    case = Case(made, tmp_path, node)
    yield case
    case.server.end()


def test_control(case):
    """What is refused below is taken when nothing is wrong with it."""
    assert servers.pulled(case.config, "mpi:1")["sent"] == 3
    assert sum(what == IMAGE for what, _ in case.node.asked) == 3


def test_manifest_is_verified_first(case, monkeypatch):
    """Of a version that is not believed nothing else is asked for, nor is it parsed."""
    monkeypatch.setattr("margay_images.manifest.parse", lambda *arguments, **words: pytest.fail("parsed"))
    case.server.lies["manifest.json"] = lambda handler: (None if handler.path.endswith("sig") else servers.send(handler, b"junk"),
                                                         handler.path.endswith("sig"))[1]
    case.refused("wrong signature")
    assert case.server.asked == ["/keys/1/keys.json", "/images/mpi/1/manifest.json", "/images/mpi/1/manifest.json.minisig"]


def test_byte_of_the_manifest(case):
    case.server.lies["manifest.json"] = lambda handler: (
        None if handler.path.endswith("sig") else servers.flipped(100)(handler), handler.path.endswith("sig"))[1]
    case.refused("^mpi:1: wrong signature: not by key %s$" % case.key.id)


def test_signature_of_another(case):
    """Of the other version: good, but not of this one."""
    shutil.copy(case.path("images/mpi/2/manifest.json.minisig"), case.path("images/mpi/1/manifest.json.minisig"))
    case.refused("^mpi:1: wrong signature")


def test_signature_that_is_none(case):
    for text in "", "untrusted comment: x\n%s\n" % ("A" * 99), "\n\n\n":
        with open(case.path("images/mpi/1/manifest.json.minisig"), "w", encoding="ascii") as f:
            f.write(text)
        case.refused("no signature of minisign")
    os.unlink(case.path("images/mpi/1/manifest.json.minisig"))
    case.refused("^mpi:1: not signed$")


def test_unknown_key(case, tmp_path):
    other = stores.Key(tmp_path / "other", "two")
    case.config.keys = other.folder
    case.refused("^mpi:1: signed by %s, a key that does not count here$" % case.key.id)


def test_no_key_at_all(case, tmp_path):
    case.config.keys = str(tmp_path / "none")
    case.refused("no public key", status=3)
    assert not case.server.asked


def with_list(case, made, tmp_path, **change):
    """A list of keys in the store by which another key counts, too, and the old one not any more."""
    other = stores.Key(tmp_path / "other", "two")
    words = ["keys", case.store, "--keys", case.key.folder, "--key", case.key.secret, "--add", other.public]
    for option, value in change.items():
        words += ["--" + option, value]
    stores.tool(*words)
    return other


def test_revoked_key(case, made, tmp_path):
    other = with_list(case, made, tmp_path, revoke=made["key"].id)
    case.refused("^mpi:1: signed by %s, a key that is revoked$" % made["key"].id)
    # It stays so for this node when the store has the list no more.
    shutil.rmtree(case.path("keys"))
    case.refused("a key that is revoked")
    stores.tool("keys", case.store, "--keys", case.key.folder, "--key", case.key.secret, "--until", "%s=2099-01-01" % case.key.id)
    case.refused("a key that is revoked")
    assert other.id != made["key"].id


def test_expired_key(case, made, tmp_path, monkeypatch):
    with_list(case, made, tmp_path, until="%s=2099-01-01" % made["key"].id)
    assert servers.pulled(case.config, "mpi:1", cache_only=True)["image"] == "mpi:1"
    now = time.time()
    monkeypatch.setattr("margay_images.trust.time.time", lambda: now + 100 * 365 * 86400)
    case.refused("^mpi:1: signed by %s, a key that has expired$" % made["key"].id)


def test_list_of_keys_that_is_not_signed_by_one_of_before(case, made, tmp_path):
    with_list(case, made, tmp_path)
    case.server.lies["keys.json.minisig"] = servers.flipped(120)
    case.refused("keys/1/keys.json")
    case.server.lies.clear()
    case.server.lies["keys.json"] = lambda handler: (
        None if handler.path.endswith("sig") else servers.flipped(-40)(handler), handler.path.endswith("sig"))[1]
    case.refused("keys/1/keys.json")
    assert not os.path.exists(os.path.join(case.config.state, "keys"))


def test_another_image_in_its_place(case):
    """Signed well, but as another: an old version under a new one's name, too."""
    for name in "manifest.json", "manifest.json.minisig":
        shutil.copy(case.path("images/mpi/1", name), case.path("images/mpi/2", name))
    case.refused("^mpi:2: the store has mpi:1 in its place$", "mpi:2")


def test_older_version(case):
    assert servers.pulled(case.config, "mpi")["image"] == "mpi:2"
    case.refused("^mpi:1 is older than 2, which this node has had: --allow-downgrade takes it$", reached=3)
    # Also where the store hides the newer one.
    case.server.lies["/versions"] = lambda handler: servers.send(handler, b"1\n")
    case.refused("is older than 2", "mpi", reached=3)
    assert servers.pulled(case.config, "mpi", allow_downgrade=True)["sent"] == 2
    # Once is not for ever.
    case.refused("is older than 2", reached=6)


def test_byte_of_an_index(case):
    for where in 0, 60, -1:
        case.server.lies[".caibx"] = servers.flipped(where)
        case.refused("damaged: it is not the index that the manifest names$")
    assert not case.server.got("/chunks/")


def test_byte_of_a_chunk(case):
    """In zstd's header, in the middle, at the end. (Of some bits of its header nothing depends: the bytes are as they were.)"""
    chunk, _ = case.first_chunk()
    for where in 0, 1000, -5:
        case.server.lies[chunk] = servers.flipped(where)
        assert chunk in case.refused("damaged|not [0-9]+ bytes|: no")
        assert not os.path.exists(chunks.path(os.path.join(case.config.cache, "chunks"), chunk))


def test_another_chunk(case):
    """Whole, and of the same size."""
    chunk, size = case.first_chunk()
    other = zstandard.ZstdCompressor().compress(bytes(size))
    case.server.lies[chunk] = lambda handler: servers.send(handler, other)
    case.refused("%s.*damaged: its hash is not its name$" % chunk)


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize("more", [300 << 20, 1, -1])
def test_a_chunk_that_unpacks_to_more_or_less(case, says, more):
    """To gigabytes, or to a byte more or less; whether it says so or not. No more memory is taken than it should have."""
    chunk, size = case.first_chunk()
    packer = zstandard.ZstdCompressor(write_content_size=says).compressobj(size=size + more)
    bomb = b"".join(packer.compress(bytes(min(1 << 20, size + more - start))) for start in range(0, size + more, 1 << 20))
    bomb += packer.flush()
    assert len(bomb) < chunks.LIMIT
    case.server.lies[chunk] = lambda handler: servers.send(handler, bomb)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    case.refused("%s.*(not %d bytes|damaged: )" % (chunk, size))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_missing_chunk(case):
    chunk, _ = case.first_chunk()
    os.unlink(chunks.path(case.opened.chunks, chunk))
    case.refused("%s%s: is not there$" % (chunk, chunks.SUFFIX))


def test_missing_image(case):
    case.refused("there is no mpi:3$", "mpi:3")
    case.refused("there is no other$", "other")


PATHS = [("keys.json", None), ("/versions", None), ("manifest.json", None), ("minisig", None), (".caibx", None), ("/chunks/", None)]


@pytest.mark.parametrize("part", [part for part, _ in PATHS])
@pytest.mark.parametrize("after", [0, 100])
def test_server_that_stalls(case, part, after):
    """Before the first byte, and in the middle, of each kind of file."""
    if part == "keys.json":
        case.server.lies[part] = lambda handler: (servers.send(handler, b"x", 1000), handler.server.ended.wait())[0]
    else:
        case.server.lies[part] = servers.stalls(min(after, 1) if part == "/versions" else after)
    case.config.timeout = 0.3
    case.refused("stalls$|Timeout", "mpi", status=3)


@pytest.mark.parametrize("part", ["manifest.json", ".caibx", "/chunks/"])
def test_server_that_drips(case, part, monkeypatch):
    """Never so slow that it is a stall, but no end can be seen."""
    monkeypatch.setattr(fetch, "SLOWEST", 1 << 40)
    case.server.lies[part] = servers.drips
    case.config.timeout = 3
    case.refused("stalls$", status=3)


@pytest.mark.parametrize("part", ["manifest.json", "minisig", ".caibx", "/chunks/"])
@pytest.mark.parametrize("lie, words", [
    (servers.says_more, "ends before it is whole|can be right"), (servers.says_terabytes, "where at most [0-9]+ can be right$"),
    (servers.has_no_end, "more than [0-9]+ bytes$")])
def test_server_that_lies_about_sizes(case, part, lie, words):
    case.server.lies[part] = lie
    # How long an index is the manifest says; of the others what is too short may be cut off.
    case.refused(words, status=3 if lie is servers.says_more and part != ".caibx" else 1)
    # What is too long was not read to its end.
    assert getattr(case.server, "endless", 0) < 32 << 20


def test_server_that_sends_elsewhere(case, tmp_path):
    """A redirect could lead into the node's own network."""
    inner = servers.Server(tmp_path)
    case.server.elsewhere = inner.url
    case.server.lies["manifest.json"] = servers.redirects
    case.refused("the server says 302$", status=3)
    assert not inner.asked
    inner.end()


def test_server_that_is_not_there(case):
    case.server.end()
    case.refused("cannot be reached: .*refused", status=3)


@pytest.mark.parametrize("data", [b"", b"1\n../../etc\n", b"\xff\xff", b"x\n", b"1 2 /\n"])
def test_list_of_versions_that_is_none(case, data):
    case.server.lies["/versions"] = lambda handler: servers.send(handler, data)
    case.refused("no list of versions$", "mpi")


def test_node_hashes_another(case, start, monkeypatch):
    """What is damaged after all checks, in this machine's memory, the node refuses: it hashes what it gets."""
    memory = ImageMemory()

    def answer(what, text):
        if what == IMAGE_END and hashlib.sha256(memory.data).hexdigest() != memory.coming[2]:
            return errno.EINVAL, b"its hash is another"
        return memory(what, text)
    monkeypatch.setenv("MARGAY_PORT", start(answer).path)
    unpack = chunks.unpack
    monkeypatch.setattr("margay_images.put.chunks.unpack", lambda packed, size, where: bytes(size))
    # The one function is used for what comes, and to find whose fault it was, too.
    monkeypatch.setattr("margay_images.chunks.judge", lambda packed, name, size, where: unpack(packed, size, where))
    case.refused("^mpi/1/kernel: the node does not take it: its hash is another$", status=3)
    assert not memory.names


def test_version_that_is_none(case):
    for image in "mpi:..", "../mpi", "mpi:", "MPI", "mpi:1:2", "":
        case.refused("is not NAME", image)
    assert not case.server.asked
