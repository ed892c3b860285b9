# SPDX-License-Identifier: GPL-2.0-only
"""Machines of the cluster in namespaces: the world that they are in, and what each has of its own. The first process of the world
(slurm_cluster.py) changes none of its folders, so a machine that is made later finds them as they were.
"""

import os
import shutil
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# In all namespaces: what is outside of the machines, as a home directory by NFS, and the state of the modelled hypervisors.
WORLD = "/mnt"
HEAD_ADDRESS, NETWORK = "10.7.0.1", "10.7.0.0/24"
HEAD_MAC = "02:00:00:00:03:01"
LAYERED = ("/etc", "/usr", "/var", "/root", "/srv")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)


def own(path, user, mode=0o700):
    os.makedirs(path, exist_ok=True)
    shutil.chown(path, user, user)
    os.chmod(path, mode)


def make_world(folder):
    """Its folder, and the network between the machines."""
    run("mount", "--make-rprivate", "/")
    run("mount", "--bind", folder, WORLD)
    run("ip", "link", "set", "lo", "up")
    # Unless it has an address a bridge takes the lowest of its ports', and so another one as machines come and go: what others know
    # of the head's is wrong then, and they reach nobody for half a minute.
    run("ip", "link", "add", "br0", "address", HEAD_MAC, "type", "bridge")
    run("ip", "address", "add", HEAD_ADDRESS + "/24", "dev", "br0")
    run("ip", "link", "set", "br0", "up")


def own_folders(name, nodes):
    """Layers over this machine's folders, in memory; who it is, and whom it knows."""
    run("mount", "-t", "tmpfs", "none", "/media")
    for path in LAYERED:
        for layer in "upper", "work":
            os.makedirs("/media/" + layer + path)
        options = "lowerdir=%s,upperdir=/media/upper%s,workdir=/media/work%s" % (path, path, path)
        run("mount", "-t", "overlay", "none", "-o", options, path)
    socket.sethostname(name)
    with open("/etc/hosts", "w", encoding="ascii") as f:
        f.write("127.0.0.1 localhost\n%s head\n" % HEAD_ADDRESS)
        for i, node in enumerate(nodes):
            f.write("10.7.0.%d %s\n10.7.0.%d %s-mgmt\n" % (11 + i, node, 101 + i, node))


def own_devices():
    """So that /dev/log is ours: what the programs say is read there."""
    run("mount", "-t", "tmpfs", "none", "/run")
    os.mkdir("/run/dev")
    run("mount", "-t", "tmpfs", "none", "/run/dev")
    for name in "null", "zero", "full", "random", "urandom", "tty":
        write("/run/dev/" + name, "")
        run("mount", "--bind", "/dev/" + name, "/run/dev/" + name)
    run("mount", "--move", "/run/dev", "/dev")
    os.mkdir("/dev/shm", 0o777)
    os.symlink("/proc/self/fd", "/dev/fd")


def new(program, *words, **files):
    """The first process of a machine: a child of ours, in namespaces of its own, as the world's first one would make them."""
    return subprocess.Popen(["nsenter", "-t", "1", "-m", "-n", "-u", "unshare", "-m", "-u", *words, "--", sys.executable, "-B",
                             os.path.join(HERE, program[0]), *program[1:]], **files)


def link(pid, name, mac):
    """A card eth0 for the network namespace of a process; its other end is the world's bridge."""
    outside = ["nsenter", "-t", "1", "-n", "ip", "link"]
    run(*outside, "add", name, "type", "veth", "peer", "name", "eth0", "address", mac, "netns", pid)
    run(*outside, "set", name, "master", "br0", "up")


def card(address):
    """Of this namespace: as soon as it is there."""
    run("ip", "link", "set", "lo", "up")
    while not os.path.exists("/proc/sys/net/ipv4/conf/eth0"):
        time.sleep(0.01)
    run("ip", "address", "add", address, "dev", "eth0")
    run("ip", "link", "set", "eth0", "up")
