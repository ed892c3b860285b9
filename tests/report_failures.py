# SPDX-License-Identifier: GPL-2.0-only
"""The last screen of a run that failed: each failed test, the end of its node's log, and the command that runs just that test.

A plugin of pytest. The first few tests are told in full, since CI shows one screen; of the others the command is enough. Each is
named as it fails, too: a run of half an hour need not end before somebody looks.
"""

import os
import shlex

import pytest

IN_FULL = 3
LOG_LINES = 30
WIDTH = 200

failed = {}  # {test: its reports that failed, set-up, call and tear-down}
terminal = []  # where the run is told, once it has begun


def name_of(nodeid):
    """Behind the @ is the group that xdist keeps on one worker."""
    return nodeid.split("@")[0]


def reason(report):
    """In a line or two: the error, and what was asserted when words of the test's own come before it."""
    crash = getattr(report.longrepr, "reprcrash", None)
    found = [line for line in (crash.message if crash else str(report.longrepr)).split("\n") if line.strip()] or ["no word"]
    if not crash:
        # A file that cannot be read, a worker that died: the end has the error.
        return [found[-1][:WIDTH]]
    asserted = [line for line in found[1:] if line.startswith("assert ")][:1]
    return [line[:WIDTH] for line in ["%s:%d: %s" % (os.path.relpath(crash.path), crash.lineno, found[0]), *asserted]]


def logs(reports):
    """The logs of the emulators that the test has started, the last one last."""
    return list(dict.fromkeys(
        value for report in reports for name, value in getattr(report, "user_properties", ()) if name == "log"))


def tail(path):
    """The last lines of a log, as a terminal can show them."""
    with open(path, "rb") as f:
        f.seek(max(0, os.path.getsize(path) - LOG_LINES * 4 * WIDTH))
        text = f.read().decode("utf-8", "replace")
    rows = text.replace("\r", "").rstrip("\n").split("\n")[-LOG_LINES:]
    return ["".join(c if c.isprintable() or c == "\t" else "?" for c in row)[:WIDTH] for row in rows]


def command(test, reports, root):
    """Runs just that test, from where this run was started. The interpreter is the one that sees Debian's packages."""
    full = any("full" in report.keywords for report in reports if hasattr(report, "keywords"))
    path = os.path.normpath(os.path.join(os.path.relpath(root), test))
    return "/usr/bin/python3 -m pytest %s%s" % ("--full " if full else "", shlex.quote(path))


def in_full(test, reports, root):
    yield test
    for report in reports:
        first, *more = reason(report)
        yield "  %s: %s" % (report.when, first)
        yield from ("    " + line for line in more)
    for path in logs(reports)[-1:]:
        if os.path.exists(path):
            yield "  the last %d lines of %s:" % (LOG_LINES, os.path.relpath(path))
            yield from ("    | " + row for row in tail(path))
        else:
            yield "  its log is not there: " + path
    yield "  again: " + command(test, reports, root)


def lines(tests, root):
    """What is printed of {test: reports}. Those told in full come last: the screen's end is what CI shows."""
    others = list(tests)[IN_FULL:]
    if others:
        yield "%d more failed:" % len(others)
        yield from ("  " + command(test, tests[test], root) for test in others)
    for test in list(tests)[:IN_FULL]:
        yield ""
        yield from in_full(test, tests[test], root)


def pytest_sessionstart(session):
    terminal[:] = [session.config.pluginmanager.get_plugin("terminalreporter")]


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.outcome == "failed":
        failed.setdefault(name_of(report.nodeid), []).append(report)
        for reporter in filter(None, terminal):
            reporter.write_line("\nfailed (%s): %s" % (report.when, name_of(report.nodeid)))


def pytest_collectreport(report):
    """A file of tests that cannot be read."""
    if report.failed:
        failed.setdefault(report.nodeid, []).append(report)


def summary(terminalreporter):
    config = terminalreporter.config
    terminalreporter.section("what failed", sep="=")
    for line in lines(failed, config.rootpath):
        terminalreporter.write_line(line)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """After the summaries of pytest and of all plugins; pytest's closing line comes after that."""
    yield
    if failed:
        summary(terminalreporter)
