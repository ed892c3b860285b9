#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Configurations of the image: makes them, builds them, measures them.

    tools/margay_configs.py sizes     the size of the image by feature, as docs/sizes.md has it

features.mk says which files an option brings, Kconfig which options there are.
All but the named configurations are built in one directory, one after the
other: only what an option touches is compiled again.
"""

import fcntl
import glob
import os
import random
import re
import subprocess
import sys

import kconfiglib

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
CONFIGS = os.path.join(BUILD, "configs")
VARIANTS = os.path.join(CONFIGS, "variants")
NAMED = ("default", "tiny", "debug")
# What a loader may have to read from margay.elf, in bytes. Each limit has room, also for another compiler's some percent.
LIMIT = {"default": 512 << 10, "tiny": 104 << 10, "debug": 640 << 10}
ROOMS = ("arch", "drivers", "include", "kernel", "lib", "vmm")
# Strings and characters; names and numbers; operators of more than one character, and all others.
TOKEN = re.compile(r"""\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\w+"""
                   r"|<<=|>>=|\.\.\.|[-+*/%&|^<>=!]=|->|\+\+|--|<<|>>|&&|\|\||##|[^\s\w]")


class BuildError(Exception):
    """A configuration that does not build, with the compiler's words."""


def environment():
    """The caller's, without what an outer make tells its own children."""
    dropped = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "KCONFIG_CONFIG", "MARGAY_BUILD")
    return {key: value for key, value in os.environ.items() if key not in dropped}


def features():
    """{option: [file patterns]} of features.mk."""
    with open(os.path.join(TOP, "features.mk"), encoding="ascii") as f:
        lines = re.findall(r"^files-(\w+) *:= *(.+)$", f.read().replace("\\\n", " "), re.MULTILINE)
    return {option: files.split() for option, files in lines}


def load(name="default"):
    """Kconfig with the values of configs/<name>_defconfig."""
    os.environ["srctree"] = TOP
    kconf = kconfiglib.Kconfig("Kconfig", warn=False)
    kconf.load_config(os.path.join(TOP, "configs", name + "_defconfig"))
    return kconf


def options(kconf):
    """The symbols that an operator can switch on and off, members of a choice apart."""
    bools = [s for s in kconf.unique_defined_syms if s.orig_type == kconfiglib.BOOL and s.choice is None]
    return [s for s in bools if any(node.prompt for node in s.nodes)]


def randomize(kconf, seed, keep=()):
    """Each option that can be set, as Kconfig's dependencies allow, by chance; those to keep stay as they are."""
    chance = random.Random(seed)
    for symbol in options(kconf):
        if symbol.visibility and symbol.name not in keep:
            symbol.set_value(chance.choice(symbol.assignable))
    for choice in kconf.unique_choices:
        chance.choice(choice.syms).set_value("y")


