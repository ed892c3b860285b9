# SPDX-License-Identifier: GPL-2.0-only
"""Expansion ROMs, which firmware may leave switched off and as they were sized: all ones, over the machine's own flash.

`rom`: a guest that is contained (`dma = iommu`) switches the ROM of edu on where firmware has left it, and over the flash, reads
there and programs the chip. It finds nothing, and QEMU finds the flash unchanged. The controls: a ROM that has an address, which it
reads; and the bare machine, where it finds the firmware.

And by UEFI a network card with its ROM is fit, and works.
"""

import struct

import iommu
import margay_machines
import margay_run
import netdev
import node
import passthrough
import pytest
import qemu_monitor
import tiny

FLASH = 0xffc00000  # of OVMF; what a ROM of 4 MiB says when it was sized and nothing else
SIZE = 4 << 20
PATTERN = 0x21726f6d
ECAM, ROM_OF_EDU = 0xb0000000, 0x48030  # SeaBIOS'; bus 0, device 9, register 0x30
# OVMF leaves the ROM so by itself; SeaBIOS gives it an address, which GRUB takes back here, by ECAM.
LEAVES = {"bios": ["write_dword %#x %#x" % (ECAM + ROM_OF_EDU, FLASH)], "uefi": []}


def edu_with_rom(folder):
    """QEMU's arguments: without a screen, whose ROM by UEFI once lay over edu's, so that no VM had that."""
    romfile = str(folder / "rom")
    with open(romfile, "wb") as f:
        f.write(struct.pack("<I", PATTERN) * (SIZE // 4))
    return ["-vga", "none", "-device", "edu,addr=9,romfile=" + romfile]


WORDS = "at=%d rom=%d " % (FLASH, PATTERN)


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_flash(tmp_path, firmware):
    """Neither read nor written, whatever the guest writes to register 0x30: the ROM has no address."""
    name = "rom-" + firmware
    guest = tiny.Guest("rom", "qemu")
    text = (guest.vm(last=True) + "dma = iommu\n").replace("cmdline = ", "cmdline = " + WORDS)
    iso = node.margay_iso(name, {"rom.conf": text}, {"rom": tiny.elf("rom")}, grub=LEAVES[firmware])
    extra = iommu.UNIT["plain"] + edu_with_rom(tmp_path) + qemu_monitor.arguments(tmp_path)
    with node.start(name, "qemu", iso, memory="512M", timeout=120, boot=margay_machines.Boot(firmware), extra=extra) as running:
        running.expect(r"^rom: waits\r?$")
        monitor = qemu_monitor.Monitor(tmp_path)
        before = monitor.memory(FLASH, SIZE)
        left = monitor.pci_word(0, 9, 0x30)
        running.send("x")
        running.expect(r"^rom: is done\r?$")
        after = monitor.memory(FLASH, SIZE)
        running.send("x")
        run = node.Run(running, running.wait())
    # What firmware has left is there, in the function itself.
    assert left == FLASH and run.has_line(iommu.ON), run.text[-4000:]
    assert before == after and before != b"\xff" * SIZE
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    assert run.has_line("rom: first 0x0, size 0x0") and run.outcome.status == margay_run.OK, run.outcome.text


@pytest.mark.full
def test_rom_with_an_address(tmp_path):
    """The control of how the guest looks: where SeaBIOS has given the ROM an address it reads the ROM, there and where it moves it,
    and nothing of the flash."""
    guest = tiny.Guest("rom", "qemu")
    text = (guest.vm(last=True) + "dma = iommu\n").replace("cmdline = ", "cmdline = " + WORDS)
    iso = node.margay_iso("rom-window", {"rom.conf": text}, {"rom": tiny.elf("rom")})
    with node.start("rom-window", "qemu", iso, memory="512M", extra=iommu.UNIT["plain"] + edu_with_rom(tmp_path)) as running:
        running.expect(r"^rom: waits\r?$")
        running.send("x")
        running.expect(r"^rom: is done\r?$")
        running.send("x")
        run = node.Run(running, running.wait())
    assert tiny.judge(guest, run.text) == [], run.text[-4000:]
    assert run.has_line("rom: first 0xfe[0-9a-f]{6}, size 0x400000") and run.has_line("rom: there is %#x" % PATTERN)


@pytest.mark.full
def test_bare_machine(tmp_path):
    """The control: without Margay the same guest finds the firmware, and fails."""
    guest = tiny.Guest("rom", "qemu")
    iso = node.image("rom-native", "--linux", tiny.elf("rom"), "--cmdline", WORDS + guest.cmdline())
    extra = ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"] + edu_with_rom(tmp_path)
    with node.start("rom-native", "qemu", iso, native=True, memory="256M", extra=extra) as running:
        running.expect("rom: waits\r?$")
        running.send("x")
        running.expect("rom: is done\r?$")
        running.send("x")
        run = node.Run(running, running.wait())
    assert run.lines("tiny: rom: FAILED ") and run.lines("tiny: failed: .*at 0xfffffff0 is 0x"), run.text[-4000:]


@pytest.mark.full
def test_card_by_uefi():
    """A card with its ROM, beside a screen's, which OVMF leaves over each other and the flash: fit, and TCP both ways."""
    arguments, down, up = netdev.network("rom-uefi")
    done = node.run_guest(
        "rom-card", "qemu", "margay.test=pci margay.drivers=e1000e margay.net=eth0", initrd="initrd-drivers",
        vm={"pci": "00:06.0", "dma": "iommu", "memory": passthrough.MEMORY}, memory="1G",
        boot=margay_machines.Boot("uefi"), extra=iommu.UNIT["plain"] + arguments + ["-device", "e1000e,netdev=net0,addr=6"])
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.facts["down"].split()[0] == passthrough.sha256(down)
    assert done.facts["up"].split()[0] == passthrough.sha256(up, netdev.SENT)
