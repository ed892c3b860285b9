# SPDX-License-Identifier: GPL-2.0-only
"""Virtual networks by Debian's own virtio_net, between a VM with its CPUs' own local APICs and one with emulated ones: TCP both
ways by checksum, over IPv4 and IPv6; what is handed over uncut, and cut for a driver without offloads; a flood for one that
takes nothing; and what is refused."""

import re

import margay_run
import monitor_console
import node
import pytest

KIB = 2048
FLOOD = 3000  # net.sh's
QUEUE = 1024  # virtio_net.c's QUEUE_SIZE
FEW = 40  # frames that Linux sends by itself when an interface comes up
MAC = "02:00:00:00:01:01"


def vm_text(me, *nets, **keys):
    keys.setdefault("memory", "256M")
    text = node.vm_text("qemu", "margay.test=net margay.net=%d margay.kib=%d" % (me, KIB), **keys)
    return text + "".join("net = %s\n" % net for net in nets)


def counts(run, vm):
    """By interface, from the lines at the VM's end."""
    found = re.findall(r"^%s: net\d: sent=(\d+) large=(\d+) bytes=(\d+) received=(\d+) large=(\d+) bytes=(\d+) dropped=(\d+) "
                       r"bad=(\d+)$" % vm, run.text, re.MULTILINE)
    names = ("sent", "sent_large", "sent_bytes", "received", "received_large", "received_bytes", "dropped", "bad")
    return [dict(zip(names, map(int, line))) for line in found]


@pytest.mark.parametrize("direct", ["a", pytest.param("b", marks=pytest.mark.full)])
def test_two(direct):
    interrupts = {vm: "direct" if vm == direct else "emulated" for vm in "ab"}
    vms = {
        "a.conf": vm_text(1, "lan0", "lan1 mac=" + MAC, "lan2", name="a", cpus=2, interrupts=interrupts["a"]),
        "b.conf": vm_text(2, "lan0", "lan1", "lan2 offload=no", name="b", interrupts=interrupts["b"]),
        # A MAC that is taken, and a segment of nobody else's.
        "c.conf": vm_text(3, "lan1 mac=" + MAC, name="c"),
        "d.conf": vm_text(4, "lan9", name="d", after="a", memory="64G"),
    }
    modules = {"kernel": node.guest_file(node.KERNEL["qemu"]), "initrd": node.guest_file("initrd-drivers")}
    name = "virtio-net-" + direct
    iso = node.margay_iso(name + "-qemu", vms, modules, elf=node.variant("virtio-net", "VIRTIO=y", "VIRTIO_NET=y"), check=False)
    with node.start(name, "qemu", iso, cpus=3) as running:
        monitor_console.whole_lines(running)
        run = node.Run(running, running.wait())
    line = {vm: text.split("\n").index("net = lan1 mac=" + MAC) + 1 for vm, text in vms.items() if MAC in text}
    assert run.has_line("margay: c.conf:%d: net: %s is the address of a.conf:%d already: give another by mac=" % (
        line["c.conf"], MAC, line["a.conf"])), run.text[-4000:]
    assert run.has_line(r"margay: d.conf:\d+: net = lan9: nobody else is on this segment")
    assert run.has_line("margay: node: end=poweroff vms=4 failed=2"), run.text[-4000:]
    node.check_modes(run)
    a, b = run.of("a"), run.of("b")
    assert a.has_line("a: interrupts: direct") == (direct == "a") and b.has_line("b: interrupts: direct") == (direct == "b")
    for facts in a.facts, b.facts:
        assert facts["errors"] == "0 " and "failed" not in facts
    assert a.facts["eth1"] == MAC + ", mtu 1500, 2 queues" and b.facts["eth0"].endswith(", mtu 1500, 1 queues")
    assert len({facts[eth].split(",")[0] for facts in (a.facts, b.facts) for eth in ("eth0", "eth1", "eth2")}) == 6
    assert b.facts["ping"] == b.facts["ping6"] == "20 packets transmitted, 20 packets received, 0% packet loss"
    for way in "4", "6", "4-plain", "6-plain":
        assert b.facts["got" + way] == a.facts["data"] and b.facts["sent" + way] == b.facts["sent"]
    one, other = counts(run, "a"), counts(run, "b")
    assert not any(net["bad"] for net in one + other)
    # Most of what is sent by TCP comes over in large frames, as it was sent, none is lost.
    for sender, receiver in (one[0], other[0]), (other[0], one[0]):
        # But for what Linux sends by itself before the other one's driver is there.
        assert sender["sent_large"] == receiver["received_large"] and 0 <= sender["sent"] - receiver["received"] <= FEW
        assert sender["sent_large"] > 20 and sender["sent_bytes"] > 2 * KIB << 10
    # Cut for the one that cannot take them: more frames and bytes, for each has its headers. That one sends none.
    assert one[2]["sent_large"] > 20 and not other[2]["received_large"] and not other[2]["sent_large"]
    assert other[2]["received"] > 2 * (KIB << 10) / 1460 > one[2]["sent"]
    assert other[2]["received_bytes"] > one[2]["sent_bytes"]
    # What was offered before the interface went down is filled, all else is dropped.
    assert b.facts["flood"] == str(FLOOD)
    assert QUEUE <= one[1]["received"] <= QUEUE + FEW
    assert FLOOD - QUEUE <= one[1]["dropped"] <= FLOOD - QUEUE + FEW