def build(kconf, directory):
    """Builds the image of this configuration; returns its path. Tests that run beside each other build one after the other."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build_alone(kconf, directory)


def build_alone(kconf, directory):
    kconf.write_config(os.path.join(directory, ".config"), save_old=False)
    elf = os.path.join(directory, "margay.elf")
    relative = os.path.relpath(directory, TOP)
    # Images are compared, and somebody may commit in between: all have the version of the one in build/.
    version, named = os.path.join(BUILD, "version"), []
    if os.path.exists(version):
        with open(version, encoding="utf-8") as f:
            named = ["VERSION=" + f.read().strip()]
    done = subprocess.run(
        ["make", "-j2", "B=" + relative, *named, os.path.join(relative, "margay.elf")],
        cwd=TOP, env=environment(), capture_output=True, text=True, check=False,
    )
    if done.returncode != 0:
        raise BuildError("make B=%s:\n%s%s" % (relative, done.stdout[-1000:], done.stderr))
    return elf


def image_size(elf):
    """(bytes that a loader reads from the file, bytes of state that it clears)."""
    done = subprocess.run(["readelf", "-lW", elf], capture_output=True, text=True, check=True)
    segments = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["LOAD"]]
    loaded = sum(int(s[4], 16) for s in segments)
    return loaded, sum(int(s[5], 16) for s in segments) - loaded


def code_of(path):
    """The text of a source or header without its comments."""
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        text = f.read()
    comment = r"(;[^\n]*)" if path.endswith((".asm", ".inc")) else r"(/\*.*?\*/)"
    return re.sub(r'"(?:\\.|[^"\\\n])*"|' + comment, lambda m: "" if m[1] else m[0], text, flags=re.DOTALL)


def code_lines(path):
    """Lines of a source or header that are neither blank nor comment."""
    return sum(1 for line in code_of(path).split("\n") if line.strip())


def tokens(path):
    """What a compiler takes apart: of these no line becomes fewer by being pressed."""
    return len(TOKEN.findall(code_of(path)))


def rooms():
    """{folder: its sources and headers}, without those of the folders in it."""
    found = {}
    for top in ROOMS:
        for path in glob.glob(os.path.join(TOP, top, "**", "*"), recursive=True):
            if path.endswith((".c", ".h", ".asm", ".inc")):
                found.setdefault(os.path.relpath(os.path.dirname(path), TOP), []).append(os.path.relpath(path, TOP))
    return dict(sorted(found.items()))


def sources(elf):
    """{.c or .asm file that an image was linked of: its object}"""
    with open(os.path.join(os.path.dirname(elf), "objects.list"), encoding="ascii") as f:
        return {re.sub(r".*/obj/[^/]*/(.*?)(\.asm)?\.o$", lambda m: m[1] + (m[2] or ".c"), o): o for o in f.read().split()}


def image_lines(elf):
    return sum(code_lines(source) for source in sources(elf))


def first_line(*command):
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout.split("\n")[0]


def progress(what, steps):
    """A generator that says, for whoever waits, which of the steps begins whose name it is sent. Standard output is the table's."""
    def say():
        for number in range(1, steps + 1):
            print("%s: %d of %d: %s" % (what, number, steps, (yield)), file=sys.stderr, flush=True)
        yield
    begun = say()
    next(begun)
    return begun


def rooms_table():
    yield "The code by room, headers with it, whatever an image has of it: a trend, no limit."
    yield ""
    yield "| room | files | lines | tokens |"
    yield "|---|--:|--:|--:|"
    total = [0, 0, 0]
    for room, files in rooms().items():
        row = (len(files), sum(map(code_lines, files)), sum(map(tokens, files)))
        total = [a + b for a, b in zip(total, row)]
        yield "| %s | %d | %d | %d |" % (room, *row)
    yield "| all | %d | %d | %d |" % tuple(total)


def sizes():
    """The lines of the table: the named images, then what each option adds to the default one."""
    yield "# Sizes of the image"
    yield ""
    yield "Made by `make sizes` at commit %s with %s." % (first_line("git", "describe", "--always", "--dirty"),
                                                          first_line("gcc", "--version"))
    yield "Bytes that a loader reads from margay.elf, bytes of state that it clears (bss), and lines of code, neither blank nor"
    yield "comment, in the .c and .asm files that the image is made of. Only what is read has a limit."
    yield ""
    yield "| image | read | limit | cleared | lines |"
    yield "|---|--:|--:|--:|--:|"
    switched = options(load()) + [load().syms["OPTIMIZE_SIZE"]]
    step = progress("sizes", len(NAMED) + 2 * len(switched))
    for name in NAMED:
        step.send(name + "_defconfig")
        elf = build(load(name), os.path.join(CONFIGS, name))
        (loaded, cleared), lines = image_size(elf), image_lines(elf)
        yield "| %s | %d | %d | %d | %d |" % (name, loaded, LIMIT[name], cleared, lines)
    yield ""
    yield from rooms_table()
    yield ""
    yield "What an option brings: the default image (or that with the option on), less the same image with it off. Where others"
    yield "need the option, they go with it. `OPTIMIZE_SIZE` is against `OPTIMIZE_SPEED`."
    yield ""
    yield "| option | read | cleared | lines of files of its own |"
    yield "|---|--:|--:|--:|"
    for symbol in switched:
        size = {}
        for value in ("y", "n"):
            step.send("CONFIG_%s=%s" % (symbol.name, value))
            kconf = load()
            kconf.syms[symbol.name].set_value(value)
            elf = build(kconf, VARIANTS)
            size[value] = (*image_size(elf), image_lines(elf))
        yield "| `CONFIG_%s` | %+d | %+d | %+d |" % (symbol.name, *(y - n for y, n in zip(size["y"], size["n"])))


def main():
    if sys.argv[1:] != ["sizes"]:
        sys.exit(__doc__.strip())
    try:
        for line in sizes():
            print(line)
    except BuildError as error:
        sys.exit("margay_configs: " + str(error))


if __name__ == "__main__":
    main()
