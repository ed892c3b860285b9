# SPDX-License-Identifier: GPL-2.0-only
"""Access control lists, which a squashfs does not have: they are taken out, and nobody may more than before.

Where a file has a list, the group's bits of its mode say what anybody in the list may at most. Without the list they would be
what the file's group may, so that is put there.
"""

import struct

FRONT = "system."
ACCESS = "system.posix_acl_access"
# As Linux writes a list: four bytes of version, then of each one who may something (tag, what, id).
BEGIN, ITEM = 4, struct.Struct("<HHI")
GROUP, MASK = 0x04, 0x10


def of_group(value):
    """What the file's own group may, by a list; nothing, where it is damaged."""
    if len(value) < BEGIN or (len(value) - BEGIN) % ITEM.size:
        return 0
    items = {tag: bits for tag, bits, _ in ITEM.iter_unpack(value[BEGIN:])}
    return items.get(GROUP, 0) & items.get(MASK, 7) & 7


def take_out(root):
    """Changes the root; the lines of what was done."""
    paths = []
    for path in sorted(root.entries):
        entry = root.entries[path]
        names = [name for name in entry.xattrs if name.startswith(FRONT)]
        if ACCESS in names:
            entry.mode = entry.mode & ~0o070 | of_group(entry.xattrs[ACCESS]) << 3
        for name in names:
            del entry.xattrs[name]
        if names:
            paths.append(path)
    return ["left out: access control lists, which squashfs has not, of %d files, the first is %s" % (len(paths), paths[0])] \
        if paths else []
