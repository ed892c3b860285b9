# SPDX-License-Identifier: GPL-2.0-only
"""What a unit test is made of, as tests/unit_lines.py and make read it."""

import os
import re
import subprocess

import pytest
import unit_lines

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
READERS = [("unit", name, "tests/unit/%s.c" % name) for name in ("read_cpus", "read_machine", "replay_machine")]
ALL = [*unit_lines.targets(TOP), *READERS]
TREE = {
    "tests/unit/test_a.c": '// SPDX\n/* UNIT: -DX=1 vmm/a.c @tests/unit/more.sources -lm */\n#include "a.h"\n',
    "tests/unit/test_b.c": '// SPDX\n/* UNIT: */\n#include "vmm/b.c"\n',
    "tests/fuzz/fuzz_c.c": "// SPDX\n/* UNIT: vmm/?*.c !vmm/a.c */\n",
    "tests/unit/more.sources": "# SPDX\n\nvmm/c.c\n@tests/unit/nested.sources\n",
    "tests/unit/nested.sources": "# vmm/no.c\nvmm/d.c vmm/e.c\n",
    "tests/unit/a.h": "#include <margay/types.h>\n",
    "include/margay/types.h": "",
    "vmm/a.c": "",
    "vmm/b.c": '  #  include "own.h"\n',
    "vmm/own.h": "",
    **{"vmm/%s.c" % name: "" for name in ("c", "d", "e", "no")},
}


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return str(tmp_path)


def test_lists_are_put_in(tree):
    assert unit_lines.words(tree, "tests/unit/test_a.c") == ["-DX=1", "vmm/a.c", "vmm/c.c", "vmm/d.c", "vmm/e.c", "-lm"]
    assert unit_lines.words(tree, "tests/unit/a.h") == []


@pytest.mark.parametrize("file, who", [
    ("vmm/a.c", ["test_a"]), ("vmm/d.c", ["test_a", "fuzz_c"]), ("vmm/b.c", ["test_b", "fuzz_c"]), ("vmm/no.c", ["fuzz_c"]),
])
def test_linked(tree, file, who):
    assert [name for _, name in unit_lines.linked_with(tree, file)] == who


@pytest.mark.parametrize("file, who", [
    ("vmm/e.c", ["test_a", "fuzz_c"]), ("tests/unit/nested.sources", ["test_a"]), ("tests/unit/test_b.c", ["test_b"]),
    ("vmm/own.h", ["test_b", "fuzz_c"]), ("include/margay/types.h", ["test_a"]), ("docs/testing.md", []),
])
def test_touched(tree, file, who):
    assert [name for _, name in unit_lines.Sources(tree).touched([file])] == who


@pytest.mark.parametrize("path", [path for _, _, path in ALL])
def test_each_word_is_there(path):
    line = unit_lines.read(TOP, path).split("\n")[1]
    assert not line.startswith("/* UNIT:") or len(line) <= 200, "a list that long is a file of its own"
    for word in unit_lines.expanded(TOP, unit_lines.line(TOP, path)):
        if word.startswith("@"):
            assert os.path.exists(os.path.join(TOP, word[1:]))
        elif word.endswith(".c"):
            assert unit_lines.sources(TOP, [word.lstrip("!")]), word


def test_each_list_is_used():
    used = {word[1:] for _, _, path in ALL for word in unit_lines.expanded(TOP, unit_lines.line(TOP, path)) if word[0] == "@"}
    there = {folder + "/" + name for folder in unit_lines.FOLDERS.values() for name in os.listdir(os.path.join(TOP, folder))
             if name.endswith(".sources")}
    assert there == used


@pytest.mark.parametrize("kind, name", [("unit", "test_management"), ("unit", "test_cstates"), ("fuzz", "fuzz_vmm")])
def test_make_reads_the_same(tmp_path, kind, name):
    folder = {"unit": "unit", "fuzz": "fuzz-replay"}[kind]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(["make", "-n", "V=1", "B=%s" % tmp_path, "%s/%s/%s" % (tmp_path, folder, name)], cwd=TOP, env=environment,
                          capture_output=True, text=True, check=True)
    objects = re.findall(r" -o %s/%s/obj([^/]*)/\S+\.o (\S+\.c)$" % (tmp_path, folder), done.stdout, re.MULTILINE)
    path = "tests/%s/%s.c" % (kind, name)
    words = unit_lines.words(TOP, path)
    flags = "".join(word for word in words if word.startswith("-") and not word.startswith("-l"))
    replay = ["tests/fuzz/replay.c"] if kind == "fuzz" else []
    assert {source for _, source in objects} == {path, *replay, *unit_lines.sources(TOP, words)}
    assert {flag for flag, _ in objects} == {flags}
