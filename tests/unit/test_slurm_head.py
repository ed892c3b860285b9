# SPDX-License-Identifier: GPL-2.0-only
"""What margay-slurm does on a cluster's head, without Slurm: lists of hosts, the site's file, the order of orders, which image a
job means, many orders at once. Jobs are tests/system/test_slurm.py's."""

import base64
import io
import os
import re
import resource
import subprocess
import sys
import tarfile
import time

import pytest

from margay_slurm import broken, clock, config, fitness, generation, hosts, metadata, order, prolog, remote, resume, setup
from margay_slurm import vm_file, wanted
from margay_slurm.errors import ClusterError, ImageFault

CONF = """\
[cluster]
controller = head
store = /srv/images
%s
[nodes n[01-03],login]
vm = /etc/margay/compute.vm
cpus = 4
memory = 1000
images = debian mpi
%s
"""


@pytest.fixture(name="read")
def fixture_read(tmp_path):
    def read(cluster="", nodes="", text=None):
        path = tmp_path / "cluster.conf"
        path.write_text(CONF % (cluster, nodes) if text is None else text, encoding="utf-8")
        return config.read(str(path))
    return read


def refused(function, *words, kind=ClusterError):
    with pytest.raises(kind) as caught:
        function(*words)
    return str(caught.value)


def test_lists_of_hosts():
    assert hosts.expand("n1") == ["n1"]
    assert hosts.expand("n[08-11,20],login,n08") == ["n08", "n09", "n10", "n11", "n20", "login"]
    assert hosts.expand("rack[1-2]-x,a") == ["rack1-x", "rack2-x", "a"]
    assert len(hosts.expand("n[1-10000]")) == 10000
    for bad in "n[1-", "n[a-b]", "n[3-1]x]", "n 1", "-oProxyCommand=x", "n[1-99999999]", "a;b":
        refused(hosts.expand, bad)


def test_site_file(read):
    site = read("parallel = 7", "management = {node}.m\nnetwork = 10.1.0.0/16\nslurm = Gres=gpu:2")
    assert sorted(site.by_node) == ["login", "n01", "n02", "n03"] and site.parallel == 7 and site.order_timeout == 120
    group = site.group("n02")
    assert group.management_of("n02") == "n02.m" and group.images == ["debian", "mpi"] and group.network.prefixlen == 16
    assert "NodeName=n[01-03],login CPUs=4 RealMemory=1000 State=CLOUD Feature=debian,mpi Gres=gpu:2\n" in setup.lines(site, "/x")
    assert read().group("n01").management_of("n01") == "n01-mgmt"


PARTITION = "[partition %s]\nowner = %s\nnodes = %s\n"
BARE = PARTITION + "cpus = 2\nmemory = 900\n"


def test_partitions(read):
    """Whose slurmd has which nodes; without a section for compute VMs all nodes are in one."""
    lines = setup.lines(read("partition_options = Default=YES", BARE % ("bare", "node", "n[01-02]")), "/x")
    assert "NodeName=n01-mgmt CPUs=2 RealMemory=900\nNodeName=n02-mgmt CPUs=2 RealMemory=900\n" in lines
    assert "PartitionName=margay Nodes=n[01-03],login OverSubscribe=EXCLUSIVE Default=YES\n" in lines
    assert lines.endswith("PartitionName=bare Nodes=n01-mgmt,n02-mgmt\n") and "\nSuspendExcParts=bare\n" in lines
    two = PARTITION % ("a", "vm", "n01") + PARTITION % ("b", "vm", "n[01-02]") + "options = Default=YES"
    lines = setup.lines(read("", two), "/x")
    assert lines.endswith("PartitionName=a Nodes=n01 OverSubscribe=EXCLUSIVE\n"
                          "PartitionName=b Nodes=n[01-02] OverSubscribe=EXCLUSIVE Default=YES\n") and "SuspendExcParts" not in lines
    site = read("", BARE % ("bare", "node", "n[01-02]"))
    assert set(site.shared) == {"n01", "n02"} and site.management_of("n01") == "n01-mgmt"
    assert fitness.text(site).startswith("partition\tmargay\ndefault\t\n")


@pytest.mark.parametrize("names", (["n1"], ["n1", "n2", "n3", "n7"], ["n08", "n09", "n10", "n11"], ["n9", "n10", "n101"],
                                   ["a", "b-mgmt", "n1-mgmt", "n2-mgmt"], ["n1", "n3", "x1", "n4"]))
def test_lists_are_compressed(names):
    """With nothing behind brackets, which slurm.conf does not take."""
    text = hosts.compress(names)
    assert sorted(hosts.expand(text)) == sorted(names) and not re.search(r"\][^,]", text)
    assert hosts.compress(["n%d" % i for i in range(1, 1001)]) == "n[1-1000]"


