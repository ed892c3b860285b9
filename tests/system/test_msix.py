# SPDX-License-Identifier: GPL-2.0-only
"""Messages of devices. A guest's garbage in an MSI-X table never reaches the device: what stands
there is read by QEMU's monitor, not by the hypervisor. MSI with several messages, by a tiny guest.

Garbage in an MSI-X table as the guest writes it with no driver; what stands in the device's table then is read by
QEMU's monitor.

MSI with several messages: the tiny guest `msi_several` lets each of 16 interrupters of QEMU's nec-usb-xhci send its
own; `msi_mask` masks and unmasks igb's, moves it in between, and switches it off and on 300 times.
"""

import margay_run
import node
import passthrough
import pytest
import qemu_monitor
import tiny

TABLE = 0x2000  # of QEMU's nvme, in BAR0
GOOD = "0xfee00000:0:0x41"
BAD = [
    "0xfee00000:0:0x0f",   # a vector below 16
    "0xfee00000:0:0x241",  # SMI, NMI, INIT, ExtINT
    "0xfee00000:0:0x441",
    "0xfee00000:0:0x541",
    "0xfee00000:0:0x741",
    "0xfee07000:0:0x41",   # a CPU that is not the VM's
    "0xfee00000:1:0x41",   # memory
    "0x00100000:0:0x41",
]


@pytest.mark.parametrize("interrupts", ["emulated", "direct"])
def test_garbage(tmp_path, interrupts):
    name = "msix" if interrupts == "emulated" else "msix-direct"
    extra = ["-drive", "if=none,id=data,format=raw,file=" + passthrough.make_disk(name),
             "-device", "nvme,drive=data,serial=margay,addr=6", *qemu_monitor.arguments(tmp_path)]
    iso = node.margay_iso(
        name, {"vm0.conf": node.vm_text("qemu", "margay.test=msix margay.table=%#x margay.entries=%s" % (
            TABLE, ",".join(BAD + [GOOD])), memory=passthrough.MEMORY, memory_map="identity", pci="00:06.0", cpus="1",
            interrupts=interrupts)},
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd-drivers")},
    )
    with node.start(name, "qemu", iso, memory="1G", cpus=2, extra=extra) as running:
        bar = int(running.expect(r"margay-test: bar: (0x[0-9a-f]+)\s")[1], 16)
        running.expect(r"margay-test: control: Enable\+")
        monitor = qemu_monitor.Monitor(tmp_path)
        table = monitor.words(bar + TABLE, 4 * (len(BAD) + 1))
        entries = [table[i:i + 4] for i in range(0, len(table), 4)]
        running.send("\n")
        done = node.finish(running)
    assert done.outcome.status == margay_run.OK, done.outcome.text
    # The guest reads what it has written, and all as open.
    seen = [[int(word, 16) for word in line.split()[1:]] for line in done.lines("^margay-entry: ")]
    assert seen == [[int(word, 16) for word in entry.split(":")] + [0] for entry in BAD + [GOOD]]
    assert len(entries) == len(BAD) + 1
    for entry in entries[:-1]:
        assert entry == [0, 0, 0, 1], entries
    # The good one stands there as the host's: fixed delivery to the VM's CPU 0, one of the host's vectors, or the guest's own.
    address, high, data, control = entries[-1]
    assert (address & ~0xFF000, high, data & ~0xFF, control) == (0xFEE00000, 0, 0, 0), entries
    assert address >> 12 & 0xFF == 0 and (data == 0x41 if interrupts == "direct" else 0x30 <= data < 0xE0), entries


MODES = pytest.mark.parametrize("direct", [False, True], ids=["emulated", "direct"])


def run_msi(name, device, direct):
    """A tiny guest whose function is this device of QEMU's."""
    guest = tiny.Guest(name, "qemu")
    run = tiny.run(name + "-direct" * direct, "qemu", None, 1, {name + ".conf": guest.vm(last=True, direct=direct)},
                   extra=["-device", device])
    assert tiny.judge(guest, run.text) + tiny.judge_mode(guest, run.text, direct) == [], run.text[-4000:]
    assert run.outcome.status == margay_run.OK, run.outcome.text
    return run


@MODES
def test_several_messages(direct):
    """1, 4 and 16 of them, by QEMU's nec-usb-xhci, of whose 16 interrupters each sends its own."""
    assert run_msi("msi_several", "nec-usb-xhci,msi=on,msix=off,addr=9", direct).lines("msi_several: 64 messages$")


@MODES
def test_masked_message(direct):
    """A mask bit of MSI, which of QEMU's devices only igb has; bridges apart."""
    assert run_msi("msi_mask", "igb,addr=9", direct).lines("msi_mask: 306 messages$")
