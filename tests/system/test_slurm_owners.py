# SPDX-License-Identifier: GPL-2.0-only
"""Nodes that change their owner, and nodes that are upgraded, in the cluster in namespaces (slurm_cluster.py): the slurmd of a
compute VM or that of the management VM has a node, never both, and no job is lost. What docs/cluster.md lets an administrator type
for it is typed here. After each test all nodes are their compute VMs', none is down, and the other name of none is given jobs."""

import os
import re
import threading

import pytest

import slurm_cluster
import slurm_images

pytestmark = [pytest.mark.xdist_group("slurm"),
              pytest.mark.skipif(os.geteuid() != 0, reason="only root makes the namespaces of a cluster")]
HAS = "margay owner: the %s VM has the node"


def all_states(cluster):
    """Of both names of each node."""
    return dict(line.split() for line in cluster.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines())


def look(cluster):
    assert not [state for name, state in all_states(cluster).items() if "-mgmt" in name and re.match("idle|mix|alloc", state)]
    assert "No reservations" in cluster.run("scontrol", "show", "reservation")


fixture_whole, fixture_cluster = slurm_cluster.fixtures(3, slurm_images.make, look)


class Typed(threading.Thread):
    """margay-slurm on the head, while the test goes on."""

    def __init__(self, cluster, *words, user="slurm", status=0):
        super().__init__(daemon=True)
        self.cluster, self.words, self.user, self.status, self.out, self.error = cluster, words, user, status, None, None
        self.start()

    def run(self):
        try:
            self.out = typed(self.cluster, *self.words, user=self.user, status=self.status)
        except AssertionError as error:
            self.error = error

    def said(self):
        self.join(slurm_cluster.SECONDS)
        assert not self.is_alive() and self.error is None, self.error
        return self.out


def typed(cluster, *words, user="slurm", status=0):
    return cluster.run("/usr/sbin/margay-slurm", *words, user=user, status=status)


# A job that goes on until the test says so.
WAITS = "echo begun; until [ -e /mnt/home/%s ]; do sleep 0.2; done; hostname"


def let_end(cluster, name):
    with open(cluster.path("home", name), "w", encoding="ascii"):
        pass


def begun(cluster, job):
    cluster.until(lambda: os.path.exists(cluster.path("home", "%d.out" % job)) and "begun" in cluster.output(job), "the job runs")


def test_a_node_changes_hands(cluster):
    """To the management VM and back, while jobs for both wait: each job ends well, on the slurmd that it has asked for; nobody
    gets the node while the other has it, and what Slurm says of it is so at each step."""
    job = cluster.submit(WAITS % "first", "-w", "n1")
    begun(cluster, job)
    give = Typed(cluster, "give", "node", "n1")
    cluster.until(lambda: "margay-n1" in cluster.run("scontrol", "show", "reservation"), "n1 is kept from jobs")
    later = cluster.submit("hostname", "-w", "n1")
    bare = cluster.submit(WAITS % "bare", "-w", "n1-mgmt", "-p", "bare")
    assert cluster.job(job)["JobState"] == "RUNNING" and "(goes to node)" in typed(cluster, "owners")
    let_end(cluster, "first")
    assert give.said().splitlines() == ["n1: no new jobs for n1", "n1: is its management VM's"]
    begun(cluster, bare)
    assert cluster.job(job)["JobState"] == "COMPLETED" and cluster.output(job) == "begun\nn1\n"
    assert cluster.job(later)["JobState"] == "PENDING" and not cluster.has_vm("n1")
    assert all_states(cluster)["n1"] == "drained~" and cluster.reason("n1") == HAS % "management"
    assert re.search(r"^n1  node  n1-mgmt  bare$", typed(cluster, "owners"), re.MULTILINE)
    back = Typed(cluster, "give", "vm", "n1")
    cluster.until(lambda: "margay-n1-mgmt" in cluster.run("scontrol", "show", "reservation"), "n1-mgmt is kept from jobs")
    assert cluster.job(bare)["JobState"] == "RUNNING" and cluster.job(later)["JobState"] == "PENDING"
    let_end(cluster, "bare")
    assert back.said().splitlines() == ["n1: no new jobs for n1-mgmt", "n1: is its compute VM's"]
    assert cluster.job(bare)["JobState"] == "COMPLETED" and cluster.output(bare) == "begun\nn1-mgmt\n"
    assert cluster.reason("n1-mgmt") == HAS % "compute"
    assert cluster.wait_over(later) == ["COMPLETED"] and cluster.output(later) == "n1\n"
    assert typed(cluster, "give", "vm", "n1") == "n1: is its compute VM's\n"


