# SPDX-License-Identifier: GPL-2.0-only
"""Guests that do with PCI functions what no driver does, and VMs that end while a device writes to their memory:
tiny guests on QEMU's devices, edu among them, which does DMA at a word and takes 100 ms for it.

`pci_random` writes anything to every configuration register of two functions, by ports and ECAM, with BARs over RAM,
the local APIC and each other; nothing of the platform is hidden by it, and both devices work afterwards.

`dma_flight`: a VM ends while `edu` writes to its memory, the next VM has that memory and finds it untouched; the
control lets the device go on, and finds the writes. Ten times; 210 times in the full tier.

`pci_edges`: accesses of all sizes half in and half out of the pages that are trapped, beside another VM whose
device's registers the hypervisor has mapped right behind; these keep what was written to them.

`guard`, on an image with `CONFIG_DEBUG_FAULT`: when all checks have failed and the hypervisor meets a page fault at
device registers, that VM ends.

And the controller of the boot disk, which firmware leaves a bus master, is none from the hypervisor's start on, by
QEMU's trace.

`remains`: an e1000, which has no reset of its own, is reset by the bus behind a root port before the next VM has it,
and is as it was left on bus 0.
"""

import os
import re

import edu_device
import margay_run
import monitor_console
import node
import passthrough
import pytest
import tiny

PORT = ["-device", "pcie-root-port,id=below,addr=8,chassis=1"]


def test_killed_under_dma():
    edu_device.check_killed(edu_device.kill_under_dma("pci-kill", 10), 10)


def test_killed_under_dma_control():
    """The next VM lets the device go on, and finds what it writes: at that address, in its memory."""
    run = edu_device.kill_under_dma("pci-kill-control", 1, "master=1")
    assert len(run.lines("^tiny: dma_flight: ok ")) == 1, run.text[-4000:]
    assert run.has_line(r"tiny: failed: \d+ foreign writes .*") and run.has_line("checker0: end=exit status=1"), run.text[-4000:]


@pytest.mark.full
@pytest.mark.parametrize("part", range(14))
def test_killed_under_dma_often(part):
    edu_device.check_killed(edu_device.kill_under_dma("pci-kill-%d" % part, 15), 15)


@pytest.mark.parametrize("direct", [False, True], ids=["emulated", "direct"])
def test_random_configuration_space(direct):
    """A guest that writes anything to every register, and moves BARs onto everything."""
    arguments = passthrough.DEVICES["nvme"][0]
    name = "pci-random" + "-direct" * direct
    drive = ["-drive", "if=none,id=data,format=raw,file=" + passthrough.make_disk(name)]
    guest = tiny.Guest("pci_random", "qemu")
    run = tiny.run(name, "qemu", None, 1, {"pci_random.conf": guest.vm(last=True, direct=direct)},
                   extra=edu_device.EDU + drive + arguments)
    assert tiny.judge(guest, run.text) + tiny.judge_mode(guest, run.text, direct) == [], run.text[-4000:]
    assert run.outcome.status == margay_run.OK, run.outcome.text


