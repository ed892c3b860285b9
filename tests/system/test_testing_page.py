# SPDX-License-Identifier: GPL-2.0-only
"""The commands with which docs/testing.md begins, typed as they stand, in a copy of the tree: each line says 0, and what the page
promises of it.

In the fast tier those that need no emulator; all of them in the full one.
"""

import os
import re
import subprocess

import margay_pages
import pytest
import tree_copy

# What starts an emulator, or reads what one has said.
EMULATED = re.compile(r"tools/tiny-run|build/logs/")


def typed():
    """The page's first block, a command each."""
    first, = (block for block in margay_pages.all_blocks() if (block.page, block.kind, block.name) == ("testing", "sh", "first"))
    return first.text.rstrip("\n").split("\n")


@pytest.fixture
def tree(tmp_path):
    return tree_copy.make(str(tmp_path / "tree"))


def run(tree, line):
    done = subprocess.run(["bash", "-c", line], cwd=tree, env=tree_copy.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, "%s\n%s%s" % (line, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout + done.stderr


def files(tree):
    """Contents of all but what is built."""
    found = {}
    for directory, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name not in ("build", "__pycache__")]
        for name in names:
            path = os.path.join(directory, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, tree)] = f.read()
    return found


def check(tree, lines):
    """Nothing is left at the end, and what the page says of a line is what came: each text in quotes behind its #."""
    before = files(tree)
    for line in lines:
        said = run(tree, line)
        for promise in re.findall(r'"([^"]+)"', line.partition("  # ")[2]):
            assert promise in said, (line, said[-3000:])
    assert files(tree) == before
    assert not [name for name in os.listdir(os.path.join(tree, "build", "tests-guest")) if name.startswith("twice.")]


def test_length():
    assert len(typed()) == 15 and all(len(line) <= 120 for line in typed())


def test_without_an_emulator(tree):
    lines = [line for line in typed() if not EMULATED.search(line)]
    assert 5 < len(lines) < len(typed())
    check(tree, lines)


@pytest.mark.full
def test_all_of_it(tree):
    check(tree, typed())


def test_control(tree):
    """A line that fails, and one that does not say what it promises, are found."""
    with pytest.raises(AssertionError):
        check(tree, ["tools/new-test boot"])
    with pytest.raises(AssertionError):
        check(tree, ['echo no  # "yes"'])
    with pytest.raises(AssertionError):
        check(tree, ["echo more >> README.md"])
