# SPDX-License-Identifier: GPL-2.0-only
"""A node, by its name in Slurm, that is to have no job any more, and loses none: it is kept from new ones, its own goes on to its
end, and then it is drained.

Draining alone will not do for a cloud node: the suspend behind its job takes the drain away (idle_on_node_suspend), and the next
job has it. A reservation stays, over suspends and restarts of the controller. But `sinfo -R` does not show it: so a node that has
no job is drained, too, and the reason says what for. After that it is looked at once more, so it is right without a reservation."""

import time

from . import hosts, slurm
from .errors import ClusterError

RESERVATION = "margay-"
# Reasons of whoever waits by this; `margay: ` alone is that of a node that has failed, which `margay-slurm tend` frees.
OWNER, UPGRADE = OURS = ("margay owner: ", "margay upgrade: ")
BUSY = {"ALLOCATED", "MIXED", "COMPLETING", "POWERING_UP", "POWER_UP", "POWERING_DOWN", "POWER_DOWN"}
FIRST, LONGEST = 0.5, 10


def reserve(name):
    """From now on it gets no new job. There may be such a reservation already, of a call that was killed."""
    if "ReservationName=" + RESERVATION + name + " " not in slurm.run("scontrol", "--oneliner", "show", "reservation"):
        slurm.run("scontrol", "create", "reservation", "reservationname=" + RESERVATION + name, "nodes=" + name,
                  "flags=ignore_jobs", "starttime=now", "duration=infinite", "users=root")


def release(name):
    if "ReservationName=" + RESERVATION + name + " " in slurm.run("scontrol", "--oneliner", "show", "reservation"):
        slurm.run("scontrol", "delete", "reservation=" + RESERVATION + name)


def state(name):
    words = slurm.states(name).get(name)
    if words is None:
        raise ClusterError("%s: Slurm has no such node: margay-slurm setup, and restart slurmctld" % name)
    return words


def whose(name):
    """(who, why) of a node that is drained or down: "ours", "others", or None."""
    if not state(name) & ({slurm.DRAIN} | slurm.LOST):
        return None, ""
    why = slurm.reason(name)
    return ("ours" if why.startswith(OURS) else "others"), why


def jobs_of(name):
    """Numbers of the jobs that it has."""
    return slurm.run("squeue", "--noheader", "--nodelist=" + name, "--Format=JobID:|").replace("|", " ").split()


def with_jobs():
    """Names of all that have a job."""
    lines = slurm.run("squeue", "--noheader", "--states=running,configuring,completing,suspended", "--Format=NodeList:|")
    return {name for line in lines.splitlines() for name in hosts.expand(line.partition("|")[0])}


def is_empty(name):
    """No job, and if it is a cloud node no VM: one that is up without a job goes."""
    words = state(name)
    if words & BUSY or jobs_of(name):
        return False
    if "CLOUD" in words and not words & ({"POWERED_DOWN"} | slurm.LOST):
        slurm.update_node(name, "state=power_down")
        return False
    return True


def wait(true, seconds=None, stopped=lambda: False):
    """Until it is; whether it is. A controller that restarts does not answer meanwhile, which is no answer."""
    end, pause = seconds and time.monotonic() + seconds, FIRST
    while True:
        if stopped():
            raise ClusterError("stopped")
        try:
            if true():
                return True
        except ClusterError:
            pass
        if end and time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(pause * 1.3, LONGEST)


def empty(name, reason, stopped=lambda: False):
    """Returns when it has no job, and gets none."""
    def emptied():
        reserve(name)
        if not is_empty(name):
            return False
        slurm.update_node(name, "state=drain", "reason=" + reason)
        if is_empty(name):
            return True
        # A job came in between: the reservation was lost.
        slurm.update_node(name, "state=undrain")
        return False

    # Who may not make one is told so at once.
    reserve(name)
    wait(emptied, stopped=stopped)


def have(name):
    """Jobs may come, whatever it was. A job that it has goes on. A cloud node that somebody has tried to power up gets there by way
    of suspend, which would end a job."""
    words = state(name)
    if words & {"ALLOCATED", "MIXED", "COMPLETING"} or jobs_of(name):
        if slurm.DRAIN in words:
            slurm.update_node(name, "state=undrain")
        return
    slurm.update_node(name, "state=power_down_force" if "CLOUD" in words and "POWERED_DOWN" not in words else "state=resume")


def put_back(name):
    """It is Slurm's again, if it was ours."""
    if whose(name)[0] == "ours":
        have(name)
    release(name)
