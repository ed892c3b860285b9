# SPDX-License-Identifier: GPL-2.0-only
"""Debian's gdb as the client of a node's stub, one command at a time."""

import re
import signal
import subprocess
import threading

ANSWER = 120  # seconds for an answer of gdb's, on a busy machine


class Gdb:
    """Debian's gdb, one command at a time."""

    def __init__(self, line):
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "gdb", "-nx", "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self._marks = 0
        for command in ("set pagination off", "set confirm off", "set width 0", "set architecture i386:x86-64",
                        "set remotetimeout 100"):
            self.ask(command)
        self.greeting = self.ask("target remote " + line.address)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._process.kill()
        self._process.wait()

    def ask(self, command, runs=None):
        """
        What gdb says to a command. runs: Ctrl-C once this, which looks for a sign that the guest runs, has returned: gdb may
        lose a signal between saying so and letting it run.
        """
        self._marks += 1
        mark = "=mark%d=" % self._marks
        self._process.stdin.write("%s\necho \\n%s\\n\n" % (command, mark))
        self._process.stdin.flush()
        lines = []
        timer = threading.Timer(ANSWER, self._process.kill)
        timer.start()
        for line in self._process.stdout:
            if line.rstrip().endswith(mark):
                break
            lines.append(line)
            if runs and "Continuing." in line:
                runs()
                self._process.send_signal(signal.SIGINT)
        else:
            raise AssertionError("gdb: no answer to %s: %s" % (command, "".join(lines)))
        timer.cancel()
        return "".join(lines).replace("(gdb) ", "").strip()

    def number(self, expression):
        return int(re.search(r"= (0x[0-9a-f]+)", self.ask("print/x " + expression))[1], 16)
