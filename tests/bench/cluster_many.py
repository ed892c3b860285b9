# SPDX-License-Identifier: GPL-2.0-only
"""10,000 nodes and a job of 1,000 of them: what the head's programs do then, and how long that takes.

Real: Debian's munge and slurmctld, a slurmd for each node that is up, and what `margay-slurm setup` makes slurmctld call. Modelled:
ssh (cluster_many.c), and the nodes: each takes `order` seconds to start a VM, which boots for `boot` seconds, both by chance
between two limits; then its slurmd starts. All slurmds are processes of the head, each with a port and a slurm.conf of its own.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "tests", "bench")
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "system"), os.path.join(TOP, "tests", "unit"), os.path.join(TOP, "tools")]

import cluster_log  # noqa: E402
import slurm_guest  # noqa: E402
import slurm_head  # noqa: E402
import slurm_images  # noqa: E402
import slurm_machines  # noqa: E402
from slurm_machines import run, write  # noqa: E402

WORLD = slurm_machines.WORLD
FIRST_PORT = 20000
IMAGE = "mpi"
SITE = """\
[cluster]
controller = head
store = {world}/store
keys = {world}/keys
munge_key = {world}/margay-munge.key
ssh = {world}/ssh
state = {world}/state
default_image = mpi
partition_options = Default=YES MaxTime=1-0
health_interval = 0
order_timeout = 900
boot_timeout = 1800
{more}
[nodes n[1-{nodes}]]
vm = {world}/compute.vm
cpus = 2
memory = 200
images = mpi
network = 10.0.0.0/8
slurm = NodeAddr={head} Port=[{first}-{last}]
"""
# Slurm's tree would need each slurmd to know the others' ports.
HEAD_CONF = "MailProg=/bin/true\nTreeWidth=65533\nInclude margay.conf\n"
NODE_CONF = """\
ClusterName=test
SlurmctldHost=head(%s)
SlurmUser=slurm
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdSpoolDir=/run/nodes/%%n
SlurmdPidFile=/run/nodes/%%n.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
DebugFlags=NO_CONF_HASH
SlurmdTimeout=60
NodeName=%s NodeAddr=%s Port=%d CPUs=2 RealMemory=200
PartitionName=margay Nodes=%s
"""
PROGRAMS = ("resume", "suspend", "prolog", "resume-failed")


# ---- the nodes' model ------------------------------------------------------------------------


class Nodes:
    """All of them, in one process."""

    def __init__(self, order, boot, seed):
        self.order, self.boot, self.random = order, boot, random.Random(seed)
        self.slurmd, self.orders = {}, {"start": 0, "end": 0}
        self.at_work, self.most_at_work, self.slowest = 0, 0, 0.0
        self.first, self.last, self.booted = None, None, None

    async def serve(self, reader, writer):
        value = json.loads(await reader.readline())
        self.orders[value["order"]] += 1
        if value["order"] == "start":
            await self.start(value, writer)
        elif value["node"] in self.slurmd:
            process = self.slurmd.pop(value["node"])
            process.kill()
            process.wait()
        with contextlib.suppress(ConnectionError):
            writer.write(b'{"done": true}\n')
            await writer.drain()
        writer.close()

    async def start(self, value, writer):
        order, boot = self.random.uniform(*self.order), self.random.uniform(*self.boot)
        self.slowest = max(self.slowest, order + boot)
        self.last = time.time()
        self.first = self.first or self.last
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        writer.write(b'{"taken": true}\n')
        await asyncio.sleep(order)
        self.at_work -= 1
        asyncio.get_running_loop().call_later(boot, self.is_up, value["node"])

    def is_up(self, node):
        self.booted = time.time()
        path = "/run/nodes/%s.conf" % node
        write(path, NODE_CONF % (slurm_machines.HEAD_ADDRESS, node, slurm_machines.HEAD_ADDRESS, FIRST_PORT + int(node[1:]), node))
        self.slurmd[node] = subprocess.Popen(["slurmd", "-D", "-b", "-N", node, "-f", path], stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def told(self):
        return {"orders": self.orders, "slowest": self.slowest, "most_at_work": self.most_at_work, "first": self.first,
                "last": self.last, "booted": self.booted}


# ---- the head: the first process of its namespaces -------------------------------------------


def own_programs():
    """In a folder that SlurmUser may read, each with what writes down what it takes."""
    tools = os.path.join(TOP, "tools")
    os.mkdir(WORLD + "/tools")
    for name in os.listdir(tools):
        source = os.path.join(tools, name)
        if name in ("margay_slurm", "margay_images"):
            shutil.copytree(source, WORLD + "/tools/" + name)
        elif name.startswith("margay"):
            if os.path.isfile(source):
                shutil.copy(source, WORLD + "/tools/")
    for name in PROGRAMS:
        path = WORLD + "/tools/margay-slurm-" + name
        os.rename(path, path + "-itself")
        write(path, "#!/bin/sh\nexec %s/ssh %s %s-itself \"$@\"\n" % (WORLD, name, path), 0o755)


def set_up(words):
    """slurm.conf, by `margay-slurm setup`; munge; the controller and the one slurmd."""
    slurm_machines.make_world(words["folder"])
    slurm_machines.own_folders("head", [])
    slurm_machines.own_devices()
    threading.Thread(target=slurm_head.keep_log, daemon=True).start()
    with open("/etc/hosts", "a", encoding="ascii") as f:
        f.writelines("10.%d.%d.%d n%d\n" % (8 + (n >> 16), n >> 8 & 255, n & 255, n) for n in range(1, words["nodes"] + 1))
    own_programs()
    slurm_guest.cgroups()
    os.mkdir("/run/nodes")
    key = os.urandom(1024)
    for path, user in (("/etc/munge/munge.key", "munge"), (WORLD + "/margay-munge.key", "slurm")):
        write(path, key, 0o400)
        shutil.chown(path, user, user)
    slurm_machines.own("/run/munge", "munge", 0o755)
    run("runuser", "-u", "munge", "--", "/usr/sbin/munged")
    slurm_head.own("/var/lib/slurm/slurmctld", "slurm")
    write(WORLD + "/compute.vm", slurm_head.VM_FILE)
    write("/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n")
    write(WORLD + "/slurmctld.log", "")
    shutil.chown(WORLD + "/slurmctld.log", "slurm")
    write("/run/nodes/cgroup.conf", "CgroupPlugin=cgroup/v1\n")
    conf = (slurm_head.SLURM_CONF % (slurm_machines.HEAD_ADDRESS, WORLD)).replace("=Power", "=Power,NO_CONF_HASH")
    write("/etc/slurm/slurm.conf", conf + HEAD_CONF)
    write("/etc/margay/cluster.conf", SITE.format(world=WORLD, nodes=words["nodes"], more=words["more"], first=FIRST_PORT + 1,
                                                  last=FIRST_PORT + words["nodes"], head=slurm_machines.HEAD_ADDRESS))
    run(WORLD + "/tools/margay-slurm", "setup", stdout=2)
    os.makedirs(WORLD + "/state", exist_ok=True)
    run("chown", "-R", "slurm:", WORLD + "/state")
    write(WORLD + "/usage", "", 0o666)


def begin_slurm():
    run("runuser", "-u", "slurm", "--", "slurmctld")
    run("sh", "-c", "until scontrol ping | grep -q ' UP'; do sleep 0.2; done")


def submit(count):
    script = "#!/bin/sh\ntrue\n"
    write(WORLD + "/job.sh", script, 0o755)
    out = subprocess.run(["runuser", "-u", "daemon", "--", "sbatch", "--parsable", "-N", str(count), "-o", "/dev/null",
                          "-D", "/", WORLD + "/job.sh"], check=True, capture_output=True, text=True).stdout
    return int(out)


class Watch(threading.Thread):
    """How many processes SlurmUser has at most, beside the controller's own."""

    def __init__(self):
        super().__init__(daemon=True)
        self.user = os.stat("/var/lib/slurm/slurmctld").st_uid
        self.most = 0
        self.start()

    def run(self):
        while True:
            found = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if self.is_one(pid)]
            self.most = max(self.most, len(found))
            time.sleep(2)

    def is_one(self, pid):
        with contextlib.suppress(OSError):
            if os.stat("/proc/" + pid).st_uid == self.user:
                with open("/proc/%s/comm" % pid, encoding="utf-8") as f:
                    return not f.read().startswith("slurm")
        return False


