# SPDX-License-Identifier: GPL-2.0-only
"""Every header compiles by itself: whoever includes it need not know what it needs."""

import glob
import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
# The other half of console.h, which alone includes it.
HALVES = {"kernel/console/console_none.h"}


def compile_alone(*headers):
    """The compiler's words; empty when it has none."""
    command = ["gcc", "-std=gnu17", "-ffreestanding", "-mgeneral-regs-only", "-Wall", "-Wextra", "-fsyntax-only", "-Iinclude",
               "-I.", "-include", os.path.join(BUILD, "unit", "config.h"), "-x", "c", *headers]
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False).stderr


def test_headers():
    found = [path for folder in ("include", "arch", "drivers", "kernel", "lib", "vmm")
             for path in glob.glob(folder + "/**/*.h", root_dir=TOP, recursive=True)]
    assert len(found) > 100
    assert compile_alone(*sorted(set(found) - HALVES)) == ""


def test_control(tmp_path):
    (tmp_path / "x.h").write_text('#include "vmm/vm.h"\nstatic inline unsigned id(struct vcpu *vcpu)\n{\n\treturn vcpu->id;\n}\n')
    assert "x.h:4" in compile_alone(str(tmp_path / "x.h"))
