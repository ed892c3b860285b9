# SPDX-License-Identifier: GPL-2.0-only
"""This machine with folders that are thrown away: whoever types there as root writes into layers of memory over /boot, /etc and
others, in a mount namespace of his own. Of Debian's kernel /boot has one under the name of the kernel that runs, and update-grub
calls Margay's script alone, for GRUB's own would look for disks.

It needs the right to mount. Whoever has it not is no operator, and a test that says so is left out.
"""

import os
import subprocess

import node
import pytest

LAYERED = ("/boot", "/etc", "/usr/local", "/root", "/srv")
MAY_MOUNT = os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
ALLOWED = pytest.mark.skipif(not MAY_MOUNT, reason="only root may mount, and so type what root types")
UPDATE_GRUB = r"""#!/bin/bash
set -e -o pipefail
for f in /etc/default/grub.d/*.cfg; do [ ! -e "$f" ] || . "$f"; done
mkdir -p /boot/grub
/etc/grub.d/42_margay >/boot/grub/grub.cfg
grub-script-check /boot/grub/grub.cfg
"""
PREPARE = r"""
mount -t tmpfs layers %(scratch)s
for folder in %(folders)s; do
	mkdir -p "%(scratch)s$folder/upper" "%(scratch)s$folder/work"
	mount -t overlay layer -o "lowerdir=$folder,upperdir=%(scratch)s$folder/upper,workdir=%(scratch)s$folder/work" "$folder"
done
cp %(kernel)s "/boot/vmlinuz-$(uname -r)"
cp %(initrd)s "/boot/initrd.img-$(uname -r)"
mkdir -p /etc/default/grub.d
"""


def run(script, scratch, cwd, environment, patience, layered=(), alone=False):
    """What a shell says there that stops at the first command which fails, and is told which that was; and its status.

    layered: more folders that are thrown away. alone: without a network but its own loopback, whose ports are all free.
    """
    programs = os.path.join(scratch, "programs")
    layers = os.path.join(scratch, "layers")
    for folder in programs, layers:
        os.makedirs(folder)
    update_grub = os.path.join(programs, "update-grub")
    with open(update_grub, "w", encoding="ascii") as f:
        f.write(UPDATE_GRUB)
    os.chmod(update_grub, 0o755)
    prepare = PREPARE % {"scratch": layers, "folders": " ".join((*LAYERED, *layered)), "kernel": node.guest_file("vmlinuz"),
                         "initrd": node.guest_file("initrd")}
    prepare += "ip link set lo up\n" if alone else ""
    whole = "set -eE -o pipefail\nexec </dev/null 2>&1\ntrap 'echo \"failed: $BASH_COMMAND\"' ERR\n" + prepare + script
    environment = {**environment, "PATH": "%s:%s" % (programs, environment["PATH"])}
    done = subprocess.run(["unshare", "-mn" if alone else "-m", "bash", "-c", whole], cwd=cwd, env=environment,
                          capture_output=True, text=True, timeout=patience, check=False)
    return done.stdout + done.stderr, done.returncode
