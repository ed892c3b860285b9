# SPDX-License-Identifier: GPL-2.0-only
"""Errors of the machine, which QEMU's monitor puts into the CPUs' banks. TCG's machine checks never leave a guest (the intercept
is not looked at): they come to a CPU that has none.

Lost pages that nobody is given again, free ones and a VM's; corrected errors, with `corrected=minute` (full tier) of CPUs
that sleep or never leave their guest; those that end the node. All of it on CPUs without a guest: TCG delivers a machine
check to the guest, whatever is intercepted. One comes while the APIC of a CPU is emptied that was a guest's; gdb, on
QEMU, stops the CPU there.

A guest's is shown on `nested-svm` and `nested-vtx` (full tier), by the monitor of the QEMU in it, on the node's
serial line: that VM ends, the node goes on; on `nested-svm` also with `on_mce = inject`: its #MC says which of its
pages it was (a tiny guest; Linux' `memory_failure()` was not tried). On `nested-vtx` the neighbour has a timer: a
node all of whose CPUs slept heard nothing of its serial line any more, with and without an error, most likely by
Bochs' virtual NMIs (docs/testing.md).

Of firmware's tables (HEST): two blocks, in the memory of a PCI function, after an NMI: a corrected error, and one
whose page is given to nobody again; test_hest.c has the table, blocks of errors by each kind of section that is told,
broken ones; which page is lost. NMIs without a sign, by QEMU's `nmi`, after kicks, which are none; those of the
platform with one: test_nmi.c.
"""

import os
import re
import struct
import types

import gdb_client
import margay_run
import node
import pytest
import qemu_monitor
import tiny
from monitor_console import Console, start, vm

BANK = 9
VAL, OVER, UC, EN, MISCV, ADDRV, PCC, S, AR = (1 << n for n in (63, 62, 61, 60, 59, 58, 57, 56, 55))
CORRECTED = VAL | EN | MISCV | ADDRV | 0x9f
LOST = CORRECTED | UC | S
RIPV, EIPV, MCIP = 1, 2, 4
PAGE_OF = 0x80 | 12  # a physical address, of which a page is told
IDLE = 2
FREE = 200 << 20  # of a node's 256 MiB: no image, no VM
UP = r"behave: ticks=\d+"


def inject(folder, cpu, status, address, mcg_status=RIPV | MCIP):
    answer = qemu_monitor.Monitor(folder).ask("mce %d %d %#x %#x %#x %#x" % (cpu, BANK, status, mcg_status, address, PAGE_OF))
    assert "rror" not in answer, answer


def node_of(name, folder, cmdline=""):
    vms = {"a.conf": vm("a", "tick", cpus="0-0"), "b.conf": vm("b", "part", cpus="1-1")}
    return start("mce-" + name, "qemu", vms, 3, cmdline, extra=qemu_monitor.arguments(folder))


def told(what, status, address, cpu=IDLE):
    return r"^margay: machine check: CPU %d, bank %d: %s: status %#x address %#x misc 0x8c\r?$" % (
        cpu, BANK, what, status, address)


def place(running, name="b"):
    """Where a VM has its memory: in one piece."""
    pieces = re.findall(r"^%s: memory: 32M on node 0: 0 is at (0x[0-9a-f]+)\r?$" % name, running.text, re.M)
    return int(pieces[-1], 16)


