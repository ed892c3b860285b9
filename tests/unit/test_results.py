# SPDX-License-Identifier: GPL-2.0-only
"""Results as data (tests/results.py), the document made from them (tests/full_tier.py), and what a row is older than."""

import os
import subprocess
import types

import full_tier
import pytest
import results
import tested_files

OLD = results.Row("failed", 61.5, "2026-11-20", "0123456789ab", True)
MACHINE = ["a machine", "QEMU", "gcc"]


def report(recorder, nodeid, when, outcome, keywords=("full",)):
    recorder.pytest_runtest_logreport(
        types.SimpleNamespace(nodeid=nodeid, when=when, outcome=outcome, duration=1.5, keywords=set(keywords)))


@pytest.fixture
def ran(tmp_path):
    """A run of each kind of end; its directory."""
    recorder = results.Recorder(str(tmp_path / "out"), "0123abcd")
    for test, when, outcome in (
            ("s/test_a.py::good@group", "call", "passed"), ("s/test_a.py::good@group", "teardown", "passed"),
            ("s/test_a.py::again", "call", "rerun"), ("s/test_a.py::again", "call", "passed"),
            ("s/test_a.py::again", "teardown", "passed"),
            ("s/test_a.py::bad", "setup", "failed"), ("s/test_a.py::bad", "teardown", "passed"),
            ("s/test_b.py::left[x|y]", "setup", "skipped"), ("s/test_b.py::left[x|y]", "teardown", "passed"),
            ("s/test_b.py::cut", "setup", "passed")):
        report(recorder, test, when, outcome)
    report(recorder, "s/test_b.py::fast", "teardown", "passed", ())
    for _ in range(4):
        report(recorder, "s/test_b.py::long", "call", "passed", ())
    report(recorder, "s/test_b.py::long", "teardown", "passed", ())
    recorder.pytest_sessionfinish()
    return str(tmp_path / "out")


def test_what_a_run_leaves(ran):
    rows = results.rows_of(results.path_of(ran, "0123abcd"))
    assert {test: (row.result, row.seconds, row.full) for test, row in rows.items()} == {
        "s/test_a.py::good": ("passed", 3.0, True), "s/test_a.py::again": ("rerun", 4.5, True),
        "s/test_a.py::bad": ("failed", 3.0, True), "s/test_b.py::left[x|y]": ("skipped", 3.0, True),
        "s/test_b.py::fast": ("passed", 1.5, False), "s/test_b.py::long": ("passed", 7.5, False)}
    assert results.finished(ran, "0123abcd") == set(rows) - {"s/test_a.py::bad"}
    assert results.finished(ran, "0123abcd-dirty") == results.finished(ran, "4321") == set()


def test_recorded(ran, tmp_path):
    into = str(tmp_path / "kept")
    tests = {"s/test_a.py::good", "s/test_a.py::bad", "s/test_b.py::left[x|y]", "s/test_b.py::fast", "s/test_b.py::long",
             "s/test_b.py::kept", "s/test_c.py::newer"}
    newer = OLD._replace(date="9999-01-01")
    results.keep({"s/test_a.py::good": OLD, "s/test_b.py::kept": OLD, "s/test_gone.py::gone": OLD, "s/test_b.py::gone": OLD}, into)
    with open(results.path_of(ran, "4321"), "w", encoding="utf-8") as f:
        f.write(results.line_of("s/test_a.py::bad", OLD._replace(result="passed", date="9998-01-01")))
        f.write(results.line_of("s/test_c.py::newer", OLD))
    # Whatever order the directory has its files in: these are of long ago.
    for commit in ("0000", "ffff"):
        with open(results.path_of(ran, commit), "w", encoding="utf-8") as f:
            f.write(results.line_of("s/test_a.py::good", OLD._replace(date="2026-11-21")))
    results.keep({**results.kept(into), "s/test_c.py::newer": newer}, into)
    assert results.record(ran, tests, into) == 4
    rows = results.kept(into)
    assert set(rows) == tests - {"s/test_b.py::fast"}  # short, and not marked full; two more are no longer there
    assert rows["s/test_b.py::kept"] == OLD and rows["s/test_c.py::newer"] == newer
    assert rows["s/test_a.py::good"].commit == "0123abcd" and not rows["s/test_b.py::long"].full
    assert rows["s/test_a.py::bad"].result == "passed"
    assert not os.path.exists(os.path.join(into, "s", "test_gone.json"))
    assert results.kept_machine(into) == results.machine()
    # Once more there is nothing new, and nothing changes.
    before = {path: open(path, encoding="utf-8").read() for path in
              (os.path.join(folder, name) for folder, _, names in os.walk(into) for name in names)}
    assert results.record(ran, tests, into) == 0
    assert before == {path: open(path, encoding="utf-8").read() for path in before}


