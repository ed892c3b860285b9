# SPDX-License-Identifier: GPL-2.0-only
"""The packages on a Debian system (tools/guest-debian) that has GRUB on its disk as grub-install puts it there: installed on the
bare machine as docs/first-hour.md says, which then boots by its own GRUB into Margay, with the same system as the management
VM; upgraded and removed in that VM, after which the machine boots without Margay. All is typed at the console.

First-hour.md's second step on a Debian 12 and on a 13 with GRUB on its disk by `grub-install` (BIOS), which then
boots into Margay, upgrades and purges `margay` in the management VM, and boots without it.
"""

import json
import os
import re
import shutil
import subprocess

import deb_package
import debian_guest
import disk
import management
import margay_run
import node
import pytest

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.xdist_group("debian")]
CMDLINE = "console=ttyS0 root=/dev/nvme0n1p1 ro crashkernel=192M"
# What an installer and the operator write.
GRUB = "GRUB_DISTRIBUTOR=Debian\nGRUB_CMDLINE_LINUX=\"%s\"\nGRUB_TIMEOUT=1\n" % CMDLINE.replace(" root=/dev/nvme0n1p1 ro", "")
DEFAULT = "GRUB_DEFAULT=\"Margay: management.conf\"\n"
# That the node is off when the VM is.
MORE = "on_poweroff = poweroff_node\n"
MEMORY, CPUS = "2G", 2


def newer(package, directory):
    """The same one with a later version."""
    tree = os.path.join(directory, "tree")
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = os.path.join(tree, "DEBIAN", "control")
    with open(control, encoding="ascii") as f:
        text = f.read()
    with open(control, "w", encoding="ascii") as f:
        f.write(re.sub(r"^(Version: .*)$", r"\1+1", text, count=1, flags=re.MULTILINE))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, os.path.join(directory, "newer.deb")], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


def first_hour():
    """What docs/first-hour.md has typed on the node, and its management.conf."""
    (lines,), (vm,) = management.of_page("first-hour", "sh", "node"), management.of_page("first-hour", "conf", "management.conf")
    return lines.splitlines(), vm + MORE


def disks(directory, debian):
    """The package's path and the image's version; QEMU's words for the system's disk, which is written to, and for another one
    that brings the packages and the files."""
    packages = deb_package.make_deb()
    with open(os.path.join(node.BUILD, "version"), encoding="ascii") as f:
        version = f.read().strip()
    brought = os.path.join(directory, "brought")
    os.mkdir(brought)
    for path in packages.values():
        shutil.copy(path, brought)
    newer(packages["margay"], brought)
    for name, text in (("management.conf", first_hour()[1]), ("grub", GRUB), ("default.cfg", DEFAULT)):
        with open(os.path.join(brought, name), "w", encoding="ascii") as f:
            f.write(text)
    second = os.path.join(directory, "brought.img")
    disk.run("mke2fs", "-q", "-t", "ext4", "-d", brought, second, "32M")
    root = os.path.join(debian, "root.img")
    system = os.path.join(directory, "system.img")
    with open(system, "wb") as f:
        f.truncate(disk.MIB + os.path.getsize(root))
        f.seek(0)
        f.write(b"\xcd\x18")  # INT 18h: the BIOS is to go on to the next medium
        f.seek(446)
        f.write(disk.partition(1, disk.LINUX, disk.MIB, os.path.getsize(root)))
        f.seek(510)
        f.write(b"\x55\xaa")
    disk.run("dd", "if=" + root, "of=" + system, "bs=1M", "seek=1", "conv=notrunc,sparse")
    drive = "if=none,format=raw,id=%s,file=%s"
    return (packages["margay"], version,
            ["-drive", drive % ("root", system), "-device", "nvme,drive=root,serial=margay,addr=6,bootindex=0"],
            ["-drive", drive % ("second", second), "-device", "virtio-blk-pci,drive=second,addr=7"])


def start(name, debian, extra, native):
    """The CD has the installer's kernel, which starts when there is no GRUB on the disk."""
    name += "-" + os.path.basename(debian)
    iso = node.image(name, "--linux", os.path.join(debian, "vmlinuz"), "--initrd", os.path.join(debian, "initrd"),
                     "--cmdline", CMDLINE)
    return node.start(name, "qemu", iso, cpus=CPUS, memory=MEMORY, extra=extra, native=native, timeout=debian_guest.MINUTES * 60)


def good(console, command):
    """What a command says that has to end well. apt draws on a terminal: its last may stand in front of the word."""
    said = console.do(command + " && echo good")
    assert said.endswith("good"), "%s: %s" % (command, said)
    return said


