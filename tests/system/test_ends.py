# SPDX-License-Identifier: GPL-2.0-only
"""How a guest can end, each named rightly; and its CPU flags beside the bare machine's.

The first reboot's boot also reports the flags, and Linux without Margay on the
same emulator, through the same kind of ISO, is what they are compared with.
"""

import os
import re
import subprocess

import cpu_flags
import margay_run
import node
import pytest
import tiers

# Only a triple fault counts as a failure of the guest.
ENDS = {
    "reboot=t": ("triple-fault", margay_run.VM_FAILED, 1),
    "reboot=k": ("reset-kbd", margay_run.OK, 0),
}


# A reset by the keyboard controller or ACPI is a port's write, the same code for both vendors: on VT-x in the full tier.
REBOOTS = [("qemu", "reboot=t"), ("qemu", "reboot=k"), ("bochs", "reboot=t"), tiers.full("bochs", "reboot=k")]


def check_end(run, end, status, failed):
    assert run.has_line("margay-test: done"), run.outcome.text
    assert run.has_line("vm0: end=" + end)
    assert run.has_line("margay: node: end=poweroff vms=1 failed=%d" % failed)
    assert run.outcome.status == status, run.outcome.text


@pytest.mark.parametrize("machine, how", REBOOTS)
def test_reboot(machine, how):
    run = node.run_guest(how.replace("=", "-"), machine, "margay.test=end margay.end=reboot " + how)
    check_end(run, *ENDS[how])


def emulator_version(machine):
    package = {"qemu": "qemu-system-x86", "bochs": "bochs"}[machine]
    return subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=True
    ).stdout


def native_flags(machine):
    """The flags without Margay; kept, since Bochs takes minutes to decompress a bzImage, and only that boots natively."""
    kernel = next(f for f in sorted(os.listdir(node.GUEST)) if f.endswith(".deb"))
    kept = os.path.join(node.BUILD, "native", re.sub(r"[^\w.-]", "_", "%s-%s-%s" % (
        machine, emulator_version(machine), kernel)))
    if not os.path.exists(kept):
        iso = node.image(
            "native-" + machine, "--linux", node.guest_file("vmlinuz"), "--initrd", node.guest_file("initrd"),
            "--cmdline", "console=ttyS0 panic=-1 margay.test=end margay.end=poweroff",
        )
        # Linux itself reads MSRs that Bochs has not, at a point where it cannot bear a fault.
        extra = ["cpu: ignore_bad_msrs=1"] if machine == "bochs" else []
        with node.start("native", machine, iso, native=True, timeout=1800, extra=extra) as running:
            run = node.finish(running)
        assert run.outcome.status == 0, run.outcome.text
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open(kept, "w", encoding="ascii") as f:
            f.write(run.facts["flags"])
    with open(kept, encoding="ascii") as f:
        return f.read().split()


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["qemu", tiers.full("bochs")])
def test_reboot_by_acpi_and_flags(machine):
    # The flags that cpu_flags.py has are those with the hypervisor's APIC timer, which has a deadline and never stops.
    run = node.run_guest("reboot", machine, "margay.test=end margay.end=reboot", vm={"interrupts": "emulated"})
    check_end(run, "reset-acpi", margay_run.OK, 0)
    native = native_flags(machine)
    assert "lm" in native and "avx" in native
    guest, expected = set(run.facts["flags"].split()), cpu_flags.expected(native, machine)
    assert (sorted(guest - expected), sorted(expected - guest)) == ([], []), "(too many, missing)"
