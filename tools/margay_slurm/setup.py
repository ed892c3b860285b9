# SPDX-License-Identifier: GPL-2.0-only
"""The lines of slurm.conf that Margay nodes need, of the site's file: `margay-slurm setup` writes them into a file that slurm.conf
includes, so that what is the site's own stays in slurm.conf."""

import os
import shutil

from . import files, hosts, slurm
from .config import NODE, VM
from .errors import ClusterError

INCLUDED = "margay.conf"
PROGRAMS = {"ResumeProgram": "margay-slurm-resume", "SuspendProgram": "margay-slurm-suspend",
            "ResumeFailProgram": "margay-slurm-resume-failed", "PrologSlurmctld": "margay-slurm-prolog"}
# In an image: margay-build --slurm puts it there.
HEALTH = "/usr/lib/margay/margay-slurm-health"
# enable_configless: the VMs get slurm.conf from the controller. idle_on_node_suspend: whatever state a node was in, after a suspend
# it may be resumed. cloud_dns: the nodes' names are addresses that everybody resolves. power_save_interval: the controller looks
# each second for what is to be resumed, in place of each ten.
PARAMETERS = ("enable_configless", "idle_on_node_suspend", "cloud_dns", "power_save_interval=1", "power_save_min_interval=0",
              "node_reg_mem_percent=90")
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-only
# Written by `margay-slurm setup` from %s: change that, and run it again.
"""


def programs_folder():
    """Where these programs lie: slurmctld wants a whole path."""
    return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def settings(config, folder):
    """[(key, value)]"""
    found = [(key, os.path.join(folder, program)) for key, program in PROGRAMS.items()]
    found += [
        ("SlurmctldParameters", ",".join(PARAMETERS)),
        ("ResumeTimeout", config.boot_timeout), ("ResumeRate", 0), ("SuspendRate", 0),
        # The controller counts a node as gone when it looks next, which is each second; a resume that comes while it still goes
        # waits on the node.
        ("SuspendTimeout", 0),
        # Only of nodes that somebody powered up by hand: each job's go when it ends. Not -1: that ends resuming, too.
        ("SuspendTime", 600),
        # sinfo shows nodes that are powered down, too.
        ("PrivateData", "cloud"),
        # The image's: in the VM of a job, whatever it does, also at its end.
        ("HealthCheckProgram", HEALTH), ("HealthCheckInterval", config.health_interval), ("HealthCheckNodeState", "ANY"),
        ("ReturnToService", 2), ("JobRequeue", 1), ("JobSubmitPlugins", "lua")]
    bare = [partition.name for partition in config.partitions if partition.owner == NODE]
    if bare:
        # SuspendTime is all nodes': a management VM is powered down by nobody.
        found.append(("SuspendExcParts", ",".join(bare)))
    return found


def node_line(group):
    names = group.title.split(None, 1)[1]
    return " ".join(filter(None, ["NodeName=" + names, "CPUs=%d" % group.cpus, "RealMemory=%d" % group.memory, "State=CLOUD",
                                  "Feature=" + ",".join(group.images), group.slurm]))


def management_lines(config, partition):
    """No State: one that stands here comes back at each reconfigure, whatever the node was since. Without, a node whose slurmd does
    not run gets no job."""
    what = " ".join(filter(None, ["CPUs=%d" % partition.cpus, "RealMemory=%d" % partition.memory, partition.slurm]))
    return "".join("NodeName=%s %s\n" % (config.management_of(node), what) for node in partition.nodes)


def partition_line(config, partition):
    names = partition.nodes if partition.owner == VM else [config.management_of(node) for node in partition.nodes]
    exclusive = "OverSubscribe=EXCLUSIVE" if partition.owner == VM else ""
    return " ".join(filter(None, ["PartitionName=" + partition.name, "Nodes=" + hosts.compress(names), exclusive,
                                  partition.options]))


def lines(config, folder=None):
    text = HEAD % config.path
    text += "".join("%s=%s\n" % pair for pair in settings(config, folder or programs_folder()))
    text += "".join(node_line(group) + "\n" for group in config.groups)
    text += "".join(management_lines(config, partition) for partition in config.partitions if partition.owner == NODE)
    return text + "".join(partition_line(config, partition) + "\n" for partition in config.partitions)


def write(path, text):
    """The old file or the new one, whenever somebody reads it."""
    folder, name = os.path.split(path)
    with files.folder(folder or ".") as at:
        files.write(at, name, text)


SUBMIT_FILE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "submit.lua")
SUBMIT = """\
-- SPDX-License-Identifier: GPL-2.0-only
-- Written by `margay-slurm setup`, since there was none: add to it what the site wants.
local margay = dofile("%s")
function slurm_job_submit(job, partitions, uid) return margay.judge(job, partitions) end
function slurm_job_modify(job, record, partitions, uid) return margay.judge_change(job, record, partitions) end
slurm.log_info("margay: judges images at submission")
return slurm.SUCCESS
"""


def write_submit(path):
    """Whether there was none: what a site has there is the site's."""
    if os.path.exists(path):
        return False
    write(path, SUBMIT % SUBMIT_FILE)
    return True


def make_state(folder, user):
    """Where resume and prolog, which run as that user, keep what they know."""
    os.makedirs(folder, exist_ok=True)
    try:
        shutil.chown(folder, user)
    except LookupError as error:
        raise ClusterError("SlurmUser is %s: there is no such user" % user) from error


def calls_ours(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return SUBMIT_FILE in f.read()


def is_included(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return any(line.split("#", 1)[0].split()[:2] in (["Include", INCLUDED], ["include", INCLUDED]) for line in f)
    except FileNotFoundError as error:
        raise ClusterError("%s: is not there: Slurm's own lines (ClusterName, SlurmctldHost ...) are the site's" % path) from error


def version():
    return slurm.run("sinfo", "--version").split()[-1]
