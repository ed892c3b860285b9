# SPDX-License-Identifier: GPL-2.0-only
"""The tests that a mutant meets, cheapest first: units and fuzz corpora that link its file, the generated document, machines."""

import glob
import json
import os
import subprocess
import sys
import threading
import time

from mutants import draw
from mutants.tree import BuildError

# A tiny guest alone (boot), and files of tests/system or their half for one emulator. A layer's own come first, then these,
# then all that is left.
USUAL = ("boot qemu", "test_tiny qemu", "test_guest qemu", "test_bad_input", "test_smp", "test_console", "test_dma_windows",
         "test_msix", "boot bochs", "test_tiny bochs", "test_guest bochs", "test_time", "test_topology")
# They judge the built image's code by itself, on no machine.
BUILT = ("test_world_switch", "test_clean_exit")
FIRST = {
    "boot": ("boot qemu", "test_bad_input", "test_smp", "test_boot_media", "test_netboot"),
    "cpu": BUILT + ("boot qemu", "boot bochs", "test_tiny qemu", "test_smp", "test_tiny bochs", "test_time"),
    "stage2": ("boot qemu", "boot bochs", "test_tiny qemu", "test_tiny bochs", "test_topology"),
    "vmx": BUILT + ("boot bochs", "test_tiny bochs", "test_guest bochs"),
    "svm": BUILT,
    "kernel": ("boot qemu", "test_tiny qemu", "test_dma_windows", "test_topology", "test_numa_tables", "test_hwcheck",
               "test_intx"),
    "drivers": ("boot qemu", "test_console", "test_time", "test_tiny qemu"),
    "vmm/pci": ("test_dma_windows", "test_msix", "test_intx", "test_pci_hostile", "test_pci_data", "test_passthrough"),
}
# They judge the text and size of the source, or other images and programs, and would see a mutant for what it is.
BLIND = ("test_source", "test_configs", "test_bench", "test_emulator", "test_guest_package")
# A backend never runs on the other vendor's machine.
ONLY = {"vmx": "bochs", "svm": "qemu"}
CHOICE = {"qemu": "not bochs", "bochs": "bochs"}
NO_TESTS = 5  # pytest's status when -k took none


def machine_steps(layer, files):
    """The steps of a layer, each file once or once for each emulator."""
    steps = list(dict.fromkeys(FIRST.get(layer, ()) + USUAL))
    steps += [f for f in files if f not in BLIND and f not in {step.split()[0] for step in steps}]
    if layer in ONLY:
        steps = list(dict.fromkeys(step if step in BUILT else "%s %s" % (step.split()[0], ONLY[layer]) for step in steps))
    return steps


def names(tree, layer, file):
    """All steps for a mutant of that file, in order."""
    yield from ("%s %s" % link for link in tree.linked_with(file))
    yield "cpuid-list"
    files = sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(tree.path, "tests", "system", "test_*.py")))
    yield from machine_steps(layer, files)


def needs_machine(name):
    return name.startswith(("test_", "boot "))


def command(name):
    """(what has to be made, how it is run)"""
    first, _, second = name.partition(" ")
    if first == "unit":
        return ["build/unit/" + second], ["build/unit/" + second]
    if first == "fuzz":
        return ["build/fuzz-replay/" + second], ["build/fuzz-replay/" + second, "tests/fuzz/corpus/" + second[len("fuzz_"):]]
    if first == "cpuid-list":
        return ["build/cpuid-list"], ["sh", "-c", "build/cpuid-list | cmp - docs/cpuid.md"]
    if first == "boot":
        return ["all", "tiny"], ["tools/tiny-run", "boot", "--machine", second]
    run = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "tests/system/%s.py" % first]
    return ["all", "tiny"], run + (["-k", CHOICE[second]] if second else [])


def run(tree, name, patience, prefix):
    """(whether it passed, what it printed, seconds). prefix: what each command that starts emulators is run by."""
    targets, words = command(name)
    try:
        tree.make(*targets)
    except BuildError:
        # With other warnings than the image has a bug need not compile, and that says nothing of the test.
        return True, "", 0
    # The file's time is when it began, behind what the prefix may have waited for.
    began = os.path.join(tree.path, "build", "began")
    words = [*(prefix if needs_machine(name) else ()), "sh", "-c", ': > "$0"; exec timeout -k 60 "$@"', began,
             str(int(patience)), *words]
    done = subprocess.run(words, cwd=tree.path, env=draw.environment(tree.path), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", check=False)
    # An emulator that failed says nothing here; pytest tries again.
    passed = done.returncode == 0 or (needs_machine(name) and done.returncode == NO_TESTS) or (
        name.startswith("boot ") and "EmulatorDied" in done.stderr)
    return passed, done.stdout + done.stderr, time.time() - os.path.getmtime(began)


class Baseline:
    """Each step once without a mutant, when it is first needed: it must pass, and its time says what is patient enough."""

    LONGEST = 7200

    def __init__(self, tree, path, prefix):
        self.tree, self.path, self.prefix, self.lock = tree, path, prefix, threading.Lock()
        self.seconds = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.seconds = json.load(f)

    def patience(self, name):
        with self.lock:
            if name not in self.seconds:
                passed, output, seconds = run(self.tree, name, self.LONGEST, self.prefix)
                if not passed:
                    raise RuntimeError("without any mutant %s fails:\n%s" % (name, output[-4000:]))
                self.seconds[name] = seconds
                with open(self.path, "w", encoding="utf-8") as f:
                    json.dump(self.seconds, f)
        return 5 * self.seconds[name] + 60
