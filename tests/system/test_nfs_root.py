# SPDX-License-Identifier: GPL-2.0-only
"""A diskless node: the guest's root is on NFS, over a network card that is passed through, from a server on this machine.

A guest whose root is on NFS, over a passed-through igb or e1000e, as a diskless node's; the server is Debian's
nfs-ganesha, which is unpacked under build/ and not installed, and says what was read and written.
"""

import os

import margay_run
import nfs_root
import nfs_server
import node
import passthrough
import pytest

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("nfs")]
CARDS = {"igb": "eth0-(TxRx|rx|tx)", "e1000e": "eth0-(rx|tx)"}


@pytest.mark.skipif(os.geteuid() != 0, reason="the NFS server opens files by handles, as root only may")
@pytest.mark.parametrize("card", CARDS)
def test_root_on_nfs(card):
    root = os.path.join(node.BUILD, "nfs-root")
    nfs_root.make_root(root)
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
