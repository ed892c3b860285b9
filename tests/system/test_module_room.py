# SPDX-License-Identifier: GPL-2.0-only
"""Boot modules lie below 4 GiB, of which firmware leaves little on some boards: QEMU's has 256 MiB there, and 4 GiB above. A module
that does not fit is missed by name, with the room that there was; the VMs that do not want it run. By BIOS and UEFI, from an ISO
and by PXE, where GRUB stops at what it cannot load. What is compressed comes as it is: GRUB would unpack it."""

import gzip
import os
import re
import shutil
import subprocess
import sys

import margay_machines
import node
import pytest

LOW = 256
LITTLE_LOW_MEMORY = ["-machine", "max-ram-below-4g=%dM" % LOW]
BULK = (LOW + 64) << 20
GOOD_END = "margay.test=end margay.end=poweroff"


@pytest.fixture(scope="module", name="bulk")
def fixture_bulk(tmp_path_factory):
    """Too large; of zeros, so that it takes no room here."""
    path = tmp_path_factory.mktemp("bulk") / "bulk"
    with open(path, "wb") as f:
        f.truncate(BULK)
    return str(path)


@pytest.fixture(scope="module", name="packed")
def fixture_packed(bulk):
    """The same, by gzip: a thousandth of it."""
    path = bulk + ".gz"
    with open(bulk, "rb") as f, gzip.open(path, "wb", compresslevel=1) as to:
        shutil.copyfileobj(f, to)
    return path


def files():
    """Two VMs, of which the first wants what does not fit."""
    return {"large.conf": node.vm_text("qemu", GOOD_END, name="large", disk="bulk"),
            "small.conf": node.vm_text("qemu", GOOD_END, name="small", memory="512M", cpus="1-1")}


def modules(bulk):
    return {"kernel": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd"), "bulk": bulk}


@pytest.mark.full
@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_iso(bulk, firmware):
    image = node.margay_iso("module-room", files(), modules(bulk))
    with node.start("module-room-" + firmware, "qemu", image, boot=margay_machines.Boot(firmware, "cd"), cpus=2, memory="4G",
                    extra=LITTLE_LOW_MEMORY) as running:
        run = node.finish(running)
    said = re.search(r"^large: large\.conf:\d+: disk = bulk: the boot loader gave no module of that name; it had room for one of "
                     r"(\d+) MiB$", run.text, re.M)
    # Firmware has some of it, and the first MiB is another piece.
    assert said and LOW // 2 < int(said[1]) < LOW
    assert run.has_line("small: end=poweroff")
    assert run.has_line("margay: node: end=poweroff vms=2 failed=1")


def netboot(root, bulk, directory):
    """What tools/margay-netboot made of the two."""
    for name, text in files().items():
        (directory / name).write_text(text, encoding="ascii")
    words = [sys.executable, os.path.join(node.TOP, "tools", "margay-netboot"), "-o", root]
    words += [word for name in files() for word in ("--vm", str(directory / name))]
    words += [word for name, path in modules(bulk).items() for word in ("--module", "%s=%s" % (name, path))]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.full
@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_network(bulk, tmp_path, firmware):
    root = str(tmp_path / "netboot")
    done = netboot(root, bulk, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "margay-netboot: warning: some firmware has less than 300 MiB for modules" in done.stderr
    assert "the largest is bulk, %.1f MB" % (BULK / 1e6) in done.stderr
    with node.start("module-room-net-" + firmware, "qemu", root, boot=margay_machines.Boot(firmware, "net"), cpus=2, memory="4G",
                    extra=LITTLE_LOW_MEMORY) as running:
        running.expect("margay netboot: nodes/default.cfg: modules/bulk cannot be loaded")


@pytest.mark.full
@pytest.mark.parametrize("medium, firmware", [("cd", "bios"), ("cd", "uefi"), ("net", "bios")])
def test_packed_comes_as_it_is(packed, tmp_path, medium, firmware):
    """Unpacked it would not fit. Both VMs run."""
    if medium == "cd":
        image = node.margay_iso("module-packed", files(), modules(packed))
    else:
        image = str(tmp_path / "netboot")
        done = netboot(image, packed, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    with node.start("module-packed-%s-%s" % (medium, firmware), "qemu", image, boot=margay_machines.Boot(firmware, medium), cpus=2,
                    memory="4G", extra=LITTLE_LOW_MEMORY) as running:
        run = node.finish(running)
    assert run.has_line("large: end=poweroff") and run.has_line("margay: node: end=poweroff vms=2 failed=0")


def loads(text):
    """The lines of a grub.cfg that load modules."""
    return [line.strip() for line in text.splitlines() if re.search(r"\bmodule2\b", line)]


def test_no_medium_has_modules_unpacked(tmp_path):
    """What each maker of media has GRUB load. (test_boot_media.py has the entries of a system's own GRUB.)"""
    image = node.margay_iso("module-lines", files(), modules(node.guest_file("initrd")))
    subprocess.run(["xorriso", "-osirrox", "on", "-indev", image, "-extract", "/boot/grub/grub.cfg", str(tmp_path / "grub.cfg")],
                   capture_output=True, check=True)
    lines = loads((tmp_path / "grub.cfg").read_text(encoding="ascii"))
    assert len(lines) == 5 and all(line.startswith("module2 --nounzip /boot/module") for line in lines), lines
    root = tmp_path / "netboot"
    assert netboot(str(root), node.guest_file("initrd"), tmp_path).returncode == 0
    lines = loads((root / "margay" / "grub.cfg").read_text(encoding="ascii"))
    assert len(lines) == 2 and all(line.startswith("if module2 --nounzip $files/") for line in lines), lines


def test_sizes_are_said(tmp_path):
    """What a boot loader has to find room for; no warning where any firmware has it."""
    vm = tmp_path / "vm0.conf"
    vm.write_text(node.vm_text("qemu", GOOD_END), encoding="ascii")
    done = subprocess.run(
        [sys.executable, os.path.join(node.TOP, "tools", "margay-netboot"), "--vm", str(vm), "-o", str(tmp_path / "netboot"),
         "--module", "kernel=" + node.guest_file("vmlinuz"), "--module", "initrd=" + node.guest_file("initrd")],
        capture_output=True, text=True, check=False)
    size = sum(os.path.getsize(path) for path in (vm, node.guest_file("vmlinuz"), node.guest_file("initrd")))
    assert done.returncode == 0 and done.stdout.endswith("; 3 modules, %.1f MB\n" % (size / 1e6)) and not done.stderr
