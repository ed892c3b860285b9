# SPDX-License-Identifier: GPL-2.0-only
"""The packages on a Debian system (tools/guest-debian) that has GRUB on its disk as grub-install puts it there: installed on the
bare machine as docs/first-hour.md says, which then boots by its own GRUB into Margay, with the same system as the management
VM; upgraded and removed in that VM, after which the machine boots without Margay. All is typed at the console.

First-hour.md's second step on a Debian 12 and on a 13 with GRUB on its disk by `grub-install` (BIOS), which then
boots into Margay, upgrades and purges `margay` in the management VM, and boots without it. On a Debian 12 a new kernel is
installed, which the management VM has at the next boot, and removed; then an upgrade whose image panics is tried once: the
machine resets by itself, and the image and the kernel that were there before bring the management VM up, which says so.
"""

import os
import pathlib
import re
import shutil
import subprocess

import client_json
import deb_package
import debian_guest
import disk
import management
import margay_run
import node
import other_image
import pytest

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.xdist_group("debian")]
CMDLINE = "console=ttyS0 root=/dev/nvme0n1p1 ro crashkernel=192M"
# What an installer and the operator write.
GRUB = "GRUB_DISTRIBUTOR=Debian\nGRUB_CMDLINE_LINUX=\"%s\"\nGRUB_TIMEOUT=1\n" % CMDLINE.replace(" root=/dev/nvme0n1p1 ro", "")
DEFAULT = "GRUB_DEFAULT=\"Margay: management.conf\"\n"
# That the node is off when the VM is.
MORE = "on_poweroff = poweroff_node\n"
MEMORY, CPUS = "2G", 2
NEWER = node.guest_file("vmlinuz-backports")
TRIAL_RESETS = 600  # seconds of wall time: its panic=30, on a busy machine


def newer(package, directory, name, change=None):
    """The same one with a later version; change(tree) changes what is in it."""
    tree = os.path.join(directory, "tree")
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = os.path.join(tree, "DEBIAN", "control")
    with open(control, encoding="ascii") as f:
        text = f.read()
    with open(control, "w", encoding="ascii") as f:
        f.write(re.sub(r"^(Version: .*)$", r"\1+1", text, count=1, flags=re.MULTILINE))
    if change:
        change(pathlib.Path(tree))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, os.path.join(directory, name)], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


def first_hour():
    """What docs/first-hour.md has typed on the node, and its management.conf."""
    (lines,), (vm,) = management.of_page("first-hour", "sh", "node"), management.of_page("first-hour", "conf", "management.conf")
    return lines.splitlines(), vm + MORE


def newer_kernel():
    """The version of the kernel of backports."""
    with open(NEWER + ".package", encoding="ascii") as f:
        return f.read().split()[0].removeprefix("linux-image-")


