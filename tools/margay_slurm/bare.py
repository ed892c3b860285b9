# SPDX-License-Identifier: GPL-2.0-only
"""The slurmd of the management VM, for jobs that want no image: it has the node, or the compute VM has. Both are units of systemd
that exist while they run and no longer, and so is the key: a management VM that has restarted has the node only when it is told so
again."""

import os
import shutil
import subprocess

from . import metadata
from .errors import ClusterError

SLURMD, MUNGED = "margay-slurmd", "margay-munged"
KEY_FOLDER = "/run/margay-munge"
HAS = "the management VM's slurmd has the node"
# As the unit of an image's slurmd has them: its steps go on when it dies.
SLURMD_AS = ("Restart=always", "RestartSec=1", "KillMode=process", "Delegate=yes", "LimitNOFILE=131072", "LimitMEMLOCK=infinity",
             "LimitSTACK=infinity", "TasksMax=infinity", "StartLimitIntervalSec=0")
MUNGED_AS = ("User=munge", "RuntimeDirectory=munge", "Restart=always", "RestartSec=1")
SECONDS = 60


def systemd(*words, good=(0,)):
    done = subprocess.run(["timeout", str(SECONDS), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", check=False)
    if good and done.returncode not in good:
        said = done.stderr.strip().split("\n")[-1]
        raise ClusterError("%s: %s" % (" ".join(words[:3]), said or "status %d" % done.returncode))
    return done.stdout.strip()


def has_node():
    """Also while it is started again, or ends."""
    return systemd("systemctl", "is-active", SLURMD, good=None) in ("active", "activating", "reloading", "deactivating")


def unit(name, settings, *command):
    systemd("systemd-run", "--quiet", "--collect", "--unit=" + name, *("--property=" + word for word in settings), *command)


def put_key(key):
    """munged's alone from the moment that it has its name."""
    os.makedirs(KEY_FOLDER, mode=0o700, exist_ok=True)
    path = os.path.join(KEY_FOLDER, "munge.key")
    with open(path + ".new", "wb", opener=lambda name, flags: os.open(name, flags, 0o400)) as f:
        f.write(key)
    for name in KEY_FOLDER, path + ".new":
        shutil.chown(name, "munge", "munge")
    os.rename(path + ".new", path)
    return path


def begin(value):
    """As the node that the order names. Debian's own munged would be in the way, with a key of its own."""
    if has_node():
        return
    end()
    try:
        path = put_key(metadata.munge_key(value))
        unit(MUNGED, MUNGED_AS, "/usr/sbin/munged", "--foreground", "--key-file=" + path)
        unit(SLURMD, SLURMD_AS, "/usr/sbin/slurmd", "-D", "-N", value["node"], "--conf-server", value["controller"])
    except (ClusterError, LookupError, OSError) as error:
        end()
        raise ClusterError("no slurmd in the management VM: %s" % error) from error


def end():
    """The head says so when no job is there any more."""
    systemd("systemctl", "stop", SLURMD, MUNGED, "munge", good=None)
    if has_node():
        raise ClusterError("the management VM's slurmd does not end")
    shutil.rmtree(KEY_FOLDER, ignore_errors=True)
