# SPDX-License-Identifier: GPL-2.0-only
"""The bugs that a mutation run gives the tree: each kind of them, the draws, from a seed and from a change, and finding one again.
What becomes of them: test_mutants_run.py.
"""

import os
import subprocess

import pytest

from mutants import change, draw, operators, report, source, tree

C = """\
static int f(u64 a, int b)
{
	u64 x = a + 0x30; /* a + 1 */

	if (a < 3 && b)
		return -EINVAL;
	vm_log(vm, "a < %d", a + 1);
	g(a, b);
	x &= ~MASK;
	h = true;
	static_assert(1 + 1 == 2);
	return 0;
}

static int other(u64 a, int b)
{
	g(a, b);
	return b;
}

#define BITS (BIT(4) | 0x60) /* 7 */
#define JUMP "jmp 1b"
static const int table[] = { 5 };
"""
INC = "%macro WORK 1\n\tmov\tecx, %1\n%endmacro\nENTER:\n\tWORK\t3\n\tmov\tecx, %1\n"
ASM = "start:\n\tmov\teax, 1 << 3\t; 4\n\tjz\tstart\nlast:\n\tret\n\tdd 9\n"


def changed(file, text):
    """{(operator, the old line, the new line)}"""
    found = set()
    for operator, start, end, new in operators.edits(file, text):
        if new != text[start:end]:
            m = source.mutant("vmm", file, text, operator, start, end, new)
            found.add((operator, " ".join(m.old), " ".join(m.new)))
    return found


@pytest.mark.parametrize("operator, old, new", [
    ("relation", "if (a < 3 && b)", "if (a <= 3 && b)"),
    ("negation", "if (a < 3 && b)", "if (!(a < 3 && b))"),
    ("logic", "if (a < 3 && b)", "if (a < 3 || b)"),
    ("lost condition", "if (a < 3 && b)", "if (a < 3 )"),
    ("constant", "if (a < 3 && b)", "if (a < 4 && b)"),
    ("constant", "if (a < 3 && b)", "if (a < 2 && b)"),
    ("arithmetic", "u64 x = a + 0x30; /* a + 1 */", "u64 x = a - 0x30; /* a + 1 */"),
    ("mask", "u64 x = a + 0x30; /* a + 1 */", "u64 x = a + 0x60; /* a + 1 */"),
    ("mask", "u64 x = a + 0x30; /* a + 1 */", "u64 x = a + 0x20; /* a + 1 */"),
    ("truncation", "u64 x = a + 0x30; /* a + 1 */", "u32 x = a + 0x30; /* a + 1 */"),
    ("truncation", "u64 x = a + 0x30; /* a + 1 */", "u64 x = (u32)(a + 0x30); /* a + 1 */"),
    ("early end", "return -EINVAL;", ";"),
    ("return value", "return -EINVAL;", "return 0;"),
    ("return value", "return 0;", "return -1;"),
    ("swapped arguments", "g(a, b);", "g(b, a);"),
    ("lost statement", "g(a, b);", ";"),
    ("bits", "x &= ~MASK;", "x |= ~MASK;"),
    ("lost negation", "x &= ~MASK;", "x &= MASK;"),
    ("boolean", "h = true;", "h = false;"),
    ("constant", "#define BITS (BIT(4) | 0x60) /* 7 */", "#define BITS (BIT(5) | 0x60) /* 7 */"),
    ("constant", "static const int table[] = { 5 };", "static const int table[] = { 6 };"),
])
def test_bugs_of_c(operator, old, new):
    assert (operator, old, new) in changed("f.c", C)


def test_breaks_and_signs():
    text = "void f(int a)\n{\n\tswitch (a) {\n\tcase 1:\n\t\ta = -a;\n\t\tbreak;\n\tcase 2:\n\t\tf(&a);\n\t}\n}\n"
    found = changed("f.c", text)
    assert ("early end", "break;", "__attribute__((__fallthrough__));") in found
    # No operands on the left: neither is a difference or an AND.
    assert not [f for f in found if f[0] in ("arithmetic", "bits")]


