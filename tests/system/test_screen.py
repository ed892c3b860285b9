# SPDX-License-Identifier: GPL-2.0-only
"""The screen, read back from screenshots by the font: it shows what the serial line has, guests' output too, by BIOS and by
UEFI; a panic is seen though a guest has every CPU, and the last line before power-off; the hardware check turns its pages
where there is no serial line. Without a framebuffer there is the serial line only.

What a screenshot of QEMU's screen shows, each cell read back as the font's character, beside what the serial line
had: by BIOS and UEFI; a guest's output while it runs and an idle CPU draws; a guest with the only CPU; a panic; the
last line before power-off; all lines of the hardware check by pages, without a serial line, too. No video card, text
mode and `screen=none`: the guest runs all the same.

`test_raster.c`, `test_screen_text.c`, `test_screen.c`: the framebuffers that are refused, depths and colours,
controls and sequences, and who draws when.
"""

import os
import re
import shutil
import time

import disk
import margay_machines
import monitor_console
import node
import pytest
import qemu_lost
import screen
import tiers
import tiny

BOOT = "boot"


def start(name, vm, module, cmdline="", **options):
    iso = node.margay_iso("screen-" + name, {"a.conf": vm}, {module: tiny.elf(module)}, cmdline, check=False)
    options.setdefault("timeout", 240)
    return node.start("screen-" + name, "qemu", iso, memory="256M", **options)


def test_bios_guest_has_the_only_cpu():
    """What the boot says is there before the guest runs; the guest's own, and how it ended, as soon as the CPU is idle."""
    with start("bios", monitor_console.vm("a", "once"), "behave") as running:
        running.expect(r"^a: end=exit status=\d+\r")
        running.expect(r"^margay: node: end=idle vms=1 failed=\d\r")
        lines = screen.is_the_log(running, "screen-bios")
    assert any(line.startswith("behave: ") for line in lines)
    assert any(line.startswith("a: end=exit") for line in lines)
    # It begins where the log does, in front of the screen's own line.
    assert lines[0].startswith("margay: Margay ")


def test_uefi_guest_runs():
    """An idle CPU draws what the guest on another one says, while it runs; the last line is there when the power goes."""
    with start("uefi", monitor_console.vm("a", "tick"), "behave", cpus=2, boot=margay_machines.Boot("uefi"),
               extra=["-no-shutdown"]) as running:
        running.expect(r"^behave: ticks=\d+\r")
        seen = screen.wait_until(running, "screen-uefi", 60, lambda lines: sum("behave: ticks=" in x for x in lines) > 2)
        assert sum("behave: ticks=" in line for line in seen) > 2
        assert all(line.rstrip() in running.text for line in seen)
        console = monitor_console.Console(running)
        console.call()
        running.send("poweroff now\r")
        running.expect(r"^margay: node: end=poweroff vms=1 failed=0 running=1\r")
        lines = screen.is_the_log(running, "screen-uefi")
    assert any(line.startswith("margay: node: end=poweroff") for line in lines)


def test_panic():
    """The guest has the only CPU, and nothing of what it said was drawn; a panic shows all."""
    with start("panic", monitor_console.vm("a", "tick"), "behave") as running:
        running.expect(r"^behave: ticks=\d+\r")
        before = screen.shot(running, "screen-panic")
        assert any(line.startswith("margay: virtualization: ") for line in before)
        monitor_console.Console(running).call()
        running.send("panic now\r")
        running.expect(r"^margay: node: end=panic\r")
        lines = screen.is_the_log(running, "screen-panic")
    assert any(re.search(r"panic on CPU \d: asked for on the monitor console", line) for line in lines)


@pytest.mark.parametrize("name, words", [
    ("pages", "check=1,stay screen=4"), ("alone", "check=1,stay console=none screen=4"),
    tiers.full("alone-by-itself", "check=1,stay console=none")])
