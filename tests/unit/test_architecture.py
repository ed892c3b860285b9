# SPDX-License-Identifier: GPL-2.0-only
"""docs/architecture.md: each file that it names is there, and each function that it names stands in the file before it. And each
file that CONTRIBUTING.md names where it says where to add what.
"""

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


def absent(text):
    """Files that are named and are not there; what is built and names of one's own apart."""
    named = [quoted for quoted in re.findall(r"`([^`\n]+)`", text) if FILE.fullmatch(quoted)]
    own = [quoted for quoted in named if "NAME" in quoted or quoted.startswith("build/")]
    return len(named), [quoted for quoted in named if quoted not in own and not os.path.exists(os.path.join(TOP, quoted))]


def test_where_to_add():
    with open(os.path.join(TOP, "CONTRIBUTING.md"), encoding="utf-8") as f:
        text = f.read()
    count, wrong = absent(text.split("\n## Where to add\n")[1].split("\n## ")[0])
    assert count > 20 and wrong == []
    assert 80 < text.count("\n") <= 120 and all(len(line) <= 100 for line in text.split("\n"))


def test_control():
    assert absent("`vmm/nowhere.c` `vmm/dev/NAME.c` `vmm/vcpu.c`") == (3, ["vmm/nowhere.c"])
    assert list(missing("`vmm/vcpu.c`: `nothing()`")) == ["nothing()"]
    assert list(missing("`vmm/nowhere.c`")) == ["vmm/nowhere.c"]
