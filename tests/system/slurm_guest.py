# SPDX-License-Identifier: GPL-2.0-only
"""What boots in a modelled VM: the first process of its namespaces. Its standard input is the disk with its metadata: name,
network and munge key come from there and from nowhere else, by what `margay-build --slurm` puts into an image: the program is run
as it is, and slurmd started as its unit says, again when it dies."""

import contextlib
import os
import re
import subprocess
import sys
import time

# As the package has it, and where an image has it.
PACKAGED, IMAGE = "/usr/share/margay-images/tools/margay_images/slurm", "/usr/lib/margay"
# What this image looks at besides.
HEALTH = """#!/bin/sh
[ ! -e /mnt/nodes/%s/faults/ill ] || { echo a fan stands still; exit 1; }
"""
HIDDEN = ("/etc/slurm", "/etc/munge", "/etc/margay", "/var/lib/munge", "/var/log/munge", "/var/lib/slurm", "/var/log/slurm",
          "/var/spool", "/var/lib/margay-slurm", "/tmp", "/run")


def run(*words, check=True):
    return subprocess.run(words, check=check, stderr=None if check else subprocess.DEVNULL)


def own_files():
    """Nothing of the head's but its programs; folders as munge's package has them."""
    for path in HIDDEN:
        if os.path.isdir(path):
            run("mount", "-t", "tmpfs", "none", path)
    if not os.path.exists(IMAGE):
        os.symlink(PACKAGED, IMAGE)
    os.makedirs("/etc/margay/health.d")
    with open("/etc/margay/health.d/fans", "w", encoding="ascii") as f:
        f.write(HEALTH % sys.argv[1])
    os.chmod("/etc/margay/health.d/fans", 0o755)
    os.chmod("/tmp", 0o1777)
    os.makedirs("/var/spool/slurmd")
    for path in "/run/munge", "/var/lib/munge", "/var/log/munge":
        os.makedirs(path, exist_ok=True)
        run("chown", "munge:munge", path)
        os.chmod(path, 0o755 if path == "/run/munge" else 0o700)


def take_metadata():
    """The words of margay.env. The disk and the command line are files over what a VM has."""
    with open("/run/disk", "wb") as f:
        f.write(sys.stdin.buffer.read())
    with open("/run/cmdline", "w", encoding="ascii") as f:
        f.write("console=ttyS0 margay.metadata=/run/disk quiet\n")
    run("mount", "--bind", "/run/cmdline", "/proc/cmdline")
    run(IMAGE + "/margay-slurm-vm")
    os.unlink("/run/disk")
    with open("/run/margay/margay.env", encoding="ascii") as f:
        return dict(line.split("=", 1) for line in f.read().splitlines())


def slurmd(words):
    """Its command, of the unit."""
    with open(IMAGE + "/margay-slurmd.service", encoding="ascii") as f:
        command = re.search(r"^ExecStart=(.*)$", f.read(), re.MULTILINE)[1]
    return re.sub(r"\$\{(\w+)\}", lambda found: words[found[1]], command).split()


def cgroups():
    """22.05's slurmd wants some mounted, whether it uses them or not."""
    run("mount", "-t", "sysfs", "none", "/sys")
    run("mount", "-t", "tmpfs", "none", "/sys/fs/cgroup")
    os.makedirs("/sys/fs/cgroup/freezer")
    run("mount", "-t", "cgroup", "-o", "freezer", "none", "/sys/fs/cgroup/freezer", check=False)


def boot():
    """It takes as long as whoever measures wants, and when it was over is written down: slurmd begins."""
    top = os.path.join("/mnt/nodes", sys.argv[1])
    with contextlib.suppress(FileNotFoundError), open(top + "/boot-seconds", encoding="ascii") as f:
        time.sleep(max(0.0, float(os.environ["MODEL_STARTED"]) + float(f.read()) - time.time()))
    with open(top + "/boots", "a", encoding="ascii") as f:
        f.write("%s %.3f\n" % (os.environ["MODEL_STARTED"], time.time()))


def main():
    run("mount", "--make-rprivate", "/")
    cgroups()
    own_files()
    words = take_metadata()
    assert words["MARGAY_NODE"] == sys.argv[1] == os.uname().nodename, (words, sys.argv)
    with open("/run/image", "w", encoding="ascii") as f:
        f.write(words["MARGAY_IMAGE"])
    run("runuser", "-u", "munge", "--", "/usr/sbin/munged")
    boot()
    first = True
    while True:
        # -b: booted now, later than the controller's request; not again when it only starts anew.
        child = subprocess.Popen([*slurmd(words), *(["-b"] if first else [])], stdin=subprocess.DEVNULL)
        first = False
        # The first process of the namespaces has all orphans.
        while os.wait()[0] != child.pid:
            pass


if __name__ == "__main__":
    main()
