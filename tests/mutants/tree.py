# SPDX-License-Identifier: GPL-2.0-only
"""A scratch copy of the source with what was built of it: where one mutant at a time is built and tested. A copy that is there
already is brought up to date, whatever a killed run has left in it.
"""

import contextlib
import filecmp
import hashlib
import os
import re
import shutil
import subprocess

import unit_lines
from mutants import draw, source

# Of the copied build; downloads are only linked to, logs and ISOs are each tree's own.
KEPT = ("obj", "unit", "fuzz-replay", "tests-guest", "config", ".config", "auto.conf", "config.h", "qemu_code.so", "qemu_memory.so")
SHARED = ("guest", "qemu-11.1", "bochs", "wheels")
BUILD_SECONDS = 7200
# What no test reads but to judge it as text, and what the run itself writes. docs/cpuid.md is what the tables are held against.
NO_MATTER = re.compile(r"tests/mutants/results/|(?!docs/cpuid\.md$).*\.md$")


def files_of(top):
    """Those that git knows or would, and that are there."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=top, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in set(names) if name and os.path.exists(os.path.join(top, name)))


def state_of(top):
    """A digest of all that a mutant's end may depend on. Results count for the state that they are of."""
    digest = hashlib.sha1()
    for name in files_of(top):
        if not NO_MATTER.match(name):
            with open(os.path.join(top, name), "rb") as f:
                digest.update(b"%s %s\n" % (name.encode(), hashlib.sha1(f.read()).hexdigest().encode()))
    return digest.hexdigest()[:12]


class Tree:
    def __init__(self, top, path, children):
        """Makes the copy, or brings it up to date, and configures it as `make` does by default."""
        self.path, self.children = path, children
        self.marker = os.path.join(path, "build", "busy")
        # Whoever was killed in a build, or in a test that builds, may have left half a file.
        if os.path.exists(self.marker) or not os.path.exists(os.path.join(path, "build", "copied")):
            shutil.rmtree(path, ignore_errors=True)
            self.copy_build(top)
        self.copy_source(top)
        self.make("default_defconfig")

    def copy_build(self, top):
        os.makedirs(os.path.join(self.path, "build"))
        for name in KEPT:
            if os.path.exists(os.path.join(top, "build", name)):
                subprocess.run(["cp", "-a", os.path.join(top, "build", name), os.path.join(self.path, "build")], check=True)
        for name in SHARED:
            os.symlink(os.path.join(top, "build", name), os.path.join(self.path, "build", name))
        for name in files_of(top):
            self.copy_file(top, name)
        with open(os.path.join(self.path, "build", "copied"), "w", encoding="ascii"):
            pass

    def copy_file(self, top, name):
        os.makedirs(os.path.dirname(os.path.join(self.path, name)), exist_ok=True)
        shutil.copy2(os.path.join(top, name), os.path.join(self.path, name))

    def copy_source(self, top):
        """What differs, with a new time: what was built of the old text is older. What is no more goes."""
        names = set(files_of(top))
        for name in sorted(names):
            mine = os.path.join(self.path, name)
            if not os.path.exists(mine) or not filecmp.cmp(os.path.join(top, name), mine, shallow=False):
                self.copy_file(top, name)
                os.utime(mine)
        build = os.path.dirname(self.marker)
        for folder, subfolders, here in os.walk(self.path):
            subfolders[:] = [f for f in subfolders if f != "__pycache__" and os.path.join(folder, f) != build]
            for name in here:
                if os.path.relpath(os.path.join(folder, name), self.path) not in names:
                    os.remove(os.path.join(folder, name))

    @contextlib.contextmanager
    def busy(self):
        """What is done in here has ended by itself, or the copy is no good."""
        with open(self.marker, "w", encoding="ascii"):
            pass
        yield
        os.remove(self.marker)

    def make(self, *targets):
        """What make said, or an error."""
        with self.busy():
            done = self.children.run(["make", "VERSION=mutant", *targets], self.path, draw.environment(self.path), BUILD_SECONDS)
        if done.status:
            raise BuildError(done.text)
        return done.text

    def make_units(self):
        """All unit tests and what reads recorded machines. What a bug keeps from compiling stays as it was: that says nothing."""
        folder = os.path.join(self.path, "tests", "unit")
        units = [name[:-2] for name in sorted(os.listdir(folder)) if re.fullmatch(r"(test|read|replay)_\w+\.c", name)]
        fuzzers = [name[:-2] for name in sorted(os.listdir(os.path.join(self.path, "tests", "fuzz")))
                   if re.fullmatch(r"fuzz_\w+\.c", name)]
        targets = ["build/unit/" + name for name in units] + ["build/fuzz-replay/" + name for name in fuzzers]
        with contextlib.suppress(BuildError):
            self.make("-k", "build/cpuid-list", *targets)

    def find(self, mutant):
        """The file that has the mutant's lines, wherever it lies today, and its text; None when no file has them."""
        first = [mutant.file] if os.path.exists(os.path.join(self.path, mutant.file)) else []
        for file in first + sorted(os.path.relpath(os.path.join(folder, name), self.path)
                                   for top in ("arch", "drivers", "kernel", "lib", "vmm")
                                   for folder, _, names in os.walk(os.path.join(self.path, top))
                                   for name in names if name.endswith((".c", ".asm", ".inc"))):
            with open(os.path.join(self.path, file), encoding="utf-8") as f:
                text = f.read()
            if source.apply(mutant._replace(file=file), text) is not None:
                return file, text
        return None

    @contextlib.contextmanager
    def with_bug(self, mutant, file, text):
        """The file has the mutant's bug in here."""
        self.write(file, source.apply(mutant._replace(file=file), text))
        try:
            yield
        finally:
            self.write(file, text)

    def write(self, file, text):
        """make goes by the time of change, so the original gets a new one, too, when it is put back."""
        with open(os.path.join(self.path, file), "w", encoding="utf-8") as f:
            f.write(text)

    def linked_with(self, file):
        """The unit tests and fuzz targets whose UNIT line has the file, or that include it: ("unit" or "fuzz", name)."""
        return unit_lines.linked_with(self.path, file)

    def tests(self, blind):
        """{name of a file of tests: (its path, its text)} of all that pytest runs, but for those."""
        found = {}
        for folder in ("tests/unit", "tests/system"):
            for name in sorted(os.listdir(os.path.join(self.path, folder))):
                if re.fullmatch(r"test_\w+\.py", name) and name[:-3] not in blind:
                    path = os.path.join(folder, name)
                    with open(os.path.join(self.path, path), encoding="utf-8") as f:
                        found[name[:-3]] = path, f.read()
        return found


class BuildError(Exception):
    pass
