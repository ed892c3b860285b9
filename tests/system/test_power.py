# SPDX-License-Identifier: GPL-2.0-only
"""The line of the CPUs' clocks (power=). No emulator has P-states; Bochs has a bit in CPUID for a register that it has not.

Where there is nothing to set, on QEMU, and where a register is missing, on Bochs. What is set on real CPUs:
test_power.c. How deep a CPU sleeps, and when: test_work.c.
"""

import monitor_console
import node
import pytest
import tiny


@pytest.mark.parametrize("machine, word, said", [
    ("qemu", "", "no P-states that are known"),
    ("qemu", "power=firmware", r"as the firmware has it \(power=firmware\)"),
    pytest.param("bochs", "", "MSR 0x1b0 cannot be set: use power=firmware", marks=pytest.mark.slow),
])
def test_line(machine, word, said):
    """Once for two CPUs of one kind, and the node goes on."""
    name = "power-%s-%s" % (machine, word[6:] or "default")
    vms = {"a.conf": monitor_console.vm("a", "once", machine, on_end="poweroff_node")}
    iso = node.margay_iso(name, vms, {"behave": tiny.elf("behave")}, word)
    with node.start(name, machine, iso, cpus=2, memory="256M") as running:
        run = node.Run(running, running.wait())
    assert run.has_line("margay: power: " + said) and len(run.lines("power: ")) == 1, run.text[-3000:]
    assert run.has_line("margay: node: end=poweroff vms=1 failed=0")
