# SPDX-License-Identifier: GPL-2.0-only
"""Slurm jobs on modelled nodes: Debian's Slurm and munge in namespaces, what margay-slurm brings for head and node, and a model of
the node (slurm_cluster.py), set up by the lines of docs/cluster.md. After each test no node is down or drained, and nothing of a
job is on any."""

import json
import os
import random
import re
import time

import pytest

import margay_pages
import slurm_cluster
import slurm_images

pytestmark = [pytest.mark.xdist_group("slurm"),
              pytest.mark.skipif(os.geteuid() != 0, reason="only root makes the namespaces of a cluster")]
SEND = """
import json, sys
sys.path.insert(0, "/usr/share/margay-slurm/tools")
from margay_slurm import config, generation, remote
own = generation.own
order = {"format": 1, "order": "end", "node": "n1", "generation": %s}
print(json.dumps(remote.send(config.read(), "n1", order)))
"""


fixture_whole, fixture_cluster = slurm_cluster.fixtures(4, slurm_images.make)


def test_two_nodes_get_the_image_of_each_job(cluster):
    """Two jobs of two nodes, one after the other on the same: each has its own image on both nodes, and its steps run there; the
    second finds nothing of the first in a VM that has begun for it."""
    script = "echo $(cat /run/image) $(ls /tmp); srun -l sh -c 'echo $(cat /run/image) $(ls /tmp); touch /tmp/left-by-%s'"
    first = cluster.submit(script % "first", "-C", "mpi", "-w", "n[1-2]", nodes=2)
    second = cluster.submit(script % "second", "-C", "debian13-mpi", "-w", "n[1-2]", nodes=2)
    assert cluster.wait_over(first, second) == ["COMPLETED", "COMPLETED"]
    for job, image in (first, "mpi:1"), (second, "debian13-mpi:1"):
        assert sorted(cluster.output(job).split("\n")) == sorted(["", image] + ["%d: %s" % (i, image) for i in range(2)])


def test_what_users_type(cluster):
    """The lines of docs/cluster-jobs.md, by an ordinary user: a job that has two nodes with its image, an allocation whose shell
    ends at once, and nodes with their images."""
    cluster.write_job("job.sh", "srun cat /run/image")
    typed = "\n".join(margay_pages.script("cluster-jobs", "user"))
    said = cluster.run("sh", "-e", "-c", typed, user=slurm_cluster.USER)
    job = int(re.search(r"^Submitted batch job (\d+)$", said, re.MULTILINE)[1])
    assert set(re.findall(r"^n\d \S+ (\S+)$", said, re.MULTILINE)) == {"debian13-mpi,rocky9,mpi,handed,raw,large,damaged"}, said
    assert cluster.wait_over(job, job + 1) == ["COMPLETED", "COMPLETED"]
    assert cluster.log("home/slurm-%d.out" % job) == "debian13-mpi:1" * 2 and cluster.job(job + 1)["Features"] == "rocky9"


def begun(cluster, job):
    cluster.until(lambda: os.path.exists(cluster.path("home", "%d.out" % job)) and "begun" in cluster.output(job), "the job runs")


def test_each_end_of_a_job(cluster):
    """Status 3, scancel, the time limit, and the controller started again while jobs run: each job ends as Slurm says it did."""
    fails = cluster.submit("exit 3")
    assert cluster.wait_over(fails) == ["FAILED"]
    assert cluster.job(fails)["ExitCode"] == "3:0"
    cancelled = cluster.submit("echo begun; sleep 600")
    late = cluster.submit("echo begun; sleep 600")
    begun(cluster, cancelled)
    begun(cluster, late)
    cluster.restart_controller()
    cluster.run("scancel", cancelled, user=slurm_cluster.USER)
    cluster.run("scontrol", "update", "jobid=%d" % late, "endtime=now+1")
    assert cluster.wait_over(cancelled, late) == ["CANCELLED", "TIMEOUT"]


def test_steps_outlive_their_slurmd(cluster):
    """A slurmd that is killed is started again, and the job does not notice."""
    job = cluster.submit("echo begun; srun sh -c 'sleep 8; echo went on'")
    begun(cluster, job)
    assert cluster.kill_slurmd(cluster.job(job)["NodeList"])
    assert cluster.wait_over(job) == ["COMPLETED"]
    assert cluster.output(job) == "begun\nwent on\n" and cluster.job(job)["Restarts"] == "0"


