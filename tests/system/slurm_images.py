# SPDX-License-Identifier: GPL-2.0-only
"""The store of the cluster in namespaces: small signed images, and what is wrong with some of them."""

import os
import random
import shutil
import sys

import slurm_cluster

sys.path.append(os.path.join(slurm_cluster.TOP, "tests", "unit"))

import image_stores  # noqa: E402


def push(folder, name, version="1", signed=True, **fields):
    """Into the store of a cluster's folder."""
    root = random.Random(name + version).randbytes(400_000)
    value = image_stores.make_image(os.path.join(folder, "made", name + version), version, name=name, root=root, **fields)
    image_stores.pushed(os.path.join(folder, "store"), value, os.path.join(folder, "key", "site.sec") if signed else None)


def make(folder):
    """A store with signed images, and the key by which head and nodes believe them."""
    key = image_stores.Key(os.path.join(folder, "key"), "site")
    os.mkdir(os.path.join(folder, "keys"))
    shutil.copy(key.public, os.path.join(folder, "keys"))
    for name in "debian13-mpi", "rocky9", "mpi", "handed", "damaged":
        push(folder, name)
    push(folder, "mpi", version="2", signed=False)
    push(folder, "raw", signed=False)
    push(folder, "large", needs={"memory_mib": 4096, "options": []})
    damage(os.path.join(folder, "store"), "damaged", "1")


def chunks_of(top, name, version):
    """Of the root of an image."""
    store = image_stores.store.Store(top).open()
    return [chunk for chunk, _ in store.index(store.manifest(name, version)[0]["files"]["root.squashfs"])]


def damage(top, name, version):
    """One byte of one chunk of the root, which no other image has."""
    chunk = chunks_of(top, name, version)[-1]
    path = os.path.join(top, "chunks", chunk[:4], chunk + ".cacnk")
    with open(path, "rb") as f:
        data = bytearray(f.read())
    data[len(data) // 2] ^= 1
    os.chmod(path, 0o644)
    with open(path, "wb") as f:
        f.write(data)
