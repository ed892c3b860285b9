# SPDX-License-Identifier: GPL-2.0-only
"""Writes the results of a run as a document: pytest --record FILE (make test-full)."""

import datetime
import os
import platform
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def first_line(*command):
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().split("\n")[0] or "unknown"


def package(name):
    return first_line("dpkg-query", "-W", "-f", "${Package} ${Version}", name)


class Recorder:
    """Collects what each test came to; the worst of its set-up, call and tear-down counts."""

    WORST = ("passed", "skipped", "failed")

    def __init__(self, path):
        self.path = path
        self.commit = first_line("git", "describe", "--always", "--dirty", "--abbrev=12")
        self.result = {}
        self.seconds = {}

    def pytest_runtest_logreport(self, report):
        test = report.nodeid.split("@")[0]  # behind it the group that xdist keeps on one worker
        self.seconds[test] = self.seconds.get(test, 0) + report.duration
        before = self.result.get(test, "passed")
        self.result[test] = max(before, report.outcome, key=self.WORST.index)

    def pytest_sessionfinish(self, session, exitstatus):
        with open(self.path, "w", encoding="utf-8") as f:
            f.write("\n".join(self.lines(int(exitstatus))) + "\n")

    def lines(self, status):
        yield "# The last run of the full tier"
        yield ""
        yield "Written by `make test-full`. Seconds are wall time; two tests run at a time."
        yield ""
        yield "- Date: " + datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        yield "- Commit: " + self.commit
        yield "- Machine: %s, %d CPUs" % (platform.platform(), os.cpu_count())
        yield "- Emulators: %s; %s" % (first_line("qemu-system-x86_64", "--version"), package("bochs"))
        yield "- Compiler: " + first_line("gcc", "--version")
        count = [sum(1 for r in self.result.values() if r == outcome) for outcome in self.WORST]
        yield "- Result: %d passed, %d skipped, %d failed; pytest's status %d" % (*count, status)
        files = {}
        for test in self.result:
            files.setdefault(test.split("::")[0], []).append(test)
        for file in sorted(files):
            yield ""
            yield "## %s: %.0f s" % (file, sum(self.seconds[test] for test in files[file]))
            yield ""
            yield "| test | result | seconds |"
            yield "|---|---|---|"
            for test in sorted(files[file]):
                name = test.split("::", 1)[1].replace("|", "\\|")
                yield "| %s | %s | %.1f |" % (name, self.result[test], self.seconds[test])