def test_a_panic_costs_a_try_and_no_job(cluster):
    """A VM that is gone under its job: the controller requeues that, and the node is had again without a hand."""
    job = cluster.submit("echo try >>/mnt/home/tries; [ -n \"$SLURM_RESTART_COUNT\" ] || sleep 600; cat /mnt/home/tries")
    cluster.until(lambda: os.path.exists(cluster.path("home", "tries")), "the job runs")
    cluster.lose(job)
    assert cluster.wait_over(job) == ["COMPLETED"]
    assert cluster.output(job) == "try\ntry\n"
    # The order that ends the lost run must be given up by then: it has the job's number only, and would end the next run.
    _, lost, _ = cluster.log("slurmctld.log").split(" Allocate JobId=%d " % job)
    assert "RPC:REQUEST_TERMINATE_JOB" in lost


def test_refused_at_submission(cluster):
    """An image that is not signed, one that is too large, two at once: sbatch says it in a sentence."""
    def said(*options):
        return cluster.run("sbatch", *options, "--wrap", "true", user=slurm_cluster.USER, status=None)

    assert "sbatch: error: margay: image raw: raw:1: not signed\n" in said("-C", "raw")
    assert "margay: image large: needs 4096 MiB of memory, and the nodes that may run it have 256\n" in said("-C", "large")
    assert "margay: the job names the images debian13-mpi and mpi: a job has one\n" in said("-C", "debian13-mpi|mpi")
    job = cluster.submit("true", "-H", "-C", "mpi")
    # 22.05 keeps the sentence to itself here.
    cluster.run("scontrol", "update", "jobid=%d" % job, "features=raw", user=slurm_cluster.USER, status=1)
    assert cluster.job(job)["Features"] == "mpi"
    cluster.run("scancel", job)


def test_damaged_image_ends_its_job(cluster):
    """A signed image with a chunk that is not what it is named by: the job ends, and says why; a version without a signature is
    none, so the next job has the one before."""
    damaged = cluster.submit("true", "-C", "damaged", nodes=2)
    unsigned = cluster.submit("cat /run/image", "-C", "mpi")
    assert cluster.wait_over(damaged, unsigned) == ["CANCELLED", "COMPLETED"]
    assert re.search(r"damaged:1: .*: damaged: ", cluster.comment(damaged))
    assert cluster.output(unsigned) == "mpi:1"


def test_nodes_hand_images_on(cluster):
    """Three nodes get an image that none has: the store's web server sends less than two of it."""
    job = cluster.submit("srun cat /run/image", "-C", "handed", nodes=3)
    assert cluster.wait_over(job) == ["COMPLETED"]
    assert cluster.output(job) == "handed:1" * 3
    chunks = slurm_images.chunks_of(cluster.path("store"), "handed", "1")
    asked = re.findall(r'"GET /images/chunks/\w+/(\w+)\.cacnk HTTP/1\.\d" 200', cluster.log("web.log"))
    sent = [chunk for chunk in asked if chunk in chunks]
    assert set(sent) == set(chunks) and len(sent) < 2 * len(chunks), (len(sent), len(chunks))


@pytest.mark.full
def test_older_version_is_refused(cluster):
    """A node that has had version 2 of an image takes 1 only if the site's file says so: else the job ends, and says why."""
    slurm_images.push(cluster.folder, "handed", version="2")
    newer = cluster.submit("cat /run/image", "-C", "handed", "-w", "n1")
    assert cluster.wait_over(newer) == ["COMPLETED"] and cluster.output(newer) == "handed:2"
    slurm_images.image_stores.collected(cluster.path("store"), remove=[("handed", "2")])
    older = cluster.submit("true", "-C", "handed", "-w", "n1")
    assert cluster.wait_over(older) == ["CANCELLED"]
    assert "handed:1 is older than 2, which this node has had" in cluster.comment(older)
    cluster.run("sed", "-i", "s/^default_image/allow_downgrade = handed:1\\n&/", "/etc/margay/cluster.conf")
    allowed = cluster.submit("cat /run/image", "-C", "handed", "-w", "n1")
    assert cluster.wait_over(allowed) == ["COMPLETED"] and cluster.output(allowed) == "handed:1"


