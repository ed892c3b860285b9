# SPDX-License-Identifier: GPL-2.0-only
"""What one mutant has met so far on one state of the tree: a file with a line for each test, written when that has ended. It is
what makes a run resumable: a test that has passed is not run again.
"""

import os


class Met:
    def __init__(self, path):
        self.path = path

    def note(self, passed, seconds, name):
        """One write, of one line: whoever is killed leaves whole lines."""
        with open(self.path, "a", encoding="utf-8") as f:
            f.write("%s %.1f %s\n" % ("passed" if passed else "failed", seconds, name))

    def lines(self):
        """(whether it passed, seconds, name) of each; the last one of a name counts."""
        if not os.path.exists(self.path):
            return
        with open(self.path, encoding="utf-8") as f:
            for line in f:
                if line.endswith("\n"):
                    outcome, seconds, name = line[:-1].split(" ", 2)
                    yield outcome == "passed", float(seconds), name

    def outcomes(self):
        """{name: whether it passed}, in the order of each one's last line."""
        found = {}
        for passed, _, name in self.lines():
            found.pop(name, None)
            found[name] = passed
        return found

    def passed(self):
        return [name for name, passed in self.outcomes().items() if passed]

    def failed(self):
        return [name for name, passed in self.outcomes().items() if not passed]

    def forget(self):
        if os.path.exists(self.path):
            os.remove(self.path)


def longest(folder):
    """{name: the most seconds that it took when it passed} of all that was met in that folder."""
    seconds = {}
    for file in sorted(os.listdir(folder)):
        for passed, took, name in Met(os.path.join(folder, file)).lines():
            if passed:
                seconds[name] = max(seconds.get(name, 0), took)
    return seconds
