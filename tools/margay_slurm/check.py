# SPDX-License-Identifier: GPL-2.0-only
"""Settings that are known not to work together, each found by trying: `margay-slurm check`. A rule yields lines; each says what
happens, not only what is set. rules at the end has them in the order in which they are told."""

import os
import pwd
import re
import socket
import stat

from . import hosts, setup, vm_file
from .config import NODE, VM
from .errors import ClusterError
from .slurm_conf import SlurmConf

# Below this a pause of a VM, or of its node, costs its job.
SLURMD_TIMEOUT = 60
# slurmctld looks through all jobs that wait each 60 s unless this says otherwise, and its backfill each 30 s.
SCHED_INTERVAL = 5
# A requeued job waits for this, 120 s if nothing is said. slurmctld tries for 12 s to give a lost node the order that ends its job,
# and that has the job's number only: the next run of the job, if it is on that node by then, is the one that is noted as over.
# Its node is never free again then: idle for sinfo, and taken for the scheduler.
CRED_EXPIRE, SLURM_LEAST = 20, 5


class Site:
    """What the rules look at."""

    def __init__(self, config, folder):
        self.config, self.folder = config, folder
        self.conf = SlurmConf(folder)
        try:
            self.version = tuple(int(part) for part in setup.version().split(".")[:2])
        except ClusterError:
            self.version = None


def included(site):
    path = os.path.join(site.folder, "slurm.conf")
    if not setup.is_included(path):
        yield "%s does not include %s: no node of it is Slurm's" % (path, setup.INCLUDED)
        return
    with open(os.path.join(site.folder, setup.INCLUDED), encoding="utf-8") as f:
        if f.read() != setup.lines(site.config):
            yield "%s is older than %s: run margay-slurm setup" % (setup.INCLUDED, site.config.path)


def twice(site):
    for key, _ in setup.settings(site.config, ""):
        places = site.conf.settings.get(key.lower(), [])
        if len(places) > 1:
            yield "%s stands in slurm.conf more than once: only the last counts, %s of %s" % (key, *places[-1])


def suspending(site):
    if site.conf.number("SuspendTime", -1) == -1:
        yield "SuspendTime is -1: that ends resuming, too, and jobs wait for ever"
    if site.conf.number("ResumeTimeout", 60) <= site.config.order_timeout:
        yield "ResumeTimeout is %d s and order_timeout %d s: nodes count as lost while they still get their image" % (
            site.conf.number("ResumeTimeout", 60), site.config.order_timeout)
    if site.config.stop_timeout >= site.config.order_timeout:
        yield "stop_timeout is %d s and order_timeout %d s: a VM that takes its time to end counts as a node that is lost" % (
            site.config.stop_timeout, site.config.order_timeout)


def prolog(site):
    if not site.conf.get("PrologSlurmctld"):
        yield "PrologSlurmctld is not set: jobs start up to 30 s after their nodes are up, and may get a VM of another job"


def waiting(site):
    """Nothing tells the scheduler of a node that is powered down: it looks by itself."""
    found = re.search(r"\bsched_interval=(\d+)", site.conf.get("SchedulerParameters"))
    if not found or int(found[1]) > SCHED_INTERVAL:
        yield ("SchedulerParameters lacks sched_interval=2: a job that waits for nodes begins up to 30 s after they are free; "
               "%d and less is good" % SCHED_INTERVAL)


def losing(site):
    timeout = site.conf.number("SlurmdTimeout", 300)
    if timeout == 0:
        yield "SlurmdTimeout is 0: a node whose VM has died is never noticed, and its job runs for ever"
    elif timeout < SLURMD_TIMEOUT:
        yield "SlurmdTimeout is %d s: a VM that is paused for longer loses its job; %d and more is good" % (timeout, SLURMD_TIMEOUT)
    if site.conf.get("JobRequeue", "1") == "0":
        yield "JobRequeue is 0: a node that does not start costs its job"


def requeued(site):
    found = re.search(r"cred_expire=(\d+)", site.conf.get("AuthInfo"))
    if found and SLURM_LEAST <= int(found[1]) < CRED_EXPIRE:
        yield ("AuthInfo has cred_expire=%s: a requeued job may start while the end of its lost run is still on its way, and its "
               "node is never free again; %d and more is good" % (found[1], CRED_EXPIRE))


def health(site):
    if not site.conf.get("HealthCheckProgram"):
        yield "HealthCheckProgram is not set: nobody looks whether a VM is well before its job begins"
    elif site.conf.number("HealthCheckInterval", 0) == 0:
        yield "HealthCheckInterval is 0: a VM is looked at when its slurmd starts, and not any more"


