# SPDX-License-Identifier: GPL-2.0-only
"""Whether the node is well, as its management VM sees it: by programs of the site's, each of which says by its status whether, and
by its last line what is wrong. A node that is not gets no VM, and is not Slurm's again before it is. What the VM of a job sees of
itself an image's margay-slurm-health looks at, as Slurm's HealthCheckProgram."""

import os
import subprocess

from .errors import ClusterError

FOLDER = "/etc/margay/health.d"
SECONDS = 20
LONGEST = 200


def problem(folder=FOLDER):
    """None, or what the first of them says that fails."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for path in (os.path.join(folder, name) for name in names):
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            continue
        done = subprocess.run(["timeout", "--kill-after=2", str(SECONDS), path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode:
            # 137 and -9: it did not heed the first signal, as remote.py has it.
            hung = done.returncode in (124, 137, -9)
            said = "is still at it after %d s" % SECONDS if hung else done.stdout.strip().split("\n")[-1]
            said = said or "status %d" % done.returncode
            return "%s: %s" % (os.path.basename(path), "".join(c if c.isprintable() else "?" for c in said)[:LONGEST])
    return None


def require():
    wrong = problem()
    if wrong:
        raise ClusterError("health: " + wrong)
