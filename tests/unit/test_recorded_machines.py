# SPDX-License-Identifier: GPL-2.0-only
"""The readers of ACPI tables on recorded machines (tests/machines), under ASan and UBSan: each says what the others say.

ACPI tables of 27 real computers, ten of them servers: flat tables as parsers of their own read them, AML as ACPICA's
interpreter (tests/machines/README.md). tools/recorded-machines CLONE does that with all of github.com/linuxhw/ACPI
(an hour, most of it the interpreter's, once).
"""

import glob
import os
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
MACHINES = os.path.join(TOP, "tests", "machines")
sys.path.insert(0, MACHINES)

import judge  # noqa: E402

READER = os.path.join(BUILD, "unit", "read_machine")
RECORDINGS = sorted(glob.glob(os.path.join(MACHINES, "recordings", "*.xz")))


def test_there_are_recordings():
    assert len(RECORDINGS) >= 25


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: os.path.basename(path)[:-3])
def test_machine(path):
    recording = judge.load(path)
    _, wrong, unknown = judge.judge(recording["facts"], judge.read(READER, recording))
    assert not wrong
    # What was known once stays known.
    assert set(unknown) <= set(recording["unknown"])


def test_a_wrong_fact_is_found():
    recording = judge.load(RECORDINGS[0])
    said = judge.read(READER, recording)
    for subject, value in list(recording["facts"].items()):
        if judge.known(said.get(subject, "unknown")):
            _, wrong, _ = judge.judge({subject: value + "0"}, said)
            assert [w[0] for w in wrong] == [subject]