def test_lost_memory(tmp_path):
    """It is told, nothing ends, and nobody is given that page again: free, and a VM's that goes on until it is stopped."""
    with node_of("lost", tmp_path) as running:
        running.expect(UP)
        console = Console(running)
        console.call()
        assert not [line for line in console.answer("node") if line.startswith("machine checks")]
        pages = []
        for n in range(2):
            if not n:
                assert console.answer("vm stop b") == ["b: stops"]
                console.settle("b")
            # Not at an edge: what is left must be found on both sides.
            pages.append(place(running) + (9 << 20))
            inject(tmp_path, IDLE, LOST, pages[n] + 0x123)
            running.expect(told("memory is lost that nobody has used since", LOST, pages[n] + 0x123))
            # Two CPUs say the two, in any order.
            lines = [r"margay: memory: the page at %#x is given to nobody any more" % pages[n]]
            lines += [r"b: memory at GPA 0x900000 is lost: the guest has it no longer"] * n
            for _ in lines:
                running.expect(r"^(%s)\r?$" % "|".join(lines))
            assert all(re.search("^%s\r?$" % line, running.text, re.M) for line in lines)
            if n:
                assert console.state("b") == "running"
                assert console.answer("vm stop b") == ["b: stops"]
                console.settle("b")
            console.answer("vm start b")
            while console.state("b") != "running":
                pass
            assert all(not place(running) <= page < place(running) + (32 << 20) for page in pages), (pages, place(running))
            # The same page twice is counted, and no news.
            inject(tmp_path, IDLE, LOST, pages[n])
            while "machine checks: 0 corrected, %d not" % (2 * n + 2) not in console.answer("node"):
                pass
        assert len(re.findall(r"^margay: machine check: ", running.text, re.M)) == 2
        assert running.text.count("is given to nobody any more") == 2
        assert console.state("a") == console.state("b") == "running"
        assert console.end().status == 0


def test_corrected(tmp_path):
    """No machine check tells of it: whoever's exits come by looks at the CPU's banks now and then."""
    with node_of("corrected", tmp_path) as running:
        running.expect(UP)
        assert "margay: machine checks: corrected errors are looked for where a CPU leaves its guest" in running.text
        inject(tmp_path, 0, CORRECTED, 0x5000, 0)
        running.expect(told("corrected", CORRECTED, 0x5000, 0), 60)
        console = Console(running)
        console.call()
        assert "machine checks: 1 corrected, 0 not" in console.answer("node")
        assert console.end().status == 0


@pytest.mark.full
def test_corrected_in_time(tmp_path):
    """With corrected=minute within a minute: a CPU that sleeps, and two whose guests never leave them, one with the local APIC."""
    vms = {"a.conf": vm("a", "hang", cpus="1-1", interrupts="direct", watchdog="no", topology="node"),
           "b.conf": vm("b", "hang", cpus="3-3", interrupts="emulated", watchdog="no")}
    with start("mce-in-time", "qemu", vms, 4, "corrected=minute", extra=qemu_monitor.arguments(tmp_path)) as running:
        running.expect(r"^margay: machine checks: corrected errors are looked for every 60 s; where a guest has the local APIC, "
                       r"every 60 s by NMI\r?$")
        running.expect(r"^a: interrupts: direct")
        running.expect(r"^(\[b\] )?behave: hangs at ")
        for cpu in 1, 2, 3:
            inject(tmp_path, cpu, CORRECTED, 0x5000 + 0x1000 * cpu, 0)
        for _ in range(3):
            running.expect(r"^margay: machine check: CPU \d, bank %d: corrected: " % BANK, 150)
        for cpu in 1, 2, 3:
            assert re.search(told("corrected", CORRECTED, 0x5000 + 0x1000 * cpu, cpu), running.text, re.M)
        assert "NMI of the platform" not in running.text


