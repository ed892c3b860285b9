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
    for directory in (out, root / "var/lib/dpkg/updates", root / "var/lib/dpkg/info", programs):
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
