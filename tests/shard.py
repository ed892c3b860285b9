#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs an Nth of the tests: pytest --shard 2/10 (make test-full SHARD=2/10).

The tests are dealt by the seconds that they took (tests/results), the longest first, each to the shard that has least: so all
take about as long, and each test lies in just one. Tests of one xdist group stay together. The same tree and results make the
same shards. With --results DIR, what a shard has finished at this commit is not run again, unless it failed; --fresh starts
over. As a program it says what is wrong with a shard's name:

    tests/shard.py 2/10
"""

import re
import sys

import pytest
import results

# Seconds of a test without a row: of the full tier's mean, of the others' (those of units and of machines).
UNKNOWN_FULL = 60.0
UNKNOWN_UNIT = 0.3
UNKNOWN = 5.0
# Where the mean of a file is far from that of all: a configuration is built, and at most boots a tiny guest.
UNKNOWN_OF = {"system/test_configs.py": 6.0}
WORKERS = 2


def parse(text):
    """(which, of how many), or ValueError with a line for people."""
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if not found:
        raise ValueError("SHARD=%s: expected K/N, as 2/10" % text)
    which, number = int(found[1]), int(found[2])
    if not 1 <= which <= number:
        raise ValueError("SHARD=%s: there is no part %d of %d: 1 to %d, please" % (text, which, number, number))
    return which, number


def deal(groups, number):
    """{group: seconds} -> [groups of each shard], from the longest group on to the shard that has least."""
    shards, loads = [[] for _ in range(number)], [0.0] * number
    for group in sorted(groups, key=lambda group: (-groups[group], group)):
        least = loads.index(min(loads))
        shards[least].append(group)
        loads[least] += groups[group]
    return shards


def takes(seconds, workers=WORKERS):
    """How long these groups take, started one after the other by so many workers, in seconds."""
    busy = [0.0] * workers
    for one in sorted(seconds, reverse=True):
        busy[busy.index(min(busy))] += one
    return max(busy)


def group_of(item):
    """The group that xdist keeps on one worker, or the test alone."""
    mark = item.get_closest_marker("xdist_group")
    if mark:
        return "@" + str(mark.kwargs.get("name", mark.args[0] if mark.args else "default"))
    return results.name_of(item.nodeid)


def guess(item):
    file = item.nodeid.split("::")[0]
    if file in UNKNOWN_OF:
        return UNKNOWN_OF[file]
    if item.get_closest_marker("full"):
        return UNKNOWN_FULL
    return UNKNOWN_UNIT if item.nodeid.startswith("unit/") else UNKNOWN


def grouped(items, rows):
    """{group: its seconds}"""
    groups = {}
    for item in items:
        row = rows.get(results.name_of(item.nodeid))
        taken = row.seconds if row else guess(item)
        groups[group_of(item)] = groups.get(group_of(item), 0.0) + taken
    return groups


class Shard:
    """Takes the others' tests out of the run, and those that are finished. In a parallel run each worker does it."""

    def __init__(self, text, finished):
        self.text = text
        self.which, self.number = parse(text)
        self.finished = set(finished)
        self.said = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        groups = grouped(items, results.kept())
        mine = set(deal(groups, self.number)[self.which - 1])
        own = [item for item in items if group_of(item) in mine]
        todo = [item for item in own if results.name_of(item.nodeid) not in self.finished]
        chosen = set(todo)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = todo
        self.said = "shard %s: %d tests, some %d minutes by %d workers; finished before at this commit: %d" % (
            self.text, len(own), round(takes([groups[group] for group in mine]) / 60), WORKERS, len(own) - len(todo))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        """A shard of which all is finished is no run without tests."""
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.finished:
            session.exitstatus = pytest.ExitCode.OK
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["shard"] = self.said


class First:
    """What the first process has to do of a shard: the workers learn from it what is finished, and it says what was run."""

    def __init__(self, shard, forget):
        self.shard = shard
        self.forget = forget

    def pytest_collection_finish(self, session):
        self.forget({results.name_of(item.nodeid) for item in session.items})

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.forget({results.name_of(test) for test in ids})

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["finished"] = sorted(self.shard.finished)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self.shard.said = getattr(node, "workeroutput", {}).get("shard", self.shard.said)

    def pytest_terminal_summary(self, terminalreporter):
        if self.shard.said:
            terminalreporter.write_line(self.shard.said)


def pytest_addoption(parser):
    parser.addoption("--shard", metavar="K/N", help="only the Kth of N parts, which take about as long each")
    parser.addoption("--fresh", action="store_true", help="also what the shard has finished at this commit")


def history(config):
    """What need not run again, and what forgets rows: with --fresh the shard's own, so that this run, too, can be resumed."""
    directory = config.getoption("--results")
    if not directory:
        return set(), lambda tests: None
    at = results.commit()
    if not config.getoption("--fresh"):
        return results.finished(directory, at), lambda tests: None
    gone = set()

    def forget(tests):
        # Each worker of a parallel run has collected the same; when the last has, tests of the first may be running.
        if not gone:
            gone.update(tests)
            results.forget(directory, at, tests)
    return set(), forget


def pytest_configure(config):
    text = config.getoption("--shard")
    if not text:
        return
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Shard(text, config.workerinput["finished"]))
        return
    try:
        finished, forget = history(config)
        shard = Shard(text, finished)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(shard)
    config.pluginmanager.register(First(shard, forget))


def main():
    try:
        parse(sys.argv[1])
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
