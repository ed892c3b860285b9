# SPDX-License-Identifier: GPL-2.0-only
"""The site's file, /etc/margay/cluster.conf: which nodes there are, what their compute VMs get, and how they are commanded."""

import configparser
import ipaddress
import os
import shlex

from . import hosts
from .errors import ClusterError

PATH = "/etc/margay/cluster.conf"
# Debian's SlurmUser has no home: its key, and whom it knows, lie beside the site's file.
SSH = ("ssh -o IdentityFile=/etc/margay/ssh/id_ed25519 -o UserKnownHostsFile=/etc/margay/ssh/known_hosts -o BatchMode=yes "
       "-o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 -l root")
# The administrator's, who upgrades: that key opens more than margay-node.
ADMIN_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 -l root"
# Nobody is there to answer: a file of /etc that the site has changed stays as it is.
UPGRADE = ("export DEBIAN_FRONTEND=noninteractive; apt-get -q update && apt-get -qy -o Dpkg::Options::=--force-confdef "
           "-o Dpkg::Options::=--force-confold install margay={version} margay-tools={version}")
# What stands in it for nothing.
CLUSTER = {"controller": None, "store": None, "keys": "/etc/margay/keys", "munge_key": "/etc/margay/munge.key", "ssh": SSH,
           "state": "/var/lib/margay-slurm", "parallel": "128", "at_work": "1024", "order_timeout": "120", "boot_timeout": "300",
           "default_image": "", "allow_downgrade": "", "partition": "margay", "partition_options": "", "stop_timeout": "30",
           "retry_wait": "60", "health_interval": "60", "admin_ssh": ADMIN_SSH, "upgrade": UPGRADE, "upgrade_timeout": "1800",
           "reboot": "systemctl reboot", "reboot_timeout": "900"}
NODES = {"vm": None, "cpus": None, "memory": None, "management": "{node}-mgmt", "images": None, "network": "dhcp", "gateway": "",
         "slurm": ""}
PARTITION = {"owner": None, "nodes": None, "options": "", "cpus": "", "memory": "", "slurm": ""}
SMALLEST = {"parallel": 1, "at_work": 1, "order_timeout": 1, "boot_timeout": 1, "stop_timeout": 0, "retry_wait": 1,
            "health_interval": 0, "upgrade_timeout": 1, "reboot_timeout": 1}
# Whose slurmd has a node: that in the compute VM of a job's image, or that in the node's management VM.
VM, NODE = OWNERS = ("vm", "node")


class Group:
    """Nodes that are alike: a section of the file."""

    def __init__(self, title, values):
        self.title = title
        self.names = hosts.expand(title.split(None, 1)[1])
        self.vm, self.management, self.slurm = values["vm"], values["management"], values["slurm"]
        self.images = values["images"].split()
        self.cpus, self.memory = number(title, "cpus", values["cpus"], 1), number(title, "memory", values["memory"], 1)
        self.gateway = values["gateway"]
        self.network = None if values["network"] == "dhcp" else network(title, values["network"])
        if len(self.names) > 1 and "{node}" not in self.management:
            raise ClusterError("[%s]: management = %s is one host for all of them: write {node} where the name differs" %
                               (title, self.management))

    def management_of(self, node):
        return self.management.replace("{node}", node)


class Partition:
    """Nodes that one kind of slurmd offers to jobs: a section of the file."""

    def __init__(self, name, values):
        self.name, self.owner, self.options, self.slurm = name, values["owner"], values["options"], values["slurm"]
        title = "partition " + name
        self.nodes = hosts.expand(values["nodes"])
        if self.owner not in OWNERS:
            raise ClusterError("[%s]: owner = %s: expected vm or node" % (title, self.owner))
        if self.owner == NODE:
            self.cpus, self.memory = number(title, "cpus", values["cpus"], 1), number(title, "memory", values["memory"], 1)
        elif values["cpus"] or values["memory"] or values["slurm"]:
            raise ClusterError("[%s]: cpus, memory and slurm of a compute VM stand in [nodes NAMES]" % title)


