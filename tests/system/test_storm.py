# SPDX-License-Identifier: GPL-2.0-only
"""A VM that makes exits at full speed beside one that counts on its timer.

On QEMU all timers must come, none early, and what they cost the VM in exits is
what they cost it alone: the storm is not felt. How late they come is judged in
the full tier on Bochs, where time is instructions and does not depend on how
busy the test machine is: with the storm next door the median may not be later
than it is alone, but for the emulator's own turns between its CPUs.
"""

import re

import node
import pytest
import tiny

TIMERS = 200


def beside(machine, storm):
    """The console of a node whose VM `timer` came to its end; with a storm, one that goes on longer."""
    name = "storm" if storm else "calm"
    guest = tiny.Guest("timer", machine)
    vms = {"timer.conf": guest.vm(last=True).replace("timers=50", "timers=%d" % TIMERS) + "cpus = 1-1\n"}
    vms["timer.conf"] = vms["timer.conf"].replace("cpus = 1\n", "")
    if storm:
        other = tiny.Guest("storm", machine)
        vms["storm.conf"] = other.vm().replace("rounds=2000", "rounds=1000000000 progress=20").replace("cpus = 1\n", "cpus = 0-0\n")
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
        # It went on between the first timer and the last.
        assert re.search(r"^timer: begins$.*storm: round \d+$.*^timer: late ", text, re.MULTILINE | re.DOTALL), text[-2000:]
    return text


def lateness(text):
    """(median, last) of the timers."""
    match = re.search(r"^timer: late median=(\d+) last=(\d+) of %d$" % TIMERS, text, re.MULTILINE)
    assert match, text[-2000:]
    return int(match[1]), int(match[2])


def exits(text):
    """The exits of the VM `timer` by reason, and the entries that it was kept from."""
    line = re.search(r"^timer: vcpu0: exits=.*$", text, re.MULTILINE)[0]
    return {k: int(n) for k, n in re.findall(r"([a-z0-9-]+)=(\d+)", line)}


@pytest.mark.full
def test_a_storm_makes_no_exits_next_door():
    calm, storm = exits(beside("qemu", False)), exits(beside("qemu", True))
    assert calm["injected"] == storm["injected"] == TIMERS
    # What a timer makes of them: its start, the physical interrupt, the EOI, perhaps a window.
    assert storm["exits"] <= calm["exits"] + TIMERS // 10, (calm, storm)
    assert storm.get("nmi", 0) + storm["kicked"] <= calm.get("nmi", 0) + calm["kicked"] + 2, (calm, storm)


@pytest.mark.full
@pytest.mark.slow
def test_timers_are_not_later_beside_a_storm():
    calm, storm = lateness(beside("bochs", False)), lateness(beside("bochs", True))
    assert storm[0] <= calm[0] * 1.5, (calm, storm)
