# SPDX-License-Identifier: GPL-2.0-only
"""Counts exits on Bochs (VT-x) from outside: by its log, in which it names each VM exit and each event that an entry
injects, between the moments at which its debugger stops for the guest (STOP() of tests/bench/marker.h). At a stop
Margay's own counters are read out of the machine's memory: the guest executes, so both are of the same moment.
"""

import fcntl
import os
import re
import select
import subprocess
import tempfile
import time

import systems

EXIT = b"VMEXIT reason = "
# For an external interrupt, and for the window in which one can be injected (SDM vol. 3, appendix C).
EXTERNAL = re.compile(rb"VMEXIT reason = [17] \(")
# External interrupts: the vectors below are exceptions and NMIs.
INJECTED = re.compile(rb"VMENTER: Injecting vector 0x[2-9a-f][0-9a-f] ")
BAD_ENTRY = re.compile(rb"VMFAIL|VMABORT|VMENTER FAIL")
STOP, TIME = r"Magic breakpoint", r"ptime: (\d+)"  # of the debugger
TIMEOUT = 2400
# The direct map and the image's mapping: arch/x86_64/cpu/paging.h, arch/x86_64/link.lds.
DIRECT_MAP, IMAGE = 0xffff800000000000, 0xffffffff80000000
PIPE_BYTES = 1 << 20


def physical(address):
    if address >= IMAGE:
        return address - IMAGE
    if DIRECT_MAP <= address < DIRECT_MAP + (1 << 46):
        return address - DIRECT_MAP
    raise systems.BenchError("%#x is in no mapping of Margay's that bochs.py knows" % address)


class LogCounts:
    """What Bochs' log says, fed in any pieces."""

    def __init__(self):
        self.exits = self.external = self.injected = 0
        self.complaint = None  # a failed entry
        self._half = b""  # a line that has not ended

    def feed(self, data):
        lines, newline, self._half = (self._half + data).rpartition(b"\n")
        self.exits += lines.count(EXIT)
        self.external += len(EXTERNAL.findall(lines))
        self.injected += len(INJECTED.findall(lines))
        bad = BAD_ENTRY.search(lines)
        if bad and not self.complaint:
            self.complaint = lines[bad.start():].split(b"\n")[0].decode(errors="replace")


class Machine:
    """A running Bochs; stops() yields what was counted by each stop."""

    def __init__(self, name, iso, memory):
        self._directory = tempfile.TemporaryDirectory(prefix="margay-bench.")
        self.console = os.path.join(systems.BUILD, name + ".log")
        self._pipes = [self._pipe(path) for path in ("log", "debugger")]
        command = systems.margay_machines.bochs(iso, systems.margay_machines.Boot(), 1, memory, 0, [
            "com1: enabled=1, mode=file, dev=\"%s\"" % self.console, "debug: action=ignore, cpu0=report",
            "magic_break: enabled=1", "debugger_log: " + self._path("debugger"),
        ], self._directory.name, self._path("log"), False, debugger=True)
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL"] + command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=dict(os.environ, TERM="xterm"),
        )
        self._deadline = time.monotonic() + TIMEOUT
        self._said = ""  # by the debugger, since it was last asked
        self.counts = LogCounts()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in self._pipes:
            os.close(pipe)
        self._directory.cleanup()

    def _path(self, name):
        return os.path.join(self._directory.name, name)

    def _pipe(self, name):
        os.mkfifo(self._path(name))
        pipe = os.open(self._path(name), os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return pipe

    def _read(self):
        """Takes what the log and the debugger have said; False when there was nothing."""
        log, debugger = self._pipes
        select.select([log, debugger], [], [], 0.2)
        found = False
        # The debugger first: all that was logged before it stopped is then in the other pipe.
        for pipe in (debugger, log):
            while True:
                try:
                    data = os.read(pipe, PIPE_BYTES)
                except BlockingIOError:
                    break
                if not data:
                    break
                found = True
                if pipe == debugger:
                    self._said += data.decode("ascii", errors="replace")
                else:
                    self.counts.feed(data)
        return found

    def _until(self, text):
        """Reads until the debugger has said this; False when Bochs has ended instead."""
        while not re.search(text, self._said):
            ended = self.process.poll() is not None
            if not self._read() and ended:
                return False
            if time.monotonic() > self._deadline:
                raise systems.BenchError("Bochs has not ended after %d seconds: %s" % (TIMEOUT, self.console))
        return True

    def _write(self, commands):
        self._said = ""
        self.process.stdin.write(commands.encode())
        self.process.stdin.flush()

    def _memory(self, address, count=1):
        """64-bit words of Margay's memory. The time behind them says that there are no more."""
        self._write("xp /%dgx %#x\nptime\n" % (count, physical(address)))
        words = [int(word, 16) for word in re.findall(r"\t0x([0-9a-fA-F]{8,16})\b", self._said)] if self._until(TIME) else []
        if len(words) != count:
            raise systems.BenchError("Bochs' debugger shows %d words of %d at %#x: %s" % (
                len(words), count, address, self._said[-300:]))
        return words

    def telemetry(self):
        """Margay's counts of the first VM's vCPU 0: (exits, interrupts injected); None before there is one."""
        pointer, to_vcpus, to_stats, size, count, injected = (int(n, 0) for n in systems.telemetry_place().split(":"))
        [vm] = self._memory(pointer)
        [vcpus] = self._memory(vm + to_vcpus)
        [vcpu] = self._memory(vcpus)
        words = self._memory(vcpu + to_stats, size // 8 * count)
        return sum(words[::size // 8]), self._memory(vcpu + to_stats + injected)[0]

    def stops(self):
        """At each stop: {ticks, exits and injected by the log, telemetry and told by Margay}; to the end of Bochs."""
        while self._until(STOP):
            exits, injected = self.counts.exits, self.counts.injected
            telemetry, told = self.telemetry()
            ticks = int(re.search(TIME, self._said)[1])
            if (exits, injected) != (self.counts.exits, self.counts.injected):
                raise systems.BenchError("Bochs' log went on while its debugger had stopped it")
            yield dict(ticks=ticks, exits=exits, injected=injected, telemetry=telemetry, told=told)
            self._write("c\n")


def measure(name, initrd, cmdline, interrupts):
    """
    One VM of Debian's kernel with `interrupts =` that, to its end: (what was counted at each stop, LogCounts of the whole run, the
    console's text).
    """
    node = systems.node
    iso = node.margay_iso("bench-" + name, {"vm0.conf": node.vm_text("bochs", cmdline, interrupts=interrupts)},
                          {"kernel": node.guest_file("vmlinux"), "initrd": initrd})
    with Machine(name, iso, node.NODE_MEMORY) as machine:
        found = list(machine.stops())
        with open(machine.console, encoding="utf-8", errors="replace") as f:
            text = systems.margay_run.Lines().take(f.read().replace("\r", ""), True)
        complaint = machine.counts.complaint or (None if "margay-test: done" in text else "no 'margay-test: done'")
        if complaint:
            raise systems.BenchError("%s: %s: %s" % (name, complaint, machine.console))
        return found, machine.counts, text
