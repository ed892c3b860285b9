#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""make mutants: gives the tree one bug at a time and asks the tests whether they see it, two bugs beside each other.

Without --seed and --since the committed mutants; with --seed new ones; with --since new ones in the lines that were added after
that commit. A mutant is killed by the first test that fails or does not end; steps.py and order.py have the order. All that is
known is kept in build/mutants, by test: a run that was stopped or killed goes on where it was. In another state of the source the
test that killed a mutant before is tried first, and what survived meets all tests again. A complete run of a seed writes
tests/mutants/results and docs/mutants.md. The status is 3 while mutants are left to run, and 1 where the kill rate is below its
goal.

    run.py [--seed N] [--since COMMIT] [--number N] [--minutes M] [--jobs N] [--steps REGEX] [--only KEY,...] [--prefix COMMAND]
           [--draw | --document]
"""

import argparse
import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from mutants import change, draw, report, results, source, steps  # noqa: E402
from mutants.children import Children, Stopped  # noqa: E402
from mutants.judge import Judge  # noqa: E402
from mutants.met import Met  # noqa: E402
from mutants.tree import Tree, state_of  # noqa: E402

COMMITTED, REASONS = os.path.join(HERE, "committed"), os.path.join(HERE, "reasons")
KEPT = os.path.join(HERE, "results")
DOCUMENT = os.path.join(draw.TOP, "docs", "mutants.md")
SCRATCH = os.path.join(draw.TOP, "build", "mutants")
COMMITTED_SEED = "17"
NUMBER = {report.FRESH: 100, report.CHANGE: 10}
BELOW, LEFT = 1, 3  # exit statuses


class Run:
    """One draw in one state of the source, and what is known of it."""

    def __init__(self, args):
        self.args = args
        self.kind = report.CHANGE if args.since else report.FRESH if args.seed else report.COMMITTED
        self.seed = args.seed or (COMMITTED_SEED if self.kind == report.COMMITTED else "1")
        self.since = change.commit_of(draw.TOP, args.since) if args.since else ""
        self.name = "since-%s-%s" % (self.since[:12], self.seed) if self.since else self.seed
        self.commit = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=draw.TOP, capture_output=True,
                                     text=True, check=True).stdout.strip()
        self.state = state_of(draw.TOP)
        self.children = Children()
        self.failures = []
        os.makedirs(os.path.join(SCRATCH, "met"), exist_ok=True)
        self.base = Tree(draw.TOP, os.path.join(SCRATCH, "base"), self.children)
        self.mutants = self.drawn()
        self.reasons = {source.key(m): reason for m, reason in draw.read(results.text_of(REASONS))}
        self.results = results.Results(os.path.join(SCRATCH, "results-%s.json" % self.name))

    def drawn(self):
        """The mutants. A draw is made once for a state of the source."""
        if self.kind == report.COMMITTED:
            return [m for m, _ in draw.read(results.text_of(COMMITTED))]
        number = self.args.number or NUMBER[self.kind]
        path = os.path.join(SCRATCH, "drawn-%s-%d-%s" % (self.name, number, self.state))
        if not os.path.exists(path):
            found = list(self.draw(number))
            with open(path + ".new", "w", encoding="utf-8") as f:
                f.write("\n".join(draw.written(found)) + "\n")
            os.replace(path + ".new", path)
        found = [m for m, _ in draw.read(results.text_of(path))]
        if len(found) < number:
            print("mutants: the change adds only %d lines of the image that can be mutated" % len(found), file=sys.stderr)
        return found

    def draw(self, number):
        compiler = draw.Compiler(self.base.path)
        if self.kind == report.FRESH:
            return draw.draw(compiler, self.seed, number)
        both = draw.Compilers(compiler, draw.every_feature(self.base.path))
        return draw.draw_lines(both, self.seed, number, change.added(draw.TOP, self.since))

    def rows(self):
        return list(report.rows(self.mutants, self.results, self.reasons, self.state))

    def met(self, key):
        return Met(os.path.join(SCRATCH, "met", "%s-%s" % (self.state, key)))

    def todo(self):
        """A queue of what has to be judged."""
        left = queue.Queue()
        rows = {row.key: row for row in self.rows()}
        for m in self.mutants:
            key = source.key(m)
            if key in self.args.only.split(",") if self.args.only else rows[key].status == results.TO_RUN:
                left.put(m)
                if self.args.only:
                    self.met(key).forget()
        return left

    def work(self, number, todo, baseline):
        """One worker: a tree of its own, mutants until there are no more or the run is stopped."""
        try:
            tree = Tree(draw.TOP, os.path.join(SCRATCH, "tree%d" % number), self.children)
            judge = Judge(tree, baseline, results.history(KEPT, SCRATCH), SCRATCH, self.args.steps)
            while True:
                mutant = todo.get_nowait()
                key = source.key(mutant)
                found = judge.judge(key, mutant, self.results.of.get(key), self.met(key))
                if found:
                    status, by, file = found
                    self.results.keep(key, results.Result(status, by, self.commit, self.state, mutant.layer, file))
                print("%s %s: %s" % (key, " ".join(found[:2]) if found else "is left by these steps", report.shown(mutant)),
                      flush=True)
        except (queue.Empty, Stopped):
            pass
        except Exception as e:  # pylint: disable=broad-except
            self.failures.append(e)
            self.children.stop()

    def judge_all(self):
        """Until all are judged, the minutes are over, or a signal comes."""
        baseline = steps.Baseline(self.base, os.path.join(SCRATCH, "baseline-%s.json" % self.state), self.met("base").path,
                                  shlex.split(self.args.prefix))
        todo = self.todo()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.children.stop())
        over = threading.Timer(60 * (self.args.minutes or 0), self.children.stop)
        over.daemon = True
        if self.args.minutes:
            over.start()
        workers = [threading.Thread(target=self.work, args=(n, todo, baseline)) for n in range(self.args.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            # A signal that comes right before a wait is heard behind it only.
            while worker.is_alive():
                worker.join(0.5)

    def end(self):
        """Tells what it came to; the exit status."""
        rows = self.rows()
        counts = report.counted(rows)["all"]
        name = "since %s, seed %s" % (self.since[:12], self.seed) if self.since else "seed " + self.seed
        print("\n".join(report.summary(self.kind, name, rows)))
        if counts[results.TO_RUN]:
            return LEFT
        if self.kind != report.CHANGE and not self.args.only and not self.args.steps:
            results.keep(results.kept_path(KEPT, self.kind == report.COMMITTED), self.seed, rows)
            write_document()
        return 0 if not rows or report.good(counts, self.kind) else BELOW


def write_document():
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(report.document(KEPT))


def arguments():
    parser = argparse.ArgumentParser(description="kill rate of single bugs")
    parser.add_argument("--seed", help="draw new mutants; without it the committed ones")
    parser.add_argument("--since", metavar="COMMIT", help="draw them from the lines that were added after it")
    parser.add_argument("--number", type=int, help="of new mutants: 100, of a change 10")
    parser.add_argument("--minutes", type=float, help="stop then; the same command goes on later")
    parser.add_argument("--jobs", type=int, default=2, help="0: only tell what is known")
    parser.add_argument("--steps", default="", metavar="REGEX", help="only tests whose names (steps.py) begin with this; pytest: "
                        "the whole tier")
    parser.add_argument("--only", metavar="KEY,...", help="these again; what is kept is left alone")
    parser.add_argument("--prefix", default="", help="a command that each one with an emulator is run by")
    parser.add_argument("--draw", action="store_true", help="only print the mutants, as tests/mutants/committed has them")
    parser.add_argument("--document", action="store_true", help="only write docs/mutants.md of tests/mutants/results")
    args = parser.parse_args()
    try:
        re.compile(args.steps)
    except re.error as e:
        parser.error("--steps: %s" % e)
    if args.number is not None and args.number < 1 or args.jobs < 0 or args.minutes is not None and args.minutes <= 0:
        parser.error("--number and --minutes are above 0, --jobs is not below")
    return args


def main():
    args = arguments()
    if args.document:
        write_document()
        return
    os.makedirs(SCRATCH, exist_ok=True)
    try:
        run = Run(args)
    except change.NoCommit as e:
        sys.exit("mutants: %s" % e)
    if args.draw:
        print("\n".join(draw.written(run.mutants)))
        return
    run.judge_all()
    status = run.end()
    if run.failures:
        sys.exit("mutants: %s" % run.failures[0])
    sys.exit(status)


if __name__ == "__main__":
    main()
