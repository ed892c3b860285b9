# SPDX-License-Identifier: GPL-2.0-only
"""manifest.json: what an image is, and by which hashes its files are known. The one thing that is signed.

In an image directory it names the files; the store adds to each file the casync index that it is cut by.
"""

import hashlib
import os
import re

from . import canonical
from .errors import ImageError

KIND = "margay-image"
FORMAT = 1
NAME = "manifest.json"
FILES = ("kernel", "initrd", "root.squashfs")
NAMES = re.compile(r"[a-z0-9][a-z0-9+.-]{0,62}")
VERSIONS = re.compile(r"[0-9][0-9A-Za-z.+~-]{0,62}")
SHA256 = re.compile(r"[0-9a-f]{64}")
OPTION = re.compile(r"CONFIG_[A-Z0-9_]{1,40}")
# Linux takes 2,048 bytes (COMMAND_LINE_SIZE), the last of them 0.
CMDLINE = re.compile(r"[ -~]{0,2047}")


def is_name(value):
    return isinstance(value, str) and NAMES.fullmatch(value) is not None


def is_version(value):
    return isinstance(value, str) and VERSIONS.fullmatch(value) is not None


def is_sha256(value):
    return isinstance(value, str) and SHA256.fullmatch(value) is not None


def matches(pattern):
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


FIELDS = {
    "kind": lambda value: value == KIND,
    "format": lambda value: type(value) is int and value == FORMAT,
    "name": is_name,
    "version": is_version,
    "architecture": lambda value: value == "amd64",
    "created": canonical.is_size,
    "kernel_release": matches(re.compile(r"[0-9A-Za-z][0-9A-Za-z.+~_-]{0,127}")),
    "cmdline": matches(CMDLINE),
    "needs": dict,
    "files": dict,
}
NEEDS = {
    "memory_mib": lambda value: canonical.is_size(value) and value > 0,
    "options": lambda value: is_options(value) and value == sorted(set(value)),
}
FILE = {"size": canonical.is_size, "sha256": is_sha256, "index": dict}
INDEX = {"size": canonical.is_size, "sha256": is_sha256}


def is_options(value):
    return isinstance(value, list) and all(isinstance(text, str) and OPTION.fullmatch(text) for text in value)


def check(value, what, indexed):
    """Refuses what is no manifest; indexed: of a store, which names each file's index."""
    canonical.expect(value, FIELDS, what)
    canonical.expect(value["needs"], NEEDS, what + ": needs")
    canonical.expect(value["files"], {name: dict for name in FILES}, what + ": files")
    for name, file in value["files"].items():
        where = "%s: %s" % (what, name)
        canonical.expect(file, FILE, where, optional=() if indexed else ("index",))
        if "index" in file:
            canonical.expect(file["index"], INDEX, where + ": index")
    return value


def parse(data, what, indexed):
    value = canonical.read(data, what)
    if value.get("kind") == KIND and value.get("format") != FORMAT:
        raise ImageError("%s: format %.20s: this Margay reads %d" % (what, value.get("format"), FORMAT))
    return check(value, what, indexed)


def without_indexes(value):
    """As it stood in the image directory."""
    return {**value, "files": {name: {"size": file["size"], "sha256": file["sha256"]} for name, file in value["files"].items()}}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def measure(path):
    """{size, sha256} of a file."""
    whole = hashlib.sha256()
    size = 0
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            whole.update(block)
            size += len(block)
    return {"size": size, "sha256": whole.hexdigest()}


def of_directory(directory):
    """The manifest of an image directory; its files are what it says."""
    path = os.path.join(directory, NAME)
    try:
        with open(path, "rb") as f:
            value = parse(f.read(canonical.LIMIT + 1), path, indexed=False)
    except FileNotFoundError as error:
        raise ImageError("%s: no image directory: it has no %s" % (directory, NAME)) from error
    value = without_indexes(value)
    for name in FILES:
        wanted = value["files"][name]
        try:
            found = measure(os.path.join(directory, name))
        except FileNotFoundError as error:
            raise ImageError("%s: %s is missing" % (directory, name)) from error
        if found != wanted:
            raise ImageError("%s: %s is not what its manifest says: %d bytes, sha256 %s" %
                             (directory, name, found["size"], found["sha256"]))
    return value
