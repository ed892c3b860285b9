# SPDX-License-Identifier: GPL-2.0-only
"""Reads the dump of a hardware check (`check=dump`, docs/hardware.md) out of what came over a serial line.

The form is that of vmm/report/hwcheck_encode.h. Other lines may stand between, and
anything in front of "dump: ". Whatever was lost on the way is said, item by item.
"""

import base64
import binascii
import re
import zlib

LINE = re.compile(r"(?:^|.*?[^\w])dump: (.*?) ([0-9a-f]{8})$")
ITEM = re.compile(r"(\d+) (.*?)(?: data=(\d+))?$")
DATA = re.compile(r"([A-Za-z0-9+/]*=*)(\.?)$")
SIZE_MAX = 16 << 20


class Item:
    """Its number and text; its bytes, or None; line: where in the file."""

    def __init__(self, number, text, data, line):
        self.number, self.text, self.data, self.line = number, text, data, line


class Broken(Exception):
    """An item that is not whole, in words."""


def unpack(packed, size):
    """What put_data() packed; zeros that were left out come back."""
    out, at = bytearray(), 0
    while at < len(packed):
        flags = packed[at]
        at += 1
        for bit in range(8):
            if at >= len(packed):
                break
            if not flags >> bit & 1:
                out.append(packed[at])
                at += 1
                continue
            if at + 1 >= len(packed):
                raise Broken("it ends within a pair")
            pair = packed[at] | packed[at + 1] << 8
            at += 2
            back = (pair & 0x7ff) + 1
            if back > len(out):
                raise Broken("a pair goes back before its beginning")
            for _ in range((pair >> 11) + 3):
                out.append(out[-back])
        if len(out) > size:
            break
    if len(out) > size:
        raise Broken("it is longer than the %d bytes that it should have" % size)
    return bytes(out) + bytes(size - len(out))


class Reader:
    """One file: `items` that are whole, `problems` in words, `lines` that are no part of the dump."""

    def __init__(self, text):
        self.items, self.problems, self.lines = [], [], []
        self.open = None  # [number, text, size, line, CRC, packed, broken, whole]
        self.next, self.ended, self.skipping = 0, False, False
        for number, line in enumerate(re.split(r"\r*\n|\r", text), 1):
            line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip()
            match = LINE.match(line)
            if match:
                self.take(number, match[1], int(match[2], 16))
            elif "dump: " in line and (self.open or self.next) and not self.ended:
                self.problem(number, "this line of the dump is damaged", line)
            else:
                self.lines.append(line)
        self.close()
        if not self.next and not self.problems:
            self.problems.append("no dump is in this file: boot with check=dump")
        elif not self.ended:
            self.problems.append("the dump has no end: the file is cut behind %s" % self.last())

    def last(self):
        return "item %d, %s" % (self.items[-1].number, self.items[-1].text) if self.items else "its beginning"

    def problem(self, line, what, text=""):
        self.problems.append("line %d: %s%s" % (line, what, ": " + text[:100] if text else ""))
        if self.open:
            self.open[6] = True

    def take(self, line, text, crc):
        item = ITEM.match(text)
        if item and " " in text:
            self.begin(line, item, text, crc)
        elif not DATA.match(text) or self.open and self.open[7]:
            self.problem(line, "this line of the dump is damaged", "dump: " + text)
        elif not self.open:
            if not self.skipping:
                self.problem(line, "bytes of an item whose first line is not there")
            self.skipping = True
        elif not self.open[6]:
            want = zlib.crc32(text.encode("ascii"), self.open[4])
            digits, end = DATA.match(text).groups()
            try:
                packed = base64.b64decode(digits, validate=True)
            except binascii.Error:
                packed = None
            if want != crc or packed is None:
                self.problem(line, "item %d, %s: this line is damaged, or one before it is lost" % tuple(self.open[:2]))
            else:
                self.open[4:6] = crc, self.open[5] + packed
                self.open[7] = bool(end)

    def begin(self, line, item, text, crc):
        self.close()
        if zlib.crc32(text.encode("ascii")) != crc:
            self.problem(line, "this line of the dump is damaged", "dump: " + text)
            # Its bytes, if it has any, are nobody's.
            self.skipping = True
            return
        number, name, size = int(item[1]), item[2], item[3]
        if number == 0 and self.next:
            # The node was started again: the last dump counts.
            self.items, self.problems, self.next, self.ended = [], [], 0, False
        if number != self.next:
            what = "item %d is" % self.next if number == self.next + 1 else "items %d to %d are" % (self.next, number - 1)
            self.problems.append("line %d: %s missing, between %s and item %d, %s" % (line, what, self.last(), number, name))
        self.next, self.skipping = number + 1, False
        if size is None:
            self.items.append(Item(number, name, None, line))
        elif int(size) > SIZE_MAX:
            self.problem(line, "item %d, %s: %s bytes make no sense" % (number, name, size))
        else:
            self.open = [number, name, int(size), line, crc, b"", False, False]
        self.ended = name == "end"

    def close(self):
        if not self.open:
            return
        number, name, size, line, _, packed, broken, whole = self.open
        self.open = None
        if broken:
            return
        try:
            if not whole:
                raise Broken("its last lines are missing")
            self.items.append(Item(number, name, unpack(packed, size), line))
        except Broken as why:
            self.problems.append("line %d: item %d, %s: %s" % (line, number, name, why))

    def find(self, *words):
        """The items whose text begins with these words."""
        wanted = " ".join(words)
        return [i for i in self.items if i.text == wanted or i.text.startswith(wanted + " ")]
