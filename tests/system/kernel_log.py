# SPDX-License-Identifier: GPL-2.0-only
"""What no guest's kernel says in its log on a machine that is right."""

import re

BAD = (
    "PAT disabled", "[Uu]nstable", r"calibrat\w+ .*(PIT|HPET|PMTIMER)", "(PIT|HPET|PMTIMER) calibration",
    "Fast TSC calibration", "hpet", r"(WARNING|BUG|Oops|Call Trace):?", "unchecked MSR access", "soft lockup",
    "ACPI (BIOS )?(Error|Warning)", r"Firmware Bug", "[Ff]ailed to", r"rcu.*stall", "do_boot_cpu failed",
)
# QEMU's CPUID does not say that its TSC is invariant, nor does KVM's on it. Bochs' says that its CPUs share a cache, which tables
# of ours put on two nodes.
UNSTABLE = "Unstable clock detected, switching default tracing clock"
SEVERAL = "tsc: Marking TSC unstable due to TSCs unsynchronized"
HARMLESS = {"qemu": SEVERAL, "nested-svm": UNSTABLE + "|" + SEVERAL, "nested-vtx": UNSTABLE, "bochs": "topology_sane"}


def bad(lines, machine, patterns=BAD):
    """Those of a log that are bad on this machine."""
    kept = [line for line in lines if not re.search(HARMLESS.get(machine, "^$"), line)]
    return [line for line in kept if re.search("|".join(patterns), line)]