def test_a_row_a_line(tmp_path):
    results.keep({"s/test_a.py::x[\"1\"]": OLD, "s/test_a.py::y": OLD}, str(tmp_path))
    lines = (tmp_path / "s" / "test_a.json").read_text().split("\n")
    assert results.LICENSE in lines[0] and len([line for line in lines if '"seconds"' in line]) == 2
    assert set(results.kept(str(tmp_path))) == {"s/test_a.py::x[\"1\"]", "s/test_a.py::y"}


def test_document():
    rows = {"a.py::good": OLD._replace(result="passed", date="2026-11-20T10:00:00Z"), "a.py::again": OLD._replace(result="rerun"),
            "b.py::bad": OLD._replace(commit="1234-dirty"), "b.py::gone": OLD}
    tests = {"a.py::good", "a.py::again", "b.py::bad", "b.py::never"}
    text = "\n".join(full_tier.document(rows, tests, {"b.py::bad", "b.py::gone"}, "4321", MACHINE))
    assert "- Results: 2 passed, 1 of these at their second try (rerun), 0 skipped, 1 failed, 1 never run\n" in text
    assert "marked as of commit 4321: 1\n" in text and "- Emulators: QEMU\n" in text
    assert "| good | passed | 61.5 | 2026-11-20 | 0123456789ab |\n" in text
    assert "| bad | failed | 61.5 | 2026-11-20 | **1234-dirty** (older) |\n" in text
    assert "| never | **never run** | | | |" in text and "gone" not in text
    plain = "\n".join(full_tier.document(rows, tests, set(), "unknown", MACHINE))
    assert text != plain and full_tier.without_marks(text) == full_tier.without_marks(plain)
    other = "\n".join(full_tier.document({**rows, "a.py::good": OLD}, tests, set(), "unknown", MACHINE))
    assert full_tier.without_marks(text) != full_tier.without_marks(other)


def git(path, *arguments):
    return subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *arguments], cwd=path, check=True,
                          capture_output=True, text=True).stdout.strip()


def test_older(tmp_path, monkeypatch):
    """Two commits: the second one changes one file, which two of the tests go by."""
    git(tmp_path, "init", "-q")
    commits = []
    for number in (1, 2):
        (tmp_path / "changes.c").write_text(str(number))
        (tmp_path / "stays.c").write_text("x")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", str(number))
        commits.append(git(tmp_path, "rev-parse", "--short=12", "HEAD"))
    monkeypatch.setattr(full_tier, "TOP", str(tmp_path))
    rows = {"image.py::then": OLD._replace(commit=commits[0]), "image.py::now": OLD._replace(commit=commits[1]),
            "other.py::then": OLD._replace(commit=commits[0]), "other.py::dirty": OLD._replace(commit=commits[1] + "-dirty"),
            "other.py::lost": OLD._replace(commit="0" * 12)}
    files = {"image.py": {"changes.c", "stays.c"}, "other.py": {"stays.c"}}
    assert full_tier.older(rows, commits[1], files.get) == {"image.py::then", "other.py::dirty", "other.py::lost"}


def test_files_of_a_test():
    gdb, time = tested_files.of_file("system/test_gdb.py"), tested_files.of_file("system/test_time.py")
    for files in gdb, time:
        assert {"kernel/main.c", "vmm/vm/vm.c", "include/margay/abi.h", "arch/x86_64/boot/entry.asm", "Kconfig", "mk/image.mk",
                "tools/margay_run.py", "tests/system/node.py"} <= files
        assert "docs/testing.md" not in files and "tests/unit/test_vtd.c" not in files
    assert "tests/system/test_gdb.py" in gdb and "tests/system/test_gdb.py" not in time
    # An option that the test switches on, and which the default image has not.
    assert "vmm/gdb/session.c" in gdb and "vmm/gdb/session.c" not in time


def test_tests_of_the_full_tier_are_found():
    found = full_tier.existing()
    assert "system/test_time.py::test_drift_in_real_time" in found
    assert not any(test.startswith("unit/test_results.py") for test in found)


def test_the_document_follows_from_the_data(tmp_path, monkeypatch):
    tests = full_tier.existing()
    monkeypatch.setattr(full_tier, "existing", lambda: tests)
    assert full_tier.check()
    with open(full_tier.DOC, encoding="utf-8") as f:
        text = f.read()
    for wrong in (text.replace("| passed | ", "| failed | ", 1), text.replace("- Results: ", "- Results: 1"), text + "\n"):
        (tmp_path / "doc.md").write_text(wrong)
        monkeypatch.setattr(full_tier, "DOC", str(tmp_path / "doc.md"))
        assert not full_tier.check()
