# SPDX-License-Identifier: GPL-2.0-only
"""tools/margay-build over images of disks, raw and qcow2, with and without partitions, which mke2fs and sfdisk have made."""

import os
import shutil
import subprocess

import pytest

import image_roots as roots
from image_roots import build, contents, differences
from margay_images import root_sources
from margay_images.errors import ImageError

MOUNTS = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/loop-control"),
                            reason="only root mounts the image of a disk, by a loop device")
UUID = "6d617267-6179-4000-8000-00000000000%d"
FSTAB = "# <what> <where>\nUUID=%s / ext4 defaults 0 1\nUUID=%s /boot ext4 defaults 0 2\nLABEL=EFI /boot/efi vfat x 0 0\n" \
    "/dev/sdb1 /srv/data ext4 defaults 0 0\n" % (UUID % 1, UUID % 2)
MIB = 1 << 20


def run(*words, **options):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def file_system(path, tree, number, mib):
    run("truncate", "-s", mib * MIB, path)
    run("/sbin/mke2fs", "-q", "-t", "ext4", "-U", UUID % number, "-d", tree, path)


@pytest.fixture(name="made", scope="module")
def fixture_made(tmp_path_factory):
    """A disk of two partitions, /boot is one of its own; the same as qcow2; and the tree that is on it."""
    top = tmp_path_factory.mktemp("disk")
    tree = roots.make(top / "tree", {**roots.files(), "etc/fstab": FSTAB.encode()})
    shutil.copytree(tree, top / "root", symlinks=True)
    run("cp", "-a", "--remove-destination", tree + "/.", top / "root")
    shutil.rmtree(top / "root/boot")
    os.mkdir(top / "root/boot")
    os.utime(top / "root/boot", (roots.TIME, roots.TIME))
    file_system(top / "1", top / "root", 1, 16)
    file_system(top / "2", os.path.join(tree, "boot"), 2, 4)
    run("truncate", "-s", 24 * MIB, top / "disk.raw")
    run("/sbin/sfdisk", top / "disk.raw", input="label: gpt\nstart=2048, size=8192\nstart=10240, size=32768\n".encode())
    for name, start in (("2", 1), ("1", 5)):
        run("dd", "if=%s" % (top / name), "of=%s" % (top / "disk.raw"), "bs=1M", "seek=%d" % start, "conv=notrunc")
    run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", top / "disk.raw", top / "disk.qcow2")
    return top


@MOUNTS
def test_disks_are_the_tree(made, tmp_path):
    """Raw, packed raw and qcow2: the same bytes as of the tree itself, /boot's kernel from its own partition."""
    # The time of the second file system's own folder is mke2fs'.
    epoch = {"SOURCE_DATE_EPOCH": str(roots.TIME)}
    build(made / "tree", tmp_path / "tree", **epoch)
    wanted = contents(tmp_path / "tree")
    run("xz", "-k", "-1", made / "disk.raw")
    for name in "disk.raw", "disk.qcow2", "disk.raw.xz":
        out, _ = build(made / name, tmp_path / name, **epoch)
        assert not differences(contents(tmp_path / name), wanted), name
        assert "margay-build: left out: /srv/data, which fstab mounts from /dev/sdb1" in out
    with open("/proc/mounts", encoding="utf-8") as f:
        assert str(tmp_path) not in f.read()


@MOUNTS
def test_disk_without_partitions(made, tmp_path):
    """A file system as it is, whose fstab names one that is not there: the kernel is missing then, and a line says why."""
    _, lines = build(made / "1", tmp_path / "image", status=1)
    assert len(lines) == 1 and "no kernel in it" in lines[0]
    file_system(made / "whole", made / "tree", 1, 24)
    build(made / "whole", tmp_path / "image")
    build(made / "tree", tmp_path / "tree")
    assert not differences(contents(tmp_path / "image"), contents(tmp_path / "tree"))