@pytest.mark.parametrize("on_mce", ["stop", "inject"])
def test_lost_page_of_a_guest(tmp_path, on_mce):
    """Told to a CPU that had nothing to do with it: the guest has the page no longer. Its next use of it is an exit, and no machine
    check: that ends the VM, or is told to the guest, in one line. It is the second VM: what the first one says, with the serial
    line its own, may be cut by the lines of the second one's start."""
    vms = {"a.conf": vm("a", "tick", cpus="0-0"),
           "b.conf": vm("b", "touch at=%d%s" % (9 << 20, " mce=1" if on_mce == "inject" else ""), cpus="1-1", on_mce=on_mce)}
    with start("mce-page-" + on_mce, "qemu", vms, 3, extra=qemu_monitor.arguments(tmp_path)) as running:
        running.expect(r"^\[b\] behave: touches 900000\r?$")
        running.expect(r"^behave: ticks=")
        page = place(running, "b") + (9 << 20)
        inject(tmp_path, IDLE, LOST, page)
        running.expect(told("memory is lost that nobody has used since", LOST, page))
        # Two CPUs say the first two, in any order.
        lines = ["b: memory at GPA 0x900000 is lost: the guest has it no longer"]
        if on_mce == "stop":
            lines += ["b: vcpu0: has used memory that the machine has lost: the machine checks before"]
            running.expect(r"^b: end=machine-check\r?$")
        else:
            lines += ["b: vcpu0: has used memory that the machine has lost, at GPA 0x900000: told by #MC"]
            running.expect(r"^\[b\] behave: machine check 7: status b400000000000134 address 900000 misc 0\r?$")
            running.expect(r"^\[b\] behave: goes on\r?$")
        for line in lines:
            if not re.search("^%s\r?$" % re.escape(line), running.text, re.M):
                running.expect("^%s\r?$" % re.escape(line))
        running.expect(r"^behave: ticks=")
        console = Console(running)
        console.call()
        # Nothing but the first error was the machine's.
        assert "machine checks: 0 corrected, 1 not" in console.answer("node")
        assert console.state("a") == "running"
        console.end()


def region_of(gdb, function):
    """Where the first access of mc_access.h in a function of the image begins."""
    at, end = gdb.number("(long)&__start_mc_table"), gdb.number("(long)&__stop_mc_table")
    for word in range(at, end, 12):
        begin = word + gdb.number("(long)*(int *)%#x" % word)
        begin &= (1 << 64) - 1
        if re.match(r"%s(\.\w+)* (\+ \d+ )?in section" % function, gdb.ask("info symbol %#x" % begin)):
            return begin
    raise AssertionError("no access in %s" % function)


def test_access_of_the_hypervisor(tmp_path):
    """It reads the code of a guest's, whose page is lost: the access fails, that VM is over, the other and the node go on. gdb
    holds the CPU there. At any other instruction the same error ends the node: test_fatal."""
    vms = {"a.conf": vm("a", "tick slow=1", cpus="1-1"), "b.conf": vm("b", "tick slow=1", cpus="2-2")}
    line = os.path.join(tmp_path, "gdb")
    extra = qemu_monitor.arguments(tmp_path) + ["-gdb", "unix:%s,server=on,wait=off" % line]
    with start("mce-access", "qemu", vms, 3, extra=extra) as running:
        for name in "ab":
            running.expect(r"^(\[%s\] )?behave: ticks=" % name)
        with gdb_client.Gdb(types.SimpleNamespace(address=line)) as gdb:
            gdb.ask("symbol-file " + os.path.join(node.BUILD, "margay.elf"))
            at = region_of(gdb, "emulate_fetch")
            gdb.ask("hbreak *%#x" % at)
            gdb.ask("continue")
            assert gdb.number("$rip") == at
            cpu = gdb.number("$_thread") - 1
            name, other = ("a", "b") if cpu == 1 else ("b", "a")
            page = place(running, name) + (9 << 20)
            inject(tmp_path, cpu, LOST | AR, page, RIPV | EIPV | MCIP)
            gdb.ask("delete")
            gdb.ask("detach")
        running.expect(told("memory is lost that was in use here", LOST | AR, page, cpu))
        running.expect(r"^%s: memory that the hypervisor uses for it is lost, at GPA 0x900000: the machine checks before\r?$" %
                       name)
        running.expect(r"^%s: end=machine-check\r?$" % name)
        running.expect(r"^(\[%s\] )?behave: ticks=" % other)
        console = Console(running)
        console.call()
        assert console.state(other) == "running"
        console.end()


@pytest.mark.parametrize("name, status, mcg_status", [
    ("pcc", LOST | PCC, RIPV | MCIP),           # the processor's state is lost
    ("used", LOST | AR, MCIP | 2),              # by the hypervisor
    ("nowhere", LOST | AR & ~ADDRV, MCIP | 2),  # and it does not say what
    ("interrupted", LOST, MCIP),                # what ran cannot go on
])
def test_fatal(tmp_path, name, status, mcg_status):
    with node_of(name, tmp_path) as running:
        running.expect(UP)
        inject(tmp_path, IDLE, status, 0x7000, mcg_status)
        running.expect(r"^margay: machine check: CPU %d, bank %d: .*: status %#x " % (IDLE, BANK, status))
        running.expect(r"^margay: machine check: CPU %d cannot go on: MCG_STATUS %#x\r?$" % (IDLE, mcg_status))
        running.expect("^margay: panic on CPU %d: #MC machine check " % IDLE)


