# SPDX-License-Identifier: GPL-2.0-only
"""Archives that Linux unpacks at its start ("newc"), of files in memory: nothing of the disk that they were on is in them."""

import stat

MAGIC = b"070701"
LAST = "TRAILER!!!"


def header(number, mode, size, name, device=(0, 0)):
    """In eight hexadecimal digits: inode, mode, user, group, links, time, size, where it was, its own device, name, checksum."""
    fields = (number, mode, 0, 0, 2 if stat.S_ISDIR(mode) else 1, 0, size, 0, 0, *device, len(name) + 1, 0)
    return MAGIC + b"".join(b"%08X" % field for field in fields)


def padded(data):
    return data + bytes(-len(data) % 4)


def pack(files, devices=None):
    """{path: (mode, bytes)}, {path of a device: (major, minor)}; the folders above each are made."""
    whole = dict(files)
    for path in files:
        while "/" in path:
            path = path.rsplit("/", 1)[0]
            whole.setdefault(path, (stat.S_IFDIR | 0o755, b""))
    out = []
    for number, path in enumerate(sorted(whole), 1):
        mode, data = whole[path]
        name = path.encode()
        out += [padded(header(number, mode, len(data), name, (devices or {}).get(path, (0, 0))) + name + b"\0"), padded(data)]
    out.append(padded(header(0, 0, 0, LAST.encode()) + LAST.encode() + b"\0"))
    archive = b"".join(out)
    return archive + bytes(-len(archive) % 512)
