# SPDX-License-Identifier: GPL-2.0-only
"""What a guest's software looks for, by Debian's own drivers: the CMOS clock, the watchdog, the panic port.

RTC, watchdog and panic port by Debian's drivers, in a VM that its watchdog restarts, then its panic, and that reboots
by itself at last; no line of its kernel is an error. A minute on QEMU; on Bochs in the full tier.
"""

import re

import node
import pytest

# One run for all tests of a machine: by one worker.
MACHINES = [
    pytest.param("qemu", marks=pytest.mark.xdist_group("devices-qemu")),
    pytest.param("bochs", marks=[pytest.mark.xdist_group("devices-bochs"), pytest.mark.full, pytest.mark.slow]),
]


def boot(name, machine, initrd="initrd-drivers", **keys):
    vm = {"on_end": None, "on_reboot": "poweroff_node", "on_crash": "restart", "restart_limit": "3 in 10h"}
    vm.update(keys)
    iso = node.margay_iso(
        "%s-%s" % (name, machine), {"vm0.conf": node.vm_text(machine, "loglevel=7 margay.test=devices", **vm)},
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file(initrd)}, cmdline="loglevel=debug")
    with node.start(name, machine, iso) as running:
        return node.finish(running)


@pytest.fixture(scope="module", params=MACHINES)
def devices(request):
    return boot("devices", request.param)


def test_ends(devices):
    """In this order: the watchdog bites, a panic that the panic port hears, and one that it does not: the guest restarts itself."""
    assert devices.outcome.status == 0, devices.outcome.text
    assert re.findall(r"^vm0: (?:end=|restart |its ).*$", devices.text, re.MULTILINE) == [
        "vm0: its watchdog was not fed for 3.0 s", "vm0: end=watchdog", "vm0: restart 1",
        "vm0: end=panicked", "vm0: restart 2", "vm0: end=reset-acpi"]
    # Which vCPU it was, and where.
    assert devices.has_line(r"vm0: vcpu0: rax \w{16}  rcx .*")
    said = "Kernel panic - not syncing: sysrq triggered crash"
    panics = [match.start() for match in re.finditer(r"^(?!vm0).*" + said, devices.text, re.MULTILINE)]
    end = devices.text.index("vm0: end=panicked")
    assert len(panics) == 2 and panics[0] < end < panics[1]
    # The last that its kernel said stands in the node's log, behind that of how it ended; of a guest that ended well nothing does.
    last = [match.start() for match in re.finditer("^vm0: > .*" + said, devices.text, re.MULTILINE)]
    assert len(last) == 1 and end < last[0] < devices.text.index("vm0: restart 2")
    assert "vm0: > margay-test: starves" in devices.text and devices.text.rindex("vm0: > ") < devices.text.index("vm0: restart 2")


def test_clock(devices):
    facts = devices.facts
    assert facts["rtc"] == "rtc_cmos 00:01"
    assert facts["rtc-is-now"] == "yes"
    assert re.match("2031-05-06 07:08:", facts["rtc-set"])
    # It goes on over restarts, and what one start sets the next one finds.
    assert re.match("2031-05-06 07:", facts["rtc-second-start"]) and facts["rtc-second-start"] > facts["rtc-set"]
    assert facts["rtc-third-start"] == "2032-01-02"
    # At first it is the node's.
    year = re.search(r"margay: clock: (\d{4})-", devices.text)[1]
    assert re.search(r"setting system clock to (\d{4})-", devices.text)[1] == year != "2031"


def test_watchdog(devices):
    facts = devices.facts
    assert facts["watchdog"] == "wdat_wdt, timeout 3, bootstatus 0, inactive"
    assert re.fullmatch("active, [23] left", facts["watchdog-fed"])
    # WDIOF_CARDRESET: said until the guest's driver has taken note of it.
    assert facts["bootstatus-second-start"] == "32"
    assert facts["bootstatus-third-start"] == "0"


def test_panic_port(devices):
    assert devices.facts["pvpanic"] == "3"


def test_no_error_lines(devices):
    assert devices.facts["rtc"] and not devices.lines("^margay-err: ")
