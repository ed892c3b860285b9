# SPDX-License-Identifier: GPL-2.0-only
"""tools/margay-fleet over logs that are whole, cut, garbled, and of other things."""

import csv
import io
import json
import os
import random
import subprocess
import sys
import zlib

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "margay-fleet")
NODE = {
    "margay": "0.2-x", "able": True, "cpu": "A CPU", "signature": "0x906ea", "microcode": "0xde", "cpus": 8, "tsc_khz": 1,
    "memory": [2**30, 3 * 2**30],
    "pci": [{"address": "0000:00:00.0", "id": "8086:29c0", "class": "060000", "node": -1},
            {"address": "0000:01:00.0", "id": "8086:10d3", "class": "020000", "node": 1, "mac": "52:54:00:12:34:56"}],
    "missing": ["IOMMU", "VT-x, needed"],
}


def block(node, front=""):
    """As a node prints it: an object in several lines, each with something in front."""
    whole = json.dumps(node)
    parts = ["begin"] + [whole[i:i + 60] for i in range(0, len(whole), 60)] + ["end %08x" % zlib.crc32(whole.encode())]
    return "".join("%sjson: %s\r\n" % (front, part) for part in parts)


def fleet(tmp_path, logs, *options):
    """(rows or lines, complaints, status)"""
    for name, text in logs.items():
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    done = subprocess.run([sys.executable, TOOL, *options, *(str(tmp_path / name) for name in logs)],
                          capture_output=True, text=True, check=False)
    out = list(csv.DictReader(io.StringIO(done.stdout))) if "--csv" in options else done.stdout.splitlines()
    return out, done.stderr.replace(str(tmp_path) + "/", "").splitlines(), done.returncode


def test_table(tmp_path):
    other = dict(NODE, able=False, memory=[5 * 2**29], pci=[], missing=[], cpu="Another, longer")
    logs = {"n1.log": "x\n" + block(NODE), "n2": block(other, "[   12.345] ") + "\r\nmargay: y"}
    lines, complaints, status = fleet(tmp_path, logs)
    assert (complaints, status) == ([], 0)
    assert lines == [
        "node  able  cpus  cpu              microcode  memory   by_node           macs               missing",
        "n1    yes   8     A CPU            0xde       4.0 GiB  1.0 GiB, 3.0 GiB  52:54:00:12:34:56  IOMMU; VT-x, needed",
        "n2    no    8     Another, longer  0xde       2.5 GiB  2.5 GiB",
    ]


def test_csv(tmp_path):
    rows, complaints, status = fleet(tmp_path, {"n1.log": block(NODE)}, "--csv")
    assert (complaints, status) == ([], 0)
    assert rows == [{"node": "n1", "able": "yes", "cpus": "8", "cpu": "A CPU", "signature": "0x906ea", "microcode": "0xde",
                     "memory": str(2**32), "by_node": "1073741824 3221225472", "macs": "52:54:00:12:34:56", "functions": "2",
                     "missing": "IOMMU; VT-x, needed", "margay": "0.2-x"}]
    rows, complaints, status = fleet(tmp_path, {"n1.log": block(NODE)}, "--csv", "--pci")
    assert rows[0] == {"node": "n1", "address": "0000:00:00.0", "id": "8086:29c0", "class": "060000", "numa_node": "", "mac": ""}
    assert rows[1]["numa_node"] == "1" and rows[1]["mac"] == "52:54:00:12:34:56" and len(rows) == 2


