# SPDX-License-Identifier: GPL-2.0-only
"""A terminal with a program, as a person has it."""

import os
import pty
import re
import select
import subprocess
import termios
import time


class Terminal:
    """A program on a pseudo-terminal of its own."""

    def __init__(self, arguments, **options):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        self.process = subprocess.Popen(arguments, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
                                        **options)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait(60)
        os.close(self.master)
        os.close(self.slave)

    def expect(self, pattern, timeout):
        end = time.monotonic() + timeout
        while True:
            match = re.search(pattern, self.text)
            if match:
                self.text = self.text[match.end():]
                return
            assert time.monotonic() < end and self.process.poll() is None, "no %r in: %s" % (pattern, self.text[-2000:])
            if select.select([self.master], [], [], 0.5)[0]:
                self.text += os.read(self.master, 65536).decode(errors="replace")

    def wait(self, timeout):
        end = time.monotonic() + timeout
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                self.text += os.read(self.master, 65536).decode(errors="replace")
        return self.process.poll()