def test_late_order_is_void(cluster):
    """An order to end that was given before the VM's, and comes behind it: the job runs on."""
    late = cluster.run("/usr/bin/python3", "-B", "-c", SEND % "own()")
    assert json.loads(late) == {"done": True}
    job = cluster.submit("echo begun; sleep 5; echo done", "-w", "n1")
    cluster.until(lambda: os.path.exists(cluster.path("home", "%d.out" % job)), "the job runs")
    early = cluster.run("/usr/bin/python3", "-B", "-c", SEND % "own().split('.')[0] + '.1'")
    assert json.loads(early)["fault"] == "late"
    assert cluster.wait_over(job) == ["COMPLETED"]
    assert cluster.output(job) == "begun\ndone\n"


@pytest.mark.full
def test_broken_node_costs_a_try(cluster):
    """A VM that does not start: the node is had again at once. A management VM that is dead: the node is down, with the reason, the
    job goes elsewhere, and the timer's program frees the node when that answers again."""
    cluster.fault("n1", "no-start")
    first = cluster.submit("true")
    assert cluster.wait_over(first) == ["COMPLETED"]
    assert cluster.job(first)["Restarts"] == "1"
    cluster.wait_free()
    cluster.fault("n1", "dead")
    second = cluster.submit("true")
    assert cluster.wait_over(second) == ["COMPLETED"]
    assert cluster.job(second)["NodeList"] != "n1"
    assert "margay: n1-mgmt: ssh: connect to host n1-mgmt port 22: No route to host" in cluster.run("sinfo", "-R", "-o", "%E %N")
    cluster.tend()
    assert cluster.node_states()["n1"].startswith("down")
    cluster.mend("n1", "dead")
    cluster.until(lambda: cluster.tend() or not cluster.node_states()["n1"].startswith("down"), "n1 is had again")


def test_node_that_is_ill(cluster):
    """A VM that fails its check drains its node, with the reason, and its job goes on; when nothing is wrong the node is as before.
    One that is drained when its job ends is had again, too: its next VM is looked at."""
    job = cluster.submit("echo begun; sleep 1000", "-w", "n1")
    begun(cluster, job)
    cluster.fault("n1", "ill")
    cluster.until(lambda: cluster.node_states()["n1"].startswith("draining"), "n1 is drained")
    assert cluster.reason("n1") == "margay: health: fans: a fan stands still"
    cluster.mend("n1", "ill")
    cluster.until(lambda: not cluster.node_states()["n1"].startswith("drain"), "n1 is well again")
    assert cluster.job(job)["JobState"] == "RUNNING" and cluster.job(job)["Restarts"] == "0"
    cluster.fault("n1", "ill")
    cluster.until(lambda: cluster.node_states()["n1"].startswith("draining"), "n1 is drained")
    cluster.run("scancel", job)
    cluster.until(lambda: cluster.node_states()["n1"] == "idle~", "n1 is had again")
    cluster.mend("n1", "ill")


@pytest.mark.full
def test_management_vm_finds_something(cluster):
    """While a program of the site's fails in a node's management VM no VM starts there, and the head hears why."""
    cluster.fault("n1", "no-power")
    assert "n1  free ill: power: half the power" in cluster.run("/usr/sbin/margay-slurm", "nodes", user="slurm")
    job = cluster.submit("true", "-w", "n1")
    cluster.until(lambda: cluster.node_states()["n1"].startswith("down"), "n1 is down")
    assert cluster.reason("n1") == "margay: n1-mgmt: health: power: half the power"
    cluster.mend("n1", "no-power")
    cluster.until(lambda: cluster.tend() or cluster.job(job)["JobState"] in slurm_cluster.OVER, "the job is over")
    assert cluster.job(job)["JobState"] == "COMPLETED"


@pytest.mark.full
def test_job_does_not_begin_on_a_node_that_is_ill(cluster):
    """A VM that fails its check before its job has begun: the node is down, with the reason, and the job begins later."""
    cluster.fault("n1", "ill")
    job = cluster.submit("cat /run/image", "-w", "n1")
    cluster.until(lambda: cluster.node_states()["n1"].startswith("down"), "n1 is down")
    assert cluster.reason("n1") == "margay: health: fans: a fan stands still"
    cluster.mend("n1", "ill")
    cluster.until(lambda: cluster.tend() or cluster.job(job)["JobState"] in slurm_cluster.OVER, "the job is over")
    assert cluster.job(job)["JobState"] == "COMPLETED" and cluster.job(job)["Restarts"] != "0"
    assert cluster.output(job) == "debian13-mpi:1"