@pytest.mark.parametrize("cluster, nodes, words", (
    ("", PARTITION % ("p", "me", "n01"), "expected vm or node"), ("", PARTITION % ("p", "node", "n01"), "cpus = : expected"),
    ("", PARTITION % ("p", "vm", "other"), "no section has a node other"),
    ("", BARE % ("p", "vm", "n01"), "stand in [nodes NAMES]"),
    ("", BARE % ("p", "node", "n01") + BARE % ("q", "node", "n[01-02]"), "its management VM is of one"),
    ("", "[partition]\nowner = vm\nnodes = n01", "[partition NAME]"), ("upgrade_timeout = 0", "", "at least 1"),
    ("paralel = 7", "", "unknown key paralel"), ("parallel = 0", "", "at least 1"), ("order_timeout = x", "", "expected a number"),
    ("", "management = one", "one host for all of them"), ("", "network = here", "expected dhcp"),
    ("", "[nodes n02]\nvm=v\ncpus=1\nmemory=1\nimages=a", "n02 stands in"),
    ("", "[node n9]", "expected [cluster], [nodes NAMES] or"),
    ("", "cpus = 4", "already exists")))
def test_site_file_refused(read, cluster, nodes, words):
    assert words in refused(read, cluster, nodes)


def test_ssh_without_a_home(read):
    """As ssh itself understands what stands there for nothing: the key and the known hosts lie where the page says."""
    site = read()
    said = subprocess.run([site.ssh[0], "-G", *site.ssh[1:], "n01-mgmt"], capture_output=True, text=True, check=True).stdout
    wanted = {"identityfile /etc/margay/ssh/id_ed25519", "userknownhostsfile /etc/margay/ssh/known_hosts", "user root",
              "batchmode yes", "connecttimeout 10", "hostname n01-mgmt"}
    assert wanted <= set(said.splitlines())
    said = subprocess.run([*site.admin_ssh, "-G", "n01-mgmt"], capture_output=True, text=True, check=True).stdout
    assert {"user root", "batchmode yes"} <= set(said.splitlines()) and "/etc/margay/ssh" not in said


def test_site_file_lacks(read):
    assert "controller is missing" in refused(read, "", "", "[cluster]\nstore = x\n[nodes n]\nvm=v\ncpus=1\nmemory=1\nimages=a\n")
    assert "there is no [nodes" in refused(read, "", "", "[cluster]\nstore = x\ncontroller = h\n")


def test_order_of_orders():
    """By the ticks of one boot; of another boot of the head none is left."""
    own = generation.own()
    assert generation.parse(own)[1] > 0 and not generation.is_late(own, own) and not generation.is_late(own, None)
    assert generation.is_late("a.5", "a.6") and not generation.is_late("a.6", "a.5") and not generation.is_late("b.5", "a.6")
    child = subprocess.run([sys.executable, "-B", "-c", "import sys; sys.path.insert(0, sys.argv[1]); "
                            "from margay_slurm import generation; print(generation.own())",
                            os.path.dirname(os.path.dirname(setup.__file__))], capture_output=True, text=True, check=True)
    assert generation.is_late(own, child.stdout.strip())


@pytest.mark.parametrize("features, image", (
    ("mpi", "mpi"), ("bigmem&mpi", "mpi"), ("[mpi*2&bigmem]", "mpi"), ("", "debian"), ("bigmem", "debian"), ("(mpi|mpi)", "mpi")))
def test_image_of_a_job(features, image):
    assert wanted.image_of(features, ["debian", "mpi"], "debian") == image


def test_image_of_no_job():
    assert "debian and mpi" in refused(wanted.image_of, "debian|mpi", ["debian", "mpi"], "", kind=ImageFault)
    assert "names no image" in refused(wanted.image_of, "bigmem", ["debian", "mpi"], "", kind=ImageFault)


def test_jobs_of_both_releases(tmp_path):
    """22.05 says nodes, 24.11 nodes_resume, which are not all of the job's."""
    path = tmp_path / "resume"
    path.write_text('{"jobs": [{"job_id": 5, "nodes": "n[1-2]"}, {"job_id": 6, "nodes_alloc": "n[3-4]", "nodes_resume": "n4"}]}',
                    encoding="ascii")
    assert resume.read_jobs(str(path)) == {"n1": 5, "n2": 5, "n4": 6}
    path.write_text('{"jobs": [{}]}', encoding="ascii")
    assert "not as Slurm writes it" in refused(resume.read_jobs, str(path))
    assert resume.read_jobs(None) == {}


