# SPDX-License-Identifier: GPL-2.0-only
"""A diskless node: the guest's root is on NFS, over a network card that is passed through, from a server on this machine."""

import os
import shutil
import subprocess

import margay_run
import nfs_server
import node
import pytest
import test_passthrough as passthrough

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("nfs")]
CARDS = {"igb": "eth0-(TxRx|rx|tx)", "e1000e": "eth0-(rx|tx)"}


def make_root(directory):
    """busybox, /sbin/init, and a file of random contents."""
    shutil.rmtree(directory, ignore_errors=True)
    for name in ("bin", "sbin", "etc", "dev", "proc", "sys", "tmp"):
        os.makedirs(os.path.join(directory, name))
    shutil.copy("/bin/busybox", os.path.join(directory, "bin"))
    for applet in subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if applet != "busybox":
            os.symlink("busybox", os.path.join(directory, "bin", applet))
    for name, target in (("nfs-init.sh", "sbin/init"), ("profile.sh", "etc/profile")):
        shutil.copy(os.path.join(node.TOP, "tests", "system", "guest", name), os.path.join(directory, target))
        os.chmod(os.path.join(directory, target), 0o755)
    shutil.copy(passthrough.make_disk("nfs-root", 8 << 20), os.path.join(directory, "data"))


@pytest.mark.skipif(os.geteuid() != 0, reason="the NFS server opens files by handles, as root only may")
@pytest.mark.parametrize("card", CARDS)
def test_root_on_nfs(card):
    root = os.path.join(node.BUILD, "nfs-root")
    make_root(root)
    with nfs_server.Server(root) as server:
        done = passthrough.run(
            "nfs-" + card, ["-netdev", "user,id=net0", "-device", card + ",netdev=net0,addr=6"], {"pci": "00:06.0", "cpus": "2"},
            "rdinit=/tests/nfs-root margay.drivers=%s margay.root=10.0.2.2:%d:/root" % (card, server.port))
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["root"] == "10.0.2.2:/root nfs4"
    assert done.facts["data"].split()[0] == passthrough.sha256(os.path.join(root, "data"))
    # The server's file, not the guest, says what was written.
    assert os.path.getsize(os.path.join(root, "up")) == 8 << 20
    assert done.facts["up"].split()[0] == passthrough.sha256(os.path.join(root, "up"))
    assert sum(passthrough.interrupts(done, CARDS[card])) > 100, done.lines("^margay-interrupt: ")
