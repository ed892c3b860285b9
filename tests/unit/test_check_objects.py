# SPDX-License-Identifier: GPL-2.0-only
"""tools/check-objects, over small objects that are made here: what goes upwards, rooms that use each other and cycles are named by
symbol and both files where they are not listed, and what is less than the list says is written down.
"""

import os
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "check-objects")
MARKS = "words before\n<!-- tools/check-objects -->\n%s<!-- /tools/check-objects -->\nwords behind\n"


def function(name, *called):
    """A function that calls others, which other files have."""
    return "void %s(void)\n{\n%s}\n" % (name, "".join("\tvoid %s(void);\n\t%s();\n" % (one, one) for one in called))


ENTRY = '__attribute__((used, section("vdevs"))) static int entry;\n'
READER = "extern char __start_vdevs[];\nvoid *first(void)\n{\n\treturn __start_vdevs;\n}\n"


class Tree:
    """An image of files, and a document that lists what it may."""

    def __init__(self, path, files, flags=()):
        self.document = path / "document.md"
        objects = []
        path.mkdir(exist_ok=True)
        for name, text in files.items():
            source, thing = path / name, path / "obj" / "0123" / name
            for folder in source.parent, thing.parent:
                folder.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            subprocess.run(["gcc", "-O1", *flags, "-c", "-o", thing.with_suffix(".o"), source], check=True)
            objects.append(str(thing.with_suffix(".o")))
        self.list = path / "objects.list"
        self.list.write_text(" ".join(objects) + "\n")

    def run(self, *options):
        return subprocess.run([TOOL, *options, "--document", self.document, self.list], capture_output=True, text=True, check=False)

    def judged(self, listed):
        """The messages where no more than the lines may be; [] where it passes."""
        self.document.write_text(MARKS % "".join("    %s\n" % line for line in listed))
        done = self.run()
        assert done.returncode == (1 if done.stderr else 0), done.stderr
        return [line.removeprefix("check-objects: ").strip() for line in done.stderr.split("\n")[:-1]]


DOWN = {"vmm/vm.c": function("vm_make", "printk"), "kernel/print.c": function("printk")}
UP = {**DOWN, "kernel/print.c": function("printk", "vm_make")}
ROOMS = {"vmm/vm.c": function("vm_make", "pci_make", "pci_name"),
         "vmm/pci/pci.c": function("pci_make", "vm_end") + function("pci_name"), "vmm/vm_end.c": function("vm_end")}


def test_downwards(tmp_path):
    assert Tree(tmp_path, DOWN).judged(["uses     vmm      kernel"]) == []


def test_a_call_upwards_is_named(tmp_path):
    assert Tree(tmp_path, UP).judged(["uses     vmm      kernel", "cycle    2 objects of kernel, vmm"]) == [
        "kernel must not use vmm: 1 uses, 0 are listed", "kernel/print.c: uses vm_make of vmm/vm.c",
        "a cycle of objects of kernel, vmm: kernel/print.c vmm/vm.c"]


def test_one_more_than_listed(tmp_path):
    files = {**UP, "vmm/vm.c": function("vm_make"), "kernel/panic.c": function("panic", "vm_make")}
    lines = ["uses     kernel   vmm", "upwards  kernel -> vmm: %d"]
    tree = Tree(tmp_path, files)
    assert "kernel/panic.c: uses vm_make of vmm/vm.c" in tree.judged([line.replace("%d", "1") for line in lines])
    assert tree.judged([line.replace("%d", "2") for line in lines]) == []


def test_data_counts(tmp_path):
    files = {"kernel/main.c": "extern int slots;\nint *first(void)\n{\n\treturn &slots;\n}\n", "vmm/slots.c": "int slots;\n"}
    assert Tree(tmp_path, files).judged([])[1] == "kernel/main.c: uses slots of vmm/slots.c"


def test_backends_never_use_each_other(tmp_path):
    for one, other in ("vmx", "svm"), ("svm", "vmx"):
        files = {"vmm/%s/run.c" % one: function("run", "help"), "vmm/%s/help.c" % other: function("help")}
        assert Tree(tmp_path / one, files).judged([])[0] == "%s must not use %s: 1 uses, 0 are listed" % (one, other)


def test_a_section_is_a_use_of_its_reader(tmp_path):
    """Whoever registers is above; the reader of an entry uses nobody."""
    assert Tree(tmp_path / "1", {"vmm/dev/rtc.c": ENTRY, "vmm/vm.c": READER}).judged(["uses     dev      vmm"]) == []
    both = {"vmm/dev/rtc.c": ENTRY, "vmm/vm.c": READER, "vmm/vmx/x.c": READER.replace("first", "second")}
    assert Tree(tmp_path / "3", both).judged([])[1] == "vmm/dev/rtc.c: uses section vdevs of vmm/vmx/x.c"
    wrong = Tree(tmp_path / "2", {"kernel/rtc.c": ENTRY, "vmm/vm.c": READER}).judged([])
    assert wrong[1] == "kernel/rtc.c: uses section vdevs of vmm/vm.c"


