# SPDX-License-Identifier: GPL-2.0-only
"""What Margay takes over from the firmware at boot: ACPI, which here is off again when the firmware has ended, USB controllers,
as far as QEMU's have what firmware holds them by, and the DMA of cards that firmware has used.

ACPI, which the test has switched off behind the firmware, is on again; QEMU's four kinds of USB controllers are
quiet, and the UHCI's traps are off. None of them has what an xHCI or EHCI is handed over by: that is in
`test_pci_usb` only.

The controller of the disk that SeaBIOS has booted from, which it leaves a bus master, is none before the first page of memory is
taken: by what QEMU sees written to it and to the serial line, in the order of time. A root port that firmware left without bus
mastering has it when a VM has the card behind it.
"""

import os
import re
import struct

import margay_configs as configs
import monitor_console
import node
import pytest
import qemu_monitor
import tiny

ECAM = 0xB0000000  # of QEMU's q35
PM1_CONTROL, SMI_COMMAND, ACPI_DISABLE, SCI_EN = 0x604, 0xB2, 3, 1
BUS_MASTER = 4
USB = ["usb-ehci,addr=4", "piix3-usb-uhci,addr=5", "qemu-xhci,addr=6", "pci-ohci,addr=7"]


def pm1_control(monitor):
    return int(re.search(r"= (0x[0-9a-f]+)", monitor.ask("i /h %#x" % PM1_CONTROL))[1], 16)


def test_handover(tmp_path):
    vm = node.vm_text("qemu", "quiet", cpus="1", memory="64M")
    iso = node.margay_iso("handover", {"vm0.conf": vm}, {}, "check=1,stay", check=False)
    extra = [word for device in USB for word in ("-device", device)] + qemu_monitor.arguments(tmp_path)
    with node.start("handover", "qemu", iso, memory="256M", extra=extra) as running:
        # The boot loader waits for nobody: the machine does, as soon as Margay is heard.
        running.expect(r"margay: Margay ")
        monitor = qemu_monitor.Monitor(tmp_path)
        monitor.ask("o /b %#x %d" % (SMI_COMMAND, ACPI_DISABLE))
        running.expect(r"check: result: ")
        on = pm1_control(monitor) & SCI_EN
        spaces = {device: monitor.memory(ECAM + (device << 15), 256) for device in (4, 5, 6, 7)}
        console = monitor_console.Console(running)
        console.call()
        console.end()
    assert on == SCI_EN and "margay: acpi: switched on: firmware had left it off" in running.text
    for device, kind in ((4, 0x20), (5, 0x00), (6, 0x30), (7, 0x10)):
        assert spaces[device][9:12] == bytes((kind, 0x03, 0x0c))
        # No bus master, no interrupt.
        assert struct.unpack_from("<H", spaces[device], 4)[0] & 0x404 == 0x400
    # The EHCI is the system's, none of its SMIs is on; what the change has noted for one stays. No trap, and routed, of the UHCI.
    legacy, smis = struct.unpack_from("<II", spaces[4], 0x68)
    assert legacy == 0x01000001 and not smis & 0xffff
    assert struct.unpack_from("<H", spaces[5], 0xc0)[0] == 0xaf00
    assert "keeps this USB" not in running.text


class Trace:
    """What QEMU sees written to configuration spaces and to the serial line, in the order of time."""

    def __init__(self, folder):
        self.path = os.path.join(str(folder), "trace")
        events = os.path.join(str(folder), "events")
        with open(events, "w", encoding="ascii") as f:
            f.write("pci_cfg_write\nserial_write\n")
        self.arguments = ["-trace", "events=%s,file=%s" % (events, self.path)]

    def commands(self, address):
        """[(value that was written to the function's command register, what had been said by then)]"""
        said, found = "", []
        with open(self.path, encoding="ascii") as f:
            for line in f:
                char = re.search(r"serial_write .*addr 0x0+ val (0x[0-9a-f]+)", line)
                said += chr(int(char[1], 16)) if char else ""
                value = re.search(r"pci_cfg_write \S+ %s @0x4 <- (0x[0-9a-f]+)" % re.escape(address), line)
                if value:
                    found.append((int(value[1], 16), said))
        return found


@pytest.mark.parametrize("kind", ["default", "tiny"])
def test_no_master_when_memory_is_used(tmp_path, kind):
    trace = Trace(tmp_path)
    elf = configs.build(configs.load("tiny"), os.path.join(configs.CONFIGS, "tiny")) if kind == "tiny" else None
    iso = node.margay_iso("masters-" + kind, {"vm0.conf": node.vm_text("qemu", "quiet", cpus="1")}, {}, check=False, elf=elf)
    with node.start("masters-" + kind, "qemu", iso, memory="256M", exits=False, extra=trace.arguments) as running:
        # The smallest image has no line but of what is wrong: its VM has no kernel.
        running.expect(r"vm0: .*kernel" if kind == "tiny" else r"margay: node 0: \d+ MiB free")
    commands = trace.commands("00:1f.2")
    last = max(n for n, (value, _) in enumerate(commands) if value & BUS_MASTER)
    value, said = commands[last + 1]
    if kind == "tiny":
        assert "margay" not in said, said
        return
    # Behind the line that begins with CPU the page tables are made.
    assert "MiB usable" in said and "margay: CPU: " not in said, said
    assert re.search(r"pci: firmware left bus mastering on in \d+ functions?: off now", running.text)


def test_way_of_a_card(tmp_path):
    """SeaBIOS gives root ports no bus mastering: this one has it from its VM's start on, and was not given it before."""
    trace = Trace(tmp_path)
    guest = tiny.Guest("remains", "qemu")
    extra = ["-device", "pcie-root-port,id=below,addr=8,chassis=1", "-device", "e1000,bus=below"]
    run = tiny.run("way", "qemu", None, 1, {"remains.conf": guest.vm(last=True)}, exits=False, extra=extra + trace.arguments)
    assert run.has_line("remains: end=exit status=0"), run.text[-4000:]
    assert run.has_line("margay: pci 0000:00:08.0: bus mastering on, for what a VM has behind it"), run.text[-4000:]
    commands = trace.commands("00:08.0")
    assert commands[-1][0] & BUS_MASTER and not [value for value, _ in commands[:-1] if value & BUS_MASTER], commands
