# SPDX-License-Identifier: GPL-2.0-only
"""The job: submitted by a user of the head, watched to its end, and until its nodes are as they were."""

import json
import os
import time

from . import draw, places, timeline
from .head import read
from .places import Failed

SCRIPT = """\
#!/bin/sh
#SBATCH --nodes=2 --ntasks-per-node=1 --output=/home/{user}/job-%j.out
echo "job $SLURM_JOB_ID: begins on $(hostname), one of $SLURM_JOB_NODELIST, up for $(cut -d ' ' -f 1 /proc/uptime) s"
srun /usr/local/bin/job
"""
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY")
SECONDS = 900


def states(root):
    """{node: its state} as sinfo has it: idle~ is powered down."""
    return dict(line.split() for line in root.run("sinfo", "-h", "-N", "-o", "%N %T", stdout=-1).splitlines())


def state_of(root, number):
    words = root.run("scontrol", "-o", "show", "job", number, stdout=-1).split()
    return dict(word.split("=", 1) for word in words if "=" in word)["JobState"]


def wait_nodes(root, machines, say):
    """Until the management VM of each node answers the head's orders."""
    end = time.monotonic() + SECONDS
    while True:
        for machine in machines:
            if machine.process.poll() is not None:
                raise Failed("the emulator of %s ended: see %s" % (machine.node.name, places.LOGS))
        try:
            said = root.as_user("slurm", "margay-slurm", "nodes", stdout=-1)
            say("the nodes' management VMs answer:\n" + said.rstrip())
            return
        except Failed as error:
            if time.monotonic() > end:
                raise Failed("the nodes do not answer within %d s (%s): their consoles are in %s" % (
                    SECONDS, error, places.LOGS)) from error
        time.sleep(5)


def submit(root, say):
    """Its number."""
    path = "/home/%s/job.sh" % places.USER
    root.write(path, SCRIPT.format(user=places.USER), 0o755)
    words = ["sbatch", "--parsable", "-C", places.IMAGE, "-D", "/home/" + places.USER, path]
    say("%s$ %s" % (places.USER, " ".join(words)))
    return int(root.as_user(places.USER, "env", "HOME=/home/" + places.USER, *words, stdout=-1))


def watch(root, number, say):
    """Its last state."""
    shown, end = None, time.monotonic() + SECONDS
    while True:
        state, nodes = state_of(root, number), states(root)
        now = "%s; %s" % (state, ", ".join("%s %s" % pair for pair in sorted(nodes.items())))
        if now != shown:
            say("job %d: %s" % (number, now))
            shown = now
        if state in OVER:
            return state
        if time.monotonic() > end:
            raise Failed("job %d is not over after %d s: %s" % (number, SECONDS, now))
        time.sleep(1)


def wait_free(root):
    """When all nodes are powered down, and nobody's."""
    end = time.monotonic() + SECONDS
    while set(states(root).values()) != {"idle~"}:
        if time.monotonic() > end:
            raise Failed("the nodes are not free after %d s: %s" % (SECONDS, states(root)))
        time.sleep(0.5)
    return time.time()


def wait_ended(nodes):
    """Until the consoles say that the job's VMs are over: the controller calls a node free some moments before."""
    end = time.monotonic() + 30
    while time.monotonic() < end and not all("VM's end" in timeline.of_console(read_log(node.name + ".log"), 0) for node in nodes):
        time.sleep(0.5)


def output(number):
    return os.path.join(places.RUN, "home", places.USER, "job-%d.out" % number)


def has_output(number):
    return os.path.exists(output(number))


def show(root, number, say):
    say("its output:\n" + read(output(number)).rstrip() if has_output(number) else "it has no output: /home was not there")
    say("its accounting:\n" + root.run("sacct", "-X", "-j", number, "-o", "JobID,User,NodeList,State,ExitCode,Submit,Start,End",
                                       stdout=-1).rstrip())


def draw_timeline(root, number, free, say):
    """From the logs; drawn on the head, which has matplotlib."""
    consoles = {node: read_log(node.name + ".log") for node in places.NODES}
    every = timeline.collect(number, read_log("slurmctld.log"), read_log("web.log"), consoles, free)
    say("the timeline:\n" + "\n".join(timeline.lines(every)))
    for what in timeline.missing(every):
        say("not seen: " + what)
    places.write(os.path.join(places.LOGS, "timeline.json"), json.dumps(every, indent=1) + "\n")
    root.write("/admin/draw.py", read(draw.__file__))
    root.run("env", "MPLCONFIGDIR=/tmp", "python3", "/admin/draw.py", "/logs/timeline.json", "/logs/timeline.png")
    return os.path.join(places.LOGS, "timeline.png")


def read_log(name):
    with open(os.path.join(places.LOGS, name), encoding="utf-8", errors="replace") as f:
        return f.read()
