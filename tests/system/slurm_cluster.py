# SPDX-License-Identifier: GPL-2.0-only
"""A Slurm cluster in namespaces: one head with Debian's munged and slurmctld, and nodes that are modelled (slurm_node_model.py),
whose compute VMs are namespaces of their own with Debian's munged and slurmd (slurm_guest.py). Nothing outlives the process that
made it: all mounts, networks and processes are in its namespaces (slurm_machines.py). Head and nodes are set up by what
docs/cluster.md lets its reader type (slurm_typed.py).

Real: Slurm, munge, what margay-slurm brings for head and node, the images' store and signatures. Modelled: the hypervisor's answers
to `margay`, what boots in a VM, and ssh, which is a socket here (slurm_ssh.py).
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pytest

import slurm_machines
import slurm_typed
from slurm_machines import write

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "tests", "system")
# An ordinary user of Debian's.
USER = "daemon"
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY")
# Seconds on a machine that does other things as well; what takes longest takes less than a minute where it does nothing else.
SECONDS = 240
# For what may wait until boot_timeout is over.
LONG_SECONDS = 900


def make_packages(folder):
    """Those of Python, as `make deb` makes them."""
    loader = importlib.machinery.SourceFileLoader("packages", os.path.join(TOP, "tools", "packages"))
    packages = importlib.util.module_from_spec(importlib.util.spec_from_loader("packages", loader))
    loader.exec_module(packages)
    with contextlib.redirect_stdout(io.StringIO()):
        packages.python_packages(folder, packages.words_of(packages.MAINTAINER))


def hold(folder, count):
    """The first process of the world. It ends with the head, whose standard input is its own; orphans are its children."""
    slurm_machines.make_world(folder)
    head = slurm_machines.new(["slurm_head.py", *("n%d" % (i + 1) for i in range(count))])
    while os.wait()[0] != head.pid:
        pass


# ---- what a test calls -----------------------------------------------------------------------


class Cluster:
    def __init__(self, count, images):
        """images(folder): makes the store and the keys there."""
        # What did not come in time: whatever comes behind it would wait for the same.
        self.missed = None
        self.folder = tempfile.mkdtemp(prefix="margay-slurm-", dir="/tmp")
        os.chmod(self.folder, 0o711)
        self.nodes = ["n%d" % (i + 1) for i in range(count)]
        os.mkdir(self.path("home"))
        os.chmod(self.path("home"), 0o1777)
        for node in self.nodes:
            os.makedirs(self.path("nodes", node, "faults"))
            for name in "version", "installed":
                write(self.path("nodes", node, name), "0.3")
        write(self.path("bin", "margay"), "#!/bin/sh\nexec /usr/bin/python3 -I -S -B %s/slurm_node_model.py \"$@\"\n" % HERE, 0o755)
        images(self.folder)
        os.mkdir(self.path("admin"))
        make_packages(self.path("admin"))
        for public in os.listdir(self.path("keys")):
            shutil.copy(self.path("keys", public), self.path("admin"))
        slurm_typed.prepare(lambda path, *words: write(self.path(os.path.relpath(path, slurm_machines.WORLD)), *words))
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

    def ask(self, **value):
        """The head's answer."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path("socket"))
            with s.makefile("rwb") as f:
                f.write(json.dumps(value).encode() + b"\n")
                f.flush()
                return json.loads(f.readline())

    def run(self, *words, user=None, status=0):
        """Standard output of a command on the head."""
        done = self.ask(run=[str(word) for word in words], user=user)
        assert status is None or done["status"] == status, (words, done)
        return done["out"] if status == 0 else done["out"] + done["err"]

    # ---- jobs and nodes

    def write_job(self, name, script):
        write(self.path("home", name), "#!/bin/sh\n" + script + "\n", 0o755)

    def submit(self, script, *options, nodes=1):
        """The number of a user's job."""
        name = "job%d.sh" % len(os.listdir(self.path("home")))
        self.write_job(name, script)
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
                self.missed = self.missed or what
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
        """As compute VMs."""
        states = dict(line.split() for line in self.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines())
        return {node: states[node] for node in self.nodes}

    def wait_free(self, seconds=SECONDS):
        """Until each node is as it was before there were jobs: powered down, neither down nor drained, and nothing left on it."""
        self.until(lambda: set(self.node_states().values()) == {"idle~"} and not self.rests(), "all nodes free", seconds)

    def rests(self):
        """What is left of jobs on the nodes: VMs, their processes, what they were told."""
        found = []
        for node in self.nodes:
            for folder in "vms", "images":
                names = os.listdir(self.path("nodes", node, folder)) if os.path.isdir(self.path("nodes", node, folder)) else []
                # Of the images' own files the slashes are so.
                found += ["%s: %s/%s" % (node, folder, name) for name in names if "%" not in name]
        found += self.run("pgrep", "-fa", "[s]lurm_guest.py", status=None).splitlines()
        with open(self.path("munge.key"), "rb") as f:
            key = f.read()
        for top, _, names in os.walk(self.path("nodes")):
            for path in (os.path.join(top, name) for name in names):
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        if key in f.read():
                            found.append(path + " has the munge key")
        return found

    def fault(self, node, name):
        write(self.path("nodes", node, "faults", name), "")

    def mend(self, node, name):
        os.unlink(self.path("nodes", node, "faults", name))

    def panic(self, node):
        """The node's VM is gone in the middle of what it did; it may be over already."""
        with open(self.path("nodes", node, "vms", "compute.json"), encoding="utf-8") as f:
            self.run("kill", "-9", json.load(f)["pid"], status=None)

    def lose(self, job):
        """The VM of a job is gone in the middle of it, and the controller waits less long for its slurmd than any site would."""
        self.panic(self.job(job)["NodeList"])
        self.timeout(10)
        self.until(lambda: self.job(job)["Restarts"] != "0", "the job is requeued")
        self.timeout(60)

    def timeout(self, seconds):
        self.run("sed", "-i", "s/^SlurmdTimeout=.*/SlurmdTimeout=%d/" % seconds, "/etc/slurm/slurm.conf")
        self.run("scontrol", "reconfigure")

    def has_vm(self, node):
        return os.path.exists(self.path("nodes", node, "vms", "compute.json"))

    def reset(self, node):
        self.ask(reset=node)

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
        self.run("/usr/sbin/margay-slurm", "tend", user="slurm")

    def reason(self, node):
        """Why it is down or drained."""
        return self.run("sinfo", "-h", "-R", "-n", node, "-o", "%E").strip()

    def whole_story(self):
        own = [line for line in self.log("syslog").splitlines() if "margay-" in line][-30:]
        slurm = [line for line in self.log("slurmctld.log").splitlines() if "debug" not in line][-60:]
        asked = (("squeue", "-o", "%i %u %T %N %r %R"), ("sinfo", "-N", "-l"), ("scontrol", "-o", "show", "node"))
        return "\n".join(own + slurm + [self.run(*words, status=None) for words in asked] + self.rests())


def fixtures(count, images, look=lambda cluster: None):
    """Those of a test file: `whole`, its cluster, and `cluster`, which is free again after each test; then look(cluster)."""
    @pytest.fixture(name="whole", scope="module")
    def fixture_whole():
        made = Cluster(count, images)
        try:
            yield made
        finally:
            made.close()

    @pytest.fixture(name="cluster")
    def fixture_cluster(whole):
        if whole.missed:
            pytest.fail("an earlier test of this cluster waited in vain: " + whole.missed)
        yield whole
        if not whole.missed:
            whole.wait_free()
            look(whole)

    return fixture_whole, fixture_cluster


if __name__ == "__main__":
    hold(sys.argv[1], int(sys.argv[2]))
