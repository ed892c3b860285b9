# SPDX-License-Identifier: GPL-2.0-only
"""What fails a run whose tests all passed: too many second tries, two tests with one log (tests/pytest.ini, tests/conftest.py)."""

import os
import subprocess
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Each fails at the first try only.
FILE = """
import margay_run
import pytest

tried = set()

def once(name, error):
    if name not in tried:
        tried.add(name)
        raise error

@pytest.mark.parametrize("n", range(%d))
def test_known(n):
    once(n, margay_run.EmulatorsFault("it is QEMU's"))

@pytest.mark.parametrize("error", [%s])
def test_other(error):
    once("other", error("margay_run.EmulatorsFault"))
"""


# Each writes these logs, and one of them is tried again.
LOGGING = """
import margay_run
import pytest
import written

tried = set()

@pytest.mark.parametrize("logs", [%s])
def test_logs(logs):
    written.now().logs.extend(logs.split())
    if "twice" in logs and "twice" not in tried:
        tried.add("twice")
        raise margay_run.EmulatorsFault("it is QEMU's")
"""


# A fixture's log is the first one's that asked for it; its ISO stays, and that of a test that passed goes.
KEPT = """
import os

import pytest
import written

def write(name):
    open(name, "w").close()
    written.now().isos.append(name)
    written.now().logs.append(name + ".log")
    open(name + ".log.exits", "w").close()
    written.now().exits.append(name + ".log.exits")

@pytest.fixture(scope="module")
def both():
    write("both")

def test_first(both):
    write("first")
    assert os.path.exists("both")

def test_second(both):
    write("second")
    assert os.path.exists("both") and os.path.exists("both.log.exits")
    assert not os.path.exists("first") and not os.path.exists("first.log.exits")
    assert not %d

def test_third():
    assert os.path.exists("second") == %d == os.path.exists("second.log.exits")
    written.now().logs.append(%r)
"""


def run(tmp_path, workers, known, others="", text=None):
    (tmp_path / "test_it.py").write_text(text or FILE % (known, others))
    parallel = ["-n", str(workers)] if workers else []
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.path.join(TESTS, "pytest.ini"), "--rootdir", str(tmp_path), "-p", "conftest",
         *parallel, str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=300, env=dict(environment, PYTHONPATH=TESTS), cwd=str(tmp_path),
    )
    lines = done.stdout.strip().split("\n")
    return done.returncode, lines, done.stdout + done.stderr


@pytest.mark.parametrize("workers", [0, 2])
def test_two_pass_and_are_counted(tmp_path, workers):
    status, lines, text = run(tmp_path, workers, 2)
    assert status == 0, text
    assert "2 passed" in lines[-1] and "2 rerun" in lines[-1], text
    assert sum(line.startswith("the emulator failed, tried again: ") for line in lines) == 2, text


@pytest.mark.parametrize("workers", [0, 2])
def test_three_fail_the_run(tmp_path, workers):
    status, lines, text = run(tmp_path, workers, 3)
    assert status == 1, text
    assert "FAILED: 3 tests were tried again, more than 2: no accident" in lines, text
    assert "3 passed" in lines[-1] and "3 rerun" in lines[-1], text


@pytest.mark.parametrize("error", ["margay_run.EmulatorDied", "margay_run.NodeError", "AssertionError"])
def test_anything_else_fails_at_once(tmp_path, error):
    status, lines, text = run(tmp_path, 0, 0, error)
    assert status == 1, text
    assert "1 failed" in lines[-1] and "rerun" not in lines[-1], text


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("logs, shared", [("'a b', 'c', 'twice twice'", []), ("'a b', 'c', 'd b'", ["b"]), ("'a', 'a'", ["a"])])
def test_two_tests_of_one_log_fail_the_run(tmp_path, workers, logs, shared):
    status, lines, text = run(tmp_path, workers, 0, text=LOGGING % logs)
    assert status == bool(shared), text
    said = [line for line in lines if " is written by " in line]
    assert [line.split()[1] for line in said] == shared, text
    assert "%d passed" % (logs.count(",") + 1) in lines[-1], text


@pytest.mark.parametrize("fails", [0, 1])
@pytest.mark.parametrize("third, owner", [("own.log", None), ("both.log", "first"), ("second.log", "second")])
def test_what_a_passed_test_has_written_goes(tmp_path, fails, third, owner):
    """But for what a fixture wrote, and for logs, which are one test's; what a test that failed has written stays."""
    status, lines, text = run(tmp_path, 0, 0, text=KEPT % (fails, fails, third))
    passed = "1 failed, 2 passed" if fails else "3 passed"
    assert status == bool(fails or owner) and passed in lines[-1], text
    said = [line for line in lines if " is written by " in line]
    assert [line.split("::")[1].split()[0] for line in said] == (["test_" + owner] if owner else []), text
