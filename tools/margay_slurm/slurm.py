# SPDX-License-Identifier: GPL-2.0-only
"""What is asked of, and told to, Slurm's controller, by its own programs; the same words in 22.05 and 24.11."""

import re
import subprocess

from .errors import ClusterError

SECONDS = 30
# Of a node that is not there yet, or is going. Both releases write states as WORD+WORD; * is what 22.05 adds for no response.
DRAIN = "DRAIN"
NOT_THERE = {"POWERING_UP", "POWER_UP", "POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "NOT_RESPONDING", "UNKNOWN"}
LOST = {"DOWN", "FAIL", "ERROR"}


def run(*words, seconds=SECONDS):
    try:
        done = subprocess.run(["timeout", str(seconds), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", check=False)
    except FileNotFoundError as error:
        raise ClusterError("%s is missing: install Debian's package slurm-client" % words[0]) from error
    if done.returncode:
        lines = (done.stderr.strip() or "no answer within %d s" % seconds).split("\n")
        raise ClusterError("%s: %s" % (" ".join(words[:3]), lines[-1]))
    return done.stdout


class Job:
    """A job, and its run: the same job is another run when it has been requeued."""

    def __init__(self, number, restarts, state, features):
        self.number, self.run, self.state = number, "%s.%s" % (number, restarts), state
        self.features = "" if features in ("(null)", "N/A") else features


def jobs(numbers):
    """{number: Job}; those that are gone are missing."""
    if not numbers:
        return {}
    try:
        out = run("squeue", "--noheader", "--states=all", "--array", "--jobs=" + ",".join(map(str, numbers)),
                  "--Format=JobID:|,RestartCnt:|,State:|,Feature:|")
    except ClusterError as error:
        # So it says of one that is gone, if it was the only one.
        if "Invalid job id" in str(error):
            return {}
        raise
    found = {}
    for line in out.splitlines():
        fields = line.split("|")
        if len(fields) >= 4:
            found[int(fields[0])] = Job(int(fields[0]), fields[1], fields[2], fields[3])
    return found


def states(names):
    """{node: set of words}"""
    out = run("scontrol", "--oneliner", "show", "node", names)
    found = re.findall(r"NodeName=(\S+) .*? State=(\S+)", out)
    return {name: set(re.split(r"[+*~#!%$@^-]+", state)) - {""} for name, state in found}


def listed(state):
    """{node: (its state in a word, why it is down or drained)} of the nodes in this state."""
    out = run("sinfo", "--noheader", "--Node", "--states=" + state, "--Format=NodeList:|,StateLong:|,Reason:|")
    return {fields[0]: (fields[1], fields[2]) for fields in (line.split("|") for line in out.splitlines()) if len(fields) >= 3}


def reason(name):
    """Why a node is down or drained, without who said so and when."""
    said = run("scontrol", "--oneliner", "show", "node", name).strip()
    found = re.search(r" Reason=(.*?)(?: \[\S+@\S+\])?(?: Comment=.*)?$", said)
    return found[1] if found else ""


def is_there(words):
    return not words & NOT_THERE and not words & LOST


def update_node(names, *words):
    run("scontrol", "update", "nodename=" + names, *words)


def end_job(number, sentence):
    """A job that no node can run: cancelled, and whoever looks at it reads why."""
    run("scontrol", "update", "jobid=%d" % number, "admincomment=" + sentence)
    run("scancel", str(number))
