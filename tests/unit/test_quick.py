# SPDX-License-Identifier: GPL-2.0-only
"""What `make quick` runs of a change (tests/quick.py)."""

import os
import subprocess
import sys

import pytest
import quick
import unit_lines


@pytest.mark.parametrize("file, wanted", [
    ("vmm/memory/mtrr.c", {"unit test_mtrr", "fuzz fuzz_mtrr", "fuzz fuzz_vmm"}),
    ("tests/unit/fake_uart.h", {"unit test_console"}), ("tests/unit/test_mtrr.c", {"unit test_mtrr"}),
    ("tests/unit/aml.sources", {"unit test_aml_value"}), ("docs/testing.md", set()), ("vmm/gone.c", set()),
])
def test_units(file, wanted):
    chosen, left = quick.units([file])
    assert set(chosen) >= wanted and not left and bool(chosen) == bool(wanted)


def test_of_a_header_the_nearest_come_first():
    chosen, left = quick.units(["include/margay/types.h", "vmm/plan/plan.c"])
    assert len(chosen) == quick.MOST and len(left) > 50
    linked = {"%s %s" % target for target in unit_lines.linked_with(quick.TOP, "vmm/plan/plan.c")}
    assert linked and set(chosen[:len(linked)]) == linked


def test_python_tests():
    assert quick.python_tests(["tests/unit/test_quick.py", "tests/unit/test_gone.py", "tests/system/test_guest.py"]) == [
        "tests/unit/test_quick.py"]


def test_all_that_it_names_is_there():
    """Its machines, and tests of units, are tests of the fast tier; each emulator has one."""
    named = ["tests/" + test for test in quick.MACHINES] + [quick.test_of(target) for target in quick.STANDING]
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", *named], cwd=quick.TOP,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {line for line in done.stdout.split("\n") if "::" in line}
    assert {"tests/" + test.split("@")[0] for test in found} == set(named)
    assert quick.binary("fuzz fuzz_config") == "build/fuzz-replay/fuzz_config"
    assert quick.binary("unit test_config") == "build/unit/test_config"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *arguments], cwd=tmp_path, check=True,
                       capture_output=True)

    def commit(name):
        (tmp_path / name).write_text(name)
        git("add", "-A")
        git("commit", "-qm", name)
    git("init", "-q", "-b", "main")
    monkeypatch.setattr(quick, "TOP", str(tmp_path))
    return tmp_path, git, commit


def test_changes_without_a_branch_of_others(tree):
    path, _, commit = tree
    assert quick.base_of() is None and quick.changed(None) == []
    commit("first")
    assert quick.base_of() is None
    commit("second")
    (path / "new").write_text("x")
    (path / "first").write_text("changed")
    assert quick.changed(quick.base_of()) == ["first", "new", "second"]


def test_changes_of_a_branch(tree):
    path, git, commit = tree
    commit("first")
    commit("main")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    # On main itself the last commit counts.
    assert quick.changed(quick.base_of()) == ["main"]
    commit("second")
    commit("third")
    os.unlink(path / "first")
    assert quick.changed(quick.base_of()) == ["first", "second", "third"]
