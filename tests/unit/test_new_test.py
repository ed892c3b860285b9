# SPDX-License-Identifier: GPL-2.0-only
"""tools/new-test: what it makes, where, what it says, and what it refuses by one line; on a tree of a few folders.

That the skeletons build and pass: test_skeletons_build() here, and on emulators tests/system/test_testing_page.py.
"""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = "# A table.\n# Of guests.\nboot: yes\nfaults: yes\nelastic: no: a reason\nzero: yes\n"


@pytest.fixture
def tree(tmp_path):
    for folder in ("tests/guest/lib", "tests/unit", "tests/system/guest", "vmm"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tests/guest/direct-mode").write_text(TABLE)
    (tmp_path / "tests/guest/boot.c").write_text("kept")
    (tmp_path / "tests/guest/asm_only.asm").write_text("kept")
    (tmp_path / "tests/unit/test_old.c").write_text("kept")
    (tmp_path / "tests/unit/test_python.py").write_text("kept")
    (tmp_path / "tests/system/guest/script.sh").write_text("kept")
    (tmp_path / "vmm/a.c").write_text("")
    return tmp_path


def new_test(tree, *arguments):
    return subprocess.run([sys.executable, os.path.join(TOP, "tools", "new-test"), *arguments], capture_output=True, text=True,
                          check=False, env={**os.environ, "MARGAY_TOP": str(tree)})


def content(tree):
    return {str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*") if path.is_file()}


def made(tree, *arguments):
    """The new files' texts, and what was said."""
    before = content(tree)
    done = new_test(tree, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    after = content(tree)
    changed = {path for path in before if after[path] != before[path]}
    assert changed <= {"tests/guest/direct-mode"}
    for path in after.keys() - before.keys():
        assert "made:   %s\n" % path in done.stdout
        assert re.match(r"(#!.*\n)?(#|/\*) SPDX-License-Identifier: GPL-2.0-only", after[path])
    return {path: text for path, text in after.items() if path not in before}, done.stdout


def test_guest(tree):
    files, said = made(tree, "cpus_7")
    assert files.keys() == {"tests/guest/cpus_7.c"}
    assert re.search(r"^ \* EXPECT: exit=0$", files["tests/guest/cpus_7.c"], re.MULTILINE)
    for command in ("make all build/tests-guest/cpus_7.elf", "tools/tiny-run cpus_7 --machine bochs",
                    "tools/tiny-run cpus_7 --gdb"):
        assert command in said


@pytest.mark.parametrize("name, behind", [("a", "# Of guests."), ("cat", "boot: yes"), ("fly", "elastic: no: a reason"),
                                          ("zz", "zero: yes")])
def test_row(tree, name, behind):
    made(tree, name)
    rows = TABLE.split("\n")
    rows.insert(rows.index(behind) + 1, name + ": yes")
    assert (tree / "tests/guest/direct-mode").read_text().split("\n") == rows


def test_row_is_there(tree):
    """Of a guest whose file was lost; its reason is kept."""
    made(tree, "elastic")
    assert (tree / "tests/guest/direct-mode").read_text() == TABLE


def test_unit(tree):
    files, said = made(tree, "--unit", "sums", "vmm/a.c")
    assert files.keys() == {"tests/unit/test_sums.c"}
    assert files["tests/unit/test_sums.c"].split("\n")[1] == "/* UNIT: vmm/a.c */"
    assert "make build/unit/test_sums && build/unit/test_sums" in said
    files, _ = made(tree, "--unit", "differences")
    assert files["tests/unit/test_differences.c"].split("\n")[1] == "/* UNIT: */"


def test_system(tree):
    files, said = made(tree, "--system", "lamp")
    assert files.keys() == {"tests/system/test_lamp.py", "tests/system/guest/lamp.sh"}
    compile(files["tests/system/test_lamp.py"], "test_lamp.py", "exec")
    assert "margay.test=lamp" in files["tests/system/test_lamp.py"]
    assert "python3 -m pytest tests/system/test_lamp.py" in said


@pytest.mark.parametrize("arguments", [["x"], ["--unit", "x"], ["--system", "x"]])
def test_note(tree, arguments):
    """What nobody has described does not pass `make check`."""
    files, said = made(tree, *arguments)
    loader = importlib.machinery.SourceFileLoader("check_source", os.path.join(TOP, "tools", "check-source"))
    check_source = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_source", loader))
    loader.exec_module(check_source)
    assert any(check_source.NOTE.search(text) for text in files.values())
    assert "make check" in said


@pytest.mark.parametrize("arguments, line", [
    (["boot"], "tests/guest/boot.c is there already"),
    (["lib"], "tests/guest/lib: another file has that name"),
    (["asm_only"], "tests/guest/asm_only: another file has that name"),
    (["--unit", "old"], "tests/unit/test_old.c is there already"),
    (["--system", "python"], "tests/unit/test_python.py has that name already"),
    (["--system", "script"], "tests/system/guest/script.sh is there already"),
    (["Big"], "'Big' is no name for a test"), (["7up"], "'7up' is no name for a test"), (["a-b"], "'a-b' is no name for a test"),
    (["../x"], "'../x' is no name for a test"), ([""], "'' is no name for a test"), (["a\n"], "'a\\n' is no name for a test"),
    (["a" * 32], "a" * 32 + " is longer than 31 letters"),
    (["x", "vmm/a.c"], "files are for --unit alone"),
    (["--unit", "x", "vmm/b.c"], "vmm/b.c is no C file of the tree"),
    (["--unit", "x", "tests/guest/direct-mode"], "tests/guest/direct-mode is no C file of the tree"),
])
def test_refused(tree, arguments, line):
    before = content(tree)
    done = new_test(tree, *arguments)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("new-test: " + line) and done.stderr.count("\n") == 1
    assert content(tree) == before


def test_longest_name(tree):
    made(tree, "a" * 31)


def test_skeletons_build(tree, tmp_path_factory):
    """As make builds the others: without a warning; the unit test runs, without a sanitizer's word."""
    made(tree, "begun")
    made(tree, "--unit", "begun")
    flags = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-I" + os.path.join(TOP, "include"), "-I" + TOP]
    out = tmp_path_factory.mktemp("out")
    subprocess.run(["gcc", *flags, "-ffreestanding", "-mgeneral-regs-only", "-Wmissing-prototypes",
                    "-I" + os.path.join(TOP, "tests/guest/include"), "-c", "-o", out / "guest.o", tree / "tests/guest/begun.c"],
                   check=True)
    subprocess.run(["gcc", *flags, "-fsanitize=address,undefined", "-o", out / "unit", tree / "tests/unit/test_begun.c",
                    "-lcmocka"], check=True)
    done = subprocess.run([out / "unit"], capture_output=True, text=True, check=True)
    assert "1 test(s)" in done.stdout + done.stderr
