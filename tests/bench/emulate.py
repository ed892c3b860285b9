# SPDX-License-Identifier: GPL-2.0-only
"""One run of QEMU for the benchmark, to its end."""

import itertools
import os
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
TRIES = {"native": 2, "margay": 2, "kvm": 6, "kvm-off": 6}


class Stuck(BenchError):
    """All CPUs have waited in the same few bytes for a minute and more, with interrupts off."""


def same(before, now):
    """Whether each CPU spins where it did."""
    return None not in (before, now) and all(abs(a - b) < qemu_lost.SPIN for a, b in zip(before, now))


def emulate(system, name, command, timeout, files):
    """
    Its exit status and what it said. files: what it writes, the first of them its log; an earlier run's go before. A run of
    which the emulator is to blame for its failure is tried again, and its files are kept with its number behind their names.
    """
    for number in itertools.count(1):
        try:
            return emulate_once(name, command, timeout, files)
        except (LostInterrupt, Stuck) as error:
            if number == TRIES[system] or isinstance(error, Stuck) and system in ("native", "margay"):
                raise
            print("bench: %s.%d; once more" % (error, number), flush=True)
            for path in filter(os.path.exists, files):
                os.replace(path, "%s.%d" % (path, number))


def emulate_once(name, command, timeout, files):
    for path in files:
        if os.path.exists(path):
            os.remove(path)
    give_up = time.monotonic() + timeout
    with tempfile.TemporaryDirectory() as directory:
        qmp = os.path.join(directory, "qmp")
        with subprocess.Popen(["setpriv", "--pdeathsig", "KILL"] + command + ["-qmp", "unix:%s,server=on,wait=off" % qmp],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as process:
            spun = None
            try:
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
                process.kill()
