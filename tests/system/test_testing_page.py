# SPDX-License-Identifier: GPL-2.0-only
"""The commands with which docs/testing.md begins, typed as they stand, in a copy of the tree: each line says 0, and what the page
promises of it.

In the fast tier those that need no emulator; all of them in the full one.
"""

import os
import re
import shutil
import subprocess

import node
import pytest

# What starts an emulator, or reads what one has said.
EMULATED = re.compile(r"tools/tiny-run|build/logs/")
# Of build/: what make would only make again, and where the guest is.
KEPT = (".config", "auto.conf", "config", "config.h", "obj", "tests-guest", "unit/config.h", "margay", "margay-check", "font.S",
        "font.o", "version", "objects.list", "margay.pass1.elf", "symtab.S", "symtab.o", "margay.elf")


def typed():
    """The page's first block, a command each."""
    with open(os.path.join(node.TOP, "docs", "testing.md"), encoding="utf-8") as f:
        block = re.search(r"^```sh\n(.*?)^```$", f.read(), re.MULTILINE | re.DOTALL)[1]
    return block.rstrip("\n").split("\n")


def copy(source, target):
    """Files and folders as they are, with their times, by which make goes."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True)
    elif os.path.exists(source):
        shutil.copy2(source, target)


@pytest.fixture
def tree(tmp_path):
    """What git has of this tree, and what was built: a clone in which somebody has worked before."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=node.TOP,
                            capture_output=True, text=True, check=True).stdout
    top = str(tmp_path / "tree")
    for path in filter(None, listed.split("\0")):
        copy(os.path.join(node.TOP, path), os.path.join(top, path))
    for path in KEPT:
        copy(os.path.join(node.BUILD, path), os.path.join(top, "build", path))
    os.symlink(node.GUEST, os.path.join(top, "build", "guest"))
    return top


def run(tree, line):
    # As a person's shell, whatever make it is that runs this test.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MARGAY_", "KCONFIG", "MFLAGS"))}
    # git knows nothing of the copy: with another version the image would be linked again.
    with open(os.path.join(node.BUILD, "version"), encoding="ascii") as f:
        kept["VERSION"] = f.read().strip()
    done = subprocess.run(["bash", "-c", line], cwd=tree, env=kept, capture_output=True, text=True, check=False)
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
