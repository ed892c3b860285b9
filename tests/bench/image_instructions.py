#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a byte of an image costs a node, in instructions outside Linux, counted by valgrind: the code of `margay-image-pull`.

    image_instructions.py [--megabytes 2] [--functions N] [--root FILE]       prints a table; status 1: the goal is missed

Each part runs twice, with an image and with one that is as large again, and what the second takes more is divided by its further
bytes: so what a pull costs at all counts as nothing. The server, the node, which is that of the tests, and the program `margay` are
not counted. Valgrind's CPU has no SHA extensions: what the library of the hash takes is a column of its own, and no measure. Copies
are by vector instructions, since valgrind counts each step of a REP MOVSB. What happens every quarter of a second, bytes or none,
happens 50 times as rarely, as valgrind is about as slow as that.
"""

import argparse
import asyncio
import collections
import ctypes
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "unit")]

import client_node  # noqa: E402
import image_servers as servers  # noqa: E402
import image_stores as stores  # noqa: E402
from margay_images import node_config, pull, request, swarm  # noqa: E402

SLOWER = 50
# Valgrind counts from begin() on; end() writes what it has counted.
MARKS = """#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(void) { CALLGRIND_DUMP_STATS; CALLGRIND_STOP_INSTRUMENTATION; }
"""
PARTS = ("from the store into the cache", "from the cache into the node", "from the store into the node")
GOAL = 1.5
# By the object, or the function, that an instruction is of; what is left is Python.
KINDS = (("hash", "libcrypto"), ("zstd", "libzstd"), ("copies", "memmove|memcpy|memset"), ("python", ""))
TUNABLES = "glibc.cpu.x86_rep_movsb_threshold=0x7fffffff:glibc.cpu.x86_rep_stosb_threshold=0x7fffffff"


class ForgetfulMemory(client_node.ImageMemory):
    """It has no file that it is told of."""

    def __call__(self, what, text):
        if what == client_node.IMAGE:
            self.contents, self.names = {}, {}
        return super().__call__(what, text)


async def pull_parts(folder, marks):
    """Of both images, what valgrind counts; prints how many chunks and bytes they have."""
    for image in "first:1", "few:1", "many:1":
        for node, cache_only in ("one", True), ("one", False), ("other", False):
            config = node_config.Config(os.path.join(folder, node, "images.conf"))
            config.port = 0
            async with pull.Node(config) as one:
                marks.begin()
                done = await pull.Pull(one, request.Request(image, cache_only=cache_only)).run()
                marks.end()
        print(done["chunks"], done["size"])


def counted(path):
    """{(object, function): instructions} of a file of callgrind's."""
    names, found, where = {}, collections.Counter(), {"ob": "", "fn": ""}
    inclusive = False
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            named = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?", line)
            if named:
                called, kind, number, name = named.groups()
                if name:
                    names[kind, number] = name
                if not called:
                    where[kind] = names[kind, number]
            elif line.startswith("calls="):
                inclusive = True
            elif line[0] in "0123456789+-*":
                if not inclusive:
                    found[where["ob"], where["fn"]] += int(line.split()[1])
                inclusive = False
    return found


def root_of(args, times):
    size = int(times * args.megabytes * 1e6)
    if not args.root:
        return random.Random(times).randbytes(size)
    with open(args.root, "rb") as f:
        return f.read(size)


def measured(folder, args):
    """For each image ([what each part takes], chunks, bytes)."""
    key = stores.Key(os.path.join(folder, "keys"), "one")
    # What only the first pull of a process does is not counted.
    for times, name in (0.1, "first"), (1, "few"), (2, "many"):
        image = stores.make_image(os.path.join(folder, name), name=name, root=root_of(args, times))
        stores.pushed(os.path.join(folder, "store"), image, key.secret)
    server = servers.Server(os.path.join(folder, "store"))
    for node in "one", "other":
        servers.configure(os.path.join(folder, node), server.url, key.folder, timeout=600)
    marks = os.path.join(folder, "marks.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", marks], input=MARKS, text=True, check=True)
    node = client_node.Node(ForgetfulMemory())
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=%s/count" % folder,
               "/usr/bin/python3", os.path.abspath(__file__), "--pull", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "MARGAY_PORT": node.path, "GLIBC_TUNABLES": TUNABLES})
    server.end()
    if done.returncode:
        sys.exit("image_instructions: %s%s" % (done.stdout, done.stderr))
    parts = [counted("%s/count.%d" % (folder, len(PARTS) + number + 1)) for number in range(2 * len(PARTS))]
    _, few, many = ([int(word) for word in line.split()] for line in done.stdout.splitlines())
    return (parts[:len(PARTS)], *few), (parts[len(PARTS):], *many)


def kind_of(where):
    return next(kind for kind, pattern in KINDS if re.search(pattern, where[1]) or re.search(pattern, where[0]))


def show(what, found, size, chunks, functions):
    """Prints a row; the instructions beside the hash."""
    kinds = collections.Counter()
    for where, count in found.items():
        kinds[kind_of(where)] += count
    beside = (sum(kinds.values()) - kinds["hash"]) / size
    print("%-30s %s %8.3f" % (what, " ".join("%8.3f" % (kinds[kind] / size) for kind, _ in KINDS), beside))
    for where, count in found.most_common(functions):
        print("    %9.0f a chunk  %s  %s" % (count / chunks, where[1], os.path.basename(where[0])))
    return beside


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=2, help="of the smaller image's root (%(default)s)")
    parser.add_argument("--root", metavar="FILE", help="its bytes; else random ones, as of what cannot be packed further")
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="of each part those N that take most")
    parser.add_argument("--pull", metavar="FOLDER", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.pull:
        swarm.TICK_S *= SLOWER
        asyncio.run(pull_parts(args.pull, ctypes.CDLL(os.path.join(args.pull, "marks.so"))))
        return False
    with tempfile.TemporaryDirectory(dir="/dev/shm") as top:
        (few, few_chunks, few_bytes), (many, many_chunks, many_bytes) = measured(top, args)
    size, chunks = many_bytes - few_bytes, many_chunks - few_chunks
    print("%d further bytes in %d chunks; instructions a byte:" % (size, chunks))
    print("%-30s %s   beside the hash" % ("", " ".join("%8s" % kind for kind, _ in KINDS)))
    worst = 0
    for what, less, more in zip(PARTS, few, many):
        more.subtract(less)
        worst = max(worst, show(what, more, size, chunks, args.functions))
    print("goal: at most %.1f beside the hash" % GOAL)
    return worst > GOAL


if __name__ == "__main__":
    sys.exit(main())