def test_bad_logs(tmp_path):
    """One clear line each, and the good ones' rows all the same."""
    good = block(NODE)
    deep = "[" * 100000
    deep = "json: begin\njson: %s\njson: end %08x\n" % (deep, zlib.crc32(deep.encode()))
    lines = good.splitlines(keepends=True)
    logs = {
        "good.log": good, "none.log": "margay: nothing\n", "empty.log": "", "cut.log": "".join(lines[:4]),
        "begun.log": lines[0], "lost.log": "".join(lines[:2] + lines[3:]), "flipped.log": good.replace("A CPU", "A CPV"),
        "endless.log": "".join(lines[1:]), "old.log": block({"margay": "0.3"}), "list.log": block([1]),
        "kinds.log": block(dict(NODE, memory=["1G"])), "huge.log": block(dict(NODE, memory=[10**400])),
        "less.log": block(dict(NODE, memory=[-1])), "cpus.log": block(dict(NODE, cpus=10**30)), "deep.log": deep,
        "esc.log": block({"margay": "\x1b[2J\n"}),
        # The last whole one counts, whatever comes behind it, but not in silence.
        "twice.log": good + block(dict(NODE, cpu="Later")), "later.log": good + "".join(lines[:3]),
        "mended.log": "".join(lines[:3]) + good,
    }
    rows, complaints, status = fleet(tmp_path, logs, "--csv")
    assert status == 1
    assert [(row["node"], row["cpu"]) for row in rows] == [("good", "A CPU"), ("twice", "Later"), ("later", "A CPU"),
                                                        ("mended", "A CPU")]
    assert complaints == ["margay-fleet: " + line for line in (
        "none.log: it has no such block: boot the node with check=json",
        "empty.log: it has no such block: boot the node with check=json",
        "cut.log: the block is cut off behind its line 3: take the log again",
        "begun.log: the block is cut off: take the log again",
        "lost.log: the block is damaged: its checksum is wrong; lines: %d: take the log again" % (len(lines) - 3),
        "flipped.log: the block is damaged: its checksum is wrong; lines: %d: take the log again" % (len(lines) - 2),
        "endless.log: it has no such block: boot the node with check=json",
        "old.log: the block is of another version of Margay than this tool: 0.3",
        "list.log: the block is no object",
        "kinds.log: the block is of another version of Margay than this tool: 0.2-x",
        "huge.log: the block is of another version of Margay than this tool: 0.2-x",
        "less.log: the block is of another version of Margay than this tool: 0.2-x",
        "cpus.log: the block is of another version of Margay than this tool: 0.2-x",
        "deep.log: the block is no JSON: nested too deeply: take the log again",
        "esc.log: the block is of another version of Margay than this tool: ?[2J?",
        "later.log: behind a whole block another one: the block is cut off behind its line 2; the row is of the whole one",
    )]
    _, complaints, status = fleet(tmp_path, {"good.log": good}, str(tmp_path / "nothere.log"))
    assert (complaints, status) == (["margay-fleet: nothere.log: No such file or directory"], 1)


def test_texts_are_harmless(tmp_path):
    """What a log says reaches a terminal, and a table of lines."""
    logs = {"a.log": block(dict(NODE, cpu="A\x1b]0;x\x07\nCPU \ud800 \u00e9", microcode="\t1"))}
    lines, complaints, status = fleet(tmp_path, logs)
    assert (complaints, status) == ([], 0) and len(lines) == 2 and "A?]0;x??CPU ? ?" in lines[1] and "  ?1  " in lines[1]
    rows, _, _ = fleet(tmp_path, logs, "--csv")
    assert rows[0]["cpu"] == "A?]0;x??CPU ? ?"


def test_blanks_behind_lines(tmp_path):
    whole = json.dumps(NODE, separators=(",", ":"))
    assert whole[59] != " "
    parts = ["begin", whole[:60], whole[60:], "end %08x" % zlib.crc32(whole.encode())]
    filled = "".join("json: %s       \r\n" % part for part in parts)
    rows, complaints, status = fleet(tmp_path, {"a.log": filled}, "--csv")
    assert (complaints, status, rows[0]["cpu"]) == ([], 0, "A CPU")


def test_names(tmp_path):
    """Logs of one name in folders are told apart."""
    for folder in ("n1", "n2", "n3"):
        (tmp_path / folder).mkdir()
    rows, _, _ = fleet(tmp_path, {"n1/console.log": block(NODE), "n2/console.log": block(NODE), "n3/x.log": block(NODE)}, "--csv")
    assert [row["node"] for row in rows] == ["n1/console", "n2/console", "x"]


def test_closed_pipe(tmp_path):
    (tmp_path / "a.log").write_text(block(NODE))
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, TOOL, str(tmp_path / "a.log")], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.stderr, done.returncode) == (b"", 1)


def test_any_damage(tmp_path):
    """Bytes changed, lost and added at random: the same row or one line, and never anything else."""
    rng = random.Random(1)
    logs = {}
    for i in range(200):
        text = list(block(NODE))
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text))
            text[at:at + rng.randrange(0, 3)] = [chr(rng.randrange(256))] * rng.randrange(0, 3)
        logs["%03d.log" % i] = "".join(text)
    rows, complaints, _ = fleet(tmp_path, logs, "--csv")
    want = fleet(tmp_path, {"w.log": block(NODE)}, "--csv")[0][0]
    assert len(rows) + len(complaints) == 200 and len(complaints) > 100
    assert all(dict(row, node="w") == want for row in rows)
    assert all(line.startswith("margay-fleet: ") for line in complaints)
