#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes decode_vectors.h: instruction bytes with the length that objdump gives them.

The bytes are made by walking every opcode of every map with random prefixes,
ModRM, SIB and operands, in the three modes; GNU binutils, which shares nothing
with vmm/emulate/decode*.c, says how long each is. What objdump calls bad, or prints as
a lone prefix, is left out. Usage: gen_decode_vectors.py > decode_vectors.h
"""
import random
import re
import subprocess
import tempfile

MODES = [("MODE_16", ["-m", "i8086"]), ("MODE_32", ["-m", "i386"]),
         ("MODE_64", ["-m", "i386:x86-64", "-M", "intel64"])]
SLOT = 48  # bytes per candidate: the instruction, then NOPs to come back into step
PREFIX_ONLY = {"lock", "rep", "repz", "repnz", "data16", "data32", "addr16", "addr32", "cs", "ds", "es", "fs", "gs",
               "ss", "bnd", "notrack", "xacquire", "xrelease"}
LEGACY_PREFIXES = [0x66, 0x67, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65]


def tail(rng, n):
    return [rng.randrange(256) for _ in range(n)]


def candidates(rng, mode):
    """Instruction candidates of 15 bytes, several per opcode."""
    for escape, repeat in (([], 3), ([0x0F], 2), ([0x0F, 0x38], 1), ([0x0F, 0x3A], 1)):
        for opcode in range(256):
            for _ in range(repeat):
                prefixes = rng.sample(LEGACY_PREFIXES, rng.choice([0, 0, 1, 1, 2]))
                if mode == "MODE_64" and rng.random() < 0.5:
                    prefixes.append(rng.randrange(0x40, 0x50))
                yield (prefixes + escape + [opcode] + tail(rng, 15))[:15]
    for opcode in range(256):
        r = 0 if mode == "MODE_64" and rng.random() < 0.5 else 0xC0
        yield ([0xC5, rng.randrange(64) | r | 0x80 * (mode == "MODE_64"), opcode] + tail(rng, 15))[:15]
        yield ([0xC4, rng.choice([1, 2, 3]) | 0xE0, rng.randrange(128), opcode] + tail(rng, 15))[:15]
        yield ([0x62, 0xF0 | rng.choice([1, 2, 3, 5, 6]), rng.randrange(256) | 4, rng.randrange(256) | 8,
                opcode] + tail(rng, 15))[:15]
        yield ([0x8F, rng.choice([8, 9, 10]) | 0xE0, rng.randrange(128) & 0x7B, opcode] + tail(rng, 15))[:15]


def objdump(args, blob):
    """{offset: (length, mnemonic)}"""
    with tempfile.NamedTemporaryFile(suffix=".bin") as f:
        f.write(blob)
        f.flush()
        text = subprocess.run(["objdump", "-D", "-b", "binary", "--insn-width=16", *args, f.name],
                              check=True, capture_output=True, text=True).stdout
    out = {}
    for line in text.splitlines():
        m = re.match(r"\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*)", line)
        if m:
            out[int(m[1], 16)] = (len(m[2].split()), m[3])
    return out


def usable(text):
    words = text.split()
    if "(bad)" in text or ".byte" in text:
        return False
    # The 386's test registers, VIA's PadLock, and encodings that objdump prints although they raise #UD
    # (LOCK where it is not allowed, REX, 66, F2, F3 before VEX) are not instructions of the CPUs that Margay runs on.
    if re.search(r"%tr\d|lock|montmul|xsha|xcrypt|xstore|(rex|rep|data16|bnd).* v", text):
        return False
    rest = [w for w in words if w not in PREFIX_ONLY and not w.startswith("rex")]
    return bool(rest)


def main():
    print("/* SPDX-License-Identifier: GPL-2.0-only */")
    print("/* Made by gen_decode_vectors.py from GNU objdump: {mode, length, bytes}. */")
    rng = random.Random(20240229)
    for mode, args in MODES:
        cand = list(candidates(rng, mode))
        blob = b"".join(bytes(c) + b"\x90" * (SLOT - len(c)) for c in cand)
        lengths = objdump(args, blob)
        seen = set()
        for i, c in enumerate(cand):
            length, text = lengths.get(i * SLOT, (0, "(bad)"))
            if not usable(text) or length > 15:
                continue
            data = bytes((c + [0x90] * 15)[:length])
            if data not in seen:
                seen.add(data)
                print("{ %s, %d, \"%s\" }," % (mode, length, "".join("\\x%02x" % b for b in data)))


if __name__ == "__main__":
    main()
