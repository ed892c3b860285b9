# SPDX-License-Identifier: GPL-2.0-only
"""What becomes of mutants: the order of their tests, what counts as killed, going on after a kill in the middle, the results that
are kept, rates and exit status. The bugs themselves: test_mutants.py.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import types

import pytest

from mutants import draw, judge, order, report, results, run, source, steps, tree
from mutants.children import Children, Stopped
from mutants.met import Met, longest


def mutants_of(*layers):
    return [source.Mutant(layer, "f.c", "f", "relation", n, ("a < b",), ("a <= b",)) for n, layer in enumerate(layers)]


def result(status, by="", state="now", layer="vmm", file="vmm/a.c"):
    return results.Result(status, by, "0123abcd", state, layer, file)


def row(layer="vmm", status="killed", **fields):
    return results.Row(**{**dict(key="0", layer=layer, file="f.c", bug="bug", status=status, by="", commit="c", note=""), **fields})


# ---- the order of tests


HISTORY = [result("killed", by, layer=layer, file=file) for by, layer, file in (
    ("tests/system/test_far.py::test_f", "vmm", "vmm/dev/x.c"), ("tests/system/test_far.py::test_f", "vmm", "vmm/dev/x.c"),
    ("tests/system/test_near.py::test_n", "vmm", "vmm/b.c"), ("unit test_b", "vmm", "vmm/a.c"),
    ("tests/system/test_own.py::test_o[qemu]", "vmm", "vmm/a.c"), ("tests/system/test_other.py::test_x", "svm", "vmm/svm/a.c"),
)] + [result("survived", "tests/system/test_no.py::test_n", file="vmm/a.c"), result("killed", "", file="vmm/a.c")]


def test_what_killed_before_comes_first():
    """Of the file, then of its folder, then of its layer; never what killed elsewhere."""
    known = order.killers(HISTORY, "vmm", "vmm/a.c")
    assert known == ["tests/system/test_own.py::test_o[qemu]", "unit test_b", "tests/system/test_near.py::test_n",
                     "tests/system/test_far.py::test_f"]


def texts(*names, **documented):
    found = {name: ("tests/system/%s.py" % name, "") for name in names}
    found.update((name, ("tests/system/%s.py" % name, '"""%s"""\n' % text)) for name, text in documented.items())
    return found


def test_order_of_files():
    tests = texts("test_zeroing", "test_tiny", "test_pci_msi", "test_topology", test_other="Nothing.", test_say="About PCI MSI.")
    tests["test_unit_x"] = "tests/unit/test_unit_x.py", ""
    history = [result("killed", "tests/system/test_zeroing.py::test_a", file="vmm/pci/pci_msi.c"),
               result("killed", "unit test_u", file="vmm/pci/pci_msi.c")]
    seconds = {"tests/system/test_other.py::test_o": 5}
    first = order.plan("vmm/pci", "vmm/pci/pci_msi.c", tests, history, "met", seconds)["first"]
    wanted = ("tests/system/test_zeroing.py::test_a", "test_pci_msi", "test_say", "test_dma_windows", "test_unit_x",
              "test_tiny qemu", "test_other", "test_zeroing")
    places = [first.index(entry) for entry in wanted]
    assert places == sorted(places) and "unit test_u" not in first
    # Nothing is left out: every file has its place.
    assert not [test for test in tests if test not in first]


def test_tests_that_name_the_file():
    """By the file's name before parts of it and its folder; in a test's name before its docstring; not by words that all have."""
    many = texts(*["test_%d" % n for n in range(10)], **{"test_run_%d" % n: "Dmar, in each run." for n in range(10)})
    tests = {**many, **texts("test_vmx", test_a="The VMX state.", test_x="Vmxed; estate.", test_state="The state, by VMX.")}
    assert order.named("vmm/vmx/state.c", tests) == ["test_state", "test_a", "test_vmx"]
    assert order.named("vmm/run.c", tests) == order.named("kernel/acpi/dmar.c", tests) == []
    assert order.named("vmm/plan/plan_numa.c", texts(test_b="Plan NUMA.", test_c="Plans of numa.")) == ["test_b", "test_c"]


def test_place_of_a_test():
    plan = {"first": ["tests/a/test_x.py::test_k[1]", "test_y qemu", "test_x"], "last": ""}
    names = ("test_z.py::test_q", "test_y.py::test_q[bochs]", "test_x.py::test_q", "test_y.py::test_n", "test_y.py::test_q[qemu]",
             "test_x.py::test_k[1]")
    assert [order.place(plan, "tests/a/" + name)[1] for name in names] == [3, 3, 2, 1, 1, 0]


@pytest.mark.parametrize("layer, late, own", [("vmx", "qemu", 2), ("svm", "bochs", 3)])
def test_the_other_vendors_machine_comes_last(layer, late, own):
    plan = order.plan(layer, "vmm/%s/run.c" % layer, texts("test_tiny", "test_z"), [], "met", {})
    machines = ("qemu", "bochs", "bochs-svm", "nested-svm", "nested-vtx")
    names = ["tests/system/%s.py::test_a[%s]" % (file, machine) for file in ("test_tiny", "test_z") for machine in machines]
    names.sort(key=lambda name: order.place(plan, name))
    assert [order.emulator_of(name) == late for name in names] == [False] * 2 * own + [True] * (10 - 2 * own)
    assert [name for name in names[:2 * own] if "test_tiny" in name] == names[:own]
    assert steps.BOOTS[layer] == ("boot bochs" if layer == "vmx" else "boot qemu",)


def here():
    found = tree.Tree.__new__(tree.Tree)
    found.path = draw.TOP
    return found


def test_quick_steps():
    """Linked units first, the one that killed before at their head; then the document, then a short boot on each emulator."""
    plain = list(steps.quick(here(), "vmm", "vmm/memory/mtrr.c", []))
    assert plain[-3:] == ["cpuid-list", "boot qemu", "boot bochs"]
    assert set(plain) >= {"unit test_mtrr", "fuzz fuzz_mtrr", "fuzz fuzz_vmm"}
    history = [result("killed", "fuzz fuzz_vmm", file="vmm/memory/mtrr.c")]
    known = list(steps.quick(here(), "vmm", "vmm/memory/mtrr.c", history))
    assert known[0] == "fuzz fuzz_vmm" != plain[0] and sorted(known) == sorted(plain)
    assert list(here().linked_with("drivers/pmtimer.c")) == [("unit", "test_pmtimer")]


def test_the_whole_tier_is_asked():
    """All files of tests but the blind ones, each of which there is."""
    every = here().tests(())
    assert not set(order.BLIND) - set(every)
    assert set(every) - set(here().tests(order.BLIND)) == set(order.BLIND)
    named = {entry.split()[0] for layer in order.FIRST.values() for entry in layer} | {entry.split()[0] for entry in order.USUAL}
    assert not named - set(every)


# ---- pytest's plugin


SUITE = """
import os, pytest, time
def note(name):
    with open(os.environ["RAN"], "a") as f:
        f.write(name + " ")
