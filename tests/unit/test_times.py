# SPDX-License-Identifier: GPL-2.0-only
"""One place says how long the runs of tests take (mk/times.mk): `make help` and the documents say the same."""

import os
import re
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


TIMES = dict(re.findall(r"^(\w+) *:= (.+)$", read("mk/times.mk"), re.MULTILINE))


def help_of(target):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(["make", "help"], cwd=TOP, env=environment, capture_output=True, text=True, check=True)
    lines = re.split(r"\n(?=make )", done.stdout)
    return next(" ".join(line.split()) for line in lines if line.split()[:2] == ["make", target])


@pytest.mark.parametrize("target, name", [("test", "TIME_TEST"), ("unit", "TIME_UNIT"), ("quick", "TIME_QUICK")])
def test_help(target, name):
    assert "(%s" % TIMES[name] in help_of(target)


@pytest.mark.parametrize("path", ["README.md", "docs/testing.md"])
def test_documents(path):
    found = re.findall(r"^make test +(.*)$", read(path), re.MULTILINE)
    assert found
    for line in found:
        assert re.search(r"\(%s( on two cores)?\)$" % TIMES["TIME_TEST"], line), line


def test_shards():
    """The number of parts is the same in all places."""
    number = TIMES["SHARDS"]
    assert "SHARD=2/%s:" % number in help_of("test-full")
    assert set(re.findall(r"SHARD=\d/(\d+)", read("docs/testing.md"))) == {number}
