# SPDX-License-Identifier: GPL-2.0-only
"""tools/margay-image-store as it is typed: push, list, verify, sign, keys, gc, and what each refuses. By casync and minisign.

What ends in the middle: test_image_faults.py.
"""

import base64
import os
import shutil
import subprocess
import sys

import pytest

import image_stores as stores
from image_stores import tool
from margay_images import canonical, chunks, manifest, store, trust
from margay_images.errors import ImageError


@pytest.fixture(name="made", scope="module")
def fixture_made(tmp_path_factory):
    """A store in memory with two signed versions; tests that change it take a copy."""
    top = tmp_path_factory.mktemp("images")
    with stores.folder_in_memory(top) as memory:
        made = {"key": stores.Key(top / "keys", "one"), "store": os.path.join(memory, "store"), "memory": memory,
                "1": stores.make_image(top / "1"), "2": stores.make_image(top / "2", version="2", changed=100_000)}
        for version in "12":
            tool("push", made["store"], made[version], "--key", made["key"].secret)
        yield made


@pytest.fixture(name="copied")
def fixture_copied(made, request):
    copy = os.path.join(made["memory"], request.node.name.replace("[", "-").replace("]", ""))
    shutil.copytree(made["store"], copy)
    yield copy
    shutil.rmtree(copy)


def test_push_and_list(made):
    """The second version brings what has changed only; a version that is there again brings nothing."""
    top, key = made["store"], made["key"]
    out, _ = tool("list", top, "--keys", key.folder)
    assert out == ["IMAGE  SIZE    CREATED     KERNEL          SIGNATURE",
                   "mpi:1  0.7 MB  2023-11-14  6.1.0-41-amd64  good (%s)" % key.id,
                   "mpi:2  0.7 MB  2023-11-14  6.1.0-41-amd64  good (%s)" % key.id]
    assert tool("push", top, made["2"]) == (["mpi:2: was there already, 0.7 MB; new: 0 chunks, 0.0 MB"], [])
    assert tool("verify", top, "--keys", key.folder) == (["2 versions: whole, signatures good"], [])
    assert (stores.problems(top, key.folder), stores.rests(top)) == ([], set())
    opened = store.Store(top).open()
    both = [{chunk for file in opened.manifest("mpi", version)[0]["files"].values() for chunk, _ in opened.index(file)}
            for version in "12"]
    assert 0 < len(both[1] - both[0]) <= 6 <= len(both[1] & both[0])
    with open(os.path.join(top, "images/mpi/versions"), encoding="ascii") as f:
        assert f.read() == "1\n2\n"
    assert tool("list", top, "other", status=1)[1] == ["margay-image-store: %s: there is no other" % top]


def test_a_signature_that_was_missing(made, copied, tmp_path):
    """Pushed again with a key, a version that has none gets one; one that has one keeps it."""
    key, other = made["key"], stores.Key(tmp_path / "other", "two")
    path = os.path.join(copied, "images/mpi/1/manifest.json.minisig")
    os.unlink(path)
    tool("push", copied, made["1"])
    assert not os.path.exists(path)
    tool("push", copied, made["1"], "--key", key.secret)
    assert stores.problems(copied, key.folder) == [] and stores.rests(copied) == set()
    tool("push", copied, made["1"], "--key", other.secret)
    assert stores.problems(copied, key.folder) == []


