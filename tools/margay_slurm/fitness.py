# SPDX-License-Identifier: GPL-2.0-only
"""Which of the site's images a job may have now: the file that submit.lua reads, written anew by `margay-slurm images`."""

import os

from margay_images.errors import ImageError

from . import setup, vm_file, wanted
from .config import VM
from .errors import ImageFault


def path(config):
    return os.path.join(config.state, "images")


def memory_of(group):
    """MiB of a node's VM: its file's, or what Slurm hands out where that says it otherwise."""
    with open(group.vm, encoding="utf-8") as f:
        granted = vm_file.memory(f.read())
    return group.memory if granted is None else granted >> 20


def why_unfit(config, name, needs):
    """None, or the sentence; an image fits if some nodes that may run it have the memory."""
    largest = max(memory_of(group) for group in config.groups if name in group.images)
    if needs["memory_mib"] > largest:
        return "image %s: needs %d MiB of memory, and the nodes that may run it have %d" % (name, needs["memory_mib"], largest)
    return None


def judge(config, versions, name):
    """None: it may be had. Else the sentence that says why not, of one line without tabs."""
    try:
        version = versions.newest(name).split(":", 1)[1]
        value = versions.manifest(name, version)
        why = why_unfit(config, name, value["needs"])
    except ImageFault as error:
        why = "image %s: %s" % (name, error)
    except (ImageError, OSError) as error:
        why = "image %s: %s" % (name, error)
    return " ".join(why.split()) if why else None


def text(config):
    versions = wanted.Versions(config)
    lines = ["partition\t%s" % partition.name for partition in config.partitions if partition.owner == VM]
    lines.append("default\t%s" % config.default_image)
    for name in config.images:
        why = judge(config, versions, name)
        lines.append("bad\t%s\t%s" % (name, why) if why else "good\t%s" % name)
    return "\n".join(lines) + "\n"


def write(config):
    """The file, and what it says, for people."""
    new = text(config)
    os.makedirs(config.state, exist_ok=True)
    setup.write(path(config), new)
    return new
