# SPDX-License-Identifier: GPL-2.0-only
"""Which of two versions is newer: Debian's order (deb-version(7)), without epochs and with a revision as any other part.

Runs of digits are compared as numbers, all else letter by letter: "~" before the end, the end before letters, letters
before all other characters. 1.10 is newer than 1.9, 1.0~rc1 older than 1.0.

Releases of kernels come from other distributions, too, and have RPM's order.
"""

import re


def rank(character):
    """Of one character outside of numbers. The end of the text, which sorts behind "~" only, is 0."""
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


def key(version):
    """Sorts versions, oldest first."""
    parts = []
    for text, number in re.findall(r"([^0-9]*)([0-9]*)", version):
        parts.append(tuple(rank(character) for character in text) + (0,))
        parts.append(int(number or 0))
    return parts


def kernel_key(release):
    """Sorts releases of kernels, oldest first: a number is newer than letters, which are newer than the end. So
    4.18.0-305.3.1.el8_4 is newer than 4.18.0-305.el8, which Debian's order has the other way round; Debian's own are as there.
    """
    parts = []
    for tilde, letters, number in re.findall(r"(~)|([A-Za-z]+)|([0-9]+)", release):
        if tilde:
            parts.append((0, 0, ""))
        elif letters:
            parts.append((2, 0, letters))
        else:
            parts.append((3, int(number), ""))
    return parts + [(1, 0, "")]
