# SPDX-License-Identifier: GPL-2.0-only
"""What is to be pulled, and how the process of the node that pulls is asked for it: all that a client needs, which is to begin at
once, and so imports nothing that speaks HTTP.

A request is one line of JSON, {image, prefix, allow_downgrade, cache_only}; the answers are lines, {"progress": ...} any number of
times, then {"done": ...}, or {"error": "...", "status": 1 or 3}, as errors.py has them. Who goes away ends his pull.
"""

import json
import socket

from . import manifest, store
from .errors import ImageError, UnavailableError

LINE = 1 << 20
NODE_NAME = 63  # letters of an image's name in the node (VM_MODULE_MAX)


class Request:
    """What is to be pulled. prefix: of the names in the node, which move then to the new contents; None: NAME/VERSION."""

    def __init__(self, image, prefix=None, allow_downgrade=False, cache_only=False):
        self.name, self.version = store.parse_image(image)
        self.prefix, self.allow_downgrade, self.cache_only = prefix, allow_downgrade, cache_only
        if prefix is not None and (not prefix or any(not "!" <= letter <= "~" for letter in prefix)):
            raise ImageError("--prefix '%s': expected printable characters without blanks" % prefix)

    def node_names(self, version):
        """{file: its name in the node}"""
        prefix = self.prefix or "%s/%s" % (self.name, version)
        names = {file: "%s/%s" % (prefix, file) for file in manifest.FILES}
        if not self.cache_only and max(map(len, names.values())) > NODE_NAME:
            raise ImageError("%s:%s: its names in the node would be longer than %d letters: give a shorter one by --prefix" %
                             (self.name, version, NODE_NAME))
        return names


def line_of(value):
    return (json.dumps(value) + "\n").encode()


def ask(path, words, tell):
    """What the daemon has done; None: there is no daemon."""
    with socket.socket(socket.AF_UNIX) as channel:
        try:
            channel.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        channel.sendall(line_of(words))
        with channel.makefile("rb") as lines:
            for line in lines:
                said = json.loads(line)
                if "done" in said:
                    return said["done"]
                if "error" in said:
                    raise (UnavailableError if said["status"] == UnavailableError.status else ImageError)(said["error"])
                tell(said["progress"])
    raise UnavailableError("%s: the process that pulls has ended" % path)
