# SPDX-License-Identifier: GPL-2.0-only
"""Four PCI functions in one stock guest, with Debian's own drivers on QEMU's devices: two disks, and two network cards,
reset by the guest, that carry TCP while their vectors wander. What came through is compared with files that QEMU has;
what lspci shows of all four, with what it shows without Margay.
"""

import os
import re

import lspci
import margay_run
import node
import pytest
import test_passthrough as passthrough

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("pci-data")]

MEGABYTES = 4
DISKS = ("nvme", "ahci")
# By the third byte of QEMU's network, 10.0.n.0/24; e1000e is function 3 of a device whose function 0 stays behind.
CARDS = {2: ("e1000e", "00:07.3"), 3: ("igb", "00:08.0")}
FUNCTIONS = ("00:04.0", "00:05.0", "00:07.3", "00:08.0")
DRIVERS = "margay.drivers=nvme,ahci,sd_mod,e1000e,igb margay.disk=nvme0n1,sda"

CHANGES = ((r"(margay-bytes: %s .*\nmargay-bytes: 00: )..", r"\g<1>5a"), (r"(margay-lspci: %s .*\n)", r"\1margay-lspci: \tX\n"))


class Files:
    """The files behind the devices, and QEMU's arguments."""

    def __init__(self):
        self.images = {kind: passthrough.make_disk("pci-data-" + kind, MEGABYTES << 20) for kind in DISKS}
        self.down = {n: passthrough.make_disk("pci-data-down-%d" % n, MEGABYTES << 20) for n in CARDS}
        self.up = {n: os.path.join(node.BUILD, "disks", "pci-data-up-%d" % n) for n in CARDS}
        self.arguments = [
            "-drive", "if=none,id=nvme,format=raw,file=" + self.images["nvme"], "-device", "nvme,drive=nvme,serial=margay,addr=4",
            "-drive", "if=none,id=ahci,format=raw,file=" + self.images["ahci"], "-device", "ich9-ahci,id=sata,addr=5",
            "-device", "ide-hd,drive=ahci,bus=sata.0", "-device", "pci-testdev,addr=7.0,multifunction=on"]
        for n, (card, address) in CARDS.items():
            script = self.up[n] + ".sh"
            with open(script, "w", encoding="ascii") as f:
                f.write("#!/bin/sh\nexec head -c %d > %s\n" % (MEGABYTES << 20, self.up[n]))
            os.chmod(script, 0o755)
            self.arguments += [
                "-netdev", "user,id=net%d,net=10.0.%d.0/24,restrict=on,guestfwd=tcp:10.0.%d.100:80-cmd:cat %s,"
                "guestfwd=tcp:10.0.%d.101:80-cmd:%s" % (n, n, n, self.down[n], n, script),
                "-device", "%s,netdev=net%d,addr=%s,mac=52:54:00:00:00:0%d" % (card, n, address[3:], n)]


class Native:
    def __init__(self, files):
        iso = node.image("native-pci-data", "--linux", node.guest_file("vmlinuz"), "--initrd", node.guest_file("initrd-drivers"),
                         "--cmdline", "console=ttyS0 panic=-1 margay.test=pci-data " + DRIVERS)
        with node.start("native-pci-data", "qemu", iso, native=True, cpus=2, extra=files.arguments) as running:
            self.done = node.finish(running)


class Guest:
    def __init__(self, files):
        self.files = files
        self.done = passthrough.run(
            "pci-data", files.arguments, {"pci": "class:0108, 00:05.0, 8086:10d3, 00:08.0", "cpus": "2"},
            "margay.test=pci-data %s margay.net=%s margay.megabytes=%d" % (
                DRIVERS, ",".join(address for _, address in CARDS.values()), MEGABYTES))


@pytest.fixture(scope="module", name="guest")
def fixture_guest():
    return Guest(Files())


def test_network(guest):
    done, files = guest.done, guest.files
    assert done.outcome.status == margay_run.OK, done.outcome.text
    for n in CARDS:
        assert done.facts["reset-%d" % n] == "done"
        assert done.facts["down-%d" % n].split()[0] == passthrough.sha256(files.down[n])
        assert done.facts["up-%d" % n].split()[0] == passthrough.sha256(files.up[n])
        assert os.path.getsize(files.up[n]) == MEGABYTES << 20
        # They wandered while it was under load.
        counts = passthrough.interrupts(done, done.facts["net-%d" % n] + "-")
        assert len(counts) == 2 and min(counts) > 20, done.lines("^margay-interrupt: ")
    # igb has a queue for each CPU.
    for queue in ("0", "1"):
        assert sum(passthrough.interrupts(done, r"%s-(TxRx|rx)-%s" % (done.facts["net-3"], queue))) > 0


def test_lspci(guest):
    """Each function is as it is without Margay, but for what lspci.py says."""
    native = Native(guest.files).done
    assert native.outcome.status == margay_run.OK, native.outcome.text
    for function in FUNCTIONS:
        differences = lspci.compare(native.text, guest.done.text, function)
        assert not differences, "\n".join([function] + differences)
        # The controls: a byte, and a line, that differ.
        for pattern, wrong in CHANGES:
            changed, times = re.subn("(?m)^" + pattern % function, wrong, guest.done.text)
            assert times == 1 and lspci.compare(native.text, changed, function), wrong
    # What stands before function 3 is none of the guest's: a vendor, and no device that a driver takes.
    assert re.search(r"^margay-lspci: 00:07\.0 .*\[1b36:ffff\]", guest.done.text, re.MULTILINE)
