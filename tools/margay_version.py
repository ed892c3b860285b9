# SPDX-License-Identifier: GPL-2.0-only
"""--version of the tools: that of the last build, else the release that this tree becomes."""

import os

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def version():
    for path in (os.path.join(os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build")), "version"), os.path.join(TOP, "VERSION")):
        if os.path.exists(path):
            with open(path, encoding="ascii") as f:
                return f.read().strip()
    return "unknown"


def add_argument(parser):
    parser.add_argument("--version", action="version", version="%(prog)s " + version())
