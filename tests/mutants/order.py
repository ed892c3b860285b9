# SPDX-License-Identifier: GPL-2.0-only
"""Which tests a mutant meets first: whatever killed mutants of its file, its folder and its layer before, tests that name what the
file is about, the layer's own, the usual ones; then all that is left of the fast tier.
"""

import ast
import collections
import os
import re

# Files of tests/system, or their half for one emulator.
USUAL = ("test_tiny qemu", "test_guest qemu", "test_bad_input", "test_smp", "test_console", "test_dma_windows", "test_msix",
         "test_tiny bochs", "test_guest bochs", "test_time", "test_topology")
# They judge the built image's code by itself, on no machine.
BUILT = ("test_world_switch", "test_clean_exit")
FIRST = {
    "boot": ("test_bad_input", "test_smp", "test_boot_media", "test_netboot"),
    "cpu": BUILT + ("test_tiny qemu", "test_smp", "test_tiny bochs", "test_time"),
    "stage2": ("test_tiny qemu", "test_tiny bochs", "test_topology"),
    "vmx": BUILT + ("test_tiny bochs", "test_guest bochs"),
    "svm": BUILT + ("test_tiny qemu", "test_guest qemu"),
    "kernel": ("test_tiny qemu", "test_dma_windows", "test_topology", "test_numa_tables", "test_hwcheck", "test_intx"),
    "drivers": ("test_console", "test_time", "test_tiny qemu"),
    "vmm/pci": ("test_dma_windows", "test_msix", "test_intx", "test_pci_hostile", "test_pci_data", "test_passthrough"),
}
# They judge the text and size of the source, or other images and programs, and would see a mutant for what it is.
BLIND = ("test_source", "test_configs", "test_bench", "test_emulator", "test_guest_package", "test_mutants",
         "test_mutants_run")
# A backend never runs on the other vendor's machine: what is for that one comes last.
OTHER = {"vmx": "qemu", "svm": "bochs"}
# Of each machine, in the name of a test: the emulator whose CPU it has.
EMULATORS = (("bochs", re.compile(r"bochs(?!-svm)|vtx|vmx")), ("qemu", re.compile(r"qemu|svm")))
MOST_KILLERS, MOST_NAMED = 8, 6
# A phase of a test may take so much longer than it ever did, or, where nobody knows that, this long.
TIMES, MORE, PATIENCE = 5, 120, 3600


def emulator_of(name):
    """Of a test, by its function's name and its parameters; "" where they do not say."""
    return next((emulator for emulator, pattern in EMULATORS if pattern.search(name.partition("::")[2])), "")


def matches(entry, name):
    """entry: a test's whole name, a file's without folder and ending, or that and an emulator."""
    if "::" in entry:
        return entry == name
    file, _, emulator = entry.partition(" ")
    return os.path.basename(name.split("::")[0]) == file + ".py" and (not emulator or emulator_of(name) in (emulator, ""))


def place(plan, name):
    """Where a test stands in the plan: to sort by."""
    entries = plan["first"]
    first = next((n for n, entry in enumerate(entries) if matches(entry, name)), len(entries))
    return emulator_of(name) == plan["last"] != "", first


def killers(history, layer, file):
    """Tests that killed mutants of this file, then of its folder, then of its layer; in each those first that killed most."""
    folder = os.path.dirname(file)
    near = (lambda r: r.file == file, lambda r: os.path.dirname(r.file) == folder, lambda r: r.layer == layer)
    found = []
    for is_near in near:
        counts = collections.Counter(r.by for r in history if r.status == "killed" and r.by and is_near(r))
        found += sorted(counts, key=lambda by: (-counts[by], by))
    return list(dict.fromkeys(found))


def words_of(file):
    """What a file is about, as words that a test may have: its name, the parts of it, the folder's."""
    stem = os.path.basename(file).split(".")[0]
    parts = [part for part in stem.split("_") if len(part) > 3]
    return list(dict.fromkeys([stem, *parts, os.path.basename(os.path.dirname(file))]))


def documented(text):
    """What the docstring says."""
    try:
        return (ast.get_docstring(ast.parse(text)) or "").lower()
    except SyntaxError:
        return ""


def has(text, word):
    """Whether a text has that word, or those words, as a whole."""
    return re.search(r"(?<![a-z])%s(?![a-z])" % re.escape(word.replace("_", " ")), text.replace("_", " ")) is not None


def named(file, tests):
    """The tests that are about the mutant's file, by their names and docstrings, the best first. A word that many have, as "run",
    tells nothing."""
    scores = collections.Counter()
    said = {test: documented(text) for test, (_, text) in tests.items()}
    for weight, word in zip((2, 1, 1, 1, 1), words_of(file)):
        found = {test: 2 * has(test, word) + has(said[test], word) for test in tests}
        if sum(map(bool, found.values())) <= MOST_NAMED:
            scores.update({test: weight * times for test, times in found.items() if times})
    return sorted(scores, key=lambda test: (-scores[test], test))[:MOST_NAMED]


def plan(layer, file, tests, history, met, seconds):
    """What watch.py goes by. tests: {name of a file: (its path, its text)}; met: the path of what the mutant has met."""
    known = [by for by in killers(history, layer, file) if "::" in by][:MOST_KILLERS]
    units = sorted(test for test, (path, _) in tests.items() if path.startswith("tests/unit/"))
    by_file = collections.Counter()
    for name, took in seconds.items():
        by_file[os.path.basename(name.split("::")[0])[:-3]] += took
    # What is quick, as far as anybody knows, before what is slow.
    rest = sorted(tests, key=lambda test: (by_file.get(test, 60), test))
    first = list(dict.fromkeys([*known, *named(file, tests), *FIRST.get(layer, ()), *units, *USUAL, *rest]))
    return {"first": first, "last": OTHER.get(layer, ""), "met": met, "seconds": seconds}
