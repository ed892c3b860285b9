# SPDX-License-Identifier: GPL-2.0-only
"""tests/machines/dump.py on what a serial line may make of a dump: whatever is lost is named, in one line, and the rest is used.
The replay of recorded dumps (tests/machines/dump-recordings) says what the machine's own report said, and stops at nonsense.
"""

import base64
import glob
import lzma
import os
import re
import subprocess
import sys
import zlib

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
sys.path.insert(0, os.path.join(TOP, "tests", "machines"))

import dump  # noqa: E402

TOOL = os.path.join(TOP, "tools", "margay-replay")
PROGRAM = os.path.join(BUILD, "unit", "replay_machine")
RECORDINGS = sorted(glob.glob(os.path.join(TOP, "tests", "machines", "dump-recordings", "*.xz")))


def name_of(path):
    return os.path.basename(str(path)).split(".")[0]


CONTENT = bytes(range(200)) + bytes(40) + b"end"


def packed(data):
    """Bytes alone, no pairs."""
    data = data.rstrip(b"\0")
    return b"".join(b"\0" + data[at:at + 8] for at in range(0, len(data), 8))


def lines_of(number, text, data=None, pack=packed):
    """An item as the encoder writes it."""
    texts = ["%d %s" % (number, text if data is None else "%s data=%d" % (text, len(data)))]
    if data is not None:
        raw = pack(data)
        cut = [raw[at:at + 45] for at in range(0, len(raw), 45)]
        if not cut or len(cut[-1]) == 45:
            cut.append(b"")
        texts += [base64.b64encode(part).decode() for part in cut]
        texts[-1] += "."
    crc, out = 0, []
    for part in texts:
        crc = zlib.crc32(part.encode(), crc)
        out.append("dump: %s %08x" % (part, crc))
    return out


def whole():
    return (lines_of(0, "host 1 2 3") + lines_of(1, "acpi DSDT 7f00", CONTENT) + lines_of(2, "cpu 0 0 1") +
            lines_of(3, "pci 0000:00:1f.2", bytes(8)) + lines_of(4, "end"))


def read(lines, end="\r\n"):
    return dump.Reader(end.join(lines) + end)


def texts(reader):
    return [item.text for item in reader.items]


