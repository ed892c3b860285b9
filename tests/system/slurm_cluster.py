# SPDX-License-Identifier: GPL-2.0-only
"""A Slurm cluster in namespaces: one head with Debian's munged and slurmctld, and nodes that are modelled (slurm_node_model.py),
whose compute VMs are namespaces of their own with Debian's munged and slurmd (slurm_guest.py). Nothing outlives the process that
made it: all mounts, networks and processes are in its namespaces.

Real: Slurm, munge, what margay-slurm brings for head and node, the images' store and signatures. Modelled: the hypervisor's answers
to `margay`, what boots in a VM, and ssh, which is a socket here (slurm_ssh.py).
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "tests", "system")
TOOLS = os.path.join(TOP, "tools")
# In all namespaces: what is outside of the machines, as a home directory by NFS, and the state of the modelled hypervisors.
WORLD = "/mnt"
HEAD_ADDRESS, NETWORK = "10.7.0.1", "10.7.0.0/24"
SLURM_CONF = """\
ClusterName=test
SlurmctldHost=head(%s)
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=cred_expire=5
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
SlurmdTimeout=20
KillWait=2
MinJobAge=600
SchedulerParameters=sched_interval=2,sched_min_interval=200000
Include margay.conf
"""
CLUSTER_CONF = """\
[cluster]
controller = head
store = %(world)s/store
keys = /etc/margay/keys
ssh = %(python)s -B %(here)s/slurm_ssh.py
order_timeout = 100
boot_timeout = 120
stop_timeout = 2
retry_wait = 2
default_image = debian
partition_options = Default=YES

[nodes %(nodes)s]
vm = /etc/margay/compute.vm
cpus = 2
memory = 200
images = debian mpi raw large damaged
network = %(network)s
"""
# An ordinary user of Debian's.
USER = "daemon"
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY")
# On a machine that does other things as well.
SECONDS = 240
VM_FILE = "memory = 256M\ncpus = 2\ncmdline = quiet\n"


def slurm_version():
    """(22, 5)"""
    text = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]
    return tuple(int(part) for part in text.split(".")[:2])


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


# ---- inside: the first process of the head's namespaces ---------------------------------------


def overlay(path, state):
    upper, work = os.path.join(state, "upper" + path), os.path.join(state, "work" + path)
    os.makedirs(upper)
    os.makedirs(work)
    run("mount", "-t", "overlay", "none", "-o", "lowerdir=%s,upperdir=%s,workdir=%s" % (path, upper, work), path)


def own_devices():
    """So that /dev/log is ours: what the programs say is read there."""
    run("mount", "-t", "tmpfs", "none", "/run")
    os.mkdir("/run/dev")
    run("mount", "-t", "tmpfs", "none", "/run/dev")
    for name in "null", "zero", "full", "random", "urandom", "tty":
        write("/run/dev/" + name, "")
        run("mount", "--bind", "/dev/" + name, "/run/dev/" + name)
    run("mount", "--move", "/run/dev", "/dev")
    os.mkdir("/dev/shm", 0o777)
    os.symlink("/proc/self/fd", "/dev/fd")


def keep_log():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind("/dev/log")
    os.chmod("/dev/log", 0o777)
    with open(os.path.join(WORLD, "syslog"), "ab", buffering=0) as f:
        while True:
            f.write(listener.recv(65536).rstrip(b"\0\n") + b"\n")


def make_head(folder, nodes):
    """The head's own /etc, /var, /run and network."""
    run("mount", "--make-rprivate", "/")
    run("mount", "--bind", folder, WORLD)
    own_devices()
    os.makedirs("/run/overlays")
    overlay("/etc", "/run/overlays")
    overlay("/var", "/run/overlays")
    socket.sethostname("head")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "br0", "type", "bridge")
    run("ip", "address", "add", HEAD_ADDRESS + "/24", "dev", "br0")
    run("ip", "link", "set", "br0", "up")
    with open("/etc/hosts", "w", encoding="ascii") as f:
        f.write("127.0.0.1 localhost\n%s head\n" % HEAD_ADDRESS)
        f.writelines("10.7.0.%d %s\n" % (11 + i, name) for i, name in enumerate(nodes))


