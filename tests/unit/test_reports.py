# SPDX-License-Identifier: GPL-2.0-only
"""The last lines of a run: where its time went (tests/report_times.py), and what failed (tests/report_failures.py)."""

import os
import re
import subprocess
import sys

import pytest
import report_failures
import report_times

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE = """
import time
import pytest

@pytest.fixture
def log(request):
    # As tests/conftest.py does with the logs of a test's nodes.
    def keep(path):
        request.node.user_properties.append(("log", path))
    return keep

@pytest.mark.parametrize("n", range(%(passing)d))
def test_passes(n):
    time.sleep(0.01)

def test_long():
    time.sleep(1.2)

@pytest.mark.parametrize("n", range(%(failing)d))
def test_fails(n, log):
    with open("node-%%d.log" %% n, "w") as f:
        f.write("".join("line %%d of node %%d\\r\\n" %% (i, n) for i in range(100)))
    log("node-%%d.log" %% n)
    assert n == "what was due", "and more\\nthan a line"

@pytest.mark.full
@pytest.mark.skipif(not %(failing)d, reason="all pass")
def test_of_the_full_tier():
    raise OSError("no room")

@pytest.fixture
def broken():
    yield
    raise ValueError("tear-down")

@pytest.mark.skipif(not %(failing)d, reason="all pass")
def test_ends_badly(broken):
    pass
"""


def run(path, workers, *arguments, files=None, **numbers):
    path.mkdir(exist_ok=True)
    for name, text in (files or {"test_it.py": FILE % numbers}).items():
        (path / name).write_text(text)
    parallel = ["-n", str(workers), "--dist", "loadgroup"] if workers else []
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.path.join(TESTS, "pytest.ini"), "--rootdir", str(path), "-p", "conftest",
         *parallel, *arguments, str(path)],
        capture_output=True, text=True, check=False, timeout=300, env=dict(environment, PYTHONPATH=TESTS), cwd=str(path),
    )
    return done.returncode, done.stdout.strip().split("\n"), done.stdout + done.stderr


def section(lines, name):
    """The lines below that title, the last one and pytest's closing line left out."""
    first = max(i for i, line in enumerate(lines) if line.strip("= ") == name)
    return lines[first + 1:-1]


@pytest.mark.parametrize("workers", [0, 2])
def test_time(tmp_path, workers):
    status, lines, text = run(tmp_path / "a", workers, passing=40, failing=0)
    assert status == 0 and "41 passed" in lines[-1], text
    told = section(lines, "time")
    assert re.fullmatch(r"\d+ s of tests in 1 files:", told[0]), text
    assert re.fullmatch(r" +\d+\.\d s +43  test_it.py", told[1]), text  # two are skipped
    slowest = told[told.index("the 25 slowest tests:") + 1:]
    assert len(slowest) == 25 and slowest[0].endswith("test_it.py::test_long"), text
    assert 1.2 <= float(slowest[0].split()[0]) < 30, text
    times = [float(line.split()[0]) for line in slowest]
    assert times == sorted(times, reverse=True)


def test_time_by_file():
    told = list(report_times.lines({"a.py::x": 2.0, "a.py::y": 0.5, "b.py::z": 90.0, "c.py::w": 0.2, "d.py::v": 0.3}))
    assert told[:4] == ["93 s of tests in 4 files:", "    90.0 s     1  b.py", "     2.5 s     2  a.py",
                        "     0.5 s     2  in 2 files below a second"]
    assert told[4:] == ["the 5 slowest tests:", "    90.0 s  b.py::z", "     2.0 s  a.py::x", "     0.5 s  a.py::y",
                        "     0.3 s  d.py::v", "     0.2 s  c.py::w"]


@pytest.mark.parametrize("workers", [0, 2])
def test_one_failure_is_the_last_screen(tmp_path, workers):
    status, lines, text = run(tmp_path / "a", workers, "-k", "test_fails or test_long", passing=1, failing=1)
    assert status == 1 and re.search(r"1 failed, 1 passed.* in ", lines[-1]), text
    told = section(lines, "what failed")
    assert told[0] == "" and told[1] == "test_it.py::test_fails[0]", text
    assert re.fullmatch(r"  call: test_it.py:\d+: AssertionError: and more", told[2]), text
    assert told[3] == "    assert 0 == 'what was due'", text
    assert told[4] == "  the last 30 lines of node-0.log:", text
    assert told[5:35] == ["    | line %d of node 0" % i for i in range(70, 100)], text
    assert told[35:] == ["  again: /usr/bin/python3 -m pytest 'test_it.py::test_fails[0]'"], text
    assert lines.index("the 2 slowest tests:") < lines.index("test_it.py::test_fails[0]"), text
    # And as it happens.
    assert lines.index("failed (call): test_it.py::test_fails[0]") < next(
        n for n, line in enumerate(lines) if re.fullmatch("=+ FAILURES =+", line)), text


@pytest.mark.parametrize("workers", [0, 2])
def test_three_in_full_the_others_by_name(tmp_path, workers):
    status, lines, text = run(tmp_path / "a", workers, "--full", passing=1, failing=4)
    assert status == 1, text
    told = section(lines, "what failed")
    again = [line.split(" -m pytest ")[1] for line in told if " -m pytest " in line]
    assert sorted(again) == sorted(["'test_it.py::test_fails[%d]'" % n for n in range(4)] +
                                   ["--full test_it.py::test_of_the_full_tier", "test_it.py::test_ends_badly"]), text
    assert told[0] == "3 more failed:" and sum(line.startswith("  again: ") for line in told) == 3, text


def test_of_set_up_and_tear_down(tmp_path):
    _, lines, text = run(tmp_path / "a", 0, "--full", "-k", "badly or tier", passing=0, failing=1)
    told = section(lines, "what failed")
    assert any(re.fullmatch(r"  teardown: test_it.py:\d+: ValueError: tear-down", line) for line in told), text
    assert any(re.fullmatch(r"  call: test_it.py:\d+: OSError: no room", line) for line in told), text


@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_cannot_be_read(tmp_path, workers):
    status, lines, text = run(tmp_path / "a", workers, files={"test_it.py": "import not_there\n"})
    assert status, text
    told = section(lines, "what failed")
    assert told[1] == "test_it.py" and "not_there" in "".join(told), text
    assert "  again: /usr/bin/python3 -m pytest test_it.py" in told, text


def test_nothing_is_said_of_what_passes(tmp_path):
    _, _, text = run(tmp_path / "a", 0, passing=1, failing=0)
    assert "what failed" not in text


def test_a_log_of_any_bytes(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"first\n" * 50 + b"\x1b[2J\xff\x00end " + b"x" * 10000 + b"\n")
    told = report_failures.tail(str(path))
    assert len(told) == 30 and told[0] == "first" and told[-1].startswith("?[2J") and "end x" in told[-1]
    assert len(told[-1]) == report_failures.WIDTH
