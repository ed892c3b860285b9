# SPDX-License-Identifier: GPL-2.0-only
"""Shards of the full tier (tests/shard.py): each test in just one, groups together, equal times, resumed and refused."""

import json
import os
import random
import subprocess
import sys

import pytest
import results
import shard

TOP = results.TOP
TESTS = os.path.join(TOP, "tests")
FILE = """
import os
import pytest

@pytest.mark.parametrize("n", range(6))
def test_fast(n):
    pass

@pytest.mark.full
@pytest.mark.parametrize("n", range(6))
def test_full(n):
    pass

@pytest.mark.full
@pytest.mark.xdist_group("pair")
@pytest.mark.parametrize("n", range(2))
def test_pair(n):
    pass

@pytest.mark.full
@pytest.mark.skipif("BREAK" not in os.environ, reason="only then")
def test_skipped_or_failed():
    assert False
"""
ALL = {"test_it.py::test_fast[%d]" % n for n in range(6)} | {"test_it.py::test_full[%d]" % n for n in range(6)} | {
    "test_it.py::test_pair[0]", "test_it.py::test_pair[1]", "test_it.py::test_skipped_or_failed"}
COMMIT = "0123456789ab"
# What git would say of the tree; and no recorded seconds.
EARLY = """
import results
results.commit = lambda: %r
results.kept = lambda: {}
"""


def run(path, which, *arguments, workers=2, commit=COMMIT, **environment):
    """(status, what ran now, what the shard's file has, the text)"""
    (path / "test_it.py").write_text(FILE)
    (path / "early" / "early.py").write_text(EARLY % commit)
    before = len(lines(path, commit))
    parallel = ["-n", str(workers), "--dist", "loadgroup"] if workers else []
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.path.join(TESTS, "pytest.ini"), "--rootdir", str(path), "-p", "early",
         "-p", "conftest", *parallel, "--full", "--results", str(path / "out"), "--shard", which, *arguments,
         str(path / "test_it.py")],
        capture_output=True, text=True, check=False, timeout=300, cwd=str(path),
        # early.py of another commit has the same size, and perhaps the same second: no compiled one is to be taken for it.
        env=dict(clean, PYTHONPATH="%s:%s" % (TESTS, path / "early"), PYTHONDONTWRITEBYTECODE="1", **environment),
    )
    return done.returncode, lines(path, commit)[before:], done.stdout + done.stderr


@pytest.fixture
def path(tmp_path):
    """Beside the project's file there is a plugin that puts commit and data in place before tests/conftest.py is read."""
    (tmp_path / "early").mkdir()
    return tmp_path


def lines(path, commit):
    file = path / "out" / (commit + ".jsonl")
    return [json.loads(line)["test"] for line in file.read_text().split("\n") if line] if file.exists() else []


@pytest.mark.parametrize("workers", [0, 2])
def test_each_test_is_in_one_shard(path, workers):
    ran = []
    for which in range(1, 4):
        status, tests, text = run(path, "%d/3" % which, workers=workers)
        assert status == 0 and "shard %d/3: %d tests, " % (which, len(tests)) in text, text
        assert ("test_it.py::test_pair[0]" in tests) == ("test_it.py::test_pair[1]" in tests)
        ran += tests
    assert len(ran) == len(ALL) and set(ran) == ALL


@pytest.mark.parametrize("workers", [0, 2])
def test_resumed(path, workers):
    first, tests, text = run(path, "1/1", workers=workers, BREAK="1")
    assert first == 1 and set(tests) == ALL, text
    # What failed runs again, and nothing else.
    status, tests, text = run(path, "1/1", workers=workers)
    assert status == 0 and tests == ["test_it.py::test_skipped_or_failed"], text
    status, tests, text = run(path, "1/1", workers=workers)
    assert status == 0 and tests == [], text
    assert "finished before at this commit: %d" % len(ALL) in text and "no test ran" not in text, text
    # Another split of the same tests has nothing to do, either.
    assert run(path, "2/2", workers=workers)[:2] == (0, [])
    # At another commit all run.
    status, tests, text = run(path, "1/1", workers=workers, commit="ba9876543210")
    assert status == 0 and set(tests) == ALL, text


@pytest.mark.parametrize("workers", [0, 2])
def test_fresh_starts_over(path, workers):
    assert set(run(path, "1/1", workers=workers)[1]) == ALL
    mine = set(run(path, "1/2", "--fresh", "--collect-only", workers=0)[1])
    file = path / "out" / (COMMIT + ".jsonl")
    left = set(lines(path, COMMIT))
    assert not mine and left < ALL  # the shard's rows have gone, the other's not
    status, _, text = run(path, "1/2", workers=workers)
    assert status == 0 and set(lines(path, COMMIT)) == ALL and len(lines(path, COMMIT)) == len(ALL), text
    status, _, text = run(path, "1/2", "--fresh", workers=workers)
    assert status == 0 and "finished before at this commit: 0" in text and set(lines(path, COMMIT)) == ALL, text
    assert len(lines(path, COMMIT)) == len(ALL), "rows of the run before are there"
    # A line that was cut is none.
    file.write_text(file.read_text() + '{"test": "test_it.py::test_fast[0]", "resu')
    assert set(results.rows_of(str(file))) == ALL