def own(path, user, mode=0o700):
    os.makedirs(path, exist_ok=True)
    shutil.chown(path, user, user)
    os.chmod(path, mode)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(path, mode)


def configure(nodes):
    key = os.urandom(1024)
    write(WORLD + "/munge.key", key, 0o400)
    write("/etc/munge/munge.key", key, 0o400)
    shutil.chown("/etc/munge/munge.key", "munge", "munge")
    write("/etc/margay/munge.key", key, 0o400)
    shutil.chown("/etc/margay/munge.key", "slurm", "slurm")
    shutil.copytree(os.path.join(WORLD, "keys"), "/etc/margay/keys")
    write("/etc/margay/compute.vm", VM_FILE)
    words = {"world": WORLD, "python": "/usr/bin/python3", "here": HERE, "network": NETWORK, "nodes": "n[1-%d]" % len(nodes)}
    write("/etc/margay/cluster.conf", CLUSTER_CONF % words)
    # 22.05 knows no way without; the guests mount one of the first version for it.
    write("/etc/slurm/cgroup.conf", "CgroupPlugin=%s\n" % ("disabled" if slurm_version() >= (23, 2) else "cgroup/v1"))
    write("/etc/slurm/slurm.conf", SLURM_CONF % (HEAD_ADDRESS, WORLD))
    write(WORLD + "/slurmctld.log", "")
    shutil.chown(WORLD + "/slurmctld.log", "slurm")
    own("/var/lib/slurm/slurmctld", "slurm")
    own("/run/munge", "munge", 0o755)
    run(os.path.join(TOOLS, "margay-slurm"), "setup", stdout=sys.stderr)
    run("runuser", "-u", "slurm", "--", os.path.join(TOOLS, "margay-slurm"), "images", stdout=sys.stderr)


def start_controller():
    """Returns when it answers."""
    run("runuser", "-u", "slurm", "--", "slurmctld")
    while subprocess.run(["scontrol", "ping"], capture_output=True, text=True, check=False).stdout.count(" UP") == 0:
        time.sleep(0.05)


def answer_run(value):
    """A command on the head; as one of its users if that is said."""
    words = (["runuser", "-u", value["user"], "--"] if value.get("user") else []) + value["run"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                          cwd=os.path.join(WORLD, "home"))
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


def answer_ssh(value):
    """An order to a node's management VM, which may be dead, deaf, or slow."""
    node = value["host"].partition("-mgmt")[0]
    folder = os.path.join(WORLD, "nodes", node)
    fault = os.path.join(folder, "faults")
    if os.path.exists(os.path.join(fault, "dead")):
        return {"status": 255, "out": "", "err": "ssh: connect to host %s port 22: No route to host\n" % value["host"]}
    while os.path.exists(os.path.join(fault, "hang")):
        time.sleep(0.1)
    os.makedirs(os.path.join(folder, "run"), exist_ok=True)
    # Its own /run, its own store.
    command = "mount --bind %s/run /run && mount -t tmpfs none /srv && mkdir /srv/images && mount --bind %s/store /srv/images && " \
        "exec %s/margay-node" % (folder, WORLD, TOOLS)
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], input=value["data"], capture_output=True, text=True,
                          env={**os.environ, "MODEL_NODE": node, "PATH": os.path.join(WORLD, "bin") + ":" + os.environ["PATH"]},
                          check=False)
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