def test_rooms(tmp_path):
    """Each direction by itself is none of the tool's business; both are, where no line allows it: the rarer one is named."""
    tree = Tree(tmp_path, ROOMS)
    assert tree.judged([]) == [
        "vmm and vmm/pci use each other: this way 2 times, that way", "vmm/pci/pci.c: uses vm_end of vmm/vm_end.c"]
    assert tree.judged(["rooms    vmm <-> vmm/pci"]) == []
    assert Tree(tmp_path / "one", {name: ROOMS[name] for name in ("vmm/pci/pci.c", "vmm/vm_end.c")}).judged([]) == []


def test_files_that_stray(tmp_path):
    """lib/ is below the kernel, and the CPU's layer may use it."""
    files = {"arch/x86_64/cpu/features.c": function("features", "copy"), "lib/string.c": function("copy")}
    assert Tree(tmp_path, files).judged(["uses     cpu      lib"]) == []


def test_cycles(tmp_path):
    """Two of them: only the one that is larger than the largest listed is wrong."""
    ring = ["a", "b", "c", "d"]
    files = {"kernel/%s.c" % one: function(one, ring[(at + 1) % 4]) for at, one in enumerate(ring)}
    files |= {"drivers/x.c": function("x", "y"), "drivers/y.c": function("y", "x", "a")}
    tree = Tree(tmp_path, files)
    assert tree.judged(["cycle    4 objects of kernel", "cycle    2 objects of drivers"]) == []
    assert tree.judged(["cycle    3 objects of kernel"]) == [
        "a cycle of 4 objects, at most 3 may be: kernel/a.c kernel/b.c kernel/c.c kernel/d.c"]


@pytest.mark.parametrize("size", (12, 13))
def test_a_large_cycle(tmp_path, size):
    """Is wrong even where it is listed."""
    files = {"kernel/f%02d.c" % at: function("f%d" % at, "f%d" % ((at + 1) % size)) for at in range(size)}
    said = Tree(tmp_path, files).judged(["cycle    %d objects of kernel" % size])
    assert said == ["a cycle of 13 objects, at most 12 may be: " + " ".join(files)] * (size > 12)


def test_a_cycle_of_rooms(tmp_path):
    """So is one that is not inside a room, though these may use each other."""
    files = {"vmm/vm.c": function("vm_make", "pci_make"), "vmm/pci/pci.c": function("pci_make", "vm_make")}
    assert Tree(tmp_path, files).judged(["rooms    vmm <-> vmm/pci", "cycle    2 objects of vmm, vmm/pci"]) == [
        "a cycle of objects of vmm, vmm/pci: vmm/pci/pci.c vmm/vm.c"]


@pytest.mark.parametrize("listed", (["rooms    vmm <-> vmm/pci", "upwards  kernel -> vmm: 3"], ["cycle    9 objects of vmm"], []))
def test_less_is_written_down(tmp_path, listed):
    listed = [*listed, "rooms    vmm <-> vmm/pci"]
    tree = Tree(tmp_path, {**ROOMS, "kernel/print.c": function("printk"), "vmm/log.c": function("vm_log", "printk")})
    assert tree.judged(listed) == ["the linked image is another than docs/architecture.md says, and no worse: make draw-layers"]
    assert tree.run("--write").returncode == 0
    assert tree.document.read_text() == MARKS % "    uses     vmm      kernel\n    rooms    vmm <-> vmm/pci\n"
    assert tree.run().returncode == 0


def test_worse_is_not(tmp_path):
    tree = Tree(tmp_path, UP)
    tree.judged(["uses     vmm      kernel"])
    before = tree.document.read_text()
    done = tree.run("--write")
    assert done.returncode == 1 and "kernel/print.c: uses vm_make" in done.stderr
    assert tree.document.read_text() == before


def test_what_it_cannot_judge(tmp_path):
    """Objects of LTO have no symbols; a folder that is new has no layer yet; no objects are no proof."""
    lto = Tree(tmp_path / "lto", DOWN, ("-flto",)).judged([])
    assert len(lto) == 1 and lto[0].endswith("it was compiled with LTO")
    files = {"elsewhere/x.c": function("x", "printk"), "kernel/print.c": function("printk")}
    assert Tree(tmp_path / "new", files).judged([]) == [
        "elsewhere/x.c is of no layer: add its folder to tools/check-objects"]
    assert Tree(tmp_path / "none", {}).judged([]) == ["no objects"]
    tree = Tree(tmp_path / "unmarked", DOWN)
    tree.document.write_text("no marks\n")
    assert tree.run().stderr.endswith("has no block for the linked image\n")
