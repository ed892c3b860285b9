# SPDX-License-Identifier: GPL-2.0-only
"""The ACPI tables that a machine has in its memory, by QEMU's monitor."""

import struct


def tables_of(monitor):
    """{signature: [table]} by QEMU's memory, the way from the root pointer on."""
    area = monitor.memory(0xE0000, 0x20000)
    root = area[next(at for at in range(0, len(area), 16) if area[at:at + 8] == b"RSD PTR "):]
    rsdt, = struct.unpack_from("<I", root, 16)
    xsdt, = struct.unpack_from("<Q", root, 24) if root[15] >= 2 else (0,)

    def table(address):
        return monitor.memory(address, struct.unpack("<I", monitor.memory(address + 4, 4))[0])

    first = table(xsdt or rsdt)
    found = {first[:4].decode(): [first]}
    for address, in struct.iter_unpack("<Q" if xsdt else "<I", first[36:]):
        data = table(address)
        found.setdefault(data[:4].decode(), []).append(data)
    found["DSDT"] = [table(struct.unpack_from("<I", found["FACP"][0], 40)[0])]
    return found
