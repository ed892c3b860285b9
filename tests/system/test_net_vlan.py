# SPDX-License-Identifier: GPL-2.0-only
"""A segment with VLANs and an MTU of 9000, by Debian's own virtio_net and 8021q, and what `margay net show` has of it. Full tier.

Three VMs: one in VLAN 10, one in VLAN 20, and one that is in the first and has the second by a tag. Pings of 8,972 bytes go in
one piece, by Linux' counter of pieces, within each VLAN, and by a byte more in two; 2 MiB of TCP go both ways, tagged at one end,
and come as they were sent; nothing comes from one VLAN to the other, by broadcasts, by the address, by a tag that the sender
has not. A management VM shows who is there, and that what was sent with that tag was dropped for it.

`test_net_vlan.c`: tags and offsets; `test_virtio_net_vlan.c`: each kind of port to each, between drivers in memory.
"""

import json

import management
import margay_run
import node
import pytest
import virtio_net
from monitor_console import whole_lines

pytestmark = pytest.mark.full

NETS = {"a": "lan0 mac=02:00:00:00:00:01 mtu=9000 pvid=10", "b": "lan0 mac=02:00:00:00:00:02 mtu=9000 pvid=10 trunk=20-29",
        "c": "lan0 mac=02:00:00:00:00:03 mtu=9000 pvid=20"}
LARGE = 8972 + 8 + 20 + 14  # a ping's frame
ALL = "5 packets transmitted, 5 packets received, 0% packet loss"
NONE = "2 packets transmitted, 0 packets received, 100% packet loss"
SCRIPT = management.RUN + r"""
for vm in a b c; do until margay console $vm </dev/null | grep -q "margay-test: measured"; do sleep 0.5; done; done
run json margay --json net show
run table margay net show lan0
run nobodys margay net show lan9
run drops sh -c "margay metrics | grep -F margay_vm_net_drops_total | grep -F wrong_vlan"
for vm in a b c; do
	run kill-$vm margay kill $vm
	run wait-$vm margay wait $vm
done
"""


def vm_text(name, number):
    text = node.vm_text("qemu", "margay.test=vlan margay.vlan=%d" % number, name=name, memory="256M", initrd="drivers")
    return text + "net = %s\nnet = lan1\n" % NETS[name]


def check_guests(a, b, c):
    """What the three found out."""
    for facts in a.facts, b.facts, c.facts:
        assert facts["mtu"] == "9000" and facts["errors"] == "0 " and "failed" not in facts
    assert a.facts["large"] == a.facts["larger"] == b.facts["large"] == ALL
    # In one piece each; the control: five in two.
    assert (a.facts["pieces"], a.facts["more-pieces"], b.facts["pieces"]) == ("0", "10", "0")
    assert b.facts["got"] == c.facts["data"] and c.facts["in"] == b.facts["sent"]
    assert not [line for vm in (a, b, c) for line in virtio_net.complaints(vm)]
    assert [a.facts[way].strip() for way in ("asked", "told", "tagged", "tagged-told")] == [NONE] * 4


def check_shown(said, status):
    """What the management VM saw of it."""
    assert {what: code for what, code in status.items() if code} == {
        "nobodys": 1, "wait-a": 10, "wait-b": 10, "wait-c": 10}, said
    assert said["nobodys"] == "margay: lan9: there is no such segment"
    rows = json.loads(said["json"])
    assert [(row["segment"], row["vm"], row["net"]) for row in rows] == [
        (segment, vm, n) for n, segment in enumerate(("lan0", "lan1")) for vm in "abc"]
    lan0 = {row["vm"]: row for row in rows if row["segment"] == "lan0"}
    assert [(lan0[vm]["mtu"], lan0[vm]["pvid"], lan0[vm]["trunk"], lan0[vm]["state"]) for vm in "abc"] == [
        (9000, 10, None, "running"), (9000, 10, "20-29", "running"), (9000, 20, None, "running")]
    assert all((row["mtu"], row["pvid"], row["trunk"]) == (1500, None, None) for row in rows if row["segment"] == "lan1")
    # Tagged frames of a VLAN that it has not: at least one request for an address, and two pings.
    assert lan0["a"]["wrong_vlan"] >= 3 and lan0["b"]["wrong_vlan"] == lan0["c"]["wrong_vlan"] == 0
    assert not any(row[why] for row in rows for why in ("malformed", "too_large", "wrong_address", "paused"))
    assert lan0["b"]["received_bytes"] > 10 * LARGE + (2 << 20) and lan0["c"]["received_bytes"] > 5 * LARGE + (2 << 20)
    # Nothing of the other VLAN's: c had what b sent there, of which the tags are gone.
    assert lan0["a"]["received_bytes"] < 15 * LARGE
    assert len(said["table"].split("\n")) == 4 and said["table"].startswith("segment ")
    assert 'net="0",segment="lan0",reason="wrong_vlan"} %d' % lan0["a"]["wrong_vlan"] in said["drops"]


def test_vlans_and_mtu():
    others = {name + ".conf": vm_text(name, n + 1) for n, name in enumerate(NETS)}
    with management.start("net-vlan", SCRIPT, {}, "console, destroy, boot", others=others,
                          modules={"drivers": node.guest_file("initrd-drivers")}, node_memory="2G", node_cpus=4) as running:
        whole_lines(running)
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.text[-4000:]
    check_guests(*(run.of(vm) for vm in NETS))
    assert run.has_line("b: net0: lan0, 02:00:00:00:00:02, mtu 9000, pvid 10, trunk 20-29")
    check_shown(*management.answers(run))
    assert virtio_net.counts(run, "a")[0]["bad"] >= 3
