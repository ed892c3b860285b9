# SPDX-License-Identifier: GPL-2.0-only
"""Line interrupts of PCI functions, shared within a VM and never between two,
with Debian's own drivers; and what the firmware's AML says of functions. What
goes over the network and what a disk holds is compared with the files behind
them.

Line interrupts with Debian's drivers: e1000 and ahci without messages on one line of QEMU's q35, by checksums and the
guest's counts, with `interrupts = direct` (`emulated`: full tier); the tiny guest `line` with an e1000 that interrupts at a
word: each once on each CPU and, with `direct`, without an exit, none by an entry that may not be, on Bochs (VT-x),
too; storms, and what VMs leave that end with the line asserted; the same line wanted by two VMs; the nodes of root
buses of their own (`pxb-pcie`), by firmware and by `pci_node`, and their windows.

Full tier, 3 to 6 minutes: on Bochs (VT-x) e1000 and an xHCI with a disk, whose lines are the PIIX3's. `lspci` of
e1000 and an xHCI beside the bare machine's, on QEMU.
"""

import os
import re

import bochs_devices
import direct_guest
import lspci
import margay_run
import monitor_console
import netdev
import node
import numa
import passthrough
import pytest
import tiers
import tiny

# e1000 (82540EM) has neither MSI nor MSI-X. On q35 the pins of devices 6 and 0xa are one line: GSI 22.
CARD = ["-device", "e1000,netdev=net0,addr=6"]
LINE_CARD = ["-nic", "none", "-device", "e1000,addr=6"]
# Of the card in slot 1 of Bochs: its input, and that of the PIRQ below, which nobody has open.
BOCHS_INPUT, BOCHS_PIRQ = 9, 17
DISK = ["-device", "ich9-ahci,id=sata,addr=a", "-device", "ide-hd,drive=data,bus=sata.0"]


@pytest.mark.parametrize("mode", [tiers.full("emulated"), "direct"])
def test_shared_line(mode):
    name = "intx-" + mode
    arguments, down, up = netdev.network(name)
    image = passthrough.make_disk(name)
    before = passthrough.sha256(image)
    done = passthrough.run(
        name, arguments + ["-drive", "if=none,id=data,format=raw,file=" + image] + CARD + DISK,
        {"pci": "00:06.0, 00:0a.0", "cpus": "2", "interrupts": mode},
        "pci=nomsi margay.test=pci margay.drivers=e1000,ahci,sd_mod margay.disk=sda margay.net=eth0",
    )
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["down"].split()[0] == passthrough.sha256(down)
    assert done.facts["up"].split()[0] == passthrough.sha256(up, netdev.SENT)
    assert done.facts["sum"].split()[0] == before
    assert passthrough.sha256(image, 4 << 20) == done.facts["wrote"].split()[0]
    card, disk = passthrough.lines_of(done, "eth0"), passthrough.lines_of(done, "ahci")
    assert card == disk and len(card) == 1, done.lines("^margay-interrupt: ")
    assert min(card.values()) > 100
    if mode == "direct":
        direct_guest.check_no_interrupt_exits(done, "vm0", 2)
    # Nothing was lost on the way, nor came unasked for.
    assert not done.lines("nobody cared|Disabling IRQ|transmit queue .* timed out|qc timeout")


def line_vm(name, words="", after=None, direct=True, machine="qemu", **keys):
    """The VM file of the tiny guest line."""
    guest = tiny.Guest("line", machine)
    lines = {"interrupts": "direct" if direct else "emulated", **keys}
    lines.update({} if direct else {"topology": "flat"}, **({"after": after} if after else {}))
    text = guest.vm().replace("name = line", "name = " + name).replace("topology = flat\n", "")
    return text.replace("cmdline = ", "cmdline = direct=%d %s " % (direct, words)) + "".join("%s = %s\n" % i for i in lines.items())


def check_lines(run):
    """What the guest says: each interrupt once, whatever the count, and no exit for any."""
    assert run.outcome.status == margay_run.OK, run.text[-6000:]
    assert run.has_line("margay: node: end=poweroff vms=3 failed=0"), run.text[-6000:]
    seen = []
    for name in "few", "many":
        direct_guest.check_no_interrupt_exits(run, name, 2)
        assert run.has_line(name + ": interrupts: direct")
        # But for what the console takes.
        seen.append([{reason: n for reason, n in counts.items() if reason not in ("exits", "io", "nmi", "kicked")}
                     for counts in direct_guest.counts_of(run, name, 2)])
    assert seen[0] == seen[1]
    return sum(counts["exits"] for counts in direct_guest.counts_of(run, "emulated", 2))


def test_vectors():
    """One by one, on both CPUs, by all destinations; none of them an exit where the guest's entry is the machine's, and the same
    guest where it is not."""
    run = tiny.run("intx-vectors", "qemu", None, 2, {
        "a.conf": line_vm("few", "count=10"), "b.conf": line_vm("many", "count=200", "few"),
        "c.conf": line_vm("emulated", "count=200", "many", False, on_end="poweroff_node")}, extra=LINE_CARD)
    assert check_lines(run) > 2 * 800


