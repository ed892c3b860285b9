# SPDX-License-Identifier: GPL-2.0-only
"""A node that is none, for the client of the management VM (tools/client): a pseudo-terminal that answers as
docs/management-vm.md has it."""

import contextlib
import errno
import hashlib
import os
import struct
import subprocess
import threading
import tty

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build"))
CLIENT = os.path.join(BUILD, "margay")
HEAD = struct.Struct("<IHHII")
MAGIC = 0x5947524D
HELLO, LIST, SHOW, NODE, STATS, START, STOP, PRESS, NMI, FILE, COUNTS = 1, 2, 3, 4, 7, 10, 11, 25, 26, 27, 28
LOG_FROM, EVENTS, NET = 29, 30, 31
IMAGE, DATA, IMAGE_END = 18, 19, 20
EPERM, ENOENT, ENXIO, ENODEV, EINVAL, ENOSYS = 1, 2, 6, 19, 22, 38
ODD = 'o"d\\d'
LINES = {
    HELLO: "margay=0.2~1\tprotocol=1\tcommander=management\tmay=create\tmemory=1073741824\tmemory_used=4096\trefused=2\n",
    LIST: "".join("name=%s\tstate=%s\tcpus=%d\tmemory=%d\tup=%d\tstarts=%d\tfile=%s.conf\tcreated=yes\tcommands=no\n" % vm
                  for vm in [
        ("a", "running", 2, 64 << 20, 17, 3, "a"), (ODD, "exit", 1, 32 << 20, 0, 1, "odd"), ("gone", "running", 1, 1, 1, 1, "g")]),
    NODE: "node=0\tmemory=1000\tfree=600\tlargest=500\nnode=1\tmemory=2000\tfree=0\tlargest=0\nown=300\tused=200\n"
          "cpu=0\tapic=0\tnode=0\tonline=yes\towner=a\ncpu=1\tapic=2\tnode=1\tonline=no\towner=\n",
    COUNTS: "corrected=3\tuncorrected=1\nfunction=0000:01:00.0\tblocked_dma=5\tblocked_interrupts=6\n"
            "vm=a\tended=poweroff\tcount=2\nvm=a\tended=not-started\tcount=1\n"
            "vm=a\tnet=0\tsegment=lan\tsent=1\tsent_bytes=60\treceived=2\treceived_bytes=120\tdropped=3\tbad=4\n"
            "vm=a\tnet=0\tsegment=lan\treason=no_buffer\tframes=3\nvm=a\tnet=0\tsegment=lan\treason=wrong_vlan\tframes=0\n"
            "vm=a\tdisk=1\treads=5\tread_bytes=512\twrites=6\twritten_bytes=1024\terrors=7\n",
}
A_STATS = "vcpu=0\texit=cpuid\tcount=12\nvcpu=0\texit=hlt\tcount=18446744073709551615\nvcpu=0\tinjected=5\nvcpu=1\tinjected=0\n"


class Node:
    """answer(what, text) is (error, bytes)."""

    def __init__(self, answer):
        self.answer, self.asked, self.users = answer, [], []
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path = os.ttyname(self.slave)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def read(self, size):
        data = b""
        while len(data) < size:
            data += os.read(self.master, size - len(data))
        return data

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                magic, version, what, tag, size = HEAD.unpack(self.read(HEAD.size))
                assert (magic, version) == (MAGIC, 1)
                text = self.read(size).decode("latin-1")
                # Who commands: no test counts that.
                if what == HELLO and text.startswith("user="):
                    self.users.append(text[len("user="):])
                    self.write(tag, 0, b"")
                    continue
                self.asked.append((what, text))
                error, answer = self.answer(what, text)
                self.write(tag, error, answer)

    def write(self, tag, error, answer):
        data = HEAD.pack(MAGIC, 1, error, tag, len(answer)) + answer
        while data:
            data = data[os.write(self.master, data):]

    def popen(self, *arguments, text=True):
        return subprocess.Popen([CLIENT, *arguments], env={**os.environ, "MARGAY_PORT": self.path}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text)

    def run_bytes(self, *arguments):
        """Its status, and what it wrote as it is."""
        with self.popen(*arguments, text=False) as child:
            out, _ = child.communicate(timeout=30)
        return child.returncode, out

    def run(self, *arguments):
        with self.popen(*arguments) as child:
            out, err = child.communicate(timeout=30)
        return child.returncode, out, err


def usual(what, text):
    if what != STATS:
        return 0, LINES[what].encode()
    return {"a": (0, A_STATS.encode()), ODD: (ENODEV, b"does not run"), "gone": (ENOENT, b"there is no such VM")}[text]


class ImageMemory:
    """A node that takes images: contents by hash, names of them; who sends one that another name has needs `replace`."""

    def __init__(self):
        self.contents, self.names, self.coming, self.data = {}, {}, None, b""

    def __call__(self, what, text):
        if what == IMAGE:
            name, size, sha, *how = text.split()
            if name in self.names and self.names[name] != sha and how != ["replace"]:
                return errno.EEXIST, b"%s: there is an image of that name" % name.encode()
            if sha in self.contents:
                self.names[name] = sha
                return 0, b"have=yes\n"
            self.coming, self.data = (name, int(size), sha), b""
            return 0, b"have=no\n"
        if what == DATA:
            self.data += text.encode("latin-1")
            return 0, b""
        assert what == IMAGE_END
        name, size, sha = self.coming
        assert len(self.data) == size and hashlib.sha256(self.data).hexdigest() == sha
        self.contents[sha], self.names[name] = self.data, sha
        return 0, b""


@pytest.fixture(name="start")
def starter():
    nodes = []

    def start(answer=usual):
        nodes.append(Node(answer))
        return nodes[-1]

    yield start
    for node in nodes:
        # Reading fails once nobody has the other end; then only may the next node have the number.
        os.close(node.slave)
        node.thread.join(30)
        assert not node.thread.is_alive()
        os.close(node.master)