def serve(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def serve_one(connection):
    with contextlib.suppress(BrokenPipeError), connection, connection.makefile("rwb") as f:
        value = json.loads(f.readline())
        f.write(json.dumps(answer_run(value) if "run" in value else answer_ssh(value)).encode() + b"\n")


def hold(folder, count):
    """The head until its standard input ends. Its children's children are init's, as this is, and reaped."""
    nodes = ["n%d" % (i + 1) for i in range(count)]
    server = os.fork()
    if server:
        while os.wait()[0] != server:
            pass
        return
    make_head(folder, nodes)
    threading.Thread(target=keep_log, daemon=True).start()
    configure(nodes)
    run("runuser", "-u", "munge", "--", "/usr/sbin/munged")
    start_controller()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(WORLD, "socket"))
    os.chmod(os.path.join(WORLD, "socket"), 0o777)
    listener.listen(64)
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


# ---- outside: what a test calls ---------------------------------------------------------------


class Cluster:
    def __init__(self, count, images):
        """images(folder): makes the store and the keys there."""
        self.folder = tempfile.mkdtemp(prefix="margay-slurm-", dir="/tmp")
        os.chmod(self.folder, 0o711)
        self.nodes = ["n%d" % (i + 1) for i in range(count)]
        os.mkdir(self.path("home"))
        os.chmod(self.path("home"), 0o1777)
        for node in self.nodes:
            os.makedirs(self.path("nodes", node, "faults"))
        write(self.path("bin", "margay"), "#!/bin/sh\nexec /usr/bin/python3 -I -S -B %s/slurm_node_model.py \"$@\"\n" % HERE, 0o755)
        images(self.folder)
        with open(self.path("holder.log"), "wb") as log:
            self.holder = subprocess.Popen(["unshare", "-n", "-m", "-p", "-u", "-i", "-f", "--mount-proc", "--kill-child", "--",
                                            sys.executable, "-B", os.path.abspath(__file__), self.folder, str(count)],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        if self.holder.stdout.readline() != b"ready\n":
            self.close(keep=True)
            raise RuntimeError("no cluster: " + self.log("holder.log"))

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def log(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def close(self, keep=False):
        self.holder.stdin.close()
        try:
            self.holder.wait(60)
        except subprocess.TimeoutExpired:
            self.holder.kill()
            self.holder.wait()
        if not keep:
            shutil.rmtree(self.folder)

    def run(self, *words, user=None, status=0):
        """Standard output of a command on the head."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path("socket"))
            with s.makefile("rwb") as f:
                f.write(json.dumps({"run": [str(word) for word in words], "user": user}).encode() + b"\n")
                f.flush()
                done = json.loads(f.readline())
        assert status is None or done["status"] == status, (words, done)
        return done["out"] if status == 0 else done["out"] + done["err"]

    # ---- jobs and nodes

    def submit(self, script, *options, nodes=1):
        """The number of a user's job."""
        name = "job%d.sh" % len(os.listdir(self.path("home")))
        write(self.path("home", name), "#!/bin/sh\n" + script + "\n", 0o755)
        out = self.run("sbatch", "--parsable", "-N", nodes, "-o", "/mnt/home/%j.out", *options, "/mnt/home/" + name, user=USER)
        return int(out)

    def output(self, job):
        return self.log("home/%d.out" % job)

    def job(self, number):
        """{key: value} of what scontrol says of it."""
        return dict(word.split("=", 1) for word in self.run("scontrol", "-o", "show", "job", number).split(" ") if "=" in word)

    def comment(self, number):
        """Why it was ended, by whoever did."""
        found = re.search(r"AdminComment=(.*?)(?: \w+=|\n|$)", self.run("scontrol", "-o", "show", "job", number))
        return found[1] if found else ""

    def until(self, true, what, seconds=SECONDS):
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise AssertionError("%s: not within %d s\n%s" % (what, seconds, self.whole_story()))
            time.sleep(0.2)

    def wait_state(self, number, *states, seconds=SECONDS):
        self.until(lambda: self.job(number)["JobState"] in states, "job %d: %s" % (number, "/".join(states)), seconds)

    def wait_over(self, *numbers, seconds=SECONDS):
        """Their states."""
        for number in numbers:
            self.wait_state(number, *OVER, seconds=seconds)
        return [self.job(number)["JobState"] for number in numbers]

    def node_states(self):
        return dict(line.split() for line in self.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines())

    def wait_free(self, seconds=SECONDS):
        """Until each node is as it was before there were jobs: powered down, neither down nor drained, and nothing left on it."""
        self.until(lambda: set(self.node_states().values()) == {"idle~"} and not self.rests(), "all nodes free", seconds)

    def rests(self):
        """What is left of jobs on the nodes: VMs, their processes, what they were told."""
        found = []
        for node in self.nodes:
            for folder in "vms", "images":
                names = os.listdir(self.path("nodes", node, folder)) if os.path.isdir(self.path("nodes", node, folder)) else []
                found += ["%s: %s/%s" % (node, folder, name) for name in names if not name.startswith("image-")]
        found += self.run("pgrep", "-fa", "[s]lurm_guest.py", status=None).splitlines()
        with open(self.path("munge.key"), "rb") as f:
            key = f.read()
        for top, _, names in os.walk(self.path("nodes")):
            for name in names:
                with open(os.path.join(top, name), "rb") as f:
                    if key in f.read():
                        found.append(os.path.join(top, name) + " has the munge key")
        return found

    def fault(self, node, name):
        write(self.path("nodes", node, "faults", name), "")

    def mend(self, node, name):
        os.unlink(self.path("nodes", node, "faults", name))

    def panic(self, node):
        """The node's VM is gone in the middle of what it did; it may be over already."""
        with open(self.path("nodes", node, "vms", "compute.json"), encoding="utf-8") as f:
            self.run("kill", "-9", json.load(f)["pid"], status=None)

    def has_vm(self, node):
        return os.path.exists(self.path("nodes", node, "vms", "compute.json"))

    def reset(self, node):
        """The machine starts anew: VMs, images, and what its management VM knew."""
        if self.has_vm(node):
            self.panic(node)
        for folder in "vms", "images", "run":
            shutil.rmtree(self.path("nodes", node, folder), ignore_errors=True)

    def forget_faults(self, node):
        for name in os.listdir(self.path("nodes", node, "faults")):
            self.mend(node, name)

    def kill_slurmd(self, node):
        """Its steps go on without it. Whether there was one."""
        with open(self.path("nodes", node, "vms", "compute.json"), encoding="utf-8") as f:
            vm = json.load(f)["pid"]
        slurmd = [pid for pid in self.run("pgrep", "-x", "slurmd").split() if vm in self.parents(int(pid))]
        if slurmd:
            self.run("kill", "-9", *slurmd, status=None)
        return bool(slurmd)

    def parents(self, pid):
        found = []
        while pid > 1:
            found.append(pid)
            pid = int(self.run("sh", "-c", "sed 's/.*) . //' /proc/%d/stat" % pid).split()[0])
        return found

    def restart_controller(self):
        """As `systemctl restart` does it."""
        self.run("pkill", "-x", "slurmctld")
        self.run("sh", "-c", "while pgrep -x 'slurmctld|slurmscriptd'; do sleep 0.1; done; runuser -u slurm -- slurmctld")
        self.until(lambda: " UP" in self.run("scontrol", "ping", status=None), "the controller answers")

    def tend(self):
        """What the timer does on a head."""
        self.run(os.path.join(TOOLS, "margay-slurm"), "tend", user="slurm")

    def whole_story(self):
        own = [line for line in self.log("syslog").splitlines() if "margay-" in line][-30:]
        slurm = [line for line in self.log("slurmctld.log").splitlines() if "debug" not in line][-60:]
        return "\n".join(own + slurm + [self.run("squeue"), self.run("sinfo", "-N", "-l")] + self.rests())


if __name__ == "__main__":
    hold(sys.argv[1], int(sys.argv[2]))