def entries(console):
    """The titles of GRUB's menu."""
    return re.findall("'(.*)'", console.do("grep -o \"^menuentry '[^']*'\" /boot/grub/grub.cfg"))


def off(running, console):
    console.leave("systemctl poweroff")
    outcome = running.wait()
    assert outcome.status == margay_run.OK, outcome.text


def install(console):
    """GRUB as the installer leaves it, then the first hour's second step."""
    good(console, "mount /dev/vda /mnt && cp /mnt/grub /etc/default/grub && mkdir -p /etc/default/grub.d")
    good(console, "grub-install /dev/nvme0n1")
    good(console, "update-grub")
    assert entries(console) == ["Debian GNU/Linux"]
    good(console, "cp /mnt/default.cfg /etc/default/grub.d/ && cp /mnt/newer.deb /mnt/margay-tools_*.deb /root/ && cd /mnt")
    typed = first_hour()[0]
    good(console, typed[0])
    assert entries(console)[1:] == ["Margay: hardware check"]
    for line in typed[1:]:
        good(console, line)
    assert console.do("grep ^cmdline /boot/margay/management.conf").endswith(" root=/dev/nvme0n1p1 ro crashkernel=192M")
    assert entries(console)[1:] == ["Margay: management.conf", "Margay: hardware check"]


def in_their_sandboxes(console):
    """Services do their work as systemd keeps them: the node's boot is recorded as a success, Prometheus has its numbers."""
    for unit in "margay-booted", "margay-metrics":
        good(console, "systemctl start %s" % unit)
        assert console.do("systemctl show -p Result --value %s" % unit) == "success"
    assert "margay_good=" in console.do("grub-editenv list") and "margay_booted=" not in console.do("grub-editenv list")
    good(console, "test -s /var/lib/prometheus/node-exporter/margay.prom")
    assert console.do("systemctl is-active margay-journal.service") == "active"
    started = "journalctl -q -t margay-event MARGAY_EVENT=started MARGAY_VM=management"
    good(console, "until %s | grep -q 'started management$'; do sleep 1; done" % started)
    good(console, "journalctl -q -t margay-node | grep -q 'margay: Margay '")
    # Not each of the timer's calls.
    assert console.do("journalctl -q -t margay MARGAY_COMMAND=metrics _SYSTEMD_UNIT=margay-metrics.service") == ""


@pytest.mark.parametrize("release", ["debian", "debian-13"])
def test_own_grub(release, tmp_path):
    """Bare; then the management VM; then bare again."""
    debian = os.path.join(node.GUEST, release)
    package, version, system, second = disks(str(tmp_path), debian)
    with start("packages-boot-install", debian, system + second, True) as running:
        console = debian_guest.Console(running)
        assert console.do("systemd-detect-virt") == "qemu"
        install(console)
        off(running, console)
    with start("packages-boot-margay", debian, system, False) as running:
        console = debian_guest.Console(running)
        assert re.search("^.*margay: Margay %s, image default, loaded at 0x[0-9a-f]+ by GRUB " % re.escape(version),
                         running.text, re.MULTILINE)
        assert console.do("systemd-detect-virt") == "vm-other"
        for page in "first-hour", "management-vm":
            for line in "".join(management.of_page(page, "sh", "debian")).splitlines():
                if not line.startswith("crash "):
                    good(console, line)
        assert console.do("systemctl is-active margay-watch.socket margay-metrics.timer") == "active\nactive"
        in_their_sandboxes(console)
        assert console.do("margay --version") == "margay " + version
        assert json.loads(console.do("margay --json info"))["management"] == "management"
        good(console, "journalctl -q -t margay MARGAY_COMMAND=info MARGAY_USER=root | grep -q 'root: margay info$'")
        good(console, "apt-get -qy install /root/newer.deb")
        assert console.do("dpkg-query -W -f '${Version}' margay; echo") == os.path.basename(package).split("_")[1] + "+1"
        assert entries(console)[1:] == ["Margay: management.conf", "Margay: hardware check"]
        good(console, "apt-get -qy purge margay")
        assert entries(console) == ["Debian GNU/Linux"]
        assert console.do("ls -1 /boot/margay") == "management.conf\nmanagement.initrd\nmanagement.vmlinuz"
        off(running, console)
    with start("packages-boot-removed", debian, system, True) as running:
        console = debian_guest.Console(running)
        assert console.do("systemd-detect-virt; cat /sys/class/dmi/id/sys_vendor") == "qemu\nQEMU"
        assert "BOOT_IMAGE=/boot/vmlinuz" in console.do("cat /proc/cmdline")
        # margay-tools is still there, and has nothing to do, whatever other ports for programs a machine has.
        assert console.do("systemctl is-active margay-watch.socket margay-journal.service") == "inactive\ninactive"
        off(running, console)
