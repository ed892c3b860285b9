# SPDX-License-Identifier: GPL-2.0-only
"""`margay-build --slurm`: what is put into an image for the VMs of Slurm jobs, which roots cannot be one; and that its program does
what the metadata says, run as it is in namespaces. That slurmd registers with it: tests/system/test_slurm.py."""

import base64
import os
import re
import shutil
import subprocess

import pytest

import image_roots
from margay_slurm import metadata

SLURM = os.path.join(image_roots.TOP, "tools", "margay_images", "slurm")
PROGRAM = os.path.join(SLURM, "margay-slurm-vm")
HAS = {"usr/sbin/slurmd": b"slurmd", "usr/sbin/munged": b"munged", "usr/bin/ip": b"ip", "usr/bin/tar": b"tar",
       "usr/lib/systemd/systemd": b"systemd", "etc/passwd": b"root:x:0:0::/root:/bin/sh\nmunge:x:120:121::/:/bin/false\n"}
KEY = bytes(range(256)) * 4
ORDER = {"node": "n07", "image": "mpi:1", "controller": "head", "address": "10.9.0.7/24", "gateway": "10.9.0.1",
         "munge_key": base64.b64encode(KEY).decode()}
MAY_MOUNT = os.geteuid() == 0 and subprocess.run(["unshare", "-m", "-n", "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture(name="root")
def fixture_root(tmp_path):
    """root(left out...): a root with Slurm but for these."""
    def root(*without):
        contents = {path: data for path, data in {**image_roots.files(), **HAS}.items() if path not in without}
        top = tmp_path / "root"
        shutil.rmtree(top, ignore_errors=True)
        top.mkdir()
        return image_roots.make(top, contents)
    return root


def listed(image):
    """{path: (mode, owner)} of an image's root."""
    out = subprocess.run(["unsquashfs", "-lln", os.path.join(image, "root.squashfs")], capture_output=True, text=True, check=True,
                         errors="surrogateescape").stdout
    lines = [line.split(None, 5) for line in out.splitlines() if "squashfs-root/" in line]
    return {line[5].replace("squashfs-root/", "", 1): (line[0], line[1]) for line in lines if len(line) == 6}


def test_what_is_put_in(root, tmp_path):
    """With the option the files are there, root's, with their modes, and nothing of a node; without it none is."""
    image_roots.build(root(), tmp_path / "plain")
    image_roots.build(root(), tmp_path / "slurm", "--slurm")
    plain, slurm = listed(tmp_path / "plain"), listed(tmp_path / "slurm")
    units = "usr/lib/systemd/system/"
    new = {path: what for path, what in slurm.items() if path not in plain and not what[0].startswith("d")}
    assert new == {
        "usr/lib/margay/margay-slurm-vm": ("-rwxr-xr-x", "0/0"), "usr/lib/margay/margay-slurm-health": ("-rwxr-xr-x", "0/0"),
        units + "margay-slurm-vm.service": ("-rw-r--r--", "0/0"),
        units + "margay-slurmd.service": ("-rw-r--r--", "0/0"), units + "munge.service.d/margay.conf": ("-rw-r--r--", "0/0"),
        units + "multi-user.target.wants/margay-slurmd.service -> ../margay-slurmd.service": ("lrwxrwxrwx", "0/0"),
        "etc/systemd/system/slurmd.service -> /dev/null": ("lrwxrwxrwx", "0/0")}
    assert "etc/munge/munge.key" not in slurm
    image_roots.build(root(), tmp_path / "again", "--slurm")
    assert not image_roots.differences(*(image_roots.contents(tmp_path / name) for name in ("slurm", "again")))


@pytest.mark.parametrize("path, package", (
    ("usr/sbin/slurmd", "slurmd"), ("usr/sbin/munged", "munge"), ("usr/bin/ip", "iproute2"), ("usr/bin/tar", "tar"),
    ("usr/lib/systemd/systemd", "systemd")))
def test_root_that_lacks_something(root, tmp_path, path, package):
    said = image_roots.build(root(path), tmp_path / "image", "--slurm", status=1)[1]
    assert len(said) == 1 and "--slurm: it has no %s (Debian: install %s there)" % (package, package) in said[0]
    assert not os.path.exists(tmp_path / "image")


def test_root_without_the_user(root, tmp_path):
    top = root()
    with open(os.path.join(top, "etc", "passwd"), "wb") as f:
        f.write(b"root:x:0:0::/root:/bin/sh\n")
    assert "it has no user munge" in image_roots.build(top, tmp_path / "image", "--slurm", status=1)[1][0]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
@pytest.mark.skipif(not os.path.exists("/usr/sbin/slurmd"), reason="slurmd, which the unit names, is not here")
def test_units(tmp_path):
    """As systemd reads them; the control is a key that is none. The program is there under the name that it has in an image."""
    program = tmp_path / "margay-slurm-vm"
    shutil.copy(PROGRAM, program)

    def said():
        return subprocess.run(["systemd-analyze", "verify", "--man=no", *map(str, tmp_path.glob("*.service"))], capture_output=True,
                              text=True, check=False).stderr
    for name in "margay-slurm-vm.service", "margay-slurmd.service":
        with open(os.path.join(SLURM, name), encoding="ascii") as f:
            (tmp_path / name).write_text(f.read().replace("/usr/lib/margay/margay-slurm-vm", str(program)), encoding="ascii")
    assert "margay" not in said()
    unit = tmp_path / "margay-slurmd.service"
    unit.write_text(unit.read_text(encoding="ascii").replace("KillMode", "KilMode"), encoding="ascii")
    assert "KilMode" in said()


# ---- the program -----------------------------------------------------------------------------------

IN_NAMESPACES = r"""
set -e
mount -t tmpfs none /media
mkdir /media/upper /media/work
mount -t overlay none -o lowerdir=/etc,upperdir=/media/upper,workdir=/media/work /etc
mount -t tmpfs none /run
mount -t sysfs none /sys
mount --bind %(top)s/cmdline /proc/cmdline
rm -rf /etc/munge /etc/hostname
ip link add eth0 type veth peer name other
status=0
PATH=%(top)s/bin:$PATH %(program)s 2>%(top)s/err || status=$?
echo "status $status"
echo "host $(hostname) $(cat /etc/hostname) $(stat -c %%a /etc/hostname)"
ip -o -4 address show dev eth0 | sed 's/.*inet \([^ ]*\).*/address \1/'
ip route show default | cut -d " " -f 1-5
stat -c 'folder %%U:%%G %%a' /etc/munge
stat -c 'key %%U:%%G %%a' /etc/munge/munge.key
cat /etc/munge/munge.key >%(top)s/key
ls -A /run/margay | sed 's/^/left /'
"""


@pytest.fixture(name="run")
def fixture_run(tmp_path):
    """run(disk, cmdline): what the machine looks like when the program has ended, and what that said."""
    (tmp_path / "bin").mkdir()

    def run(data, cmdline="quiet margay.metadata=%s/disk"):
        (tmp_path / "disk").write_bytes(data)
        (tmp_path / "cmdline").write_text((cmdline % tmp_path if "%" in cmdline else cmdline) + "\n", encoding="ascii")
        done = subprocess.run(["unshare", "-m", "-n", "-u", "sh", "-c", IN_NAMESPACES % {"top": tmp_path, "program": PROGRAM}],
                              capture_output=True, text=True, check=False)
        assert "status " in done.stdout, done.stderr
        return done.stdout.splitlines(), (tmp_path / "err").read_text(encoding="utf-8")
    return run


@pytest.mark.skipif(not MAY_MOUNT, reason="only root makes namespaces")
def test_metadata_is_taken(run, tmp_path):
    """Name, address, gateway; the key is munge's alone, and lies nowhere else."""
    lines, err = run(metadata.archive(ORDER))
    assert (lines[0], err) == ("status 0", "")
    assert lines[1:] == ["host n07 n07 644", "address 10.9.0.7/24", "default via 10.9.0.1 dev eth0", "folder munge:munge 700",
                         "key munge:munge 400", "left margay.env"]
    assert (tmp_path / "key").read_bytes() == KEY


@pytest.mark.skipif(not MAY_MOUNT, reason="only root makes namespaces")
def test_address_by_dhcp(run, tmp_path):
    """dhclient is called for the first card; here it is a program that only says so."""
    (tmp_path / "bin" / "dhclient").write_text("#!/bin/sh\necho $* >%s/asked\n" % tmp_path, encoding="ascii")
    (tmp_path / "bin" / "dhclient").chmod(0o755)
    lines, err = run(metadata.archive({**ORDER, "address": "dhcp", "gateway": ""}))
    assert (lines[0], err) == ("status 0", "") and not [line for line in lines if line.startswith(("address", "default"))]
    assert (tmp_path / "asked").read_text(encoding="ascii") == "-1 eth0\n"


def without(name):
    """The metadata, but for one of its files."""
    data = metadata.archive(ORDER)
    return data.replace(name.encode(), b"x" * len(name))


@pytest.mark.skipif(not MAY_MOUNT, reason="only root makes namespaces")
@pytest.mark.parametrize("data, cmdline, words", (
    (b"", "quiet margay.metadata=%s/disk", "has not the metadata"),
    (bytes(10240), "margay.metadata=%s/disk", "has not the metadata"),
    (metadata.archive(ORDER), "quiet", "no margay.metadata="),
    (metadata.archive({**ORDER, "address": ""}), "margay.metadata=%s/disk", "name, address or controller is missing"),
    (without("munge.key"), "margay.metadata=%s/disk", "has not the metadata")),
    ids=("empty", "zeros", "no word", "no address", "no key"))
def test_metadata_that_is_none(run, data, cmdline, words):
    """One line, and no key of munge."""
    lines, err = run(data, cmdline)
    assert lines[0] == "status 1" and re.search(r"^margay-slurm-vm: .*%s" % words, err, re.MULTILINE), err
    assert not [line for line in lines if line.startswith("key")]
