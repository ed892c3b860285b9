# SPDX-License-Identifier: GPL-2.0-only
"""What root writes on the head in a directory where SlurmUser may write, too (tools/margay_slurm/files.py): no link that lies there
is followed, and a text is on the disk before it has its name."""

import os
import types

import pytest

from margay_slurm import records, setup, upgrade


@pytest.fixture(name="victim")
def fixture_victim(tmp_path):
    path = tmp_path / "victim"
    path.write_text("whole", encoding="utf-8")
    return path


def test_a_link_under_the_new_name(tmp_path, victim):
    """It goes; also a file of a process that was killed and had the same number."""
    known = records.Records(str(tmp_path))
    known.write("n1", {})
    new = "n1.%d.new" % os.getpid()
    os.symlink(victim, tmp_path / "nodes" / new)
    known.write("n1", {"phase": "waits"})
    (tmp_path / "nodes" / new).write_text("half", encoding="utf-8")
    known.write("n1", {"phase": "waits"})
    assert known.read("n1") == {"phase": "waits"} and os.listdir(tmp_path / "nodes") == ["n1"]
    os.symlink(victim, tmp_path / ("images.%d.new" % os.getpid()))
    os.symlink(victim, tmp_path / "images.new")
    setup.write(str(tmp_path / "images"), "good\n")
    assert (tmp_path / "images").read_text(encoding="utf-8") == "good\n" and victim.read_text(encoding="utf-8") == "whole"


def test_a_link_that_comes_in_between(tmp_path, victim, monkeypatch):
    """After what was stale has gone."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", lambda name, dir_fd: os.symlink(victim, name, dir_fd=dir_fd))
        with pytest.raises(FileExistsError):
            records.Records(str(tmp_path)).write("n1", {})
    assert victim.read_text(encoding="utf-8") == "whole"


def test_a_link_instead_of_the_folder(tmp_path):
    os.mkdir(tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", tmp_path / "nodes")
    with pytest.raises(NotADirectoryError):
        records.Records(str(tmp_path)).write("n1", {})
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_link_instead_of_the_lock(tmp_path):
    os.symlink(tmp_path / "elsewhere", tmp_path / "upgrade.lock")
    with pytest.raises(OSError, match="symbolic links"):
        upgrade.lock(types.SimpleNamespace(state=str(tmp_path)))
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture(name="done")
def fixture_done(monkeypatch):
    """Calls of fsync and rename, in order."""
    done = []

    def noted(name):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *words, **more: (done.append(name), real(*words, **more))[1])
    noted("fsync")
    noted("rename")
    return done


def test_on_the_disk_first(tmp_path, done):
    """The text, then its name. Whoever writes it, SlurmUser may read it."""
    old = os.umask(0o077)
    try:
        setup.write(str(tmp_path / "images"), "good\n")
    finally:
        os.umask(old)
    assert done == ["fsync", "rename", "fsync"] and (tmp_path / "images").stat().st_mode & 0o777 == 0o644


def test_nobody_waits_for_the_disk(tmp_path, done):
    """For what resume has ordered, of 1,000 nodes at a time. For whose a node is, and for upgrades, everybody does."""
    records.Records(str(tmp_path)).write("n1", {"job": "1.0"})
    assert done == ["rename"] and records.Records(str(tmp_path)).read("n1") == {"job": "1.0"}
    for kind in "owners", "upgrades":
        done.clear()
        records.Records(str(tmp_path), kind).write("n1", {})
        assert done == ["fsync", "rename", "fsync"], kind


def test_half_a_record_is_none(tmp_path):
    """As a loss of power may leave it."""
    (tmp_path / "nodes").mkdir()
    for left in b"", b"\0" * 20, b'{"job": "1', b"\xff\xfe":
        (tmp_path / "nodes" / "n1").write_bytes(left)
        assert records.Records(str(tmp_path)).read("n1") == {}
