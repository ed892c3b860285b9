# SPDX-License-Identifier: GPL-2.0-only
"""The built image's SHA-256 of images that come (vmm/management/sha256.c, arch/x86_64/cpu/sha256.c), executed: right by Python's
hashlib, how many instructions a byte takes, and the vector registers, which are a guest's, are as they were.

On Unicorn's CPU, which has no SHA extensions: those are here, as SDM vol. 2 has them.
"""

import hashlib
import random
import re

import image_code
import pytest

SHA, DIGEST, INPUT = image_code.DATA, image_code.DATA + 0x200, image_code.DATA + 0x1000
WORD = 0xffffffff
# Instructions a byte: 2.5 and 49 with GCC 12.
LIMITS = {"by_extensions": 4, "by_plain_code": 60}
USES_VECTORS = ("by_extensions", "host_fpu_reset", "host_vector_read", "host_vector_write")


def rotated(x, n):
    return (x >> n | x << (32 - n)) & WORD


class Hash(image_code.Run):
    """leaves: {CPUID leaf: (EAX, EBX, ECX, EDX)}."""

    def __init__(self, code, leaves=None):
        super().__init__(code)
        self.leaves = leaves

    def words(self, name):
        """The lowest first."""
        return [self[name] >> 32 * n & WORD for n in range(4)]

    def put(self, name, words):
        self[name] = sum((word & WORD) << 32 * n for n, word in enumerate(words))

    def do_cpuid(self, _):
        for name, value in zip(("rax", "rbx", "rcx", "rdx"), self.leaves.get(self["eax"], (0, 0, 0, 0))):
            self[name] = value

    def do_sha256rnds2(self, operands):
        _, source, target = (name.strip("%") for name in operands.split(","))
        f, e, b, a = self.words(source)
        h, g, d, c = self.words(target)
        for word in self.words("xmm0")[:2]:
            t = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + (e & f ^ ~e & g) + word
            new = t + (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + (a & b ^ a & c ^ b & c)
            a, b, c, d, e, f, g, h = new & WORD, a, b, c, (d + t) & WORD, e, f, g
        self.put(target, (f, e, b, a))

    def do_sha256msg1(self, operands):
        source, target = (name.strip("%") for name in operands.split(","))
        w = self.words(target) + self.words(source)[:1]
        self.put(target, [w[n] + (rotated(w[n + 1], 7) ^ rotated(w[n + 1], 18) ^ w[n + 1] >> 3) for n in range(4)])

    def do_sha256msg2(self, operands):
        source, target = (name.strip("%") for name in operands.split(","))
        w = self.words(source)[2:]
        for n, word in enumerate(self.words(target)):
            w.append((word + (rotated(w[n], 17) ^ rotated(w[n], 19) ^ w[n] >> 10)) & WORD)
        self.put(target, w[2:])

    def hash(self, function, data, *pieces):
        """pieces: how many bytes come at once. Instructions, but for the last padding."""
        self.call("sha256_begin", SHA, self.code.symbol[function] if function == "by_extensions" else 0)
        at, before = 0, self.steps
        for size in pieces:
            self.uc.mem_write(INPUT, data[at:at + size])
            self.call("sha256_add", SHA, INPUT, size)
            at += size
        assert at == len(data)
        steps = self.steps - before
        self.call("sha256_end", SHA, DIGEST)
        assert self.uc.mem_read(DIGEST, 32) == hashlib.sha256(data).digest()
        return steps


@pytest.fixture(scope="module")
def code():
    return image_code.Code()


@pytest.mark.parametrize("function, size", (("by_extensions", 4096), ("by_plain_code", 1024)))
def test_instructions(code, function, size):
    """Of two pieces; the second begins in the middle of a block, as those do that come from the management VM."""
    data = random.Random(1).randbytes(2 * size - 32)
    steps = Hash(code).hash(function, data, size - 16, size - 16)
    assert steps <= LIMITS[function] * len(data)


def test_lengths(code):
    numbers = random.Random(2)
    for size in (0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 200):
        first = numbers.randint(0, size)
        Hash(code).hash("by_extensions", numbers.randbytes(size), first, size - first)


def test_vector_registers(code):
    """XMM0 to XMM7 are as they were, and no others are touched; nothing in the image but what is there for that touches one, so
    whatever interrupts the hash does not. VEX would clear what lies above the 128 bits."""
    world = Hash(code)
    before = {"xmm%d" % n: random.Random(n).getrandbits(128) for n in range(8)}
    for name, value in before.items():
        world[name] = value
    world.hash("by_extensions", bytes(range(200)), 70, 130)
    assert {name: world[name] for name in before} == before
    starts = sorted((at, name) for name, at in code.symbol.items() if at in code.insn)
    users, name = set(), None
    for at in sorted(code.insn):
        while starts and starts[0][0] <= at:
            name = starts.pop(0)[1]
        mnemonic, operands = code.insn[at]
        if any(register in operands for register in ("%xmm", "%ymm", "%zmm", "%mm")):
            users.add(name)
            assert name != "by_extensions" or not mnemonic.startswith("v") and not re.search(r"%[yz]mm|%xmm(?![0-7]\b)", operands)
    assert "by_extensions" in users and all(name.startswith(USES_VECTORS) for name in users)


@pytest.mark.parametrize("max_leaf, ebx7, ecx1, has", ((7, 1 << 29, 1 << 9, True), (0x20, -1 & WORD, -1 & WORD, True),
                                                       (6, 1 << 29, 1 << 9, False), (7, ~(1 << 29) & WORD, 1 << 9, False),
                                                       (7, 1 << 29, ~(1 << 9) & WORD, False)))
def test_choice(code, max_leaf, ebx7, ecx1, has):
    """The CPU has SHA256RNDS2 (CPUID.7.0:EBX[29]) and PSHUFB (CPUID.1:ECX[9]), or plain code is taken."""
    world = Hash(code, {0: (max_leaf, 0, 0, 0), 1: (0, 0, ecx1, 0), 7: (0, ebx7, 0, 0)})
    world.call("host_sha256")
    assert world["rax"] == (code.symbol["by_extensions"] if has else 0)
