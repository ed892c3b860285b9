# SPDX-License-Identifier: GPL-2.0-only
"""The node as a folder of VM files and images says: what is wanted (wanted.py), what there is (node.py), and the way from one to
the other (plan.py)."""


class Refused(Exception):
    """What was given is no good, or the node does not do it; in one line. `status` is margay's."""

    def __init__(self, text, status=1):
        super().__init__(" ".join(text.split()))
        self.status = status
