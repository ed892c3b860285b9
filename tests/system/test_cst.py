# SPDX-License-Identifier: GPL-2.0-only
"""C-states that the firmware's _CST names: which of them a guest with interrupts = direct has, and that it uses them.

On Bochs, with a table of `_CST` that GRUB adds to the firmware's (of `iasl`), Debian's kernel idles by `acpi_idle` in
the C-states of it that MWAIT enters, and has no other (`cstates = firmware`). What AMD's firmware says, and what of it a
guest gets: `test_recorded_machines.py` and `test_cstates.c`.
"""

import os
import subprocess

import kernel_log
import margay_run
import node
import pytest

# The register of each state (its bit offset is the class: 2, MWAIT), type, latency in us. MWAIT's states of Bochs' Haswell are C1
# with two substates, C2 to C4; a port is a way that a guest has not.
STATES = [
    ("FFixedHW, 1, 2, 0x00, 1", 1, 2), ("SystemIO, 8, 0, 0x814, 1", 2, 10), ("FFixedHW, 1, 2, 0x10, 1", 2, 20),
    ("FFixedHW, 1, 2, 0x60, 1", 2, 30), ("FFixedHW, 1, 2, 0x20, 3", 3, 50),
]
GUESTS = ["POLL 0 CPUIDLE CORE POLL IDLE", "C1 2 ACPI FFH MWAIT 0x0", "C2 20 ACPI FFH MWAIT 0x10", "C3 50 ACPI FFH MWAIT 0x20"]


def table(processor):
    """An SSDT, by iasl, with the C-states of a processor that another table declares."""
    states = ", ".join("Package () { ResourceTemplate () { Register (%s) }, %d, %d, 100 }" % state for state in STATES)
    path = os.path.join(node.BUILD, "iso", "cst")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".dsl", "w", encoding="ascii") as f:
        f.write('DefinitionBlock ("", "SSDT", 2, "MARGAY", "CSTATES", 1) { External (%s, DeviceObj) Scope (%s) '
                "{ Name (_CST, Package () { %d, %s }) } }" % (processor, processor, len(STATES), states))
    done = subprocess.run(["iasl", "-p", path, path + ".dsl"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(path + ".aml", "rb") as f:
        return f.read()


@pytest.mark.full
@pytest.mark.slow
def test_guest_sleeps_by_firmwares_states():
    """Bochs' BIOS declares its processors as \\_PR.CPUn. Without intel_idle, as on AMD, Linux' acpi_idle has what _CST says."""
    run = node.run_guest("cst", "bochs", "margay.test=smp intel_idle.max_cstate=0",
                         vm={"interrupts": "direct", "cstates": "firmware"}, acpi=[table("\\_PR.CPU0")])
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("margay: C-states: firmware's _CST has some for guests of 1 of 1 CPUs")
    assert [state for state in run.facts["states"].split(";") if state] == GUESTS
    driver, *usage = run.facts["idle"].split()
    assert driver == "acpi_idle", run.facts["idle"]
    assert sum(int(state.split("=")[1]) for state in usage if state[0] == "C") > 3, run.facts["idle"]
    assert not kernel_log.bad(run.dmesg, "bochs")
