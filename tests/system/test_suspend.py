# SPDX-License-Identifier: GPL-2.0-only
"""A guest that sleeps (`systemctl suspend`, which is suspend-to-idle) and its power button, by Debian's own drivers.

The button wakes it, whoever's its local APICs are; awake it is a key. Whether the press that woke it is a key, too, is Linux' own:
6.1 takes it for none, 6.12 for one, natively as here. No press is two. With emulated ones and on Bochs in the full tier.
"""

import management
import node
import pytest
import tiers
from monitor_console import Console

PRESS = 4 * 24  # bytes of an event device: the key down, and up, each with the end of what belongs together
EVENTS = r"/dev/input/$(grep -l 'Power Button' /sys/class/input/event*/device/name | cut -d/ -f5)"


def press(console):
    """At the monitor console, and back to the guest's: what it says may come before that, and nothing of it is lost."""
    console.call()
    console.node.send("vm press vm0\rvm console vm0\r")


@pytest.mark.slow
@pytest.mark.parametrize("machine, interrupts", [
    tiers.full("qemu", "emulated"), ("qemu", "direct"), tiers.full("bochs", "emulated")])
def test_wakes(machine, interrupts):
    """Three times. Its console goes on, to tell when the kernel sleeps: a press before that would keep it awake."""
    files = {"kernel": node.guest_file(node.KERNEL), "initrd": management.tenant("acpi/button.ko", "input/evdev.ko")}
    vm = node.vm_text(machine, "no_console_suspend ignore_loglevel", interrupts=interrupts, on_end=None)
    iso = node.margay_iso("suspend-%s-%s" % (machine, interrupts), {"vm0.conf": vm}, files)
    with node.start("suspend-" + interrupts, machine, iso) as running:
        running.expect("^guest# ", prompt=True)
        running.send("insmod /button.ko; insmod /evdev.ko; echo 1 >/sys/power/pm_debug_messages\r")
        running.send("cat %s >/tmp/keys & until ls -l /proc/$!/fd | grep -q input; do :; done; cat /sys/power/mem_sleep\r" % EVENTS)
        running.expect(r"^\[s2idle\]\r?$")
        console = Console(running)
        waking = 0
        for turn in range(3):
            running.send("echo mem >/sys/power/state; woken=$?; sleep 3; echo turn %d: $woken $(wc -c </tmp/keys)\r" % turn)
            running.expect(r"PM: suspend-to-idle\r?$")
            press(console)
            said = running.expect(r"^(\[vm0\] )?turn %d: 0 (\d+)\r?$" % turn)
            keys = int(said[2])
            waking = keys if not turn else waking
            assert waking in (0, PRESS) and keys == (turn + 1) * waking
        press(console)
        running.expect(r"^Console of vm0: .*\r?$")
        # And a second for more of them, which must not come.
        keys += PRESS
        running.send("\runtil [ $(wc -c </tmp/keys) -ge %d ]; do :; done; sleep 1; wc -c </tmp/keys\r" % keys)
        running.expect("^%d\r?$" % keys)
        running.send("poweroff -f\r")
        run = node.Run(running, running.wait())
    # It was asked before.
    assert run.has_line("vm0: end=stopped") and len(run.lines("vm0: power button pressed$")) == 4
