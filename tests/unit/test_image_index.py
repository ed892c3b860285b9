# SPDX-License-Identifier: GPL-2.0-only
"""casync's indexes as we read them, against casync's own; damaged ones; chunks that lie about their sizes; order of versions."""

import os
import random
import struct
import subprocess

import pytest
import zstandard

from margay_images import chunks, index, version_order
from margay_images.errors import ImageError

SIZE = 700_000


@pytest.fixture(name="cut", scope="module")
def fixture_cut(tmp_path_factory):
    top = tmp_path_factory.mktemp("cut")
    (top / "file").write_bytes(random.Random(3).randbytes(SIZE))
    chunks.cut(str(top / "file"), str(top / "chunks"), str(top / "file.caibx"))
    return top


def test_as_casync_has_it(cut):
    """Chunks of an index are the files of the store, and together the file."""
    parts = index.parse((cut / "file.caibx").read_bytes(), "x", SIZE)
    assert len(parts) > 3 and sum(size for _, size in parts) == SIZE
    assert {name for name, _ in parts} == {chunks.name_of(path.name) for path in (cut / "chunks").rglob("*.cacnk")}
    assert b"".join(chunks.read(str(cut / "chunks"), *part) for part in parts) == (cut / "file").read_bytes()
    digest = subprocess.run(["sha256sum", str(cut / "file")], capture_output=True, text=True, check=True).stdout.split()[0]
    assert chunks.digest(str(cut / "chunks"), parts) == digest
    assert len((cut / "file.caibx").read_bytes()) <= index.limit(SIZE)


def test_an_empty_file(tmp_path):
    (tmp_path / "file").touch()
    chunks.cut(str(tmp_path / "file"), str(tmp_path / "chunks"), str(tmp_path / "file.caibx"))
    parts = index.parse((tmp_path / "file.caibx").read_bytes(), "x", 0)
    assert chunks.digest(str(tmp_path / "chunks"), parts) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def with_u64(data, offset, value):
    return data[:offset] + struct.pack("<Q", value) + data[offset + 8:]


def test_damaged_indexes(cut):
    """Cut anywhere, or with one number changed, it is refused; but for what a chunk itself tells: its id, and its size by one."""
    data = (cut / "file.caibx").read_bytes()
    for length in range(len(data)):
        with pytest.raises(ImageError):
            index.parse(data[:length], "x", SIZE)
    for offset in (*range(0, 64, 8), 64, *range(len(data) - 40, len(data), 8)):
        value = struct.unpack_from("<Q", data, offset)[0]
        if offset == 16:
            with pytest.raises(ImageError, match="SHA-512/256"):
                index.parse(with_u64(data, offset, value | index.SHA512_256), "x", SIZE)
            continue
        for other in (0 if value else 1, 2**64 - 2) + ((value ^ 1,) if offset != 64 else ()):
            with pytest.raises(ImageError):
                index.parse(with_u64(data, offset, other), "x", SIZE)
    with pytest.raises(ImageError, match="the file has 700001"):
        index.parse(data, "x", SIZE + 1)
    assert index.parse(data, "x", SIZE)


def put(tmp_path, name, data):
    path = chunks.path(str(tmp_path), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def test_chunks_that_lie(tmp_path):
    """One that unpacks to a gigabyte is not unpacked; one too short, of other bytes, or no zstd at all is refused."""
    name = "ab" * 32
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 30))
    for text, data in (("not 1000 bytes", bomb), ("not 1000 bytes", zstandard.ZstdCompressor().compress(bytes(999))),
                       ("its hash is not its name", zstandard.ZstdCompressor().compress(bytes(1000))), ("damaged", b"x" * 100),
                       ("damaged", b"")):
        put(tmp_path, name, data)
        with pytest.raises(ImageError, match=text):
            chunks.read(str(tmp_path), name, 1000)


def test_names_of_chunks():
    good = "0123456789abcdef" * 4
    assert chunks.name_of(good + ".cacnk") == good
    for other in (good, good + ".cacnk.new", good[1:] + ".cacnk", good.upper() + ".cacnk", "." + good[1:] + ".cacnk"):
        assert chunks.name_of(other) is None


VERSIONS = ("0", "1", "1.9", "1.10", "1.10a", "1.10-1", "1.10+b1", "1.10.0", "1.0~rc1", "1.0", "1.0~", "1.0~~", "2026.11.29-1",
            "2026.11.29-10", "01", "1a", "1A", "1-1", "1.", "10")


def test_order_of_versions():
    """dpkg judges, pair by pair."""
    for one in VERSIONS:
        for two in VERSIONS:
            if one < two:
                ours = (version_order.key(one) > version_order.key(two)) - (version_order.key(one) < version_order.key(two))
                word = {-1: "lt", 0: "eq", 1: "gt"}[ours]
                # With an epoch and a revision in front and behind, a "-" within is a part of the version, as here.
                pair = ("0:%s-0" % one, word, "0:%s-0" % two)
                assert subprocess.run(["dpkg", "--compare-versions", *pair], check=False).returncode == 0, pair
