# SPDX-License-Identifier: GPL-2.0-only
"""What is tried again, and that a run says so and has its limit: tests/pytest.ini, tests/conftest.py."""

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


def run(tmp_path, workers, known, others=""):
    (tmp_path / "test_it.py").write_text(FILE % (known, others))
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
