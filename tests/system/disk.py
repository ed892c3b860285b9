# SPDX-License-Identifier: GPL-2.0-only
"""A disk with GRUB on it as grub-install puts it on a Debian machine's, for BIOS
and UEFI at once, from a folder that becomes its /boot. Needs no root: nothing
is mounted, the file systems are made from folders.
"""

import os
import shutil
import struct
import subprocess

GRUB = "/usr/lib/grub"
SECTOR = 512
MIB = 1 << 20
ESP_SIZE = 8 * MIB
BOOT_IMAGE_CODE = 440  # of the first sector; the partition table is behind it
# Partition types: EFI system, Linux.
ESP, LINUX = 0xEF, 0x83
PREFIX = "(hd0,msdos2)/boot/grub"
ARCHITECTURES = {"i386-pc": ["biosdisk"], "x86_64-efi": []}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, "%s: %s" % (command[0], done.stdout + done.stderr)


def install_grub(boot, directory):
    """GRUB's modules into boot/grub; returns {architecture: its core image}."""
    cores = {}
    for architecture, modules in ARCHITECTURES.items():
        shutil.copytree(
            os.path.join(GRUB, architecture), os.path.join(boot, "grub", architecture), dirs_exist_ok=True,
            ignore=lambda _, names: [n for n in names if not n.endswith((".mod", ".lst"))],
        )
        cores[architecture] = os.path.join(directory, architecture + ".core")
        run("grub-mkimage", "-O", architecture, "-p", PREFIX, "-o", cores[architecture], "part_msdos", "ext2", *modules)
    return cores


def partition(number, kind, start, size):
    """An entry of the partition table; the addresses that nobody uses any more are the largest."""
    return struct.pack("<B3sB3sII", 0x80 if number == 2 else 0, b"\xfe\xff\xff", kind, b"\xfe\xff\xff",
                       start // SECTOR, size // SECTOR)


def make(root, directory):
    """root: a folder with boot/grub/grub.cfg; returns the path of the disk's image, in directory."""
    cores = install_grub(os.path.join(root, "boot"), directory)
    esp, linux, image = (os.path.join(directory, name) for name in ("esp", "linux", "disk.img"))
    with open(esp, "wb") as f:
        f.truncate(ESP_SIZE)
    run("mformat", "-i", esp, "::")
    run("mmd", "-i", esp, "::EFI", "::EFI/BOOT")
    run("mcopy", "-i", esp, cores["x86_64-efi"], "::EFI/BOOT/BOOTX64.EFI")
    used = sum(os.path.getsize(os.path.join(d, f)) for d, _, names in os.walk(root) for f in names)
    with open(linux, "wb") as f:
        f.truncate((used // MIB + 16) * MIB)
    run("mke2fs", "-q", "-t", "ext4", "-d", root, linux)

    with open(image, "wb") as out, open(os.path.join(GRUB, "i386-pc", "boot.img"), "rb") as boot:
        out.write(boot.read(BOOT_IMAGE_CODE))
        out.seek(446)
        out.write(partition(1, ESP, MIB, ESP_SIZE))
        out.write(partition(2, LINUX, MIB + ESP_SIZE, os.path.getsize(linux)))
        out.seek(510)
        out.write(b"\x55\xaa")
        for at, file in ((SECTOR, cores["i386-pc"]), (MIB, esp), (MIB + ESP_SIZE, linux)):
            assert at != SECTOR or os.path.getsize(file) <= MIB - SECTOR
            out.seek(at)
            with open(file, "rb") as f:
                shutil.copyfileobj(f, out)
    return image
