# SPDX-License-Identifier: GPL-2.0-only
"""A serial port that is not where, or does not interrupt as, everybody expects: QEMU's, with another interrupt or address.

By the DSDT that QEMU writes, or an SPCR, the console finds its port and its interrupt; where the operator says another interrupt
than it has, that is tried, does not come, and the line is polled: all lines come, and what is typed is heard, by a node that has
nothing to do and while a guest runs. Registers of 32 bits, and ports that fail the test: `test_uart8250.c`, `test_console.c`; the
tables of others: `test_acpi_uart.c`; who is asked first: `test_console_find.c`.
"""

import struct

import monitor_console
import node
import numa
import pytest
import tiny

SEVEN = ["-global", "isa-serial.irq=7"]
ELSEWHERE = ["-global", "isa-serial.iobase=0x2f8", "-global", "isa-serial.irq=5"]
POLLED = r"margay: console: interrupt 4 does not come: the line is polled; .*"
# Of 16550, at I/O port 0x2f8, by an 8259's interrupt 5, at 115200.
SPCR = numa.acpi_table(b"SPCR", 2, struct.pack("<B3xBBBBQBBIB21x", 0, 1, 8, 0, 1, 0x2f8, 1, 5, 0, 7))


def check(name, extra, words="", acpi=()):
    """The hardware check's report, of a hundred lines, and a command that is typed then, on a node without any VM."""
    vm = node.vm_text("qemu", "quiet", cpus="1", memory="64M")
    iso = node.margay_iso(name, {"vm0.conf": vm}, {}, "check=1,stay " + words, check=False, acpi=acpi)
    with node.start(name, "qemu", iso, memory="256M", extra=extra) as running:
        running.expect(r"check: result: ")
        console = monitor_console.Console(running)
        console.call()
        console.end()
        return node.Run(running, running.wait())


@pytest.mark.parametrize("how", ["dsdt", "spcr"])
def test_found(how):
    run = check("console-" + how, SEVEN if how == "dsdt" else ELSEWHERE, acpi=[SPCR] if how == "spcr" else [])
    assert "the line is polled" not in run.text and "no serial port" not in run.text
    assert run.has_line("margay: console: at port 0x2f8, as the SPCR says") == (how == "spcr")
    assert run.has_line("margay: Margay .*"), run.text[:2000]


def test_elsewhere_by_dsdt():
    run = check("console-elsewhere", ELSEWHERE)
    assert run.has_line("margay: console: at port 0x2f8, as the DSDT says") and run.has_line("margay: Margay .*")
    assert "the line is polled" not in run.text


def test_polled():
    """The operator says an interrupt that the port has not."""
    run = check("console-polled", SEVEN, "console=com1,irq=4")
    assert run.has_line(POLLED), run.text[-4000:]


def test_polled_under_a_guest():
    """What a guest prints comes whole, and what is typed is heard while it runs on the only CPU."""
    vms = {"busy.conf": monitor_console.vm("busy", "tick", interrupts="emulated")}
    with monitor_console.start("console-polled-guest", "qemu", vms, 1, "console=com1,irq=4", extra=SEVEN, exits=False) as running:
        running.expect(POLLED)
        running.expect(r"^behave: ticks=")
        console = monitor_console.Console(running)
        console.call()
        console.end()
        running.wait()
    run = tiny.run("console-polled-tiny", "qemu", [tiny.Guest("hypercall", "qemu")], 1, cmdline="console=com1,irq=4", extra=SEVEN)
    assert tiny.judge(tiny.Guest("hypercall", "qemu"), run.text) == [], run.text[-4000:]
