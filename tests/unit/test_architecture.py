# SPDX-License-Identifier: GPL-2.0-only
"""docs/architecture.md: each file that it names is there, and each function that it names stands in the file before it."""

import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?|Kconfig|features\.mk")
NAME = re.compile(r"(\w+)\(\)|(keys|rules|console_commands)")


def rows(text, heading):
    """The last cell of each row of the table under a heading."""
    part = text.split("\n## %s\n" % heading)[1].split("\n## ")[0]
    found = [line.split(" | ")[-1].rstrip(" |") for line in part.split("\n") if line.startswith("| ")][1:]
    assert len(found) >= 8
    return found


def missing(cell):
    """What a cell names and is not there."""
    last = None
    for quoted in re.findall(r"`([^`]+)`", cell):
        name = NAME.fullmatch(quoted)
        if FILE.fullmatch(quoted):
            path = os.path.join(TOP, quoted)
            # NAME stands for a name of one's own.
            if "NAME" not in quoted and not os.path.exists(path):
                yield quoted
            last = path if os.path.isfile(path) else None
        elif name:
            assert last, cell
            with open(last, encoding="utf-8") as f:
                if not re.search(r"\b%s\(" % name[1] if name[1] else r"\b%s\b" % name[2], f.read()):
                    yield quoted


def test_what_is_named_is_there():
    with open(os.path.join(TOP, "docs", "architecture.md"), encoding="utf-8") as f:
        text = f.read()
    for heading in "Where things are", "Where to add":
        for cell in rows(text, heading):
            assert list(missing(cell)) == [], cell


def test_control():
    assert list(missing("`vmm/vcpu.c`: `nothing()`")) == ["nothing()"]
    assert list(missing("`vmm/nowhere.c`")) == ["vmm/nowhere.c"]
