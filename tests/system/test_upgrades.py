# SPDX-License-Identifier: GPL-2.0-only
"""Upgrades of the package `margay`: the image that was there stays, with entries of its own, and the new one is on trial until its
success is recorded. dpkg installs into a directory (debian_root.py), a shell walks through GRUB's entries (grub_entry.py), and with
--full QEMU's GRUB does, from a disk."""

import hashlib
import re
import shutil
import subprocess

import deb_package
import debian_root
import disk
import grub_entry
import margay_machines
import margay_run
import node
import other_image
import pytest

ENTRY = "Margay: vm0.conf"
BEFORE = "Margay: previous versions>Margay: vm0.conf, previous version"
CONSOLE = ["console=com1,115200"]
TRIAL_RESETS = 300  # seconds of wall time: its panic=30, on a busy machine
TRIED = "the next boot tries the new version, later ones the previous one until success is recorded"


@pytest.fixture(scope="module", name="package")
def fixture_package():
    return deb_package.make_deb()["margay"]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Node:
    """A system that boots vm0.conf by its GRUB; `made` packages are of versions 2, 3, ..., each with an image of its own."""

    def __init__(self, package, directory, **how):
        self.package, self.directory = package, directory
        self.root = debian_root.Root(directory, **how)
        self.margay = self.root.boot / "margay"
        self.elf, self.previous = self.margay / "margay.elf", self.margay / "margay.elf.previous"
        self.margay.mkdir(parents=True)
        shutil.copy(node.guest_file("vmlinuz"), self.margay / "kernel")
        (self.margay / "initrd").write_text("070701", encoding="ascii")
        self.vm_file()
        self.ports = directory / "ports"
        (self.ports / "vport0p1").mkdir(parents=True)
        (self.ports / "vport0p1/name").write_text("margay.0\n", encoding="ascii")
        self.install(package)

    def vm_file(self, cmdline="", **keys):
        (self.margay / "vm0.conf").write_text(node.vm_text("qemu", cmdline, **keys), encoding="ascii")

    def install(self, package):
        said = self.root.dpkg("--install", package)
        assert self.root.called() == (["update-grub"] if (self.root.boot / "grub").exists() else [])
        return said

    def upgrade(self, version, change=None):
        def append(tree):
            with open(tree / "boot/margay/margay.elf", "ab") as f:
                f.write(str(version).encode())
            if change:
                change(tree)
        return self.install(debian_root.changed_package(self.package, self.directory, "99.%d" % version, append))

    def boot(self, title=ENTRY):
        return grub_entry.image(self.root.boot, title)

    def tool(self, *words):
        done = self.root.run("usr/sbin/margay-upgrade", *words, MARGAY_PORTS=str(self.ports))
        return done.returncode, (done.stdout + done.stderr).strip().replace("margay-upgrade: ", "")


def test_a_trial(package, tmp_path):
    """Of a version that does not come up, and of one that does."""
    system = Node(package, tmp_path)
    first = system.elf.read_bytes()
    assert system.boot() == ("margay.elf", CONSOLE) and system.root.grubenv() == {"booted": "margay.elf"}
    assert system.tool("booted") == (0, "") and system.root.grubenv() == {"good": sha256(system.elf)}
    assert system.tool() == (0, "margay.elf: boots; its success is recorded")
    # Nothing has booted since: nothing is recorded.
    assert system.tool("booted") == (0, "") and system.root.grubenv() == {"good": sha256(system.elf)}
    assert TRIED in system.upgrade(2)
    assert system.previous.read_bytes() == first and system.elf.read_bytes() == first + b"2"
    assert system.tool()[1].startswith("margay.elf: the next boot tries it")
    # The first boot tries it; it does not come up, and all later ones take the one that does.
    assert system.boot() == ("margay.elf", [*CONSOLE, "panic=30"]) and system.root.grubenv()["trial"] == "tried"
    for _ in range(2):
        assert system.boot() == ("margay.elf.previous", CONSOLE)
    status, said = system.tool("booted")
    assert status == 1 and said.startswith("the new version did not come up") and "\n" not in said
    assert system.root.grubenv() == {"good": hashlib.sha256(first).hexdigest(), "trial": "tried"}
    # One more: what was never seen to boot does not take the good one's place. This one comes up.
    assert TRIED in system.upgrade(3)
    assert system.previous.read_bytes() == first
    assert system.boot()[0] == "margay.elf" and system.tool("booted") == (0, "")
    assert system.root.grubenv() == {"good": sha256(system.elf)} and system.boot() == ("margay.elf", CONSOLE)
    system.upgrade(4)
    assert system.previous.read_bytes() == first + b"3"


