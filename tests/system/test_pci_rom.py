# SPDX-License-Identifier: GPL-2.0-only
"""Expansion ROMs, which firmware may leave switched off and as they were sized: all ones, over the machine's own flash.

`rom`: a guest that is contained (`dma = iommu`) switches the ROM of edu on where firmware has left it, and over the flash, reads
there and programs the chip. It finds nothing, or the ROM where that has an address, and QEMU finds the flash unchanged.

And by UEFI a network card with its ROM is fit, and works.
"""

import re
import struct

import iommu
import margay_machines
import margay_run
import node
import pytest
import qemu_monitor
import tiny

FLASH = 0xffc00000  # of OVMF; what a ROM of 4 MiB says when it was sized and nothing else
SIZE = 4 << 20
PATTERN = 0x21726f6d
# OVMF leaves the ROM so by itself; SeaBIOS gives it an address, which GRUB takes back here, by ECAM.
LEAVES = {"bios": ["write_dword 0xb0048030 %#x" % FLASH], "uefi": []}


def attack(folder, firmware):
    """The run, what the flash held before and after it, and where the guest found the ROM."""
    name = "rom-" + firmware
    romfile = str(folder / "rom")
    with open(romfile, "wb") as f:
        f.write(struct.pack("<I", PATTERN) * (SIZE // 4))
    guest = tiny.Guest("rom", "qemu")
    text = guest.vm(last=True) + "dma = iommu\n"
    text = text.replace("cmdline = ", "cmdline = at=%d rom=%d " % (FLASH, PATTERN))
    iso = node.margay_iso(name, {"rom.conf": text}, {"rom": tiny.elf("rom")}, elf=iommu.image(), grub=LEAVES[firmware])
    # Without a screen, whose ROM by UEFI once lay over edu's, so that no VM had that.
    extra = iommu.UNIT["plain"] + ["-vga", "none", "-device", "edu,addr=9,romfile=" + romfile] + qemu_monitor.arguments(folder)
    with node.start(name, "qemu", iso, memory="512M", timeout=120, boot=margay_machines.Boot(firmware), extra=extra) as running:
        running.expect(r"^rom: waits\r?$")
        monitor = qemu_monitor.Monitor(folder)
        before = monitor.memory(FLASH, SIZE)
        running.send("x")
        running.expect(r"^rom: is done\r?$")
        after = monitor.memory(FLASH, SIZE)
        running.send("x")
        run = node.Run(running, running.wait())
    return guest, run, before, after


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_flash(tmp_path, firmware):
    """Neither read nor written, whatever the guest writes to register 0x30."""
    guest, run, before, after = attack(tmp_path, firmware)
    assert run.has_line(iommu.ON), run.text[-4000:]
    print(run.lines("^rom: "))
    assert before == after and before != b"\xff" * SIZE
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    assert run.outcome.status == margay_run.OK, run.outcome.text
