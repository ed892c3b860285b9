# SPDX-License-Identifier: GPL-2.0-only
"""The namespaces in which all of it lives: network, mounts, processes. Whatever is made there is gone when its first process ends,
and nothing of it is seen outside."""

import os
import socket
import sys

from . import places
from .places import run

# Of commands in a root.
ENVIRONMENT = ("PATH=/stand-ins:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
# An address of its own: else a bridge takes the lowest of its ports', another one as they come.
LINK = "ip link add %s address %s type bridge"


def enter(words):
    """Does not return: this program again, as the first process of a world. That it is unshare's child lets ^C come to it alone."""
    os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--mount-proc", "--kill-child",
                          "--propagation", "private", "--", sys.executable, "-B", *words])


def make_network():
    run("ip", "link", "set", "lo", "up")
    run(*(LINK % (places.BRIDGE, places.HEAD_MAC)).split())
    run("ip", "address", "add", "%s/%d" % (places.HEAD, places.PREFIX), "dev", places.BRIDGE)
    run("ip", "link", "set", places.BRIDGE, "up")
    for node in places.NODES:
        for card in 1, 2:
            run("ip", "tuntap", "add", node.tap(card), "mode", "tap")
            run("ip", "link", "set", node.tap(card), "master", places.BRIDGE, "up")
    socket.sethostname("head")


class Root:
    """A Debian below build/cluster/roots, with a layer over it that takes what is written. A command in it is as one of that
    system's own; its services are none of ours."""

    def __init__(self, name):
        self.lower = os.path.join(places.ROOTS, name)
        above = os.path.join(places.RUN, name)
        self.upper, work, self.path = (os.path.join(above, folder) for folder in ("upper", "work", "root"))
        for folder in self.upper, work, self.path:
            os.makedirs(folder, exist_ok=True)
        run("mount", "-t", "overlay", name, "-o", "lowerdir=%s,upperdir=%s,workdir=%s" % (self.lower, self.upper, work), self.path)
        self.mount("-t", "proc", "proc", "/proc")
        self.mount("--rbind", "/sys", "/sys")
        self.mount("-t", "tmpfs", "-o", "mode=755", "run", "/run")
        self.mount("-t", "tmpfs", "-o", "mode=1777", "tmp", "/tmp")
        self.make_devices()

    def mount(self, *words):
        *options, target = words
        os.makedirs(self.path + target, exist_ok=True)
        run("mount", *options, self.path + target)

    def make_devices(self):
        """/dev/log there is not this machine's."""
        self.mount("-t", "tmpfs", "-o", "mode=755", "dev", "/dev")
        for name in "null", "zero", "full", "random", "urandom", "tty":
            places.write(self.path + "/dev/" + name, "")
            run("mount", "--bind", "/dev/" + name, self.path + "/dev/" + name)
        os.mkdir(self.path + "/dev/shm")
        os.chmod(self.path + "/dev/shm", 0o1777)
        os.symlink("/proc/self/fd", self.path + "/dev/fd")

    def words(self, *words):
        return ["chroot", self.path, "/usr/bin/env", "-i", *ENVIRONMENT, *map(str, words)]

    def run(self, *words, **options):
        return run(*self.words(*words), **options)

    def as_user(self, user, *words, **options):
        return self.run("runuser", "-u", user, "--", *words, **options)

    def type(self, text, log):
        """As root, in /admin; a command that fails is named."""
        script = "set -eE -o pipefail\ncd /admin\ntrap 'echo \"typed, and failed: $BASH_COMMAND\" >&2' ERR\n" + text
        with open(log, "ab") as f:
            f.write(text.encode())
            f.flush()
            try:
                self.run("bash", "-c", script, stdout=f, stderr=f)
            except places.Failed as error:
                raise places.Failed("what docs/cluster.md lets its reader type fails: the end of %s" % log) from error

    def write(self, path, data, mode=0o644):
        places.write(self.path + path, data, mode)
