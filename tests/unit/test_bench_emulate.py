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
