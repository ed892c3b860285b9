# SPDX-License-Identifier: GPL-2.0-only
"""tools/mksyms: what it packs is what nm says, read back by the layout that kernel/errors/symbols.c documents."""

import os
import random
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = ["vcpu", "pci", "config", "read", "write", "margay", "stage2", "unlock", "x", "_"]


def table(tmp_path, functions):
    """The section's bytes, of an object with these [(distance, name)]; or what the tool says that it does not do."""
    text = "image_start:\n"
    for distance, name in functions:
        text += f"\t.skip {distance}\n{name}:\n"
    source, thing = tmp_path / "a.S", tmp_path / "a.o"
    source.write_text("\t.text\n" + text + "\t.skip 16\ntext_end:\n")
    subprocess.run(["gcc", "-c", "-o", thing, source], check=True)
    done = subprocess.run([os.path.join(TOP, "tools", "mksyms"), thing], capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    source.write_text(done.stdout)
    subprocess.run(["gcc", "-c", "-o", thing, source], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".margay_symtab", thing, tmp_path / "bin"], check=True)
    return (tmp_path / "bin").read_bytes()


def unpack(data):
    def text(code):
        first, second = data[2 * code:2 * code + 2]
        return text(first) + text(second) if second else chr(first)

    at, found = 512, []
    while at < len(data):
        distance = data[at] & 127
        while data[at] & 128:
            at += 1
            distance = distance * 128 + data[at] % 128
        codes = data[at + 2:at + 2 + data[at + 1]]
        at += 2 + len(codes)
        found.append((distance, "".join(map(text, codes))))
    return found


def test_all_names_come_back(tmp_path):
    some = random.Random(1)
    distances = [1, 16, 127, 128, 300, 16383, 16384, 40000]
    functions = [(some.choice(distances), f"{'_'.join(some.choices(WORDS, k=4))}_{n}") for n in range(600)]
    packed = table(tmp_path, functions)
    assert unpack(packed) == functions
    assert len(packed) < sum(3 + len(name) for _, name in functions) // 2


def test_few_names(tmp_path):
    assert unpack(table(tmp_path, [(0, "f"), (3, "g")])) == [(0, "f"), (3, "g")]


def test_longest_name(tmp_path):
    assert unpack(table(tmp_path, [(0, "n" * 63)])) == [(0, "n" * 63)]
    assert table(tmp_path, [(0, "n" * 64)]) == f"mksyms: {'n' * 64}: a name has at most 63 characters\n"
