# SPDX-License-Identifier: GPL-2.0-only
"""Three Debians, as mmdebstrap installs them, once: of the head, of the management VMs, of the jobs' VMs. The latter two get the
guest's kernel (make guest) with the drivers that they need, and no more: a node loads its management VM's root by the network."""

import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

import margay_initrd

from . import places
from .places import Failed, run, write

RELEASE = "bookworm"
# What margay-images depends on, so that no package is missing when Margay's are installed.
BUILDERS = "casync,squashfs-tools,busybox-static,kmod,minisign,python3,python3-zstandard,python3-aiohttp"
PACKAGES = {
    "head": "slurmctld,slurmdbd,slurm-client,munge,mariadb-server,dnsmasq-base,nfs-ganesha,nfs-ganesha-vfs,openssh-client,"
            "python3-matplotlib,iproute2,procps," + BUILDERS,
    "management": "systemd-sysv,udev,dbus,iproute2,openssh-server,procps," + BUILDERS,
    "compute": "systemd-sysv,udev,dbus,iproute2,kmod,munge,slurmd,slurm-client,mpich,nfs-common,isc-dhcp-client,procps",
}
DRIVERS = {
    "management": ("virtio_pci", "virtio_blk", "virtio_console", "squashfs", "overlay", "ext4", "e1000e", "pvpanic_mmio"),
    "compute": ("virtio_pci", "virtio_blk", "virtio_console", "squashfs", "overlay", "ext4", "igb", "nfsv4", "pvpanic_mmio"),
}
# But for the example of the site's file.
KEPT = "--dpkgopt=path-include=/usr/share/doc/margay*"
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
# What a VM has no use for once it is installed: all of an image goes through emulated cards and CPUs.
SPARED = {
    "management": ("usr/lib/udev/hwdb*", "usr/share/zoneinfo", "var/cache/*", "var/lib/apt/lists"),
    "compute": ("usr/lib/udev/hwdb*", "usr/share/perl*", "usr/lib/x86_64-linux-gnu/perl*", "usr/share/zoneinfo", "var/cache/*",
                "usr/lib/python3*", "usr/lib/x86_64-linux-gnu/gconv", "var/lib/dpkg/info", "var/lib/apt/lists"),
}
MOUNT_HOME = "%s:/home /home nfs4 rw,_netdev,x-systemd.before=margay-slurmd.service,x-systemd.mount-timeout=300 0 0\n" % places.HEAD
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "job.c")
PROGRAM, HEADERS = "usr/local/bin/job", "usr/include/x86_64-linux-gnu/mpich"
LIBRARY = "usr/lib/x86_64-linux-gnu/libmpich.so.12"


def install(name, path):
    """By mmdebstrap; its log is kept."""
    log = path + ".log"
    words = ["mmdebstrap", "--variant=minbase", "--mode=root", "--include=" + PACKAGES[name],
             *("--dpkgopt=path-exclude=" + pattern for pattern in LEFT_OUT), KEPT, RELEASE, path]
    with open(log, "wb") as f:
        if subprocess.run(words, stdin=subprocess.DEVNULL, stdout=f, stderr=f, check=False).returncode:
            raise Failed("mmdebstrap cannot make the root of the %s: the end of %s" % (name, log))


def kernel_package():
    """The guest's, which make guest has downloaded."""
    found = sorted(glob.glob(os.path.join(places.BUILD, "guest", "linux-image-*.deb")))
    if not found:
        raise Failed("no kernel for the VMs: make guest")
    return found[-1]


def add_kernel(root, drivers):
    """Its bzImage, these drivers with what they need, and depmod's lists of them."""
    with tempfile.TemporaryDirectory(dir=places.MADE) as package:
        margay_initrd.unpack(kernel_package(), package)
        # Debian 13 has them below /usr, from where take_modules() moves them.
        folder, = glob.glob(os.path.join(package, "lib/modules/*")) or glob.glob(os.path.join(package, "usr/lib/modules/*"))
        release = os.path.basename(folder)
        # What depmod and the initrd ask for what is built in.
        listed = {name: read(os.path.join(folder, name))
                  for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order")}
        os.makedirs(os.path.join(root, "usr", "lib", "modules"), exist_ok=True)
        margay_initrd.take_modules(package, drivers, os.path.join(root, "usr", "lib", "modules"))
        os.makedirs(os.path.join(root, "boot"), exist_ok=True)
        shutil.copy(os.path.join(package, "boot", "vmlinuz-" + release), os.path.join(root, "boot"))
    for name, data in listed.items():
        write(os.path.join(root, "usr", "lib", "modules", release, name), data)
    margay_initrd.depmod(root, release)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def compile_job(root):
    """The MPI program, by this machine's compiler for the image's library; its headers are taken out of their package."""
    with tempfile.TemporaryDirectory(dir=places.MADE) as scratch:
        run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", "libmpich-dev", cwd=scratch)
        package, = glob.glob(os.path.join(scratch, "*.deb"))
        run("dpkg-deb", "-x", package, scratch)
        run("gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", os.path.join(root, PROGRAM), "-I",
            os.path.join(scratch, HEADERS), SOURCE, os.path.join(root, LIBRARY), "-Wl,--unresolved-symbols=ignore-in-shared-libs")


def spare(root, patterns):
    for pattern in patterns:
        for path in glob.glob(os.path.join(root, pattern)):
            run("rm", "-r", path)


def prepare_management(root):
    spare(root, SPARED["management"])
    add_kernel(root, DRIVERS["management"])
    run("chroot", root, "systemctl", "enable", "systemd-networkd")


def prepare_compute(root):
    spare(root, SPARED["compute"])
    add_kernel(root, DRIVERS["compute"])
    run("useradd", "-R", root, "-m", "-u", places.UID, "-s", "/bin/bash", places.USER)
    write(os.path.join(root, "etc", "hosts"), places.hosts())
    with open(os.path.join(root, "etc", "fstab"), "a", encoding="ascii") as f:
        f.write(MOUNT_HOME)
    compile_job(root)


def prepare_head(root):
    run("useradd", "-R", root, "-M", "-u", places.UID, "-s", "/bin/bash", places.USER)


PREPARE = {"head": prepare_head, "management": prepare_management, "compute": prepare_compute}


def stamp():
    """Of what a root is made of, but for the packages' versions."""
    value = hashlib.sha256(os.path.basename(kernel_package()).encode())
    for path in __file__, places.__file__, SOURCE:
        value.update(read(path))
    return value.hexdigest()[:16]


def kept(name):
    """The stamp of the one that is there; nothing of none."""
    path = os.path.join(places.ROOTS, name + ".stamp")
    return read(path).decode() if os.path.isdir(path[:-len(".stamp")]) and os.path.exists(path) else ""


def make(name, say):
    """Once, until what it is made of changes: whole, or not at all."""
    path = os.path.join(places.ROOTS, name)
    if kept(name) == stamp():
        return
    say("Debian for the %s: mmdebstrap, %s" % (name, os.path.relpath(path + ".new.log")))
    os.makedirs(places.ROOTS, exist_ok=True)
    new = path + ".new"
    shutil.rmtree(new, ignore_errors=True)
    install(name, new)
    PREPARE[name](new)
    shutil.rmtree(path, ignore_errors=True)
    os.rename(new, path)
    write(path + ".stamp", stamp())
