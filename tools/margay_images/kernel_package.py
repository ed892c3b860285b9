# SPDX-License-Identifier: GPL-2.0-only
"""Puts a kernel into a root that has none, as a container's has not: the files of a Debian package, and depmod's lists of them."""

import os
import shutil
import subprocess

from . import kernel, root_sources
from .errors import ImageError
from .root import Root, of_bytes


def files(deb, scratch):
    """What a package unpacks to."""
    path = os.path.join(scratch, "package.tar")
    with open(path, "wb") as out:
        done = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], stdout=out, stderr=subprocess.PIPE, text=True, errors="replace",
                              check=False)
    if done.returncode:
        raise ImageError("%s: no package of Debian: %s" % (deb, (done.stderr.strip().split("\n") or [""])[-1]))
    package = Root(deb)
    root_sources.add_members(package, root_sources.opened(path))
    package.complete()
    return package


def add_lists(root, release, scratch):
    """modules.dep and its like, which the package's own script would make on the machine."""
    folder = kernel.Modules.folder_of(root, release)
    top = os.path.join(scratch, "depmod")
    front = folder + "/"
    newest = 0
    for path in [path for path in root.entries if path.startswith(front)]:
        entry = root.entries[path]
        newest = max(newest, entry.mtime)
        if entry.kind == "file":
            target = os.path.join(top, "lib/modules", release, path[len(front):])
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with entry.open() as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out)
    there = set(root.names(folder))
    done = subprocess.run(["/sbin/depmod", "-b", top, release], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise ImageError("%s: depmod fails: %s" % (root.what, (done.stderr.strip().split("\n") or [""])[0]))
    made = os.path.join(top, "lib/modules", release)
    for name in sorted(os.listdir(made)):
        if name.startswith("modules.") and name not in there:
            with open(os.path.join(made, name), "rb") as f:
                root.add(front + name, of_bytes(f.read(), 0o644, newest))
    shutil.rmtree(top)


def install(root, deb, scratch):
    """Its release."""
    package = files(deb, scratch)
    there = kernel.releases(package)
    if len(there) != 1:
        raise ImageError("%s: %d kernels with their modules in it, not one" % (deb, len(there)))
    release = there[0][0]
    for path in sorted(package.entries):
        # Folders that the root has stay the root's.
        if package.entries[path].kind != "folder" or root.resolve(path) is None:
            root.add(path, package.entries[path])
    root.complete()
    add_lists(root, release, scratch)
    return release
