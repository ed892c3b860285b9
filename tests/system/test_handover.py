# SPDX-License-Identifier: GPL-2.0-only
"""What Margay takes over from the firmware at boot: ACPI, which here is off again when the firmware has ended, and USB controllers,
as far as QEMU's have what firmware holds them by.

ACPI, which the test has switched off behind the firmware, is on again; QEMU's four kinds of USB controllers are
quiet, and the UHCI's traps are off. None of them has what an xHCI or EHCI is handed over by: that is in
`test_pci_usb` only.
"""

import re
import struct

import monitor_console
import node
import qemu_monitor

ECAM = 0xB0000000  # of QEMU's q35
PM1_CONTROL, SMI_COMMAND, ACPI_DISABLE, SCI_EN = 0x604, 0xB2, 3, 1
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
