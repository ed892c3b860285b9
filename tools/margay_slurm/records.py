# SPDX-License-Identifier: GPL-2.0-only
"""What the head knows of each node, a file for each. `nodes`, what resume has ordered: which run of which job the node was started
for. Slurm gives a node that is up to whichever job is next; by this the prolog knows one that was started for another. `owners`:
whose slurmd has it (owners.py). `upgrades`: how far one is (upgrade.py). A file has one writer at a time, so these are not one."""

import contextlib
import json
import os

from . import files


class Records:
    def __init__(self, folder, kind="nodes"):
        self.folder = os.path.join(folder, kind)

    def write(self, node, value):
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder)
            if os.geteuid() == 0:
                # SlurmUser's programs write here, too.
                status = os.stat(os.path.dirname(self.folder))
                os.chown(self.folder, status.st_uid, status.st_gid, follow_symlinks=False)
        with files.folder(self.folder, os.O_NOFOLLOW) as at:
            files.write(at, node, json.dumps(value))

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
