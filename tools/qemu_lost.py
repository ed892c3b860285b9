# SPDX-License-Identifier: GPL-2.0-only
"""Asks a QEMU whose machine has stood still whether it is QEMU that has lost an interrupt, or where its CPUs spin.

QEMU 10.0's SVM changes a CPU's word of requests at each #VMEXIT without the lock under which the timer's thread sets
bits in it, and at times undoes what that thread has just set. The local APIC then has a vector that the CPU never hears of:
docs/testing.md. What QEMU's monitor does not say of the CPU is read from its memory, by gdb.

Also the messages with which QEMU is known to end by itself.
"""

import json
import re
import socket
import struct
import subprocess
import time

SAMPLES = 10
BETWEEN = 0.3  # seconds
SPIN = 32  # bytes: no longer is a loop that waits
# A vector that a line of the I/O APIC holds is followed by "(level)".
LAPIC = re.compile(r"^SPIV.* APIC (enabled|disabled),.*^IRR\s+(\(none\)|(?:\d+(?:\(level\))? *)+)\s*$.* PPR 0x([0-9a-f]+)",
                   re.MULTILINE | re.DOTALL)
# CPUState.interrupt_request: what the CPU has been told; of env.hflags2: interrupts by GIF, and by the host's RFLAGS.IF in a guest.
REQUEST_HARD, REQUEST_POLL = 0x2, 0x10
HF2_GIF, HF2_HIF, HF2_VINTR = 0x1, 0x2, 0x8
# Where they are, from the CPUState on, as the code of two of QEMU's functions says: `and %ebx,0xd0(%rbp)`; `mov 0x2c74(%rax),%ecx`
# before the first test of GIF.
# A third says how the CPUs are found: gdb does not call it, since some kernels do not let it set the registers for that.
GDB = ["set confirm off", "set language c", "x/24i cpu_reset_interrupt", "x/24i x86_cpu_pending_interrupt",
       "x/12i qemu_get_cpu", "detach"]
REQUEST_AT = re.compile(r"cpu_reset_interrupt.*\band +%e\w+,0x([0-9a-f]+)\(")
HFLAGS2_AT = re.compile(r"mov +0x([0-9a-f]+)\(%\w+\),%e(\w)x\n.*test +\$0x1,%\2l\b")
FIRST_AT = re.compile(r"qemu_get_cpu>:\s+mov +0x[0-9a-f]+\(%rip\),%rax +# 0x([0-9a-f]+) <cpus_queue>")
NEXT_AT = re.compile(r"qemu_get_cpu\+\d+>:\s+mov +0x([0-9a-f]+)\(%rax\),%rax")
INDEX_AT = re.compile(r"qemu_get_cpu\+\d+>:\s+cmp +%edi,0x([0-9a-f]+)\(%rax\)")

# With these QEMU ends because of errors of its own, whatever runs in it (docs/testing.md says which). What is not in this
# list fails at once.
KNOWN = [
    r"target/i386/tcg/.*access\.c:59:",
    r"target/i386/tcg/.*translate\.c:553:",
    r"qemu: fatal: invalid tss",
    r"system/physmem\.c:\d+: iotlb_to_section: Assertion `section_index < d->map\.sections_nb' failed",
]


class Monitor:
    """QEMU's machine protocol at a UNIX socket. Raises OSError if nobody answers, ValueError for what is no answer."""

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
                if "return" not in answer:
                    raise ValueError("QEMU: %s: %s" % (command, answer))
                return answer["return"]

    def human(self, cpu, command):
        return self.ask("human-monitor-command", **{"command-line": command, "cpu-index": cpu})

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._lines.close()
        self._socket.close()


def waiting(lapic):
    """The highest vector that the CPU should take, by `info lapic`, or None. ValueError: not understood."""
    found = LAPIC.search(lapic)
    if not found:
        raise ValueError("info lapic: " + lapic)
    state, irr, ppr = found.groups()
    vectors = [int(v) for v in re.findall(r"\d+", irr)] if state == "enabled" else []
    return max((v for v in vectors if v >> 4 > int(ppr, 16) >> 4), default=None)


def rip_and_interrupts(registers):
    """RIP, and whether RFLAGS.IF is set, by `info registers`. ValueError: not understood."""
    found = re.search(r"[RE]IP=([0-9a-f]+) [RE]FL=([0-9a-f]+)", registers)
    if not found:
        raise ValueError("info registers: " + registers)
    return int(found[1], 16), bool(int(found[2], 16) & 0x200)