@MOUNTS
def test_disks_that_are_refused(made, tmp_path):
    """A qcow2 that would read another file of this machine, a disk without a root, with two, or with none that can be read."""
    run("qemu-img", "create", "-f", "qcow2", "-b", made / "disk.raw", "-F", "raw", tmp_path / "backed.qcow2")
    run("truncate", "-s", 4 * MIB, tmp_path / "empty.raw")
    run("/sbin/sfdisk", tmp_path / "empty.raw", input=b"label: dos\nstart=2048, size=2048\n")
    shutil.copy(made / "disk.raw", tmp_path / "twice.raw")
    with open(tmp_path / "twice.raw", "r+b") as disk, open(made / "1", "rb") as root:
        disk.truncate(48 * MIB)
        disk.seek(24 * MIB)
        shutil.copyfileobj(root, disk)
    run("/sbin/sfdisk", tmp_path / "twice.raw",
        input=b"label: gpt\nstart=2048, size=8192\nstart=10240, size=32768\nstart=49152, size=32768\n")
    shutil.copy(made / "disk.qcow2", tmp_path / "cut.qcow2")
    os.truncate(tmp_path / "cut.qcow2", 100_000)
    for name, text in (("backed.qcow2", "needs another file"), ("empty.raw", "no root file system on it (nothing of ext2"),
                       ("twice.raw", "more than one root file system on it (ext4, ext4, ext4)"), ("cut.qcow2", "qemu-img: ")):
        _, lines = build(tmp_path / name, tmp_path / "image", status=1)
        assert len(lines) == 1 and text in lines[0], lines
        assert not (tmp_path / "image").exists()


HOSTILE = "UUID=%s / ext4 x 0 0\nUUID=%s %%s ext4 x 0 0\n" % (UUID % 1, UUID % 2)


def hostile(folder, path, data=None, link=None):
    """A file system with a root, and this file or link in it."""
    tree = roots.make(folder / "tree", {**roots.files(), **({path: data} if data else {})})
    if link:
        os.symlink(link, os.path.join(tree, path))
    file_system(folder / "root", tree, 1, 24)
    return folder / "root"


@MOUNTS
@pytest.mark.parametrize("point", ("/../../../../../../../../srv", "/etc/out", "/nothing"))
def test_fstab_mounts_nothing_over_this_machine(made, tmp_path, point):
    """What its fstab names is a folder of the image: root would else run programs of the image as this machine's own."""
    root = hostile(tmp_path, "etc/out", link="/srv") if point == "/etc/out" else hostile(tmp_path, "etc/x", b"x")
    run("truncate", "-s", 48 * MIB, tmp_path / "disk")
    (tmp_path / "fstab").write_text(HOSTILE % point)
    run("/sbin/debugfs", "-w", "-R", "write %s etc/fstab" % (tmp_path / "fstab"), root)
    run("/sbin/sfdisk", tmp_path / "disk", input=b"label: gpt\nstart=2048, size=49152\nstart=51200, size=8192\n")
    for path, start in ((root, 1), (made / "2", 25)):
        run("dd", "if=%s" % path, "of=%s" % (tmp_path / "disk"), "bs=1M", "seek=%d" % start, "conv=notrunc")
    _, lines = build(tmp_path / "disk", tmp_path / "image", status=1)
    assert len(lines) == 1 and "where fstab mounts something, is no folder in it" in lines[0] and not (tmp_path / "image").exists()


@MOUNTS
def test_fstab_is_of_the_image(tmp_path):
    """A link out of the image is not followed, to whatever of this machine that root may read."""
    (tmp_path / "of-this-machine").write_text("/dev/sdx /secret ext4 x 0 0\n")
    out, _ = build(hostile(tmp_path, "etc/fstab", link=str(tmp_path / "of-this-machine")), tmp_path / "image")
    assert not [line for line in out if "secret" in line]


def test_others_may_not(made, tmp_path, monkeypatch):
    """Who is not root is told what to do instead."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ImageError, match="do this as root, or bring its root as a tar archive"):
        root_sources.of(str(made / "disk.qcow2"), str(tmp_path))
