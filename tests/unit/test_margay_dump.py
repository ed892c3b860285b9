# SPDX-License-Identifier: GPL-2.0-only
"""`margay dump` (tools/client/dump.c) against a node that is none: what stands in the core, whose VM it pauses, and what a guest
or a vCPU can spoil."""

import errno
import os
import struct

import pytest
from client_node import HELLO, starter  # noqa: F401  (a fixture)
from core_file import NAMES, PAGE, Core

PAUSE, RESUME, DUMP, REGISTERS, MEMORY = 13, 14, 22, 23, 24
TEXT = b"OSRELEASE=6.1\nKERNELOFFSET=0\n"
WHOLE = "create,destroy,dump"


def info(text, size=None):
    """A note as Linux has it in a page of its own."""
    return struct.pack("<III", 11, size or len(text), 0) + b"VMCOREINFO\0\0" + text


class Vm:
    """Two pieces of memory, at 0 and at 1 MiB; two vCPUs."""

    def __init__(self, may=WHOLE, paused="no"):
        self.may, self.paused, self.after_pause = may, paused, "yes"
        self.memory = {0: bytearray(4 * PAGE), 1 << 20: bytearray(80 * PAGE)}
        self.mute, self.lost = (), False

    def put(self, at, data):
        base = max(start for start in self.memory if start <= at)
        self.memory[base][at - base:at - base + len(data)] = data

    def read(self, at, size):
        base = max(start for start in self.memory if start <= at)
        data = bytes(self.memory[base][at - base:at - base + size])
        zeros = (len(data) - len(data.lstrip(b"\0"))) // PAGE * PAGE
        piece = b"" if zeros else data[:7 * PAGE]
        return b"zeros=%d\tbytes=%d\n" % (zeros, len(piece)) + piece

    def __call__(self, what, text):
        if what == HELLO:
            return 0, b"protocol=1\tmay=%s\n" % self.may.encode()
        if what == DUMP:
            rows = b"".join(b"address=%#x\tsize=%#x\n" % (at, len(data)) for at, data in self.memory.items())
            return 0, b"vcpus=2\tpaused=%s\tcrashed=no\n" % self.paused.encode() + rows
        if what == PAUSE:
            was, self.paused = self.paused, self.after_pause
            return (errno.EALREADY, b"it is") if was == "some" else (0, b"")
        if what == RESUME:
            return 0, b""
        if what == REGISTERS:
            vcpu = int(text.split()[1])
            if vcpu in self.mute:
                return errno.EIO, b"a: vCPU %d does not answer" % vcpu
            return 0, b"vcpu=%d" % vcpu + b"".join(
                b"\t%s=%#x" % (name.encode(), 0x1000 * (vcpu + 1) + i) for i, name in enumerate(NAMES) if name) + b"\n"
        assert what == MEMORY, what
        if self.lost:
            return errno.ENODEV, b"a does not run"
        return 0, self.read(*(int(word) for word in text.split()[1:]))


def asked(node, what):
    return [text for request, text in node.asked if request == what]


@pytest.fixture(name="vm")
def fixture_vm():
    return Vm()


def test_core(start, vm, tmp_path):
    """Memory to the byte, zeros as holes; registers by vCPU; the kernel's own note. The VM stands still so long, and no longer."""
    vm.put(0, b"before it")
    vm.put(0x1000, info(TEXT))
    vm.put((1 << 20) + 20 * PAGE, os.urandom(10 * PAGE))
    vm.put((1 << 20) + 80 * PAGE - 8, b"last one")
    node, path = start(vm), tmp_path / "core"
    assert node.run("dump", "a", str(path)) == (0, "", "")
    core = Core(path.read_bytes())
    assert core.memory() == {at: bytes(data) for at, data in vm.memory.items()}
    assert core.registers() == [{name: 0x1000 * (vcpu + 1) + i if name else 2 ** 64 - 1 for i, name in enumerate(NAMES)}
                                for vcpu in range(2)]
    assert core.of_linux() == [TEXT] and len(core.notes) == 3
    assert [what for what, _ in node.asked if what in (PAUSE, RESUME)] == [PAUSE, RESUME]
    assert os.stat(path).st_mode & 0o777 == 0o600 and os.stat(path).st_blocks * 512 < len(core.data) // 2


def test_notes_that_are_none(start, vm, tmp_path):
    """What a guest may show: too long, cut by the end of its memory, of another kind. It spoils its note, not the file."""
    end = (1 << 20) + 79 * PAGE
    for at, note in ((0, info(TEXT, 5000)), (0x1000, info(b"X" + TEXT)), (0x2000, info(b"OSRELEASE=6.1\n")),
                     ((1 << 20) + 100, info(TEXT)), (end, info(TEXT, 4096))):
        vm.put(at, note)
    assert start(vm).run("dump", "a", str(tmp_path / "core")) == (0, "", "")
    core = Core((tmp_path / "core").read_bytes())
    assert core.memory() == {at: bytes(data) for at, data in vm.memory.items()}
    assert len(core.registers()) == len(core.notes) == 2


def test_a_vcpu_that_does_not_answer(start, vm, tmp_path):
    vm.mute = (0,)
    status, _, err = start(vm).run("dump", "a", str(tmp_path / "core"))
    assert (status, err) == (0, "margay: without registers: a: vCPU 0 does not answer\n")
    first, second = Core((tmp_path / "core").read_bytes()).registers()
    assert set(first.values()) == {0} and second["rip"] == 0x2010


@pytest.mark.parametrize("may", ["destroy,dump", "create,dump", "dump"])
def test_who_may_not_let_it_go_on_does_not_stop_it(start, vm, tmp_path, may):
    vm.may = may
    node = start(vm)
    status, _, err = node.run("dump", "a", str(tmp_path / "core"))
    assert status == 0 and err == "margay: a runs on meanwhile: control_may does not have create and destroy\n"
    assert not asked(node, PAUSE) and not asked(node, RESUME) and Core((tmp_path / "core").read_bytes())
    vm.paused = "yes"
    assert start(vm).run("dump", "a", str(tmp_path / "again"))[2] == ""


@pytest.mark.parametrize("paused, asks", [("yes", 0), ("some", 1)])
def test_one_that_others_have_paused_stays_so(start, vm, tmp_path, paused, asks):
    """Also where its vCPUs do not all stand still yet."""
    vm.paused = paused
    node = start(vm)
    assert node.run("dump", "a", str(tmp_path / "core")) == (0, "", "")
    assert len(asked(node, PAUSE)) == asks and not asked(node, RESUME)


def test_failures_leave_nothing(start, vm, tmp_path):
    path = tmp_path / "core"
    path.write_text("mine", encoding="ascii")
    node = start(vm)
    assert node.run("dump", "a", str(path))[0] == 3 and path.read_text(encoding="ascii") == "mine" and not node.asked
    path.unlink()
    vm.lost = True
    node = start(vm)
    assert node.run("dump", "a", str(path)) == (1, "", "margay: a does not run\n")
    assert not path.exists() and asked(node, RESUME) == ["a"]
    assert start(lambda what, text: (errno.ENOENT, b"none")).run("dump", "a", str(path)) == (1, "", "margay: none\n")
    assert os.listdir(tmp_path) == []
