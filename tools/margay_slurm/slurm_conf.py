# SPDX-License-Identifier: GPL-2.0-only
"""slurm.conf as Slurm reads it, with what it includes: which key stands where with which value."""

import os
import re

from .errors import ClusterError

PAIR = re.compile(r"(\w+)=(\"[^\"]*\"|\S*)")


class SlurmConf:
    def __init__(self, folder):
        self.folder, self.settings, self.nodes, self.partitions = folder, {}, [], []
        self.read("slurm.conf", 0)

    def read(self, name, depth):
        """What is included may not be written yet: it is missed by who looks for that."""
        path = os.path.join(self.folder, name)
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                lines = f.read().replace("\\\n", " ").split("\n")
        except FileNotFoundError as error:
            if depth:
                return
            raise ClusterError("%s: is not there" % path) from error
        for line in lines:
            line = line.split("#", 1)[0].strip()
            if line.lower().startswith("include "):
                if depth > 8:
                    raise ClusterError("%s: includes itself" % path)
                self.read(line.split()[1], depth + 1)
            elif line:
                self.take(path, [(key.lower(), value.strip('"')) for key, value in PAIR.findall(line)])

    def take(self, path, pairs):
        """A line of nodes or of a partition is one; else each key counts by itself, and the last of them."""
        if not pairs:
            return
        if pairs[0][0] == "nodename":
            self.nodes.append(dict(pairs))
        elif pairs[0][0] == "partitionname":
            self.partitions.append(dict(pairs))
        else:
            for key, value in pairs:
                self.settings.setdefault(key, []).append((value, path))

    def get(self, key, default=""):
        found = self.settings.get(key.lower())
        return found[-1][0] if found else default

    def number(self, key, default):
        """Seconds; -1 for what Slurm writes as INFINITE, or NO."""
        text = self.get(key, str(default)).lower()
        if text in ("infinite", "no", "-1"):
            return -1
        return int(text) if text.isdigit() else default
