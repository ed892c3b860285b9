# SPDX-License-Identifier: GPL-2.0-only
"""Which files of the tree a whole-machine test tests: its image's, the test's own, and the modules that it takes in.

The image is the default one, with the options that the test's text switches on ("OPTION=y").
"""

import functools
import os
import re

import margay_configs
import unit_lines

TOP = margay_configs.TOP
PLACES = ("tests/system", "tests/unit", "tests", "tools")
IMPORT = re.compile(r"^\s*(?:import|from) +([\w., ]+)", re.MULTILINE)
OPTION = re.compile(r'"([A-Z][A-Z0-9_]*)=y"')
SOURCES = ("arch", "drivers", "kernel", "lib", "vmm")
# What an image is configured, built and linked by, beside its sources.
BUILT_BY = {"Kconfig", "features.mk", "mk/compiler.mk", "mk/image.mk", "configs/default_defconfig"}


def modules(path):
    """A Python file of the tree and those that it imports, at whatever depth."""
    seen, waiting = set(), [path]
    while waiting:
        file = waiting.pop()
        if file in seen or not os.path.exists(os.path.join(TOP, file)):
            continue
        seen.add(file)
        for words in IMPORT.findall(unit_lines.read(TOP, file)):
            for name in re.findall(r"[\w.]+", words.split(" import ")[0]):
                waiting += ["%s/%s.py" % (place, name.replace(".", "/")) for place in PLACES]
    return seen


@functools.lru_cache(maxsize=None)
def configured():
    """The default configuration's options that are on."""
    kconf = margay_configs.load()
    return frozenset(symbol.name for symbol in kconf.unique_defined_syms if symbol.str_value == "y")


@functools.lru_cache(maxsize=None)
def all_sources():
    """Each .c, .asm and .inc file of the hypervisor."""
    return frozenset(
        os.path.relpath(os.path.join(folder, name), TOP) for top in SOURCES
        for folder, _, names in os.walk(os.path.join(TOP, top)) for name in names if name.endswith((".c", ".asm", ".inc")))


def matches(patterns, file):
    return any(file == p or ("%" in p and re.fullmatch(re.escape(p).replace("%", ".*"), file)) for p in patterns)


@functools.lru_cache(maxsize=None)
def image(options):
    """The files of the default image with these options on, headers among them."""
    on = configured() | options
    absent = [patterns for option, patterns in margay_configs.features().items() if option not in on]
    linked = {file for file in all_sources() if not any(matches(patterns, file) for patterns in absent)}
    whole = unit_lines.Sources(TOP).whole({file for file in linked if file.endswith(".c")})
    return frozenset(linked | whole | BUILT_BY)


@functools.lru_cache(maxsize=None)
def of_file(test_file):
    """Of a file of tests, as rows name it: system/test_x.py."""
    own = modules("tests/" + test_file)
    known = set(margay_configs.features())
    options = {option for path in own for option in OPTION.findall(unit_lines.read(TOP, path))}
    return image(frozenset(options & known)) | own
