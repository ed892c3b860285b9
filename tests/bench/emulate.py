# SPDX-License-Identifier: GPL-2.0-only
"""One run of QEMU for the benchmark, to its end."""

import itertools
import os
import socket
import subprocess
import tempfile
import time

import qemu_lost

LOOK = 60  # seconds after which a QEMU is asked whether it stands still, again and again


class BenchError(Exception):
    """A run that did not do what was to be measured; the text says what and where its log is."""


class LostInterrupt(BenchError):
    """QEMU lost an interrupt: docs/testing.md."""


# How often a run may be tried where it is the emulator that fails: KVM's guests on QEMU 10 stop for good in every other run.
TRIES = {"native": 2, "margay": 2, "direct": 2, "kvm": 6, "kvm-off": 6}


class Stuck(BenchError):
    """All CPUs have waited in the same few bytes for a minute and more, with interrupts off."""


def same(before, now):
    """Whether each CPU spins where it did."""
    return None not in (before, now) and all(abs(a - b) < qemu_lost.SPIN for a, b in zip(before, now))


def emulate(system, name, command, timeout, files, alone=()):
    """
    Its exit status and what it said. files: what it writes, the first of them its log; an earlier run's go before. A run of
    which the emulator is to blame for its failure is tried again, and its files are kept with its number behind their names.
    alone: functions in whose pages QEMU translates instructions one by one (Alone).
    """
    for number in itertools.count(1):
        try:
            return emulate_once(name, command, timeout, files, alone)
        except (LostInterrupt, Stuck) as error:
            if number == TRIES[system] or isinstance(error, Stuck) and "kvm" not in system:
                raise
            print("bench: %s.%d; once more" % (error, number), flush=True)
            for path in filter(os.path.exists, files):
                os.replace(path, "%s.%d" % (path, number))


class Alone:
    """
    Breakpoints of QEMU's gdb stub, one byte before each function, where nothing is executed: none is ever met, but QEMU
    translates what lies in a page with a breakpoint one instruction at a time. Under -icount it ends ("Bad icount read") where
    the clock is asked for by an instruction that is not the last of a translated block; RDMSR is not made one, and of the x2APIC's
    MSRs the timer's current count asks (seen in QEMU 10.0.2, which ended so in Linux' calibration of the timer).
    """

    def __init__(self, directory, addresses):
        self._path, self._addresses, self._stub = os.path.join(directory, "gdb"), addresses, None
        self.arguments = ["-S", "-gdb", "unix:%s,server=on,wait=off" % self._path] if addresses else []

    def _ask(self, packet, answer):
        self._stub.sendall(b"$%s#%02x" % (packet, sum(packet) % 256))
        said = b""
        while answer not in said:
            got = self._stub.recv(4096)
            if not got:
                raise BenchError("QEMU's gdb stub: %s: %s" % (packet.decode(), said.decode(errors="replace")))
            said += got

    def start(self):
        """Lets QEMU go, which stays connected: breakpoints last no longer."""
        if not self._addresses:
            return
        give_up = time.monotonic() + LOOK
        self._stub = socket.socket(socket.AF_UNIX)
        self._stub.settimeout(LOOK)
        while self._stub.connect_ex(self._path):
            if time.monotonic() > give_up:
                raise BenchError("QEMU's gdb stub does not answer")
            time.sleep(0.05)
        for address in self._addresses:
            if address % 4096 == 0:
                raise BenchError("the function at %#x begins a page: no place for a breakpoint before it" % address)
            self._ask(b"Z0,%x,1" % (address - 1), b"$OK#")
        self._ask(b"c", b"+")

    def close(self):
        if self._stub:
            self._stub.close()


def emulate_once(name, command, timeout, files, alone=()):
    for path in files:
        if os.path.exists(path):
            os.remove(path)
    give_up = time.monotonic() + timeout
    with tempfile.TemporaryDirectory() as directory:
        qmp, stub = os.path.join(directory, "qmp"), Alone(directory, alone)
        command = ["setpriv", "--pdeathsig", "KILL", *command, "-qmp", "unix:%s,server=on,wait=off" % qmp, *stub.arguments]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as process:
            spun = None
            try:
                stub.start()
                while True:
                    try:
                        said = process.communicate(timeout=min(LOOK, max(1, give_up - time.monotonic())))[1]
                        return process.returncode, said
                    except subprocess.TimeoutExpired:
                        # Costs QEMU's CPUs no instruction.
                        before, (lost, spun) = spun, qemu_lost.look(qmp)
                        if lost:
                            raise LostInterrupt("%s: %s: %s" % (name, lost, files[0])) from None
                        if same(before, spun):
                            where = ", ".join("%#x" % rip for rip in spun)
                            raise Stuck("%s: spins with interrupts off at %s: %s" % (name, where, files[0])) from None
                        if time.monotonic() > give_up:
                            raise BenchError("%s: not ended after %d seconds: %s" % (name, timeout, files[0])) from None
            finally:
                stub.close()
                process.kill()
