# SPDX-License-Identifier: GPL-2.0-only
"""The operator's NMI (`vm nmi`): guests that hang with interrupts off hear it, once for each, whoever's their local APICs are.

Tiny guests on both emulators, one beside which lets none in; Debian's kernel, which knows of no cause and says so, and panics where
its command line wants that: on Bochs in the full tier. `margay nmi` asks for the same: test_management.c, test_margay_client.py.
"""

import node
import pytest
import tiers
from monitor_console import Console, start, vm, whole_lines

HEARD = "behave: NMI, port 61 says 3f"
BOTH = {"emulated": {}, "direct": {"interrupts": "direct", "topology": "node", "allow_smt_sharing": "no"}}


@pytest.mark.parametrize("machine", node.MACHINES)
def test_guests_that_hang(machine):
    """One NMI for each that is sent, also to one that is paused when it goes on; one whose guest takes none is sent none."""
    vms = {name + ".conf": vm(name, "nmi", machine, **keys) for name, keys in BOTH.items()}
    vms["deaf.conf"] = vm("deaf", "hang", machine)
    with start("nmi", machine, vms, 3) as running:
        whole_lines(running)
        console = Console(running)
        for name in BOTH:
            # Its first words were perhaps cut by another's.
            running.send("vm restart %s\r" % name)
            running.expect(r"^\[%s\] behave: waits\r" % name)
            console.settle(name)
            for _ in range(3):
                running.send("vm nmi %s\r" % name)
                running.expect("^%s: NMI sent\r" % name)
                running.expect(r"^\[%s\] %s\r" % (name, HEARD))
        assert console.answer("vm pause emulated") == ["emulated: paused"]
        assert console.answer("vm nmi emulated") == ["emulated: NMI sent"]
        running.send("vm resume emulated\r")
        running.expect(r"^\[emulated\] %s\r" % HEARD)
        assert console.answer("vm nmi deaf") == ["deaf: its guest takes no NMI, at LINT1 of any vCPU"]
        console.end()
    assert running.text.count("] " + HEARD) == 7, running.text[-4000:]


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["qemu", tiers.full("bochs")])
def test_linux(machine):
    """It knows of no cause: it says so and goes on; told to, it panics."""
    iso = node.margay_iso(
        "nmi-linux-" + machine, {"vm0.conf": node.vm_text(machine, "", on_end=None, on_crash="stop")},
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")}, check=False)
    with node.start("nmi-linux", machine, iso) as running:
        running.expect("^guest# ", prompt=True)
        console = Console(running)
        console.call()
        running.send("vm nmi vm0\r")
        running.expect(r"Uhhuh\. NMI received for unknown reason 3f on CPU 0\.\r?$")
        running.expect(r"Dazed and confused, but trying to continue\r?$")
        running.send("vm console vm0\r")
        running.expect(r"^Console of vm0: .*\r?$")
        running.send("\recho 1 >/proc/sys/kernel/unknown_nmi_panic; echo it goes on\r")
        running.expect("^it goes on\r?$")
        console.call()
        running.send("vm nmi vm0\r")
        running.expect("Kernel panic - not syncing: NMI: Not continuing\r?$")
        running.expect("^vm0: end=")
        console.settle("vm0")
        console.end()
    assert "system error (SERR)" not in running.text
