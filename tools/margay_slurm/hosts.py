# SPDX-License-Identifier: GPL-2.0-only
"""Slurm's lists of hosts: n[001-100,200],login. Read here, since resume shall not ask the controller that waits for it."""

import re

from .errors import ClusterError

LIMIT = 65536
PART = re.compile(r"([^\[\],]*)(?:\[([0-9,-]+)\])?([^\[\],]*)")
NUMBERED = re.compile(r"(.*?)(\d*)")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def split(text):
    """At the commas that stand in no brackets."""
    return [part for part in re.split(r",(?![^\[]*\])", text) if part]


def numbers(text, of):
    for part in text.split(","):
        first, _, last = part.partition("-")
        last = last or first
        if not (first.isdigit() and last.isdigit()) or int(last) - int(first) >= LIMIT:
            raise ClusterError("%s: is no list of hosts" % of)
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))


def compress(names):
    """A list that expand() makes these of. In slurm.conf nothing may stand behind brackets: only ends are shortened."""
    found = {}
    for name in names:
        before, digits = NUMBERED.fullmatch(name).groups()
        width = len(digits) if digits.startswith("0") else 0
        ranges = found.setdefault((before, width), [])
        if ranges and digits and int(digits) == int(ranges[-1][1]) + 1:
            ranges[-1][1] = digits
        else:
            ranges.append([digits, digits])
    parts = []
    for (before, _), ranges in found.items():
        inside = ",".join(first if first == last else "%s-%s" % (first, last) for first, last in ranges)
        parts.append(before + ("[%s]" % inside if set(inside) & set(",-") else inside))
    return ",".join(parts)


def expand(text):
    """The names, in order, each once."""
    names = {}
    for part in split(text):
        found = PART.fullmatch(part)
        if not found:
            raise ClusterError("%s: is no list of hosts" % text)
        before, inside, after = found.groups()
        for name in [before + number + after for number in numbers(inside, text)] if inside else [before + after]:
            if not NAME.fullmatch(name):
                raise ClusterError("%s: %s is no name of a host" % (text, name or "nothing"))
            names[name] = None
        if len(names) > LIMIT:
            raise ClusterError("%s: more than %d hosts" % (text, LIMIT))
    return list(names)