ORDER = {"format": 1, "order": "start", "generation": "a.1", "node": "n01", "job": "5.0", "image": "mpi:1", "vm": "memory = 1G\n",
         "controller": "head", "address": "10.1.0.1/16", "gateway": "", "munge_key": base64.b64encode(bytes(64)).decode()}


OWN = {"format": 1, "order": "own", "generation": "a.1", "owner": "node", "node": "n01-mgmt", "controller": "head"}


@pytest.mark.parametrize("change", ({"owner": "me"}, {"owner": ""}, {"node": "-C"}, {"controller": "-f /x"}, {"generation": ""}))
def test_orders_of_owners_refused(change):
    """What becomes an argument of slurmd is a name."""
    assert order.parse(order.write(OWN))["owner"] == "node"
    refused(order.parse, order.write({**OWN, **change}))


def test_an_order_of_now_is_newer():
    """Than the program that gives it, which may have waited for hours."""
    assert generation.is_late(generation.own(), generation.now()) and not generation.is_late(generation.now(), generation.own())


@pytest.mark.parametrize("ahead, words", ((0, None), (9, None), (-9, None), (60, "60 s ahead"), (-60, "60 s behind")))
def test_clocks(ahead, words):
    said = clock.problem({"done": True, "ahead": ahead})
    assert (said is None) == (words is None) and (words is None or words in said)
    assert clock.problem({"error": "x"}) is None


@pytest.mark.parametrize("change", (
    {"format": 2}, {"order": "dance"}, {"generation": ""}, {"image": "../x:1"}, {"image": "mpi"}, {"node": 5}, {"vm": "\0"},
    {"munge_key": "A" * 9000}, {"grace": -1}, {"grace": True}, {"downgrade": 1}, {"check": "yes"}))
def test_orders_refused(change):
    assert order.parse(order.write(ORDER))["image"] == "mpi:1"
    refused(order.parse, order.write({**ORDER, **change}))


def test_vm_file_and_metadata():
    """The image's disk is vda, the metadata's vdb; the key stands in no VM file; the record is read back."""
    value = {**ORDER, "vm": "memory = 1G\ncmdline = quiet\ndisk = scratch:1G\n"}
    text = vm_file.write(value, "console=ttyS0", {"kernel": "k", "initrd": "i", "root.squashfs": "r", "metadata": "m"})
    assert vm_file.keys(text) and [pair for pair in vm_file.keys(text) if pair[0] in ("disk", "cmdline")] == [
        ("disk", "r"), ("disk", "m"), ("cmdline", "console=ttyS0 margay.metadata=/dev/vdb quiet"), ("disk", "scratch:1G")]
    assert value["munge_key"] not in text and vm_file.record(text)["job"] == "5.0"
    assert vm_file.record("name = other\n") is None and vm_file.record("# margay-slurm: 5\n") is None
    refused(vm_file.check_grants, "memory = 1G\nkernel = mine\n", "x")
    refused(vm_file.check_grants, "cpus = 1\n", "x")
    data = metadata.archive(value)
    assert len(data) % 512 == 0
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.extractfile("munge.key").read() == bytes(64)
        assert b"MARGAY_NODE=n01\n" in tar.extractfile("margay.env").read()
    refused(metadata.archive, {**value, "gateway": "$(reboot)"})
    refused(metadata.archive, {**value, "munge_key": "AAAA"})


def test_many_orders_at_once(read, tmp_path):
    """No more than `at_work` processes; each node has its own answer."""
    script = tmp_path / "ssh"
    script.write_text("""#!/bin/sh
mkdir %(d)s/run.$$
ls -d %(d)s/run.* | wc -l >>%(d)s/counts
case $1 in
n01-mgmt) echo nothing ;;
n02-mgmt) echo 'no route' >&2; rmdir %(d)s/run.$$; exit 255 ;;
n03-mgmt) sleep 0.2; echo '{"error": "image x", "fault": "image"}' ;;
login-mgmt) sleep 0.2; cat >/dev/null; echo '{"done": true}' ;;
esac
rmdir %(d)s/run.$$
""" % {"d": tmp_path}, encoding="ascii")
    script.chmod(0o755)
    site = read("ssh = %s\nparallel = 2\nat_work = 2" % script)
    answers = remote.send_all(site, {node: ORDER for node in site.by_node})
    assert answers["login"] == {"done": True}
    assert answers["n01"] == {"error": "n01-mgmt: no JSON: nothing", "fault": "node"}
    assert answers["n02"] == {"error": "n02-mgmt: no route", "fault": "node"}
    assert answers["n03"] == {"error": "n03-mgmt: image x", "fault": "image"}
    assert max(map(int, (tmp_path / "counts").read_text(encoding="ascii").split())) == 2


