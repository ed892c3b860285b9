# SPDX-License-Identifier: GPL-2.0-only
"""A VM that makes exits at full speed beside one that counts on its timer.

How late the timers come is judged on Bochs, where time is instructions and
does not depend on how busy the test machine is: with the storm next door the
median may not be later than it is alone, but for the emulator's own turns
between its CPUs. On QEMU all timers must come, none early.
"""

import re

import node
import pytest
import tiny

pytestmark = pytest.mark.full

TIMERS = 200


def lateness(machine, storm):
    """(median, last) of the timers; with a storm, one that was still going on at their end."""
    name = "storm" if storm else "calm"
    guest = tiny.Guest("timer", machine)
    vms = {"timer.conf": guest.vm(last=True).replace("timers=50", "timers=%d" % TIMERS) + "cpus = 1-1\n"}
    vms["timer.conf"] = vms["timer.conf"].replace("cpus = 1\n", "")
    if storm:
        other = tiny.Guest("storm", machine)
        vms["storm.conf"] = other.vm().replace("rounds=2000", "rounds=1000000000").replace("cpus = 1\n", "cpus = 0-0\n")
    iso = node.margay_iso("%s-%s" % (name, machine), vms, {n: tiny.elf(n) for n in ("timer", "storm")[:1 + storm]})
    with node.start(name, machine, iso, cpus=2, memory="256M", timeout=300) as running:
        running.expect(r"^timer: end=exit status=0")
        if storm:
            # The node goes on: the storm never ends by itself.
            text = running.text
            assert "storm: end=" not in text
        else:
            text = node.Run(running, running.wait()).text
    text = text.replace("\r", "")
    assert "tiny: failed" not in text
    if storm:
        assert re.search(r"^storm: vcpu0: CPU 0,", text, re.MULTILINE)
    match = re.search(r"^timer: late median=(\d+) last=(\d+) of %d$" % TIMERS, text, re.MULTILINE)
    assert match, text[-2000:]
    return int(match[1]), int(match[2])


def test_every_timer_comes_beside_a_storm():
    lateness("qemu", True)


@pytest.mark.slow
def test_timers_are_not_later_beside_a_storm():
    calm, storm = lateness("bochs", False), lateness("bochs", True)
    assert storm[0] <= calm[0] * 1.5, (calm, storm)
