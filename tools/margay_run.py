# SPDX-License-Identifier: GPL-2.0-only
"""Runs a bootable image on an emulator and judges how the node ended.

tools/margay-run is the command line of this module; the tests use class Node:

    with Node(iso, machine="bochs", log="build/logs/x.log", timeout=300) as node:
        node.expect(r"guest# ", prompt=True)
        node.send("poweroff\\n")
        outcome = node.wait()

The hypervisor's last line, "margay: node: end=poweroff vms=N failed=N" (with
running=N and unstarted=N where there are such VMs; or end=idle, end=reboot,
end=panic), is what is judged; together with whether the machine then really
powered itself off, and with Bochs' log, where a failed VM entry shows.
"""

import codecs
import collections
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import margay_machines
import margay_nested
import qemu_lost
from margay_machines import MachineError

# Exit statuses of margay-run.
OK, VM_FAILED, USAGE, PANIC, TIMEOUT, DIED, NOT_OFF, BAD_ENTRY, NO_MACHINE, LEFT = range(10)

Outcome = collections.namedtuple("Outcome", "status text")
End = collections.namedtuple("End", "how vms failed running unstarted")

END_LINE = re.compile(r"^margay: node: end=(\w+)(?: vms=(\d+) failed=(\d+)(?: running=(\d+))?(?: unstarted=(\d+))?)?\s*$",
                      re.MULTILINE)
# On SVM each check of VMRUN has a line; one of the instruction itself is a guest's that tries it in ring 3.
BOCHS_BAD_ENTRY = re.compile(r"VMFAIL|VMABORT|VMENTER FAIL|\de\[CPU\d+ *\] (?:SVM: )?VMRUN(?: CR|(?:\(\))?: (?!with CPL))")
BOCHS_STUCK = "3rd (13) exception with no resolution"
STARTING = 120.0  # seconds until the emulator connects its serial port, on a busy machine
GRACE_OFF = 60.0  # from the last line, or the console's end, to the end of the emulator
GRACE_HALT = 2.0  # a panicked or idle node stays on: this long for the rest of its output


class Lines:
    """What a console says, in pieces as they come, without the time in front of each line of the node's log: `[    1.234] `."""

    CLEARS = r"((?:\x1b\[[0-9;?=]*[A-Za-z])*)"  # firmware and GRUB, in front of the first line
    TIME = re.compile(CLEARS + r"\[ *\d+\.\d{3}\] ")
    BEGUN = re.compile(CLEARS + r"(\x1b(\[[0-9;?=]*)?|\[ *(\d+(\.\d{0,3}|\.\d{3}\])?)?)?")

    def __init__(self):
        self._held = ""  # may become a time
        self._begins = True  # what follows begins a line

    def take(self, data, last=False):
        """The text to be added; last: nothing follows."""
        lines, out = (self._held + data).split("\n"), []
        self._held = ""
        for number, line in enumerate(lines):
            if number:
                out.append("\n")
                self._begins = True
            if self._begins and line:
                time_of = self.TIME.match(line)
                if not time_of and not last and number == len(lines) - 1 and self.BEGUN.fullmatch(line):
                    self._held = line
                    continue
                line = time_of[1] + line[time_of.end():] if time_of else line
                self._begins = False
            out.append(line)
        return "".join(out)


class NodeError(Exception):
    """What was expected on the console did not come."""


class EmulatorDied(NodeError):
    """The emulator crashed or lost its console, or a bare machine ended early. By what is not known: it may be ours."""


class EmulatorsFault(EmulatorDied):
    """The emulator failed in a way that is known to be its own: no word on Margay. The tests try again, once."""


def end_of(text):
    """The last machine-readable line as an End, or None."""
    last = None
    for last in END_LINE.finditer(text):
        pass
    return last and End(last[1], *(int(n or 0) for n in last.groups()[1:]))