def judge(samples):
    """
    [(vector that waits or None, RIP, interrupts on?)] of one CPU: the vector that it never takes. A guest of Margay keeps no
    interrupt of the machine from the CPU. A hypervisor that hung would have interrupts off, but for moments; one that entered
    its guest with the machine's interrupts off would look like this: was_told_nothing() tells it apart.
    """
    vectors = {vector for vector, _, _ in samples}
    return vectors.pop() if len(vectors) == 1 and 2 * sum(on for _, _, on in samples) > len(samples) else None


def spin(samples):
    """The same: the lowest RIP of a CPU that has executed nothing but a few bytes, with interrupts off, or None."""
    rips = [rip for _, rip, _ in samples]
    return min(rips) if max(rips) - min(rips) < SPIN and not any(on for _, _, on in samples) else None


def samples(path):
    """{CPU: what judge() wants} of the QEMU with this socket. OSError, ValueError: as Monitor and those above."""
    with Monitor(path) as monitor:
        seen = {cpu["cpu-index"]: [] for cpu in monitor.ask("query-cpus-fast")}
        for number in range(SAMPLES):
            time.sleep(BETWEEN if number else 0)
            for cpu, found in seen.items():
                rip, on = rip_and_interrupts(monitor.human(cpu, "info registers"))
                found.append((waiting(monitor.human(cpu, "info lapic")), rip, on))
    return seen


def was_told_nothing(request, hflags2):
    """Is the CPU, by its two words in QEMU, one that would take an interrupt, and has not been told of any?"""
    takes = hflags2 & HF2_GIF and (not hflags2 & HF2_VINTR or hflags2 & HF2_HIF)
    return bool(takes) and not request & (REQUEST_HARD | REQUEST_POLL)


def offsets(said):
    """(where the first CPUState's address is; where in it the next one's is, its number, interrupt_request and hflags2) by what gdb
    said. ValueError: not understood."""
    found = [regex.search(said) for regex in (FIRST_AT, NEXT_AT, INDEX_AT, REQUEST_AT, HFLAGS2_AT)]
    if None in found:
        raise ValueError("gdb: " + said)
    return tuple(int(match[1], 16) for match in found)


def words(pid, cpu):
    """interrupt_request and hflags2 of a CPU of the QEMU with this pid. OSError, ValueError: not to be had."""
    try:
        done = subprocess.run(["gdb", "-q", "-batch", "-p", str(pid), *(w for c in GDB for w in ("-ex", c))],
                              capture_output=True, text=True, check=False, timeout=100)
    except subprocess.TimeoutExpired as error:
        raise ValueError(str(error)) from None
    first, following, index, request, hflags2 = offsets(done.stdout)
    with open("/proc/%d/mem" % pid, "rb", buffering=0) as memory:
        def read(where, form):
            memory.seek(where)
            return struct.unpack(form, memory.read(struct.calcsize(form)))[0]
        at = read(first, "<Q")
        while at and read(at + index, "<I") != cpu:
            at = read(at + following, "<Q")
        if not at:
            raise ValueError("QEMU: no CPU %d" % cpu)
        return read(at + request, "<I"), read(at + hflags2, "<I")


def look(path):
    """
    Of the QEMU with this socket: what it has lost, as text, or None; and if all CPUs spin with interrupts off, where, as a tuple,
    else None. (None, None) too if it does not answer.
    """
    try:
        seen = samples(path)
    except (OSError, ValueError):
        return None, None
    spins = tuple(spin(found) for found in seen.values())
    for cpu, found in seen.items():
        vector = judge(found)
        if vector is not None:
            return "QEMU has lost an interrupt: CPU %d does not take vector %d from its local APIC" % (cpu, vector), None
    return None, None if None in spins else spins


def lost_interrupt(path, pid):
    """What the QEMU with this socket and pid has lost, as text; None too if it does not answer."""
    lost = look(path)[0]
    try:
        told_nothing = lost and was_told_nothing(*words(pid, int(re.search(r"CPU (\d+)", lost)[1])))
    except (OSError, ValueError):
        return None
    return lost if told_nothing else None


def state(path):
    """What the QEMU with this socket says of its CPUs, three times, and of its interrupt controllers; or why it says nothing."""
    said = []
    try:
        with Monitor(path) as monitor:
            cpus = [cpu["cpu-index"] for cpu in monitor.ask("query-cpus-fast")]
            for number in range(3):
                time.sleep(BETWEEN if number else 0)
                for cpu in cpus:
                    said += ["CPU %d, look %d" % (cpu, number), monitor.human(cpu, "info registers")]
            for cpu in cpus:
                said.append(monitor.human(cpu, "info lapic"))
            said.append(monitor.human(0, "info pic"))
    except (OSError, ValueError) as error:
        said.append(str(error))
    return "\n".join(said).replace("\r", "") + "\n"


def known(complaint):
    """Is what QEMU said at its end one of its own errors?"""
    return any(re.search(message, complaint) for message in KNOWN)
