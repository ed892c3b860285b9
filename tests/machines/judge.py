# SPDX-License-Identifier: GPL-2.0-only
"""Lets the image's readers read a recorded machine, and compares what they say with what other readers know of it.

A recording is a file of JSON, compressed by xz: where the machine is from; its
tables, in hexadecimal; PCI functions, each with the bridges above it, as
tests/unit/read_machine.c takes them; facts, by other readers than the image's;
and which of these the image's readers are known not to know.
"""

import collections
import json
import lzma
import os
import subprocess
import tempfile

BATCH = 80  # functions at a time; each has at most five bridges above it, and read_machine takes 512


def save(path, recording):
    with lzma.open(path, "wt", encoding="utf-8", preset=9) as f:
        json.dump(recording, f)


def load(path):
    with lzma.open(path, "rt", encoding="utf-8") as f:
        return json.load(f)


class Crash(Exception):
    """read_machine did not end well; the sanitizers' words."""


def read(program, recording, facts=None):
    """What the image's readers say, with a module of facts: subject -> value."""
    said, functions = {}, recording["functions"]
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("tables", "functions")]
        with open(paths[0], "wb") as f:
            f.write(b"".join(bytes.fromhex(data) for _, data in recording["tables"]))
        if facts:
            paths.append(os.path.join(folder, "facts"))
            with open(paths[2], "w", encoding="ascii") as f:
                f.write(facts)
        for start in range(0, max(len(functions), 1), BATCH):
            part = functions[start:start + BATCH]
            bridges = dict.fromkeys(line for above, _ in part for line in above)
            with open(paths[1], "w", encoding="ascii") as f:
                f.writelines(line + "\n" for line in list(bridges) + [line for _, line in part])
            done = subprocess.run([program] + paths, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Crash(done.stderr)
            said.update(line.split(" =", 1) for line in done.stdout.splitlines())
    return {subject: value.strip() for subject, value in said.items() if subject != "-"}


def kind(subject):
    """The kind of a fact: "madt", "root", "windows", "route" of a root's own bus, "bridge" of one behind a bridge, ..."""
    word = subject.replace(":", " ").split()[0]
    return "bridge" if word == "route" and subject.split("/")[0].count(".") > 1 else word


def known(value):
    return value != "unknown" and not value.startswith("refused")


def judge(facts, said):
    """(kind -> [facts, known to the image, right, wrong], [(subject, fact, said)] of the wrong ones, subjects it does not know)."""
    counts, wrong, unknown = collections.defaultdict(lambda: [0, 0, 0, 0]), [], []
    for subject, fact in facts.items():
        got = said.get(subject, "unknown")
        count = counts[kind(subject)]
        count[0] += 1
        count[1] += known(got)
        if got == fact:
            count[2] += 1
        elif known(got):
            count[3] += 1
            wrong.append((subject, fact, got))
        else:
            unknown.append(subject)
    return dict(counts), wrong, unknown
