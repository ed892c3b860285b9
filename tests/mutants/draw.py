# SPDX-License-Identifier: GPL-2.0-only
"""Draws mutants from a seed, evenly over the layers: by lines of code, and no layer less than LEAST; or from the lines of a change
(change.py). What is drawn compiles as the image does, with its warnings, and to another object than the original; the same seed on
the same tree draws the same.
"""

import os
import random
import re
import shlex
import subprocess
import sys

from mutants import operators, source

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEAST = 5
# The first pattern that matches a file names its layer (docs/architecture.md).
LAYERS = (
    ("boot", r"arch/x86_64/boot/"), ("cpu", r"arch/x86_64/cpu/"), ("stage2", r"arch/x86_64/stage2/"), ("vmx", r"vmm/vmx/"),
    ("svm", r"vmm/svm/"), ("kernel", r"(?:kernel|lib)/"), ("drivers", r"drivers/"), ("vmm/pci", r"vmm/pci/"),
    ("vmm/dev", r"vmm/dev/"), ("vmm", r"vmm/"),
)
# Where NASM looks for what is included.
INCLUDED = ("arch/x86_64/", "vmm/")
HEAD = re.compile(r"@ (\S+) (.+) (\S+):(\S*) (\d+)")


def layer_of(file):
    return next((layer for layer, pattern in LAYERS if re.match(pattern, file)), None)


