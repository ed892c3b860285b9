# SPDX-License-Identifier: GPL-2.0-only
"""A root that dnf installs from RPMs as an image, booted to systemd's multi-user.target, as docs/images.md has it typed for RHEL 9,
with what is written in memory and on a scratch disk.

No registry that tests reach has RPMs of a distribution: these are made of Debian's files (rpm_distribution.py), with names and
places as RHEL's. So it shows that margay-build takes what rpm and dnf install, and no program of RHEL.
"""

import os
import re
import subprocess

import distribution
import pytest
import rpm_distribution

pytestmark = [pytest.mark.full, pytest.mark.slow,
              pytest.mark.skipif(os.geteuid() != 0, reason="dnf runs programs in the root that it makes, which only root may")]
KNOWN = []  # lines of the journal with priority err or worse, each with its reason


@pytest.fixture(name="root", scope="module")
def fixture_root(tmp_path_factory):
    """By the page's lines, but with another repository; somebody has used it since, so that it has secrets."""
    top = tmp_path_factory.mktemp("rpm")
    (top / "el9.repo").write_text(rpm_distribution.make(str(top)))
    lines = distribution.typed("(?:echo|dnf)", "--installroot")
    distribution.run_typed("export HOME=$PWD\n" + lines, top)
    root = top / "el9"
    subprocess.run(["ssh-keygen", "-A", "-f", root], check=True, stdout=subprocess.DEVNULL)
    (root / "var/lib/systemd/random-seed").write_bytes(os.urandom(512))
    return root


def test_is_what_rpm_makes(root):
    """RPM's database, where rpm of the root looks for it, knows whose files are; there is nothing of dpkg or initramfs-tools; the
    kernel is beside its modules."""
    done = subprocess.run(["rpm", "--root", root, "--dbpath", "/var/lib/rpm", "-qf", "/usr/sbin/init", "/etc/passwd",
                           "/usr/lib/systemd/systemd", "/etc/os-release"], capture_output=True, text=True, check=True)
    assert [line.rsplit("-", 2)[0] for line in done.stdout.splitlines()] == ["systemd-sysv", "setup", "systemd",
                                                                             "margay-rpms-release"]
    assert not any((root / path).exists() for path in ("var/lib/dpkg", "usr/bin/dpkg", "usr/sbin/update-initramfs", "root/.rpmdb"))
    assert os.listdir(root / "boot") == [] and 'ID_LIKE="rhel fedora"' in (root / "etc/os-release").read_text()
    release, = os.listdir(root / "usr/lib/modules")
    modules = root / "usr/lib/modules" / release
    assert {"vmlinuz", "config", "modules.dep"} <= set(os.listdir(modules))
    assert list(modules.rglob("squashfs.ko.xz")) and not list(modules.rglob("*.ko"))


def test_comes_up(root, tmp_path):
    assert (root / "etc/machine-id").stat().st_size == 33
    image, said = distribution.make_image(str(root), "el9", tmp_path, "--cmdline", "console=ttyS0 selinux=0")
    taken = re.findall(r"^margay-build: taken out: ([^,]*),", said, re.MULTILINE)
    assert {"etc/machine-id", "etc/ssh/ssh_host_ed25519_key", "var/lib/systemd/random-seed"} <= set(taken)
    assert not [path for path in taken if path.startswith("var/lib/rpm")]
    distribution.check(distribution.boot("rpm", image, "selinux=0"), KNOWN)
