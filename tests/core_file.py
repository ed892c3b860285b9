# SPDX-License-Identifier: GPL-2.0-only
"""A core file of Linux', taken apart by the ELF specification and the kernel's struct elf_prstatus."""

import struct

PAGE = 4096
NAMES = ["r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi", None, "rip", "cs",
         "rflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs"]


class Core:
    """segments: (address, size, offset in the file); notes: (name, type, descriptor). data may be its beginning only."""

    def __init__(self, data):
        self.data = data
        assert data[:7] == b"\x7fELF\x02\x01\x01" and struct.unpack_from("<HH", data, 16) == (4, 62)
        count = struct.unpack_from("<H", data, 56)[0]
        heads = [struct.unpack_from("<IIQQQQQQ", data, 64 + 56 * i) for i in range(count)]
        assert [head[0] for head in heads] == [4] + [1] * (count - 1)
        assert all(head[3] == head[4] and head[5] == head[6] and head[2] % PAGE == 0 for head in heads[1:])
        self.segments = [(head[4], head[5], head[2]) for head in heads[1:]]
        self.notes, at, end = [], heads[0][2], heads[0][2] + heads[0][5]
        assert end <= self.segments[0][2]
        while at < end:
            name, size, kind = struct.unpack_from("<III", data, at)
            text = data[at + 12:at + 12 + name]
            at += 12 + (name + 3) // 4 * 4
            self.notes.append((text, kind, data[at:at + size]))
            at += (size + 3) // 4 * 4
        assert at == end

    def memory(self):
        """{address: bytes}"""
        return {at: self.data[offset:offset + size] for at, size, offset in self.segments}

    def registers(self):
        """{name: value} of each thread, by their numbers from 1; None's is the number of a system call."""
        found = [status for name, kind, status in self.notes if (name, kind) == (b"CORE\0", 1)]
        assert [len(status) for status in found] == [336] * len(found)
        assert [struct.unpack_from("<I", status, 32)[0] for status in found] == list(range(1, len(found) + 1))
        return [dict(zip(NAMES, struct.unpack_from("<27Q", status, 112))) for status in found]

    def of_linux(self):
        """What a Linux says of itself (VMCOREINFO), one by one."""
        return [text for name, kind, text in self.notes if (name, kind) == (b"VMCOREINFO\0", 0)]
