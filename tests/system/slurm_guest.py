# SPDX-License-Identifier: GPL-2.0-only
"""What boots in a modelled VM: the first process of its namespaces. Its standard input is the disk with its metadata: name,
network and munge key come from there and from nowhere else. It starts munged and slurmd, and slurmd again when that dies, as a
unit would."""

import io
import os
import socket
import subprocess
import sys
import tarfile
import time

HIDDEN = ("/etc/slurm", "/etc/munge", "/etc/margay", "/var/lib/munge", "/var/log/munge", "/var/lib/slurm", "/var/log/slurm",
          "/var/spool", "/var/lib/margay-slurm", "/tmp", "/run")


def run(*words, check=True):
    return subprocess.run(words, check=check, stderr=None if check else subprocess.DEVNULL)


def metadata():
    """{file: bytes} of its disk, and the words of margay.env."""
    with tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read())) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}
    return files, dict(line.split("=", 1) for line in files["margay.env"].decode().splitlines())


def own_files(key):
    """Nothing of the head's but its programs."""
    for path in HIDDEN:
        if os.path.isdir(path):
            run("mount", "-t", "tmpfs", "none", path)
    os.chmod("/tmp", 0o1777)
    os.makedirs("/var/spool/slurmd")
    for path in "/run/munge", "/etc/munge", "/var/lib/munge", "/var/log/munge":
        os.makedirs(path, exist_ok=True)
        run("chown", "munge:munge", path)
        os.chmod(path, 0o755 if path == "/run/munge" else 0o700)
    with open("/etc/munge/munge.key", "wb") as f:
        f.write(key)
    os.chmod("/etc/munge/munge.key", 0o400)
    run("chown", "munge:munge", "/etc/munge/munge.key")


def cgroups():
    """22.05's slurmd wants some mounted, whether it uses them or not."""
    run("mount", "-t", "sysfs", "none", "/sys")
    run("mount", "-t", "tmpfs", "none", "/sys/fs/cgroup")
    os.makedirs("/sys/fs/cgroup/freezer")
    run("mount", "-t", "cgroup", "-o", "freezer", "none", "/sys/fs/cgroup/freezer", check=False)


def network(address):
    run("ip", "link", "set", "lo", "up")
    while not os.path.exists("/sys/class/net/eth0"):
        time.sleep(0.01)
    run("ip", "address", "add", address, "dev", "eth0")
    run("ip", "link", "set", "eth0", "up")


def main():
    files, words = metadata()
    node = words["MARGAY_NODE"]
    assert node == sys.argv[1], (node, sys.argv)
    socket.sethostname(node)
    run("mount", "--make-rprivate", "/")
    cgroups()
    network(words["MARGAY_ADDRESS"])
    own_files(files["munge.key"])
    with open("/run/image", "w", encoding="ascii") as f:
        f.write(words["MARGAY_IMAGE"])
    run("runuser", "-u", "munge", "--", "/usr/sbin/munged")
    first = True
    while True:
        # -b: booted now, later than the controller's request; not again when it only starts anew.
        slurmd = subprocess.Popen(["slurmd", "-D", *(["-b"] if first else []), "-N", node,
                                   "--conf-server", words["MARGAY_CONTROLLER"]], stdin=subprocess.DEVNULL)
        first = False
        # The first process of the namespaces has all orphans.
        while os.wait()[0] != slurmd.pid:
            pass


if __name__ == "__main__":
    main()
