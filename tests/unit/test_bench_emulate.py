# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/emulate.py: which runs of the bench are ended, and which are tried again."""

import os
import sys

import pytest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "bench"))
import emulate  # noqa: E402
import qemu_lost  # noqa: E402

NOTHING = (None, None)


@pytest.fixture
def looks(monkeypatch):
    """What is seen at each look at a run, a tenth of a second apart; and what of that is left."""
    answers = []
    monkeypatch.setattr(emulate, "LOOK", 0.1)
    monkeypatch.setattr(qemu_lost, "look", lambda path: answers.pop(0))
    return answers


@pytest.fixture
def run(tmp_path):
    """A run that writes its log and, but for a try with that number, does not end."""
    log = str(tmp_path / "log")

    def run(system, ends=0, timeout=20):
        before = "%s.%d" % (log, ends - 1) if ends > 1 else "/" if ends else "/nonexistent"
        script = "echo said >&2; echo > %s; test -e %s && exit 3; exec sleep 30" % (log, before)
        return emulate.emulate(system, "name", ["sh", "-c", script], timeout, (log, log + ".counts"))

    run.logs = lambda: sorted(os.listdir(tmp_path))
    return run


def test_ends(looks, run):
    assert run("native", ends=1) == (3, "said\n")


def test_stuck(looks, run):
    # Once only, elsewhere, with interrupts on between, with another CPU: a loop that waits may end.
    looks += [(None, (0x1000,)), (None, (0x2000,)), NOTHING, (None, (0x2000,)), (None, (0x2020,)), (None, (0x2010,)), NOTHING]
    with pytest.raises(emulate.Stuck, match="spins with interrupts off at 0x2010"):
        run("margay")
    assert looks == [NOTHING]


def test_all_cpus(looks, run):
    looks += [(None, (0x1000, 0x5000)), (None, (0x1000, 0x6000)), (None, (0x1000, 0x6000))]
    with pytest.raises(emulate.Stuck, match="0x1000, 0x6000"):
        run("native")


def test_kvm_is_tried_again(looks, run, capsys):
    looks += [(None, (0x1000,))] * 2 * emulate.TRIES["kvm"]
    with pytest.raises(emulate.Stuck):
        run("kvm")
    assert looks == [] and run.logs() == ["log"] + ["log.%d" % n for n in range(1, emulate.TRIES["kvm"])]
    assert capsys.readouterr().out.count("once more") == emulate.TRIES["kvm"] - 1
    looks += [(None, (0x1000,))] * 2
    assert run("kvm", ends=2) == (3, "said\n")


def test_lost_interrupt(looks, run):
    looks += [NOTHING, ("lost", None)]
    assert run("margay", ends=2) == (3, "said\n")
    looks += [("lost", None)] * 2
    with pytest.raises(emulate.LostInterrupt, match="lost"):
        run("margay")
    assert looks == []


def test_too_long(looks, run):
    looks += [NOTHING] * 50
    with pytest.raises(emulate.BenchError, match="not ended after 1 seconds"):
        run("margay", timeout=1)


# What QEMU's gdb stub does with packets: writes them down, and goes on at the last.
STUB = """
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(next(word for word in sys.argv if word.startswith("unix:") and "gdb" in word)[5:].split(",")[0])
server.listen()
stub, got = server.accept()[0], b""
while b"$c#63" not in got:
    new = stub.recv(4096)
    got += new
    stub.sendall(b"+" if b"$c#" in new else b"+$" + sys.argv[2].encode() + b"#00")
    if sys.argv[2] != "OK":
        sys.exit(1)
open(sys.argv[1], "w").write(got.decode() + " " * ("-S" in sys.argv))
sys.exit(3)
"""


def test_alone(tmp_path):
    """Breakpoints before the functions are set before the machine runs; one that is refused is an error, as no place for one is."""
    log = str(tmp_path / "log")

    def run(answer, *addresses):
        emulate.emulate("direct", "name", [sys.executable, "-c", STUB, log, answer], 20, (log,), addresses)

    run("OK", 0x1010, 0xffffffff8107e7c0)
    with open(log, encoding="ascii") as f:
        assert f.read() == "$Z0,100f,1#0a$Z0,ffffffff8107e7bf,1#77$c#63 "
    with pytest.raises(emulate.BenchError, match="gdb stub: Z0,100f,1"):
        run("E22", 0x1010)
    with pytest.raises(emulate.BenchError, match="0x2000 begins a page"):
        run("OK", 0x1010, 0x2000)
