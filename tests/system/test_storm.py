# SPDX-License-Identifier: GPL-2.0-only
"""A VM that makes exits at full speed beside one that counts on its timer.

On QEMU all timers must come, none early, and what they cost the VM in exits is
what they cost it alone: the storm is not felt. How late they come is judged in
the full tier on Bochs, where time is instructions and does not depend on how
busy the test machine is: with the storm next door the median may not be later
than it is alone, but for the emulator's own turns between its CPUs.

In the full tier, by Bochs' time, its timers come no later than alone, and those of a VM beside others that restart,
crash and hang no later than before. With -icount QEMU's CPUs take turns: nothing to compare.

That timers come no later beside a storm passed on Bochs when run alone; beside VMs that restart, crash and hang they
came as before (medians 1975 and 1975).
"""

import re

import monitor_console
import node
import pytest
import tiny

TIMERS = 200


def beside(machine, storm):
    """The console of a node whose VM `timer` came to its end; with a storm, one that goes on longer."""
    name = "storm" if storm else "calm"
    vms = {}
    if storm:
        # The first one: its lines alone, as those of the foreground, are cut where others say something.
        text = tiny.Guest("storm", machine).vm().replace("rounds=2000", "rounds=1000000000 progress=20")
        vms["storm.conf"] = text.replace("cpus = 1\n", "cpus = 0-0\n")
    text = tiny.Guest("timer", machine).vm(last=True).replace("timers=50", "timers=%d" % TIMERS)
    vms["timer.conf"] = text.replace("cpus = 1\n", "cpus = 1-1\n")
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
        assert re.search(r"timer: begins$.*storm: round \d+$.*^\[timer\] timer: late ", text, re.MULTILINE | re.DOTALL)
    return text


def lateness(text):
    """(median, last) of the timers."""
    match = re.search(r"^(?:\[timer\] )?timer: late median=(\d+) last=(\d+) of %d$" % TIMERS, text, re.MULTILINE)
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
    # What a timer makes of them: its start, the physical interrupt, the EOI. A window is for one that came before the guest
    # let interrupts in, because the build host kept it from that.
    alone, beside_it = (found["exits"] - found.get("irq-window", 0) for found in (calm, storm))
    assert beside_it <= alone + TIMERS // 10, (calm, storm)
    assert storm.get("nmi", 0) + storm["kicked"] <= calm.get("nmi", 0) + calm["kicked"] + 2, (calm, storm)


@pytest.mark.full
@pytest.mark.slow
def test_timers_are_not_later_beside_a_storm():
    calm, storm = lateness(beside("bochs", False)), lateness(beside("bochs", True))
    assert storm[0] <= calm[0] * 1.5, (calm, storm)


MOST = 1000  # of tests/guest/timer.c
TROUBLE = {"restarts": "once", "crashes": "crash", "hangs": "hang"}


@pytest.mark.full
@pytest.mark.slow
def test_timers_beside_vms_that_restart_crash_and_hang():
    """The same guest on the same CPU, alone and then beside them: its timers come as they came before. On Bochs only: with
    -icount QEMU's CPUs take turns, and a timer waits for its CPU's."""
    machine = "bochs"
    vms = {}
    for name in ("before", "during"):
        text = tiny.Guest("timer", machine).vm().replace("timers=50", "timers=%d sleep=1" % MOST)
        vms[name + ".conf"] = text.replace("name = timer", "name = " + name).replace("cpus = 1\n", "cpus = 1-1\n")
    vms["during.conf"] += "after = before\n"
    for cpu, (name, mode) in zip((0, 2, 3), TROUBLE.items()):
        vms[name + ".conf"] = monitor_console.vm(name, mode, machine, cpus="%d-%d" % (cpu, cpu), after="before",
                                                 on_end="stop" if mode == "hang" else "restart")
    iso = node.margay_iso("trouble", vms, {n: tiny.elf(n) for n in ("timer", "behave")})
    with node.start("trouble", machine, iso, cpus=4, memory="256M", timeout=600) as running:
        running.expect(r"^during: end=exit status=0")
        text = running.text.replace("\r", "")
    assert "tiny: failed" not in text
    # In the foreground, lines of others cut one that is not whole yet.
    joined = re.sub(r"\n(?:\[?(?:restarts|crashes|hangs)\b.*\n)+", "", text)
    before, during = (int(n) for n in re.findall(r"timer: late median=(\d+) last=\d+ of %d" % MOST, joined))
    # They were at it meanwhile.
    meanwhile = re.search(r"^during: vcpu0: CPU 1,(.*)^during: vcpu0: exits=", text, re.MULTILINE | re.DOTALL)[1]
    for name in ("restarts", "crashes"):
        assert len(re.findall("^%s: restart " % name, meanwhile, re.MULTILINE)) >= 3, meanwhile
    assert "hangs: end=" not in text and "[hangs] behave: hangs at " in text
    assert during <= before * 1.5, (before, during)
