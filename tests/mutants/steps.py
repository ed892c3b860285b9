# SPDX-License-Identifier: GPL-2.0-only
"""The tests that a mutant meets, cheapest first: units and fuzz corpora that link its file, the generated document, a short boot
on each emulator, then the whole of the fast tier by pytest, in the order of order.py.
"""

import collections
import json
import os
import sys
import threading
import time

from mutants import draw, order
from mutants.children import DIES_WITH_PARENT
from mutants.met import Met
from mutants.tree import BuildError

# A tiny guest alone on each emulator on which the mutant's layer runs: a hang there is seen in minutes.
BOOTS = {"vmx": ("boot bochs",), "svm": ("boot qemu",)}
ALL_BOOTS = ("boot qemu", "boot bochs")
# pytest's statuses: tests failed, no test left.
FAILED, NO_TESTS = 1, 5
UNKNOWN_TEST = 4

Outcome = collections.namedtuple("Outcome", "passed text seconds")


def quick(tree, layer, file, history):
    """The names of all steps before pytest, in order."""
    known = [by for by in order.killers(history, layer, file) if "::" not in by]
    units = ["%s %s" % link for link in tree.linked_with(file)]
    yield from sorted(units, key=lambda name: known.index(name) if name in known else len(known))
    yield "cpuid-list"
    yield from BOOTS.get(layer, ALL_BOOTS)


def needs_machine(name):
    return name.startswith("boot ")


def command(name):
    """(what has to be made, how it is run)"""
    first, _, second = name.partition(" ")
    if first == "unit":
        return ["build/unit/" + second], ["build/unit/" + second]
    if first == "fuzz":
        return ["build/fuzz-replay/" + second], ["build/fuzz-replay/" + second, "tests/fuzz/corpus/" + second[len("fuzz_"):]]
    if first == "cpuid-list":
        return ["build/cpuid-list"], ["sh", "-c", "build/cpuid-list | cmp - docs/cpuid.md"]
    return ["all", "tiny"], ["tools/tiny-run", "boot", "--machine", second]


def execute(tree, words, patience, prefix, **environment):
    """(Done, seconds). The file's time is when it began, behind what the prefix may have waited for."""
    began = os.path.join(tree.path, "build", "began")
    words = [*prefix, *(DIES_WITH_PARENT if prefix else ()), "sh", "-c", ': > "$0"; exec timeout -k 60 "$@"', began,
             str(int(patience)), *DIES_WITH_PARENT, *words]
    with tree.busy():
        done = tree.children.run(words, tree.path, {**draw.environment(tree.path), **environment})
    return done, time.time() - os.path.getmtime(began)


def run(tree, name, patience, prefix):
    """The Outcome of a quick step; None where it cannot be built. With other warnings than the image has a bug need not compile,
    and that says nothing of the test."""
    targets, words = command(name)
    try:
        tree.make(*targets)
    except BuildError:
        return None
    done, seconds = execute(tree, words, patience, prefix if needs_machine(name) else ())
    # An emulator that failed says nothing here; pytest tries again.
    passed = done.status == 0 or (needs_machine(name) and "EmulatorDied" in done.text)
    return Outcome(passed, done.text, seconds)


def run_pytest(tree, plan, prefix, only=()):
    """Done. plan: as order.plan(), noted in plan["met"]; only: names of tests, else all, up to the first that fails."""
    tree.make("all", "tiny")
    tree.make_units()
    path = os.path.join(tree.path, "build", "plan")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(plan, f)
    blind = ["--ignore=%s/%s.py" % (folder, name) for name in order.BLIND for folder in ("tests/unit", "tests/system")]
    words = [sys.executable, "-m", "pytest", "-p", "mutants.watch", "-x", "-q", "-n", "0", *blind, *(only or ["tests"])]
    done, _ = execute(tree, words, Baseline.LONGEST, prefix, MUTANTS_PLAN=path, PYTHONPATH=os.path.join(tree.path, "tests"))
    return done


class Baseline:
    """Each test once without a mutant, when it is first needed: it must pass, and its time says what is patient enough."""

    LONGEST = 6 * 3600

    def __init__(self, tree, path, met, prefix):
        """path: where the steps' seconds are kept; met: where the tests are, by name, that passed in this state of the tree."""
        self.tree, self.path, self.met, self.prefix, self.lock = tree, path, Met(met), prefix, threading.Lock()
        self.seconds = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.seconds = json.load(f)

    def patience(self, name):
        with self.lock:
            if name not in self.seconds:
                outcome = run(self.tree, name, self.LONGEST, self.prefix)
                if outcome is None or not outcome.passed:
                    raise RuntimeError("without any mutant %s fails:\n%s" % (name, outcome.text[-4000:] if outcome else ""))
                self.seconds[name] = outcome.seconds
                with open(self.path + ".new", "w", encoding="utf-8") as f:
                    json.dump(self.seconds, f)
                os.replace(self.path + ".new", self.path)
        return 5 * self.seconds[name] + 60

    def must_pass(self, name):
        """Of a test of pytest's that has failed with a mutant."""
        with self.lock:
            if name in self.met.passed():
                return
            plan = {"first": [], "last": "", "met": self.met.path, "seconds": {}}
            try:
                done = run_pytest(self.tree, plan, self.prefix, [name])
            except BuildError as e:
                raise RuntimeError("without any mutant the image does not build:\n%s" % e) from e
            if done.status:
                raise RuntimeError("without any mutant %s fails:\n%s" % (name, done.text[-4000:]))