def cpu_of(name):
    """Seconds of CPU of the processes with this name."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as f:
            head, _, tail = f.read().rpartition(")")
            if head.partition("(")[2] == name:
                total += sum(map(int, tail.split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def states():
    """{state: nodes}; empty where the controller does not answer in time."""
    out = subprocess.run(["sinfo", "-h", "-o", "%T %D"], check=False, capture_output=True, text=True).stdout
    return dict(line.split() for line in out.splitlines())


async def head(words):
    set_up(words)
    begin_slurm()
    nodes = Nodes(words["order"], words["boot"], words["seed"])
    server = await asyncio.start_unix_server(nodes.serve, WORLD + "/nodes.socket", backlog=4096)
    os.chmod(WORLD + "/nodes.socket", 0o777)
    async with server:
        await asyncio.sleep(5)
        watch, before = Watch(), cpu_of("slurmctld")
        job = await asyncio.to_thread(submit, words["job"])
        end = time.monotonic() + words["limit"]

        def over():
            with open(WORLD + "/slurmctld.log", encoding="utf-8", errors="replace") as f:
                return "JobId=%d done" % job in f.read()
        while not over() and time.monotonic() < end:
            await asyncio.sleep(1)
        while nodes.orders["end"] < nodes.orders["start"] and time.monotonic() < end:
            await asyncio.sleep(1)
        print(json.dumps({**nodes.told(), "job": job, "most_processes": watch.most, "states": await asyncio.to_thread(states),
                          "slurmctld_cpu": cpu_of("slurmctld") - before}), flush=True)


# ---- what a caller sees ----------------------------------------------------------------------


def measure(nodes=10000, job=1000, order=(2.0, 6.0), boot=(8.0, 12.0), seed=1, more="", limit=600, keep=None):
    folder = tempfile.mkdtemp(prefix="margay-many-", dir="/tmp")
    os.chmod(folder, 0o755)
    try:
        key = slurm_images.image_stores.Key(folder + "/key", "site")
        os.mkdir(folder + "/keys")
        shutil.copy(key.public, folder + "/keys")
        slurm_images.push(folder, IMAGE)
        run("cc", "-O2", "-Wall", "-Werror", "-o", folder + "/ssh", HERE + "/cluster_many.c")
        words = {"folder": folder, "nodes": nodes, "job": job, "order": order, "boot": boot, "seed": seed,
                 "more": more, "limit": limit}
        done = subprocess.run(["unshare", "-n", "-m", "-p", "-u", "-i", "-f", "--mount-proc", "--kill-child", "--", sys.executable,
                               "-B", os.path.abspath(__file__), json.dumps(words)], stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        with open(folder + "/slurmctld.log", encoding="utf-8", errors="replace") as f:
            log = f.read()
        with open(folder + "/usage", encoding="ascii") as f:
            found["programs"] = cluster_log.usage(f.read())
        marks = cluster_log.marks(log, found["job"])
        begin = marks["submitted"]
        found["log"] = {name: round(at - begin, 2) for name, at in marks.items()}
        for name in "first", "last", "booted":
            found[name] = found[name] and round(found[name] - begin, 2)
        return found
    finally:
        if keep:
            shutil.copytree(folder, keep, dirs_exist_ok=True, ignore=lambda *_: ["nodes.socket"])
        shutil.rmtree(folder)


if __name__ == "__main__":
    asyncio.run(head(json.loads(sys.argv[1])))
