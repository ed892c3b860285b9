# SPDX-License-Identifier: GPL-2.0-only
"""tools/test-catalogue: what it takes from a test's file, how Markdown has it, and that a file without a word is an error."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "test-catalogue")
spec = importlib.util.spec_from_loader("catalogue", importlib.machinery.SourceFileLoader("catalogue", TOOL))
catalogue = importlib.util.module_from_spec(spec)
spec.loader.exec_module(catalogue)

SPDX = "/* SPDX-License-Identifier: GPL-2.0-only */\n"
PYTHON = '''# SPDX-License-Identifier: GPL-2.0-only
"""First
line.

Second <tag>."""
import pytest

def helper():
    """Not told."""

@pytest.mark.full
def test_long():
    """Long
    words.

    Not these."""

def test_silent():
    pass

@pytest.mark.full
def test_silent_and_full():
    pass
'''
UNIT = SPDX + '''/* UNIT: vmm/a.c vmm/b*.c */
/*
 * ACPI: what it is.
 *
 *   And more.
 */
#include "x.h"

/* Not a test's. */
static void helper(void)
{
}

/* Two
 * lines. */
static void test_one(void **)
{
}

static void test_two(void **state)
{
}
'''
GUEST = SPDX + '''/*
 * EXPECT: exit=0
 * NOT ON qemu: a reason
 *
 * What it is.
 */
'''


def entry(path, text):
    return "\n".join(catalogue.entry(path, text))


def test_python():
    assert entry("tests/system/test_x.py", PYTHON) == (
        "\n### test_x.py\n\nFirst line.\n\nSecond \\<tag>.\n\n- `test_long` *full*\n  Long words.\n- `test_silent_and_full` *full*")


def test_unit():
    assert entry("tests/unit/test_x.c", UNIT) == (
        "\n### test_x.c\n\nACPI: what it is.\n\nAnd more.\n\n- `test_one`\n  Two lines.")


def test_guest():
    assert entry("tests/guest/x.c", GUEST) == "\n### x.c\n\nWhat it is.\n\n- `EXPECT: exit=0`\n- `NOT ON qemu: a reason`"


@pytest.mark.parametrize("path, text", [
    ("x.py", "import os\n"), ("x.c", SPDX + "#include <a.h>\n"), ("x.c", SPDX + "/* UNIT: a.c */\n\nint x; /* no header */\n"),
    ("x.c", SPDX + "/*\n * EXPECT: exit=0\n */\n")])
def test_a_file_without_a_word(path, text):
    with pytest.raises(SystemExit, match="%s: says nothing of itself" % path):
        entry(path, text)


@pytest.mark.parametrize("text, shown", [
    ("a*b `c*d` [e]", "a\\*b `c*d` \\[e\\]"), ("fuzz_x.c __init__ _y", "fuzz_x.c \\_\\_init\\_\\_ \\_y"),
    ("<margay/host.h>", "\\<margay/host.h>"), ("a\\b", "a\\\\b")])
def test_escaped(text, shown):
    assert catalogue.escaped(text) == shown


def test_no_item_begins_in_a_paragraph():
    lines = catalogue.filled("x " * 59 + "- and " + "y " * 56 + "2. end " + "z " * 56 + "# no").split("\n")
    assert [line[:3] for line in lines] == ["x x", "\\- ", "2\\.", "\\# "]
    assert all(len(line) <= catalogue.WIDTH + 1 for line in lines)


def test_each_file_once():
    """All of the tree is told of, none twice."""
    text = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=True).stdout
    told = [line[4:] for line in text.split("\n") if line.startswith("### ")]
    there = [name for folder in ("system", "unit", "fuzz", "guest") for name in os.listdir(os.path.join(TOP, "tests", folder))
             if name.endswith((".c", ".py"))] + [name for name in os.listdir(os.path.join(TOP, "tests")) if name.endswith(".py")]
    there = [name for name in there if name != "__init__.py"]
    assert sorted(told) == sorted(there)
