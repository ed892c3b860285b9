# SPDX-License-Identifier: GPL-2.0-only
"""Asks a QEMU whose machine has stood still whether it is QEMU that has lost an interrupt.

QEMU 10.0's SVM changes a CPU's word of requests at each #VMEXIT without the lock under which the timer's thread sets
bits in it (target/i386/tcg/system/svm_helper.c; atomic since 10.2), and at times undoes what that thread has just set. The
local APIC then has a vector that the CPU never hears of: docs/testing.md.
"""

import json
import re
import socket
import time

SAMPLES = 10
BETWEEN = 0.3  # seconds


class Monitor:
    """QEMU's machine protocol at a UNIX socket. Raises OSError if nobody answers, in which case nothing is known."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(10)
        self._socket.connect(path)
        self._lines = self._socket.makefile("rw")
        self._lines.readline()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self._lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._lines.flush()
        while True:
            answer = json.loads(self._lines.readline() or "{}")
            if "event" not in answer:
                return answer["return"] if "return" in answer else {}

    def human(self, cpu, command):
        return self.ask("human-monitor-command", **{"command-line": command, "cpu-index": cpu})

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._lines.close()
        self._socket.close()


def waiting(lapic):
    """The highest vector that the CPU should take, by `info lapic`, or None."""
    if "APIC enabled" not in lapic:
        return None
    irr = re.search(r"^IRR\s+(\d[\d ]*)", lapic, re.MULTILINE)
    ppr = re.search(r"PPR 0x([0-9a-f]+)", lapic)
    vectors = [int(v) for v in irr[1].split()] if irr and ppr else []
    return max((v for v in vectors if v >> 4 > int(ppr[1], 16) >> 4), default=None)


def interrupts_on(registers):
    """RFLAGS.IF, by `info registers`."""
    return bool(int(re.search(r"RFL=([0-9a-f]+)", registers)[1], 16) & 0x200)


def judge(samples):
    """
    [(vector that waits or None, interrupts on?)] of one CPU: the vector that it never takes. A guest of Margay keeps no interrupt
    of the machine from the CPU. A hypervisor that hung would have interrupts off, but for moments.
    """
    vectors = {vector for vector, _ in samples}
    return vectors.pop() if len(vectors) == 1 and 2 * sum(on for _, on in samples) > len(samples) else None


def lost_interrupt(path):
    """What QEMU has lost, as text, or None. path: of its socket."""
    try:
        with Monitor(path) as monitor:
            cpus = [cpu["cpu-index"] for cpu in monitor.ask("query-cpus-fast")]
            seen = {cpu: [] for cpu in cpus}
            for number in range(SAMPLES):
                time.sleep(BETWEEN if number else 0)
                for cpu in cpus:
                    on = interrupts_on(monitor.human(cpu, "info registers"))
                    seen[cpu].append((waiting(monitor.human(cpu, "info lapic")), on))
    except (OSError, ValueError, TypeError):
        return None
    for cpu in cpus:
        vector = judge(seen[cpu])
        if vector is not None:
            return "QEMU has lost an interrupt: CPU %d does not take vector %d from its local APIC" % (cpu, vector)
    return None