def authentication(site):
    if site.conf.get("AuthType", "auth/munge") != "auth/munge":
        yield "AuthType is %s: what a VM is told is a key of munge" % site.conf.get("AuthType")
    user = site.conf.get("SlurmUser", "root")
    try:
        who = pwd.getpwnam(user)
        status = os.stat(site.config.munge_key)
    except KeyError:
        yield "SlurmUser is %s: there is no such user" % user
        return
    except FileNotFoundError:
        yield "%s is not there: no VM would get the cluster's key" % site.config.munge_key
        return
    if status.st_uid != who.pw_uid:
        yield "%s is not %s's: resume, which runs as %s, cannot read it" % (site.config.munge_key, user, user)
    if stat.S_IMODE(status.st_mode) & 0o077:
        yield "%s may be read by others than its owner: who has the key can stop the controller" % site.config.munge_key


def granted(site):
    for group in site.config.groups:
        try:
            with open(group.vm, encoding="utf-8") as f:
                text = f.read()
            vm_file.check_grants(text, group.vm)
        except FileNotFoundError:
            yield "[%s]: %s is not there" % (group.title, group.vm)
            continue
        except ClusterError as error:
            yield "[%s]: %s" % (group.title, error)
            continue
        memory, cpus = vm_file.memory(text), dict(vm_file.keys(text)).get("cpus", "")
        if memory is not None and memory >> 20 <= group.memory:
            yield "[%s]: memory = %d, and %s grants %d MiB, of which the kernel takes some: Slurm drains such nodes" % (
                group.title, group.memory, group.vm, memory >> 20)
        if cpus.isdigit() and int(cpus) != group.cpus:
            yield "[%s]: cpus = %d, and %s grants %s: Slurm drains nodes that have fewer" % (
                group.title, group.cpus, group.vm, cpus)


def names(site):
    for group in site.config.groups:
        known = [*group.names, *(group.management_of(name) for name in group.names if name in site.config.shared)]
        unknown = [name for name in known if not resolves(name)]
        if unknown:
            yield "[%s]: %s: %d names have no address here, the first is %s: the controller would not find their slurmd" % (
                group.title, "/etc/hosts or DNS", len(unknown), unknown[0])


def resolves(name):
    try:
        socket.gethostbyname(name)
    except OSError:
        return False
    return True


def nodes_of(site, partition):
    if partition.get("nodes") == "ALL":
        return set(site.config.by_node) | set(map(site.config.management_of, site.config.shared))
    return set(hosts.expand(partition.get("nodes", "")))


def management_vms(site):
    """Of nodes that jobs may have without an image."""
    excluded = site.conf.get("SuspendExcParts").split(",")
    for partition in site.config.partitions:
        if partition.owner == NODE and partition.name not in excluded:
            yield "SuspendExcParts lacks %s: its nodes count as powered down after SuspendTime, and nobody powers them up" % (
                partition.name)
        if partition.owner == NODE and "state=" in partition.slurm.lower():
            yield "[partition %s]: slurm = %s: State= comes back at each scontrol reconfigure, whoever has the node" % (
                partition.name, partition.slurm)


def partitions(site):
    judged = [partition.name for partition in site.config.partitions if partition.owner == VM]
    for partition in site.conf.partitions:
        has = nodes_of(site, partition)
        own = has & set(site.config.by_node)
        name = partition["partitionname"]
        both = sorted(node for node in site.config.shared if {node, site.config.management_of(node)} <= has)
        if both:
            yield "partition %s has %s and %s, which are one node: a job could ask for both" % (
                name, both[0], site.config.management_of(both[0]))
        if own and partition.get("oversubscribe", "").upper() != "EXCLUSIVE":
            yield "partition %s is not OverSubscribe=EXCLUSIVE: two jobs would share a VM, and the image of the first" % name
        if own and name not in judged:
            yield "partition %s has %s, too: its jobs' images are not judged at submission" % (name, sorted(own)[0])
        if "powerdownonidle" in partition and site.version and site.version < (23, 2):
            yield "partition %s says PowerDownOnIdle, which Slurm %d.%02d does not know: slurmctld does not start" % (
                name, *site.version)


def cgroups(site):
    """22.05 has no plugin of that name, and its slurmd does not start."""
    path = os.path.join(site.folder, "cgroup.conf")
    if not os.path.exists(path) or not site.version or site.version >= (23, 2):
        return
    with open(path, encoding="utf-8", errors="replace") as f:
        if "cgroupplugin=disabled" in f.read().lower().replace(" ", ""):
            yield "cgroup.conf says CgroupPlugin=disabled, which Slurm %d.%02d does not know: no slurmd starts" % site.version


def programs(site):
    for key in setup.PROGRAMS:
        path = site.conf.get(key)
        if path and not os.access(path, os.X_OK):
            yield "%s is %s: that cannot be run" % (key, path)


RULES = (included, twice, suspending, prolog, waiting, losing, requeued, health, authentication, granted, names, management_vms,
         partitions, cgroups, programs)


def problems(config, folder):
    site = Site(config, folder)
    return [line for rule in RULES for line in rule(site)]
