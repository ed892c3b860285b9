# SPDX-License-Identifier: GPL-2.0-only
"""What the tests say of one mutant: killed by the first that fails, or survived when all have passed."""

import os
import re

from mutants import order, steps
from mutants.met import longest
from mutants.tree import BuildError

WHOLE_TIER = "pytest"  # the name of the last step, for --steps


class Judge:
    """For one worker. wanted: only steps whose names begin so are run."""

    def __init__(self, tree, baseline, history, logs, wanted=""):
        self.tree, self.baseline, self.history, self.logs, self.wanted = tree, baseline, history, logs, wanted

    def judge(self, key, mutant, before, met):
        """(status, by, file), or None while tests are left that were not wanted. before: the last Result; met: a Met."""
        found = self.tree.find(mutant)
        if found is None:
            return "gone", "", mutant.file
        file, text = found
        try:
            with self.tree.with_bug(mutant, file, text):
                by, complete = self.killer(key, mutant.layer, file, before, met)
        except BuildError:
            return "gone", "", file  # the image does not compile with it any more
        if by:
            return "killed", by, file
        return ("survived", "", file) if complete else None

    def killer(self, key, layer, file, before, met):
        """(the first test that fails or "", whether that is all)"""
        names = list(steps.quick(self.tree, layer, file, self.history))
        chosen = [name for name in names if re.match(self.wanted, name)]
        whole = bool(re.match(self.wanted, WHOLE_TIER))
        if before and before.by in chosen:
            chosen = list(dict.fromkeys([before.by] + chosen))
        elif before and "::" in before.by and whole:
            by = self.whole_tier(key, layer, file, met, [before.by])
            if by:
                return by, True
        passed = met.passed()
        for name in chosen:
            if name not in passed and self.fails(key, name, met):
                return name, True
        by = self.whole_tier(key, layer, file, met) if whole else ""
        return by, whole and len(chosen) == len(names)

    def fails(self, key, name, met):
        """Of a quick step."""
        if steps.needs_machine(name):
            self.tree.make("all")
        patience = self.baseline.patience(name)
        outcome = steps.run(self.tree, name, patience, self.baseline.prefix)
        if outcome is None or outcome.passed:
            met.note(True, outcome.seconds if outcome else 0, name)
            return False
        self.log(key, outcome.text)
        return True

    def whole_tier(self, key, layer, file, met, only=()):
        """The test that fails, or "". One counts that passes without the mutant and fails twice with it: no bad luck of a busy
        machine kills."""
        doubted = set()
        plan = order.plan(layer, file, self.tree.tests(order.BLIND), self.history, met.path, longest(os.path.dirname(met.path)))
        while True:
            plan["first"] = list(dict.fromkeys(met.failed() + plan["first"]))
            done = steps.run_pytest(self.tree, plan, self.baseline.prefix, only)
            failed = met.failed()
            if done.status in (0, steps.NO_TESTS) or (done.status == steps.FAILED and not failed):
                return ""
            if only and done.status == steps.UNKNOWN_TEST:
                return ""  # it was there on another commit
            if not failed or failed[-1] in doubted:
                raise RuntimeError("pytest ended by %d and names no test that failed twice:\n%s" % (done.status, done.text[-4000:]))
            self.log(key, done.text)
            name = failed[-1]
            self.baseline.must_pass(name)
            if steps.run_pytest(self.tree, plan, self.baseline.prefix, [name]).status not in (0, steps.NO_TESTS):
                return name
            doubted.add(name)
            met.note(True, 0, name)

    def log(self, key, text):
        with open(os.path.join(self.logs, key + ".log"), "w", encoding="utf-8") as f:
            f.write(text)
