# SPDX-License-Identifier: GPL-2.0-only
"""A plugin of pytest for the tests that one mutant meets (-p mutants.watch): the likely ones first, those that passed before left
out, each with an end to its patience, and each result noted at once. MUTANTS_PLAN names the file that says all this (order.py).
"""

import json
import os
import signal

import pytest

from mutants import order
from mutants.met import Met


def pytest_configure(config):
    with open(os.environ["MUTANTS_PLAN"], encoding="utf-8") as f:
        config.pluginmanager.register(Watch(json.load(f)), "mutants-watch")


def gave_up(*_):
    raise TimeoutError("longer than a test may take with a mutant")


class Watch:
    def __init__(self, plan):
        self.plan, self.met = plan, Met(plan["met"])
        self.left_out, self.seconds, self.failed = set(self.met.passed()), {}, set()
        signal.signal(signal.SIGALRM, gave_up)

    def name(self, nodeid):
        """As in plans and results: from the top of the tree, wherever pytest's root is."""
        return nodeid if nodeid.startswith("tests/") else "tests/" + nodeid

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        dropped = [item for item in items if self.name(item.nodeid) in self.left_out]
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if self.name(item.nodeid) not in self.left_out]
        items.sort(key=lambda item: order.place(self.plan, self.name(item.nodeid)))

    def patient(self, item):
        """One phase of a test, and no longer than that may take."""
        known = self.plan["seconds"].get(self.name(item.nodeid))
        signal.alarm(order.PATIENCE if known is None else int(order.TIMES * known + order.MORE))
        yield
        signal.alarm(0)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item):
        yield from self.patient(item)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        yield from self.patient(item)

    def pytest_runtest_logreport(self, report):
        name = self.name(report.nodeid)
        self.seconds[name] = self.seconds.get(name, 0) + report.duration
        # A first try that says nothing is a "rerun", and neither.
        if report.failed and name not in self.failed:
            self.failed.add(name)
            self.met.note(False, self.seconds[name], name)
        elif report.when == "teardown" and report.passed and name not in self.failed:
            self.met.note(True, self.seconds[name], name)

    def pytest_collectreport(self, report):
        if report.failed:
            self.met.note(False, 0, self.name(report.nodeid))