def test_a_tree_with_changes_is_not_resumed(path):
    assert set(run(path, "1/1", workers=0, commit="0123-dirty")[1]) == ALL
    assert set(run(path, "1/1", workers=0, commit="0123-dirty")[1]) == ALL


@pytest.mark.parametrize("text", ["9/6", "0/6", "x", "1/0", "", "1", "1/2/3", "-1/6", "1/x", "٣/٦"])
def test_refused(path, text):
    with pytest.raises(ValueError) as error:
        shard.parse(text)
    assert str(error.value).startswith("SHARD=" + text) and "\n" not in str(error.value)
    status, tests, said = run(path, text or "x", workers=0)
    assert status == pytest.ExitCode.USAGE_ERROR and not tests, said


@pytest.mark.parametrize("text", ["9/6", "0/6", "x", "1"])
def test_make_refuses(text):
    """With one line, before it builds anything."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(["make", "test-full", "SHARD=" + text], cwd=TOP, env=environment, capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 2 and not done.stdout, done.stdout
    assert len(done.stderr.strip().split("\n")) == 1 and "SHARD=" + text in done.stderr, done.stderr


def test_make_runs_it():
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    for words, wanted in ((["SHARD=2/9"], "--shard 2/9"), (["SHARD=2/9", "FRESH=1"], "--shard 2/9 --fresh"), ([], None)):
        done = subprocess.run(["make", "-n", "test-full", *words], cwd=TOP, env=environment, capture_output=True, text=True,
                              check=True)
        command = next(line for line in done.stdout.split("\n") if "-m pytest" in line)
        assert "--full --results " in command
        assert wanted in command if wanted else "--shard" not in command and "--fresh" not in command


@pytest.mark.parametrize("seed", range(20))
def test_dealt_alike(seed):
    chance = random.Random(seed)
    # Whole seconds: many take as long as others.
    groups = {"g%d" % i: round(chance.expovariate(1 / 40)) for i in range(chance.randrange(1, 300))}
    number = chance.randrange(1, 20)
    shards = shard.deal(groups, number)
    assert sorted(group for part in shards for group in part) == sorted(groups) and len(shards) == number
    loads = [sum(groups[group] for group in part) for part in shards]
    assert max(loads) - min(loads) <= max(groups.values()) + 1e-6
    mixed = dict(sorted(groups.items(), key=lambda _: chance.random()))
    assert shard.deal(mixed, number) == shards


def test_takes():
    assert shard.takes([10, 10, 10]) == 20 and shard.takes([]) == 0 and shard.takes([30, 1, 1]) == 30


def test_unknown_tests_count():
    class Item:
        def __init__(self, nodeid, **marks):
            self.nodeid, self.marks = nodeid, marks

        def get_closest_marker(self, name):
            return self.marks.get(name)

    known = {"a.py::x": results.Row("passed", 100.0, "", "", True)}
    items = [Item("a.py::x@g", full=True), Item("a.py::new", full=True), Item("a.py::fast"), Item("unit/b.py::u"),
             Item("system/test_configs.py::test_option_off[X]", full=True)]
    assert shard.grouped(items, known) == {
        "a.py::x": 100.0, "a.py::new": shard.UNKNOWN_FULL, "a.py::fast": shard.UNKNOWN,
        "unit/b.py::u": shard.UNKNOWN_UNIT,
        "system/test_configs.py::test_option_off[X]": shard.UNKNOWN_OF["system/test_configs.py"]}


def test_a_shard_takes_an_hour_at_most():
    """By the seconds that the tree has, and what is guessed of others, with the number of shards that `make help` names."""
    with open(os.path.join(TOP, "mk", "times.mk"), encoding="utf-8") as f:
        number = int(next(line for line in f if line.startswith("SHARDS")).split(":=")[1])
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "--full", "-p", "shard_groups", "tests"],
                          cwd=TOP, capture_output=True, text=True, check=True,
                          env=dict(os.environ, PYTHONPATH="%s:%s" % (TESTS, os.path.join(TESTS, "unit"))))
    groups = json.loads(next(line for line in done.stdout.split("\n") if line.startswith("groups: ")).split(": ", 1)[1])
    longest = max(shard.takes([groups[group] for group in part]) for part in shard.deal(groups, number))
    assert longest <= 60 * 60, "%d s: more shards, mk/times.mk" % longest
