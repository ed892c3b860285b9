# SPDX-License-Identifier: GPL-2.0-only
"""What follows a VM's end: a power-off, a reboot and a crash told apart, restarts that reach their limit, a node that restarts."""

import re

import margay_run
import pytest
from monitor_console import Console, start, vm

VMS = {
    "off.conf": vm("off", "once", on_poweroff="stop", on_reboot="poweroff_node", on_crash="poweroff_node"),
    "again.conf": vm("again", "reset", on_poweroff="poweroff_node", on_reboot="restart", on_crash="poweroff_node",
                     restart_limit="3 in 10h"),
    "crash.conf": vm("crash", "crash", on_poweroff="poweroff_node", on_reboot="stop", on_crash="restart", restart_limit="2 in 1h"),
}


def restarts(text, name):
    return [int(n) for n in re.findall(r"^%s: restart (\d+)\r" % name, text, re.MULTILINE)]


@pytest.mark.parametrize("machine", ["qemu", "bochs"])
def test_told_apart(machine):
    vms = {file: text.replace("machine=qemu", "machine=" + machine) for file, text in VMS.items()}
    if machine == "bochs":
        vms = {file: text + "allow_smt_sharing = yes\n" for file, text in vms.items()}
    with start("follow-up", machine, vms, 4) as running:
        running.expect(r"^margay: node: end=idle vms=3 failed=1\r")
        first = running.text
        console = Console(running)
        console.call()
        # Who starts it by hand has it restarted as often again.
        running.send("vm start again\r")
        running.expect(r"^again: restart_limit = 3 in 36000s is reached: it stays down\r")
        outcome = console.end()
    assert outcome.status == margay_run.VM_FAILED, outcome.text
    assert restarts(first, "off") == [] and "off: end=exit status=0" in first
    assert restarts(first, "again") == [1, 2, 3] and first.count("again: end=reset-kbd") == 4
    assert restarts(first, "crash") == [1, 2] and first.count("crash: end=triple-fault") == 3
    assert "crash: restart_limit = 2 in 3600s is reached: it stays down" in first
    assert restarts(running.text, "again") == [1, 2, 3, 5, 6, 7]


def test_node_restarts():
    """Once no VM runs any more, and though another asks for power off."""
    vms = {"a.conf": vm("a", "reset", on_reboot="reboot_node"), "b.conf": vm("b", "once", on_end="poweroff_node", after="a")}
    with start("follow-up-node", "qemu", vms, 2) as running:
        outcome = running.wait()
    assert outcome.status == margay_run.OK and outcome.text == "the node restarted", outcome.text
    assert running.text.index("b: end=exit") < running.text.index("margay: node: end=reboot")