ALL = ["host 1 2 3", "acpi DSDT 7f00", "cpu 0 0 1", "pci 0000:00:1f.2", "end"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\r"])
def test_whole(end):
    reader = read(whole(), end)
    assert not reader.problems and texts(reader) == ALL
    assert [item.data for item in reader.items] == [None, CONTENT, None, bytes(8), None]


def test_among_other_lines():
    """Lines of others between, a time in front, colours: what terminals and consoles make of it."""
    lines = [part for line in whole() for part in ("margay: something", "2027-01-02 03:04:05 node7 \x1b[0m" + line, "[vm0] text")]
    reader = read(["check: ok       x", *lines])
    assert not reader.problems and texts(reader) == ALL and reader.items[1].data == CONTENT
    assert "check: ok       x" in reader.lines and "[vm0] text" in reader.lines


def test_pairs():
    assert dump.unpack(bytes([2, 65, 0x00, 0x08]), 5) == b"AAAAA"
    assert dump.unpack(bytes([4, 65, 66, 0x01, 0x00, 67]), 9) == b"ABABAC\0\0\0"
    assert dump.unpack(b"", 3) == bytes(3)
    for bad in (bytes([1, 0, 0]), bytes([2, 65, 1, 0]), bytes([2, 65, 0]), bytes([2, 65, 0, 0xf8])):
        with pytest.raises(dump.Broken):
            dump.unpack(bad, 5)


def only(lines, pattern, left):
    reader = read(lines)
    assert len(reader.problems) == 1 and re.search(pattern, reader.problems[0]), reader.problems
    assert texts(reader) == left


def test_each_character_and_line():
    """Whichever character is lost or changed, and whichever line: never unnoticed, and no wrong item."""
    lines = whole()
    good = {item.text: item.data for item in read(lines).items}
    for i, line in enumerate(lines):
        changed = [lines[:i] + lines[i + 1:]]
        for at in range(len(line)):
            other = "x" if line[at] != "x" else "y"
            changed += [lines[:i] + [line[:at] + middle + line[at + 1:]] + lines[i + 1:] for middle in ("", other)]
        for version in changed:
            reader = read(version)
            # One of a run of the same characters is no loss only in front of the dump's own word.
            assert reader.problems, version[i:i + 1]
            assert all(good.get(item.text, b"?") == item.data for item in reader.items)


def test_names():
    lines = whole()
    item = r"item 1, acpi DSDT 7f00: "
    rest = [text for text in ALL if "DSDT" not in text]
    only(lines[:3] + [lines[3][:30] + "/" + lines[3][31:]] + lines[4:], "^line 4: " + item + "this line is damaged", rest)
    only(lines[:3] + lines[4:], item + "this line is damaged, or one before it is lost", rest)
    last = next(i for i, line in enumerate(lines) if i > 1 and "." in line)
    only(lines[:last] + lines[last + 1:], item + "its last lines are missing", rest)
    only(lines[:1] + lines[last + 1:], "item 1 is missing, between item 0, host 1 2 3 and item 2, cpu 0 0 1$", rest)
    only(lines[:1] + lines[last + 4:], "items 1 to 3 are missing, between item 0, host 1 2 3 and item 4, end$", [ALL[0], "end"])
    only(lines[:-1], "no end: the file is cut behind item 3, pci 0000:00:1f.2$", ALL[:-1])
    only(["margay: x"], "no dump is in this file: boot with check=dump", [])
    # In two: the first line of an item, and with it that one.
    reader = read(lines[:1] + [lines[1][:12], lines[1][12:]] + lines[2:])
    assert any("item 1 is missing" in problem for problem in reader.problems) and texts(reader) == rest


def test_nonsense():
    big = lines_of(1, "acpi X 0 data=99999999999") + lines_of(2, "end")
    assert any("99999999999 bytes make no sense" in p for p in read(lines_of(0, "a") + big).problems)
    only(lines_of(0, "a", b"abc", lambda data: bytes([1, 9, 9])) + lines_of(1, "end"), "goes back before its beginning", ["end"])
    only(lines_of(0, "a", b"abc", lambda data: packed(b"abcd")) + lines_of(1, "end"), "longer than the 3 bytes", ["end"])
    only(lines_of(0, "a", b"abc", lambda data: bytes([2, 65, 0])) + lines_of(1, "end"), "ends within a pair", ["end"])


def test_second_boot():
    """The last one counts."""
    reader = read(whole()[:7] + ["margay: Margay"] + whole())
    assert not reader.problems and texts(reader) == ALL


def tool(path, *arguments):
    return subprocess.run([sys.executable, TOOL, "--program", PROGRAM, *arguments, str(path)], capture_output=True, text=True,
                          timeout=300, check=False)


def unpacked(path, folder):
    out = folder / "log"
    out.write_bytes(lzma.open(path).read())
    return out


def test_no_file(tmp_path):
    done = tool(tmp_path / "none")
    assert done.returncode == 1 and done.stderr == "margay-replay: %s/none: No such file or directory\n" % tmp_path
    (tmp_path / "empty").write_text("margay: x\n")
    done = tool(tmp_path / "empty")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "no dump is in this file" in done.stderr


def test_there_are_recordings():
    assert len(RECORDINGS) >= 2


@pytest.mark.parametrize("path", RECORDINGS, ids=name_of)
def test_recorded(path, tmp_path):
    done = tool(unpacked(path, tmp_path), "--extract", str(tmp_path / "out"))
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert re.search(r"^replay: the machine's own report says the same: [1-9]\d+ lines$", done.stdout, re.M)
    assert (tmp_path / "out" / "DSDT.dat").stat().st_size > 1000 and (tmp_path / "out" / "lspci.txt").read_text("ascii")


@pytest.mark.parametrize("path", RECORDINGS, ids=name_of)
def test_less_than_all(path, tmp_path):
    """Without any one of its items: a line for what is missing; the program ends well, or says what it cannot do without."""
    lines = [line for line in lzma.open(path, "rt", encoding="latin-1", newline="").read().split("\n")]
    first = [i for i, line in enumerate(lines) if re.match(r"dump: \d+ ", line)]
    kinds = set()
    for begin, end in zip(first, first[1:]):
        kind = " ".join(lines[begin].split()[2:4])[:9]
        if kind in kinds:
            continue
        kinds.add(kind)
        out = tmp_path / "less"
        out.write_text("\n".join(lines[:begin] + lines[end:]), encoding="latin-1")
        done = tool(out)
        assert done.returncode in (1, 2) and "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        said = done.stderr.splitlines()
        assert " is missing, between " in said[0] and len(said) == (3 if done.returncode == 2 else 1), (kind, done.stderr)
    assert len(kinds) > 10
