# SPDX-License-Identifier: GPL-2.0-only
"""A device that does not answer as it is reset: QEMU takes it away, and gives it back later or never.

Its guest asks for a function level reset: that vCPU waits, another VM's goes on, the monitor console answers, and `vm stop` ends
the VM in the middle. The VM's CPU is another VM's at once, though the device is still waited for, by an idle CPU. Who wants
the device waits: until it is back and has been reset, or until it is told that it does not stop, and refused with a line.

On SVM alone: Bochs has no device that could be taken away. What waits is the same for both vendors.
"""

import re

import monitor_console
import node
import pytest
import qemu_monitor
import tiny

PORT = ["-device", "pcie-root-port,id=below,addr=8,chassis=1"]
CARD = "virtio-rng-pci,id=card,bus=below,disable-legacy=on"
# Of q35's hot plug by ACPI: which bus, which slot there is to be ejected (QEMU, docs/specs/acpi_pci_hotplug.rst).
SELECT, EJECT = 0xCD0, 0xCC8


def take_away(monitor):
    """At the machine's word, as nobody here has a driver for hot plug."""
    monitor.ask("device_del card")
    for bus in range(4):
        monitor.ask("o /w %#x %d" % (SELECT, bus))
        monitor.ask("o /w %#x 1" % EJECT)
    assert "1af4:1044" not in monitor.ask("info pci")


@pytest.mark.parametrize("back", [True, pytest.param(False, marks=pytest.mark.full)], ids=["back", "gone"])
def test_slow(back, tmp_path):
    """From before its guest's word on it is not there; for good, or until its VM is over and another runs on the CPU."""
    function = "01:00.0\ndma = identity"
    vms = {"a.conf": monitor_console.vm("a", "", kernel="flr", cmdline="at=256", cpus="1-1", pci=function),
           "b.conf": monitor_console.vm("b", "tick", cpus="2-2"),
           "c.conf": monitor_console.vm("c", "tick", cpus="1-1", after="a"),
           "d.conf": monitor_console.vm("d", "tick", cpus="3-3", pci=function, after="a")}
    name = "slow-function-" + ("back" if back else "gone")
    iso = node.margay_iso(name + "-qemu", vms, {k: tiny.elf(k) for k in ("behave", "flr")}, check=False)
    with node.start(name, "qemu", iso, cpus=4, memory="512M", timeout=300,
                    extra=[*PORT, "-device", CARD, *qemu_monitor.arguments(str(tmp_path))]) as running:
        running.expect(r"flr: has its function\r?$")
        console = monitor_console.Console(running)
        console.call()
        monitor = qemu_monitor.Monitor(tmp_path)
        take_away(monitor)
        running.expect(r"flr: asks for a reset\r?$")
        # The guest is not let on: the others are, and the operator.
        running.expect(r"behave: ticks=\d+\r?$")
        running.expect(r"behave: ticks=\d+\r?$")
        assert console.state("a") == "running"
        # Its answer and these lines come in any order.
        running.send("vm stop a\r")
        running.expect(r"a: end=stopped\r?$")
        running.expect(r"a: pci: 01:00\.0 is slow to reset: until that is over nobody has it, nor the VM's memory\r?$")
        running.expect(r"c: vcpu0: CPU 1, ")
        assert re.search(r"^cpu 1 .* online +c *$", "\n".join(console.answer("node")), re.MULTILINE)
        assert console.state("d") == "waiting"
        if back:
            monitor.ask("device_add " + CARD)
            running.expect(r"a: pci: 01:00\.0 has been reset: others may have it\r?$")
            running.expect(r"a: pci: others may have its memory\r?$")
            running.expect(r"d: vcpu0: CPU 3, ")
        else:
            running.expect(r"pci 0000:01:00\.0: not ready 50 s after its reset, of 60\r?$")
            running.expect(r"a: pci: 01:00\.0 does not stop: it is not used any more\r?$")
            running.expect(r"a: pci: its memory is not used any more, either\r?$")
            running.expect(r"d: d\.conf:\d+: pci: 01:00\.0 cannot be passed through: a capability does not answer\r?$")
        outcome = console.end()
        assert outcome.status == (0 if back else 1)
        assert "flr: goes on" not in outcome.text
