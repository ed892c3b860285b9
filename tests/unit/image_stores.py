# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of images share: image directories of made-up bytes, keys of minisign, and a store in memory."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager

from margay_images import canonical, collect, manifest, push, store, verify

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "margay-image-store")
ROOT_BYTES = 600_000


def root_bytes(changed=0):
    """A root whose chunks a version shares with another one, but for the last `changed` bytes."""
    return random.Random(1).randbytes(ROOT_BYTES - changed) + random.Random(changed).randbytes(changed)


def make_image(directory, version="1", name="mpi", changed=0, root=None, **fields):
    """An image directory; its path."""
    os.makedirs(directory)
    contents = {"kernel": random.Random("kernel").randbytes(90_000), "initrd": random.Random(version).randbytes(50_000),
                "root.squashfs": root_bytes(changed) if root is None else root}
    for file, data in contents.items():
        with open(os.path.join(directory, file), "wb") as f:
            f.write(data)
    value = {"kind": manifest.KIND, "format": manifest.FORMAT, "name": name, "version": version, "architecture": "amd64",
             "created": 1_700_000_000, "kernel_release": "6.1.0-41-amd64", "cmdline": "console=ttyS0",
             "needs": {"memory_mib": 256, "options": ["CONFIG_VIRTIO"]},
             "files": {file: manifest.measure(os.path.join(directory, file)) for file in contents}, **fields}
    with open(os.path.join(directory, manifest.NAME), "wb") as f:
        f.write(canonical.write(value))
    return str(directory)


class Key:
    """A pair of keys without a password; its folder of public keys is what a machine believes."""

    def __init__(self, folder, name):
        os.makedirs(folder, exist_ok=True)
        self.public = os.path.join(folder, name + ".pub")
        self.secret = os.path.join(folder, name + ".sec")
        self.folder = str(folder)
        subprocess.run(["minisign", "-G", "-W", "-p", self.public, "-s", self.secret], check=True, stdout=subprocess.DEVNULL)
        with open(self.public, encoding="ascii") as f:
            self.id = f.readline().split()[-1].rjust(16, "0")


def tool(*words, status=0):
    """(standard output, standard error), in lines."""
    done = subprocess.run([sys.executable, TOOL, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


@contextmanager
def folder_in_memory(tmp_path):
    """Where a flush of the file system waits for nobody's disk."""
    top = tempfile.mkdtemp(prefix="margay-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path)
    try:
        yield top
    finally:
        shutil.rmtree(top)


def pushed(top, directory, key=None):
    return push.push(store.Store(top), directory, key, 1_700_000_000)


def collected(top, **options):
    return collect.collect(store.Store(top), **options)


def problems(top, keys=None):
    """What is wrong with a store; not that a push was cut before it was on the list of versions."""
    opened = store.Store(top).open()
    return [line for line in verify.verify(opened, opened.trust(keys) if keys else None) if not line.endswith("gc writes it anew")]


def rests(top):
    """What lies in a store and nothing names."""
    opened = store.Store(top).open()
    named = collect.named(opened, ())
    found = {name for name, _ in opened.chunk_files()} - named[1]
    found |= {name for name in opened.entries("index") if name[:-len(".caibx")] not in named[0]}
    return found | set(opened.entries("incoming"))


def believed(top, key):
    return store.Store(top).open().trust(key.folder if isinstance(key, Key) else key)