@pytest.mark.full
def test_the_other_is_refused(cluster):
    """What no drain keeps away the node itself does: a resume is refused, in one line, while the management VM's slurmd has it, and
    that is not begun while a compute VM is there. A management VM that has restarted gets its slurmd again by the timer."""
    typed(cluster, "give", "node", "n1")
    cluster.run("scontrol", "update", "nodename=n1", "state=resume")
    job = cluster.submit("true", "-w", "n1")
    cluster.until(lambda: cluster.node_states()["n1"].startswith("down"), "n1 is down")
    assert cluster.reason("n1") == "margay: n1-mgmt: the management VM's slurmd has the node"
    cluster.ask(anew="n1")
    assert "(but its management VM's slurmd does not run)" in typed(cluster, "owners")
    cluster.timeout(10)
    cluster.until(lambda: all_states(cluster)["n1-mgmt"].startswith(("down", "idle*")), "Slurm notices")
    cluster.timeout(60)
    cluster.tend()
    cluster.until(lambda: all_states(cluster)["n1-mgmt"] == "idle", "n1-mgmt is there again")
    assert cluster.reason("n1") == HAS % "management"
    typed(cluster, "give", "vm", "n1")
    assert cluster.wait_over(job) == ["COMPLETED"]
    other = cluster.submit(WAITS % "other", "-w", "n2")
    begun(cluster, other)
    code = "from margay_slurm import config, owners; owners.Owners(config.read()).send('n2', 'node')"
    said = cluster.run("sh", "-c", 'PYTHONPATH=/usr/share/margay-slurm/tools python3 -B -c "%s"' % code, status=1)
    assert said.endswith("n2-mgmt: its compute VM has the node\n")
    let_end(cluster, "other")
    assert cluster.wait_over(other) == ["COMPLETED"]


def test_give_is_refused(cluster):
    """A node that is no partition's of management VMs, and one that somebody has drained."""
    assert "n3: no [partition] with owner = node has it" in typed(cluster, "give", "node", "n3", status=1)
    cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=a fan")
    assert "n2: n2: is drained: a fan" in typed(cluster, "give", "node", "n2", status=1)
    cluster.run("scontrol", "update", "nodename=n2", "state=resume")


def test_upgrade_loses_no_job(cluster):
    """All nodes, one of them its management VM's, with jobs that run: each job ends by itself, each node runs the new version, and
    is Slurm's again. A second call finds nothing to do, and reboots nothing."""
    typed(cluster, "give", "node", "n2")
    jobs = [cluster.submit(WAITS % "all", "-w", "n1"), cluster.submit(WAITS % "all", "-w", "n2-mgmt", "-p", "bare")]
    for job in jobs:
        begun(cluster, job)
    plan = typed(cluster, "upgrade", "--to", "0.4", "--dry-run")
    assert plan.splitlines()[0] == "n1: waits for job %d, then runs the command, reboots: 0.3 becomes 0.4" % jobs[0]
    assert plan.splitlines()[2] == "n3: runs the command, reboots: 0.3 becomes 0.4"
    upgrade = Typed(cluster, "upgrade", "--to", "0.4", user=None)
    cluster.until(lambda: "margay-n1" in cluster.run("scontrol", "show", "reservation"), "n1 is kept from jobs")
    jobs += [cluster.submit("true", "-w", "n1"), cluster.submit("true", "-w", "n2-mgmt", "-p", "bare")]
    cluster.until(lambda: cluster.log("nodes/n3/version").strip() == "0.4", "n3, which has no job, is done")
    assert [cluster.job(job)["JobState"] for job in jobs] == ["RUNNING", "RUNNING", "PENDING", "PENDING"]
    let_end(cluster, "all")
    assert upgrade.said().splitlines()[-1] == "3 done, 0 failed, 0 left alone, 0 not begun"
    assert cluster.wait_over(*jobs) == ["COMPLETED"] * 4
    assert [cluster.job(job)["Restarts"] for job in jobs] == ["0"] * 4
    assert [cluster.log("nodes/%s/version" % node).strip() for node in cluster.nodes] == ["0.4"] * 3
    assert all_states(cluster)["n2-mgmt"] == "idle"
    assert typed(cluster, "upgrade", "--to", "0.4", user=None) == "3 done, 0 failed, 0 left alone, 0 not begun\n"
    typed(cluster, "give", "vm", "n2")