def sent_again(log):
    """How often Bochs' I/O APIC had the card's line asserted and open when another input rose: what it has sent again at most."""
    line, opened, times = False, False, 0
    for text in log:
        if found := re.search(r"set_irq_level\(\): INTIN(\d+): level=(\d)", text):
            if int(found[1]) == BOCHS_INPUT:
                line = found[2] == "1"
            elif int(found[1]) != BOCHS_PIRQ:
                times += line and opened and found[2] == "1"
        elif found := re.search(r"now entry\[%d\] is .*masked=(\d)" % BOCHS_INPUT, text):
            opened = found[1] == "0"
    return times


def test_vectors_on_vt_x():
    """The same; what Bochs sends twice comes twice, by its own log (tests/guest/line.c)."""
    run = tiny.run("intx-vectors", "bochs", None, 2, {
        "a.conf": line_vm("few", "count=10", machine="bochs"), "b.conf": line_vm("many", "count=300", "few", machine="bochs"),
        "c.conf": line_vm("emulated", "count=300", "many", False, "bochs", on_end="poweroff_node")},
                   extra=["pci: enabled=1, chipset=i440fx, slot1=e1000", "e1000: enabled=1, mac=52:54:00:12:34:56, ethmod=null",
                          "debug: action=ignore, IOAPIC=report"])
    assert check_lines(run) > 2 * 1200
    with open(os.path.join(node.LOGS, "intx-vectors-bochs.log.bochs.log"), encoding="utf-8", errors="replace") as log:
        again = sent_again(log)
    repeated = [int(n) for n in re.findall(r"^line: repeated=(\d+)$", run.text, re.MULTILINE)]
    assert len(repeated) == 3 and sum(repeated) <= again < 20, (repeated, again)


def test_left_over():
    """VMs that end with the line asserted, their interrupt in service or pending, on each of their CPUs: the next ones there, with
    that function and without, direct and emulated, find nothing of it; nor does another VM beside them."""
    ends = ("handler0", "at=0"), ("handler1", "at=1"), ("pending0", "at=0 late=1"), ("pending1", "at=1 late=1")
    vms, before = {}, None
    for name, words in ends:
        vms[name + ".conf"] = line_vm(name, "mode=die " + words, before)
        vms[name + "-after.conf"] = line_vm(name + "-after", "mode=after", name)
        before = name + "-after"
    vms["last.conf"] = line_vm("last", "mode=die", before)
    direct, ipi = (tiny.Guest(name, "qemu") for name in ("direct", "ipi"))
    vms["y.conf"] = direct_guest.guest_vm(direct, "y", "last")
    vms["z.conf"] = direct_guest.guest_vm(ipi, "z", "y", False, on_end="poweroff_node")
    vms["witness.conf"] = direct_guest.guest_vm(ipi, "witness", None, False)
    run = tiny.run("intx-left", "qemu", None, 4, vms, extra=LINE_CARD)
    assert run.outcome.status == margay_run.OK, run.text[-6000:]
    assert run.has_line("margay: node: end=poweroff vms=%d failed=0" % len(vms)), run.text[-6000:]
    assert not re.search("unexpected interrupt|tiny: failed", run.text), run.text[-6000:]
    assert len(re.findall(r"^tiny: line: ok ", run.text, re.MULTILINE)) == 9


def test_storm():
    """A guest that leaves the line asserted: it is paused, looked at, stopped and started again all the same."""
    iso = node.margay_iso("intx-storm", {
        "a.conf": line_vm("a", "mode=storm"), "b.conf": monitor_console.vm("b", "tick")},
        {"line": tiny.elf("line"), "behave": tiny.elf("behave")})
    with node.start("intx-storm", "qemu", iso, cpus=3, memory="256M", extra=LINE_CARD) as running:
        running.expect(r"line: storm")
        console = monitor_console.Console(running)
        console.call()
        for _ in range(3):
            assert console.answer("vm pause a") == ["a: paused"]
            assert console.state("a") == "paused"
            paused = console.exits("a")
            assert console.exits("a") == paused, "a paused guest runs"
            assert console.answer("vm resume a") == ["a: running"]
            running.expect(r"line: storm")
            assert re.search(r"^runs, CPU 0, rip ", "\n".join(console.answer("regs a", until="^exit -1:")), re.MULTILINE)
            assert console.answer("vm stop a") == ["a: stops"]
            console.settle("a")
            assert console.state("a") == "stopped"
            running.send("vm start a\r")
            running.expect(r"line: storm")
        running.expect(r"^\[b\] behave: ticks=\d+")
        outcome = console.end()
    assert outcome.status == margay_run.OK, outcome.text
    assert not re.search("unexpected interrupt", running.text)


