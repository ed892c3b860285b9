# SPDX-License-Identifier: GPL-2.0-only
"""tools/check-functions: a function that is long or complex is refused by name, unless the list has it; the list has no others."""

import os
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "check-functions")


def function(lines=0, branches=0):
    """Of that many lines, and a complexity that is more by one than its branches."""
    body = ["\tif (a == %d)" % n for n in range(branches)] + ["\t\ta++;"] * bool(branches)
    body += ["\ta++;"] * (lines - len(body) - 4)
    return "int f(int a)\n{\n%s\n\treturn a;\n}\n" % "\n".join(body or ["\ta++;"])


def run(tmp_path, text, rows=""):
    source, exceptions = tmp_path / "x.c", tmp_path / "list"
    source.write_text(text)
    exceptions.write_text("# who may\n\n" + rows.replace("FILE", str(source)))
    done = subprocess.run([TOOL, "--list", exceptions, source], capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).replace(str(tmp_path) + "/", "")


@pytest.mark.parametrize("text", (function(60), function(20, 14), function(60).replace("\ta++;\n", "\ta++; /* why */\n\n")),
                         ids=("long", "complex", "comments"))
def test_right(tmp_path, text):
    assert run(tmp_path, text) == (0, "check-functions: 0 wrong, 0 may be large\n")


@pytest.mark.parametrize("text, much", (
    (function(61), "61 lines"), (function(20, 15), "complexity 16"), (function(61, 15), "61 lines, complexity 16"),
    (function(10, 10).replace("a == 0", "a == 0 && a > 1 || a < 2 && a"), None),
    (function(10, 13).replace("a == 0", "a == 0 && a > 1 || a"), "complexity 16")),
    ids=("long", "complex", "both", "conditions", "complex-conditions"))
def test_too_much(tmp_path, text, much):
    status, said = run(tmp_path, text)
    assert status == (1 if much else 0)
    assert not much or said.split("\n")[0] == "x.c:1: f: %s; at most 60 and 15" % much


def test_the_list(tmp_path):
    assert run(tmp_path, function(61), "FILE f: a table that is code\n") == (0, "check-functions: 0 wrong, 1 may be large\n")
    assert run(tmp_path, function(61), "FILE g: another\n")[0] == 1
    status, said = run(tmp_path, function(61), "FILE f\n")
    assert status == 1 and said.endswith("list:3: not FILE FUNCTION: REASON\n")


def test_a_row_of_no_use(tmp_path):
    """Over the whole tree, where nothing of that name is."""
    exceptions = tmp_path / "list"
    with open(os.path.join(TOP, "tools", "large-functions"), encoding="utf-8") as f:
        exceptions.write_text(f.read() + "vmm/nothing.c nothing: no reason\n")
    done = subprocess.run([TOOL, "--list", exceptions], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "of no use: nothing is short and simple, or gone\ncheck-functions: 1 wrong, " in done.stderr


def test_no_lizard(tmp_path):
    done = subprocess.run([TOOL], env={**os.environ, "MARGAY_BUILD": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "check-functions: no lizard in build/wheels: tools/setup check\n")