class Config:
    def __init__(self, path, values, groups, partitions=()):
        self.path = path
        for key, value in values.items():
            setattr(self, key, number("cluster", key, value, SMALLEST[key]) if key in SMALLEST else value)
        self.ssh, self.admin_ssh = shlex.split(self.ssh), shlex.split(self.admin_ssh)
        self.groups = [Group(title, group) for title, group in groups]
        self.by_node = {}
        for group in self.groups:
            for name in group.names:
                if name in self.by_node:
                    raise ClusterError("%s: [%s]: %s stands in [%s], too" % (path, group.title, name, self.by_node[name].title))
                self.by_node[name] = group
        self.partitions = [Partition(*partition) for partition in partitions]
        if VM not in [partition.owner for partition in self.partitions]:
            names = ",".join(group.title.split(None, 1)[1] for group in self.groups)
            self.partitions.insert(0, Partition(self.partition, {**PARTITION, "owner": VM, "nodes": names,
                                                                 "options": self.partition_options}))
        self.shared = self.find_shared()

    def find_shared(self):
        """{node: the partition of its management VM} of the nodes that may be either's."""
        found = {}
        for partition in self.partitions:
            for node in partition.nodes:
                self.group(node)
                if partition.owner == NODE and found.setdefault(node, partition) is not partition:
                    raise ClusterError("%s: %s stands in [partition %s] and [partition %s]: its management VM is of one" % (
                        self.path, node, found[node].name, partition.name))
        return found

    def management_of(self, node):
        """Its management VM: the host, and what Slurm calls it where jobs run in it."""
        return self.group(node).management_of(node)

    @property
    def images(self):
        """Names of all that some node may run."""
        return sorted({name for group in self.groups for name in group.images})

    def group(self, node):
        if node not in self.by_node:
            raise ClusterError("%s: no section has a node %s" % (self.path, node))
        return self.by_node[node]


def number(title, key, text, smallest):
    if not text.isdigit() or int(text) < smallest:
        raise ClusterError("[%s]: %s = %s: expected a number of at least %d" % (title, key, text, smallest))
    return int(text)


def network(title, text):
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ClusterError("[%s]: network = %s: expected dhcp, or a network as 10.1.0.0/16" % (title, text)) from error


def section(path, parsed, title, known):
    """Its keys, with what stands for those that are missing; one that is unknown is a mistyped one."""
    values = dict(parsed[title])
    for key in values:
        if key not in known:
            raise ClusterError("%s: [%s]: unknown key %s" % (path, title, key))
    for key, value in known.items():
        if key not in values and value is None:
            raise ClusterError("%s: [%s]: %s is missing" % (path, title, key))
    return {**known, **values}


def read(path=None):
    path = path or os.environ.get("MARGAY_CLUSTER_CONF", PATH)
    parsed = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        with open(path, encoding="utf-8") as f:
            parsed.read_file(f)
    except (configparser.Error, UnicodeDecodeError) as error:
        raise ClusterError("%s: %s" % (path, " ".join(str(error).split()))) from error
    titles = parsed.sections()
    if "cluster" not in titles:
        raise ClusterError("%s: there is no [cluster]" % path)
    groups, partitions = [], []
    for title in titles:
        kind, _, names = title.partition(" ")
        if kind == "nodes" and names.strip():
            groups.append((title, section(path, parsed, title, NODES)))
        elif kind == "partition" and names.strip():
            partitions.append((names.strip(), section(path, parsed, title, PARTITION)))
        elif title != "cluster":
            raise ClusterError("%s: [%s]: expected [cluster], [nodes NAMES] or [partition NAME]" % (path, title))
    if not groups:
        raise ClusterError("%s: there is no [nodes NAMES]" % path)
    return Config(path, section(path, parsed, "cluster", CLUSTER), groups, partitions)
