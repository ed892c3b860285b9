# SPDX-License-Identifier: GPL-2.0-only
"""tools/check-format: C that is not as .clang-format has it is refused, with file, line and what mends it; --write mends it."""

import os
import shutil
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "check-format")
GOOD = "int add(int a, int b)\n{\n\treturn a + b;\n}\n"
TABLE = "/* clang-format off */\nint squares[] = {\n\t0,   1,\n\t4,   9,\n};\n/* clang-format on */\n"


def run(*arguments, **environment):
    return subprocess.run([TOOL, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("text", (GOOD, TABLE, "struct pair {\n\tint a;\n\tint b;\n};\n"))
def test_right(tmp_path, text):
    source = tmp_path / "x.c"
    source.write_text(text)
    done = run(source)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "check-format: 1 files\n")


@pytest.mark.parametrize("text, line", (
    (GOOD.replace("a + b", "a+b"), 3), (GOOD.replace("\treturn", "    return"), 2), (GOOD.replace("\n{", " {"), 1),
    (GOOD.replace("a + b", " + ".join(["a"] * 40)), 3), (TABLE.replace("clang-format o", "o"), 3),
))
def test_wrong_is_named_and_mended(tmp_path, text, line):
    source = tmp_path / "x.c"
    source.write_text(text)
    done = run(source)
    assert done.returncode == 1
    assert done.stderr == "%s:%d: not as .clang-format has it: make format\ncheck-format: 1 of 1 files\n" % (source, line)
    assert run("--write", source).returncode == 0
    assert run(source).returncode == 0 and max(len(row) for row in source.read_text().split("\n")) <= 93


def test_what_is_no_c_is_left(tmp_path):
    source = tmp_path / "x.py"
    source.write_text("# A comment\nx = 1\n")
    done = run("--write", source)
    assert (done.returncode, done.stderr) == (1, "check-format: %s: is no .c and no .h: only C is formatted\n" % source)
    assert source.read_text() == "# A comment\nx = 1\n"


def test_a_file_that_is_changed_is_looked_at_again(tmp_path):
    """In a tree of its own, whose build remembers what was right."""
    build = tmp_path / "build"
    for folder in "tools", "lib", "build":
        (tmp_path / folder).mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    shutil.copy(os.path.join(TOP, ".clang-format"), tmp_path)
    os.symlink(os.path.join(os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build")), "wheels"), build / "wheels")
    source = tmp_path / "lib" / "x.c"

    def judged(text):
        source.write_text(text)
        return subprocess.run([tmp_path / "tools" / "check-format"], env={**os.environ, "MARGAY_BUILD": str(build)},
                              capture_output=True, text=True, check=False)
    assert judged(GOOD).returncode == 0 and judged(GOOD).returncode == 0
    done = judged(GOOD.replace("a + b", "a+b"))
    assert done.returncode == 1 and done.stderr.startswith("lib/x.c:3: ")
    assert judged(GOOD.replace("a + b", "a+b")).returncode == 1
    assert judged(GOOD).returncode == 0
    with open(tmp_path / ".clang-format", "a", encoding="ascii") as f:
        f.write("ColumnLimit: 18\n")
    assert judged(GOOD).returncode == 1


def test_without_the_formatter(tmp_path):
    done = run(MARGAY_BUILD=str(tmp_path))
    assert (done.returncode, done.stderr) == (1, "check-format: no clang-format in build/wheels: tools/setup check\n")
