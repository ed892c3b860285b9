# SPDX-License-Identifier: GPL-2.0-only
"""Nodes that did not do as they were told, or whose VM was not well before its job began: down for Slurm, with the reason, so that
no job comes to them; and had again without a hand. At its first failure a node is had again at once, if it answers; one that fails
again and again waits longer each time, else the next job, and the next, would go to the one node that is always free.
`margay-slurm tend`, by a timer, frees those whose time has come."""

import time

from . import errors, generation, leftovers, order, owners, records, remote, slurm
from .errors import ClusterError

REASON = "margay: "
# What margay-slurm-health of an image says of its node.
ILL = REASON + "health: "
# As sinfo writes it: up, and neither to be powered down nor on the way.
DRAINED = ("drained", "drained*")
# Seconds.
LONGEST = 3600


def wait_of(failures, first):
    """Seconds from a failure on: none behind the first, `first` behind the second, then twice as long each time."""
    return 0 if failures <= 1 else min(first << min(failures - 2, 16), LONGEST)


def set_down(config, program, failed):
    """{node: reason}: their jobs are requeued by this."""
    known = records.Records(config.state)
    for node, reason in failed.items():
        errors.say(program, "%s: %s" % (node, reason))
        record = known.read(node)
        known.write(node, {**record, "failures": record.get("failures", 0) + 1, "failed": int(time.time())})
        slurm.update_node(node, "state=down", "reason=" + REASON + reason)


def set_ill(config, program, wrong):
    """{node: why}, drained by their VMs: those end first, or their slurmd would bring the nodes back up; the draining ends last, or
    a job could come in between."""
    value = {"format": order.FORMAT, "order": "end", "generation": generation.own()}
    remote.send_all(config, {node: {**value, "node": node} for node in wrong})
    set_down(config, program, wrong)
    for node in wrong:
        slurm.update_node(node, "state=undrain")


def are_well(config, nodes):
    """They are there, and their VMs have found nothing wrong: what was is forgotten."""
    known = records.Records(config.state)
    for node in nodes:
        record = known.read(node)
        if record.get("failures"):
            known.write(node, {**record, "failures": 0})


def is_due(config, record, now):
    """A clock that was set back makes nobody wait for longer than that."""
    since = now - record.get("failed", 0)
    return since < 0 or since >= wait_of(record.get("failures", 0), config.retry_wait)


def free(config, nodes):
    """Those that answer, and on which nothing runs then, are Slurm's again. The others stay down."""
    value = {"format": order.FORMAT, "order": "end", "generation": generation.own(), "check": True}
    answers = remote.send_all(config, {node: {**value, "node": node} for node in nodes})
    done = [node for node, answer in answers.items() if answer.get("done")]
    states = slurm.states(",".join(done)) if done else {}
    for node in done:
        # By way of suspend, after which any node is idle; one that is powered down already gets there only by name.
        slurm.update_node(node, "state=resume" if "POWERED_DOWN" in states.get(node, ()) else "state=power_down_force")
    return done


def free_if_due(config, nodes):
    known, now = records.Records(config.state), time.time()
    return free(config, [node for node in nodes if is_due(config, known.read(node), now)])


def down_by_us(config):
    """The nodes that set_down() has put down, and nobody else has touched."""
    return [node for node, (_, reason) in slurm.listed("down").items() if reason.startswith(REASON) and node in config.by_node]


def drained_by_their_vms(config):
    """{node: why} of those that no job has: Slurm requeues the job of a node that is drained as it boots, and leaves the node."""
    return {node: slurm.reason(node)[len(REASON):] for node, (state, reason) in slurm.listed("drained").items()
            if state in DRAINED and reason.startswith(ILL) and node in config.by_node}


def tend(config, program):
    """Those whose time has come. What Slurm does not do is told, and does not keep the others down."""
    try:
        leftovers.end(config, program)
        owners.tend(config, program)
        set_ill(config, program, drained_by_their_vms(config))
        return free_if_due(config, down_by_us(config))
    except ClusterError as error:
        errors.say(program, str(error))
        return []