def test_by_hand(package, tmp_path):
    system = Node(package, tmp_path)
    for word in "try", "accept", "back":
        assert system.tool(word) == (1, "there is no %s: nothing to choose from" % system.previous)
    system.upgrade(2)
    assert system.tool("back") == (0, "") and system.boot() == ("margay.elf.previous", CONSOLE)
    assert system.tool("try") == (0, "") and system.boot()[0] == "margay.elf" and system.boot()[0] == "margay.elf.previous"
    assert system.tool("accept") == (0, "") and system.boot() == ("margay.elf", CONSOLE)
    # Whatever is on trial, and without an end to it.
    system.tool("back")
    assert system.boot(BEFORE) == ("margay.elf.previous", CONSOLE)
    for words in ("nonsense",), ("try", "try"):
        assert system.tool(*words)[0] == 2


def test_no_trial_where_nobody_records(package, tmp_path):
    """And the new one boots at once. The previous one is always that which was there last."""
    system = Node(package, tmp_path)
    for version in 2, 3:
        before = system.elf.read_bytes()
        assert TRIED not in system.upgrade(version)
        assert system.previous.read_bytes() == before and system.boot() == ("margay.elf", CONSOLE)
    assert system.boot(BEFORE) == ("margay.elf.previous", CONSOLE)
    # This is no management VM: the bare machine, after a boot that failed.
    (system.ports / "vport0p1/name").write_text("org.qemu.guest_agent.0\n", encoding="ascii")
    assert system.tool("booted") == (1, "this is not the management VM")
    assert "good" not in system.root.grubenv()


@pytest.mark.parametrize("abstraction", ["lvm", None])
def test_grubenv_that_grub_does_not_write(package, tmp_path, abstraction):
    """By what update-grub knows of the disk: then no entry tries to. And by surprise: the previous one boots, and says so."""
    system = Node(package, tmp_path)
    if abstraction:
        (system.root.path / "disk").write_text(abstraction + "\n", encoding="ascii")
        system.upgrade(2)
        cfg = system.root.grub_cfg()
        assert "_env" not in cfg and system.boot() == ("margay.elf", CONSOLE) and system.boot(BEFORE)[0] == "margay.elf.previous"
        return
    system.boot()
    system.tool("booted")
    system.upgrade(2)
    (system.root.boot / "grub/read-only").touch()
    said = [words for command, words in grub_entry.boot(system.root.boot, ENTRY) if command == "echo"]
    assert "grubenv cannot be written" in " ".join(said[0]) and system.boot()[0] == "margay.elf.previous"


def test_a_version_that_refuses_the_vm_file(package, tmp_path):
    """The entry of that title, which may be the machine's default, boots the one that takes it."""
    system = Node(package, tmp_path)
    system.vm_file(counters="yes")

    def lack(tree):
        section = tmp_path / "section"
        section.write_text("image test\nlacks VM_COUNTERS\n", encoding="ascii")
        subprocess.run(["objcopy", "--update-section", ".margay_options=%s" % section, tree / "boot/margay/margay.elf"], check=True)

    said = system.upgrade(2, lack)
    assert "counters: needs CONFIG_VM_COUNTERS" in said and "this version refuses it: its entry boots the previous one" in said
    assert system.boot() == ("margay.elf.previous", CONSOLE)
    assert grub_entry.titles(system.root.grub_cfg()) == [ENTRY, "Margay: hardware check", BEFORE]


def test_the_same_again(package, tmp_path):
    """A reinstallation tries nothing and keeps nothing. What puts a panic on the command line has the last word of it."""
    system = Node(package, tmp_path)
    system.boot()
    system.tool("booted")
    before = system.root.grubenv()
    system.install(package)
    assert not system.previous.exists() and system.root.grubenv() == before
    config = system.root.path / "etc/default/grub.d/margay.cfg"
    config.write_text('export GRUB_CMDLINE_MARGAY="console=com2 panic=halt"\n', encoding="ascii")
    shutil.copy(config, config.with_suffix(".kept"))
    system.upgrade(2)
    shutil.copy(config.with_suffix(".kept"), config)
    system.root.run("usr/share/margay/update-grub")
    assert system.boot() == ("margay.elf", ["console=com2", "panic=halt"])


