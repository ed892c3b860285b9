# SPDX-License-Identifier: GPL-2.0-only
"""VMs whose job is over, on nodes that are up and that no job has. The prolog marks a job's nodes so that they power down when it
ends; a controller that was killed, and not stopped, right after that has forgotten it, since it saves its state seconds later, and
runs no prolog again. The next job there would be started twice. `margay-slurm tend` ends such VMs before."""

from . import errors, records, slurm

# As sinfo writes it: up, and neither to be powered down nor on the way.
UP = ("idle", "idle*")


def of_nobody(config):
    """The nodes whose VM was started for a job; one that somebody has powered up by hand is left to Slurm's SuspendTime."""
    known = records.Records(config.state)
    return [node for node, (state, _) in slurm.listed("idle").items()
            if state in UP and node in config.by_node and known.read(node).get("job")]


def end(config, program):
    for node in of_nobody(config):
        errors.say(program, "%s: its VM has outlived its job, and is ended" % node)
        slurm.update_node(node, "state=power_down_force", "reason=margay: left over")