def judge(text, exited, reason, bad_entry, native):
    """The outcome of a run. exited: the machine ended by itself; reason: why it was stopped, if it was."""
    if bad_entry:
        return Outcome(BAD_ENTRY, "Bochs' log reports a failed VM entry: " + bad_entry)
    if native:
        return Outcome(OK, "the machine powered off") if exited else reason
    end = end_of(text)
    if end and end.how == "panic":
        return Outcome(PANIC, "the node panicked: see the log")
    if end is None:
        return reason or Outcome(DIED, "the emulator ended without the node's last line")
    if end.how == "idle":
        if end.failed or not end.vms:
            return Outcome(VM_FAILED, "%d of %d VMs failed; none that ran ends the node" % (end.failed, end.vms))
        if end.unstarted == end.vms:
            return Outcome(NOT_OFF, "no VM was told to start, and the node stays on for its operator")
        return Outcome(NOT_OFF, "all VMs ended, and what their files say of such an end (on_end, on_poweroff, on_reboot, "
                       "on_crash, restart_limit) is not to end the node: poweroff_node does")
    if end.how == "reboot":
        return Outcome(*(OK, "the node restarted") if exited else (NOT_OFF, "the node did not restart"))
    if end.how != "poweroff":
        return Outcome(DIED, "unknown end of the node: %s" % end.how)
    if not exited:
        return Outcome(NOT_OFF, "the node said that it powers off, but the machine stayed on")
    others = "".join("; %d %s" % (n, what) for n, what in ((end.running, "still ran"), (end.unstarted, "never started")) if n)
    if end.failed:
        return Outcome(VM_FAILED, "%d of %d VMs failed%s" % (end.failed, end.vms, others))
    return Outcome(OK, "%d VMs, none failed%s" % (end.vms, others))


