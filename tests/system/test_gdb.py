# SPDX-License-Identifier: GPL-2.0-only
"""gdb debugs a stock Linux guest over the node's second serial port.

Debian's gdb debugs a Linux guest over the second serial port, on an image with `CONFIG_GDB`: registers beside the
monitor's, steps beside the disassembly, breakpoints, a watchpoint, Ctrl-C, detach, garbage; a tiny guest on both
emulators: steps, both kinds of breakpoints, kill. The same with `interrupts = direct`, and there a guest that sleeps
in HLT with interrupts off. Linux on Bochs, 5 minutes, is in the full tier; its port gets the line a byte at a time.

`test_gdb_stub.c` has what a step does with exceptions, TF and the guest's own debug registers, over a recording
backend. QEMU's VMRUN arms no breakpoint by DR7 (the host's MOV to DR7 does it there, too), and its INT3 exits as INT
n.
"""

import os
import re
import select
import socket
import threading
import time

import gdb_client
import margay_run
import node
import pytest
import tiny
from monitor_console import ESCAPE, Console, vm
import tiers

STEPS = 24
PREFIX = re.compile(r"^((notrack|bnd|repz|repnz|rep|lock|cs|ds|data16) +)+")


class Direct:
    """QEMU's second serial port, where QEMU waits for gdb at a socket."""

    def __init__(self, directory):
        self.address = os.path.join(directory, "line")
        self.arguments = ["-serial", "unix:%s,server=on,wait=off" % self.address]

    def connect(self):
        line = socket.socket(socket.AF_UNIX)
        line.connect(self.address)
        return line


class Slow:
    """
    Between gdb and Bochs, which connects its port once, as a client, and loses what comes faster than its UART:
    a byte at a time, as Node.send() does.
    """

    def __init__(self):
        self._bochs, self._gdb = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
        self.address = "127.0.0.1:%d" % self._gdb.getsockname()[1]
        self.arguments = ["com2: enabled=1, mode=socket-client, dev=127.0.0.1:%d" % self._bochs.getsockname()[1]]
        threading.Thread(target=self._run, daemon=True).start()

    def connect(self):
        return socket.create_connection(self._gdb.getsockname())

    def _run(self):
        machine, client = self._bochs.accept()[0], None
        while True:
            ready = select.select([machine, client or self._gdb], [], [])[0]
            if not client and self._gdb in ready:
                client = self._gdb.accept()[0]
            try:
                if machine in ready:
                    data = machine.recv(4096)
                    if not data:
                        return
                    if client:  # what is for nobody is lost
                        client.sendall(data)
                elif client in ready:
                    machine.sendall(client.recv(1) or self._hang_up())
                    time.sleep(0.005)
            except OSError:
                client = None

    @staticmethod
    def _hang_up():
        raise OSError


def runs_again(running, name):
    """The monitor says that a VM that gdb had stopped runs, where the guest itself gives no sign."""
    console = Console(running)
    console.call()
    while console.state(name) != "running":
        pass
    running.send(ESCAPE)


def second_port(machine, directory):
    return Slow() if machine == "bochs" else Direct(directory)


def start(name, machine, cpus, line, interrupts):
    elf = node.variant("gdb", "GDB=y")
    vm_file = node.vm_text(machine, "quiet", name="vm0", cpus=cpus, interrupts=interrupts)
    iso = node.margay_iso(
        "%s-%s" % (name, machine), {"vm0.conf": vm_file},
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")},
        cmdline="gdb=com2,vm0", elf=elf)
    return node.start(name, machine, iso, cpus=cpus, extra=line.arguments)


def shell(running, command, pattern):
    """Runs a command in the guest's shell; the match in what it says."""
    running.send(command + "\n")
    return running.expect(pattern, node.TIMEOUT[running.machine])


def check_registers(running, gdb):
    """The monitor says the same of the stopped vCPU."""
    console = Console(running)
    console.call()
    text = "\n".join(console.answer("regs vm0 0", until="^exit -1:"))
    assert console.state("vm0") == "paused"
    running.send(ESCAPE)
    text = text.split("\nexit -")[0]
    ours = dict(re.findall(r"\b(r[a-z0-9]+|cr[0234]|efer|cs|ss) +([0-9a-f]+)\b", text))
    assert len(ours) >= 16 + 2 + 5 + 2, text
    gdb.ask("thread 1")
    for name, value in ours.items():
        assert gdb.number("$" + {"rflags": "eflags"}.get(name, name)) == int(value, 16), (name, text)