def shares(lines, number):
    """{layer: mutants} of {layer: lines}: LEAST each, the rest by lines, the largest remainders rounded up."""
    least = min(LEAST, number // len(lines))
    rest, total = number - least * len(lines), sum(lines.values())
    exact = {layer: rest * lines[layer] / total for layer in lines}
    result = {layer: least + int(exact[layer]) for layer in lines}
    for layer in sorted(lines, key=lambda l: (int(exact[l]) - exact[l], l))[:number - sum(result.values())]:
        result[layer] += 1
    return result


class Compiler:
    """Compiles a file of a tree with other text than it has, as the tree's Makefile would."""

    def __init__(self, top, build="build"):
        """build: where the configuration is that counts."""
        self.top = top
        done = subprocess.run(["make", "-n", "-B", "V=1", "VERSION=mutant", "B=" + build, "all"], cwd=top, capture_output=True,
                              text=True, check=True, env=environment(top))
        found = re.findall(r"^((?:gcc|nasm) .*) -o (\S+\.o) (\S+\.(?:c|asm))(?: |$)", done.stdout, re.MULTILINE)
        # NASM's line has two commands: the first makes the dependencies. gcc's writes them, too, and reads config.h as file 9.
        self.commands = {file: re.sub(r" -MF \S+", "", command.rsplit("&& ", 1)[-1]).replace("/dev/fd/9", build + "/config.h")
                         for command, output, file in found if layer_of(file)}
        self.originals = {}
        self.users = {}  # {included file: [those that are assembled with it]}
        for file in filter(lambda file: file.endswith(".asm"), self.commands):
            for included in self.included(file):
                self.users.setdefault(included, []).append(file)

    def included(self, file):
        for name in re.findall(r'^%include "(\S+)"', self.read(file), re.MULTILINE):
            path = next(folder + name for folder in INCLUDED if os.path.exists(os.path.join(self.top, folder, name)))
            yield path
            yield from self.included(path)

    def files(self):
        return sorted([*self.commands, *self.users])

    def read(self, file):
        with open(os.path.join(self.top, file), encoding="utf-8") as f:
            return f.read()

    def object(self, file, text):
        """The object, without debug information; None when it does not compile."""
        scratch = os.path.join(self.top, "build", "mutants")
        if file in self.users:
            name = os.path.join(scratch, "included", next(file[len(f):] for f in INCLUDED if file.startswith(f)))
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
            try:
                made = [self.object(user, self.read(user)) for user in self.users[file]]
            finally:
                os.remove(name)
            return None if None in made else b"".join(made)
        os.makedirs(scratch, exist_ok=True)
        name = os.path.join(scratch, "drawn." + file.rsplit(".", 1)[1])
        with open(name, "w", encoding="utf-8") as f:
            f.write(text)
        words = [w for w in shlex.split(self.commands[file].split(" -MD ")[0]) if w not in ("-g", "-MMD")]
        if words[0] == "gcc":
            words += ["-iquote", os.path.dirname(file)]
        else:
            words[1:1] = ["-I" + os.path.join(scratch, "included") + "/"]
        done = subprocess.run([*words, "-o", name + ".o", name], cwd=self.top, capture_output=True, check=False)
        if done.returncode:
            return None
        with open(name + ".o", "rb") as f:
            return f.read()

    def differs(self, file, text):
        """The object where it is another than the original's, else None."""
        if file not in self.originals:
            self.originals[file] = self.object(file, self.read(file))
            assert self.originals[file], "%s does not compile" % file
        made = self.object(file, text)
        return None if made == self.originals[file] else made


class Compilers:
    """Several configurations: a mutant compiles in each that has its file, and makes a difference in one."""

    def __init__(self, *compilers):
        self.compilers = compilers

    def files(self):
        return sorted({file for compiler in self.compilers for file in compiler.files()})

    def read(self, file):
        return self.compilers[0].read(file)

    def differs(self, file, text):
        having = [compiler for compiler in self.compilers if file in compiler.files()]
        if any(compiler.object(file, text) is None for compiler in having):
            return None
        return next(filter(None, (compiler.differs(file, text) for compiler in having)), None)


def every_feature(top):
    """A Compiler for the image that has all features: the default one has not what a change may have added."""
    build = os.path.join("build", "every")
    os.makedirs(os.path.join(top, build), exist_ok=True)
    subprocess.run([sys.executable, "-m", "allyesconfig", "Kconfig"], cwd=top, check=True, stdout=subprocess.DEVNULL,
                   env={**environment(top), "KCONFIG_CONFIG": os.path.join(build, ".config")})
    return Compiler(top, build)


def environment(top):
    """Of a make or a test in that tree, whatever started this one."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KCONFIG_CONFIG", "MARGAY_BUILD")}
    env["MARGAY_BUILD"] = os.path.join(top, "build")
    return env


def candidates(file, text):
    """{line: {operator: [(start, end, replacement), ...]}}"""
    found = {}
    for operator, start, end, new in operators.edits(file, text):
        if new != text[start:end]:
            found.setdefault(text.count("\n", 0, start), {}).setdefault(operator, []).append((start, end, new))
    return found


def draw(compiler, seed, number):
    """The mutants, by layer. Every line with something to change is as likely; on it every kind of bug, then every one."""
    layers, keys = {}, set()
    for file in compiler.files():
        text = compiler.read(file)
        for line, kinds in sorted(candidates(file, text).items()):
            layers.setdefault(layer_of(file), []).append((file, text, kinds))
    for layer, wanted in shares({layer: len(layers[layer]) for layer in sorted(layers)}, number).items():
        choose, seen = random.Random("%s %s" % (seed, layer)), set()
        while wanted:
            file, text, kinds = choose.choice(layers[layer])
            operator = choose.choice(sorted(kinds))
            start, end, new = choose.choice(kinds[operator])
            made = compiler.differs(file, text[:start] + new + text[end:])
            if made and (file, made) not in seen:
                mutant = source.mutant(layer, file, text, operator, start, end, new)
                if source.key(mutant) in keys:
                    continue
                seen.add((file, made))
                keys.add(source.key(mutant))
                wanted -= 1
                yield mutant


def draw_lines(compiler, seed, number, added):
    """The mutants of a change, one for a line at most. added: {file: numbers of lines}, from 1. There are fewer than wanted where
    the change has no more lines that can be mutated."""
    choose, places, keys = random.Random("%s of a change" % seed), [], set()
    for file in compiler.files():
        if file in added:
            text = compiler.read(file)
            places += [(file, text, kinds) for line, kinds in sorted(candidates(file, text).items())
                       if line + 1 in added[file]]
    choose.shuffle(places)
    for file, text, kinds in places:
        if len(keys) == number:
            return
        for operator, start, end, new in shuffled(choose, kinds):
            mutant = source.mutant(layer_of(file), file, text, operator, start, end, new)
            if source.key(mutant) not in keys and compiler.differs(file, text[:start] + new + text[end:]):
                keys.add(source.key(mutant))
                yield mutant
                break


def shuffled(choose, kinds):
    """The edits of a line: one of each kind, then the others, both in any order."""
    left = {operator: choose.sample(edits, len(edits)) for operator, edits in sorted(kinds.items())}
    while left:
        for operator in choose.sample(sorted(left), len(left)):
            yield (operator, *left[operator].pop())
            if not left[operator]:
                del left[operator]


def written(mutants):
    """As text: a line that says where, the lines that are there and those of the bug."""
    for m in mutants:
        yield "@ %s %s %s:%s %d" % (m.layer, m.operator, m.file, m.scope, m.nth)
        yield from ("- " + line if line else "-" for line in m.old)
        yield from ("+ " + line if line else "+" for line in m.new)


def read(text):
    """The mutants of such a text, each with its lines that begin with =, as one: in tests/mutants/reasons it is the reason."""
    head, found = None, {}
    for line in text.split("\n") + ["@"]:
        if line.startswith("@"):
            if head:
                m = source.Mutant(head[1], head[3], head[4], head[2], int(head[5]), tuple(found["-"]), tuple(found["+"]))
                yield m, " ".join(found["="])
            head, found = HEAD.fullmatch(line), {"-": [], "+": [], "=": []}
        elif line[:1] in ("-", "+", "=") and head:
            found[line[0]].append(line[2:])
