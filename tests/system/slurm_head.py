# SPDX-License-Identifier: GPL-2.0-only
"""The head of the cluster in namespaces: set up by the lines of docs/cluster.md, behind Slurm's own, which are here. It answers at
a socket: commands on it, orders to nodes (slurm_ssh.py), nodes that start anew. Arguments: all nodes."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import slurm_machines
import slurm_typed
from slurm_machines import HERE, HEAD_ADDRESS, WORLD, own, run, write

# cred_expire: a job that is requeued waits as long. Not less than `margay-slurm check` asks for: the order that ends the lost run
# would come to the next run's VM.
SLURM_CONF = """\
ClusterName=test
SlurmctldHost=head(%s)
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=cred_expire=20
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdSpoolDir=/var/spool/slurmd
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=%s/slurmctld.log
DebugFlags=Power
SlurmctldDebug=debug
SlurmdTimeout=60
KillWait=2
MinJobAge=600
SchedulerParameters=sched_interval=2,sched_min_interval=200000
"""
# What this site changes of the example: all that stands there but for `controller`, `vm` and the store.
CHANGED = {"default_image": "debian13-mpi", "cpus": "2", "memory": "200", "network": slurm_machines.NETWORK,
           "images": "debian13-mpi rocky9 mpi handed raw large damaged"}
# Times are for a machine that does other things as well; where it is idle none of the long ones is waited for.
ADDED = {"ssh": "/usr/bin/python3 -B %s/slurm_ssh.py" % HERE, "order_timeout": "400", "boot_timeout": "600", "stop_timeout": "2",
         "retry_wait": "2", "health_interval": "2", "reboot_timeout": "120",
         "admin_ssh": "/usr/bin/python3 -B %s/slurm_ssh.py --admin" % HERE, "upgrade": "install-margay {version}"}
# Two of the nodes may be their management VMs', too.
SHARED = """
[partition margay]
owner = vm
nodes = n[1-%d]
options = Default=YES MaxTime=1-0

[partition bare]
owner = node
nodes = n[1-2]
cpus = 1
memory = 100
"""
VM_FILE = "memory = 256M\ncpus = 2\ncmdline = quiet\n"


def slurm_version():
    """(22, 5)"""
    text = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]
    return tuple(int(part) for part in text.split(".")[:2])


def keep_log():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind("/dev/log")
    os.chmod("/dev/log", 0o777)
    with open(os.path.join(WORLD, "syslog"), "ab", buffering=0) as f:
        while True:
            f.write(listener.recv(65536).rstrip(b"\0\n") + b"\n")


# ---- its set-up ----------------------------------------------------------------------------------


def before_it_is_typed():
    """What the page says is there: munge as its package starts it, Slurm's own lines, a store."""
    key = os.urandom(1024)
    write(WORLD + "/munge.key", key, 0o400)
    write("/etc/munge/munge.key", key, 0o400)
    shutil.chown("/etc/munge/munge.key", "munge", "munge")
    own("/run/munge", "munge", 0o755)
    run("runuser", "-u", "munge", "--", "/usr/sbin/munged")
    # The user of the tests has a shell, which salloc starts.
    run("usermod", "--shell", "/bin/sh", "daemon")
    # 22.05 knows no way without; the guests mount one of the first version for it.
    write("/etc/slurm/cgroup.conf", "CgroupPlugin=%s\n" % ("disabled" if slurm_version() >= (23, 2) else "cgroup/v1"))
    write("/etc/slurm/slurm.conf", SLURM_CONF % (HEAD_ADDRESS, WORLD))
    write(WORLD + "/slurmctld.log", "")
    shutil.chown(WORLD + "/slurmctld.log", "slurm")
    own("/var/lib/slurm/slurmctld", "slurm")
    serve_store()


def serve_store():
    """By a web server, at http://head/images, which writes down what it is asked for."""
    os.mkdir("/srv/images")
    run("mount", "--bind", WORLD + "/store", "/srv/images")
    with open(WORLD + "/web.log", "wb") as log:
        subprocess.Popen([sys.executable, "-m", "http.server", "--directory", "/srv", "80"], stdin=subprocess.DEVNULL, stdout=log,
                         stderr=log)


def change_site_file(nodes):
    """As the page tells its reader, behind the line that brings the example."""
    path = "/etc/margay/cluster.conf"
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for key, value in CHANGED.items():
        text, count = re.subn("^%s =.*$" % key, "%s = %s" % (key, value), text, flags=re.MULTILINE)
        assert count == 1, key
    text, count = re.subn(r"^\[nodes .*\]$", "%s\n[nodes n[1-%d]]" % (
        "\n".join("%s = %s" % pair for pair in ADDED.items()), len(nodes)), text, flags=re.MULTILINE)
    assert count == 1
    write(path, text + SHARED % len(nodes))
    write("/etc/margay/compute.vm", VM_FILE)


def set_up(nodes):
    before_it_is_typed()
    first, settings, begin, ask = slurm_typed.blocks("head")
    slurm_typed.run(first)
    change_site_file(nodes)
    slurm_typed.run(settings)
    shutil.copy("/etc/margay/ssh/id_ed25519.pub", slurm_typed.FOLDER + "/slurm.pub")
    slurm_typed.run(begin)
    while subprocess.run(["scontrol", "ping"], capture_output=True, text=True, check=False).stdout.count(" UP") == 0:
        time.sleep(0.05)
    return ask


# ---- the nodes' management VMs -------------------------------------------------------------------


