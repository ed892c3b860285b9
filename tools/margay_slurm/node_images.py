# SPDX-License-Identifier: GPL-2.0-only
"""An image of the site's store becomes images of the node. The store is a directory of the management VM's, as NFS mounts it,
read-only. Its manifest is believed by the keys of /etc/margay/keys, or nothing of it is read; each chunk is what it is named by."""

import hashlib

from margay_images import chunks, store, trust
from margay_images.errors import ImageError

from . import local_node
from .errors import ImageFault

# Of the hash: a name on the node has 63 characters.
DIGITS = 48


def signed_manifest(folder, keys, name, version):
    try:
        opened = store.Store(folder).open()
        value, data, signature = opened.manifest(name, version)
        opened.trust(keys or trust.FOLDER).require(data, signature, "%s:%s" % (name, version))
    except ImageError as error:
        raise ImageFault(str(error)) from error
    return opened, value


def name_of(file):
    return "image-" + file["sha256"][:DIGITS]


def bytes_of(opened, file, what):
    """Its chunks, one after the other; the whole is what the manifest names, or this fails at its end."""
    whole = hashlib.sha256()
    for chunk, size in opened.index(file):
        data = chunks.read(opened.chunks, chunk, size)
        whole.update(data)
        yield data
    if whole.hexdigest() != file["sha256"]:
        raise ImageError("%s: its chunks make another file" % what)


def bring(folder, keys, name, version):
    """(manifest, {file: its name on the node}); what the node has already is not sent."""
    opened, value = signed_manifest(folder, keys, name, version)
    there, names = local_node.images(), {}
    for file, of in sorted(value["files"].items()):
        names[file] = name_of(of)
        if there.get(names[file], {}).get("sha256") == of["sha256"]:
            continue
        try:
            local_node.put(names[file], bytes_of(opened, of, file))
        except (ImageError, FileNotFoundError) as error:
            raise ImageFault("%s:%s: %s" % (name, version, error)) from error
    return value, names
