# SPDX-License-Identifier: GPL-2.0-only
"""What stands on a QEMU machine's screen, read from a screenshot by the font that the image draws with; and what should,
by what the serial line had."""

import importlib.machinery
import importlib.util
import os
import re
import time

import node
import qemu_lost

WIDTH, HEIGHT = 8, 16
UNKNOWN = "\x00"
# Of what is on and what is off; the brightest of a channel of 5 bits and more is no less.
INK = 0x80


def font():
    """{a glyph's lines as text of 0 and 1: its character}"""
    path = os.path.join(node.TOP, "tools", "mkfont")
    loader = importlib.machinery.SourceFileLoader("mkfont", path)
    mkfont = importlib.util.module_from_spec(importlib.util.spec_from_loader("mkfont", loader))
    loader.exec_module(mkfont)
    return {"".join("{:08b}".format(line) for line in glyph): chr(mkfont.FIRST + i) for i, glyph in enumerate(mkfont.glyphs())}


GLYPHS = font()


def read_ppm(path):
    """(width, height, a text of 0 and 1) of a picture as QEMU writes it."""
    with open(path, "rb") as f:
        magic, width, height, depth = (f.readline() + f.readline() + f.readline()).split()
        pixels = f.read()
    assert (magic, depth) == (b"P6", b"255")
    width, height = int(width), int(height)
    assert len(pixels) == 3 * width * height
    bits = bytes(b"01"[value >= INK] for value in range(256))
    return width, height, pixels[1::3].translate(bits).decode()


def read_text(path):
    """The lines of a picture, as far as it is text; a cell that is no character is UNKNOWN."""
    width, height, bits = read_ppm(path)
    lines = []
    for top in range(0, height // HEIGHT * HEIGHT, HEIGHT):
        rows = [bits[(top + y) * width : (top + y + 1) * width] for y in range(HEIGHT)]
        cells = ("".join(row[x : x + WIDTH] for row in rows) for x in range(0, width // WIDTH * WIDTH, WIDTH))
        lines.append("".join(GLYPHS.get(cell, UNKNOWN) for cell in cells))
    return lines


def shot(running, name):
    """The screen's lines now."""
    path = os.path.join(node.LOGS, name + ".ppm")
    with qemu_lost.Monitor(running.qmp) as monitor:
        monitor.ask("screendump", filename=path)
    return [without_time(line) for line in read_text(path)]


def without_time(line):
    """As the text of a node has it; on the screen the line is broken with it."""
    return re.sub(r"^\[ *\d+\.\d{3}\] ", "", line)


def geometry(running):
    """(columns, rows) as the log says them."""
    found = re.search(r"^margay: screen: \d+x\d+ pixels of \d+ bits at 0x[0-9a-f]+: (\d+)x(\d+) characters\r$", running.text, re.M)
    assert found, running.tail()
    return int(found[1]), int(found[2])


def expected(text, columns, rows):
    """What a terminal of this size shows of the serial line's text: its last lines."""
    begin = text.index("[    0.000] margay: Margay ")
    lines = []
    for line in text[begin:].replace("\r", "").split("\n"):
        lines += [line[i : i + columns] for i in range(0, len(line), columns)] or [""]
    lines += [""] * (rows - len(lines))
    return [without_time(line.ljust(columns)) for line in lines[-rows:]]


def wait_until(running, name, seconds, shows):
    """The screen's lines once shows(lines) is true, or what they were at last: the caller's assert tells."""
    end = time.monotonic() + seconds
    while True:
        lines = shot(running, name)
        if shows(lines) or time.monotonic() > end:
            return lines
        time.sleep(0.2)


def is_the_log(running, name, seconds=60):
    """The screen shows exactly the end of what the serial line had, which stands still by now."""
    size = geometry(running)
    lines = wait_until(running, name, seconds, lambda lines: lines == expected(running.raw, *size))
    assert lines == expected(running.raw, *size)
    assert UNKNOWN not in "".join(lines)
    return lines
