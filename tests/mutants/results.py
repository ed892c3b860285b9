# SPDX-License-Identifier: GPL-2.0-only
"""What mutants came to. While a run lasts: one file for each draw in build/mutants, a line for each result. When it is complete, a
draw from a seed is kept in tests/mutants/results, which docs/mutants.md is made from.
"""

import collections
import glob
import json
import os
import threading

# status: killed or survived, or gone when the source has its lines no more. tree: the state of the source that this is true of.
Result = collections.namedtuple("Result", "status by commit tree layer file")
# One mutant of a run as it is told. status: of a Result; or alike, of one with a reason that no test has killed; or "to run".
# note: what else is to be said, the reason for one.
Row = collections.namedtuple("Row", "key layer file bug status by commit note")
TO_RUN = "to run"


def text_of(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


class Results:
    """One file per draw, a line per result; the last line of a mutant counts."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        self.of = {}
        for line in text_of(path).splitlines(keepends=True):
            if line.endswith("\n"):
                fields = json.loads(line)
                key = fields.pop("key")
                self.of[key] = Result(**fields)

    def keep(self, key, result):
        with self.lock:
            self.of[key] = result
            with open(self.path, "a", encoding="utf-8") as f:
                f.write(json.dumps({"key": key, **result._asdict()}) + "\n")

    def final(self, key, tree):
        """The Result of a mutant in this state of the source, or None."""
        result = self.of.get(key)
        return result if result and result.tree == tree else None


def kept_path(folder, committed):
    return os.path.join(folder, "committed.json" if committed else "fresh.json")


def keep(path, seed, rows):
    """A complete run, as data, a line for each mutant."""
    lines = ",\n".join("  " + json.dumps(row._asdict()) for row in rows)
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write('{"license": "SPDX-License-Identifier: GPL-2.0-only", "seed": "%s", "mutants": [\n%s\n]}\n' % (seed, lines))
    os.replace(path + ".new", path)


def kept(path):
    """(seed, rows) of that file, or None."""
    if not os.path.exists(path):
        return None
    data = json.loads(text_of(path))
    return data["seed"], [Row(**row) for row in data["mutants"]]


def history(folder, scratch):
    """All that is known of kills, of any state of the source: what was kept, and what lies in build/mutants."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        found += kept(path)[1]
    for path in sorted(glob.glob(os.path.join(scratch, "results-*.json"))):
        found += Results(path).of.values()
    return found
