# SPDX-License-Identifier: GPL-2.0-only
"""The guest's files (tools/guest-image): the short kernel loads to the same memory as Debian's own."""

import os
import struct

import margay_nested

NAMES = ("vmlinux", "vmlinux-short")


def loaded(elf):
    """{physical address: (content, size in memory)} and the entry, read without the tool's own constants."""
    entry, phoff = struct.unpack_from("<QQ", elf, 24)
    size, count = struct.unpack_from("<HH", elf, 54)
    parts = {}
    for at in range(phoff, phoff + size * count, size):
        kind, _, offset, _, address, in_file, in_memory, _ = struct.unpack_from("<IIQQQQQQ", elf, at)
        assert offset + in_file <= len(elf)
        if kind == 1:
            parts[address] = (elf[offset:offset + in_file], in_memory)
    return parts, entry


def test_short_kernel_is_the_same():
    files = []
    for name in NAMES:
        with open(os.path.join(margay_nested.GUEST, name), "rb") as f:
            files.append(f.read())
    (whole, entry), (short, short_entry) = map(loaded, files)
    assert entry == short_entry and whole.keys() == short.keys() and len(whole) >= 3
    for address, (content, size) in whole.items():
        kept, short_size = short[address]
        assert size == short_size >= len(kept)
        assert content == kept.ljust(len(content), b"\0")
        assert kept[-1:] != b"\0"
    assert len(files[1]) < len(files[0]) - (10 << 20)
