# SPDX-License-Identifier: GPL-2.0-only
"""The NAS Parallel Benchmarks, of which no registry has a copy: a clone that the user names."""

import os
import re

KERNELS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
GET = "make bench-npb NPB=CLONE, with CLONE from git clone https://github.com/GMAP/NPB-CPP"
SUCCESS = re.compile(r"^\s*(result )?verification\s*=?\s*successful\s*$", re.IGNORECASE | re.MULTILINE)
FAILURE = re.compile(r"unsuccessful|fail|\bnot? .*performed", re.IGNORECASE)

SAID = re.compile(r"^margay-test: npb: (\S+)\n+((?:.*verif.*\n+)*)", re.IGNORECASE | re.MULTILINE)


def said(console):
    """[(program, the lines in which it speaks of verifying)] by npb.sh; a console in a console doubles ends of lines."""
    return SAID.findall(console)


def successful(lines):
    """Whether what a program says of verifying its results means success, in any of the ways of NPB's versions and programs."""
    return bool(SUCCESS.search(lines)) and not FAILURE.search(lines)


def wrong(clone):
    """What is wrong with the clone and what to do, in a line; None when nothing is."""
    if not clone:
        return "npb needs a clone of the benchmarks: " + GET
    if not os.path.isdir(clone):
        return "%s: no such directory: %s" % (clone, GET)
    missing = [path for path in ("config/make.def", "sys/setparams.cpp", *(k.upper() + "/Makefile" for k in KERNELS))
               if not os.path.exists(os.path.join(clone, "NPB-SER", path))]
    return "%s: not a clone that is known, as it has no NPB-SER/%s: %s" % (clone, missing[0], GET) if missing else None