def test_first(): note("first")
def test_second(): note("second")
def test_bad():
    note("bad")
    assert 0
def test_hangs():
    note("hangs")
    time.sleep(60)
@pytest.mark.skip
def test_skipped(): pass
"""


def pytest_run(folder, plan, *words):
    """(status, the names of the tests that ran in order, what was met)"""
    ran = folder / "ran"
    ran.write_text("")
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "test_s.py").write_text(SUITE)
    (folder / "plan").write_text(json.dumps({"first": [], "last": "", "met": str(folder / "met"), "seconds": {}, **plan}))
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "mutants.watch", "-x", "-q", "-p", "no:cacheprovider", *words,
                           "tests/test_s.py"], cwd=folder, check=False, capture_output=True,
                          env={**os.environ, "MUTANTS_PLAN": str(folder / "plan"), "RAN": str(ran),
                               "PYTHONPATH": os.path.join(draw.TOP, "tests")})
    return done.returncode, ran.read_text().split(), Met(str(folder / "met"))


def test_likely_tests_run_first_and_none_twice(tmp_path):
    name = "tests/test_s.py::test_"
    status, ran, met = pytest_run(tmp_path, {"first": [name + "second", name + "bad"]})
    assert (status, ran) == (1, ["second", "bad"])
    assert met.outcomes() == {name + "second": True, name + "bad": False}
    # It goes on behind what has passed; what failed is asked again.
    status, ran, met = pytest_run(tmp_path, {"first": [name + "first", name + "bad"]})
    assert (status, ran) == (1, ["first", "bad"]) and met.passed() == [name + "second", name + "first"]
    assert met.failed() == [name + "bad"]
    met.note(True, 0, name + "bad")
    met.note(True, 0, name + "hangs")
    # A skipped one has passed as far as it can. Then nothing is left.
    assert pytest_run(tmp_path, {})[:2] == (0, []) and name + "skipped" in met.passed()
    assert pytest_run(tmp_path, {})[:2] == (steps.NO_TESTS, [])


def test_a_hang_ends_by_what_a_test_takes_otherwise(tmp_path, monkeypatch):
    name = "tests/test_s.py::test_hangs"
    monkeypatch.setattr(order, "MORE", 1)
    (tmp_path / "conftest.py").write_text("from mutants import order\norder.MORE = 1\n")
    began = time.time()
    status, ran, met = pytest_run(tmp_path, {"first": [name], "seconds": {name: 0.1}})
    assert (status, ran) == (1, ["hangs"]) and met.failed() == [name] and time.time() - began < 30


def test_a_file_that_cannot_be_read_has_failed(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_t.py").write_text("import no_such_module\n")
    status, _, met = pytest_run(tmp_path, {}, "tests/test_t.py")
    assert status not in (0, steps.NO_TESTS) and met.failed() == ["tests/test_t.py"]


def test_longest(tmp_path):
    for file, seconds, passed in (("a", 3, True), ("b", 7, True), ("c", 99, False)):
        Met(str(tmp_path / file)).note(passed, seconds, "tests/x.py::t[a b]")
    assert longest(str(tmp_path)) == {"tests/x.py::t[a b]": 7}
    # The test that failed last is the last one, whatever it did before.
    met = Met(str(tmp_path / "d"))
    for name, passed in (("x", False), ("y", False), ("x", True), ("x", False), ("z", True)):
        met.note(passed, 1, name)
    assert met.failed() == ["y", "x"] and met.passed() == ["z"]
    # Half a line is none.
    with open(tmp_path / "b", "a", encoding="utf-8") as f:
        f.write("passed 1.0 tests/y.py::t")
    assert Met(str(tmp_path / "b")).passed() == ["tests/x.py::t[a b]"]


# ---- one mutant


class FakeTree:
    """One file; what is asked for is noted."""

    def __init__(self, path, has=True, broken=False):
        self.path, self.has, self.broken, self.written = str(path), has, broken, []

    def find(self, mutant):
        return ("f.c", "void f(void)\n{\na < b\n}\n") if self.has else None

    @contextlib.contextmanager
    def with_bug(self, mutant, file, text):
        self.written.append("bug")
        try:
            yield
        finally:
            self.written.append("original")

    def make(self, *targets):
        if self.broken:
            raise tree.BuildError("no")

    def tests(self, blind):
        return texts("test_s")


QUICK = ["unit a", "unit b", "boot qemu"]
NODE = "tests/system/test_s.py::test_n"


class World:
    """What fails, and what was asked."""

    def __init__(self, tmp_path, monkeypatch, **options):
        self.failing, self.flaky, self.base_fails, self.asked = set(), set(), False, []
        self.tree, self.met = FakeTree(tmp_path, **options), Met(str(tmp_path / "met"))
        self.logs = tmp_path
        monkeypatch.setattr(steps, "quick", lambda *_: iter(QUICK))
        monkeypatch.setattr(steps, "run", self.run)
        monkeypatch.setattr(steps, "run_pytest", self.run_pytest)
        monkeypatch.setattr(judge, "longest", lambda folder: {})
        self.baseline = types.SimpleNamespace(patience=lambda name: 60, prefix=(), must_pass=self.must_pass)

    def run(self, _, name, *__):
        self.asked.append(name)
        return None if name in self.flaky else steps.Outcome(name not in self.failing, "output", 1)

    def must_pass(self, name):
        self.asked.append("base " + name)
        if self.base_fails:
            raise RuntimeError("without any mutant it fails")

    def run_pytest(self, _, plan, prefix, only=()):
        self.asked.append("pytest " + " ".join(only) if only else "pytest")
        for name in only or [NODE]:
            if name in self.met.passed():
                continue
            bad = name in self.failing or name in self.flaky and not only
            Met(plan["met"]).note(not bad, 1, name)
            if bad:
                return types.SimpleNamespace(status=1, text="output")
        return types.SimpleNamespace(status=0, text="")

    def judge(self, wanted="", before=None):
        del self.asked[:]
        asked = judge.Judge(self.tree, self.baseline, [], str(self.logs), wanted)
        return asked.judge("key", mutants_of("vmm")[0], before, self.met)


@pytest.mark.parametrize("failing, status, by", [
    ("unit b", "killed", "unit b"), ("boot qemu", "killed", "boot qemu"), (NODE, "killed", NODE), (None, "survived", ""),
])
def test_judge(tmp_path, monkeypatch, failing, status, by):
    world = World(tmp_path, monkeypatch)
    world.failing.add(failing)
    assert world.judge() == (status, by, "f.c")
    assert world.tree.written == ["bug", "original"]
    # Nothing runs behind what killed.
    every = QUICK + ["pytest"]
    assert world.asked[:4] == every[:every.index(failing) + 1 if failing in QUICK else 4]
    assert (tmp_path / "key.log").exists() == (status == "killed")


def test_a_test_kills_that_passes_without_the_mutant_and_fails_twice(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    world.failing.add(NODE)
    assert world.judge()[1] == NODE and world.asked[3:] == ["pytest", "base " + NODE, "pytest " + NODE]
    # A failure that does not come again is bad luck, and the others are asked.
    world = World(tmp_path, monkeypatch)
    world.met.forget()
    world.flaky.add(NODE)
    assert world.judge() == ("survived", "", "f.c")
    assert world.asked[3:] == ["pytest", "base " + NODE, "pytest " + NODE, "pytest"]
    # Where it fails without the mutant as well, nothing can be said.
    world.met.forget()
    world.base_fails = True
    with pytest.raises(RuntimeError, match="without any mutant"):
        world.judge()
    assert world.tree.written[-1] == "original"


def test_a_file_that_could_not_be_read_once(tmp_path, monkeypatch):
    """Nor is that a verdict: no test of its has failed, and the next end of pytest is its own."""
    world = World(tmp_path, monkeypatch)
    ends = [(2, "tests/system/test_s.py"), (0, None), (1, None)]

    def run_pytest(*_):
        status, failed = ends.pop(0)
        if failed:
            world.met.note(False, 0, failed)
        return types.SimpleNamespace(status=status, text="")

    monkeypatch.setattr(steps, "run_pytest", run_pytest)
    assert world.judge() == ("survived", "", "f.c") and not ends


def test_pytest_that_names_no_test(tmp_path, monkeypatch):
    """It ended by something else than a test: nobody is killed. But for status 1 when all have passed: too many second tries."""
    world = World(tmp_path, monkeypatch)
    for status, expected in ((1, "survived"), (3, None), (124, None)):
        monkeypatch.setattr(steps, "run_pytest", lambda *_, status=status: types.SimpleNamespace(status=status, text="so"))
        if expected:
            assert world.judge()[0] == expected
        else:
            with pytest.raises(RuntimeError, match="names no test"):
                world.judge()


def test_gone_and_unbuilt(tmp_path, monkeypatch):
    assert World(tmp_path, monkeypatch, has=False).judge() == ("gone", "", "f.c")
    world = World(tmp_path, monkeypatch, broken=True)
    world.failing.add("boot qemu")
    assert world.judge() == ("gone", "", "f.c") and world.tree.written[-1] == "original"
    # A unit that cannot be built says nothing.
    world = World(tmp_path, monkeypatch)
    world.flaky.add("unit a")
    assert world.judge()[0] == "survived"


def test_the_killer_of_another_commit_comes_first(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    world.failing.update(["unit b", NODE])
    assert world.judge(before=result("killed", "unit b"))[1] == "unit b" and world.asked == ["unit b"]
    assert world.judge(before=result("killed", NODE))[1] == NODE and world.asked[0] == "pytest " + NODE


def test_unfinished_is_no_verdict(tmp_path, monkeypatch):
    """Of some steps only a kill counts; the steps that passed are not run again."""
    world = World(tmp_path, monkeypatch)
    assert world.judge("unit|fuzz") is None and world.asked == ["unit a", "unit b"]
    assert world.judge("unit|pytest") is None and world.asked == ["pytest"]
    assert world.judge() == ("survived", "", "f.c") and world.asked == ["boot qemu", "pytest"]
    world.met.forget()
    world.failing.add("unit b")
    assert world.judge("unit|fuzz") == ("killed", "unit b", "f.c")


def test_a_mutant_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    """The tests that have passed are not run again; the one in the middle is; the source is put back."""
    world = World(tmp_path, monkeypatch)

    def stopped(*_):
        raise Stopped

    monkeypatch.setattr(steps, "run", lambda t, name, *_: stopped() if name == "unit b" else world.run(t, name))
    with pytest.raises(Stopped):
        world.judge()
    assert world.asked == ["unit a"] and world.tree.written == ["bug", "original"]
    monkeypatch.setattr(steps, "run", world.run)
    monkeypatch.setattr(steps, "run_pytest", stopped)
    with pytest.raises(Stopped):
        world.judge()
    assert world.asked == ["unit b", "boot qemu"]
    monkeypatch.setattr(steps, "run_pytest", world.run_pytest)
    assert world.judge() == ("survived", "", "f.c") and world.asked == ["pytest"]


# ---- commands


def test_a_step_is_run(tmp_path, monkeypatch):
    (tmp_path / "build").mkdir()
    t = types.SimpleNamespace(path=str(tmp_path), make=lambda *_: None, children=Children(), busy=contextlib.nullcontext)
    monkeypatch.setattr(steps, "command", lambda name: ([], ["sh", "-c", name.split(" ", 1)[1]]))
    assert steps.run(t, "unit exit 0", 60, ()).passed
    assert steps.run(t, "unit echo said; exit 3", 60, ())[:2] == (False, "said\n")
    assert not steps.run(t, "unit sleep 60", 1, ()).passed
    # Machines by the prefix, whose own time does not count.
    passed, _, seconds = steps.run(t, "boot exit 0", 60, ("sh", "-c", "sleep 1; exec \"$@\"", "-"))
    assert passed and seconds < 0.9
    assert steps.run(t, "boot echo EmulatorDied >&2; exit 1", 60, ()).passed
    assert not steps.run(t, "unit echo EmulatorDied >&2; exit 1", 60, ()).passed
    assert not steps.run(t, "boot exit 1", 60, ()).passed
    # What does not build says nothing.
    t.make = lambda *_: (_ for _ in ()).throw(tree.BuildError("no"))
    assert steps.run(t, "unit exit 1", 60, ()) is None


def test_a_failing_baseline_ends_the_run(tmp_path, monkeypatch):
    outcome = [steps.Outcome(True, "what it said", 3)]
    monkeypatch.setattr(steps, "run", lambda *_: outcome[0])
    baseline = steps.Baseline(None, str(tmp_path / "baseline"), str(tmp_path / "met"), ())
    assert baseline.patience("unit a") == 75
    outcome[0] = steps.Outcome(False, "what it said", 3)
    assert steps.Baseline(None, str(tmp_path / "baseline"), str(tmp_path / "met"), ()).patience("unit a") == 75
    for outcome[0], text in ((outcome[0], "what it said"), (None, "unit b fails")):
        with pytest.raises(RuntimeError, match=text):
            baseline.patience("unit b")


def test_a_test_must_pass_without_a_mutant(tmp_path, monkeypatch):
    asked = []

    def run_pytest(tree_, plan, prefix, only):
        asked.append(only)
        Met(plan["met"]).note("good" in only[0], 1, only[0])
        return types.SimpleNamespace(status=0 if "good" in only[0] else 1, text="what it said")

    monkeypatch.setattr(steps, "run_pytest", run_pytest)
    baseline = steps.Baseline(None, str(tmp_path / "baseline"), str(tmp_path / "met"), ())
    baseline.must_pass("good")
    baseline.must_pass("good")
    assert asked == [["good"]]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="what it said"):
            baseline.must_pass("bad")

    def unbuilt(*_):
        raise tree.BuildError("full disk")

    # It is no mutant that keeps this from being built.
    monkeypatch.setattr(steps, "run_pytest", unbuilt)
    with pytest.raises(RuntimeError, match="full disk"):
        baseline.must_pass("other")


def alive(marker):
    done = subprocess.run(["pgrep", "-f", marker], capture_output=True, text=True, check=False)
    return done.stdout.split()


def gone_soon(marker):
    for _ in range(100):
        if not alive(marker):
            return True
        time.sleep(0.1)
    return False


def test_stopping(tmp_path):
    """What runs is told to leave, what it would have come to is not heard, and nothing starts any more."""
    children, heard = Children(), []

    def work():
        try:
            text = "trap ': > left; exit 0' INT; : > up; while :; do sleep 0.1; done"
            heard.append(children.run(["sh", "-c", text], str(tmp_path), dict(os.environ)))
        except Stopped:
            heard.append(Stopped)

    worker = threading.Thread(target=work)
    worker.start()
    while not (tmp_path / "up").exists():
        time.sleep(0.05)
    children.stop()
    worker.join(30)
    assert heard == [Stopped] and (tmp_path / "left").exists()
    with pytest.raises(Stopped):
        children.run(["touch", "late"], str(tmp_path), dict(os.environ))
    assert not (tmp_path / "late").exists()


def test_a_killed_run_leaves_no_process(tmp_path):
    """Neither the command, nor what stands behind a prefix."""
    marker = "sleep 61.%d" % os.getpid()
    text = ("import sys, types, contextlib; sys.path.insert(0, %r)\n"
            "from mutants import steps, draw; from mutants.children import Children\n"
            "t = types.SimpleNamespace(path=%r, children=Children(), busy=contextlib.nullcontext)\n"
            "steps.execute(t, %r.split(), 100, ['flock', %r])\n" % (os.path.join(draw.TOP, "tests"), str(tmp_path), marker,
                                                                    str(tmp_path / "lock")))
    (tmp_path / "build").mkdir()
    process = subprocess.Popen([sys.executable, "-c", text])
    for _ in range(200):
        if (tmp_path / "build" / "began").exists() and len(alive(marker)) >= 2:
            break
        time.sleep(0.1)
    assert alive(marker)
    process.kill()
    process.wait()
    assert gone_soon(marker)


# ---- the copy of the tree


def repository(top):
    files = {"Makefile": "default_defconfig:\n\t@true\nall:\n\tcp vmm/a.c build/made\n", "vmm/a.c": "original\n",
             "docs/mutants.md": "x\n"}
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    subprocess.run(["git", "add", "."], cwd=top, check=True)
    (top / "build" / "guest").mkdir(parents=True)
    (top / ".git" / "info" / "exclude").write_text("build\n")


def test_a_copy_that_a_killed_run_has_left(tmp_path):
    top, path = tmp_path / "top", tmp_path / "copy"
    top.mkdir()
    repository(top)
    copy = tree.Tree(str(top), str(path), Children())
    copy.make("all")
    (path / "vmm/a.c").write_text("with a bug\n")
    (path / "vmm/lost.c").write_text("of another commit\n")
    os.utime(path / "vmm/a.c", (1, 1))
    (path / "build" / "mine").write_text("kept\n")
    tree.Tree(str(top), str(path), Children())
    assert (path / "vmm/a.c").read_text() == "original\n" and not (path / "vmm/lost.c").exists()
    # What was built of the bug is older than the original.
    assert os.path.getmtime(path / "vmm/a.c") >= os.path.getmtime(path / "build" / "made") and (path / "build" / "mine").exists()
    # Who was killed while something was built leaves no such tree behind.
    with pytest.raises(ZeroDivisionError):
        with copy.busy():
            raise ZeroDivisionError
    tree.Tree(str(top), str(path), Children())
    assert not (path / "build" / "mine").exists() and os.path.islink(path / "build" / "guest")


def test_state_of_the_source(tmp_path):
    """All that is in the tree, committed or not, but documents: a session that writes some loses no result."""
    repository(tmp_path)
    first = tree.state_of(str(tmp_path))
    (tmp_path / "docs/mutants.md").write_text("y\n")
    (tmp_path / "README.md").write_text("new\n")
    assert tree.state_of(str(tmp_path)) == first
    (tmp_path / "docs/cpuid.md").write_text("a table\n")
    assert tree.state_of(str(tmp_path)) != first
    (tmp_path / "docs/cpuid.md").unlink()
    (tmp_path / "vmm/a.c").write_text("other\n")
    second = tree.state_of(str(tmp_path))
    (tmp_path / "vmm/new.c").write_text("new\n")
    assert len({first, second, tree.state_of(str(tmp_path))}) == 3


# ---- rates, documents


def test_rates():
    mutants = mutants_of("vmm", "vmm", "vmm", "cpu", "cpu", "cpu")
    known = results.Results("/nonexistent")
    known.of = {source.key(m): result(s, state=state) for m, s, state in zip(
        mutants, ("killed", "survived", "survived", "gone", "killed"), ("now", "now", "now", "now", "before"))}
    reasons = {source.key(m): "as one" for m in (mutants[0], mutants[2], mutants[5])}
    rows = list(report.rows(mutants, known, reasons, "now"))
    table = report.counted(rows)
    assert dict(table["vmm"]) == {"drawn": 3, "killed": 1, "survived": 1, "alike": 1}
    # What was killed in another state of the source is still to run in this one, unless there is a reason not to.
    assert dict(table["cpu"]) == {"drawn": 3, "gone": 1, "alike": 1, "to run": 1}
    assert report.rate(table["vmm"]) == pytest.approx(200 / 3) and report.rate(table["cpu"]) == 50
    assert report.rate(table["all"]) == 60


@pytest.mark.parametrize("killed, gone, kind, good", [
    (95, 0, report.COMMITTED, True), (94, 0, report.COMMITTED, False), (90, 0, report.FRESH, True), (89, 0, report.FRESH, False),
    (90, 0, report.CHANGE, True), (89, 0, report.CHANGE, False), (90, 10, report.COMMITTED, True),
    (89, 11, report.COMMITTED, False),
])
def test_goals(killed, gone, kind, good):
    assert report.good({"drawn": 100, "killed": killed, "alike": 0, "gone": gone}, kind) == good


def test_document(tmp_path):
    rows = [row(by="tests/system/test_x.py::test_a", key="11"), row(by="tests/system/test_x.py::test_b"), row(by="unit test_y"),
            row("cpu", "survived", key="22", bug="`a | b`", note="n"), row("cpu", "alike", note="nothing reads it")]
    results.keep(results.kept_path(str(tmp_path), True), "17", rows)
    assert results.kept(results.kept_path(str(tmp_path), True)) == ("17", rows)
    text = report.document(str(tmp_path))
    assert text.startswith(report.INTRODUCTION) and "Seed 17, commit c: 80 % killed, the goal is 95 %." in text
    assert "| cpu | 2 | 0 | 1 | 1 | 0 | 50 % |" in text and "| all | 5 | 3 | 1 | 1 | 0 | 80 % |" in text
    assert "Killed first by: test_x 2, unit test_y 1." in text
    assert "| 22 | `a \\| b`: n |" in text and ": nothing reads it |" in text and "| 11 |" not in text
    results.keep(results.kept_path(str(tmp_path), False), "5", [row(by="unit test_%d" % n, commit="%012x" % n) for n in range(40)])
    both = report.document(str(tmp_path))
    assert both.startswith(text) and "## A fresh seed" in both
    assert all(len(line) <= report.WIDTH or line.startswith("|") for line in both.split("\n"))


def test_the_document_is_made_of_what_is_kept():
    with open(run.DOCUMENT, encoding="utf-8") as f:
        assert f.read() == report.document(run.KEPT), "run.py --document writes it"


def test_table_of_a_change():
    rows = [row(key="1", by="tests/system/test_x.py::test_a[1|2]"), row(key="2", status="survived", bug="`a || b`"),
            row(key="3", status="to run"), row(key="4", status="alike", note="so")]
    text = list(report.summary(report.CHANGE, "since abc, seed 1", rows))
    assert text[:6] == ["| mutant | the bug | killed by |", "|---|---|---|", "| 1 | bug | system/test_x.py::test_a[1\\|2] |",
                        "| 2 | `a \\|\\| b` | survived |", "| 3 | bug | to run |", "| 4 | bug | alike: so |"]
    assert "since abc, seed 1: 2 of 4 killed (1 of them alike), 50 %; the goal is 90 %." in text
    assert text[-1].startswith("1 still to run")
    assert "survived: 2 `a || b`" in list(report.summary(report.FRESH, "seed 1", rows))


def test_results_are_kept(tmp_path):
    path = tmp_path / "results"
    kept = results.Results(str(path))
    kept.keep("a", result("survived", state="old"))
    kept.keep("a", result("killed", "unit x"))
    with open(path, "a", encoding="utf-8") as f:
        f.write('{"key": "a", "status"')
    again = results.Results(str(path))
    assert again.of == {"a": result("killed", "unit x")}
    assert again.final("a", "now") and not again.final("a", "old") and not again.final("b", "now")


# ---- the whole run, with a judge that knows


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """run.main() over 20 mutants. A judge answers; returns a function: (exit status, keys that were judged)."""
    mutants = mutants_of(*["vmm"] * 20)
    world = types.SimpleNamespace(mutants=mutants, answers={}, judged=[], state="now", folder=tmp_path, before=lambda key: None,
                                  children=[])
    (tmp_path / "committed").write_text("\n".join(draw.written(mutants)) + "\n")
    for name in ("COMMITTED", "DOCUMENT", "SCRATCH", "KEPT", "REASONS"):
        monkeypatch.setattr(run, name, str(tmp_path / name.lower()))
    (tmp_path / "kept").mkdir()
    make = run.Children
    monkeypatch.setattr(run, "Children", lambda: world.children.append(make()) or world.children[-1])
    monkeypatch.setattr(run, "Tree", lambda *_: None)
    monkeypatch.setattr(run, "state_of", lambda top: world.state)

    def judged(self, key, mutant, before, met):
        world.before(key)
        world.judged.append(key)
        answer = world.answers.get(key, "killed")
        return answer and (answer, "unit a" if answer == "killed" else "", "vmm/a.c")

    monkeypatch.setattr(judge.Judge, "judge", judged)

    def main(*words):
        del world.judged[:]
        monkeypatch.setattr(sys, "argv", ["run.py", "--jobs", "1", *words])
        handlers = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
        try:
            with pytest.raises(SystemExit) as end:
                run.main()
        finally:
            for number, handler in handlers:
                signal.signal(number, handler)
        return end.value.code, list(world.judged)

    world.main, world.keys = main, [source.key(m) for m in mutants]
    return world


@pytest.mark.parametrize("states, status", [(["killed"] * 20, 0), (["killed"] * 19 + ["survived"], 0),
                                            (["killed"] * 18 + ["survived"] * 2, run.BELOW), (["killed"] * 19 + [None], run.LEFT)])
def test_exit_status(whole, states, status):
    """While one is left to run, nothing is written, and no rate is good."""
    whole.answers = dict(zip(whole.keys, states))
    assert whole.main()[0] == status
    document = whole.folder / "document"
    assert document.exists() == (status != run.LEFT) == (whole.folder / "kept" / "committed.json").exists()
    if status != run.LEFT:
        assert "%d %% killed" % (100 * states.count("killed") / 20) in document.read_text()
        assert whole.main() == (status, [])  # all is known
    whole.state = "another"
    assert len(whole.main()[1]) == 20


def until_stopped(whole, key):
    """A judge at that mutant, while the run is told to stop: as a command of its would, it ends by Stopped."""
    def before(asked):
        if asked == key:
            while not whole.children[-1].stopped:
                time.sleep(0.01)
            raise Stopped

    return before


def test_a_stopped_run_goes_on(whole, capsys):
    """By a signal in the middle: what was judged till then is known, the rest is judged later, each once."""
    wait = until_stopped(whole, whole.keys[7])

    def stop(key):
        if key == whole.keys[7]:
            os.kill(os.getpid(), signal.SIGTERM)
        wait(key)

    whole.before = stop
    assert whole.main() == (run.LEFT, whole.keys[:7]) and "13 still to run" in capsys.readouterr().out
    whole.before = lambda key: None
    assert whole.main() == (0, whole.keys[7:])


def test_minutes_are_over(whole):
    whole.before = until_stopped(whole, whole.keys[3])
    assert whole.main("--minutes", "0.005") == (run.LEFT, whole.keys[:3])


def test_an_error_ends_the_run(whole):
    """It is told, the status says so, and nothing that was judged is lost."""
    def fail(key):
        if key == whole.keys[2]:
            raise RuntimeError("without any mutant unit a fails")

    whole.before = fail
    assert whole.main() == ("mutants: without any mutant unit a fails", whole.keys[:2])
    assert whole.children[-1].stopped  # the other worker's test, too
    whole.before = lambda key: None
    assert whole.main() == (0, whole.keys[2:])


def test_a_change_of_few_lines(whole, monkeypatch, capsys):
    """It says how many there are; all killed is good. No document has them."""
    monkeypatch.setattr(run.change, "commit_of", lambda top, name: "ab" * 20)
    monkeypatch.setattr(run.Run, "draw", lambda self, number: iter(whole.mutants[:3]))
    whole.answers = {whole.keys[1]: "survived"}
    assert whole.main("--since", "HEAD~1")[0] == run.BELOW
    said = capsys.readouterr()
    assert "only 3 lines of the image that can be mutated" in said.err and "| survived |" in said.out
    assert not (whole.folder / "document").exists()
    whole.answers = {}
    whole.state = "tested"
    assert whole.main("--since", "HEAD~1")[0] == 0
    monkeypatch.setattr(run.Run, "draw", lambda self, number: iter(()))
    whole.state = "of no code"
    assert whole.main("--since", "HEAD~1")[0] == 0 and "only 0 lines" in capsys.readouterr().err


def test_wrong_arguments(monkeypatch, capsys):
    for words in (["--minutes", "0"], ["--number", "0"], ["--jobs", "-1"], ["--steps", "("]):
        monkeypatch.setattr(sys, "argv", ["run.py", *words])
        with pytest.raises(SystemExit) as end:
            run.main()
        assert end.value.code == 2
    capsys.readouterr()