def check_steps(gdb):
    """RIP moves as the disassembly says: to the next instruction, or where a jump or call goes. Returns what was taken."""
    taken = []
    for _ in range(STEPS):
        first, second = re.findall(r"^(?:=> | +)(0x[0-9a-f]+)[^:]*:\t(.*)$", gdb.ask("x/2i $pc"), re.MULTILINE)
        gdb.ask("stepi")
        now, text = gdb.number("$pc"), PREFIX.sub("", first[1])
        targets = [int(x, 16) for x in re.findall(r"\b0x[0-9a-f]{6,16}\b", text)] if re.match("j|call", text) else []
        if re.match(r"jmp|call", text) and targets:
            assert now == targets[0], (first, hex(now))
        elif not re.match(r"ret|iret|sysret|jmp|call|syscall|int", text):
            assert now in [int(second[0], 16)] + targets, (first, hex(now))
        taken.append(text.split()[0])
    return taken


def check_breakpoints(gdb, entry):
    """At the syscall entry: by a debug register, then by INT3, which memory does not show."""
    before = gdb.ask("x/8xb %#x" % entry)
    for command in ("hbreak", "break"):
        gdb.ask("%s *%#x" % (command, entry))
        for _ in range(3):
            assert "Breakpoint" in gdb.ask("continue")
            assert gdb.number("$pc") == entry
            assert gdb.number("$cs") & 3 == 0 and gdb.number("$rcx") >> 47 == 0  # user space's RIP
        taken = check_steps(gdb)
        # A kernel with indirect branch tracking begins with ENDBR64.
        assert "swapgs" in taken[:2] and len(set(taken)) > 3, taken
        assert gdb.ask("x/8xb %#x" % entry) == before
        gdb.ask("delete")


def check_user_step(gdb, entry):
    """A step over SYSCALL in user space ends at the kernel's entry."""
    gdb.ask("hbreak *%#x" % entry)
    gdb.ask("continue")
    at = gdb.number("$rcx") - 2
    assert "syscall" in gdb.ask("x/i %#x" % at)
    gdb.ask("delete")
    gdb.ask("hbreak *%#x" % at)
    gdb.ask("continue")
    assert gdb.number("$pc") == at and gdb.number("$cs") & 3 == 3
    gdb.ask("delete")
    flags = gdb.number("$eflags")
    gdb.ask("stepi")
    assert gdb.number("$pc") == entry and gdb.number("$rcx") == at + 2
    assert gdb.number("$r11") == flags & ~0x10000  # no TF of ours, RF clear


def debug(machine, cpus, directory, interrupts="auto"):
    line = second_port(machine, directory)
    with start("gdb-" + interrupts, machine, cpus, line, interrupts) as running:
        running.expect("guest# ", prompt=True)
        with line.connect() as garbage:
            garbage.sendall(b"\x03garbage $?#00 }}\xff\x00 $vCont;c#a8 $m0,zz#12")
        banner, text = shell(running, "grep ' linux_banner$' /proc/kallsyms; cat /proc/version",
                             r"^(\w{16}) \w linux_banner\r\n(Linux version [^\r]*)\r").groups()
        jiffies = shell(running, "grep ' jiffies$' /proc/kallsyms", r"^(\w{16}) \w jiffies\r")[1]
        running.send("while :; do sleep 0.1; done &\n")
        with gdb_client.Gdb(line) as gdb:
            assert "in ??" in gdb.greeting, gdb.greeting
            assert len(re.findall(r"Thread \d", gdb.ask("info threads"))) == cpus
            check_registers(running, gdb)
            entry = gdb.number("$lstar")
            check_breakpoints(gdb, entry)
            assert text[:60] in gdb.ask("x/s 0x" + banner)
            ticks = gdb.number("*(unsigned long *)0x" + jiffies)
            gdb.ask("watch *(unsigned long *)0x" + jiffies)
            gdb.ask("continue")
            assert gdb.number("*(unsigned long *)0x" + jiffies) > ticks
            gdb.ask("delete")
            check_user_step(gdb, entry)
            gdb.ask("set var $rbx = $rbx + 1")
            gdb.ask("set var $rbx = $rbx - 1")
            assert "SIGINT" in gdb.ask("continue", runs=lambda: shell(running, "echo runs-$((6*7))", "^runs-42\r"))
            assert "Cannot access memory" in gdb.ask("x/x 0x00f0000000000000")
            assert "detached" in gdb.ask("detach")
        shell(running, "echo alive-$((6*7))", "^alive-42\r")
        shell(running, "dmesg | grep -cE 'BUG:|Oops|soft lockup|stalls? on|traps:'", "^0\r")
        # A second gdb, which goes without a word; the next one finds the VM stopped, and lets it go.
        with gdb_client.Gdb(line) as gdb:
            gdb.ask("hbreak *%#x" % entry)
            gdb.ask("continue")
        with gdb_client.Gdb(line) as gdb:
            assert "in ??" in gdb.greeting
            assert "detached" in gdb.ask("detach")
        shell(running, "echo alive-$((6*7))", "^alive-42\r")
        running.send("poweroff\n")
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.outcome.text
    node.check_direct(run)
    mode = "direct" if interrupts == "direct" else "emulated: gdb cannot step its CPUs without interrupts"
    assert run.has_line("vm0: interrupts: " + mode)


