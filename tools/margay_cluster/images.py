# SPDX-License-Identifier: GPL-2.0-only
"""Images of the Debians: that of the jobs in a signed store, that of the management VMs as boot modules, and what each management
VM has of its own: all that docs/cluster.md lets its administrator type there, its name, its address and its host key."""

import hashlib
import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile

from . import head, places, roots
from .places import run, write
from .world import Root

TOOLS = os.path.join(places.TOP, "tools")
# What an image depends on beside its root.
SOURCES = ("margay_images", "margay-build")
WORDS = {"management": [], "compute": ["--slurm", "--memory", "512"]}
NAMES = {"management": "management", "compute": places.IMAGE}
# Its systemd does not run yet.
ENABLE = """#!/bin/sh
[ "$1 $2" = "enable --now" ] && shift 2 && exec /usr/bin/systemctl enable "$@"
"""
NOT_ITS_OWN = ("admin", "stand-ins", "usr/sbin/policy-rc.d", "etc/apt/apt.conf.d/99cluster", "var/cache", "var/log", "var/lib/apt")
NETWORK = """\
[Match]
Type=ether

[Network]
Address={address}/{prefix}
LinkLocalAddressing=no
"""


def stamp(name):
    """Of what an image is made of: its root, and the programs that make it."""
    value = hashlib.sha256((roots.kept(name) + " ".join(WORDS[name])).encode())
    for source in SOURCES:
        path = os.path.join(TOOLS, source)
        files = [path] if os.path.isfile(path) else sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if not name.endswith(".pyc"))
        for file in files:
            with open(file, "rb") as f:
                value.update(file.encode() + b"\0" + f.read() + b"\0")
    return value.hexdigest()[:16]


def make(name, say):
    """The image's directory; anew where it is older than what it is made of."""
    root, path = os.path.join(places.ROOTS, name), os.path.join(places.IMAGES, name)
    wanted, kept = stamp(name), path + ".stamp"
    if os.path.isdir(path) and os.path.exists(kept) and head.read(kept) == wanted:
        return path
    say("the image of the %s: margay-build" % name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(places.IMAGES, exist_ok=True)
    with open(path + ".log", "w", encoding="utf-8") as log:
        run(sys.executable, os.path.join(TOOLS, "margay-build"), root, path, "--name", NAMES[name], "--image-version",
            "1." + str(int(wanted[:8], 16)), *WORDS[name], stdout=log)
    write(kept, wanted)
    return path


def make_keys():
    """The site's, once."""
    if not os.path.exists(os.path.join(places.KEYS, "site.pub")):
        os.makedirs(places.KEYS, exist_ok=True)
        run("minisign", "-G", "-W", "-f", "-p", os.path.join(places.KEYS, "site.pub"), "-s", os.path.join(places.KEYS, "site.key"),
            stdout=subprocess.DEVNULL)


def push(image):
    """A store with this image and no other."""
    kept = places.STORE + ".stamp"
    wanted = head.read(os.path.join(image + ".stamp"))
    if os.path.exists(kept) and head.read(kept) == wanted:
        return
    shutil.rmtree(places.STORE, ignore_errors=True)
    run(sys.executable, os.path.join(TOOLS, "margay-image-store"), "push", places.STORE, image, "--key",
        os.path.join(places.KEYS, "site.key"), stdout=subprocess.DEVNULL)
    write(kept, wanted)


# ---- what a management VM has of its own ---------------------------------------------------------


class Management:
    """The page's lines are typed over the image's root; what they have written there is laid over it in each node's VM."""

    def __init__(self, slurm_pub):
        self.root = Root("management")
        self.root.mount("-t", "tmpfs", "none", "/admin")
        self.root.mount("-t", "tmpfs", "none", "/stand-ins")
        head.bring_packages(self.root)
        shutil.copy(slurm_pub, self.root.path + "/admin/slurm.pub")
        self.root.write("/etc/apt/apt.conf.d/99cluster", 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n')
        self.root.write("/stand-ins/systemctl", ENABLE, 0o755)
        self.install_tools()
        for text in head.blocks("management"):
            self.root.type(text, os.path.join(places.LOGS, "management-typed.log"))
        self.root.write("/etc/hosts", places.hosts())

    def install_tools(self):
        """margay-tools, which the page presupposes."""
        tools, = [name for name in os.listdir(self.root.path + "/admin") if name.startswith("margay-tools_")]
        self.root.run("dpkg", "-i", "/admin/" + tools, stdout=subprocess.DEVNULL)

    def archive(self, node):
        """The tar archive of a node's management VM; its host key's public part."""
        path = os.path.join(places.RUN, node.name + ".tar")
        secret, public = host_key(node)
        own = {"etc/hostname": (node.management + "\n", 0o644),
               "etc/systemd/network/10-margay.network": (NETWORK.format(address=node.management_address,
                                                                        prefix=places.PREFIX), 0o644),
               "etc/ssh/ssh_host_ed25519_key": (secret, 0o600), "etc/ssh/ssh_host_ed25519_key.pub": (public, 0o644)}
        with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
            add_layer(tar, self.root.upper)
            for name, (text, mode) in own.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(text), mode
                tar.addfile(member, io.BytesIO(text.encode()))
        return path, public


def add_layer(tar, upper):
    """What an overlay's upper directory has, but for what stands there for a file that was removed, and what only this needed."""
    for folder, folders, names in os.walk(upper):
        folders[:] = [name for name in folders if os.path.relpath(os.path.join(folder, name), upper) not in NOT_ITS_OWN]
        for name in sorted(folders + names):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, upper)
            if relative not in NOT_ITS_OWN and not stat.S_ISCHR(os.lstat(path).st_mode):
                tar.add(path, relative, recursive=False)


def host_key(node):
    """Its secret and its public part."""
    path = os.path.join(places.RUN, node.name + ".host-key")
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", node.management, "-f", path)
    return head.read(path), head.read(path + ".pub")


def known_host(node, public):
    """A line of known_hosts: the VM's name, and the .pub of its /etc/ssh."""
    return "%s %s\n" % (node.management, " ".join(public.split()[:2]))
