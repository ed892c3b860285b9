# SPDX-License-Identifier: GPL-2.0-only
"""The Debian package of the guest's module, installed and removed by dpkg below a directory of its own. What DKMS and
initramfs-tools are told is written down by stand-ins for them.
"""

import os
import subprocess
import sys

import node

STAND_IN = '#!/bin/sh\necho "${0##*/} $*" >>"$CALLS"\n'


def test_installed_and_removed(tmp_path):
    out, root, programs, calls = (tmp_path / name for name in ("out", "root", "bin", "calls"))
    for directory in (root / "var/lib/dpkg/updates", root / "var/lib/dpkg/info", programs):
        directory.mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    for name in ("dkms", "update-initramfs"):
        (programs / name).write_text(STAND_IN, encoding="ascii")
        (programs / name).chmod(0o755)
    environment = dict(os.environ, CALLS=str(calls), PATH="%s:/usr/sbin:/usr/bin:/sbin:/bin" % programs)

    def dpkg(*arguments):
        calls.write_text("", encoding="ascii")
        done = subprocess.run(["dpkg", "--root=%s" % root, "--force-not-root", "--force-script-chrootless", "--force-depends",
                               *arguments], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return calls.read_text(encoding="ascii").splitlines()

    def files():
        return [path for path in root.rglob("*margay*") if "var/lib/dpkg" not in str(path)]

    subprocess.run([sys.executable, os.path.join(node.TOP, "tools", "guest-module"), "--deb", str(out)], check=True)
    package = next(out.glob("*.deb"))
    # Built for the kernels whose headers are there: as many as this machine has.
    *builds, images = dpkg("--install", str(package))
    assert all(call.startswith("dkms install -m margay-guest -v 1 -k ") for call in builds)
    assert images == "update-initramfs -u -k all" and len(files()) > 3
    # By a newer one: the old build goes first.
    removed, *builds, images = dpkg("--install", str(package))
    assert removed == "dkms remove -m margay-guest -v 1 --all" and images == "update-initramfs -u -k all"
    assert dpkg("--remove", "margay-guest-dkms") == ["dkms remove -m margay-guest -v 1 --all", "update-initramfs -u -k all"]
    assert not files() and dpkg("--purge", "margay-guest-dkms") == []


def test_lintian_is_content(tmp_path):
    """There is no error and no warning. The control: without the documents there is."""
    guest_module = [sys.executable, os.path.join(node.TOP, "tools", "guest-module"), "--deb"]
    subprocess.run(guest_module + [str(tmp_path / "made" / "here")], check=True)
    package = next((tmp_path / "made" / "here").glob("*.deb"))

    def judged(deb):
        # To root it says something on standard error.
        done = subprocess.run(["lintian", "--fail-on", "error,warning", str(deb)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert judged(package) == (0, "")
    tree, spoilt = tmp_path / "tree", tmp_path / "spoilt.deb"
    subprocess.run(["dpkg-deb", "-R", str(package), str(tree)], check=True)
    (tree / "usr/share/doc/margay-guest-dkms/copyright").unlink()
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(spoilt)], check=True)
    status, said = judged(spoilt)
    assert status != 0 and "no-copyright-file" in said
    subprocess.run(guest_module + ["--maintainer", "A Site <hpc@example.org>", str(tmp_path / "own")], check=True)
    done = subprocess.run(["dpkg-deb", "-f", str(next((tmp_path / "own").glob("*.deb"))), "Maintainer"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == "A Site <hpc@example.org>\n"


def test_folder_has_no_test_modules(tmp_path):
    """The headers are those of the tests' own guest, so that nothing is downloaded."""
    headers = sorted(name for name in os.listdir(node.GUEST) if name.startswith("headers-"))[0]
    release = headers.split("-", 1)[1]
    out = tmp_path / "out"
    out.mkdir()
    (out / headers).symlink_to(os.path.join(node.GUEST, headers))
    subprocess.run([sys.executable, os.path.join(node.TOP, "tools", "guest-module"), str(out), release], check=True)
    assert sorted(os.listdir(out)) == sorted([headers, "margay-guest-%s.ko" % release, "margay-guest.cpio"])
