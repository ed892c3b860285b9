# SPDX-License-Identifier: GPL-2.0-only
"""tests/bench/cluster_log.py: what is read from Slurm's log, and what is beyond the nodes' own time."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "bench"))

import cluster_log  # noqa: E402

LOG = """\
[2026-11-30T22:13:00.000] _slurm_rpc_submit_batch_job: JobId=2 InitPrio=4294901758 usec=1000
[2026-11-30T22:13:00.100] _slurm_rpc_submit_batch_job: JobId=21 InitPrio=4294901758 usec=1000
[2026-11-30T22:13:00.500] sched: Allocate JobId=2 NodeList=n[1-2] #CPUs=4 Partition=margay
[2026-11-30T22:13:01.000] POWER: power_save: pid 1542 waking nodes n[1-2]
[2026-11-30T22:13:07.000] prolog_running_decr: Configuration for JobId=2 is complete
[2026-11-30T22:13:07.250] STEPS: _slurm_rpc_job_step_create: JobId=2 StepId=0 n[1-2] usec=3588
[2026-11-30T22:13:08.000] _job_complete: JobId=2 WEXITSTATUS 0
[2026-11-30T22:13:08.000] _job_complete: JobId=2 done
[2026-11-30T22:13:08.500] POWER: power_save: pid 1550 suspending nodes n[1-2]
[2026-11-30T22:13:10.000] sched: Allocate JobId=21 NodeList=n[1-2] #CPUs=4 Partition=margay
[2026-11-30T22:13:11.000] POWER: power_save: pid 1600 waking nodes n[1-2]
[2026-11-30T22:13:17.500] STEPS: _slurm_rpc_job_step_create: JobId=21 StepId=0 n[1-2] usec=3588
"""


def test_marks_of_a_job():
    """The job's own, also where another's number begins as its does; of the power's lines those behind its allocation."""
    first, second = cluster_log.marks(LOG, 2), cluster_log.marks(LOG, 21)
    begin = first["submitted"]
    assert {name: at - begin for name, at in first.items()} == {
        "submitted": 0, "allocated": 0.5, "resumed": 1, "configured": 7, "step": 7.25, "done": 8, "suspended": 8.5}
    assert second["resumed"] - begin == 11 and "configured" not in second and second["step"] - begin == 17.5
    assert cluster_log.marks(LOG, 3) == {}


def test_beyond_the_boot():
    """The slowest of a job's VMs counts; one that was there before its allocation does not. The second waited for the first."""
    jobs = [cluster_log.marks(LOG, job) for job in (2, 21)]
    begin = jobs[0]["submitted"]
    times = [cluster_log.boots("\n".join("%.3f %.3f" % (begin + begun, begin + up) for begun, up in node))
             for node in (((-9, -5), (1.5, 4.5), (11.5, 14.5)), ((-9, -5), (1.5, 5.5), (11.5, 16.5)))]
    assert [tuple(None if value is None else round(value, 3) for value in pair) for pair in cluster_log.beyond(jobs, times)] == [
        (3.25, None), (None, 5.25)]


def test_what_programs_take():
    assert cluster_log.usage("resume 1.5 100 2.0\nresume 0.5 300 1.0\nprolog 1.0 50 9.5\n") == {
        "resume": [2, 2.0, 300, 2.0], "prolog": [1, 1.0, 50, 9.5]}
