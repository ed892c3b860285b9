# SPDX-License-Identifier: GPL-2.0-only
"""What there is on the node, and the calls that change it: all by the program `margay`, which knows how it is asked."""

import json
import subprocess

from . import Refused

# Of a VM that has nothing to run any more; all other states are of one that runs, is on its way, or was kept by a crash.
ON_ITS_WAY = {"running", "paused", "changing", "waiting"}
KEPT = "crashed"
# margay's status where it cannot ask.
BROKEN = 3


class Node:
    def __init__(self, program="margay"):
        self.program = program

    def ask(self, *words):
        """What it says; Refused when that is no."""
        try:
            done = subprocess.run([self.program, "--json", *words], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                                  errors="replace", check=False)
        except OSError as error:
            raise Refused("%s: %s" % (self.program, error.strerror), BROKEN) from error
        try:
            answer = json.loads(done.stdout) if done.stdout else None
        except ValueError as error:
            raise Refused("%s: an answer that is none" % self.program, BROKEN) from error
        if isinstance(answer, dict) and "error" in answer:
            # What has started, and ended at once, has other statuses than one that the node refuses.
            raise Refused(answer["error"]["message"], BROKEN if answer["error"]["status"] == BROKEN else 1)
        if done.returncode or answer is None:
            raise Refused("%s: %s" % (self.program, done.stderr.strip() or "status %d, and no answer" % done.returncode), BROKEN)
        return answer

    def vms(self):
        """{name: what `margay list` says}."""
        return {vm["name"]: vm for vm in self.ask("list")}

    def images(self):
        """{name: what `margay image list` says}."""
        return {image["name"]: image for image in self.ask("image", "list")}

    def file(self, name):
        return self.ask("show", "--file", "--", name)["text"].encode()
