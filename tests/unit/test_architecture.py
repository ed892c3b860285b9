# SPDX-License-Identifier: GPL-2.0-only
"""docs/architecture.md: each file that it names is there, and each function that it names stands in the file before it. And each
file that CONTRIBUTING.md names where it says where to add what; and what the verdicts of docs/advisories.md rest on.
"""

import os
import re
import subprocess

import pytest

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


def headless(text):
    """First rows of tables that no line of dashes follows."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if line.startswith("| ") and not lines[i - 1].startswith("|")]
    return [lines[i] for i in starts if not lines[i + 1].startswith("|--")]


def test_tables_begin_with_their_heads():
    with open(os.path.join(TOP, "docs", "architecture.md"), encoding="utf-8") as f:
        assert headless(f.read()) == []


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


# A verdict of docs/advisories.md: how it begins, and that more follows, which says why.
VERDICT = re.compile(r"(?:not possible: |covered: |mended by |open: ).{20,}")
SUBJECT = re.compile(r'mended by "([^"]+)"')


def verdicts(text):
    """The last cell of each row of advisories."""
    rows = [line.strip("| ").split(" | ") for line in text.split("\n") if line.startswith("| ")]
    return [row[2] if len(row) == 3 else " | ".join(row) for row in rows if re.match(r"XSA-|CVE-|\(a kind\)", row[0])]


def linked_by(test):
    """What a unit test names of the tree: itself, and by its list of sources."""
    with open(os.path.join(TOP, test), encoding="utf-8") as f:
        text = f.read()
    for name in re.findall(r"@(\S+\.sources)", text):
        with open(os.path.join(TOP, name), encoding="utf-8") as f:
            text += f.read()
    return text


def elsewhere(cell):
    """Unit tests that a verdict names alone, where none is linked with any of the files that it names."""
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]+)`", cell)
    units = [name for name in named if re.fullmatch(r"tests/unit/\w+\.c", name) and name not in absent(cell)[1]]
    code = [name for name in named if not name.startswith("tests/")]
    if not cell.startswith("covered: ") or not code or len(units) < sum(name.startswith("tests/") for name in named):
        return []
    return [] if any(name in linked_by(unit) for unit in units for name in code) else units


def unfounded(cell):
    """What is wrong with a verdict: no reason, nothing of the tree that it rests on, what is not there, tests of something else."""
    if not VERDICT.match(cell) or not any(FILE.fullmatch(q) for q in re.findall(r"`([^`]+)`", cell)) and not SUBJECT.search(cell):
        yield cell
    yield from missing(cell)
    yield from absent(cell)[1]
    yield from elsewhere(cell)


def test_advisories():
    with open(os.path.join(TOP, "docs", "advisories.md"), encoding="utf-8") as f:
        text = f.read()
    assert len(verdicts(text)) > 100 and absent(text)[1] == []
    for cell in verdicts(text):
        assert list(unfounded(cell)) == []
    # Each once in its group; one of several variants may be in two.
    for group in text.split("\n## ")[1:]:
        names = re.findall(r"(?:XSA|CVE-\d+)-\d+(?: \([^)]*\))?", "\n".join(re.findall(r"^\| ([^|]*) \|", group, re.MULTILINE)))
        assert len(names) == len(set(names)), group.split("\n")[0]


def test_commits_that_mended():
    """Their subjects, where the history is at hand."""
    command = ["git", "-C", TOP, "log", "--format=%s"]
    log = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.split("\n")
    if len(log) < 500:
        pytest.skip("no history here")
    with open(os.path.join(TOP, "docs", "advisories.md"), encoding="utf-8") as f:
        subjects = SUBJECT.findall(f.read())
    assert len(subjects) >= 5 and [s for s in subjects if s not in log] == []


def test_control():
    assert headless("\n| a | b |\n|---|---|\n| c | d |\n\n| c | d |\n| a | b |\n|---|---|\n") == ["| c | d |"]
    assert absent("`vmm/nowhere.c` `vmm/dev/NAME.c` `vmm/node/vcpu.c`") == (3, ["vmm/nowhere.c"])
    assert list(missing("`vmm/node/vcpu.c`: `nothing()`")) == ["nothing()"]
    assert list(missing("`vmm/nowhere.c`")) == ["vmm/nowhere.c"]
    assert list(unfounded("covered: `tests/unit/test_nothing.c`, as it is"))
    assert list(unfounded("not possible: by `vmm/node/vcpu.c`: `nothing()`, surely"))
    assert list(unfounded("not possible: nobody would ever think of it"))
    assert list(unfounded("hardly: `vmm/node/vcpu.c` is not like that, one hopes"))
    assert list(unfounded("covered: `tests/unit/test_rtc.c`; `vmm/dev/board/rtc.c`: `rtc_write()`")) == ["tests/unit/test_rtc.c"]
    assert not list(unfounded("covered: `tests/unit/test_guest_rtc.c`; `vmm/dev/board/rtc.c`: `rtc_write()`"))
    assert not list(unfounded("not possible: one loop (`vmm/node/vcpu.c`: `loop()`)"))
    assert verdicts("| a | b | c |\n| XSA-1 | b | c |\n| (a kind) | b | c |") == ["c", "c"]