def test_password_is_asked_for(made, copied, tmp_path):
    """Of a key that has one, where its owner sees the question; here nobody answers."""
    with open(made["key"].secret, encoding="ascii") as f:
        comment, line = f.read().splitlines()
    raw = base64.b64decode(line)
    (tmp_path / "key").write_text("%s\n%s\n" % (comment, base64.b64encode(raw[:2] + b"Sc" + raw[4:]).decode()))
    tried = [sys.executable, stores.TOOL, "push", copied, made["1"], "--key", str(tmp_path / "key")]
    done = subprocess.run(tried, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Password: " in done.stderr and "minisign cannot sign by %s" % (tmp_path / "key") in done.stderr
    assert stores.rests(copied) == set()


def test_list_with_a_damaged_signature(made, copied):
    """It says so, and lists the others."""
    with open(os.path.join(copied, "images/mpi/1/manifest.json.minisig"), "w", encoding="ascii") as f:
        f.write("no signature\n")
    out, _ = tool("list", copied, "--keys", made["key"].folder)
    assert out[1].endswith("  damaged") and out[2].endswith("good (%s)" % made["key"].id)


def test_casync_reads_it(made, tmp_path):
    """The store is casync's: its own program puts the root together again, by our index and chunks."""
    opened = store.Store(made["store"]).open()
    digest = opened.manifest("mpi", "2")[0]["files"]["root.squashfs"]["index"]["sha256"]
    subprocess.run(["casync", "extract", "--store=" + opened.chunks, opened.index_path(digest), str(tmp_path / "root")], check=True)
    assert (tmp_path / "root").read_bytes() == stores.root_bytes(100_000)


def test_web_server_may_read_it(made):
    """Whatever umask the pushing operator has."""
    top = os.path.join(made["memory"], "closed")
    subprocess.run(["sh", "-c", 'umask 077; exec "$0" "$@"', stores.TOOL, "push", top, made["1"], "--key", made["key"].secret],
                   check=True, stdout=subprocess.DEVNULL)
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name != "incoming"]
        assert all(os.stat(os.path.join(folder, name)).st_mode & 0o055 == 0o055 for name in folders), folder
        assert all(os.stat(os.path.join(folder, name)).st_mode & 0o044 == 0o044 for name in files if name != "lock"), folder


def test_versions_do_not_change(made, copied, tmp_path):
    other = stores.make_image(tmp_path / "other", version="2", changed=50_000)
    assert tool("push", copied, other, status=1)[1] == [
        "margay-image-store: mpi:2 is in the store already, with other contents: versions do not change, give this one another"]
    assert (stores.problems(copied, made["key"].folder), stores.rests(copied)) == ([], set())


def test_push_refuses(made, tmp_path):
    """What is no image directory, and directories that are no store."""
    wrong = stores.make_image(tmp_path / "wrong")
    with open(os.path.join(wrong, "initrd"), "r+b") as f:
        f.write(b"x")
    assert "wrong: initrd is not what its manifest says" in tool("push", tmp_path / "s", wrong, status=1)[1][0]
    os.unlink(os.path.join(wrong, "kernel"))
    assert tool("push", tmp_path / "s", wrong, status=1)[1][0].endswith("wrong: kernel is missing")
    assert tool("push", tmp_path / "s", tmp_path, status=1)[1][0].endswith("no image directory: it has no manifest.json")
    assert not (tmp_path / "s").exists()
    assert tool("push", tmp_path, made["1"], status=1)[1][0].endswith("neither empty nor an image store")
    assert tool("list", tmp_path, status=1)[1][0].endswith("no image store: the first push makes one, in a directory that is empty")
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "store.json").write_bytes(canonical.write({"kind": store.KIND, "format": 2}))
    assert "of another format" in tool("list", tmp_path / "newer", status=1)[1][0]


def flip(path, offset):
    os.chmod(path, 0o644)
    with open(path, "r+b") as f:
        f.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte[0] ^ 1]))


def damage(top, what):
    """Flips one byte, or takes one file away; what verify has to say."""
    opened = store.Store(top).open()
    file = opened.manifest("mpi", "1")[0]["files"]["initrd"]
    chunk = opened.index(file)[0][0]
    index_path, manifest_path = opened.index_path(file["index"]["sha256"]), os.path.join(top, "images/mpi/1/manifest.json")
    if what == "chunk":
        flip(chunks.path(opened.chunks, chunk), 200)
        return chunk
    if what == "no chunk":
        os.unlink(chunks.path(opened.chunks, chunk))
        return "mpi:1: initrd: 1 of %d chunks are missing, the first is %s" % (len(opened.index(file)), chunk)
    if what == "another chunk":
        other = opened.index(opened.manifest("mpi", "1")[0]["files"]["kernel"])[0][0]
        shutil.copy(chunks.path(opened.chunks, other), chunks.path(opened.chunks, chunk) + ".new")
        os.rename(chunks.path(opened.chunks, chunk) + ".new", chunks.path(opened.chunks, chunk))
        return chunk
    if what == "index":
        flip(index_path, 70)
        return "damaged: %d bytes" % file["index"]["size"]
    if what == "no index":
        os.unlink(index_path)
        return "is missing"
    if what == "signature":
        with open(manifest_path + ".minisig", "r+b") as f:
            lines = f.read().split(b"\n")
            # Of base64, in the middle of the 64 bytes that sign the file; the key's id stays.
            lines[1] = lines[1][:60] + (b"A" if lines[1][60:61] != b"A" else b"B") + lines[1][61:]
            f.seek(0)
            f.write(b"\n".join(lines))
        return "wrong signature: not by key"
    if what == "manifest":
        with open(manifest_path, "r+b") as f:
            data = f.read().replace(b"console=ttyS0", b"console=ttyS1")
            f.seek(0)
            f.write(data)
        return "wrong signature: not by key"
    os.unlink(manifest_path + ".minisig")
    return "mpi:1: not signed"


