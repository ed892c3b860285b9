# SPDX-License-Identifier: GPL-2.0-only
"""What all parts of `make cluster` know: where files lie, who has which address."""

import collections
import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
# All that is made for it. What is below RUN is of the last run only.
MADE = os.path.join(BUILD, "cluster")
ROOTS, KEYS, STORE, IMAGES, PACKAGES, RUN = (os.path.join(MADE, name) for name in (
    "roots", "keys", "store", "images", "packages", "run"))
LOGS = os.path.join(RUN, "logs")
NETWORK, HEAD, PREFIX = "10.7.0.0", "10.7.0.1", 24
BRIDGE, HEAD_MAC = "br0", "02:00:00:00:07:01"
IMAGE = "debian12-mpi"
# Whose jobs they are: a user of the head and of the image.
USER, UID = "alice", 1000

# Of the command line of both kinds of VM: on an emulator systemd's minute and a half is soon over; what goes wrong is to be seen on
# the node's console, for a diskless VM's journal is gone with it.
WORDS = ("quiet systemd.default_timeout_start_sec=600 systemd.default_device_timeout_sec=600 "
         "systemd.journald.forward_to_console=1 systemd.journald.max_level_console=notice")


class Failed(Exception):
    """It cannot go on; the text is one line that says why, and what to do."""


class Node(collections.namedtuple("Node", "number")):
    """An emulated machine with two cards: its management VM has the first, the VMs of jobs have the second."""

    @property
    def name(self):
        return "n%d" % self.number

    @property
    def management(self):
        return self.name + "-mgmt"

    @property
    def address(self):
        return "10.7.0.%d" % (10 + self.number)

    @property
    def management_address(self):
        return "10.7.0.%d" % (100 + self.number)

    def mac(self, card):
        return "52:54:00:07:%02x:%02x" % (card, self.number)

    def tap(self, card):
        return "%s-%d" % (self.name, card)


NODES = (Node(1), Node(2))


def run(*words, **options):
    """A command that must do its work; its standard output, if that is asked for."""
    words = [str(word) for word in words]
    options = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(words, check=False, text=True, errors="replace", **options)
    if done.returncode:
        last = (done.stderr or "").strip().split("\n")[-1]
        raise Failed("%s: status %d%s" % (" ".join(words[:6]), done.returncode, ": " + last if last else ""))
    return done.stdout


def write(path, data, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(path, mode)


def hosts():
    """/etc/hosts of everybody who has no DNS, and of the server that answers the others."""
    lines = ["127.0.0.1 localhost", HEAD + " head"]
    for node in NODES:
        lines += ["%s %s" % (node.address, node.name), "%s %s" % (node.management_address, node.management)]
    return "\n".join(lines) + "\n"
