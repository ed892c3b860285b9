# SPDX-License-Identifier: GPL-2.0-only
"""A root that is the layers of an OCI image, as skopeo and umoci write it: a directory, or a tar archive of it.

Each blob is what its digest says. Layers are laid one over the other as the specification has it (image-spec, layer.md): a file
.wh.NAME takes NAME of the layers below away, .wh..wh..opq all that a folder has below.
"""

import hashlib
import json
import os
import re

from .errors import ImageError
from .root import Root

DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
REF = "org.opencontainers.image.ref.name"
WHITEOUT, OPAQUE = ".wh.", ".wh..wh..opq"
LIMIT = 4 << 20  # of a document
NESTED = 4


class Layout:
    """The blobs of one layout."""

    def __init__(self, what, open_file):
        self.what, self.open_file = what, open_file

    def open(self, path):
        f = self.open_file(path)
        if f is None:
            raise ImageError("%s: %s is missing" % (self.what, path))
        return f

    def blob_path(self, descriptor):
        match = DIGEST.fullmatch(str(descriptor.get("digest"))) if isinstance(descriptor, dict) else None
        if match is None:
            raise ImageError("%s: a part of it has no sha256 digest" % self.what)
        return "blobs/sha256/" + match[1], match[1]

    def document(self, descriptor):
        path, digest = self.blob_path(descriptor)
        with self.open(path) as f:
            data = f.read(LIMIT)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ImageError("%s: %s is damaged" % (self.what, path))
        return self.parsed(data, path)

    def parsed(self, data, path):
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ImageError("%s: %s is no JSON" % (self.what, path)) from error
        if not isinstance(value, dict):
            raise ImageError("%s: %s is no JSON object" % (self.what, path))
        return value

    def copy_blob(self, descriptor, target):
        path, digest = self.blob_path(descriptor)
        found = hashlib.sha256()
        with self.open(path) as f, open(target, "wb") as out:
            while block := f.read(1 << 20):
                found.update(block)
                out.write(block)
        if found.hexdigest() != digest:
            raise ImageError("%s: %s is damaged" % (self.what, path))


def table(value):
    """An object that may be left out, or be anything else."""
    return value if isinstance(value, dict) else {}


def tag_of(descriptor):
    return str(table(descriptor.get("annotations")).get(REF))


def is_ours(descriptor):
    """For amd64, or for nobody in particular."""
    platform = table(descriptor.get("platform"))
    return platform.get("architecture", "amd64") == "amd64" and platform.get("os", "linux") == "linux"


def of_list(layout, value):
    """The descriptors in an index."""
    found = value.get("manifests")
    if not isinstance(found, list) or not all(isinstance(descriptor, dict) for descriptor in found):
        raise ImageError("%s: no list of manifests in it" % layout.what)
    return [descriptor for descriptor in found if is_ours(descriptor)]


def manifest(layout, tag):
    """The one manifest for amd64: of a tag, where there are several images."""
    with layout.open("index.json") as f:
        found = of_list(layout, layout.parsed(f.read(LIMIT), "index.json"))
    tags = sorted({tag_of(descriptor) for descriptor in found})
    if tag is not None:
        found = [descriptor for descriptor in found if tag_of(descriptor) == tag]
    if len({str(descriptor.get("digest")) for descriptor in found}) != 1:
        raise ImageError("%s: %s; it has %s: name one by --tag" %
                         (layout.what, "several images" if found else "no such image for amd64", ", ".join(tags) or "none"))
    descriptor = found[0]
    for _ in range(NESTED):
        value = layout.document(descriptor)
        if str(descriptor.get("mediaType")) not in INDEXES:
            return value
        found = of_list(layout, value)
        if len(found) != 1:
            raise ImageError("%s: %d images for amd64 in one index" % (layout.what, len(found)))
        descriptor = found[0]
    raise ImageError("%s: indexes in indexes" % layout.what)


def lay_over(root, layer):
    """First what the layer takes away, then what it brings."""
    for path in layer.entries:
        folder, _, name = path.rpartition("/")
        if name == OPAQUE:
            root.remove_below(root.through_links(folder))
        elif name.startswith(WHITEOUT):
            gone = root.placed((folder + "/" if folder else "") + name[len(WHITEOUT):])
            root.remove_below(gone)
            root.entries.pop(gone, None)
    for path, entry in layer.entries.items():
        if not path.rsplit("/", 1)[-1].startswith(WHITEOUT):
            root.add(path, entry)


def of_layout(layout, scratch, tag, read_tar):
    """read_tar(path, root, scratch): adds what an archive has to a root."""
    layers = manifest(layout, tag).get("layers")
    if not isinstance(layers, list):
        raise ImageError("%s: no OCI image: its manifest names no layers" % layout.what)
    root = Root(layout.what)
    for number, descriptor in enumerate(layers):
        folder = os.path.join(scratch, "layer-%d" % number)
        os.mkdir(folder)
        blob = os.path.join(folder, "blob")
        layout.copy_blob(descriptor, blob)
        layer = Root(layout.what)
        # A path may come to the file of a layer below.
        layer.below = root
        read_tar(blob, layer, folder)
        lay_over(root, layer)
        # So that a layer above may put a file in the place of a folder that this one has not named.
        root.complete()
    return root


def of_directory(top, scratch, tag, read_tar):
    def open_file(path):
        try:
            return open(os.path.join(top, path), "rb")
        except FileNotFoundError:
            return None
    return of_layout(Layout(top, open_file), scratch, tag, read_tar)


def of_archive(path, tar, scratch, tag, read_tar):
    members = {os.path.normpath(member.name): member for member in tar.getmembers() if member.isreg()}
    return of_layout(Layout(path, lambda name: tar.extractfile(members[name]) if name in members else None), scratch, tag, read_tar)


def is_directory(top):
    return all(os.path.isfile(os.path.join(top, name)) for name in ("oci-layout", "index.json"))


def is_archive(tar):
    """Of its members: only an OCI archive has these two at its top."""
    return {"oci-layout", "index.json"} <= {os.path.normpath(name) for name in tar.getnames()}