def kernel_package(directory, version):
    """As Debian's, with the kernel of backports: its files, and the hooks that its scripts call."""
    tree = os.path.join(directory, "tree")
    os.makedirs(os.path.join(tree, "boot"))
    os.makedirs(os.path.join(tree, "DEBIAN"))
    shutil.copy(NEWER, os.path.join(tree, "boot", "vmlinuz-" + version))
    shutil.copytree(os.path.join(node.GUEST, "modules-" + version), os.path.join(tree, "usr/lib/modules", version))
    # What mkinitramfs asks of it.
    with open(os.path.join(tree, "boot", "config-" + version), "w", encoding="ascii") as f:
        f.write("CONFIG_RD_GZIP=y\n")
    hooks = "#!/bin/sh\nset -e\n%srun-parts --exit-on-error --arg={0} --arg=/boot/vmlinuz-{0} /etc/kernel/%s.d\n"
    for script, first in ("postinst", "depmod {0}\n"), ("postrm", ""):
        with open(os.path.join(tree, "DEBIAN", script), "w", encoding="ascii") as f:
            f.write((hooks % (first, script)).format(version))
        os.chmod(os.path.join(tree, "DEBIAN", script), 0o755)
    with open(os.path.join(tree, "DEBIAN", "control"), "w", encoding="ascii") as f:
        f.write("Package: linux-image\nVersion: 1\nArchitecture: amd64\nMaintainer: a test <test@example.org>\n"
                "Description: a kernel\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, os.path.join(directory, "kernel.deb")], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


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
    newer(packages["margay"], brought, "newer.deb")
    newer(packages["margay"], brought, "panics.deb", lambda tree: panics(tree / "boot/margay/margay.elf", version))
    if os.path.exists(NEWER):
        kernel_package(brought, newer_kernel())
    for name, text in (("management.conf", first_hour()[1]), ("grub", GRUB), ("default.cfg", DEFAULT)):
        with open(os.path.join(brought, name), "w", encoding="ascii") as f:
            f.write(text)
    second = os.path.join(directory, "brought.img")
    disk.run("mke2fs", "-q", "-t", "ext4", "-d", brought, second, "96M")
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


def panics(elf, version):
    other_image.other_version(elf, version)
    other_image.broken(elf)


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
        assert client_json.judge(console.do("margay --json info"), "info")["management"] == "management"
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


def pair(console, suffix=""):
    """The versions of the installed kernels that the management VM's kernel and initrd are the same as."""
    return tuple(console.do("for f in /boot/%s-*; do cmp -s $f /boot/margay/management.%s%s && echo ${f#*-}; done"
                            % (installed, file, suffix)) for installed, file in (("vmlinuz", "vmlinuz"), ("initrd.img", "initrd")))


def image_of(text):
    return re.search(r"^.*margay: Margay (\S+), image ", text, re.MULTILINE)[1]


@pytest.mark.skipif(not os.path.exists(NEWER), reason="backports have no kernel")
def test_new_versions(tmp_path):
    """Of the kernel, by its package's hooks, and of Margay, which does not come up."""
    _, version, system, second = disks(str(tmp_path), debian_guest.DEBIAN)
    with start("packages-new-install", debian_guest.DEBIAN, system + second, True) as running:
        console = debian_guest.Console(running)
        install(console)
        older, new = console.do("uname -r"), newer_kernel()
        assert pair(console) == (older, older)
        # It would make a second initrd.
        good(console, "chmod -x /etc/kernel/postinst.d/kdump-tools && cp /mnt/panics.deb /root && dpkg -i /mnt/kernel.deb")
        assert pair(console) == (new, new) and pair(console, ".previous") == (older, older)
        assert "Margay: management.conf, previous kernel" in console.do("grep menuentry /boot/grub/grub.cfg")
        off(running, console)
    with start("packages-new-kernel", debian_guest.DEBIAN, system, False) as running:
        console = debian_guest.Console(running)
        assert console.do("uname -r") == new and image_of(running.text) == version
        # By the service itself: the system is up when it is over.
        assert "recorded" in good(console, "margay-upgrade status")
        good(console, "dpkg -r linux-image")
        assert pair(console) == (older, older) and pair(console, ".previous") == ("", "")
        assert "the next boot tries the new version" in good(console, "dpkg -i /root/panics.deb")
        off(running, console)
    with start("packages-new-panics", debian_guest.DEBIAN, system, False) as running:
        assert running.process.wait(TRIAL_RESETS) == 0
        assert running.wait().status == margay_run.PANIC and image_of(running.text) == version[:-1] + "!"
    with start("packages-new-back", debian_guest.DEBIAN, system, False) as running:
        console = debian_guest.Console(running, failed=["margay-booted.service"])
        assert image_of(running.text) == version and console.do("uname -r") == older
        assert "the new version did not come up" in console.do("journalctl -q -b -u margay-booted -o cat")
        assert "was tried" in good(console, "margay-upgrade status")
        off(running, console)
