#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a change is tried by before its author goes on, in minutes: make quick.

    tests/quick.py [--base COMMIT]

Runs the unit tests and fuzz corpora that the changed files go into, changed tests of tests/unit themselves, and a few whole
machines: Linux on each emulator, a device passed through, a VM that owns its CPUs' APICs, a wrong VM file. What has changed is
what differs from where the branch left origin/main, on main itself and without it from the last commit, and all that is not
committed. Where that goes into no unit test, a few stand for all. The Makefile calls it when `make check` has passed.
"""

import argparse
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, HERE)
import unit_lines  # noqa: E402

PYTHON = "/usr/bin/python3"
LIMIT = 300  # seconds, in a tree that was built before
# A header that half of the tree includes goes into most tests; those that link or include a changed file itself come first.
MOST = 40
STANDING = ["unit test_config", "unit test_decode", "unit test_gpa_map", "unit test_lapic", "unit test_stage2", "fuzz fuzz_config"]
MACHINES = [
    "system/test_guest.py::test_node_ends_well[qemu]",
    "system/test_guest.py::test_kernel_log_is_there[qemu]",
    "system/test_guest.py::test_node_ends_well[bochs]",
    "system/test_guest.py::test_kernel_log_is_there[bochs]",
    "system/test_passthrough.py::test_disk[qemu-nvme]",
    "system/test_direct.py::test_linux[1]",
    "system/test_bad_input.py::test_one_clear_line[qemu-key.conf]",
    "system/test_bad_input.py::test_the_good_vm_ran[qemu]",
]


def git(*arguments):
    """The lines that git says; None where it fails."""
    done = subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def base_of():
    """The commit that changes are counted from; None in a tree without one."""
    head = git("rev-parse", "HEAD")
    left = git("merge-base", "HEAD", "origin/main")
    if left and left != head:
        return left[0]
    before = git("rev-parse", "--verify", "-q", "HEAD~1")
    return before[0] if before else None


def changed(base):
    """Files of the tree that differ from the base, whether committed or not."""
    files = git("diff", "--name-only", "--no-renames", base) if base else []
    return sorted({*(files or []), *(git("ls-files", "--others", "--exclude-standard") or [])})


def units(files, top=TOP):
    """(targets that the files go into, those left out), each as "unit test_x" or "fuzz fuzz_x"."""
    touched = ["%s %s" % target for target in unit_lines.Sources(top).touched(files)]
    near = {"%s %s" % target for file in files for target in unit_lines.linked_with(top, file)}
    near |= {"%s %s" % (kind, name) for kind, name, path in unit_lines.targets(top) if path in files}
    ordered = sorted(touched, key=lambda target: (target not in near, touched.index(target)))
    return ordered[:MOST], ordered[MOST:]


def python_tests(files, top=TOP):
    return [file for file in files if re.fullmatch(r"tests/unit/test_\w+\.py", file) and os.path.exists(os.path.join(top, file))]


def binary(target):
    kind, name = target.split()
    return "build/%s/%s" % ({"unit": "unit", "fuzz": "fuzz-replay"}[kind], name)


def test_of(target):
    """The test of pytest that runs it."""
    kind, name = target.split()
    if kind == "unit":
        return "tests/unit/test_unit_binaries.py::test_unit[%s]" % name
    return "tests/unit/test_fuzz_corpora.py::test_corpus[%s]" % name.removeprefix("fuzz_")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--base", metavar="COMMIT", default=base_of(), help="count changes from there")
    base = parser.parse_args().base
    begun = time.monotonic()
    files = changed(base)
    chosen, left = units(files)
    print("quick: %d files differ from %s; they go into %d unit tests and fuzz targets" % (
        len(files), base[:12] if base else "nothing", len(chosen) + len(left)))
    if left:
        print("quick: %d of these are left to make unit" % len(left))
    chosen = chosen or STANDING
    # A make of its own, with jobs of its own.
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    for command in (["make", "--no-print-directory", *map(binary, chosen)],
                    [PYTHON, "-m", "pytest", "-n", "2", "--dist", "loadgroup", *map(test_of, chosen), *python_tests(files),
                     *("tests/" + test for test in MACHINES)]):
        sys.stdout.flush()
        status = subprocess.run(command, cwd=TOP, env=environment, check=False).returncode
        if status:
            break
    print("quick: %d s; at most %d in a tree that was built before" % (time.monotonic() - begun, LIMIT))
    sys.exit(status)


if __name__ == "__main__":
    main()