def test_refused():
    """A line is one VM's; a function with no other interrupt is of no use to the second."""
    lines = {"memory": "96M", "memory_map": "identity", "on_end": "stop", "cpus": "1"}
    vms = {name + ".conf": node.vm_text("qemu", "loglevel=7", **dict(lines, name=name, pci=address))
           for name, address in (("first", "00:06.0"), ("second", "00:0a.0"))}
    iso = node.margay_iso("intx-refused", vms, {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")})
    extra = CARD + ["-netdev", "user,id=net0", "-netdev", "user,id=net1", "-device", "e1000,netdev=net1,addr=a"]
    with node.start("intx-refused", "qemu", iso, memory="512M", cpus=2, extra=extra) as running:
        running.expect(r"second: second\.conf:\d+: pci: 00:0a\.0 is of no use without its line interrupt: it is another VM's or "
                       "the host's own, too")
        running.expect(r"Linux version")
        assert not re.search(r"first: .*pci: .* without", running.text)


def test_node_of_root():
    """Three root buses: the guest's nodes of their functions are the machine's, or what pci_node says of one without any; and
    firmware's windows are known."""
    roots = ["-device", "pxb-pcie,id=far,bus=pcie.0,bus_nr=128,numa_node=1", "-device", "pcie-root-port,id=below,bus=far,slot=1",
             "-drive", "if=none,id=data,format=raw,file=" + passthrough.make_disk("intx-node"),
             "-device", "nvme,drive=data,serial=margay,bus=below", "-device", "pci-testdev,bus=pcie.0,addr=7",
             "-device", "pxb-pcie,id=near,bus=pcie.0,bus_nr=144", "-device", "pcie-root-port,id=under,bus=near,slot=2",
             "-device", "pci-testdev,bus=under"]
    with numa.Machine("2,sockets=2,cores=1", [numa.Node("0", "768M"), numa.Node("1", "768M")]) as machine:
        iso = node.margay_iso(
            "intx-node", {"vm0.conf": node.vm_text("qemu", "margay.test=pci margay.drivers=nvme margay.disk=nvme0n1",
                                                   memory="640M", memory_map="identity", cpus="2",
                                                   pci="class:0108, 1b36:0005", pci_node="91:00.0 1")},
            {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")}, cmdline="loglevel=debug",
        )
        extra = machine.arguments + roots
        with node.start("intx-node", "qemu", iso, memory=machine.memory, cpus=machine.cpus, extra=extra) as running:
            done = node.finish(running)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(r"margay-pci: 0000:[0-9a-f]+:00\.0 0x1b36 0x0010 driver=nvme node=1"), done.lines("^margay-pci: ")
    assert done.has_line(r"margay-pci: 0000:00:07\.0 0x1b36 0x0005 driver= node=-1"), done.lines("^margay-pci: ")
    assert done.has_line(r"margay-pci: 0000:91:00\.0 0x1b36 0x0005 driver= node=1"), done.lines("^margay-pci: ")
    for root, home, buses in (("00", -1, "0-0x7f"), ("80", 1, "0x80-0x81"), ("90", -1, "0x90-0x91")):
        for what in ("node %d$" % home, "buses %s$" % buses, "memory 0x", "ports 0x" if root == "00" else ""):
            assert done.lines("^margay: pci: root 0000:%s: %s" % (root, what)), done.lines("pci: root")


@pytest.mark.full
def test_lspci():
    """The devices that Bochs has, by QEMU's models of them, since natively Bochs boots no kernel in time: as they are without
    Margay, but for what lspci.py says."""
    extra = ["-netdev", "user,id=net0,restrict=on", *CARD, "-device", "qemu-xhci,addr=9"]
    words = "margay.test=pci-data margay.drivers=e1000,xhci_pci"
    iso = node.image("native-lspci", "--linux", node.guest_file("vmlinuz"), "--initrd", node.guest_file("initrd-drivers"),
                     "--cmdline", "console=ttyS0 panic=-1 " + words)
    with node.start("native-lspci", "qemu", iso, extra=extra, native=True) as running:
        bare = node.finish(running)
    done = node.run_guest("lspci", "qemu", words, initrd="initrd-drivers", extra=extra,
                          vm={"pci": "8086:100e, class:0c03", "memory_map": "identity"})
    assert bare.outcome.status == done.outcome.status == margay_run.OK, done.outcome.text
    for function in ("00:06.0", "00:09.0"):
        assert "Kernel driver in use: " in lspci.block(done.text, "margay-lspci", function)
        differences = lspci.compare(bare.text, done.text, function)
        assert not differences, "\n".join([function] + differences)


@pytest.mark.full
def test_bochs():
    bochs_devices.Bochs("intx", "", memory_map="identity").check()


@pytest.mark.full
def test_bochs_direct():
    run = bochs_devices.Bochs("intx-direct", "", memory_map="identity", interrupts="direct")
    run.check()
    assert run.done.has_line("vm0: interrupts: direct")
    direct_guest.check_no_interrupt_exits(run.done, "vm0", 1)
