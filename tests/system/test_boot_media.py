# SPDX-License-Identifier: GPL-2.0-only
"""The node boots from CD, USB stick and disk, by BIOS and by UEFI, to a guest
that runs and ends. That the firmware is the one meant, and the medium, is what
UEFI itself says on the console (a BIOS says nothing there) and what the
hypervisor found in the boot information; no other medium is attached.
"""

import os
import shutil
import struct
import subprocess

import disk
import margay_machines
import margay_run
import node
import pytest

GOOD_END = "margay.test=end margay.end=poweroff"
# How UEFI names what it starts.
UEFI_NAME = {"cd": "UEFI QEMU DVD-ROM", "usb": "UEFI QEMU QEMU USB HARDDRIVE", "disk": "UEFI QEMU HARDDISK"}


def check(name, image, boot, **options):
    name = "%s-%s-%s" % (name, boot.firmware, boot.medium)
    with node.start(name, "qemu", image, boot=boot, cpus=2, **options) as running:
        run = node.finish(running)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    # GRUB ends without a new line.
    assert run.has_line(".*margay: Margay .*, loaded at 0x[0-9a-f]+ by GRUB .*, firmware " + boot.firmware.upper())
    assert run.has_line("margay: CPUs: 2 online of 2")
    started = run.lines("BdsDxe: starting")
    assert all(UEFI_NAME[boot.medium] in line for line in started)
    assert bool(started) == (boot.firmware == "uefi")
    # GRUB complains of nothing, be it harmless.
    assert not run.lines("(?i)^.{0,20}error:")