DAMAGES = ("chunk", "no chunk", "another chunk", "index", "no index", "signature", "manifest", "no signature")


@pytest.mark.parametrize("what", DAMAGES)
def test_verify_finds(made, copied, what):
    """One line for one damage; the other version is whole."""
    text = damage(copied, what)
    _, lines = tool("verify", copied, "--keys", made["key"].folder, status=1)
    assert len(lines) == 1 and text in lines[0], lines
    tool("verify", copied, "mpi:2", "--keys", made["key"].folder)


@pytest.mark.parametrize("what", ("no chunk", "no index"))
def test_push_mends(made, copied, what):
    """Pushed again, what a store has lost comes back."""
    damage(copied, what)
    tool("push", copied, made["1"])
    assert stores.problems(copied, made["key"].folder) == []


def test_gc(made, copied):
    before = {name for name, _ in store.Store(copied).chunk_files()}
    would, _ = tool("gc", copied, "--keep", "1", "--dry-run")
    assert {name for name, _ in store.Store(copied).chunk_files()} == before
    out, _ = tool("gc", copied, "--keep", "1")
    assert out[0] == "mpi:1: removed" and would[1] == "would go: " + out[1].removeprefix("removed: ")
    assert (stores.problems(copied, made["key"].folder), stores.rests(copied)) == ([], set())
    assert tool("list", copied)[0][1].startswith("mpi:2 ") and len(tool("list", copied)[0]) == 2
    assert tool("gc", copied, "--remove", "mpi:1", status=1)[1][0].endswith("there is no mpi:1")
    assert tool("gc", copied, "--keep", "0", status=1)[1][0].startswith("margay-image-store: --keep 0")
    tool("gc", copied, "--remove", "mpi:2")
    assert not list(store.Store(copied).chunk_files()) and os.listdir(os.path.join(copied, "images")) == []


@pytest.mark.parametrize("what", ("manifest", "index", "no index"))
def test_gc_knows_what_it_does_not_know(copied, what):
    """What a damaged manifest or index names nobody can tell: nothing goes."""
    if what == "manifest":
        flip(os.path.join(copied, "images/mpi/1/manifest.json"), 3)
    else:
        damage(copied, what)
    before = sorted(store.Store(copied).chunk_files())
    tool("gc", copied, "--remove", "mpi:2", status=1)
    assert sorted(store.Store(copied).chunk_files()) == before and store.Store(copied).versions("mpi") == ["1", "2"]


def test_sign_needs_to_know_what(made, copied):
    """Not what lies in the store: somebody may have put it there."""
    key = made["key"]
    damage(copied, "no signature")
    sign = ("sign", copied, "mpi:1", "--keys", key.folder, "--key", key.secret)
    assert "nothing says what it is" in tool(*sign, status=1)[1][0]
    assert "is not the image of" in tool(*sign, "--image", made["2"], status=1)[1][0]
    assert tool(*sign, "--image", made["1"]) == (["mpi:1: signed"], [])
    assert stores.problems(copied, key.folder) == []
    assert tool("sign", copied, "--key", key.secret, status=1)[1] == ["margay-image-store: give either NAME:VERSION or --all"]


