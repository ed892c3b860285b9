# SPDX-License-Identifier: GPL-2.0-only
"""What happened when, as those say who did it: slurmctld's log, the head's web server, the nodes' consoles, and who looked at
sinfo. Text in, moments out; draw.py makes a picture of them."""

import datetime
import re

# Of a job, and of a node; in the order in which they come.
JOB = ("submit", "resume", "first step", "end", "node free")
NODE = ("pull", "pulled", "VM", "slurmd", "VM's end")
STAMP = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\] (.*)")
# What slurmctld says, 22.05 and later, of which only the first time counts.
SLURMCTLD = (("submit", r"_slurm_rpc_submit_batch_job: JobId=%d "), ("resume", r".*power_save: .*waking nodes "),
             ("first step", r".*_slurm_rpc_job_step_create: JobId=%d StepId="), ("end", r"_job_complete: JobId=%d done"))
RESPONDS = re.compile(r"Node (\S+) now responding$")
CONSOLE = (("VM", r"compute: memory: "), ("VM's end", r"compute: end="))
TIMED = re.compile(r"(\d+\.\d{3}) (?:\x1b\[[0-9;?]*[A-Za-z])*(?:\[ *\d+\.\d{3}\] )?(.*)")


def seconds(text):
    """slurmctld has local time."""
    return datetime.datetime.fromisoformat(text).timestamp()


def of_slurmctld(text, job):
    """({moment of the job: when}, {node: when its slurmd was there})"""
    found, there = {}, {}
    patterns = [(what, re.compile(pattern % job if "%d" in pattern else pattern)) for what, pattern in SLURMCTLD]
    for line in filter(None, map(STAMP.match, text.splitlines())):
        when, said = seconds(line[1]), line[2]
        for what, pattern in patterns:
            if pattern.match(said):
                found.setdefault(what, when)
        node = RESPONDS.match(said)
        if node and "submit" in found:
            there.setdefault(node[1], when)
    return found, there


def of_web(text, address, after):
    """(first, last) time that this address has taken pieces of an image; None for none."""
    times = [float(words[0]) for words in map(str.split, text.splitlines())
             if len(words) == 4 and words[1] == address and words[2].startswith("/images/") and float(words[0]) >= after]
    return (times[0], times[-1]) if times else (None, None)


def of_console(text, after):
    """{moment of the node: when}"""
    found = {}
    for line in filter(None, map(TIMED.match, text.splitlines())):
        for what, pattern in CONSOLE:
            if float(line[1]) >= after and re.match(pattern, line[2]):
                found.setdefault(what, float(line[1]))
    return found


def collect(job, slurmctld, web, consoles, free):
    """{"job": {moment: when}, node's name: {moment: when}}, of what is known; consoles: {node: text}; free: when sinfo said so."""
    moments, there = of_slurmctld(slurmctld, job)
    if free is not None:
        moments["node free"] = free
    begin = moments.get("submit", 0)
    every = {"job": moments}
    for node, text in consoles.items():
        first, last = of_web(web, node.management_address, begin)
        own = {"pull": first, "pulled": last, "slurmd": there.get(node.name), **of_console(text, begin)}
        every[node.name] = {what: when for what, when in own.items() if when is not None}
    return every


def lines(every):
    """A table for a terminal: seconds since the submission."""
    begin = every["job"].get("submit")
    if begin is None:
        return ["the job was never submitted"]
    rows = [(when - begin, who, what) for who, moments in every.items() for what, when in moments.items()]
    return ["%8.1f s  %-5s %s" % row for row in sorted(rows)]


def missing(every):
    """What there should be and is not, in words."""
    found = []
    for who, moments in every.items():
        found += ["%s: %s" % (who, what) for what in (JOB if who == "job" else NODE) if what not in moments]
    return found
