# SPDX-License-Identifier: GPL-2.0-only
"""tools/check-ternaries: a ternary in another, in a condition, or as a statement is named with its line; all others may stand."""

import os
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "check-ternaries")
INNER = "a ternary in a ternary"
CONDITION = "a ternary in a condition: name its value before, or ask in a function"
STATEMENT = "a ternary as a statement: write an if"


def run(tmp_path, text):
    source = tmp_path / "x.c"
    source.write_text(text)
    done = subprocess.run([TOOL, source], capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).replace(str(tmp_path) + "/", "").splitlines()


# In a function's body, whose first line is the file's third.
@pytest.mark.parametrize("code, wrong", (
    ("x = a ? b : c ? d : e;", INNER),
    ("x = a ? b :\n\t\tc ? d : e;", INNER),
    ("/* x\n\t * y */ x = a ? b ? c : d : e;", INNER),
    ("#define A 1 + \\\n\t2\n\tx = a ? b ? c : d : e;", INNER),
    ("x = (a ? b : c) ? d : e;", INNER),
    ("x = a ? f(1, b ? c : d) : e;", INNER),
    ("p[a ? 1 : 2] = b ? c : d;", INNER),
    ("x = a ? (struct s){ b ? c : d } : e;", INNER),
    ("x = a ? (struct s){ b }.c : d ? e : f;", INNER),
    ("x = a ?: b ?: c;", INNER),
    ("if (a ? b : c)\n\t\td();", CONDITION),
    ("if (a && f(b ? c : d))\n\t\te();", CONDITION),
    ("if (a)\n\t\tb();\n\telse if (c[d ? 1 : 2])\n\t\te();", CONDITION),
    ("while (a < (b ? c : d))\n\t\ta++;", CONDITION),
    ("do {\n\t\ta++;\n\t} while (b ? c : d);", CONDITION),
    ("for (a = 0; a < (b ? c : d); a++)\n\t\te();", CONDITION),
    ("for (a = 0; b ? c : d; a++)\n\t\te();", CONDITION),
    ("a ? b() : c();", STATEMENT),
    ("a ? b = 1 : c();", STATEMENT),
    ("if (a)\n\t\tb ? c() : d();", STATEMENT),
    ("for (;;)\n\t\ta ? (b = 1) : (c = 2);", STATEMENT),
    ("switch (a) {\n\tdefault: b ? c() : d();\n\t}", STATEMENT),
    ("x = a ? b : c;\n\td ? e() : f();", STATEMENT),
))
def test_wrong(tmp_path, code, wrong):
    line = 4 + code[:code.rindex("?")].count("\n")
    done = run(tmp_path, "int f(void)\n{\n\tbegin();\n\t%s\n}\n" % code)
    assert done == (1, ["x.c:%d: %s" % (line, wrong), "check-ternaries: 1 errors in 1 files"])


@pytest.mark.parametrize("code", (
    "x = a ? b : c;", "x += a ? b : c;", "int x = a ? b : c, y = d ? e : f;", "return a ? b : c;", "*(a ? &b : &c) = d;",
    "f(a ? b : c, d ? e : g);", "(a ? f : g)(b);", "p[a ? 1 : 2] = b;", "s = (struct s){ a ? b : c, d ? e : f };",
    "int p[] = {\n\t\ta ? b : c,\n\t\td ? e : f,\n\t};", "case_1:\n\tx = a ? b : c;",
    "for (x = a ? b : c; d; e += f ? 1 : 2)\n\t\ty = g ? h : i;", "switch (a ? b : c) {\n\tcase 1: x = d ? e : f; break;\n\t}",
    "switch (a ? b : c)\n\tdefault: x = d ? e : f;", "x = a ? // b ?\n\t\tb : c;", "#define E \\\n\ta ? b() : c()\n\tx = 1;",
    "if (a)\n\t\treturn b ? c : d;\n\telse\n\t\tx = e ? f : g;", "while (a) {\n\t\tx = b ? c : d;\n\t}\n\ty = e ? f : g;",
    "if (a) {\n\t\tx = b ? c : d;\n\t}\n\t*p = e ? f : g;",
    "if (a == '?' || !strcmp(b, \"? : ?\")) /* a ? b : c ? */\n\t\td(); // ?",
    "x = a ? b : c;\n#define E(e) ((e) ? 1 \\\n\t: 2)\n\ty = E(d);", "#if A ? B : C\n\tx = 1;\n#endif",
))
def test_right(tmp_path, code):
    assert run(tmp_path, "int f(void)\n{\n\t%s\n}\n" % code) == (0, ["check-ternaries: 1 files"])


def test_macros(tmp_path):
    """What one is made of is looked at where it is defined, and does not join what stands around it."""
    text = "#define A(a) ((a) ? 1 : 2)\n#define B(b) \\\n\t((b) ? 1 : (b) + 1 ? \\\n\t 2 : 3)\nint x = A(1) ? B(2) : 3;\n"
    assert run(tmp_path, text) == (1, ["x.c:3: " + INNER, "check-ternaries: 1 errors in 1 files"])
    text = "int f(void)\n{\n\tif (a) {\n#define A { (\n\t\tb ? c() : d();\n\t}\n}\n"
    assert run(tmp_path, text)[1][0] == "x.c:5: " + STATEMENT


def test_the_tree():
    done = subprocess.run([TOOL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 1000
