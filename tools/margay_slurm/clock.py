# SPDX-License-Identifier: GPL-2.0-only
"""A node whose clock is wrong: munge refuses what its slurmd says, and slurmctld what it hears of a boot before the request."""

# munge's credentials are good for 300 s, by both clocks; a boot that is older than the request does not count at all.
MOST = 10


def problem(answer):
    """None, or what is wrong. `ahead`: seconds, when the answer came."""
    ahead = answer.get("ahead", 0)
    if abs(ahead) < MOST:
        return None
    return "its clock is %d s %s" % (abs(ahead), "ahead" if ahead > 0 else "behind: no VM would count as booted")
