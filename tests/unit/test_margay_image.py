# SPDX-License-Identifier: GPL-2.0-only
"""`margay image put` (tools/client/image.c): files and pipes, what is sent, what is not, and how far it is."""

import contextlib
import errno
import hashlib
import json
import os
import pty
import subprocess

from client_node import CLIENT, DATA, IMAGE, IMAGE_END, ImageMemory, starter  # noqa: F401  (starter is a fixture)


def image(size):
    return bytes(i * 31 % 251 for i in range(size))


def test_a_file(start, tmp_path):
    """In pieces; the same again is success, and is not sent."""
    path, store = tmp_path / "image", ImageMemory()
    path.write_bytes(image(100000))
    node = start(store)
    assert json.loads(node.run("--json", "image", "put", str(path))[1])["sent"] is True
    assert [what for what, _ in node.asked] == [IMAGE] + 4 * [DATA] + [IMAGE_END] and store.names.keys() == {"image"}
    assert json.loads(node.run("--json", "image", "put", str(path))[1])["sent"] is False
    assert node.run("image", "put", str(path), "other") == (0, "", "") and len(node.asked) == 8
    assert store.names["image"] == store.names["other"] and len(store.contents) == 1


def test_a_name_moves_only_if_that_is_wanted(start, tmp_path):
    path, store = tmp_path / "image", ImageMemory()
    node = start(store)
    path.write_bytes(b"first")
    assert node.run("image", "put", str(path))[0] == 0
    path.write_bytes(b"second")
    assert node.run("image", "put", str(path)) == (1, "", "margay: image: there is an image of that name\n")
    assert store.contents[store.names["image"]] == b"first"
    assert node.run("image", "put", str(path), "--replace") == (0, "", "")
    assert store.contents[store.names["image"]] == b"second"


def test_a_pipe(start):
    """By -, and by a file that is one."""
    store = ImageMemory()
    node = start(store)
    environment = {**os.environ, "MARGAY_PORT": node.path}
    for words in (["-", "piped"], ["/dev/stdin", "named"]):
        done = subprocess.run([CLIENT, "image", "put", *words], input=image(70000), env=environment, capture_output=True,
                              check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert store.contents[store.names[words[1]]] == image(70000)
    assert node.run("image", "put", "-") == (2, "", "margay: image put -: expected a name behind it\n")


def test_an_older_node_replaces_nothing(start, tmp_path):
    (tmp_path / "image").write_bytes(b"x")
    old = b"expected a name, a size in bytes, and a SHA-256 in hexadecimal digits"
    node = start(lambda what, text: (errno.EINVAL, old) if text.endswith(" replace") else (0, b"have=yes\n"))
    assert node.run("image", "put", str(tmp_path / "image")) == (0, "", "")
    assert node.run("image", "put", "--replace", str(tmp_path / "image")) == (1, "", "margay: %s\n" % old.decode())


def test_progress(start, tmp_path):
    """On a terminal, and nothing is left of it there."""
    path = tmp_path / "image"
    path.write_bytes(image(200000))
    node = start(ImageMemory())
    master, slave = pty.openpty()
    done = subprocess.run([CLIENT, "image", "put", str(path)], env={**os.environ, "MARGAY_PORT": node.path}, stdout=subprocess.PIPE,
                          stderr=slave, check=False)
    os.close(slave)
    said = b""
    with contextlib.suppress(OSError):
        while piece := os.read(master, 4096):
            said += piece
    os.close(master)
    assert (done.returncode, done.stdout) == (0, b"")
    assert said.startswith(b"\rimage: 0 % of 0 MiB\033[K") and said.endswith(b"\r\033[K")


def piped(node, data, *words):
    environment = {**os.environ, "MARGAY_PORT": node.path}
    done = subprocess.run([CLIENT, "image", "put", *words, "-", "piped"], input=data, env=environment, capture_output=True,
                          check=False)
    return done.returncode, done.stderr.decode()


def known(data):
    return ["--sha256", hashlib.sha256(data).hexdigest(), "--size", str(len(data))]


def test_a_pipe_of_which_all_is_known(start, tmp_path, monkeypatch):
    """It goes on as it comes, where no file can be made; and not at all if the node has it."""
    store = ImageMemory()
    node = start(store)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    read, write = os.pipe()
    with subprocess.Popen([CLIENT, "image", "put", *known(image(200000)), "-", "piped"], stdin=read,
                          env={**os.environ, "MARGAY_PORT": node.path}) as child:
        os.close(read)
        os.write(write, image(200000)[:40000])
        # A piece has come before the pipe has ended.
        while DATA not in [what for what, _ in node.asked]:
            assert child.poll() is None
        os.write(write, image(200000)[40000:80000])
        os.write(write, image(200000)[80000:140000])
        os.write(write, image(200000)[140000:])
        os.close(write)
        assert child.wait(30) == 0
    assert store.contents[store.names["piped"]] == image(200000)
    asked = len(node.asked)
    assert piped(node, b"", *known(image(200000))) == (0, "") and len(node.asked) == asked + 1


def test_a_pipe_that_is_not_what_it_was_said_to_be(start):
    """Shorter or longer than its size: it is not ended, and so has no name. Another content the node refuses."""
    def judge(what, text):
        if what == IMAGE_END:
            return errno.EINVAL, b"piped: another hash"
        return 0, b"have=no\n" if what == IMAGE else b""
    for data in (image(99999), image(100001), image(200000), b""):
        node = start(judge)
        assert piped(node, data, *known(image(100000))) == (3, "margay: -: not so many bytes as --size says\n")
        assert IMAGE_END not in [what for what, _ in node.asked]
    assert piped(start(judge), image(100000)[::-1], *known(image(100000))) == (1, "margay: piped: another hash\n")


def test_what_is_known_is_told_whole(start):
    node = start(ImageMemory())
    sizes = "-1", "", "1x", "99999999999999999999"
    for words in (["--sha256", 64 * "a"], ["--size", "1"], ["--sha256", 63 * "a", "--size", "1"],
                  ["--sha256", 64 * "A", "--size", "1"], *(["--sha256", 64 * "a", "--size", size] for size in sizes)):
        status, said = piped(node, b"x", *words)
        assert status == 2 and said.count("\n") == 1 and not node.asked, words