def test_check_by_pages(name, words):
    """Each line of the report was on the screen. Without a serial line nobody has to ask for it; with one, it says what was."""
    seen = []
    vm = monitor_console.vm("a", "once")
    with start(name, vm, "behave", words, extra=["-no-shutdown"]) as running:
        end = time.monotonic() + 200
        # QEMU's monitor comes a moment after its serial port, and its socket's name a moment before it answers.
        while time.monotonic() < end:
            try:
                with qemu_lost.Monitor(running.qmp):
                    break
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.1)
        while time.monotonic() < end and not (seen and any("node: end=idle" in line for line in seen[-1])):
            lines = screen.shot(running, "screen-" + name)
            if not seen or lines != seen[-1]:
                seen.append(lines)
            time.sleep(0.5)
        text = running.text
    assert seen and any("node: end=idle" in line for line in seen[-1])
    report = [line.rstrip() for lines in seen for line in lines if re.match("check: |# ", line)]
    assert "# end of the VM file" in report and report[-1].startswith("check: result: able=yes")
    # No page follows another without a line of it still there: nothing was missed in between.
    pages = [lines for lines in seen if any(line.startswith("check: ") for line in lines)]
    for one, other in zip(pages, pages[1:]):
        assert {line for line in one if line.strip()} & {line for line in other if line.strip()}
    if "console=none" in words:
        assert "check: " not in text
        return
    columns, _ = screen.geometry(running)
    said = [line for line in text.replace("\r", "").split("\n") if line.startswith("check: ")]
    assert len(said) > 40
    # Of a long line the first row, which begins with its time.
    shown = columns - len("[    1.234] ")
    assert [line for line in said if line[:shown].rstrip() not in {row[:shown].rstrip() for row in report}] == []


def ends_well(name, why, boot, image=None, cmdline="", extra=()):
    """Serial line only: one line tells, and the guest runs to its good end."""
    guest = tiny.Guest(BOOT, "qemu")
    image = image or node.margay_iso("screen-" + name, {"boot.conf": guest.vm(last=True)},
                                     {n: tiny.elf(n) for n in (BOOT, "triple")}, cmdline)
    with node.start("screen-" + name, "qemu", image, memory="256M", boot=boot, extra=extra, timeout=240) as running:
        run = node.Run(running, running.wait())
    assert tiny.judge(guest, run.text) == []
    assert run.lines("^margay: screen: ") == ["margay: screen: none: " + why]
    return run


@pytest.mark.parametrize("firmware, why", [
    # GRUB takes a VGA that has no VBE for one, with 16 colours; UEFI has none.
    ("bios", "its colours are those of a palette"), ("uefi", "the boot loader gives no framebuffer"),
])
def test_no_video_card(firmware, why):
    ends_well("novga-" + firmware, why, margay_machines.Boot(firmware), extra=["-vga", "none"])


def test_not_wanted():
    ends_well("none", "the command line wants none", margay_machines.Boot(), cmdline="screen=none")


def test_text_mode(tmp_path):
    """gfxpayload=text behind the command that loads the image, as docs/booting.md has it."""
    guest = tiny.Guest(BOOT, "qemu")
    boot = tmp_path / "root" / "boot"
    (boot / "grub").mkdir(parents=True)
    files = {"margay.elf": os.path.join(node.BUILD, "margay.elf"), "boot.elf": tiny.elf(BOOT), "triple.elf": tiny.elf("triple")}
    for name, path in files.items():
        shutil.copyfile(path, boot / name)
    (boot / "a.conf").write_text(guest.vm(last=True), encoding="ascii")
    (boot / "grub" / "grub.cfg").write_text("""\
insmod all_video
insmod multiboot2
multiboot2 /boot/margay.elf
set gfxpayload=text
module2 /boot/a.conf vm:a.conf
module2 /boot/boot.elf boot
module2 /boot/triple.elf triple
boot
""", encoding="ascii")
    image = disk.make(str(tmp_path / "root"), str(tmp_path))
    ends_well("text", "the boot loader left it in text mode", margay_machines.Boot("bios", "disk"), image)
