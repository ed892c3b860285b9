# SPDX-License-Identifier: GPL-2.0-only
"""A cluster of two: two machines on one network, each with a guest that has a network card passed through, with DMA
windows; the same on the bare machines, and with two guests of one machine. What one sends the other gets: over TCP, by RDMA
verbs (Soft-RoCE), by MPI. And with two guests of a node that have no card, on a virtual network.

Two guests of one machine, each with an igb by its windows, on one network. Files both ways over TCP; over rdma_rxe
ibv_rc_pingpong, which compares what arrives, and perftest's ib_write_bw and ib_send_bw; by Debian's Open MPI an
all-to-all like that of NAS IS, in which each process knows which keys it must get.

The same and hpcc, with its residuals, latencies and bandwidths, on two machines at once, bare ones and then Margay's.
And, without hpcc, in two VMs of a node that have no card, on a virtual network (`net =`).
"""

import re

import cluster
import dma_windows
import margay_run
import pytest

pytestmark = pytest.mark.full


def check(done, functions):
    """functions: each rank's card, where it is passed through."""
    for one, other in zip(done, reversed(done)):
        assert one.outcome.status == margay_run.OK, one.outcome.text
        assert one.facts["got"] == other.facts["sent"]
        # ibv_rc_pingpong -c compares what arrives.
        assert one.has_line(r"margay-pingpong: 6553600 bytes in .*"), one.lines("^margay-pingpong: ")
        assert not one.lines("^margay-pingpong: .*invalid data")
        for tool in ("pingpong", "write", "send"):
            assert one.facts[tool] == "0", one.lines("^margay-%s: " % tool)
    for one, function in zip(done, functions):
        dma_windows.check_windows(one)
        assert one.lines("^margay-sys: functions ") == ["margay-sys: functions 0000:" + function]
    first, second = done
    assert first.facts["sent"] != second.facts["sent"]
    assert first.facts["all-to-all"] == "0", first.lines("^margay-all-to-all: ")
    assert first.has_line("margay-all-to-all: 2 processes, 8386580 bytes between them, 0 keys wrong")


def check_hpcc(first):
    assert first.facts["hpcc"] == "0" and not first.lines("^margay-result: .*FAILED"), first.lines("^margay-(hpcc|result): ")
    results = dict(re.findall(r"^margay-result: (\w+)=(.*)$", first.text, re.MULTILINE))
    assert (results["Success"], results["CommWorldProcs"], results["HPL_N"]) == ("1", "2", "100")
    for what in ("MaxPingPongLatency_usec", "MinPingPongBandwidth_GBytes", "RandomlyOrderedRingLatency_usec",
                 "RandomlyOrderedRingBandwidth_GBytes"):
        assert float(results[what]) > 0


# Two emulators at once.
@pytest.mark.xdist_group("cluster")
@pytest.mark.parametrize("system", ["native", "margay"])
def test_two_machines(system):
    done = cluster.two_machines(system)
    check(done, ["00:06.0", "00:06.0"] if system == "margay" else [])
    check_hpcc(done[0])


def test_two_guests():
    """Of one machine, on two cards with no other peers: each card reaches its guest's memory by that guest's windows."""
    check(cluster.two_guests(), ["00:06.0", "00:08.0"])


def test_on_a_segment():
    """Two VMs of one node without a card, on a virtual network: the cluster of docs/cluster-in-a-node.md."""
    done = cluster.two_on_a_segment()
    check(done, [])
    assert not [line for one in done for line in one.lines("^vm[01]: net0: .*(?:dropped|bad)=[1-9]")]
