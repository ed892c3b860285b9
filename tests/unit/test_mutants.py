# SPDX-License-Identifier: GPL-2.0-only
"""The mutation run's own parts: each kind of bug, the draw, finding a mutant again, steps, rates and exit status."""

import json
import os
import sys
import types

import pytest

from mutants import draw, operators, report, run, source, steps, tree

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


def test_shares():
    assert draw.shares({"a": 100, "b": 300, "c": 0}, 23) == {"a": 7, "b": 11, "c": 5}
    assert sum(draw.shares({"a": 1, "b": 1, "c": 1}, 100).values()) == 100
    assert draw.layer_of("vmm/pci/pci_msi.c") == "vmm/pci" and draw.layer_of("vmm/vm.c") == "vmm"


def test_committed_mutants():
    with open(os.path.join(draw.TOP, "tests", "mutants", "committed"), encoding="utf-8") as f:
        mutants = [m for m, _ in draw.read(f.read())]
    assert len(mutants) == len({report.key(m) for m in mutants}) == 100
    assert {m.layer for m in mutants} == {layer for layer, _ in draw.LAYERS}
    here = tree.Tree.__new__(tree.Tree)
    here.path = draw.TOP
    gone = [m for m in mutants if here.find(m) is None]
    assert len(gone) <= report.MOST_GONE
    moved = mutants[-1]._replace(file="vmm/elsewhere.c")
    assert here.find(moved)[0] == mutants[-1].file


def test_steps():
    files = ["test_configs", "test_time", "test_tiny", "test_zeroing"]
    found = steps.machine_steps("vmm", files)
    assert found[0] == "boot qemu" and found[-1] == "test_zeroing"
    assert "test_tiny bochs" in found and "test_configs" not in found and "test_tiny" not in found
    for layer in "vmx", "svm":
        found = steps.machine_steps(layer, files)
        assert found[:2] == list(steps.BUILT) and {step.split()[1] for step in found[2:]} == {steps.ONLY[layer]}
    here = tree.Tree.__new__(tree.Tree)
    here.path = draw.TOP
    assert set(here.linked_with("vmm/memory/mtrr.c")) >= {("unit", "test_mtrr"), ("fuzz", "fuzz_mtrr"), ("fuzz", "fuzz_vmm")}
    assert list(here.linked_with("drivers/pmtimer.c")) == [("unit", "test_pmtimer")]


def mutants_of(*layers):
    return [source.Mutant(layer, "f.c", "f", "relation", n, ("a < b",), ("a <= b",)) for n, layer in enumerate(layers)]


def results_of(mutants, *states):
    return {report.key(m): report.Result(s, "unit test_x" if s == "killed" else "", "0123abcd")
            for m, s in zip(mutants, states) if s}


def test_rates():
    mutants = mutants_of("vmm", "vmm", "vmm", "cpu", "cpu", "cpu")
    results = results_of(mutants, "killed", "survived", "survived", "gone", "open", None)
    table = report.counted(mutants, results, {report.key(mutants[2]): "as one\\"})
    assert dict(table["vmm"]) == {"drawn": 3, "killed": 1, "survived": 1, "alike": 1}
    assert dict(table["cpu"]) == {"drawn": 3, "gone": 1, "open": 2}
    assert report.rate(table["vmm"]) == pytest.approx(200 / 3) and report.rate(table["cpu"]) == 0
    assert report.rate(table["all"]) == 40


@pytest.mark.parametrize("killed, gone, committed, good", [
    (95, 0, True, True), (94, 0, True, False), (85, 0, False, True), (84, 0, False, False), (90, 10, True, True),
    (89, 11, True, False),
])
def test_goals(killed, gone, committed, good):
    assert report.good({"drawn": 100, "killed": killed, "alike": 0, "gone": gone}, committed) == good


def test_document():
    mutants = mutants_of("vmm", "cpu", "cpu")
    results = results_of(mutants, "killed", "survived", "survived")
    reasons = {report.key(mutants[2]): "nothing reads it"}
    many = mutants_of(*["vmm"] * 40)
    kills = {report.key(m): report.Result("killed", "unit test_%d" % n, "%012x" % n) for n, m in enumerate(many)}
    assert all(len(line) <= report.WIDTH or line.startswith("|") for line in report.part(many, kills, {}, True, "17"))
    text = report.document("", report.part(mutants, results, reasons, True, "17"), True)
    assert "Seed 17, commit 0123abcd: 67 % killed, the goal is 95 %." in text
    assert "| cpu | 2 | 0 | 1 | 1 | 0 | 0 | 50 % |" in text and "| all | 3 | 1 | 1 | 1 | 0 | 0 | 67 % |" in text
    assert "unit test_x 1" in text and ": nothing reads it |" in text
    assert text.count(report.key(mutants[1])) == 1 and report.key(mutants[0]) not in text
    # The other run's part stays, an old one of the same kind goes.
    both = report.document(text, report.part(mutants, {}, {}, False, "5"), False)
    assert both.startswith(text.rstrip("\n")) and "Seed 5, commit none: 0 %" in both
    assert report.document(both, report.part(mutants, results, reasons, True, "17"), True) == both


