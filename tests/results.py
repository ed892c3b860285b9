# SPDX-License-Identifier: GPL-2.0-only
"""Results of tests as data: what each came to, in how many seconds, when and at which commit.

A run with --results DIR (make test-full) adds a line of JSON to DIR/COMMIT.jsonl as each test ends, so that what is done is
known when the run is cut. `make record-results` takes the newest row of each test into the tree, tests/results/FILE.json, from
where they ride along with the next commit: of tests marked full all, of the others the long ones, whose seconds
tests/shard.py asks for.
"""

import collections
import datetime
import glob
import json
import os
import platform
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT = os.path.join(TOP, "tests", "results")
LICENSE = "SPDX-License-Identifier: GPL-2.0-only"
# Of tests that are not marked full, only those that take as long have a row in the tree, in seconds.
LONG = 5.0
GOOD = ("passed", "rerun", "skipped")

Row = collections.namedtuple("Row", "result seconds date commit full")


def first_line(*command):
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().split("\n")[0] or "unknown"


def commit():
    """What the tree is, as git says; with -dirty it is no commit's."""
    return first_line("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def name_of(nodeid):
    """As the rows have it. Behind the @ is the group that xdist keeps on one worker."""
    return nodeid.split("@")[0]


def package(name):
    return first_line("dpkg-query", "-W", "-f", "${Package} ${Version}", name)


def machine():
    return [
        "%s, %d CPUs" % (platform.platform(), os.cpu_count()),
        "%s; %s" % (first_line("qemu-system-x86_64", "--version"), package("bochs")),
        first_line("gcc", "--version"),
    ]


# ---- what a run leaves ----------------------------------------------------------------------------------------------------

def path_of(directory, at):
    return os.path.join(directory, at + ".jsonl")


def rows_of(path):
    """{test: Row} of a run's file, the last row of each. A line that was cut counts for nothing."""
    rows = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                test = row.pop("test")
                rows[test] = Row(**row)
    return rows


def finished(directory, at):
    """The tests that need not run again at this commit. A tree with changes is no commit: there all do."""
    if at.endswith("-dirty") or at == "unknown":
        return set()
    return {test for test, row in rows_of(path_of(directory, at)).items() if row.result in GOOD}


def forget(directory, at, tests):
    """Their rows of this commit go."""
    left = {test: row for test, row in rows_of(path_of(directory, at)).items() if test not in tests}
    if os.path.exists(path_of(directory, at)):
        with open(path_of(directory, at), "w", encoding="utf-8") as f:
            f.writelines(line_of(test, row) for test, row in left.items())


def line_of(test, row):
    return json.dumps({"test": test, **row._asdict()}) + "\n"


class Recorder:
    """
    Collects what each test came to; the worst of its set-up, call and tear-down counts. One that was interrupted came to
    nothing, however well its set-up went: it has no tear-down.
    """

    WORST = ("passed", "rerun", "skipped", "failed")  # rerun: passed at its second try

    def __init__(self, directory, at):
        self.directory = directory
        self.commit = at
        self.result = {}
        self.seconds = collections.Counter()

    def pytest_runtest_logreport(self, report):
        test = name_of(report.nodeid)
        self.seconds[test] += report.duration
        before = self.result.get(test, "passed")
        self.result[test] = max(before, report.outcome, key=self.WORST.index)
        # A worker of a parallel run that dies tears nothing down: its test has failed.
        if report.when == "teardown" or report.outcome == "failed":
            self.write(test, "full" in report.keywords)

    def write(self, test, full):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        row = Row(self.result[test], round(self.seconds[test], 1), now, self.commit, full)
        os.makedirs(self.directory, exist_ok=True)
        with open(path_of(self.directory, self.commit), "a", encoding="utf-8") as f:
            f.write(line_of(test, row))

    def pytest_sessionfinish(self):
        if self.result:
            with open(os.path.join(self.directory, "machine.json"), "w", encoding="utf-8") as f:
                json.dump(machine(), f)


def pytest_addoption(parser):
    parser.addoption("--results", metavar="DIR", help="keep the results as data in that directory, a file for each commit")


def pytest_configure(config):
    directory = config.getoption("--results")
    # The workers of a parallel run report to the first process, which alone writes.
    if directory and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(os.path.abspath(directory), commit()))


# ---- what the tree keeps --------------------------------------------------------------------------------------------------

def kept(directory=KEPT):
    """{test: Row} of the tree."""
    rows = {}
    for path in sorted(glob.glob(os.path.join(directory, "*", "test_*.json"))):
        file = os.path.splitext(os.path.relpath(path, directory))[0] + ".py"
        with open(path, encoding="utf-8") as f:
            for name, row in json.load(f)["tests"].items():
                rows[file + "::" + name] = Row(**row)
    return rows


def kept_machine(directory=KEPT):
    with open(os.path.join(directory, "machine.json"), encoding="utf-8") as f:
        return json.load(f)["machine"]


def text_of(key, lines):
    """JSON with a row a line, so that git merges rows."""
    return '{"license": "%s",\n"%s": %s\n' % (LICENSE, key, lines)


def keep(rows, directory=KEPT):
    """Writes these rows as the tree's, a file for each file of tests; those of other files go."""
    files = collections.defaultdict(dict)
    for test, row in rows.items():
        file, name = test.split("::", 1)
        files[os.path.join(directory, os.path.splitext(file)[0] + ".json")][name] = row
    for path in set(glob.glob(os.path.join(directory, "*", "test_*.json"))) - set(files):
        os.unlink(path)
    for path, tests in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        lines = ",\n".join("%s: %s" % (json.dumps(name), json.dumps(tests[name]._asdict())) for name in sorted(tests))
        with open(path, "w", encoding="utf-8") as f:
            f.write(text_of("tests", "{\n%s\n}}" % lines))


def keep_machine(words, directory=KEPT):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "machine.json"), "w", encoding="utf-8") as f:
        f.write(text_of("machine", "[\n%s\n]}" % ",\n".join(json.dumps(word) for word in words)))


def newest(directory):
    """{test: Row} of all runs in this directory, of each test the row that was written last."""
    rows = {}
    for path in glob.glob(os.path.join(directory, "*.jsonl")):
        for test, row in rows_of(path).items():
            if test not in rows or row.date > rows[test].date:
                rows[test] = row
    return rows


def record(directory, tests, into=KEPT):
    """Takes the newest rows into the tree; how many. tests: those that there are, as the tree's rows of others go."""
    new = {test: row for test, row in newest(directory).items() if test in tests and (row.full or row.seconds >= LONG)}
    before = {test: row for test, row in kept(into).items() if test in tests}
    # A row of an older run than the tree's own tells nothing new.
    new = {test: row for test, row in new.items() if test not in before or row.date > before[test].date}
    keep({**before, **new}, into)
    path = os.path.join(directory, "machine.json")
    if new and os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            keep_machine(json.load(f), into)
    return len(new)