def test_the_larger_of_two_is_the_same_either_way():
    found = changed("f.c", "int f(int a, int b)\n{\n\ta = MAX(a, b);\n\tb = MIN(b, g(a, 2));\n}\n")
    assert [new for operator, _, new in found if operator == "swapped arguments"] == ["b = MIN(b, g(2, a));"]


def test_what_is_left_alone():
    old = {line for _, line, _ in changed("f.c", C)}
    assert not [line for line in old if "vm_log" in line or "static_assert" in line]
    # No number, sign or comparison of a string or comment.
    assert all(new.endswith(("/* a + 1 */", ";")) for _, line, new in changed("f.c", C) if line.startswith("u64 x"))
    assert all(new.endswith("/* 7 */") for _, line, new in changed("f.c", C) if line.startswith("#define BITS"))
    assert not [new for _, line, new in changed("f.c", C) if line.startswith("#define JUMP")]


@pytest.mark.parametrize("operator, old, new", [
    ("negation", "jz\tstart", "jnz\tstart"),
    ("lost statement", "jz\tstart", ""),
    ("constant", "mov\teax, 1 << 3\t; 4", "mov\teax, 1 << 4\t; 4"),
    ("constant", "dd 9", "dd 10"),
])
def test_bugs_of_assembly(operator, old, new):
    found = changed("f.asm", ASM)
    assert (operator, old, new) in found
    assert not [f for f in found if f[0] == "lost statement" and f[1] == "dd 9"]
    assert not [f for f in found if f[2].endswith("; 5")]


def test_bugs_of_included_assembly():
    assert ("lost statement", "WORK\t3", "") in changed("f.inc", INC)
    at = INC.index("mov")
    m = source.mutant("svm", "f.inc", INC, "lost statement", at, at + len("mov\tecx, %1"), "")
    assert (m.scope, m.nth) == ("WORK", 0) and source.apply(m, INC).count("mov") == 1
    assert source.scopes("f.inc", INC)(INC.rindex("mov")) == "ENTER"


def test_compiles_included_assembly(tmp_path, monkeypatch):
    """By all that are assembled with it, and only for the one question."""
    (tmp_path / "arch/x86_64/x").mkdir(parents=True)
    for name, text in (("w.inc", "\tmov eax, 1 ; one\n"), ("v.inc", '%include "x/w.inc"\n'),
                       ("a.asm", '%include "x/v.inc"\n\tret\n'), ("b.asm", '%include "x/w.inc"\n')):
        (tmp_path / "arch/x86_64/x" / name).write_text(text)
    (tmp_path / "Makefile").write_text("all:\n" + "".join(
        "\tnasm -f elf64 -Iarch/x86_64/ -M -MF d {0} && nasm -f elf64 -Iarch/x86_64/ -o {0}.o {0}\n".format("arch/x86_64/x/" + f)
        for f in ("a.asm", "b.asm")))
    monkeypatch.setattr(draw, "LAYERS", (("x", "arch/x86_64/x/"),))
    compiler = draw.Compiler(str(tmp_path))
    inc = "arch/x86_64/x/w.inc"
    assert compiler.files() == ["arch/x86_64/x/" + f for f in ("a.asm", "b.asm", "v.inc", "w.inc")]
    assert len(compiler.users[inc]) == 2
    made = compiler.differs(inc, "\tmov eax, 2\n")
    assert made.count(b"\xb8\2\0\0\0") == 2 and compiler.originals[inc].count(b"\xb8\1\0\0\0") == 2
    assert compiler.differs(inc, "\tmov eax, 1\n") is None and compiler.differs(inc, "\tmov\n") is None
    assert compiler.object("arch/x86_64/x/b.asm", compiler.read("arch/x86_64/x/b.asm")).count(b"\xb8\1\0\0\0") == 1