def test_keys_rotate(made, copied, tmp_path):
    """A list signed by the old key names the new one; the old one's signatures end with it, and signing anew mends that."""
    old, new = made["key"], stores.Key(tmp_path / "new", "two")
    by_old = ("--keys", old.folder, "--key", old.secret)
    out, _ = tool("keys", copied, *by_old, "--add", new.public)
    assert out == ["list 1"] + sorted(["%s  good" % old.id, "%s  good" % new.id])
    assert stores.problems(copied, old.folder) == []
    # Only what is known to be good is signed by the new key.
    tool("sign", copied, "--all", "--keys", old.folder, "--key", new.secret)
    out, _ = tool("keys", copied, *by_old, "--revoke", old.id)
    assert out == ["list 2", "%s  good" % new.id, "%s  revoked" % old.id]
    assert stores.problems(copied, old.folder) == []
    # Who signs by the old key signs nothing.
    tool("sign", copied, "mpi:1", *by_old)
    assert stores.problems(copied, old.folder) == ["mpi:1: signed by %s, a key that is revoked" % old.id]
    assert "nothing says what it is" in tool("sign", copied, "mpi:1", "--keys", old.folder, "--key", new.secret, status=1)[1][0]
    tool("sign", copied, "mpi:1", "--keys", old.folder, "--key", new.secret, "--image", made["1"])
    assert stores.problems(copied, old.folder) == []
    # It cannot make lists, and does not come back.
    assert "is revoked, and stays so" in tool("keys", copied, *by_old, "--add", old.public, status=1)[1][0]
    other = stores.Key(tmp_path / "other", "three")
    assert "no key that counted before it" in tool("keys", copied, *by_old, "--add", other.public, status=1)[1][0]


def test_keys_expire(made, copied, tmp_path):
    old, new = made["key"], stores.Key(tmp_path / "new", "two")
    by_old = ("--keys", old.folder, "--key", old.secret)
    assert tool("keys", copied, *by_old, "--until", old.id + "=2001-01-01", status=1)[1] == [
        "margay-image-store: no key would count any more: add one first"]
    out, _ = tool("keys", copied, *by_old, "--add", new.public, "--until", old.id + "=2001-01-01")
    assert "%s  expired, until 2001-01-01" % old.id in out
    assert stores.problems(copied, old.folder) == ["mpi:%s: signed by %s, a key that has expired" % (v, old.id) for v in "12"]
    # It was good once: by the new key it counts again, without the image directory.
    tool("sign", copied, "--all", "--keys", old.folder, "--key", new.secret)
    assert stores.problems(copied, old.folder) == []
    assert "expected ID=YYYY-MM-DD" in tool("keys", copied, *by_old, "--until", old.id + "=soon", status=1)[1][0]
    assert "is signed: give --key" in tool("keys", copied, "--keys", old.folder, "--revoke", old.id, status=1)[1][0]


def test_strange_keys(made, copied, tmp_path):
    """A signature by a key that was never told; a machine without keys; a list by a stranger."""
    stranger = stores.Key(tmp_path / "stranger", "x")
    assert stores.problems(copied, stranger.folder) == [
        "mpi:%s: signed by %s, a key that does not count here" % (v, made["key"].id) for v in "12"]
    (tmp_path / "none").mkdir()
    assert "no public key" in tool("verify", copied, "--keys", tmp_path / "none", status=1)[1][0]
    # A stranger's own lists are good to those who believe the stranger, and to nobody else.
    tool("keys", copied, "--keys", stranger.folder, "--key", stranger.secret, "--add", made["key"].public)
    assert "signed by %s, no key that counted before it" % stranger.id in \
        tool("verify", copied, "--keys", made["key"].folder, status=1)[1][0]
    os.unlink(os.path.join(copied, "keys/1/keys.json.minisig"))
    assert tool("verify", copied, "--keys", made["key"].folder, status=1)[1][0].endswith("keys/1/keys.json: not signed")


def follow(believed, key, **fields):
    value = {"kind": trust.KIND, "format": trust.FORMAT, "serial": believed.serial + 1, "keys": list(believed.keys.values()),
             "revoked": sorted(believed.revoked), **fields}
    data = canonical.write(value)
    return believed.follow(data, trust.minisign.sign(data, key.secret, "test"), "list")