class Management:
    """{node: process in its namespaces}"""

    def __init__(self, nodes):
        self.nodes, self.begun, self.inside = nodes, {}, {}

    def start(self, *nodes):
        """Again, if it is there: all that its processes knew is gone."""
        for node in nodes:
            self.end(node)
            for folder in "run", "cache":
                os.makedirs(os.path.join(WORLD, "nodes", node, folder), exist_ok=True)
            with open(os.path.join(WORLD, "nodes", node, "management.log"), "ab") as log:
                self.begun[node] = slurm_machines.new(["slurm_management.py", node, *self.nodes], "-n", "-p", "-f", "--kill-child",
                                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        for node in nodes:
            self.inside[node] = self.child_of(self.begun[node])
            # The same each time: its neighbours know it.
            slurm_machines.link(self.inside[node], "m%d" % self.inside[node], "02:00:00:00:01:%02x" % self.nodes.index(node))
        for node in nodes:
            if self.begun[node].stdout.readline() != b"ready\n":
                raise RuntimeError("no management VM of " + node)

    def end(self, node):
        """With all that was started there from outside, as by ssh; not with the compute VM, whose folders are its own. One that is
        off has nothing."""
        if node not in self.begun:
            return
        mine = os.readlink("/proc/%d/ns/mnt" % self.inside[node])
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink("/proc/%s/ns/mnt" % pid) == mine:
                    os.kill(int(pid), signal.SIGKILL)
        process = self.begun.pop(node)
        process.kill()
        process.wait()

    def reset(self, node, lost=("vms", "images", "run", "cache")):
        """The machine starts anew: VMs, images, and what its management VM knew are gone. It runs what was installed last."""
        top = os.path.join(WORLD, "nodes", node)
        self.end(node)
        with contextlib.suppress(OSError), open(top + "/vms/compute.json", encoding="utf-8") as f:
            os.kill(json.load(f)["pid"], signal.SIGKILL)
        for folder in lost:
            shutil.rmtree(os.path.join(top, folder), ignore_errors=True)
        if not os.path.exists(top + "/faults/old-boots"):
            shutil.copy(top + "/installed", top + "/version")
        if not os.path.exists(top + "/faults/stays-off"):
            self.start(node)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(top + "/faults/dead")

    def reboot(self, node):
        """It answers nobody meanwhile."""
        write(os.path.join(WORLD, "nodes", node, "faults", "dead"), "")
        os.unlink(os.path.join(WORLD, "nodes", node, "reboots"))
        threading.Thread(target=self.reset, args=(node, ("vms", "images", "run")), daemon=True).start()

    def child_of(self, process):
        """The first process inside: nsenter and unshare become the one that we started."""
        while True:
            with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="ascii") as f:
                found = f.read().split()
            if found and os.readlink("/proc/%s/ns/net" % found[0]) != os.readlink("/proc/self/ns/net"):
                return int(found[0])
            time.sleep(0.01)

    def command(self, node):
        """What ssh's server there runs for the head's key, whatever it is asked for."""
        with open("/proc/%d/root/root/.ssh/authorized_keys" % self.inside[node], encoding="ascii") as f:
            options, key = re.fullmatch(r"(\S+) (ssh-ed25519 \S+).*\n", f.read()).groups()
        with open("/etc/margay/ssh/id_ed25519.pub", encoding="ascii") as f:
            assert f.read().startswith(key)
        return re.fullmatch(r'command="([^"]*)",restrict', options)[1]

    def ssh(self, host, data, typed=None):
        """An order to a node's management VM, or what its administrator types; it may be dead, deaf, or slow."""
        node = host.partition("-mgmt")[0]
        fault = os.path.join(WORLD, "nodes", node, "faults")
        if os.path.exists(os.path.join(fault, "dead")):
            return {"status": 255, "out": "", "err": "ssh: connect to host %s port 22: No route to host\n" % host}
        while os.path.exists(os.path.join(fault, "hang")):
            time.sleep(0.1)
        command = ["sh", "-c", typed] if typed else shlex.split(self.command(node))
        done = subprocess.run(["nsenter", "-t", str(self.inside[node]), "-m", "-n", "-u", *command],
                              input=data, capture_output=True, text=True, check=False,
                              env={**os.environ, "MODEL_NODE": node,
                                   "PATH": ":".join((WORLD + "/bin", slurm_typed.STAND_INS, os.environ["PATH"]))})
        if os.path.exists(os.path.join(WORLD, "nodes", node, "reboots")):
            self.reboot(node)
        return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


# ---- what is asked of it -------------------------------------------------------------------------


def answer_run(value):
    """A command on the head; as one of its users if that is said."""
    words = (["runuser", "-u", value["user"], "--"] if value.get("user") else []) + value["run"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                          cwd=os.path.join(WORLD, "home"))
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


def answer(value, management):
    if "run" in value:
        return answer_run(value)
    if "anew" in value:
        management.start(value["anew"])
        return {"status": 0, "out": "", "err": ""}
    if "reset" in value:
        management.reset(value["reset"])
        return {"status": 0, "out": "", "err": ""}
    return management.ssh(value["host"], value.get("data"), value.get("typed"))


def serve(listener, management):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection, management), daemon=True).start()


def serve_one(connection, management):
    with contextlib.suppress(BrokenPipeError), connection, connection.makefile("rwb") as f:
        f.write(json.dumps(answer(json.loads(f.readline()), management)).encode() + b"\n")


def main(nodes):
    slurm_machines.own_folders("head", nodes)
    slurm_machines.own_devices()
    threading.Thread(target=keep_log, daemon=True).start()
    ask = set_up(nodes)
    management = Management(nodes)
    management.start(*nodes)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(WORLD, "socket"))
    os.chmod(os.path.join(WORLD, "socket"), 0o777)
    listener.listen(64)
    threading.Thread(target=serve, args=(listener, management), daemon=True).start()
    slurm_typed.run(ask)
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