NOBODYS = r"^margay: NMI of the platform on CPU %s: no device's, no sign at port 0x61: the BMC's, or a button's\?\r?$"


def nmi_until(running, folder, pattern):
    """One may be taken for a kick that met another one in the last seconds: try again, as the operator would."""
    monitor = qemu_monitor.Monitor(folder)
    for _ in range(20):
        monitor.ask("nmi")
        try:
            return running.expect(pattern, 3)
        except margay_run.NodeError:
            pass
    return running.expect(pattern)


def test_platform_nmi(tmp_path):
    """QEMU's `nmi` is a BMC's: by LINT1 to all CPUs, as the MADT says. The boot CPU's may be the console's; kicks never are."""
    with node_of("nmi", tmp_path) as running:
        running.expect(UP)
        console = Console(running)
        console.call()
        for _ in range(5):
            assert console.answer("vm stop b") == ["b: stops"]
            console.settle("b")
            console.answer("vm start b")
            while console.state("b") != "running":
                pass
        assert "NMI of the platform" not in running.text
        nmi_until(running, tmp_path, NOBODYS % "[12]")
        # Once in ten seconds, whoever has it.
        qemu_monitor.Monitor(tmp_path).ask("nmi")
        assert console.state("a") == console.state("b") == "running"
        assert running.text.count("NMI of the platform") == 1
        assert console.end().status == 0


@pytest.mark.parametrize("left", [0x200, 0x10000], ids=["smi", "masked"])
def test_thermal_sensor(tmp_path, left):
    """What the boot loader has put there, as firmware does it on the boot CPU alone, is on all CPUs, idle or a VM's."""
    vms = {"a.conf": vm("a", "tick", cpus="1-1")}
    with start("mce-thermal-%x" % left, "qemu", vms, 3, grub=["write_dword 0xfee00330 %#x" % left],
               extra=qemu_monitor.arguments(tmp_path)) as running:
        running.expect(UP)
        monitor = qemu_monitor.Monitor(tmp_path)
        for cpu in range(3):
            said = monitor.ask("info lapic %d" % cpu).replace("\r", "")
            assert re.search(r"^LVTTHMR\s+0x%08x " % left, said, re.M), said


def test_platform_nmi_panics(tmp_path):
    with node_of("nmi-panic", tmp_path, "nmi=panic") as running:
        running.expect(UP)
        nmi_until(running, tmp_path, NOBODYS % "\\d")
        running.expect(r"^margay: panic on CPU \d: nmi=panic")


MEMORY_SECTION = bytes.fromhex("1411bca5646fde4eb8633e83ed7c83b1")
WINDOW = 1 << 20


def hest(at):
    """A table with one generic source, whose block's address stands at `at`; the block is 4 KiB behind it (ACPI 6.4, 18.3.2.7)."""
    register = struct.pack("<BBBBQ", 0, 64, 0, 4, at)
    notification = bytes([4, 28]) + bytes(26)  # an NMI
    source = struct.pack("<HHHBBIII", 9, 1, 0xffff, 0, 1, 1, 1, 0x1000) + register + notification + struct.pack("<I", 0x1000)
    body = struct.pack("<I", 1) + source
    head = struct.pack("<4sIBB6s8sI4sI", b"HEST", 36 + len(body), 1, 0, b"MARGAY", b"TESTHEST", 1, b"TEST", 1)
    table = bytearray(head + body)
    table[9] = -sum(table) & 0xff
    return bytes(table)