def test_lists_that_are_refused(tmp_path):
    """Each by its own line."""
    one, two = stores.Key(tmp_path / "one", "1"), stores.Key(tmp_path / "two", "2")
    believed = trust.of_folder(one.folder)
    keys = list(believed.keys.values())
    of_two = {"id": two.id, "public": trust.minisign.read_public(two.public), "until": None}
    after = follow(believed, one, keys=[of_two], revoked=[one.id])
    assert (after.state(one.id), after.state(two.id), after.serial) == ("revoked", "good", 1)
    for text, fields in (("is list 3, not 1", {"serial": 3}),
                         ("twice, out of order, or though it is revoked", {"revoked": [one.id]}),
                         ("has another id than it says", {"keys": [{**keys[0], "id": two.id}]}),
                         ("twice, out of order", {"keys": keys * 2}), ("'kind' is not what", {"kind": manifest.KIND}),
                         ("unknown key 'more'", {"more": 1}), ("'until' is not what", {"keys": [{**keys[0], "until": "2030"}]})):
        with pytest.raises(ImageError, match=text):
            follow(believed, one, **fields)
    other = canonical.write({"kind": trust.KIND, "format": trust.FORMAT, "serial": 1, "keys": [of_two], "revoked": []})
    signed = trust.minisign.sign(canonical.write({"kind": "other"}), one.secret, "test")
    with pytest.raises(ImageError, match="list: wrong signature"):
        believed.follow(other, signed, "list")
    with pytest.raises(ImageError, match="a revoked key would count again"):
        follow(after, two, revoked=[])
    with pytest.raises(ImageError, match="no key that counted before it"):
        follow(after, one, keys=[of_two])


def test_a_signature_is_of_one_thing(made, copied):
    """One version's manifest and signature, put in the place of another's, are refused: an old one is not handed out as new."""
    shutil.rmtree(os.path.join(copied, "images/mpi/2"))
    shutil.copytree(os.path.join(copied, "images/mpi/1"), os.path.join(copied, "images/mpi/2"))
    assert stores.problems(copied, made["key"].folder) == ["%s/images/mpi/2/manifest.json: is of mpi:1" % copied]


@pytest.mark.parametrize("text, change", (
    ("'name' is not what", {"name": "../x"}), ("'name' is not what", {"name": "A"}), ("'version' is not what", {"version": "1/2"}),
    ("'version' is not what", {"version": "latest"}),
    ("unknown key 'size'", {"size": 1}), ("'created' is not what", {"created": -1}),
    ("'created' is not what", {"created": True}), ("'cmdline' is not what", {"cmdline": "a\nb"}),
    ("format 2: this Margay reads 1", {"format": 2}), ("files: 'initrd' is missing", {"files": {}}),
    ("files: unknown key 'x'", {"files": {"x": {}}}),
    ("needs: 'options' is not what", {"needs": {"memory_mib": 1, "options": ["x"]}}),
    ("needs: 'memory_mib' is not what", {"needs": {"memory_mib": 0, "options": []}}),
))
def test_manifests_that_are_refused(made, text, change):
    with open(os.path.join(made["1"], "manifest.json"), "rb") as f:
        value = canonical.read(f.read(), "x")
    if change.get("files"):
        change = {"files": {**value["files"], **change["files"]}}
    elif "files" in change:
        change = {"files": {name: file for name, file in value["files"].items() if name != "initrd"}}
    with pytest.raises(ImageError, match=text):
        manifest.parse(canonical.write({**value, **change}), "m", indexed=False)


@pytest.mark.parametrize("data", (b"", b"{", b'{"a":1}', b'{\n "a": 1,\n "a": 1\n}\n', b'{\n "a": NaN\n}\n', b"[]\n", b"\xff",
                                  b"[" * 5000, b" " * (1 << 21), b'{\n "b": 1,\n "a": 1\n}\n', b'{\n "a": 1\n}',
                                  b'{\n "a": 1.0e1\n}\n'))
def test_json_of_one_form_only(data):
    with pytest.raises(ImageError):
        canonical.read(data, "x")
    assert canonical.read(b'{\n "a": 1\n}\n', "x") == {"a": 1}
