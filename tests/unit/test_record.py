# SPDX-License-Identifier: GPL-2.0-only
"""The document of the full tier: a test whose set-up failed has failed, one that was interrupted was not run, and what a
part of a run keeps, replaces and drops.
"""

import types

import record

OLD = record.Row("failed", 61.5, "2026-11-20", "0123456789ab")


def test_record(tmp_path, monkeypatch):
    tests = {"a.py::good", "a.py::again", "a.py::bad", "b.py::left[x|y]", "b.py::kept", "b.py::never"}
    monkeypatch.setattr(record, "existing", lambda: tests)
    path = tmp_path / "full.md"
    path.write_text("\n".join(record.document({"a.py::good": OLD, "b.py::kept": OLD, "b.py::gone": OLD},
                                              tests | {"b.py::gone"}, [])))
    recorder = record.Recorder(path)
    recorder.commit = "0123abcd"
    for test, when, outcome, keywords in (
            ("a.py::good@group", "call", "passed", {"full"}), ("a.py::good@group", "teardown", "passed", {"full"}),
            ("a.py::again", "call", "rerun", {"full"}), ("a.py::again", "call", "passed", {"full"}),
            ("a.py::again", "teardown", "passed", {"full"}),
            ("a.py::bad", "setup", "failed", {"full"}), ("a.py::bad", "teardown", "passed", {"full"}),
            ("b.py::left[x|y]", "setup", "skipped", {"full"}), ("b.py::left[x|y]", "teardown", "passed", {"full"}),
            ("b.py::never", "setup", "passed", {"full"}), ("b.py::fast", "teardown", "failed", {})):
        recorder.pytest_runtest_logreport(
            types.SimpleNamespace(nodeid=test, when=when, outcome=outcome, duration=1.5, keywords=keywords))
    recorder.pytest_sessionfinish()
    text = path.read_text()
    assert "- Results: 2 passed, 1 of these at their second try (rerun), 1 skipped, 2 failed, 1 never run\n" in text
    rows = record.read(text)
    assert {test: row.result for test, row in rows.items()} == {
        "a.py::good": "passed", "a.py::again": "rerun", "a.py::bad": "failed", "b.py::left[x|y]": "skipped", "b.py::kept": "failed"}
    assert rows["b.py::kept"] == OLD
    # Four rows of this commit, one of another, which is seen.
    assert "- Commit: 0123abcd; rows of others, or of trees with changes (-dirty), which have theirs in bold: 1\n" in text
    assert "| 2026-11-20 | **0123456789ab** |\n" in text and "**0123abcd**" not in text
    assert rows["a.py::good"].seconds == 3 and rows["a.py::good"].commit == "0123abcd"
    assert "| never | **never run** | | | |\n" in text
    assert "gone" not in text and "fast |" not in text


def test_a_tree_with_changes_is_no_commit():
    text = "\n".join(record.document({"a.py::a": OLD._replace(commit="1234-dirty"), "a.py::b": OLD._replace(commit="1234-dirty"),
                                      "a.py::c": OLD}, {"a.py::a", "a.py::b", "a.py::c"}, []))
    assert "- Commit: 0123456789ab; " in text and text.endswith("| 0123456789ab |") and text.count("**1234-dirty**") == 2


def test_tests_of_the_full_tier_are_found():
    found = record.existing()
    assert "system/test_time.py::test_drift_in_real_time" in found
    assert not any(test.startswith("unit/test_record.py") for test in found)
