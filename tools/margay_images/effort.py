# SPDX-License-Identifier: GPL-2.0-only
"""What making an image costs whoever makes it: seconds, and the most room that it has taken on the disk."""

import os
import time


def blocks(top):
    """Bytes of the disk below a folder. A file with several names counts once, one with holes without them."""
    seen = {}
    for folder, _, files in os.walk(top):
        for name in files:
            status = os.lstat(os.path.join(folder, name))
            seen[status.st_dev, status.st_ino] = 512 * status.st_blocks
    return sum(seen.values())


class Effort:
    """Of what is written below one folder; look() where a step has ended, before what it has needed is removed."""

    def __init__(self, top):
        self.top, self.most, self.began = top, 0, time.monotonic()

    def look(self):
        self.most = max(self.most, blocks(self.top))

    def text(self):
        return "took %.1f s, and at most %.1f MB of disk" % (time.monotonic() - self.began, self.most / 1e6)