@pytest.mark.parametrize("interrupts", [tiers.full("auto"), "direct"])
def test_debug(interrupts, tmp_path):
    """The same where the CPUs' local APICs are the guest's, and the kicks of Ctrl-C NMIs."""
    debug("qemu", 2, tmp_path, interrupts)


@pytest.mark.full
def test_debug_on_vtx(tmp_path):
    debug("bochs", 1, tmp_path)


DIRECT = {"interrupts": "direct", "topology": "node", "allow_smt_sharing": "no"}


def start_tiny(name, machine, mode, interrupts, line):
    keys = DIRECT if interrupts == "direct" else {}
    name = "gdb-%s-%s" % (name, interrupts)
    iso = node.margay_iso("%s-%s" % (name, machine), {"a.conf": vm("a", mode, machine, **keys)}, {"behave": tiny.elf("behave")},
                          "gdb=com2,a", check=False, elf=node.variant("gdb", "GDB=y"))
    return node.start(name, machine, iso, memory="512M", extra=line.arguments)


def check_end(running, interrupts):
    """Killed, in the mode that was asked for."""
    running.expect("^a: end=stopped")
    assert bool(re.search(r"^a: interrupts: direct\r?$", running.text, re.MULTILINE)) == (interrupts == "direct")
    counts = re.findall(r"^a: vcpu0: exits=.*$", running.text, re.MULTILINE)
    assert len(counts) == 1 and (interrupts != "direct" or not node.INTERRUPT_EXIT.search(counts[0])), counts


@pytest.mark.parametrize("machine, interrupts", [
    ("qemu", "direct"), ("bochs", "emulated"), tiers.full("qemu", "emulated"), tiers.full("bochs", "direct")])
def test_tiny_guest(machine, interrupts, tmp_path):
    """A guest that loops with interrupts off: an instruction that jumps to itself, by both kinds of breakpoints and by steps."""
    line = second_port(machine, tmp_path)
    with start_tiny("tiny", machine, "hang", interrupts, line) as running:
        at = int(running.expect(r"^behave: hangs at (\w+) in ")[1], 16)
        with gdb_client.Gdb(line) as gdb:
            assert gdb.number("$pc") == at and gdb.number("$rax") == 0x1122334455667788 and not gdb.number("$eflags") & 0x200
            assert re.search(r"jmp +%#x" % at, gdb.ask("x/i $pc")), gdb.ask("x/i $pc")
            for _ in range(3):
                gdb.ask("stepi")
                assert gdb.number("$pc") == at and not gdb.number("$eflags") & 0x100
            for command in ("hbreak", "break"):
                gdb.ask("%s *%#x" % (command, at))
                for _ in range(2):
                    assert "Breakpoint" in gdb.ask("continue")
                    assert gdb.number("$pc") == at
                gdb.ask("delete")
            gdb.ask("set var *(unsigned char *)($pc + 1) = 0")  # jmp to the next instruction
            gdb.ask("stepi")
            assert gdb.number("$pc") == at + 2
            gdb.ask("set var *(unsigned char *)%#x = 0xfe" % (at + 1))
            gdb.ask("set var $pc = %#x" % at)
            assert "SIGINT" in gdb.ask("continue", runs=lambda: runs_again(running, "a"))
            gdb.ask("kill")
        check_end(running, interrupts)


@pytest.mark.parametrize("machine", ["qemu", tiers.full("bochs")])
def test_sleeping_guest(machine, tmp_path):
    """HLT without an exit, interrupts off: Ctrl-C ends it for gdb, which finds the CPU there, and lets it sleep on."""
    line = second_port(machine, tmp_path)
    with start_tiny("sleeps", machine, "part", "direct", line) as running:
        running.expect("an unfinished line", prompt=True)
        with gdb_client.Gdb(line) as gdb:
            for _ in range(3):
                # RIP is behind it; the guest's loop comes back.
                assert "hlt" in gdb.ask("x/i $pc-1")
                assert "SIGINT" in gdb.ask("continue", runs=lambda: runs_again(running, "a"))
            gdb.ask("kill")
        check_end(running, "direct")
