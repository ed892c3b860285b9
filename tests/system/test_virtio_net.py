# SPDX-License-Identifier: GPL-2.0-only
"""Virtual networks by Debian's own virtio_net, between a VM with its CPUs' own local APICs and one with emulated ones: TCP both
ways by checksum, over IPv4 and IPv6; what is handed over uncut, and cut for a driver without offloads; a flood for one that
takes nothing; and what is refused.

On QEMU: TCP between two VMs both ways by checksum, IPv4 and IPv6, one VM with its CPUs' own
local APICs and two pairs of queues, the other with emulated ones; by the counters large frames come over whole, for
an interface with `offload=no` they are cut; 3,000 frames for an interface that is down fill its queue, the rest is
dropped and counted; a MAC given twice, a segment of one.

Four on a segment, in the full tier: two that are `isolated` have nothing of each other's, neither broadcasts nor what
is sent to their addresses, and reach the third; a `mirror` has all 1,900 frames of the three, 1,800 of them numbered
datagrams with their content in their order, and nobody has what it sends. The full tier has the modes the other way
round, and counts interrupts: the event index keeps them few for an interface that is down.

`test_net_switch.c`: who gets a frame; `test_net_frame.c`: segments and checksums; `test_virtio_net.c`: the device
between drivers in memory, threads that send to each other while a third resets itself among them; `fuzz_net.c`:
hostile drivers beside one that keeps the rules. `test_cluster.py` has MPI and RDMA between two VMs. On Bochs
(`test_two_on_bochs`, full tier) two VMs of one CPU each do the same with 256 KiB.
"""

import re

import monitor_console
import node
import pytest
import virtio_net

KIB = 2048
FLOOD = 3000  # net.sh's
QUEUE = 1024  # virtio_net.c's QUEUE_SIZE
FEW = 40  # frames that Linux sends by itself when an interface comes up
MAC = "02:00:00:00:01:01"


def vm_text(me, *nets, machine="qemu", kib=KIB, **keys):
    keys.setdefault("memory", "256M")
    text = node.vm_text(machine, "margay.test=net margay.net=%d margay.kib=%d" % (me, kib), **keys)
    return text + "".join("net = %s\n" % net for net in nets)


