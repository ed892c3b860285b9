# SPDX-License-Identifier: GPL-2.0-only
"""PrologSlurmctld: waits until the job's nodes are there, and looks whether they were started for this run of this job.

slurmctld looks at a job whose nodes boot every 30 s only; at the end of its prolog it looks at once. A status other than 0 has
the job requeued.
"""

import os
import time

from . import config as site
from . import broken, errors, hosts, records, slurm
from .errors import ClusterError

PROGRAM = "margay-slurm-prolog"
# Seconds between two looks, each of which costs the controller two messages, one of them with all nodes: a part of what was waited
# so far, and not less than what a look takes, so that it is half of a CPU at most.
FIRST, LONGEST, PART = 0.1, 1.0, 0.05


def look(names, number):
    """(states of the nodes, whether the job still wants them); None where the controller does not answer, as one that restarts."""
    try:
        job = slurm.jobs([number]).get(number)
        return slurm.states(names), job is not None and job.state == "CONFIGURING"
    except ClusterError:
        return None, True


def pause_of(waited, took):
    """Until the next look, behind one that took so long."""
    return max(FIRST, min(waited * PART, LONGEST), took)


def wait(names, nodes, number, seconds):
    """Whether all are there; not if the job does not want them any more: it waits for this program before it can go on."""
    begun, missing = time.monotonic(), nodes
    while time.monotonic() < begun + seconds:
        looked = time.monotonic()
        states, wanted = look(names, number)
        if not wanted:
            return False
        if states is not None:
            missing = [node for node in nodes if not slurm.is_there(states.get(node, {"UNKNOWN"}))]
            lost = [node for node in missing if states.get(node, set()) & slurm.LOST]
            if lost:
                raise ClusterError("%s: is down" % lost[0])
            if not missing:
                return True
        now = time.monotonic()
        time.sleep(pause_of(now - begun, now - looked))
    raise ClusterError("%s: is not there after %d s" % (missing[0], seconds))


def ill(nodes):
    """{node: why} of those that their VM has drained before the job could begin. Others' reasons are no matter of this job."""
    drained = {node: slurm.reason(node) for node, words in slurm.states(",".join(nodes)).items() if slurm.DRAIN in words}
    return {node: why[len(broken.REASON):] for node, why in drained.items() if why.startswith(broken.ILL)}


def strangers(config, nodes, run):
    """Nodes that were started for another run."""
    known = records.Records(config.state)
    return [node for node in nodes if known.read(node).get("job") != run]


def main():
    config = site.read()
    names = os.environ["SLURM_JOB_NODELIST"]
    number = int(os.environ["SLURM_JOB_ID"])
    nodes = [node for node in hosts.expand(names) if node in config.by_node]
    if not nodes:
        return 0
    there = wait(names, nodes, number, config.boot_timeout)
    # Slurm itself takes the job from a node that is drained while it boots: it does not want the node any more then.
    wrong = ill(nodes)
    if wrong:
        broken.set_ill(config, PROGRAM, wrong)
    if wrong or not there:
        return 1
    job = slurm.jobs([number]).get(number)
    if job is None:
        return 1
    others = strangers(config, nodes, job.run)
    for node in others:
        errors.say(PROGRAM, "%s: was started for another job: it starts afresh" % node)
        slurm.update_node(node, "state=power_down_force", "reason=margay: started for another job")
    if others:
        return 1
    broken.are_well(config, nodes)
    # From now on they are this job's and nobody's after it: they go when it ends.
    slurm.update_node(",".join(nodes), "state=power_down")
    return 0
