# SPDX-License-Identifier: GPL-2.0-only
"""casync's index of a blob (.caibx): which chunks, of what sizes, a file is put together of.

48 bytes: size of these, magic, flags, smallest, average and largest chunk. 16: size (unknown), magic. For each chunk
40: where it ends in the file, and its id, the SHA-256 of its bytes. 40 at the end: 0, 0, where the table begins, its
size, magic. All numbers have 64 bits, little-endian.
"""

import struct

from .errors import ImageError

HEADER = struct.Struct("<6Q")
TABLE = struct.Struct("<2Q")
ITEM = struct.Struct("<Q32s")
TAIL = struct.Struct("<5Q")
HEADER_MAGIC = 0x96824d9c7b129ff9
TABLE_MAGIC = 0xe75b9e112f17417d
TAIL_MAGIC = 0x4b4f050e5549ecd1
SHA512_256 = 0x2000000000000000
UNKNOWN = 2**64 - 1

SMALLEST, AVERAGE, LARGEST = 16 << 10, 64 << 10, 256 << 10


def limit(size):
    """No index of a file of this size is longer: each chunk but the last has at least the smallest size."""
    return HEADER.size + TABLE.size + TAIL.size + ITEM.size * (size // SMALLEST + 1)


def parse(data, what, size):
    """[(id, bytes)] of an index; size: what its file must have."""
    def refuse(why):
        raise ImageError("%s: %s" % (what, why))
    fixed = HEADER.size + TABLE.size + TAIL.size
    if len(data) < fixed or (len(data) - fixed) % ITEM.size:
        refuse("no index: %d bytes" % len(data))
    header, magic, flags, *sizes = HEADER.unpack_from(data)
    if (header, magic) != (HEADER.size, HEADER_MAGIC) or TABLE.unpack_from(data, HEADER.size) != (UNKNOWN, TABLE_MAGIC):
        refuse("no index of casync")
    if flags & SHA512_256:
        refuse("chunks are named by SHA-512/256, not SHA-256")
    if sizes != [SMALLEST, AVERAGE, LARGEST]:
        refuse("chunks of %d to %d bytes, not of %d to %d" % (sizes[0], sizes[2], SMALLEST, LARGEST))
    end = len(data) - TAIL.size
    if TAIL.unpack_from(data, end) != (0, 0, HEADER.size, len(data) - HEADER.size, TAIL_MAGIC):
        refuse("the end of the index is damaged")
    chunks, before = [], 0
    for after, name in ITEM.iter_unpack(data[HEADER.size + TABLE.size:end]):
        if not 0 < after - before <= LARGEST:
            refuse("a chunk of %d bytes" % (after - before))
        chunks.append((name.hex(), after - before))
        before = after
    if before != size:
        refuse("its chunks are %d bytes together, the file has %d" % (before, size))
    return chunks
