# SPDX-License-Identifier: GPL-2.0-only
"""A Debian that is only a directory: dpkg installs into it, its scripts are told by DPKG_ROOT, and what they call of GRUB's are
stand-ins. update-grub writes down that it was called, and then does Margay's part of it; grub-probe knows a disk, or none."""

import os
import re
import subprocess

PROGRAMS = {
    "update-grub": r"""#!/bin/sh
set -e
echo update-grub >>"$CALLS"
[ -x "$ROOT/etc/grub.d/42_margay" ] && [ -d "$ROOT/boot/grub" ] || exit 0
for f in "$ROOT"/etc/default/grub.d/*.cfg; do [ ! -e "$f" ] || . "$f"; done
{ echo 'set timeout=5'; MARGAY_BOOT="$ROOT/boot" "$ROOT/etc/grub.d/42_margay"; } >"$ROOT/boot/grub/grub.cfg"
grub-script-check "$ROOT/boot/grub/grub.cfg"
""",
    # What GRUB would find below the directory: the abstraction is nothing for a partition, lvm for that.
    "grub-probe": r"""#!/bin/sh
[ -e "$ROOT/disk" ] || { echo "grub-probe: error: cannot find a device for $2 (is /dev mounted?)." >&2; exit 1; }
case $1 in
--target=device) echo /dev/nvme0n1p1 ;;
--target=fs) echo ext2 ;;
--target=abstraction) cat "$ROOT/disk" ;;
esac
""",
}


class Root:
    """`grub`: whether GRUB is on its disk; `device`: whether there is one, without GRUB, other than where a directory becomes an
    image."""

    def __init__(self, directory, grub=True, device=False):
        self.path, self.programs, self.calls = (directory / name for name in ("root", "programs", "calls"))
        for folder in (self.path / "var/lib/dpkg/updates", self.path / "var/lib/dpkg/info", self.programs):
            folder.mkdir(parents=True)
        (self.path / "var/lib/dpkg/status").touch()
        for name, text in PROGRAMS.items():
            (self.programs / name).write_text(text, encoding="ascii")
            (self.programs / name).chmod(0o755)
        self.boot = self.path / "boot"
        self.environment = {**os.environ, "CALLS": str(self.calls), "ROOT": str(self.path), "LC_ALL": "C",
                            "PATH": "%s:%s/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin" % (self.programs, self.path)}
        if grub or device:
            (self.path / "disk").touch()
        if grub:
            (self.boot / "grub").mkdir(parents=True)
            subprocess.run(["grub-editenv", self.boot / "grub/grubenv", "create"], check=True)

    def dpkg(self, *arguments):
        """What it and the packages' scripts say."""
        done = subprocess.run(["dpkg", "--root=%s" % self.path, "--force-not-root", "--force-script-chrootless", "--force-depends",
                               *map(str, arguments)], env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def called(self):
        """The calls of update-grub since this was asked last."""
        calls = self.calls.read_text(encoding="ascii").splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return calls

    def run(self, program, *arguments, **environment):
        """A program of a package's, which is told where its files are."""
        environment = {**self.environment, "DPKG_ROOT": str(self.path), **environment}
        return subprocess.run([self.path / program, *arguments], env=environment, capture_output=True, text=True, check=False)

    def grubenv(self):
        """What GRUB knows of Margay from boot to boot."""
        done = subprocess.run(["grub-editenv", self.boot / "grub/grubenv", "list"], capture_output=True, text=True, check=True)
        pairs = dict(line.split("=", 1) for line in done.stdout.splitlines())
        return {name[len("margay_"):]: value for name, value in pairs.items() if name.startswith("margay_")}

    def grub_cfg(self):
        return (self.boot / "grub/grub.cfg").read_text(encoding="ascii")


def changed_package(package, directory, version, change):
    """The same one of another version; change(tree) changes what is in it."""
    tree = directory / "tree-of-package"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN" / "control"
    text = control.read_text(encoding="ascii")
    control.write_text(re.sub("^Version: .*$", "Version: " + version, text, flags=re.MULTILINE), encoding="ascii")
    change(tree)
    made = directory / ("margay-%s.deb" % version)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, made], check=True, capture_output=True)
    subprocess.run(["rm", "-r", tree], check=True)
    return made
