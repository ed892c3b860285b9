# SPDX-License-Identifier: GPL-2.0-only
"""Puts archives together that Linux unpacks at its start: programs of this machine with their libraries, modules of a
kernel's package with those that they need. tools/guest-image makes the guests' with it, tools/nested-host that of a host
that is itself emulated.
"""

import glob
import lzma
import os
import re
import shutil
import subprocess
import tempfile

BUILT_IN = ("crc32c_generic", "crc32_generic", "irqbypass", "virtio_pci", "virtio_console", "virtio_blk")  # in some kernels


class InitrdError(Exception):
    """The archive cannot be made; the text says what is missing."""


def copy_busybox(root):
    """Into root/bin, with a link for each of its programs."""
    busybox = os.path.join(root, "bin", "busybox")
    shutil.copy("/bin/busybox", busybox)
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=False).stdout.split()
    if "cttyhack" not in applets:
        raise InitrdError("/bin/busybox is not Debian's busybox-static (no cttyhack): tools/setup run")
    for applet in applets:
        if applet != "busybox":
            os.symlink("busybox", os.path.join(root, "bin", applet))


def libraries(program):
    """The shared objects that a program needs, by the dynamic linker's own account."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [word for line in out.splitlines() for word in line.split() if word.startswith("/")]


def copy_tools(root, tools):
    """Programs of this machine into root/bin, with their libraries where they lie here."""
    wanted = set()
    for tool in tools:
        # /sbin is not in everybody's path.
        path = shutil.which(tool) or shutil.which(tool, path="/sbin:/usr/sbin")
        if path is None:
            raise InitrdError("%s is missing: tools/setup test" % tool)
        wanted.update([path] + libraries(path))
    for path in wanted:
        directory = "bin" if os.path.basename(path) in tools else os.path.dirname(path).lstrip("/")
        os.makedirs(os.path.join(root, directory), exist_ok=True)
        shutil.copy(path, os.path.join(root, directory))


def needed_modules(modules, drivers):
    """These drivers and what they need, as paths below the kernel's directory, by depmod's list."""
    needs = {}
    with open(os.path.join(modules, "modules.dep"), encoding="ascii") as f:
        for line in f:
            path, _, others = line.partition(":")
            needs[path] = others.split()
    by_name = {os.path.basename(path).split(".")[0].replace("-", "_"): path for path in needs}
    soft = re.compile(r"^softdep (\S+) pre: (.*)$")
    wanted = [by_name[name] for name in drivers if name in by_name or name not in BUILT_IN]
    with open(os.path.join(modules, "modules.softdep"), encoding="ascii") as f:
        for line in f:
            match = soft.match(line.strip())
            if match:
                needs.setdefault(by_name.get(match[1]), []).extend(
                    by_name[n.replace("-", "_")] for n in match[2].split() if n.replace("-", "_") in by_name)
    seen = set()
    while wanted:
        path = wanted.pop()
        if path not in seen:
            seen.add(path)
            wanted += needs.get(path, [])
    return sorted(seen)


def expand_modules(directory):
    """busybox's modprobe and our tests want them as they are linked."""
    for path in glob.glob(os.path.join(directory, "**", "*.ko.xz"), recursive=True):
        with lzma.open(path) as packed, open(path[: -len(".xz")], "wb") as out:
            shutil.copyfileobj(packed, out)
        os.unlink(path)


def take_modules(package, drivers, root):
    """Of a kernel's package, as unpacked, these drivers and what they need, into root/RELEASE; returns the release."""
    # From Debian 13 on a package has them in /usr/lib, each compressed.
    if os.path.isdir(os.path.join(package, "usr", "lib", "modules")):
        os.makedirs(os.path.join(package, "lib"), exist_ok=True)
        os.rename(os.path.join(package, "usr", "lib", "modules"), os.path.join(package, "lib", "modules"))
    release = os.listdir(os.path.join(package, "lib", "modules"))[0]
    modules = os.path.join(package, "lib", "modules", release)
    expand_modules(modules)
    depmod(package, release)
    for path in needed_modules(modules, drivers):
        os.makedirs(os.path.join(root, release, os.path.dirname(path)), exist_ok=True)
        shutil.copy(os.path.join(modules, path), os.path.join(root, release, path))
    return release


def unpack(deb, directory):
    if subprocess.run(["dpkg-deb", "-x", deb, directory], check=False).returncode != 0:
        raise InitrdError("cannot unpack %s" % deb)


def copy_modules(deb, drivers, root):
    """The same out of the package's file."""
    with tempfile.TemporaryDirectory(dir=root) as package:
        unpack(deb, package)
        return take_modules(package, drivers, root)


def depmod(root, release):
    """Lets modprobe find what lies in root/lib/modules/RELEASE."""
    done = subprocess.run(["/sbin/depmod", "-b", root, release], check=False, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise InitrdError("depmod failed: tools/setup test; %s" % done.stderr.decode(errors="replace").strip())


def pack(root):
    """A directory as a cpio archive."""
    names = sorted(
        os.path.relpath(os.path.join(d, n), root) for d, subdirs, files in os.walk(root) for n in subdirs + files
    )
    archive = subprocess.run(
        ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0", "--reproducible", "-0"],
        cwd=root, input="\0".join(names).encode(), stdout=subprocess.PIPE, check=False,
    )
    if archive.returncode != 0:
        raise InitrdError("cpio failed")
    return archive.stdout


def compress(archive):
    """By lz4, in the format that kernels take. Behind it an initrd can only have another such."""
    if shutil.which("lz4") is None:
        raise InitrdError("lz4 is missing: tools/setup test")
    packed = subprocess.run(["lz4", "-lqc9"], input=archive, stdout=subprocess.PIPE, check=False)
    if packed.returncode != 0:
        raise InitrdError("lz4 failed")
    return packed.stdout


def append(initrd, root, target):
    """A second archive behind the first: Linux unpacks one after the other."""
    archive = compress(pack(root))
    with open(target + ".new", "wb") as out, open(initrd, "rb") as first:
        shutil.copyfileobj(first, out)
        out.write(archive)
    os.rename(target + ".new", target)