def check_data(a, b):
    """What each side had of the other is what that had."""
    for way in "4", "6", "4-plain", "6-plain":
        assert b.facts["got" + way] == a.facts["data"] and b.facts["sent" + way] == b.facts["sent"]


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
    modules = {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")}
    name = "virtio-net-" + direct
    iso = node.margay_iso(name + "-qemu", vms, modules, check=False)
    with node.start(name, "qemu", iso, cpus=3) as running:
        monitor_console.whole_lines(running)
        run = node.Run(running, running.wait())
    line = {vm: text.split("\n").index("net = lan1 mac=" + MAC) + 1 for vm, text in vms.items() if MAC in text}
    assert run.has_line("margay: c.conf:%d: net: %s is the address of a.conf:%d already: give another by mac=" % (
        line["c.conf"], MAC, line["a.conf"])), run.text[-4000:]
    assert run.has_line(r"margay: d.conf:\d+: net = lan9: nobody else is on this segment")
    assert run.has_line("margay: node: end=poweroff vms=4 failed=2"), run.text[-4000:]
    node.check_direct(run)
    a, b = run.of("a"), run.of("b")
    assert a.has_line("a: interrupts: direct") == (direct == "a") and b.has_line("b: interrupts: direct") == (direct == "b")
    for facts in a.facts, b.facts:
        assert facts["errors"] == "0 " and "failed" not in facts
    assert a.facts["eth1"] == MAC + ", mtu 1500, 2 queues" and b.facts["eth0"].endswith(", mtu 1500, 1 queues")
    assert len({facts[eth].split(",")[0] for facts in (a.facts, b.facts) for eth in ("eth0", "eth1", "eth2")}) == 6
    assert b.facts["ping"] == b.facts["ping6"] == "20 packets transmitted, 20 packets received, 0% packet loss"
    check_data(a, b)
    one, other = virtio_net.counts(run, "a"), virtio_net.counts(run, "b")
    assert not any(net["bad"] for net in one + other)
    # Large frames come over as they were sent; none is lost but where the other one's queue is full, on a busy machine.
    for sender, receiver in (one[0], other[0]), (other[0], one[0]):
        # But for what Linux sends by itself before the other one's driver is there.
        assert 0 <= sender["sent"] - receiver["received"] - receiver["dropped"] <= FEW
        assert 0 <= sender["sent_large"] - receiver["received_large"] <= receiver["dropped"]
        assert sender["sent_large"] and sender["sent_bytes"] > 2 * KIB << 10
    # Cut, into two or more, for the one that cannot take them: more bytes, too, for each has its headers. That one sends none.
    assert one[2]["sent_large"] > 20 and not other[2]["received_large"] and not other[2]["sent_large"]
    assert other[2]["received"] > 2 * (KIB << 10) / 1460
    assert other[2]["received"] + other[2]["dropped"] >= one[2]["sent"] + one[2]["sent_large"] - FEW
    assert other[2]["received_bytes"] > one[2]["sent_bytes"]
    # What was offered before the interface went down is filled, all else is dropped.
    assert b.facts["flood"] == str(FLOOD)
    assert QUEUE <= one[1]["received"] <= QUEUE + FEW
    assert FLOOD - QUEUE <= one[1]["dropped"] <= FLOOD - QUEUE + FEW


@pytest.mark.full
@pytest.mark.slow
def test_two_on_bochs():
    """On VT-x, a Linux that has its CPU's own local APIC and one that has an emulated one."""
    kib = 256
    vms = {"a.conf": vm_text(1, "lan0", "lan1 mac=" + MAC, "lan2", machine="bochs", kib=kib, name="a", interrupts="direct"),
           "b.conf": vm_text(2, "lan0", "lan1", "lan2 offload=no", machine="bochs", kib=kib, name="b", interrupts="emulated")}
    modules = {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")}
    iso = node.margay_iso("virtio-net-bochs", vms, modules)
    with node.start("virtio-net", "bochs", iso, cpus=2) as running:
        monitor_console.whole_lines(running)
        run = node.Run(running, running.wait())
    assert run.has_line("margay: node: end=poweroff vms=2 failed=0"), run.text[-4000:]
    node.check_direct(run)
    a, b = run.of("a"), run.of("b")
    assert a.has_line("a: interrupts: direct") and not b.has_line("b: interrupts: direct")
    for facts in a.facts, b.facts:
        assert facts["errors"] == "0 " and "failed" not in facts
    check_data(a, b)
    one, other = virtio_net.counts(run, "a"), virtio_net.counts(run, "b")
    assert not any(net["bad"] for net in one + other)
    assert all(net["received_bytes"] > 2 * kib << 10 for net in (one[0], other[0]))
    # The web server's; what nc sends is small.
    assert one[0]["sent_large"] == other[0]["received_large"] > 0
    assert one[2]["sent_large"] and not other[2]["received_large"] and other[2]["received"] > 2 * (kib << 10) / 1460


# lan.sh's, and what it does: by the last numbers of the addresses.
LAN = {"one": 1, "two": 2, "server": 3, "watcher": 4}
LAN_FLOOD = 300


def answered(run):
    """By the word before it and the number of the asked one: was either ping answered, or neither?"""
    found = re.findall(r"^margay-test: (asked|told)-(\d): 2 packets transmitted, ([02]) packets received", run.text, re.MULTILINE)
    return {(how, int(whom)): got == "2" for how, whom, got in found}


def seen(run):
    """Who sent any frame, and the datagrams by sender and receiver: what is on the segment, by Linux."""
    floods = {}
    for sender, to, count, wrong in re.findall(r"^margay-test: saw-flood-(\d)-(\d): (\d+), wrong (\d+)$", run.text, re.MULTILINE):
        floods[int(sender), int(to)] = int(count), int(wrong)
    return {int(n) for n in re.findall(r"^margay-test: saw-from-(\d+): ", run.text, re.MULTILINE)}, floods


@pytest.mark.full
def test_isolated_and_mirror():
    """Four on a segment, all with Debian's driver: two that are isolated do not reach each other, by whatever address, and both
    reach the third; the mirror has each frame of all three, with its content, and what it sends comes to nobody."""
    words = {"one": "isolated", "two": "isolated", "server": "", "watcher": "mirror"}
    vms = {}
    for name, n in LAN.items():
        text = node.vm_text("qemu", "margay.test=lan margay.lan=%d" % n, name=name, memory="256M")
        vms[name + ".conf"] = text + "net = lan0 mac=02:00:00:00:00:%02x %s\nnet = lan1\n" % (n, words[name])
    modules = {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")}
    iso = node.margay_iso("virtio-net-lan-qemu", vms, modules)
    with node.start("virtio-net-lan", "qemu", iso, cpus=4, memory="1536M") as running:
        monitor_console.whole_lines(running)
        run = node.Run(running, running.wait())
    assert run.has_line("margay: node: end=poweroff vms=4 failed=0"), run.text[-4000:]
    runs = {n: run.of(name) for name, n in LAN.items()}
    assert not virtio_net.complaints(run)
    assert runs[1].has_line("one: net0: lan0, 02:00:00:00:00:01, isolated")
    assert runs[4].has_line("watcher: net0: lan0, 02:00:00:00:00:04, mirror")
    apart = {(1, 2), (2, 1), (4, 1), (4, 2), (4, 3)}
    for n, one in runs.items():
        others = {1, 2, 3} - {n}
        assert answered(one) == {(how, to): (n, to) not in apart for how in ("asked", "told") for to in others}
        # It was all sent; that is what is not there below.
        assert all(one.facts["flood-%d" % to] == str(LAN_FLOOD) for to in others)
        senders, floods = seen(one)
        heard = {sender for sender in (1, 2, 3) if sender != n and (sender, n) not in apart}
        flows = {(sender, to) for sender in (1, 2, 3) for to in (1, 2, 3) if sender != to} if n == 4 else {(s, n) for s in heard}
        assert senders == heard and floods == {flow: (LAN_FLOOD, 0) for flow in flows}
    assert runs[1].facts["data"] == runs[2].facts["data"] == runs[3].facts["data"]
    # By the hypervisor's counters the mirror has all that was sent by those that can send, uncut.
    lan = {n: virtio_net.counts(run, name)[0] for name, n in LAN.items()}
    for what in "", "_bytes", "_large":
        assert lan[4]["received" + what] == sum(lan[n]["sent" + what] for n in (1, 2, 3)), what
    assert lan[3]["sent_large"] and lan[4]["sent"] > 3 * LAN_FLOOD
    assert not any(net["bad"] or net["dropped"] for net in lan.values())


def interrupts_of(run):
    """By device and queue, by Linux."""
    found = re.findall(r"^margay-interrupt: *\d+: +(\d+) .* (virtio\d-(?:input|output)\.0)$", run.text, re.MULTILINE)
    return {queue: int(n) for n, queue in found}


def notifications_of(run, vm):
    """Accesses to the devices' registers that were exits."""
    return sum(map(int, re.findall(r"^%s: vcpu\d+: exits=.* stage2=(\d+)" % vm, run.text, re.MULTILINE)))


@pytest.mark.full
def test_few_interrupts(record_property):
    """The event index: one interrupt for an interface that is down, whatever comes, though 1,024 frames fill its queue. By an image
    without it there were 760 (docs/performance.md)."""
    vms = {"a.conf": vm_text(1, "lan0", "lan1 mac=" + MAC, "lan2", name="a"),
           "b.conf": vm_text(2, "lan0", "lan1", "lan2", name="b")}
    modules = {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")}
    iso = node.margay_iso("virtio-net-index-qemu", vms, modules)
    with node.start("virtio-net-index", "qemu", iso, cpus=2) as running:
        monitor_console.whole_lines(running)
        run = node.Run(running, running.wait())
    a, b = run.of("a"), run.of("b")
    assert a.has_line("margay-test: done") and b.has_line("margay-test: done"), run.text[-4000:]
    check_data(a, b)
    nets, queues = virtio_net.counts(run, "a") + virtio_net.counts(run, "b"), [interrupts_of(a), interrupts_of(b)]
    down = queues[0]["virtio1-input.0"]
    received = sum(net["received"] for net in nets) - virtio_net.counts(run, "a")[1]["received"]
    arrived, sent = (sum(n for vm in queues for queue, n in vm.items() if kind in queue) for kind in ("input", "output"))
    record_property("interrupts", "%d frames sent, %d interrupts of them; %d received, %d interrupts of them; %d of the interface "
                    "that is down; %d exits to registers" % (
                        sum(net["sent"] for net in nets), sent, received, arrived - down, down,
                        notifications_of(run, "a") + notifications_of(run, "b")))
    assert virtio_net.counts(run, "a")[1]["received"] >= QUEUE and down < 10
