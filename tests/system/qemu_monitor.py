# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's monitor, which a test has put on a socket by arguments(); by it the machine is looked at from outside."""

import json
import os
import re
import socket


def path_in(folder):
    """Not below build/: the name of a socket has 107 bytes at most."""
    return os.path.join(folder, "monitor")


def arguments(folder):
    return ["-monitor", "unix:%s,server=on,wait=off" % path_in(folder)]


class Monitor:
    def __init__(self, folder):
        self.folder = str(folder)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(300)
        self.socket.connect(path_in(self.folder))
        self.ask("")

    def ask(self, command):
        self.socket.sendall(command.encode() + b"\n" if command else b"")
        answer = b""
        while not answer.endswith(b"(qemu) "):
            part = self.socket.recv(4096)
            assert part, answer
            answer += part
        return answer.decode()

    def words(self, address, count):
        """Words of 32 bits of physical memory, registers included."""
        lines = re.findall(r"^[0-9a-f]+:((?: 0x[0-9a-f]+)+)$", self.ask("xp /%dxw %#x" % (count, address)).replace("\r", ""), re.M)
        return [int(word, 16) for line in lines for word in line.split()]

    def pci_word(self, bus, device, register):
        """A word of a function 0's configuration space, by mechanism 1: where ECAM is differs from firmware to firmware."""
        self.ask("o /w 0xcf8 %#x" % (1 << 31 | bus << 16 | device << 11 | register))
        return int(re.search(r"^port.\[0x0*cfc\] = (0x[0-9a-f]+)\r?$", self.ask("i /wx 0xcfc"), re.M)[1], 16)

    def memory(self, address, size):
        """Bytes of physical memory."""
        path = os.path.join(self.folder, "saved")
        self.ask('pmemsave %#x %d "%s"' % (address, size, path))  # without quotes the slash divides
        with open(path, "rb") as f:
            data = f.read()
        assert len(data) == size
        return data

    def property(self, path, name):
        """Of one of QEMU's objects."""
        answer = self.ask("qom-get %s %s" % (path, name)).replace("\r", "")
        return json.loads(re.search(r"^([\[{].*[\]}]|\S+)\n\(qemu\) $", answer.split("\n", 1)[1], re.M | re.S)[1])
