# SPDX-License-Identifier: GPL-2.0-only
"""An image of a root with busybox and nothing else, made by margay-build with the kernel and modules of the guest's package: for
tests of an image's start in which Debian's own programs do not matter.
"""

import glob
import os
import subprocess
import sys

import margay_initrd
import node

FOLDERS = ("bin", "dev", "etc", "proc", "root", "run", "sbin", "sys", "tmp")
# What margay-build puts into the initrd and what those modules need; the others of the package are unpacked for nobody.
MODULES = ("virtio*", "squashfs", "overlay", "ext4", "jbd2", "mbcache", "crc16", "crc32c*", "libcrc32c", "crypto*")


def package():
    return sorted(glob.glob(node.guest_file("linux-image-*.deb")))[-1]


def add_kernel(root, modules=MODULES):
    """Of the guest's package: its bzImage, and these modules."""
    patterns = ["./boot/vmlinuz-*", "./boot/config-*", "*/modules.builtin*", "*/modules.order",
                *("*/%s.ko*" % name for name in modules)]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package()], stdout=subprocess.PIPE) as child:
        subprocess.run(["tar", "-C", root, "-x", "--wildcards", *patterns], stdin=child.stdout, check=True,
                       stderr=subprocess.DEVNULL)
    release, = os.listdir(os.path.join(root, "lib", "modules"))
    margay_initrd.depmod(root, release)


def make_root(top, init):
    """init: the text of /sbin/init."""
    for folder in FOLDERS:
        os.makedirs(os.path.join(top, folder))
    margay_initrd.copy_busybox(top)
    add_kernel(top)
    with open(os.path.join(top, "sbin", "init"), "w", encoding="ascii") as f:
        f.write(init)
    os.chmod(os.path.join(top, "sbin", "init"), 0o755)


def build(root, directory, name, *words):
    """The image directory."""
    subprocess.run([sys.executable, os.path.join(node.TOP, "tools", "margay-build"), root, directory, "--name", name,
                    "--image-version", "1", *words], check=True, stdout=subprocess.DEVNULL)
    return directory


def make(top, name, init):
    """The path of an image directory below this one."""
    root = os.path.join(top, "root")
    make_root(root, init)
    return build(root, os.path.join(top, "image"), name)
