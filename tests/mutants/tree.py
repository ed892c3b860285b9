# SPDX-License-Identifier: GPL-2.0-only
"""A scratch copy of the source with what was built of it: where one mutant at a time is built and tested."""

import os
import shutil
import subprocess

import unit_lines
from mutants import draw, source

# Of the copied build; the guest's files are only linked to, logs and ISOs are each tree's own.
KEPT = ("obj", "unit", "fuzz-replay", "tests-guest", "config", ".config", "auto.conf", "config.h", "qemu_code.so", "qemu_memory.so")
BUILD_SECONDS = 900


class Tree:
    def __init__(self, top, path):
        """Makes the copy, of the files that git knows or would, and builds it as `make` does by default."""
        self.path = path
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(os.path.join(path, "build"))
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=top, check=True,
                               capture_output=True, text=True).stdout.split("\0")
        for name in filter(None, names):
            if os.path.exists(os.path.join(top, name)):
                os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
                shutil.copy2(os.path.join(top, name), os.path.join(path, name))
        for name in KEPT:
            if os.path.exists(os.path.join(top, "build", name)):
                subprocess.run(["cp", "-a", os.path.join(top, "build", name), os.path.join(path, "build")], check=True)
        os.symlink(os.path.join(top, "build", "guest"), os.path.join(path, "build", "guest"))
        self.make("default_defconfig")

    def make(self, *targets):
        """What make said, or an error."""
        done = subprocess.run(["make", "VERSION=mutant", *targets], cwd=self.path, env=draw.environment(self.path),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
        if done.returncode:
            raise BuildError(done.stdout + done.stderr)

    def find(self, mutant):
        """The file that has the mutant's lines, wherever it lies today, and its text; None when no file has them."""
        first = [mutant.file] if os.path.exists(os.path.join(self.path, mutant.file)) else []
        for file in first + sorted(os.path.relpath(os.path.join(folder, name), self.path)
                                   for top in ("arch", "kernel", "drivers", "vmm")
                                   for folder, _, names in os.walk(os.path.join(self.path, top))
                                   for name in names if name.endswith((".c", ".asm", ".inc"))):
            with open(os.path.join(self.path, file), encoding="utf-8") as f:
                text = f.read()
            if source.apply(mutant._replace(file=file), text) is not None:
                return file, text
        return None

    def write(self, file, text):
        """make goes by the time of change, so the original gets a new one, too, when it is put back."""
        with open(os.path.join(self.path, file), "w", encoding="utf-8") as f:
            f.write(text)

    def linked_with(self, file):
        """The unit tests and fuzz targets whose UNIT line has the file, or that include it: ("unit" or "fuzz", name)."""
        return unit_lines.linked_with(self.path, file)


class BuildError(Exception):
    pass