def memory_error(address, severity=2):
    """A block with one error of a DIMM, corrected or, 0, recoverable (UEFI 2.9, N.2.5)."""
    detail = struct.pack("<QQQQHHH", 1 << 1 | 1 << 4 | 1 << 5, 0, address, ~0xfff & (1 << 64) - 1, 0, 2, 3).ljust(80, b"\0")
    section = MEMORY_SECTION + struct.pack("<IHBBI", severity, 0x300, 2, 0, len(detail)) + bytes(16)
    section += b"DIMM_B2".ljust(20, b"\0") + bytes(8)
    return struct.pack("<IIIII", 1 << 4 | (2 if severity else 1), 0, 0, len(section + detail), severity) + section + detail


def test_firmware_errors(tmp_path):
    """GHES: the firmware here is a file that is the memory of a PCI function; its NMI, QEMU's."""
    window = os.path.join(tmp_path, "firmware")
    at = 0xfe000000
    with open(window, "wb") as f:
        f.write(struct.pack("<Q", at + 0x1000).ljust(WINDOW, b"\0"))
    extra = qemu_monitor.arguments(tmp_path) + [
        "-object", "memory-backend-file,id=firmware,mem-path=%s,size=1M,share=on" % window,
        "-device", "ivshmem-plain,memdev=firmware,addr=9"]
    iso = node.margay_iso("mce-hest-qemu", {"a.conf": vm("a", "part", cpus="0-0")}, {"behave": tiny.elf("behave")}, check=False,
                          acpi=(hest(at),))
    with node.start("mce-hest", "qemu", iso, cpus=2, memory="512M", extra=extra, timeout=300) as running:
        running.expect(r"^margay: firmware's errors: 1 blocks in memory\r?$")
        monitor = qemu_monitor.Monitor(tmp_path)
        assert monitor.words(at, 1) == [at + 0x1000], monitor.ask("info pci")
        running.expect("^a: own memory: ")
        with open(window, "r+b") as f:
            f.seek(0x1000)
            f.write(memory_error(0x45c2d3000))
        del monitor
        nmi_until(running, tmp_path, r"^margay: firmware reports an error: memory, corrected: address 0x45c2d3000 card 2 module 3 "
                  r"part 'DIMM_B2'\r?$")
        # The block is the firmware's again, and explains the NMI.
        with open(window, "rb") as f:
            f.seek(0x1000)
            assert f.read(4) == bytes(4)
        assert "NMI of the platform" not in running.text
        with open(window, "r+b") as f:
            f.seek(0x1000)
            f.write(memory_error(FREE + 0x123, 0))
        nmi_until(running, tmp_path, r"^margay: firmware reports an error: memory, recoverable: address %#x card 2 module 3 "
                  r"part 'DIMM_B2'\r?$" % (FREE + 0x123))
        running.expect(r"^margay: memory: the page at %#x is given to nobody any more\r?$" % FREE)


def test_while_an_apic_is_emptied(tmp_path):
    """As a VM that owned its CPUs' local APICs ends, they are emptied of all vectors, 18 too, by an IDT that takes nothing for an
    exception: there a real one is told, and what is left does no harm. gdb holds the CPU at the first of these vectors."""
    direct = tiny.Guest("direct", "qemu")
    base = ("kernel = direct\ncpus = %d\nmemory = 32M\ndebug_exit = yes\ninterrupts = direct\ncmdline = %s direct=1\n" % (
        direct.cpus, direct.cmdline()))
    iso = node.margay_iso("mce-drain", {"a.conf": "name = a\n" + base,
                                        "b.conf": "name = b\nafter = a\non_end = poweroff_node\n" + base},
                          {"direct": tiny.elf("direct")})
    line = os.path.join(tmp_path, "gdb")
    extra = qemu_monitor.arguments(tmp_path) + ["-S", "-gdb", "unix:%s,server=on,wait=off" % line]
    with node.start("mce-drain", "qemu", iso, cpus=2, memory="256M", extra=extra) as running:
        # The machine waits for it.
        while not os.path.exists(line):
            assert running.poll() is None
        with gdb_client.Gdb(types.SimpleNamespace(address=line)) as gdb:
            gdb.ask("symbol-file " + os.path.join(node.BUILD, "margay.elf"))
            gdb.ask("hbreak *&apic_drop")
            assert "apic_drop" in gdb.ask("continue")
            cpu = gdb.number("$_thread") - 1
            inject(tmp_path, cpu, LOST, FREE)
            gdb.ask("delete")
            gdb.ask("detach")
        run = node.Run(running, running.wait())
    assert run.has_line(told("memory is lost that nobody has used since", LOST, FREE, cpu)[1:-1]), run.text[-4000:]
    assert not re.search("unexpected interrupt|tiny: failed|panic", run.text), run.text[-4000:]
    assert run.outcome.status == 0 and len(run.lines("^tiny: direct: ok ")) == 2


