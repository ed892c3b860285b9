# SPDX-License-Identifier: GPL-2.0-only
"""Replays the committed corpus of every fuzz target under ASan and UBSan: what was once found stays found."""

import glob
import os
import re
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
NAMES = sorted(os.path.basename(f)[5:-2] for f in glob.glob(os.path.join(TOP, "tests", "fuzz", "fuzz_*.c")))


def replay(name, folder):
    binary = os.path.join(BUILD, "fuzz-replay", "fuzz_" + name)
    assert os.path.exists(binary), "%s was not built: make unit" % binary
    return subprocess.run([binary, folder], cwd=TOP, capture_output=True, text=True, timeout=600, check=False)


def test_there_are_fuzz_targets():
    assert NAMES


@pytest.mark.parametrize("name", NAMES)
def test_corpus(name):
    folder = os.path.join(TOP, "tests", "fuzz", "corpus", name)
    done = replay(name, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"replayed (\d+) inputs", done.stdout)
    assert counted and int(counted[1]) == len(os.listdir(folder)) > 0


def test_a_corpus_that_is_missing_or_empty_fails(tmp_path):
    assert replay(NAMES[0], str(tmp_path / "missing")).returncode == 1
    assert replay(NAMES[0], str(tmp_path)).returncode == 1
