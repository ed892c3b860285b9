# SPDX-License-Identifier: GPL-2.0-only
"""The document that a full run leaves: a test whose set-up failed has failed, and every test stands in it."""

import types

import record


def test_record(tmp_path):
    recorder = record.Recorder(tmp_path / "full.md")
    for test, outcome in (("a.py::good@group", "passed"), ("a.py::good@group", "passed"), ("a.py::bad", "failed"),
                          ("a.py::bad", "passed"), ("b.py::left[x|y]", "skipped")):
        recorder.pytest_runtest_logreport(types.SimpleNamespace(nodeid=test, outcome=outcome, duration=1.5))
    recorder.pytest_sessionfinish(None, 1)
    text = (tmp_path / "full.md").read_text()
    assert "- Result: 1 passed, 1 skipped, 1 failed; pytest's status 1" in text
    assert "## a.py: 6 s\n" in text
    assert "| good | passed | 3.0 |\n" in text
    assert "| bad | failed | 3.0 |\n" in text
    assert "| left[x\\|y] | skipped | 1.5 |\n" in text
