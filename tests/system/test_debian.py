# SPDX-License-Identifier: GPL-2.0-only
"""The life of a VM as its administrator knows it: Debian as installed, systemd and all, on a disk (tools/guest-debian). All is
typed at its console. The same system on the same machine without Margay says what its kernel complains of there.

Debian 12 as installed, with systemd, on a disk that make guest-debian makes with mmdebstrap. All is typed at its
console: no failed unit, `hwclock`, `dmidecode`, then `reboot`, `kexec -e`, panics without and with kdump, systemd
frozen until the watchdog bites, `poweroff`. What its kernel has of warnings and errors is what it has on the same
machine without Margay, but for `tests/system/debian-dmesg`, a reason for each line.
"""

import collections
import os
import re

import debian_guest
import margay_run
import node
import pytest

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.xdist_group("debian")]
DIFFERENCES = os.path.join(os.path.dirname(__file__), "debian-dmesg")
VM = {"kernel": "kernel", "initrd": "initrd", "cmdline": debian_guest.CMDLINE, "on_poweroff": "poweroff_node",
      "on_reboot": "restart", "on_crash": "restart", "restart_limit": "9 in 10h",
      "memory": "1G", "memory_map": "identity", "cpus": "2", "pci": "00:06.0"}


def kernel_log(console):
    """What is an error or a warning of the kernel's, in the order of the log."""
    return console.do("dmesg -t -l emerg,alert,crit,err,warn").split("\n")


def start(name, native=False):
    files = {"kernel": os.path.join(debian_guest.DEBIAN, "vmlinuz"), "initrd": os.path.join(debian_guest.DEBIAN, "initrd")}
    if native:
        iso = node.image(name, "--linux", files["kernel"], "--initrd", files["initrd"], "--cmdline", debian_guest.CMDLINE)
    else:
        iso = node.margay_iso(name, {"vm0.conf": "".join("%s = %s\n" % line for line in VM.items())}, files)
    return node.start(name, "qemu", iso, cpus=2, memory="1536M", extra=debian_guest.DISK, native=native,
                      timeout=60 * debian_guest.MINUTES)


def differences():
    """The committed list: {"guest" or "bare": [(pattern, sometimes)]}."""
    found = collections.defaultdict(list)
    with open(DIFFERENCES, encoding="ascii") as f:
        for line in f:
            match = re.match(r"(guest|bare)(\?)? /(.*)/ \S", line)
            assert match or line.strip() == "" or line.startswith("#"), line
            if match:
                found[match[1]].append((match[3], bool(match[2])))
    return found


def unexplained(only, patterns):
    """Lines that no pattern explains, and patterns that no line needs."""
    lines = [line for line in only if not any(re.fullmatch(pattern, line) for pattern, _ in patterns)]
    unused = [pattern for pattern, sometimes in patterns
              if not sometimes and not any(re.fullmatch(pattern, line) for line in only)]
    return lines, unused


@pytest.fixture(scope="module", name="bare")
def fixture_bare():
    with start("debian-bare", native=True) as running:
        console = debian_guest.Console(running)
        log = kernel_log(console)
        console.leave("systemctl poweroff")
        outcome = running.wait()
    assert outcome.status == margay_run.OK, outcome.text
    return log


def check_clock(console):
    """hwclock reads the node's time of day, and what it has written."""
    assert console.do('echo $(($(date -d "$(hwclock)" +%s) - $(date +%s)))') in ("-3", "-2", "-1", "0", "1")
    console.do('date -s "2031-05-06 07:08:09 UTC"; hwclock --systohc')
    assert console.do("hwclock --utc").startswith("2031-05-06 07:08:")


def check_dmi(console):
    """Of images that have SMBIOS tables: they do. The others say so."""
    with open(os.path.join(node.BUILD, ".config"), encoding="ascii") as f:
        tables = "CONFIG_SMBIOS=y\n" in f.read()
    if tables:
        assert re.fullmatch("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", console.do("dmidecode -s system-uuid"))
        assert console.do("cat /sys/class/dmi/id/product_uuid") == console.do("dmidecode -s system-uuid")
    else:
        assert "No SMBIOS nor DMI entry point found" in console.do("dmidecode")


def test_well(bare):
    """Up without a failed unit, with its clock and its tables, and with no complaint that the bare machine has not."""
    with start("debian-well") as running:
        console = debian_guest.Console(running)
        log = kernel_log(console)
        assert console.do("systemctl --failed --plain --no-legend") == ""
        assert console.do("systemd-detect-virt") == "vm-other"
        assert console.do("cat /proc/cmdline") == debian_guest.CMDLINE
        check_dmi(console)
        check_clock(console)
        console.leave("systemctl poweroff")
        outcome = running.wait()
    assert outcome.status == margay_run.OK, outcome.text
    guest, machine = collections.Counter(log), collections.Counter(bare)
    explained = differences()
    assert unexplained([*(guest - machine).elements()], explained["guest"]) == ([], [])
    assert unexplained([*(machine - guest).elements()], explained["bare"]) == ([], [])


def test_a_life():
    """In this order: reboot, kexec, panic, panic with kdump, watchdog, power-off."""
    with start("debian-life") as running:
        console = debian_guest.Console(running)
        # systemd feeds the watchdog, as its file says.
        assert re.search(r"wdat_wdt(.|\n)*Timeout: +300 seconds\n", console.do("wdctl"))
        console.do('date -s "2031-05-06 07:08:09 UTC"; hwclock --systohc')
        console.leave("systemctl reboot")
        console.boots("vm0: restart 1")
        # The clock is the VM's own, and the disk what it was.
        assert console.do("hwclock --utc").startswith("2031-05-06 07:")
        assert console.do("systemctl is-active kdump-tools; kdump-config status") == "active\ncurrent state   : ready to kdump"

        console.do("kexec -l /vmlinuz --initrd=/initrd.img --append=\"$(cat /proc/cmdline) kexeced\"; sync")
        console.leave("kexec -e")
        console.boots()
        assert console.do("cat /proc/cmdline").endswith(" kexeced")

        console.do("kdump-config unload; sync")
        console.leave("echo c > /proc/sysrq-trigger")
        console.boots("vm0: end=panicked")

        console.do("sync")
        console.leave("echo c > /proc/sysrq-trigger")
        console.boots("vm0: restart 3")
        assert console.do("cd /var/crash; ls */dump.* | wc -l; grep -c 'sysrq triggered crash' */dmesg.*; cd").split() == ["1", "1"]

        # systemd stands still, and nothing else is wrong.
        console.do("busctl set-property org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager"
                   " RuntimeWatchdogUSec t 5000000")
        console.leave("sync; kill -SEGV 1")
        console.boots("vm0: end=watchdog")
        assert console.do("cat /sys/class/watchdog/watchdog0/bootstatus") == "32"
        console.leave("systemctl poweroff")
        outcome = running.wait()
        text = running.text.replace("\r", "")
    assert outcome.status == margay_run.OK, outcome.text
    # What ended the VM, and nothing did in between: kexec and the crash kernel are its own affair.
    assert re.findall("^vm0: (?:end=|restart ).*$", text, re.MULTILINE) == [
        "vm0: end=reset-acpi", "vm0: restart 1", "vm0: end=panicked", "vm0: restart 2", "vm0: end=reset-acpi", "vm0: restart 3",
        "vm0: end=watchdog", "vm0: restart 4", "vm0: end=poweroff"]