def test_no_room_for_two(package, tmp_path):
    """Then the old one is all there is, and an upgrade says so before it changes anything."""
    system = Node(package, tmp_path)
    before = system.elf.read_bytes()
    cp = system.root.programs / "cp"
    cp.write_text("#!/bin/sh\necho \"cp: no space left on device\" >&2; exit 1\n", encoding="ascii")
    cp.chmod(0o755)
    with pytest.raises(AssertionError, match="margay: /boot has no room to keep the image that is there"):
        system.upgrade(2)
    assert system.elf.read_bytes() == before and not system.previous.exists()
    assert not list(system.margay.glob(".margay*"))


@pytest.mark.parametrize("disk_is_there", [False, True])
def test_without_grub_on_a_disk(package, tmp_path, disk_is_there):
    """As where an image is made, in a chroot without a disk, and on one that something else boots: the package is configured, and
    removed, and a line each says what is left to do."""
    system = Node(package, tmp_path, grub=False, device=disk_is_there)
    status = (system.root.path / "var/lib/dpkg/status").read_text(encoding="ascii")
    assert "Status: install ok installed" in status and system.root.called() == []
    for said in system.upgrade(2), system.root.dpkg("--remove", "margay"):
        assert [line for line in said.splitlines() if "update-grub" in line or "grub-probe" in line] == [
            "margay: GRUB is not on a disk below %s yet: run update-grub when it is" % system.root.boot]
    assert system.root.called() == []


def test_removed(package, tmp_path):
    """With all that it has written down; other people's lines of grubenv stay."""
    system = Node(package, tmp_path)
    system.boot()
    system.tool("booted")
    system.upgrade(2)
    subprocess.run(["grub-editenv", system.root.boot / "grub/grubenv", "set", "saved_entry=Debian"], check=True)
    system.root.dpkg("--remove", "margay")
    assert not system.previous.exists() and system.root.grubenv() == {}
    assert "saved_entry=Debian" in (system.root.boot / "grub/grubenv").read_text(encoding="ascii")


@pytest.mark.full
def test_by_grub_itself(package, tmp_path):
    """From a disk in QEMU, on which GRUB writes: the new image, which panics, and resets the machine by itself; then the previous
    one, twice. The two are told apart by their versions."""
    system = Node(package, tmp_path)
    shutil.copy(node.guest_file("initrd"), system.margay / "initrd")
    system.vm_file(cpus="2", cmdline="margay.test=end margay.end=poweroff")
    system.boot()
    system.tool("booted")
    with open("%s/version" % node.BUILD, encoding="ascii") as f:
        version = f.read().strip()

    def change(tree):
        other_image.other_version(tree / "boot/margay/margay.elf", version)
        other_image.broken(tree / "boot/margay/margay.elf")

    assert TRIED in system.upgrade(2, change)
    cfg = system.root.boot / "grub/grub.cfg"
    cfg.write_text("serial --unit=0 --speed=115200\nterminal_output console serial\nset timeout=0\nset default='%s'\n"
                   % ENTRY + cfg.read_text(encoding="ascii"), encoding="ascii")
    medium, boot = disk.make(str(system.root.path), str(tmp_path)), margay_machines.Boot("bios", "disk", written=True)
    with node.start("upgrade-tried", "qemu", medium, boot=boot, cpus=2) as running:
        running.expect("^.*margay: Margay %s!, image " % re.escape(version[:-1]))
        assert running.process.wait(TRIAL_RESETS) == 0
        assert running.wait().status == margay_run.PANIC
    for time in "first", "second":
        with node.start("upgrade-previous-" + time, "qemu", medium, boot=boot, cpus=2) as running:
            run = node.finish(running)
        assert run.outcome.status == margay_run.OK, run.outcome.text
        assert run.has_line(".*margay: Margay %s, image .*" % re.escape(version))
        assert not run.lines("(?i)^.{0,20}error:")