class Tree:
    """One file; what is asked for is noted."""

    def __init__(self, path, has=True):
        self.path, self.has, self.written, self.made = str(path / "tree"), has, [], []

    def find(self, mutant):
        return ("f.c", "void f(void)\n{\na < b\n}\n") if self.has else None

    def write(self, file, text):
        self.written.append(text)

    def make(self, *targets):
        self.made.extend(targets)
        if "all" in targets and "broken" in self.path:
            raise tree.BuildError("no")


@pytest.mark.parametrize("folder, has, failing, wanted, expected", [
    ("good", True, "unit b", "", ("killed", "unit b")), ("good", True, "boot qemu", "", ("killed", "boot qemu")),
    ("good", True, None, "", ("survived", "")), ("good", True, "boot qemu", "unit|fuzz", ("open", "")),
    ("good", False, "unit b", "", ("gone", "")), ("broken", True, "boot qemu", "", ("gone", "")),
])
def test_judge(tmp_path, monkeypatch, folder, has, failing, wanted, expected):
    (tmp_path / folder).mkdir()
    t = Tree(tmp_path / folder, has)
    asked = []
    monkeypatch.setattr(steps, "names", lambda *_: iter(["unit a", "unit b", "boot qemu"]))
    monkeypatch.setattr(steps, "run", lambda t, name, *_: (asked.append(name), (name != failing, "output", 1))[1])
    baseline = types.SimpleNamespace(patience=lambda name: 60, prefix=())
    mutant = mutants_of("vmm")[0]
    assert run.judge(t, mutant, None, baseline, wanted) == expected
    if has:
        assert "a <= b" in t.written[0] and "a < b" in t.written[-1]
    # The test that killed it before comes first.
    del asked[:]
    run.judge(t, mutant, report.Result("killed", "unit b", "x"), baseline, wanted)
    assert asked[:1] == (["unit b"] if has else [])


def test_results_are_kept(tmp_path):
    path = tmp_path / "results"
    kept = run.Results(path)
    kept.keep("a", report.Result("open", "", "1"))
    kept.keep("a", report.Result("killed", "unit x", "2"))
    assert run.Results(path).of == {"a": report.Result("killed", "unit x", "2")}
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 2


def test_a_step_is_run(tmp_path, monkeypatch):
    t = types.SimpleNamespace(path=str(tmp_path), make=lambda *_: None)
    (tmp_path / "build").mkdir()
    monkeypatch.setattr(steps, "command", lambda name: ([], ["sh", "-c", name.split(" ", 1)[1]]))
    assert steps.run(t, "unit exit 0", 60, ("false",))[0]
    assert steps.run(t, "unit echo said; exit 3", 60, ())[:2] == (False, "said\n")
    assert not steps.run(t, "unit sleep 60", 1, ())[0]
    # Machines by the prefix, whose own time does not count; a choice that leaves no test is no failure.
    passed, _, seconds = steps.run(t, "test_x exit 5", 60, ("sh", "-c", "sleep 1; exec \"$@\"", "-"))
    assert passed and seconds < 0.9
    assert not steps.run(t, "unit exit 5", 60, ())[0]
    assert steps.run(t, "boot echo EmulatorDied >&2; exit 1", 60, ())[0]
    assert not steps.run(t, "boot exit 1", 60, ())[0]
    # What does not build says nothing.
    t.make = lambda *_: (_ for _ in ()).throw(tree.BuildError("no"))
    assert steps.run(t, "unit exit 1", 60, ())[0]


def test_a_failing_baseline_ends_the_run(tmp_path, monkeypatch):
    outcome = [True]
    monkeypatch.setattr(steps, "run", lambda *_: (outcome[0], "what it said", 3))
    baseline = steps.Baseline(None, str(tmp_path / "baseline"), ())
    assert baseline.patience("unit a") == 75
    outcome[0] = False
    assert baseline.patience("unit a") == 75
    for _ in range(2):
        with pytest.raises(RuntimeError, match="what it said"):
            baseline.patience("unit b")


@pytest.mark.parametrize("states, status", [(["killed"] * 20, 0), (["killed"] * 19 + ["survived"], 0),
                                            (["killed"] * 18 + ["survived"] * 2, 1)])
def test_exit_status(tmp_path, monkeypatch, states, status):
    mutants = mutants_of(*["vmm"] * 20)
    answers = dict(zip(map(report.key, mutants), states))
    committed = tmp_path / "committed"
    committed.write_text("\n".join(draw.written(mutants)) + "\n")
    monkeypatch.setattr(run, "COMMITTED", str(committed))
    monkeypatch.setattr(run, "DOCUMENT", str(tmp_path / "document"))
    monkeypatch.setattr(run, "SCRATCH", str(tmp_path))
    monkeypatch.setattr(run, "Tree", lambda *_: None)
    monkeypatch.setattr(run, "judge", lambda tree, m, *_: (answers[report.key(m)], "unit a"))
    monkeypatch.setattr(sys, "argv", ["run.py"])
    with pytest.raises(SystemExit) as end:
        run.main()
    assert end.value.code == status
    assert "%d %% killed" % (100 * states.count("killed") / 20) in (tmp_path / "document").read_text()