class Node:
    """One emulated machine. Use it in a with statement: the emulator never outlives it."""

    def __init__(self, image, machine="qemu", cpus=1, memory="1G", log="margay-run.log", timeout=0, extra=(),
                 native=False, interactive=False, echo=None, boot=margay_machines.Boot(), one_thread=False, host=(),
                 newer=False):
        self.machine, self.native, self.echo = machine, native, echo
        self.emulator = margay_machines.EMULATOR[machine]
        self.bochs_log = log + ".bochs.log" if self.emulator == "bochs" else None
        self.host_log = log + ".host.log" if machine.startswith("nested-") else None
        self._log_seen = 0
        self._started = time.monotonic()
        self.deadline = self._started + timeout if timeout else float("inf")
        self.text, self.raw = "", ""  # all that the console said, without and with the times of the node's log
        self._lines = Lines()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")  # a character may come in pieces
        self._changed = threading.Condition()
        self._taken = 0  # up to where expect() has matched
        self._closed = False  # the console's end was read
        self._closed_at = float("inf")
        self._closed_by = []  # what befell it, unless the emulator closed it
        self._exits = any("isa-debug-exit" in word for word in extra)
        self._conn = None
        self._ended_at = None
        self._stays = interactive  # an operator may go on with a node that is idle, and read a panic
        self._reader = None
        if not (os.path.isdir if boot.medium == "net" else os.path.isfile)(image):
            raise MachineError("%s: no such %s" % (image, "directory" if boot.medium == "net" else "file"))
        os.makedirs(os.path.dirname(os.path.abspath(log)), exist_ok=True)
        self._log = open(log, "wb", buffering=0)
        self._directory = tempfile.TemporaryDirectory(prefix="margay-run.")
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        accel = "kvm" if machine == "kvm" else "tcg,thread=single" if one_thread else "tcg"
        for path in (self.bochs_log, self.host_log):
            if path:
                open(path, "w", encoding="ascii").close()
        if self.host_log:
            command = margay_nested.command(machine, image, boot, cpus, memory, port, extra, self._directory.name,
                                            self.host_log, self.bochs_log, interactive, accel, host)
        elif self.emulator == "bochs":
            command = margay_machines.bochs(image, boot, cpus, memory, port, extra, self._directory.name,
                                            self.bochs_log, interactive, machine=machine)
        else:
            if machine == "kvm":
                margay_machines.check_nested_kvm()
            command = margay_machines.qemu(image, boot, cpus, memory, port, extra, accel, newer)
        if self.emulator != "bochs":
            self.qmp = os.path.join(self._directory.name, "qmp")
            command += ["-qmp", "unix:%s,server=on,wait=off" % self.qmp]
        self._stderr = open(os.path.join(self._directory.name, "stderr"), "w+b")
        # In a session of its own, so that Ctrl-C reaches only us; dies with us, however we die. Bochs writes files where it is.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL"] + command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=self._stderr, start_new_session=True, env=dict(os.environ, TERM="xterm"),
            cwd=self._directory.name if self.bochs_log else None,
        )
        try:
            self._accept()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def _accept(self):
        """Waits for the emulator to connect its serial port."""
        self._listener.settimeout(0.2)
        give_up = time.monotonic() + STARTING
        while self._conn is None:
            try:
                self._conn = self._listener.accept()[0]
            except socket.timeout:
                if self.process.poll() is not None or time.monotonic() > give_up:
                    raise MachineError("%s did not start: %s" % (self.machine, self._complaint())) from None
        self._conn.settimeout(None)
        self._reader = threading.Thread(target=self._pump, daemon=True)
        self._reader.start()

    def _complaint(self):
        """The last that the emulator said of itself, how it ended, and what befell its console."""
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").split("\n")
        if self.bochs_log:
            with open(self.bochs_log, encoding="utf-8", errors="replace") as f:
                lines += [line for line in f.read().split("\n") if "PANIC" in line]
        # The host of a nested machine goes on talking: the emulator's own last words are not to be lost behind its.
        said = [[line.strip() for line in part if line.strip()][-3:] for part in (lines, self._host_said().split("\n"))]
        lines = said[0] + said[1] or ["no message from it"]
        status = self.process.poll()
        end = "still running" if status is None else "exit status %d" % status if status >= 0 else signal.Signals(-status).name
        return "; ".join(lines + [end] + self._closed_by)

    def _host_said(self):
        """All that the host of a nested machine has said; nothing on others."""
        if not self.host_log:
            return ""
        with open(self.host_log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def _check_emulator(self):
        """For when the console or the process has ended: raises EmulatorDied, unless it ended well. Bochs does so with 1, too."""
        if self._listener is None:
            return  # ended by close()
        try:
            status = self.process.wait(max(1.0, self._closed_at + GRACE_OFF - time.monotonic()))
        except subprocess.TimeoutExpired:
            status = None
        self._reader.join(GRACE_OFF)
        # What Bochs has said of the machine before it died is the verdict. A bare kernel gives its own status by isa-debug-exit.
        if self._bad_entry() or self._stuck() or self._exits and status is not None and status > 0:
            return
        if (status is None or status < 0 or status > 0 and self.emulator != "bochs") and (self.native or not end_of(self.text)):
            complaint = self._complaint()
            self._died("%s: %s" % (self.machine, complaint), self.emulator == "qemu" and qemu_lost.known(complaint))

    def _died(self, how, known=False):
        """Keeps the log, which the next try would overwrite, as LOG.died."""
        shutil.copyfile(self._log.name, self._log.name + ".died")
        raise (EmulatorsFault if known else EmulatorDied)("%s; last lines:\n%s" % (how, self.tail()))

    def _check_interrupts(self):
        """For when the machine has stood still: raises EmulatorsFault if QEMU is known to be the cause. Else LOG.machine has what
        it says of the machine."""
        if self.emulator != "qemu":
            return
        lost = qemu_lost.lost_interrupt(self.qmp, self.process.pid)
        if lost:
            self._died(lost, known=True)
        with open(self._log.name + ".machine", "w", encoding="utf-8") as f:
            f.write(qemu_lost.state(self.qmp))

    def _pump(self):
        """Reader thread: the console to log, echo and text."""
        while True:
            try:
                data = self._conn.recv(65536)
            except OSError as error:
                data = b""
                self._closed_by.append(str(error))
            if data:
                self._log.write(data)
                if self.echo:
                    self.echo.write(data)
                    self.echo.flush()
            with self._changed:
                said = self._decoder.decode(data, not data)
                self.raw += said
                self.text += self._lines.take(said, not data)
                if not data:
                    self._closed, self._closed_at = True, time.monotonic()
                self._changed.notify_all()
            if not data:
                return

    def send(self, text):
        """Types text. Slowly on Bochs, whose 16550 has no flow control towards the host."""
        data = text if isinstance(text, bytes) else text.encode()
        step = 1 if self.emulator == "bochs" else len(data)
        try:
            for i in range(0, len(data), step or 1):
                self._conn.sendall(data[i : i + step])
                if step < len(data):
                    time.sleep(0.005)
        except OSError:
            pass  # the emulator has gone: wait() tells how

    def expect(self, pattern, timeout=None, prompt=False):
        """
        Waits for a regular expression in what was not matched yet; returns the match, or raises NodeError. Only lines
        that have ended count, lest half a line be taken for the whole; prompt: what stands in an unfinished one, too.
        """
        give_up = min(self.deadline, time.monotonic() + timeout if timeout else float("inf"))
        regex = re.compile(pattern, re.MULTILINE)
        while True:
            with self._changed:
                ended = self._closed
                match = regex.search(self.text, self._taken, len(self.text) if prompt or ended else self.text.rfind("\n") + 1)
                if match:
                    self._taken = match.end()
                    return match
                self._changed.wait(0.5)
            if ended and self._closed:
                self._check_emulator()
                how = "the machine ended (%s) before %r came" % (self._complaint(), pattern)
                if self.native:
                    self._died(how)
                raise NodeError("%s; last lines:\n%s" % (how, self.tail()))
            if time.monotonic() > give_up:
                self._check_interrupts()
                raise NodeError("%r did not come in time; last lines:\n%s" % (pattern, self.tail()))
            if self._stuck():
                raise NodeError("triple fault of the node before %r came; last lines:\n%s" % (pattern, self.tail()))

    def hurry(self, seconds):
        """The node must end within this time from now, whatever its timeout was."""
        self.deadline = min(self.deadline, time.monotonic() + seconds)

    def tail(self, lines=25):
        return "\n".join(self.text.replace("\r", "").split("\n")[-lines:])

    def _stuck(self):
        """By what is new in Bochs' log: it may have megabytes, and this is asked at each character on the console."""
        if not self.bochs_log:
            return False
        with open(self.bochs_log, "rb") as f:
            f.seek(max(0, self._log_seen - len(BOCHS_STUCK)))
            new = f.read()
            self._log_seen = f.tell()
        return BOCHS_STUCK.encode() in new

    def _bad_entry(self):
        if not self.bochs_log:
            return None
        with open(self.bochs_log, encoding="utf-8", errors="replace") as f:
            return next((line.strip() for line in f if BOCHS_BAD_ENTRY.search(line)), None)

    def poll(self):
        """None while the node runs on; else why it is over: (exited by itself, Outcome or None), or EmulatorDied."""
        if self.process.poll() is not None or time.monotonic() - self._closed_at > GRACE_OFF:
            self._check_emulator()
            return self.process.poll() is not None, None
        now = time.monotonic()
        # In lines that have ended: of half a one it is not known yet what it says.
        end = None if self.native else end_of(self.text[-4096 : self.text.rfind("\n") + 1])
        if end and self._ended_at is None and not (self._stays and end.how in ("idle", "panic")):
            self._ended_at = now
        if self._ended_at and now - self._ended_at > (GRACE_OFF if end and end.how in ("poweroff", "reboot") else GRACE_HALT):
            return False, Outcome(NOT_OFF, "the machine stayed on")
        if now > self.deadline:
            self._check_interrupts()
            return False, Outcome(TIMEOUT, "not ended after %d seconds" % (now - self._started))
        if self._stuck():
            return False, Outcome(DIED, "triple fault of the node: Bochs' log says '%s'" % BOCHS_STUCK)
        return None

    def wait(self):
        """Waits for the end of the node, stops the emulator, and returns the Outcome, or raises EmulatorDied."""
        state = self.poll()
        while state is None:
            with self._changed:
                if not self._closed:
                    self._changed.wait(0.5)
                else:
                    time.sleep(0.1)
            state = self.poll()
        self.close()
        complaint = self.host_log and state[0] and margay_nested.host_complaint(self._host_said())
        if complaint:
            return Outcome(DIED, complaint)
        return judge(self.text, state[0], state[1], self._bad_entry(), self.native)

    def close(self):
        """Ends the emulator, by its process id, and reads what it still said. May be called twice."""
        if self._listener is None:
            return
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self._reader:
            self._reader.join(10)
        if self._conn:
            self._conn.close()
        self._listener.close()
        self._listener = None
        self._log.close()
        self._stderr.close()
        self._directory.cleanup()
