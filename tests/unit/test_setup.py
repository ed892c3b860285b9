# SPDX-License-Identifier: GPL-2.0-only
"""What tools/setup would install for what: the Makefile's groups by goal, and that there are such groups."""

import os
import re
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETUP = os.path.join(TOP, "tools", "setup")
with open(SETUP, encoding="ascii") as f:
    ROWS = re.findall(r"^\t([a-z]+)\|([^|\n]+)\|([^|\n]+)\|([^|\n]+)$", f.read(), re.MULTILINE)


def groups(*words):
    """Of make with these goals and variables."""
    goals = " ".join(word for word in words if "=" not in word)
    show = "show: ; @echo of-setup: $(SETUP_GROUPS)"
    clean = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    # Without goals that need anything nothing is installed: a fresh machine would get all that these ask for.
    done = subprocess.run(["make", "--eval", show, "show", "CONFIG_GOALS=", "GOALS=" + goals,
                           *(word for word in words if "=" in word)],
                          cwd=TOP, env=clean, capture_output=True, text=True, check=True)
    return re.search(r"^of-setup: (.*)$", done.stdout, re.MULTILINE)[1].split()


@pytest.mark.parametrize("words, wanted", (
    (["all"], "build"), (["deb"], "build"), (["check"], "build check"), (["format"], "build check"),
    (["iso"], "build guest iso"), (["netboot"], "build guest iso"),
    (["run"], "build guest iso qemu"), (["run", "MACHINE=kvm"], "build guest iso qemu"),
    (["run", "MACHINE=bochs"], "build guest iso bochs"), (["run", "MACHINE=bochs-svm"], "build guest iso bochs"),
    (["run", "FIRMWARE=uefi"], "build guest iso qemu uefi"),
    (["run", "MACHINE=nested-vtx"], "build guest iso test"), (["unit"], "build guest unit check"),
    (["test"], "build test"), (["test-full"], "build test run full kernels"),
    (["rhel-sles-kernels"], "build kernels"),
    (["bench-exits"], "build test bench"), (["fuzz"], "build fuzz"),
))
def test_groups_by_goal(words, wanted):
    assert groups(*words) == wanted.split()


def test_rows():
    known = set(re.search(r"^\t(build \| .*)\) ;;$", open(SETUP, encoding="ascii").read(), re.MULTILINE)[1].split(" | "))
    assert {row[0] for row in ROWS} | {"test"} == known | {"test"} and len(ROWS) > 50
    assert len(ROWS) == len({(group, package, what) for group, what, package, _ in ROWS})
    assert all(what.startswith("/") and re.fullmatch(r"[a-z0-9+.-]+(@1[23])?", package) for _, what, package, _ in ROWS)
    # What a run needs is not what tests need, but for what writes an image's file system and reads a VM's disk.
    assert {"mtools"} == {package for group, _, package, _ in ROWS if group in ("build", "guest", "iso", "qemu")} & \
        {package for group, _, package, _ in ROWS if group in ("unit", "test", "full", "bench")}


def test_unknown_group():
    done = subprocess.run([SETUP, "build", "tset"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == "setup: no group 'tset': see the first lines of tools/setup\n"