@pytest.mark.parametrize("dma", ["identity", "window"])
def test_edges_of_trapped_registers(dma):
    """Accesses half in and half out of what the hypervisor keeps to itself, by a VM whose device's registers it has mapped right
    in front of those of another's. With windows the guest has never confirmed anything."""
    # Of two VMs one can have its memory where a tiny guest is linked to.
    pci = {"attacker": ("class:0108\ndma = " + dma, ""), "witness": ("1af4:1110\ndma = window", "witness=1 ")}
    vms = {}
    for name, (function, words) in pci.items():
        text = tiny.Guest("pci_edges", "qemu").vm(last=name == "witness") + "pci = %s\n" % function
        vms[name + ".conf"] = text.replace("name = pci_edges", "name = " + name).replace("cmdline = ", "cmdline = " + words)
    drive = ["-drive", "if=none,id=data,format=raw,file=" + passthrough.make_disk("pci-edges-" + dma)]
    other = ["-object", "memory-backend-ram,id=shared,size=1M,share=on", "-device", "ivshmem-plain,memdev=shared,addr=a"]
    iso = node.margay_iso("pci-edges-" + dma, vms, {"pci_edges": tiny.elf("pci_edges")})
    with node.start("pci-edges-" + dma, "qemu", iso, cpus=2, memory="256M", timeout=300,
                    extra=drive + passthrough.DEVICES["nvme"][0] + other) as running:
        running.expect(r"^(\[witness\] )?witness: waits")
        running.send("a")
        running.expect("^attacker: end=.*\n")
        console = monitor_console.Console(running)
        console.call()
        running.send("vm console witness\r")
        running.send("x")
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    assert run.has_line("attacker: end=exit status=0") and run.has_line("witness: end=exit status=0"), run.text[-4000:]
    assert len(run.lines(r"tiny: pci_edges: ok checks=\d+")) == 2, run.text[-4000:]


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize("machine", ["qemu", "bochs"])
def test_fault_at_device_registers(machine, write):
    """A defect that nobody knows of yet, here a port of an image with DEBUG_FAULT: that VM is over, the node goes on."""
    guests = [tiny.Guest("guard", machine), tiny.Guest("boot", machine)]
    vms = {"guard.conf": guests[0].vm(), "boot.conf": guests[1].vm("guard", last=True)}
    if write:
        vms["guard.conf"] = vms["guard.conf"].replace("cmdline = ", "cmdline = write=1 ")
    name = "pci-fault-write" if write else "pci-fault-read"
    run = tiny.run(name, machine, None, 1, vms, image=node.variant("fault", "DEBUG_FAULT=y"))
    assert [tiny.judge(guest, run.text) for guest in guests] == [[], []], run.text[-4000:]
    assert len(run.lines("^guard: vcpu0: .* device registers that are not there: a defect of its own$")) == 1, run.text[-4000:]
    assert "the guest goes on" not in run.text and run.has_line("margay: node: end=poweroff vms=2 failed=1"), run.text[-4000:]


def test_nobodys_functions_are_quiet():
    """SeaBIOS leaves the controller of the disk that it has booted from a bus master; the hypervisor ends that, for good."""
    trace = os.path.join(node.LOGS, "pci-quiet.trace")
    guest = tiny.Guest("hypercall", "qemu")
    run = tiny.run("pci-quiet", "qemu", [guest], 1, extra=["-trace", "pci_cfg_write,file=" + trace])
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    with open(trace, encoding="ascii") as f:
        commands = [int(value, 16) for value in re.findall(r"pci_cfg_write \S+ 00:1f\.2 @0x4 <- (0x[0-9a-f]+)", f.read())]
    # Firmware never disables INTx: the first write that does is the hypervisor's last word.
    quiet = next(n for n, value in enumerate(commands) if value & edu_device.NO_INTX)
    assert [value for value in commands[:quiet] if value & edu_device.BUS_MASTER], commands
    assert not [value for value in commands[quiet:] if value & edu_device.BUS_MASTER or not value & edu_device.NO_INTX], commands


@pytest.mark.parametrize("behind", ["port", "root"])
def test_reset_by_bus(behind):
    """A card without a reset of its own: behind a port that it has for itself the next VM finds it reset; else, as it was left."""
    guest = tiny.Guest("remains", "qemu")
    vms = {"first.conf": guest.vm().replace("name = remains", "name = first"), "remains.conf": guest.vm("first", last=True)}
    extra = PORT + ["-device", "e1000,bus=below"] if behind == "port" else ["-device", "e1000,addr=9"]
    run = tiny.run("reset-" + behind, "qemu", None, 1, vms, extra=extra)
    found = [int(n, 16) for n in re.findall(r"remains: found (\w+)", run.text)]
    assert found == [0, 0 if behind == "port" else 0x12345670], run.text[-3000:]
    assert run.has_line("remains: end=exit status=0") and run.has_line("first: end=exit status=0")