def header_tags(image):
    """[(type, flags, words)] of the multiboot2 header (3.1.1 to 3.1.3)."""
    at = image.index(struct.pack("<2I", 0xe85250d6, 0))
    magic, architecture, length, checksum = struct.unpack_from("<4I", image, at)
    assert at % 8 == 0 and at + length <= 32768
    assert (magic + architecture + length + checksum) % 2**32 == 0
    tags, here, end = [], at + 16, at + length
    while here < end:
        kind, flags, size = struct.unpack_from("<2HI", image, here)
        tags.append((kind, flags, struct.unpack_from("<%dI" % (size // 4 - 2), image, here + 8)))
        here += (size + 7) & ~7
    assert here == end
    return tags


def test_header():
    """Boot loaders that have to put the image elsewhere, or modules between pages, are rare: GRUB asks for none of it here."""
    with open(os.path.join(node.BUILD, "margay.elf"), "rb") as f:
        tags = header_tags(f.read())
    assert tags == [
        (1, 0, (6,)), (1, 1, (1, 3, 14, 15, 17, 21)), (5, 1, (1024, 768, 32)), (6, 0, ()),
        (10, 0, (0x200000, 0xffe00000, 0x200000, 1)), (0, 0, ()),
    ]


@pytest.fixture(scope="module")
def iso():
    return node.margay_iso(
        "media", {"vm0.conf": node.vm_text("qemu", GOOD_END, cpus="2")},
        {"kernel": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd")},
    )


@pytest.mark.parametrize(
    "firmware, medium",
    [("uefi", "cd"), ("bios", "usb"), pytest.param("uefi", "usb", marks=pytest.mark.full)],
)
def test_hybrid_iso(iso, firmware, medium):
    check("iso", iso, margay_machines.Boot(firmware, medium))


def grub_entries(root):
    """What update-grub would take from the installed script."""
    environment = dict(os.environ, MARGAY_BOOT=os.path.join(root, "boot"),
                       PATH=os.path.join(root, "usr/local/bin") + ":" + os.environ["PATH"])
    done = subprocess.run([os.path.join(root, "etc/grub.d/42_margay")], env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def install(root):
    """`make install`, as an operator has it done."""
    done = subprocess.run(["make", "-C", node.TOP, "install", "DESTDIR=" + root], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def lack(elf, option, folder):
    """The image says that it lacks this option, and no other."""
    section = os.path.join(folder, "section")
    write(section, "image test\nlacks %s\n" % option)
    subprocess.run(["objcopy", "--update-section", ".margay_options=" + section, elf], check=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A system with Margay in its /boot: the kernel is the distribution's, the rest lies beside the image."""
    root = str(tmp_path_factory.mktemp("root"))
    install(root)
    boot = os.path.join(root, "boot")
    shutil.copy(node.guest_file("vmlinuz"), os.path.join(boot, "vmlinuz-6.1.0-amd64"))
    shutil.copy(node.guest_file("initrd"), os.path.join(boot, "margay", "initrd"))
    shutil.copy(node.guest_file("margay-guest.cpio"), os.path.join(boot, "margay"))
    write(os.path.join(boot, "margay", "vm0.conf"),
          node.vm_text("qemu", GOOD_END, kernel="vmlinuz-6.1.0-amd64", cpus="2", module="margay-guest.cpio margay.module=1"))
    return root


@pytest.mark.parametrize("firmware", ["bios", pytest.param("uefi", marks=pytest.mark.full)])
def test_grub_entry_on_disk(installed, tmp_path, firmware):
    entries, complaints = grub_entries(installed)
    assert not complaints
    assert "/'margay/margay-guest.cpio' 'margay-guest.cpio'\n" in entries
    os.makedirs(os.path.join(installed, "boot", "grub"), exist_ok=True)
    write(os.path.join(installed, "boot", "grub", "grub.cfg"),
          "serial --unit=0 --speed=115200\nterminal_output console serial\nset timeout=0\n" + entries)
    check("disk", disk.make(installed, str(tmp_path)), margay_machines.Boot(firmware, "disk"))


def test_wrong_vm_file_gets_no_entry(tmp_path):
    """The right ones do, each and all together; a line says why the others do not."""
    root = str(tmp_path)
    install(root)
    margay = os.path.join(root, "boot", "margay")
    lack(os.path.join(margay, "margay.elf"), "VM_COUNTERS", root)
    entries, complaints = grub_entries(root)
    assert [line.split("'")[1] for line in entries.split("\n") if line.startswith("menuentry")] == ["Margay: hardware check"]
    assert "no VM file in %s" % margay in complaints and "module2" not in entries
    shutil.copy(node.guest_file("vmlinuz"), os.path.join(margay, "kernel"))
    write(os.path.join(margay, "initrd"), "070701")
    for name, keys in {"a": {}, "b": {}, "wrong": {"memory": "lots"}, "absent": {"kernel": "nothere"}, "blank it": {},
                       "lost": {"module": "gone.cpio with words"}, "needs": {"counters": "yes"}}.items():
        write(os.path.join(margay, name + ".conf"), node.vm_text("qemu", "", **keys))
    entries, complaints = grub_entries(root)
    assert [line.split("'")[1] for line in entries.split("\n") if line.startswith("menuentry")] == [
        "Margay: a.conf", "Margay: b.conf", "Margay: all VMs", "Margay: hardware check"]
    assert "wrong.conf:4: memory" in complaints
    assert "absent.conf: nothere is neither in %s nor in " % margay in complaints
    assert "lost.conf: gone.cpio is neither in %s nor in " % margay in complaints
    assert "needs.conf:6: counters: needs CONFIG_VM_COUNTERS\n" in complaints and "needs.conf: no menu entry\n" in complaints
    assert "blank it.conf: left out: its name may have" in complaints
    # A file that is wrong is there all the same.
    assert "no VM file" not in complaints
    # The check wants VM files only, of kernels and initrds nothing.
    assert entries.count("module2 --nounzip ") == entries.count("module2") == 3 + 3 + 4 + 2 and entries.count(" check\n") == 1
    check_syntax = subprocess.run(["grub-script-check"], input=entries, capture_output=True, text=True, check=False)
    assert check_syntax.returncode == 0, check_syntax.stderr


def titles(entries):
    return [line.split("'")[1][len("Margay: "):] for line in entries.split("\n") if line.startswith("menuentry")]


def test_grub_entries_are_judged(tmp_path):
    """Each VM file by itself, with what it names, and all beside each other; and the hypervisor's own files go into every entry."""
    install(str(tmp_path / "system"))
    root = str(tmp_path / "a system")
    os.rename(tmp_path / "system", root)
    margay = os.path.join(root, "boot", "margay")
    shutil.copy(node.guest_file("vmlinuz"), os.path.join(margay, "kernel"))
    write(os.path.join(margay, "initrd"), "070701")
    for name, keys in {"a": {"name": "a"}, "b": {"name": "b", "after": "a"}, ".old": {"name": "c"}}.items():
        write(os.path.join(margay, name + ".conf"), node.vm_text("qemu", "", **keys))
    # An update of Intel's, of the size that all had at first; its words add up to 0.
    header = [1, 7, 0x01012026, 0x906ea, 0, 1, 1, 0, 0, 0, 0, 0]
    header[4] = -sum(header) & 0xffffffff
    update = struct.pack("<12I", *header) + bytes(2000)
    for folder, *names in (("microcode", "intel.bin", "packed.bin"), ("facts", "node type.txt", "node.txt")):
        os.makedirs(os.path.join(margay, folder))
        for name in names:
            with open(os.path.join(margay, folder, name), "wb") as f:
                f.write(b"\x1f\x8b" if "packed" in name else update if folder == "microcode" else b"tables = 0\nend = 0\n")
    entries, complaints = grub_entries(root)
    # One that waits for another is nothing by itself.
    assert titles(entries) == ["a.conf", "all VMs", "hardware check"]
    assert "b.conf:7: after = a: no earlier VM file is of that name" in complaints
    for line in ("module2 --nounzip \"$boot\"/'margay/microcode/intel.bin' 'microcode:intel.bin'\n",
                 "module2 --nounzip \"$boot\"/'margay/facts/node.txt' 'facts:node.txt'\n"):
        assert entries.count(line) == 3
    assert "packed.bin" not in entries and "node type" not in entries
    assert "microcode:packed.bin: compressed: gunzip it" in complaints and "node type.txt: left out: its name" in complaints
    check_syntax = subprocess.run(["grub-script-check"], input=entries, capture_output=True, text=True, check=False)
    assert check_syntax.returncode == 0, check_syntax.stderr
    # A trusted one beside one that is not, and a kernel that is none.
    write(os.path.join(margay, "b.conf"), node.vm_text("qemu", "", name="b", trusted="yes"))
    entries, complaints = grub_entries(root)
    assert titles(entries) == ["a.conf", "b.conf", "hardware check"]
    assert "b.conf:7: trusted = yes: not beside a.conf" in complaints and "no menu entry for all VMs together" in complaints
    write(os.path.join(margay, "kernel"), "MZ")
    entries, complaints = grub_entries(root)
    assert titles(entries) == ["hardware check"]
    # Each VM's own fault is told once, though it keeps the entry for all away, too.
    assert complaints.count("a.conf:1: kernel = kernel: not a Linux kernel image") == 1
    for name in "ab":
        write(os.path.join(margay, name + ".conf"), "nonsense\n")
    entries, complaints = grub_entries(root)
    assert titles(entries) == ["hardware check"] and "no VM file" not in complaints


def test_grub_entries_of_links(tmp_path):
    """/boot/margay and what is in it may be links, as /boot is on another disk; one that leads nowhere is missed."""
    install(str(tmp_path))
    boot, there = str(tmp_path / "boot"), str(tmp_path / "there")
    os.makedirs(os.path.join(boot, "margay", "facts"))
    shutil.copy(node.guest_file("vmlinuz"), os.path.join(boot, "margay", "kernel"))
    write(os.path.join(boot, "margay", "initrd"), "070701")
    write(os.path.join(boot, "real"), node.vm_text("qemu", "", name="a"))
    write(os.path.join(boot, "table"), "tables = 0\nend = 0\n")
    for name, target in (("a.conf", "real"), ("b.conf", "gone"), ("facts/node.txt", "table")):
        os.symlink(os.path.join(boot, target), os.path.join(boot, "margay", name))
    os.rename(os.path.join(boot, "margay"), there)
    os.symlink(there, os.path.join(boot, "margay"))
    entries, complaints = grub_entries(str(tmp_path))
    assert titles(entries) == ["a.conf", "hardware check"] and entries.count("facts:node.txt") == 2
    assert "b.conf: No such file or directory" in complaints and "b.conf: no menu entry" in complaints


def test_grub_command_line(tmp_path, monkeypatch):
    """Judged beside the VM files, as gdb= names one of them, and by what the image has."""
    install(str(tmp_path))
    margay = os.path.join(tmp_path, "boot", "margay")
    shutil.copy(node.guest_file("vmlinuz"), os.path.join(margay, "kernel"))
    write(os.path.join(margay, "initrd"), "070701")
    for name in "ab":
        write(os.path.join(margay, name + ".conf"), node.vm_text("qemu", "", name=name))
    monkeypatch.setenv("GRUB_CMDLINE_MARGAY", "gdb=com2,b")
    assert "command line: 'gdb=com2,b': needs CONFIG_GDB\n" in grub_entries(str(tmp_path))[1]
    # One that lacks another option.
    lack(os.path.join(margay, "margay.elf"), "IOMMU", str(tmp_path))
    for words, wrong in (("gdb=com2,b", False), ("gdb=com2,c", True), ("quiet", True), ("iommu=off", True)):
        monkeypatch.setenv("GRUB_CMDLINE_MARGAY", words)
        entries, complaints = grub_entries(str(tmp_path))
        assert titles(entries) == ["a.conf", "b.conf", "all VMs", "hardware check"]
        assert complaints.count("42_margay: GRUB_CMDLINE_MARGAY has words that the hypervisor will not understand\n") == wrong
        assert complaints.count("command line") == wrong
