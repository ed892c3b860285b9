# SPDX-License-Identifier: GPL-2.0-only
"""What resume has ordered, a file for each node: which run of which job the node was started for. Slurm gives a node that is up to
whichever job is next; by this the prolog knows one that was started for another."""

import json
import os


class Records:
    def __init__(self, folder):
        self.folder = os.path.join(folder, "nodes")

    def write(self, node, value):
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, node)
        # Two programs may write one at once: a name for each.
        new = "%s.%d" % (path, os.getpid())
        with open(new, "w", encoding="ascii") as f:
            json.dump(value, f)
        os.rename(new, path)

    def read(self, node):
        try:
            with open(os.path.join(self.folder, node), encoding="ascii") as f:
                value = json.load(f)
        except (FileNotFoundError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}