@pytest.mark.full
def test_upgrade_that_fails(cluster):
    """A node that comes back as it was, and one whose command fails: they stay down, with the reason, whatever the timer does, and
    no more are begun than may fail; a node that somebody else has drained is left alone. The next call does what is left."""
    cluster.run("scontrol", "update", "nodename=n3", "state=drain", "reason=a fan")
    cluster.fault("n1", "old-boots")
    out = typed(cluster, "upgrade", "--to", "0.5", "--parallel", "1", user=None, status=1)
    why = "is back with version " + cluster.log("nodes/n1/version").strip()
    assert "n1: failed: %s\n" % why in out and out.endswith("0 done, 1 failed, 0 left alone, 2 not begun\n")
    cluster.tend()
    assert cluster.node_states()["n1"] == "drained~" and " State=DOWN+" in cluster.run("scontrol", "-o", "show", "node", "n1")
    assert cluster.reason("n1") == "margay upgrade: " + why
    cluster.fault("n2", "no-package")
    out = typed(cluster, "upgrade", "--to", "0.5", "--max-failed", "3", user=None, status=1)
    assert "n2: failed: the command failed: E: Unable to locate package" in out
    assert "n3: is left alone: n3 is drained or down: a fan" in out
    assert out.endswith("0 done, 2 failed, 1 left alone, 0 not begun\n")
    cluster.mend("n1", "old-boots")
    cluster.mend("n2", "no-package")
    cluster.run("scontrol", "update", "nodename=n3", "state=resume")
    assert typed(cluster, "upgrade", "--to", "0.5", user=None).endswith("\n3 done, 0 failed, 0 left alone, 0 not begun\n")


@pytest.mark.full
def test_upgrade_goes_on(cluster):
    """One that was killed while a node was off: the next call waits for that node, and does not do it again."""
    cluster.fault("n1", "stays-off")
    upgrade = Typed(cluster, "upgrade", "--to", "0.6", "n1", user=None, status=None)
    cluster.until(lambda: os.path.exists(cluster.path("nodes", "n1", "faults", "dead")), "n1 is off")
    cluster.until(lambda: not os.path.exists(cluster.path("nodes", "n1", "vms")), "n1 is off")
    cluster.run("pkill", "-9", "-f", "[m]argay-slurm upgrade")
    upgrade.join()
    assert not cluster.run("squeue", "-h", "-w", "n1").strip() and cluster.node_states()["n1"] == "drained~"
    cluster.mend("n1", "stays-off")
    cluster.ask(reset="n1")
    out = typed(cluster, "upgrade", "--to", "0.6", "n1", user=None)
    assert out == "n1: is done\n1 done, 0 failed, 0 left alone, 0 not begun\n"


@pytest.mark.full
def test_reboot_once(cluster):
    """Without a version: each node reboots once, also if one does not come back at first."""
    cluster.run("sed", "-i", "s/^reboot_timeout.*/reboot_timeout = 3/", "/etc/margay/cluster.conf")
    cluster.fault("n1", "stays-off")
    out = typed(cluster, "upgrade", "--reboot", "n[1,3]", user=None, status=1)
    assert "n1: failed: is not back after 3 s" in out
    cluster.run("sed", "-i", "s/^reboot_timeout.*/reboot_timeout = 120/", "/etc/margay/cluster.conf")
    cluster.mend("n1", "stays-off")
    cluster.ask(reset="n1")
    out = typed(cluster, "upgrade", "--reboot", "n[1,3]", user=None)
    assert "n1: reboots" not in out and "n1: is done" in out and out.endswith("2 done, 0 failed, 0 left alone, 0 not begun\n")