def test_connections_at_once(read, tmp_path):
    """`parallel` connect at once, while more nodes are at work: each here until all have come. One that says no more than that has
    not answered."""
    script = tmp_path / "ssh"
    script.write_text("""#!/bin/sh
cd %s
read -r order
mkdir connecting || echo two >>wrong
case $order in *'"tell": true'*) ;; *) echo untold >>wrong ;; esac
sleep 0.1
rmdir connecting
echo '{"taken": true}'
: >"came-$1"
until [ "$(ls came-* | wc -l)" = 4 ]; do sleep 0.05; done
[ "$1" = n02-mgmt ] || echo '{"done": true}'
""" % tmp_path, encoding="ascii")
    script.chmod(0o755)
    site = read("ssh = %s\nparallel = 1\nat_work = 4\norder_timeout = 60" % script)
    answers = remote.send_all(site, {node: ORDER for node in site.by_node})
    assert not (tmp_path / "wrong").exists()
    assert answers.pop("n02") == {"error": "n02-mgmt: no JSON: nothing", "fault": "node"}
    assert answers == {node: {"done": True} for node in ("n01", "n03", "login")}


def test_orders_for_which_there_are_files(monkeypatch):
    """As many as there may be files for; the limit that a login begins with is raised as far as that takes."""
    limits = {}

    def given(now, most):
        limits["set"] = None
        monkeypatch.setattr(resource, "getrlimit", lambda which: (now, most))
        monkeypatch.setattr(resource, "setrlimit", lambda which, pair: limits.update(set=pair))
    given(1024, 524288)
    assert remote.allow_files(1024) == 1024 and limits["set"] == (1024 * 5 + 64, 524288)
    given(1024, 4096)
    assert remote.allow_files(100) == 100 and limits["set"] is None
    assert remote.allow_files(1024) == (4096 - 64) // 5 and limits["set"] == (4096, 4096)
    given(65536, resource.RLIM_INFINITY)
    assert remote.allow_files(1024) == 1024 and limits["set"] is None
    given(resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert remote.allow_files(1024) == 1024 and limits["set"] is None
    given(1024, resource.RLIM_INFINITY)
    assert remote.allow_files(1024) == 1024 and limits["set"] == (1024 * 5 + 64, resource.RLIM_INFINITY)
    given(30, 30)
    assert remote.allow_files(1024) == 1


def test_pauses_between_looks():
    """Short at first; later a part of what was waited, and as long as a look takes, if that is long."""
    assert [prolog.pause_of(waited, 0.01) for waited in (0, 1, 4, 10, 100)] == [0.1, 0.1, 0.2, 0.5, 1.0]
    assert prolog.pause_of(1, 0.7) == 0.7 and prolog.pause_of(100, 3) == 3


def test_how_often_the_prolog_looks(monkeypatch):
    """While a node boots for 20 s, with looks of 0.05 s, and of 2 s: it goes on at most a pause and a look behind the node."""
    for took, most in (0.05, 70), (2, 7):
        clock_now, looks = [100.0], []

        def look(names, number, took=took, clock_now=clock_now, looks=looks):
            looks.append(clock_now[0])
            clock_now[0] += took
            return {"n1": {"POWERING_UP"} if looks[-1] < 120 else {"IDLE"}}, True
        monkeypatch.setattr(prolog, "look", look)
        monkeypatch.setattr(time, "monotonic", lambda clock_now=clock_now: clock_now[0])
        monkeypatch.setattr(time, "sleep", lambda pause, now=clock_now: now.__setitem__(0, now[0] + pause))
        assert prolog.wait("n1", ["n1"], 1, 60)
        assert len(looks) < most and 120 <= looks[-1] <= 120 + max(1, took) + took
        assert min(after - before for before, after in zip(looks, looks[1:])) >= 0.1 + took - 1e-9


def test_order_that_hangs_ends(read):
    site = read("ssh = sh -c 'trap true TERM; while :; do sleep 600; done'\norder_timeout = 1")
    begun = time.monotonic()
    assert remote.send(site, "n01", ORDER) == {"error": "n01-mgmt: no answer within 1 s", "fault": "node"}
    assert time.monotonic() - begun < 300


def test_nodes_that_fail_again_wait_longer(read):
    site = read("retry_wait = 60")
    assert [broken.wait_of(failures, 60) for failures in (0, 1, 2, 3, 4, 8, 100)] == [0, 0, 60, 120, 240, 3600, 3600]
    assert broken.is_due(site, {}, 1000) and broken.is_due(site, {"failures": 1, "failed": 1000}, 1000)
    twice = {"failures": 2, "failed": 1000}
    assert not broken.is_due(site, twice, 1059) and broken.is_due(site, twice, 1060)
    assert broken.is_due(site, {"failures": 9, "failed": 1000}, 999)
