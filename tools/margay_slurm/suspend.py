# SPDX-License-Identifier: GPL-2.0-only
"""SuspendProgram: no VM is left on these nodes, unless a later resume has already begun one."""

import sys
import time

from . import config as site
from . import errors, generation, hosts, order, remote

PROGRAM = "margay-slurm-suspend"
# Seconds between tries: a management VM that restarts is there again. What is still left then ends with the next resume.
PAUSES = (2, 10, 30, 60, 120, 300)


def end(config, nodes, own, pauses=PAUSES):
    """{node: why not}. What cannot be reached is tried again: slurmctld takes these nodes for free, and asks no more."""
    value = {"format": order.FORMAT, "order": "end", "generation": own, "grace": config.stop_timeout}
    left = {node: "" for node in nodes}
    for pause in (0, *pauses):
        time.sleep(pause)
        answers = remote.send_all(config, {node: {**value, "node": node} for node in left})
        left = {node: answer["error"] for node, answer in answers.items() if answer.get("fault") not in (None, "late")}
        if not left:
            break
        for node, reason in left.items():
            errors.say(PROGRAM, "%s: %s" % (node, reason))
    return left


def main():
    config = site.read()
    return 1 if end(config, hosts.expand(sys.argv[1]), generation.own()) else 0
