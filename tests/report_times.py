# SPDX-License-Identifier: GPL-2.0-only
"""Where a run's time went: its last lines have the seconds of each file of tests and the slowest tests.

A plugin of pytest. In a parallel run the first process gets the reports of all workers, and alone prints.
"""

import collections

import pytest

SLOWEST = 25
SHORT = 1.0  # seconds: files below that share a line

seconds = collections.Counter()


def name_of(nodeid):
    """Behind the @ is the group that xdist keeps on one worker."""
    return nodeid.split("@")[0]


def by_file(times):
    """{file: (seconds, tests)}"""
    files = collections.defaultdict(lambda: [0.0, 0])
    for test, taken in times.items():
        files[test.split("::")[0]][0] += taken
        files[test.split("::")[0]][1] += 1
    return files


def lines(times):
    """What is printed of {test: seconds}."""
    files = by_file(times)
    yield "%d s of tests in %d files:" % (round(sum(times.values())), len(files))
    long = [file for file in files if files[file][0] >= SHORT]
    for file in sorted(long, key=lambda file: (-files[file][0], file)):
        yield "%8.1f s  %4d  %s" % (*files[file], file)
    short = [files[file] for file in files if file not in long]
    if short:
        yield "%8.1f s  %4d  in %d files below a second" % (sum(s for s, _ in short), sum(n for _, n in short), len(short))
    yield "the %d slowest tests:" % min(SLOWEST, len(times))
    for test in sorted(times, key=lambda test: (-times[test], test))[:SLOWEST]:
        yield "%8.1f s  %s" % (times[test], test)


def pytest_runtest_logreport(report):
    seconds[name_of(report.nodeid)] += report.duration


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """After pytest's summary, and before what tests/report_failures.py says."""
    yield
    if seconds:
        terminalreporter.section("time")
        for line in lines(seconds):
            terminalreporter.write_line(line)
