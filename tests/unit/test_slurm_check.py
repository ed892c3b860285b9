# SPDX-License-Identifier: GPL-2.0-only
"""`margay-slurm check`: settings that are known not to work, each found in a site that is right but for that one."""

import os
import pwd

import pytest

from margay_slurm import check, config, setup

CLUSTER = """\
[cluster]
controller = head
store = /srv/images
munge_key = %(top)s/munge.key
[nodes localhost]
vm = %(top)s/compute.vm
cpus = 4
memory = 900
images = debian
"""
VM = "memory = 1G\ncpus = 4\n"
OWN = ("ClusterName=c\nSlurmctldHost=head\nSlurmUser=%s\nSchedulerParameters=sched_interval=2\nInclude margay.conf\n" %
       pwd.getpwuid(os.geteuid()).pw_name)


# Its management VM may have the node, too; an address is a name that has one.
BARE = CLUSTER.replace("images = debian\n", "images = debian\nmanagement = 127.0.0.2\n") + """\
[partition margay]
owner = vm
nodes = localhost
[partition bare]
owner = node
nodes = localhost
cpus = 1
memory = 100
"""


@pytest.fixture(name="site")
def fixture_site(tmp_path, monkeypatch):
    """site(what=text...): the lines that check prints; with nothing changed there are none."""
    monkeypatch.setattr(setup, "version", lambda: "22.05.8")

    def site(cluster=CLUSTER, vm=VM, own=OWN, included=None, cgroup="", key=0o400):
        files = {"cluster.conf": cluster % {"top": tmp_path}, "compute.vm": vm, "slurm.conf": own, "munge.key": "k" * 64,
                 "cgroup.conf": cgroup}
        for name, text in files.items():
            path = tmp_path / name
            path.unlink(missing_ok=True)
            path.write_text(text, encoding="utf-8")
        (tmp_path / "munge.key").chmod(key)
        read = config.read(str(tmp_path / "cluster.conf"))
        setup.write(str(tmp_path / "margay.conf"), included or setup.lines(read))
        return check.problems(read, str(tmp_path))
    return site


def test_nothing_is_wrong(site):
    assert site() == []


@pytest.mark.parametrize("info", ("cred_expire=20", "cred_expire=120", "socket=/run/munge/other", "cred_expire=4"))
def test_requeued_jobs_wait_long_enough(site, info):
    """Slurm takes less than 5 s for nothing said."""
    assert site(own=OWN + "AuthInfo=%s\n" % info) == []


@pytest.mark.parametrize("parameters", ("sched_interval=5", "bf_continue,sched_interval=1", "sched_interval=2,bf_window=9"))
def test_scheduler_looks_often_enough(site, parameters):
    assert site(own=OWN + "SchedulerParameters=%s\n" % parameters) == []


@pytest.mark.parametrize("own, words", (
    (OWN.replace("Include margay.conf\n", ""), "does not include margay.conf"),
    (OWN + "SuspendTime=-1\n", "ends resuming, too"), (OWN + "SuspendTime=-1\n", "SuspendTime stands in slurm.conf more than once"),
    (OWN + "SlurmctldParameters=cloud_reg_addrs\n", "SlurmctldParameters stands in slurm.conf more than once"),
    (OWN + "ResumeTimeout=60\n", "nodes count as lost while they still get their image"),
    (OWN + "PrologSlurmctld=\n", "jobs start up to 30 s after"), (OWN + "SlurmdTimeout=0\n", "its job runs for ever"),
    (OWN + "SlurmdTimeout=10\n", "a VM that is paused for longer loses its job"), (OWN + "JobRequeue=0\n", "costs its job"),
    (OWN + "AuthInfo=cred_expire=5\n", "its node is never free again"),
    (OWN + "AuthInfo=socket=/run/m,cred_expire=19\n", "20 and more is good"),
    (OWN + "HealthCheckProgram=\n", "nobody looks whether a VM is well"), (OWN + "HealthCheckInterval=0\n", "and not any more"),
    (OWN.replace("SchedulerParameters=", "#"), "begins up to 30 s after"),
    (OWN + "SchedulerParameters=bf_continue,sched_interval=6\n", "5 and less is good"),
    (OWN + "AuthType=auth/jwt\n", "a key of munge"), (OWN.replace("SlurmUser=", "SlurmUser=no-such-"), "there is no such user"),
    (OWN + "PartitionName=all Nodes=ALL Default=YES\n", "two jobs would share a VM"),
    (OWN + "PartitionName=x Nodes=localhost OverSubscribe=EXCLUSIVE\n", "its jobs' images are not judged"),
    (OWN + "PartitionName=margay Nodes=localhost OverSubscribe=EXCLUSIVE PowerDownOnIdle=YES\n", "22.05 does not know"),
    (OWN + "ResumeProgram=/no/such\n", "cannot be run")), ids=lambda value: "" if "\n" in value else value.replace(" ", "-"))
def test_slurm_conf(site, own, words):
    assert [line for line in site(own=own) if words in line]


@pytest.mark.parametrize("change, words", (
    ({"key": 0o440}, "may be read by others"), ({"vm": "memory = 900M\ncpus = 4\n"}, "of which the kernel takes some"),
    ({"vm": "memory = 1G\ncpus = 2\n"}, "Slurm drains nodes that have fewer"), ({"vm": VM + "kernel = mine\n"}, "ours to say"),
    ({"cgroup": "CgroupPlugin = disabled\n"}, "no slurmd starts"), ({"included": "SuspendTime=600\n"}, "run margay-slurm setup"),
    ({"cluster": CLUSTER.replace("localhost", "no-such-node.invalid")}, "have no address here"),
    ({"cluster": CLUSTER.replace("/munge.key", "/nothing")}, "no VM would get the cluster's key"),
    ({"cluster": CLUSTER.replace("/compute.vm", "/nothing")}, "nothing is not there"),
    ({"cluster": CLUSTER.replace("[nodes", "stop_timeout = 200\n[nodes")}, "takes its time to end")))
def test_site(site, change, words):
    assert [line for line in site(**change) if words in line]


def test_a_management_vm_with_jobs(site):
    """Right as `setup` writes it; each thing that its administrator may do to that is a line."""
    assert site(cluster=BARE) == []
    for own, cluster, words in (
            (OWN + "SuspendExcParts=other\n", BARE, "SuspendExcParts lacks bare"),
            (OWN + "PartitionName=x Nodes=localhost,127.0.0.2 OverSubscribe=EXCLUSIVE\n", BARE, "which are one node"),
            (OWN + "PartitionName=x Nodes=ALL OverSubscribe=EXCLUSIVE\n", BARE, "which are one node"),
            (OWN, BARE + "slurm = State=DRAIN\n", "State= comes back"),
            (OWN, BARE.replace("127.0.0.2", "no-such-host.invalid"), "the first is no-such-host.invalid")):
        assert [line for line in site(own=own, cluster=cluster) if words in line], words


def test_newer_slurm_knows_more(site, monkeypatch):
    """What 22.05 does not know 24.11 does."""
    monkeypatch.setattr(setup, "version", lambda: "24.11.5")
    assert site(cgroup="CgroupPlugin=disabled\n") == []