def test_vm_without_a_job_is_ill(cluster):
    """As one whose job Slurm has taken away by itself, and nobody was there to see it: the timer's program has the node again."""
    cluster.run("scontrol", "update", "nodename=n1", "state=power_up")
    cluster.until(lambda: cluster.node_states()["n1"] == "idle", "n1 is up")
    cluster.fault("n1", "ill")
    cluster.until(lambda: cluster.node_states()["n1"] == "drained", "n1 is drained")
    cluster.tend()
    cluster.mend("n1", "ill")
    assert re.search(r" margay-slurm-tend\[\d+\]: n1: health: fans: a fan stands still$", cluster.log("syslog"), re.MULTILINE)
    cluster.until(lambda: cluster.node_states()["n1"] == "idle~", "n1 is had again")


def test_vm_without_a_job_ends(cluster):
    """A node that is up, with a VM that was started for a job which is over, as after a controller that was killed, is powered
    down; one that somebody has powered up by hand is not."""
    cluster.run("scontrol", "update", "nodename=n[1-2]", "state=power_up")
    cluster.until(lambda: [cluster.node_states()[node] for node in ("n1", "n2")] == ["idle", "idle"], "n1 and n2 are up")
    cluster.run("sh", "-c", "echo '{\"job\": \"1.0\"}' >/var/lib/margay-slurm/nodes/n1")
    cluster.tend()
    cluster.until(lambda: cluster.node_states()["n1"] == "idle~", "n1 is powered down")
    assert cluster.node_states()["n2"] == "idle"
    cluster.run("scontrol", "update", "nodename=n2", "state=power_down")


class Random:
    """Jobs and faults by chance; what each job must come to is known when it is submitted."""

    def __init__(self, cluster, seed):
        self.cluster, self.chance, self.jobs, self.told = cluster, random.Random(seed), {}, []

    def submit(self):
        image = self.chance.choice(("debian13-mpi", "mpi", "mpi", "damaged"))
        status = self.chance.choice((0, 0, 0, 5))
        script = "cat /run/image; sleep %.1f; exit %d" % (self.chance.random() * 4, status)
        job = self.cluster.submit(script, "-C", image, nodes=self.chance.choice((1, 1, 2)))
        self.jobs[job] = ("CANCELLED", None) if image == "damaged" else ("FAILED" if status else "COMPLETED", image + ":1")
        self.told.append("job %d: %s, status %d" % (job, image, status))

    def disturb(self):
        """One fault, on a node that has a VM or is to get one."""
        node = self.chance.choice(self.cluster.nodes)
        what = self.chance.choice(("panic", "slurmd", "reset", "no-start", "dead", "full"))
        self.told.append("%s: %s" % (node, what))
        if what in ("no-start", "full"):
            self.cluster.fault(node, what)
        elif what == "dead":
            self.cluster.fault(node, what)
            time.sleep(self.chance.random() * 3)
            self.cluster.mend(node, what)
        elif what == "reset":
            self.cluster.reset(node)
        elif self.cluster.has_vm(node):
            (self.cluster.panic if what == "panic" else self.cluster.kill_slurmd)(node)

    def ends(self):
        """{job: (state, output)} of those that are over."""
        states = {job: self.cluster.job(job)["JobState"] for job in self.jobs}
        return {job: (state, None if state == "CANCELLED" else self.cluster.output(job))
                for job, state in states.items() if state in slurm_cluster.OVER}


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("jobs, faults", ((5, 3), (50, 30)))
def test_random_jobs_and_faults(cluster, configuration_seed, jobs, faults):
    """Jobs of three images in any order, and a panic, a slurmd that dies, a node or its management VM that is gone, a VM that does
    not start, a full cache in between: each job comes to the end that its script and its image have."""
    random_run = Random(cluster, configuration_seed)
    for job in range(jobs):
        random_run.submit()
        if job * faults // jobs != (job + 1) * faults // jobs:
            random_run.disturb()
    cluster.until(lambda: cluster.tend() or len(random_run.ends()) == jobs, "\n".join([*random_run.told, "all jobs are over"]),
                  slurm_cluster.LONG_SECONDS * (1 + jobs // 5))
    for node in cluster.nodes:
        cluster.forget_faults(node)
    wanted = {job: (state, image) for job, (state, image) in random_run.jobs.items()}
    assert random_run.ends() == wanted, "\n".join(random_run.told)
    cluster.until(lambda: cluster.tend() or not any("down" in state for state in cluster.node_states().values()), "no node is down",
                  slurm_cluster.LONG_SECONDS)
    cluster.wait_free(slurm_cluster.LONG_SECONDS)
