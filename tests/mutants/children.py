# SPDX-License-Identifier: GPL-2.0-only
"""The commands that a run starts: each ends with the run, however that ends, and at once when the run is told to stop."""

import collections
import signal
import subprocess
import threading

# status: as of subprocess; text: what it printed, both streams.
Done = collections.namedtuple("Done", "status text")
# Each process of a chain dies with the one above it, so that whoever is killed leaves nothing behind.
DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
LEAVING = 20  # seconds that a stopped command has to take its emulators down


class Stopped(Exception):
    """The run was told to stop: what a command came to after that says nothing."""


class Children:
    def __init__(self):
        self.stopped, self.lock, self.running = False, threading.Lock(), set()

    def run(self, words, cwd, env, seconds=None):
        """Done, or Stopped. seconds: subprocess.TimeoutExpired after that long."""
        with self.lock:
            if self.stopped:
                raise Stopped
            # In a session of its own: Ctrl-C reaches the run, which decides; a test that it ended by itself would count as failed.
            process = subprocess.Popen([*DIES_WITH_PARENT, *words], cwd=cwd, env=env, stdin=subprocess.DEVNULL, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
            self.running.add(process)
        try:
            text, _ = process.communicate(timeout=seconds)
        finally:
            process.kill()
            process.wait()
            with self.lock:
                self.running.discard(process)
        if self.stopped:
            raise Stopped
        return Done(process.returncode, text)

    def stop(self):
        """Asks all that run to leave, and kills what has not left in time. Nothing starts after this."""
        with self.lock:
            first, self.stopped = not self.stopped, True
            left = list(self.running)
        for process in left if first else ():
            process.send_signal(signal.SIGINT)
            late = threading.Timer(LEAVING, process.kill)
            late.daemon = True
            late.start()
