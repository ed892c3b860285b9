# SPDX-License-Identifier: GPL-2.0-only
"""When a job came how far, by slurmctld's own log (DebugFlags=Power,Steps), and what is beyond the nodes' own time."""

import re
import time

# {JOB}: its number. `resumed` and `suspended` have none: each is the first behind the mark in front of it, if that is there.
MARKS = (("submitted", r"_slurm_rpc_submit_batch_job: JobId={JOB} "), ("allocated", r"sched: Allocate JobId={JOB} "),
         ("resumed", r"power_save: pid \d+ waking "), ("configured", r"Configuration for JobId={JOB} is complete"),
         ("step", r"_slurm_rpc_job_step_create: JobId={JOB} StepId=0 "), ("done", r"_job_complete: JobId={JOB} done"),
         ("suspended", r"power_save: pid \d+ suspending "))


def stamp(text):
    """Seconds of 2026-11-30T22:13:14.135, by local time."""
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:])


def marks(log, job):
    """{mark: seconds} of the job; one that is not there is missing."""
    found, at, match = {}, 0, None
    for name, pattern in MARKS:
        if "{JOB}" not in pattern and not match:
            continue
        match = re.compile(r"^\[(\S+)\] .*" + pattern.replace("{JOB}", str(job)), re.MULTILINE).search(log, at)
        if match:
            found[name] = stamp(match[1])
            at = match.end()
    return found


def boots(text):
    """[(begun, slurmd's begin)] of a node's VMs, in order."""
    return [tuple(map(float, line.split())) for line in text.splitlines()]


def boot_of(times, job):
    """Seconds of the slowest of the job's VMs: times are boots() of each of its nodes; each has one behind its allocation."""
    found = [next((begun, up) for begun, up in node if begun > job["allocated"]) for node in times]
    return max(up for _, up in found) - min(begun for begun, _ in found)


def beyond(jobs, times):
    """Of jobs that wait for the same nodes: [(submit to first step, from the first step of the one before)], without the boot.
    None for what is not there: only the first had not to wait for another, only the others have one before."""
    found, before = [], None
    for job in jobs:
        boot = boot_of(times, job)
        found.append((job["step"] - job["submitted"] - boot if before is None else None,
                      None if before is None else job["step"] - before["step"] - boot))
        before = job
    return found


def usage(text):
    """{program: [calls, CPU seconds, KiB of the largest process, seconds of the longest]}, of cluster_many.c's lines."""
    found = {}
    for name, cpu, kib, seconds in (line.split() for line in text.splitlines()):
        one = found.setdefault(name, [0, 0.0, 0, 0.0])
        one[0] += 1
        one[1] += float(cpu)
        one[2], one[3] = max(one[2], int(kib)), max(one[3], float(seconds))
    return found
