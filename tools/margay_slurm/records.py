# SPDX-License-Identifier: GPL-2.0-only
"""What the head knows of each node, a file for each. `nodes`, what resume has ordered: which run of which job the node was started
for. Slurm gives a node that is up to whichever job is next; by this the prolog knows one that was started for another. `owners`:
whose slurmd has it (owners.py). `upgrades`: how far one is (upgrade.py). A file has one writer at a time, so these are not one.

`nodes` may be lost when the head loses power: a node of which nothing is known starts afresh. To wait for the disk took 20 s for
1,000 nodes, before the first of them had its order."""

import contextlib
import json
import os

from . import files

NODES = "nodes"


class Records:
    def __init__(self, folder, kind=NODES):
        self.folder, self.lasts = os.path.join(folder, kind), kind != NODES

    def write(self, node, value):
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder)
            if os.geteuid() == 0:
                # SlurmUser's programs write here, too.
                status = os.stat(os.path.dirname(self.folder))
                os.chown(self.folder, status.st_uid, status.st_gid, follow_symlinks=False)
        with files.folder(self.folder, os.O_NOFOLLOW) as at:
            files.write(at, node, json.dumps(value), self.lasts)

    def read(self, node):
        try:
            with open(os.path.join(self.folder, node), encoding="ascii") as f:
                value = json.load(f)
        except (FileNotFoundError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def remove(self, node):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, node))