def test_found_again_by_its_text():
    start = C.rindex("g(a, b)")
    m = source.mutant("vmm", "f.c", C, "lost statement", start, start + len("g(a, b);"), ";")
    assert (m.scope, m.nth) == ("other", 0)
    lost = C[:start] + ";" + C[start + len("g(a, b);"):]
    assert source.apply(m, C) == lost
    above = "int before;\n" + C.replace("\tg(a, b);\n\tx &", "\tx &")
    assert source.apply(m, above) == "int before;\n" + lost.replace("\tg(a, b);\n\tx &", "\tx &")
    assert source.apply(m, C.replace("other(", "renamed(")) is None
    assert source.apply(m, C.replace("g(a, b)", "g(b)")) is None


def test_several_lines_keep_what_follows():
    text = "void f(void)\n{\n\tg(1,\n\t  2);\n\th();\n}\n"
    m = source.mutant("vmm", "f.c", text, "lost statement", text.index("g("), text.index(";") + 1, ";")
    assert source.apply(m, text) == "void f(void)\n{\n\t;\n\n\th();\n}\n"
    again, reason = next(draw.read("\n".join(draw.written([m])) + "\n= no input\n= can tell\n"))
    assert again == m and reason == "no input can tell"


class Compiler:
    """Takes every mutant for another program, but for relations."""

    def files(self):
        return ["vmm/a.c", "vmm/dev/b.c"]

    def read(self, file):
        return C

    def differs(self, file, text):
        return None if "<=" in text else text


def test_draw():
    first, again, other = (list(draw.draw(Compiler(), seed, 20)) for seed in ("1", "1", "2"))
    assert first == again != other
    assert len(set(first)) == 20 and not [m for m in first if m.operator == "relation" and "<=" in m.new[0]]
    assert sorted({m.layer for m in first}) == ["vmm", "vmm/dev"]


def test_no_key_is_drawn_twice():
    """Mutants of twins, in files with the same text, are one to whoever keeps results by their keys."""
    class Twins(Compiler):
        def files(self):
            return ["vmm/svm/a.c", "vmm/vmx/a.c"]

    keys = [source.key(m) for m in draw.draw(Twins(), "1", 40)]
    assert len(keys) == len(set(keys)) == 40
    lines = {file: set(range(1, C.count("\n") + 1)) for file in Twins().files()}
    keys = [source.key(m) for seed in "12345" for m in draw.draw_lines(Twins(), seed, 12, lines)]
    assert all(len(set(keys[n:n + 12])) == 12 for n in range(0, 60, 12))


def test_draw_of_a_change():
    """Of its lines only, one for a line; the seed decides which."""
    numbers = [n for n, line in enumerate(C.split("\n"), 1) if "g(a, b)" in line or "u64 x" in line or "vm_log" in line]
    added = {"vmm/a.c": set(numbers), "vmm/absent.c": {1}}
    every = list(draw.draw_lines(Compiler(), "1", 10, added))
    assert sorted(" ".join(m.old)[:7] for m in every) == ["g(a, b)", "g(a, b)", "u64 x ="]
    assert {m.file for m in every} == {"vmm/a.c"}
    two = [list(draw.draw_lines(Compiler(), str(seed), 2, added)) for seed in (*range(20), 0)]
    assert two[0] == two[-1] and {len(found) for found in two} == {2} and len({tuple(found) for found in two}) > 5
    assert len({tuple(m.old for m in found) for found in two}) == 3
    assert not list(draw.draw_lines(Compiler(), "1", 10, {"vmm/a.c": {1}}))


def test_a_line_that_cannot_be_mutated_is_left_for_another():
    """A line whose first bug does not compile has another; one without any that does is none."""
    class Picky(Compiler):
        def differs(self, file, text):
            return text if "h = false" in text else None

    lines = {"vmm/a.c": set(range(1, C.count("\n") + 1))}
    assert [m.new for m in draw.draw_lines(Picky(), "1", 10, lines)] == [("h = false;",)]


