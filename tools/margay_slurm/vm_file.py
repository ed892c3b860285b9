# SPDX-License-Identifier: GPL-2.0-only
"""The VM file of a compute VM: what the site grants (CPUs, memory, functions, segments, scratch disks), and what the image and the
order say. Its first line is the record of whose it is, which the node keeps as long as the VM is there."""

import json
import re

from .errors import ClusterError

NAME = "compute"
RECORD = "# margay-slurm: "
KEY = re.compile(r"\s*([a-z_]+)\s*=\s*(.*?)\s*$")
# The order and the image say these.
OURS = ("name", "kernel", "initrd", "module", "control", "control_may", "after", "debug_exit")
SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
RECORDED = ("generation", "node", "job", "image")


def keys(text):
    """[(key, value)] of a VM file's lines."""
    for line in text.split("\n"):
        found = KEY.match(line.split("#", 1)[0])
        if found:
            yield found.group(1), found.group(2)


def memory(text):
    """Bytes that it grants, or None: it says it otherwise."""
    value = dict(keys(text)).get("memory", "")
    return int(value[:-1]) * SIZES[value[-1]] if value[:-1].isdigit() and value[-1:] in SIZES else None


def check_grants(text, what):
    """The site's part; which keys else are right the node judges."""
    for key, _ in keys(text):
        if key in OURS:
            raise ClusterError("%s: %s is the image's or ours to say" % (what, key))
    if "memory" not in dict(keys(text)):
        raise ClusterError("%s: memory is missing: the node does not guess it" % what)


def write(order, cmdline, files):
    """The text of an order's VM; cmdline is the image's; files are the names that its files, and the metadata, have on the node."""
    granted = [line for line in order["vm"].rstrip("\n").split("\n") if dict(keys(line)).keys().isdisjoint({"cmdline"})]
    words = [cmdline, "margay.metadata=/dev/vdb", *(value for key, value in keys(order["vm"]) if key == "cmdline")]
    own = [RECORD + json.dumps({key: order[key] for key in RECORDED}, sort_keys=True),
           "name = " + NAME, "kernel = " + files["kernel"], "initrd = " + files["initrd"],
           "disk = " + files["root.squashfs"], "disk = " + files["metadata"], "cmdline = " + " ".join(filter(None, words))]
    return "\n".join(own + granted) + "\n"


def record(text):
    """Whose VM it is, or None: not one of ours."""
    line = text.split("\n", 1)[0]
    if not line.startswith(RECORD):
        return None
    try:
        value = json.loads(line[len(RECORD):])
    except ValueError:
        return None
    return value if isinstance(value, dict) and set(RECORDED) <= set(value) else None
