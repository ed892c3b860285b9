# SPDX-License-Identifier: GPL-2.0-only
"""What a unit test or fuzz target is made of, by its UNIT line (mk/unit.mk has the same for make).

The second line of tests/unit/test_NAME.c and tests/fuzz/fuzz_NAME.c says it: /* UNIT: path/a.c -DX=y @path/list.sources */.
A word with an @ stands for the words of that file, in which lines with a # are comments: for lists that are long, or that
several tests have.
"""

import glob
import os
import re

LINE = re.compile(r"/\* UNIT: *(.*?) *\*/ *")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(margay/[^>]+)>)', re.MULTILINE)
FOLDERS = {"unit": "tests/unit", "fuzz": "tests/fuzz"}


def read(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as f:
        return f.read()


def line(top, path):
    """The words of the UNIT line of this file as they stand there; none when it has no such line."""
    found = LINE.fullmatch((read(top, path).split("\n") + [""])[1])
    return found[1].split() if found else []


def listed(top, path):
    """The words of a list as they stand there."""
    return [word for row in read(top, path).split("\n") if not row.startswith("#") for word in row.split()]


def expanded(top, names):
    """The same words, and for each list the list itself with an @, and its words."""
    for word in names:
        yield word
        if word.startswith("@"):
            yield from expanded(top, listed(top, word[1:]))


def words(top, path):
    """Of the UNIT line of this file, lists put in."""
    return [word for word in expanded(top, line(top, path)) if not word.startswith("@")]


def sources(top, names):
    """The files that these words link; ?* and * stand for any name in a folder, ! leaves one out."""
    found = {file for word in names if word.endswith(".c") and word[0] not in "!-" for file in glob.glob(word, root_dir=top)}
    return found - {word[1:] for word in names if word.startswith("!")}


def targets(top):
    """Each unit test and fuzz target: ("unit" or "fuzz", name, path)."""
    for kind, folder in FOLDERS.items():
        for name in sorted(os.listdir(os.path.join(top, folder))):
            if re.fullmatch(r"(test|fuzz)_\w+\.c", name):
                yield kind, name[:-2], folder + "/" + name


def linked_with(top, file):
    """The unit tests and fuzz targets whose UNIT line has the file, or that include it: ("unit" or "fuzz", name)."""
    for kind, name, path in targets(top):
        if '#include "%s"' % file in read(top, path) or file in sources(top, words(top, path)):
            yield kind, name


class Sources:
    """Which targets a change touches, headers and whatever else they include, too."""

    def __init__(self, top):
        self.top = top
        self.included = {}

    def includes(self, path):
        """The files of the tree that a file includes, itself."""
        if path not in self.included:
            found = [first or second for first, second in INCLUDE.findall(read(self.top, path))]
            places = [os.path.normpath(os.path.join(place, name))
                      for name in found for place in (os.path.dirname(path), "", "include")]
            self.included[path] = {place for place in places if os.path.isfile(os.path.join(self.top, place))}
        return self.included[path]

    def whole(self, first):
        """These files, and all that they include, at whatever depth."""
        seen, waiting = set(), list(first)
        while waiting:
            path = waiting.pop()
            if path not in seen and os.path.isfile(os.path.join(self.top, path)):
                seen.add(path)
                waiting += self.includes(path)
        return seen

    def touched(self, files):
        """The targets that any of the files goes into, their lists among them: ("unit" or "fuzz", name)."""
        changed = set(files)
        for kind, name, path in targets(self.top):
            line_of = list(expanded(self.top, line(self.top, path)))
            lists = {word[1:] for word in line_of if word.startswith("@")}
            if changed & (lists | self.whole([path, *sources(self.top, line_of)])):
                yield kind, name