class Config:
    """A compiler of one configuration, by {text: object}: a text that it does not know does not compile."""

    def __init__(self, objects, files=("vmm/a.c",)):
        self.objects, self.all = objects, files

    def files(self):
        return self.all

    def object(self, file, text):
        return self.objects.get(text)

    def differs(self, file, text):
        return None if self.objects.get(text) == "original" else self.objects.get(text)


@pytest.mark.parametrize("first, second, expected", [
    ("other", "original", "other"), ("original", "other", "other"), ("original", "original", None), (None, "other", None),
    ("other", None, None),
])
def test_a_mutant_of_a_change_compiles_in_each_configuration(first, second, expected):
    both = draw.Compilers(Config({"bug": first}), Config({"bug": second}))
    assert both.differs("vmm/a.c", "bug") == expected
    # Who has not the file has no say.
    alone = draw.Compilers(Config({}, ()), Config({"bug": second}))
    assert alone.files() == ["vmm/a.c"] and alone.differs("vmm/a.c", "bug") == (second if second != "original" else None)


def git(folder, *words):
    return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t", *words], cwd=folder, check=True, capture_output=True,
                          text=True).stdout.strip()


def test_lines_that_a_change_adds(tmp_path):
    """Those of the image that are new: no line that was moved with its file, indented anew or lost, and none of a test."""
    files = {"vmm/a.c": "one\ntwo\nthree\n", "vmm/moved.c": "a\nb\nc\nd\n", "vmm/gone.c": "x\n", "tests/t.c": "t\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    first = git(tmp_path, "rev-parse", "HEAD")
    assert change.commit_of(str(tmp_path), "HEAD") == first and change.added(str(tmp_path), first) == {}
    (tmp_path / "vmm/a.c").write_text("zero\n++ b/vmm/x.c\none\n\ttwo\nthree and a half\n")
    (tmp_path / "tests/t.c").write_text("t\nu\n")
    (tmp_path / "kernel").mkdir()
    git(tmp_path, "mv", "vmm/moved.c", "kernel/here.c")
    git(tmp_path, "rm", "-q", "vmm/gone.c")
    git(tmp_path, "commit", "-q", "-a", "-m", "two")
    expected = {"vmm/a.c": {1, 2, 5}}
    assert change.added(str(tmp_path), first) == expected
    # What is not committed is tested, too, so it counts.
    (tmp_path / "kernel/here.c").write_text("a\nb\nc\nd\ne\n")
    (tmp_path / "kernel/new.c").write_text("n\nm\n")
    assert change.added(str(tmp_path), first) == {**expected, "kernel/here.c": {5}, "kernel/new.c": {1, 2}}
    with pytest.raises(change.NoCommit, match="SINCE=nothing"):
        change.commit_of(str(tmp_path), "nothing")


def test_shares():
    assert draw.shares({"a": 100, "b": 300, "c": 0}, 23) == {"a": 7, "b": 11, "c": 5}
    assert sum(draw.shares({"a": 1, "b": 1, "c": 1}, 100).values()) == 100
    assert draw.layer_of("vmm/pci/pci_msi.c") == "vmm/pci" and draw.layer_of("vmm/vm/vm.c") == "vmm"


def test_this_trees_commands():
    """As this tree's own make compiles them."""
    compiler = draw.Compiler(draw.TOP)
    for file in "lib/string.c", "arch/x86_64/cpu/errata.c", "arch/x86_64/boot/entry.asm":
        assert compiler.object(file, compiler.read(file)), file


def test_committed_mutants():
    with open(os.path.join(draw.TOP, "tests", "mutants", "committed"), encoding="utf-8") as f:
        mutants = [m for m, _ in draw.read(f.read())]
    assert len(mutants) == len({source.key(m) for m in mutants}) == 100
    assert {m.layer for m in mutants} == {layer for layer, _ in draw.LAYERS}
    here = tree.Tree.__new__(tree.Tree)
    here.path = draw.TOP
    gone = [m for m in mutants if here.find(m) is None]
    assert len(gone) <= report.MOST_GONE
    moved = mutants[0]._replace(file="vmm/elsewhere.c")
    assert here.find(moved)[0] == mutants[0].file
