# SPDX-License-Identifier: GPL-2.0-only
"""Keeps the results of the full tier as a document, a row per test: pytest --full --record FILE (make test-full).

A run of some of the tests replaces their rows. Rows of tests that are no longer there go; a test that has no row was
never run, and the document says so. The fast tier has no rows: every submission runs it.
"""

import collections
import datetime
import fcntl
import os
import platform
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROW = re.compile(r"\| (.+) \| (\w+) \| ([\d.]+) \| ([\d-]+) \| (\S+) \|")

Row = collections.namedtuple("Row", "result seconds date commit")


def first_line(*command):
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().split("\n")[0] or "unknown"


def package(name):
    return first_line("dpkg-query", "-W", "-f", "${Package} ${Version}", name)


def name_of(nodeid):
    """As the document has it. Behind the @ is the group that xdist keeps on one worker."""
    return nodeid.split("@")[0]


def existing():
    """Names of all tests that are only in the full tier."""
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "--full", "-m", "full", "tests"],
                          cwd=TOP, capture_output=True, text=True, check=True)
    return {name_of(line) for line in done.stdout.split("\n") if "::" in line}


def read(text):
    """{test: Row} of a document."""
    rows, file = {}, None
    for line in text.split("\n"):
        if line.startswith("## "):
            file = line[3:]
        row = ROW.fullmatch(line)
        if row:
            rows["%s::%s" % (file, row[1])] = Row(row[2], float(row[3]), row[4], row[5].strip("*"))
    return rows


def document(rows, tests, machine):
    """The lines of a document with these rows. tests: all that there are; machine: lines about the last run's."""
    rows = {test: row for test, row in rows.items() if test in tests}
    yield "# The full tier: the last result of each test"
    yield ""
    yield "Written by `make test-full`, or test by test by `python3 -m pytest FILE --full -m full --record docs/test-full.md`."
    yield "Seconds are wall time beside whatever else ran. What is not marked `full` runs in every submission and is not here."
    yield ""
    yield from machine
    count = collections.Counter(row.result for row in rows.values())
    yield "- Results: %d passed, %d of these at their second try (rerun), %d skipped, %d failed, %d never run" % (
        count["passed"] + count["rerun"], count["rerun"], count["skipped"], count["failed"], len(tests) - len(rows))
    clean = collections.Counter(row.commit for row in rows.values() if not row.commit.endswith("-dirty"))
    commit = clean.most_common(1)[0][0] if clean else None
    others = sum(row.commit != commit for row in rows.values())
    yield "- Commit: %s; rows of others, or of trees with changes (-dirty), which have theirs in bold: %d" % (commit, others)
    for file in sorted({test.split("::")[0] for test in tests}):
        yield ""
        yield "## " + file
        yield ""
        yield "| test | result | seconds | date | commit |"
        yield "|---|---|--:|---|---|"
        for test in sorted(test for test in tests if test.startswith(file + "::")):
            name = test.split("::", 1)[1]
            if test in rows:
                row = rows[test]
                yield "| %s | %s | %.1f | %s | %s |" % (
                    name, *row[:3], row.commit if row.commit == commit else "**%s**" % row.commit)
            else:
                yield "| %s | **never run** | | | |" % name


class Recorder:
    """
    Collects what each test came to; the worst of its set-up, call and tear-down counts. One that was interrupted came to
    nothing, however well its set-up went: it has no tear-down.
    """

    WORST = ("passed", "rerun", "skipped", "failed")  # rerun: passed at its second try

    def __init__(self, path):
        self.path = path
        self.commit = first_line("git", "describe", "--always", "--dirty", "--abbrev=12")
        self.result = {}
        self.seconds = {}
        self.over = set()

    def pytest_runtest_logreport(self, report):
        if "full" not in report.keywords:
            return
        test = name_of(report.nodeid)
        self.seconds[test] = self.seconds.get(test, 0) + report.duration
        before = self.result.get(test, "passed")
        self.result[test] = max(before, report.outcome, key=self.WORST.index)
        # A worker of a parallel run that dies tears nothing down: its test has failed.
        if report.when == "teardown" or report.outcome == "failed":
            self.over.add(test)

    def machine(self):
        return [
            "- Machine of the last run: %s, %d CPUs" % (platform.platform(), os.cpu_count()),
            "- Emulators: %s; %s" % (first_line("qemu-system-x86_64", "--version"), package("bochs")),
            "- Compiler: " + first_line("gcc", "--version"),
        ]

    def pytest_sessionfinish(self):
        today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
        new = {test: Row(self.result[test], self.seconds[test], today, self.commit) for test in self.over}
        tests = existing()
        # Two runs may end at once.
        with open(self.path, "a+", encoding="utf-8") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.seek(0)
            rows = {**read(f.read()), **new}
            f.truncate(0)
            f.write("\n".join(document(rows, tests, self.machine())) + "\n")
