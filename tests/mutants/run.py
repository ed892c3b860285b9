#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""make mutants: gives the tree one bug at a time and asks the tests whether they see it, two bugs beside each other.

Without --seed the committed mutants, with it new ones. A mutant is killed by the first test that fails or does not end;
steps.py has the order. Results are kept in build/mutants, so an interrupted run goes on; on another commit the test that
killed a mutant before is tried first, and what survived meets all tests again. Writes docs/mutants.md; the status is 1 where the
kill rate is below its goal.

    run.py [--seed N] [--number N] [--jobs N] [--steps REGEX] [--only KEY,...] [--prefix COMMAND] [--draw]
"""

import argparse
import json
import os
import queue
import re
import shlex
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from mutants import draw, report, source, steps  # noqa: E402
from mutants.tree import BuildError, Tree  # noqa: E402

COMMITTED, REASONS = os.path.join(HERE, "committed"), os.path.join(HERE, "reasons")
DOCUMENT = os.path.join(draw.TOP, "docs", "mutants.md")
SCRATCH = os.path.join(draw.TOP, "build", "mutants")
COMMITTED_SEED = "17"


def text_of(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


class Results:
    """One file per seed, a line per result; the last line of a mutant counts."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        self.of = {}
        for line in text_of(path).splitlines():
            fields = json.loads(line)
            key = fields.pop("key")
            self.of[key] = report.Result(**fields)

    def keep(self, key, result):
        with self.lock:
            self.of[key] = result
            with open(self.path, "a", encoding="utf-8") as f:
                f.write(json.dumps({"key": key, **result._asdict()}) + "\n")


def judge(tree, mutant, before, baseline, wanted):
    """(status, by): what the tests say of one mutant, or those whose names begin as wanted says."""
    found = tree.find(mutant)
    if found is None:
        return "gone", ""
    file, text = found
    every = list(steps.names(tree, mutant.layer, file))
    names = [name for name in every if re.match(wanted, name)]
    if before and before.by in names:
        names = list(dict.fromkeys([before.by] + names))
    tree.write(file, source.apply(mutant._replace(file=file), text))
    try:
        built = False
        for name in names:
            if steps.needs_machine(name) and not built:
                tree.make("all")
                built = True
            patience = baseline.patience(name)
            passed, output, _ = steps.run(tree, name, patience, baseline.prefix)
            if not passed:
                with open(os.path.join(os.path.dirname(tree.path), report.key(mutant) + ".log"), "w", encoding="utf-8") as f:
                    f.write(output)
                return "killed", name
        return ("survived" if len(names) == len(every) else "open"), ""
    except BuildError:
        return "gone", ""  # the image does not compile with it any more
    finally:
        tree.write(file, text)


def work(path, todo, results, baseline, commit, wanted, failures):
    """One worker: a tree of its own, mutants until there are no more."""
    try:
        tree = Tree(draw.TOP, path)
        while not failures:
            mutant = todo.get_nowait()
            key = report.key(mutant)
            status, by = judge(tree, mutant, results.of.get(key), baseline, wanted)
            results.keep(key, report.Result(status, by, commit))
            print("%s %s %s: %s" % (key, status, by, report.shown(mutant)), flush=True)
    except queue.Empty:
        pass
    except Exception as e:  # pylint: disable=broad-except
        failures.append(e)


def arguments():
    parser = argparse.ArgumentParser(description="kill rate of single bugs")
    parser.add_argument("--seed", help="draw new mutants; without it the committed ones")
    parser.add_argument("--number", type=int, default=100, help="of new mutants")
    parser.add_argument("--jobs", type=int, default=2, help="0: only write down what is known")
    parser.add_argument("--steps", default="", help="only tests whose names (steps.py) begin with this")
    parser.add_argument("--only", help="keys, with commas between them; the document is left alone")
    parser.add_argument("--prefix", default="", help="a command that each one with an emulator is run by")
    parser.add_argument("--draw", action="store_true", help="only print the mutants, as tests/mutants/committed has them")
    return parser.parse_args()


def main():
    args = arguments()
    os.makedirs(SCRATCH, exist_ok=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=draw.TOP, capture_output=True, text=True,
                            check=True).stdout.strip()
    base = Tree(draw.TOP, os.path.join(SCRATCH, "base"))
    seed = args.seed or COMMITTED_SEED
    if args.seed:
        mutants = list(draw.draw(draw.Compiler(base.path), seed, args.number))
    else:
        mutants = [m for m, _ in draw.read(text_of(COMMITTED))]
    if args.draw:
        print("\n".join(draw.written(mutants)))
        return
    reasons = {report.key(m): reason for m, reason in draw.read(text_of(REASONS))}
    results = Results(os.path.join(SCRATCH, "results-%s.json" % seed))
    baseline = steps.Baseline(base, os.path.join(SCRATCH, "baseline-%s.json" % commit), shlex.split(args.prefix))
    todo, failures = queue.Queue(), []
    for m in mutants:
        done = results.of.get(report.key(m))
        over = done and done.commit == commit and done.status != "open"
        if report.key(m) in args.only.split(",") if args.only else not over and report.key(m) not in reasons:
            todo.put(m)
    workers = [threading.Thread(target=work, args=(os.path.join(SCRATCH, "tree%d" % n), todo, results, baseline, commit, args.steps,
                                                   failures)) for n in range(args.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        sys.exit("mutants: %s" % failures[0])
    counts = report.counted(mutants, results.of, reasons)["all"]
    committed = not args.seed
    if not args.only and not args.steps:
        text = report.document(text_of(DOCUMENT), report.part(mutants, results.of, reasons, committed, seed), committed)
        with open(DOCUMENT, "w", encoding="utf-8") as f:
            f.write(text)
    print("\n".join(report.part(mutants, results.of, reasons, committed, seed)))
    sys.exit(0 if report.good(counts, committed) else 1)


if __name__ == "__main__":
    main()