# Of the QEMU that is the node of a nested machine: its monitor shares the serial line with the node.
MONITOR = ["-set", "chardev.console.mux=on", "-mon", "console"]
PROMPT = r"\(qemu\) "
TO_AND_FRO = "\x01c"
# To an AMD CPU all that is uncorrected and comes as an exception has been used; Intel's says so (SDM vol. 3, table 16-7).
USED = {"nested-svm": (LOST, RIPV | MCIP), "nested-vtx": (LOST | AR, RIPV | EIPV | MCIP)}


def guest_node(name, machine, vms, **options):
    return start(name, machine, vms, 2, extra=MONITOR, timeout=1800 if machine == "nested-vtx" else 300, **options)


def expect_cut(running, line):
    """A line of the node's, in whose middle the monitor's prompt may stand: that comes as the node goes on already."""
    running.expect(("(?:%s)?" % PROMPT).join(map(re.escape, line)))


def inject_guest(running, machine):
    """An error of a page of a's, 9 MiB behind its beginning, that it has used."""
    page = place(running, "a") + (9 << 20)
    status, mcg_status = USED[machine]
    running.send(TO_AND_FRO)
    running.expect(PROMPT, prompt=True)
    running.send("mce 1 %d %#x %#x %#x %#x\r" % (BANK, status, mcg_status, page, PAGE_OF))
    expect_cut(running, "margay: machine check: CPU 1, bank %d: memory is lost that was in use here: status %#x address %#x" % (
        BANK, status, page))
    running.send(TO_AND_FRO)


@pytest.mark.full
@pytest.mark.slow
def test_guest_told():
    """on_mce = inject: the guest has a bank, its #MC says which of its pages is lost, and it goes on."""
    vms = {"a.conf": vm("a", "mce", cpus="1-1", on_mce="inject"), "b.conf": vm("b", "part", cpus="0-0")}
    with guest_node("mce-told", "nested-svm", vms) as running:
        running.expect(r"^(\[a\] )?behave: MCG_CAP 1\r?$")
        running.expect(r"^(\[a\] )?behave: waits\r?$")
        running.expect(r"^b: own memory: ")
        inject_guest(running, "nested-svm")
        expect_cut(running, "a: vcpu0: has used memory that the machine has lost, at GPA 0x900000: told by #MC\r\n")
        expect_cut(running, "behave: machine check 5: status b400000000000134 address 900000 misc 0\r\n")
        expect_cut(running, "behave: goes on\r\n")
        assert "end=" not in running.text


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("machine", USED)
def test_guest_mode(machine):
    """By KVM's own intercept: the error meets a CPU in its guest. That VM is over, its neighbour and the node go on."""
    # On nested-vtx a node that only waits hears nothing of its serial line.
    vms = {"a.conf": vm("a", "hang", machine, cpus="1-1"), "b.conf": vm("b", "tick", machine, cpus="0-0")}
    with guest_node("mce-guest", machine, vms) as running:
        running.expect(r"^(\[a\] )?behave: hangs at ")
        running.expect(r"^\[b\] behave: ticks=")
        inject_guest(running, machine)
        expect_cut(running, "a: end=machine-check\r\n")
        running.expect(r"^(\[b\] )?behave: ticks=")
        console = Console(running)
        console.call()
        assert "machine checks: 0 corrected, 1 not" in console.answer("node")
        assert console.state("b") == "running"
        console.end()
